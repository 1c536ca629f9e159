"""Bounds without time (T5.3): never below the error, free of 1/ε where they should be, sums of indicators."""

from dataclasses import replace

import numpy as np
import pytest
from mesh_cases import box_mesh

import stfem
from stfem.data import cosine, sine
from stfem.equations import AdvectionDiffusion, Burgers
from stfem.estimators.stationary import Coercivity, energy_bound, l2_bound
from stfem.problems import hemker_cylinder, interior_layer, rotating_corner, stationary_layer
from stfem.problems.manufactured import balance
from stfem.reconstruction.unstructured import Averaging, TwoStage, TwoStageMixed, VertexPatches

PI = np.pi
WAVE = sine([PI, 0.0]) * sine([0.0, PI]) * cosine([2.0 * PI, PI])
DIFFUSIONS = (0.0, 1e-10, 1e-6, 1e-4, 1e-2, 1.0)


def wave(eps, reaction=1.0, n=8, kind="triangle"):
    equation = AdvectionDiffusion((1.0, 0.5), eps, reaction)
    domain = stfem.Domain(box_mesh(kind, n, 0.2), stfem.Dirichlet(0.0))
    return stfem.StationaryProblem(equation, domain, balance(equation, WAVE), WAVE)


def independent_error(solution, exact, n=240):
    """‖u − u_h‖ on the unit square by the rule of midpoints."""
    side = (np.arange(n) + 0.5) / n
    x = np.stack(np.meshgrid(side, side, indexing="ij")).reshape(2, -1)
    return float(np.sqrt(np.mean((solution(x) - exact(x, 0.0)) ** 2)))


def check(estimate):
    lower, upper = estimate.enclosure
    assert estimate.bound >= estimate.error * (1.0 - 1e-9)
    assert lower <= estimate.error_dg <= upper
    if estimate.error_energy is not None:
        assert estimate.bound_energy >= estimate.error_energy * (1.0 - 1e-9)


def rules(eps):
    return (VertexPatches(), Averaging(), TwoStage(), *([TwoStageMixed()] if eps > 0.0 else []))


@pytest.mark.parametrize("reaction", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("eps", DIFFUSIONS)
def test_bound_is_above_the_error(eps, reaction):
    problem = wave(eps, reaction)
    solution = stfem.solve_stationary(problem, degree=1)
    for rule in rules(eps):
        estimate = stfem.estimate(solution, stfem.MeshEstimator((rule,)))
        check(estimate)
        error = independent_error(solution, WAVE)
        assert error == pytest.approx(estimate.error_dg, rel=2e-3)
        assert estimate.enclosure[0] <= error <= estimate.enclosure[1]


@pytest.mark.parametrize("reaction", [0.0, 1.0])
@pytest.mark.parametrize("eps", [0.0, 1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("size", [1e-6, 1e-2, 1.0])
def test_any_values_whatever_are_bounded(eps, reaction, size):
    """The residual tells it all: values that solve nothing have a bound above their error as well."""
    solution = stfem.solve_stationary(wave(eps, reaction, n=4), degree=2)
    noise = size * np.random.default_rng(1).normal(size=solution.values.shape)
    estimate = stfem.estimate(replace(solution, values=solution.values + noise))
    check(estimate)
    if size == 1.0:
        assert estimate.bound > 5.0 * stfem.estimate(solution).bound


@pytest.mark.parametrize("reaction", [0.0, 1.0])
def test_bound_does_not_know_one_over_eps(reaction):
    bounds = []
    for eps in (1e-4, 1e-6, 1e-8, 0.0):
        estimate = stfem.estimate(stfem.solve_stationary(wave(eps, reaction), degree=1))
        bounds.append(estimate.bound / estimate.error_dg)
    assert max(bounds) < 1.1 * min(bounds)
    assert max(bounds) < 60.0


def test_sharp_reconstructions():
    for eps, limit in ((1.0, 1.2), (1e-2, 1.2), (1e-4, 1.0), (1e-6, 1.0)):
        solution = stfem.solve_stationary(wave(eps, n=16), degree=1)
        estimator = stfem.MeshEstimator((VertexPatches(), TwoStage(), TwoStageMixed()))
        estimate = stfem.estimate(solution, estimator)
        check(estimate)
        assert estimate.bound / estimate.error_dg < limit
        if eps >= 1e-2:
            assert estimate.effectivity_energy < 2.0


def test_order_of_the_bound():
    for eps in (1e-6, 1.0):
        bounds = []
        for n in (8, 16):
            solution = stfem.solve_stationary(wave(eps, n=n), degree=1)
            estimator = stfem.MeshEstimator((TwoStage(), TwoStageMixed()))
            bounds.append(stfem.estimate(solution, estimator).bound)
        assert 1.7 < np.log2(bounds[0] / bounds[1]) < 4.0


def test_indicators_sum_to_the_residual():
    estimate = stfem.estimate(stfem.solve_stationary(wave(1e-2), degree=1))
    facts, parts = estimate.facts, estimate.parts
    total = parts["hyperbolic"] ** 2 / facts["kappa"] + parts["parabolic"] ** 2 / facts["theta"]
    assert estimate.indicators_sq.shape == (facts["cells"],)
    assert np.all(estimate.indicators_sq >= 0.0)
    assert estimate.indicators_sq.sum() == pytest.approx(total, rel=1e-12)
    a, p = parts["hyperbolic"], parts["parabolic"]
    root = a + np.sqrt(a**2 + facts["kappa"] * p**2 / facts["theta"])
    assert estimate.bound == pytest.approx(parts["growth"] * root / (2.0 * facts["kappa"]), rel=1e-6)


def test_formula():
    """T5.3 against a direct maximisation, and its limits."""
    plain = Coercivity(2.0, 0.0, 0.0, 0.0)
    assert l2_bound(3.0, 0.0, plain).value == pytest.approx(1.5)
    assert energy_bound(3.0, 0.0, 1.5, plain) == pytest.approx(3.0 / np.sqrt(2.0))
    assert energy_bound(0.0, 0.7, l2_bound(0.0, 0.7, plain).value, plain) == pytest.approx(0.7)
    full = Coercivity(1.0, 5.0, 0.0, 0.0)
    a, p = 0.8, 0.6
    y = np.linspace(0.0, 3.0, 4001)[:, None]
    dissipation = np.linspace(0.0, 20.0, 4001)[None]
    allowed = (y**2 + dissipation <= a * y + p * np.sqrt(dissipation)) & (dissipation >= 5.0 * y**2)
    largest = float((y * allowed).max())
    assert largest <= l2_bound(a, p, full).value <= 1.1 * largest
    energy = float(np.sqrt(((y**2 + dissipation) * allowed).max()))
    assert energy <= energy_bound(a, p, l2_bound(a, p, full).value, full) <= 1.3 * energy
    assert l2_bound(1.0, 1.0, Coercivity(-1.0, 0.5, 0.0, 0.0)).value == np.inf
    carried = l2_bound(1.0, 0.0, Coercivity(0.0, 0.0, 0.5, 0.0))
    assert carried.value == pytest.approx(np.e * 0.5, rel=2e-3)


def test_transport_alone_takes_the_time_of_transit():
    """u' = 1, û = 0: the error x has norm 1/√3, the residual norm 1."""
    sides = {"left": stfem.Dirichlet(0.0), "right": stfem.Outflow()}
    problem = stfem.StationaryProblem(
        AdvectionDiffusion(1.0, 0.0), stfem.Box(0.0, 1.0, sides), 1.0, exact=lambda x: x[0]
    )
    solution = stfem.solve_stationary(problem, cells=4, degree=1)
    zero = replace(solution, values=np.zeros_like(solution.values))
    estimate = stfem.estimate(zero)
    assert estimate.error == pytest.approx(3.0**-0.5)
    assert estimate.bound == pytest.approx(np.e, rel=2e-3)
    assert stfem.estimate(solution).bound < 1e-13


@pytest.mark.parametrize("periodic", [(), (0, 1), (0,)])
def test_problems_without_values(periodic):
    """Nothing reacts and no values are given: the mean is known, the rest has Poincaré's inequality."""
    numbers = [2.0 * PI if i in periodic else PI for i in range(2)]
    u = cosine([numbers[0], 0.0]) * cosine([0.0, numbers[1]]) + 0.4
    equation = AdvectionDiffusion((1.0 if periodic else 0.0, 0.5 if len(periodic) == 2 else 0.0), 0.1)
    boundary = stfem.Neumann(0.0) if len(periodic) < 2 else None
    domain = stfem.Domain(box_mesh("triangle", 6), boundary, periodic)
    problem = stfem.StationaryProblem(equation, domain, balance(equation, u), u, mean=0.4)
    solution = stfem.solve_stationary(problem, degree=1)
    rng = np.random.default_rng(2)
    for size in (0.0, 1e-3, 0.3):
        values = solution.values + size * (1.0 + rng.normal(size=solution.values.shape))
        check(stfem.estimate(replace(solution, values=values)))
    assert stfem.estimate(solution).effectivity < 30.0


def test_reaction_on_a_periodic_mesh():
    u = cosine([2.0 * PI, 2.0 * PI])
    for eps in (0.0, 1e-3, 1.0):
        equation = AdvectionDiffusion((1.0, 0.3), eps, 2.0)
        domain = stfem.Domain(box_mesh("triangle", 8), periodic=(0, 1))
        problem = stfem.StationaryProblem(equation, domain, balance(equation, u), u)
        check(stfem.estimate(stfem.solve_stationary(problem, degree=1)))


@pytest.mark.parametrize("kind", ["line", "quadrilateral", "tetrahedron"])
@pytest.mark.parametrize("eps", [1e-5, 0.1])
def test_other_cells(kind, eps):
    mesh = box_mesh(kind, 4, 0.1)
    dim = mesh.p.shape[0]
    u = sine([PI], phase=0.3) if dim == 1 else cosine([1.0] * dim)
    equation = AdvectionDiffusion((1.0, 0.5, 0.25)[:dim], eps, 1.0)
    domain = stfem.Domain(mesh, stfem.Dirichlet(u))
    problem = stfem.StationaryProblem(equation, domain, balance(equation, u), u)
    check(stfem.estimate(stfem.solve_stationary(problem, degree=1)))


def test_matrix_diffusion_and_growth():
    """c varies, D is a matrix: c_0 = ½ is given as growth, and the estimate says so."""
    eps = 1e-3
    reaction = 1.0 + cosine([PI, 0.0], 0.0, 0.0, 0.5) * cosine([0.0, PI])
    equation = AdvectionDiffusion((1.0, 0.5), [[2.0 * eps, eps], [eps, 2.0 * eps]], reaction)
    domain = stfem.Domain(box_mesh("triangle", 8, 0.2), stfem.Dirichlet(0.0))
    problem = stfem.StationaryProblem(equation, domain, balance(equation, WAVE), WAVE)
    solution = stfem.solve_stationary(problem, degree=2)
    with pytest.raises(ValueError, match="growth: expected"):
        stfem.estimate(solution)
    estimate = stfem.estimate(solution, stfem.MeshEstimator(growth=-1.0))
    check(estimate)
    assert estimate.facts["reaction"] == 0.5
    assert "2μ = -1 is an argument, and was not checked" in estimate.assumptions


@pytest.mark.parametrize("eps", [1.0, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("reaction", [0.0, 1.0])
def test_interior_layer(eps, reaction):
    problem = interior_layer(eps, reaction=reaction, mesh=box_mesh("triangle", 16, 0.2))
    check(stfem.estimate(stfem.solve_stationary(problem, degree=1)))


@pytest.mark.parametrize("eps", [1e-2, 1e-4, 1e-6])
def test_outflow_layer_with_its_lift(eps):
    """A layer far thinner than the cells: forced to the value the bound is useless, lifted it is sharp."""
    problem = stationary_layer(eps, mesh=box_mesh("triangle", 16, 0.2))
    solution = stfem.solve_stationary(problem, degree=1)
    forced = stfem.estimate(solution)
    lifted = stfem.estimate(solution, stfem.MeshEstimator((VertexPatches(), TwoStage()), lifted=("right",)))
    check(forced)
    # the error of u_h, layer included, by a rule that resolves it
    s, w = np.polynomial.legendre.leggauss(6)
    edges = np.unique(np.concatenate([np.linspace(0.0, 1.0, 65), 1.0 - eps * np.linspace(0.0, 30.0, 61)]))
    edges = edges[edges >= 0.0]
    along = (edges[:-1, None] + np.diff(edges)[:, None] * (s + 1.0) / 2.0).ravel()
    weights = (np.diff(edges)[:, None] * w / 2.0).ravel()
    across = (np.arange(64) + 0.5) / 64
    x = np.stack(np.meshgrid(along, across, indexing="ij")).reshape(2, -1)
    square = ((solution(x) - problem.exact(x, 0.0)[0]) ** 2).reshape(len(along), -1).mean(axis=1)
    error = float(np.sqrt(weights @ square))
    assert lifted.enclosure[0] <= error <= lifted.enclosure[1]
    if eps <= 1e-4:
        assert lifted.bound < 0.05 * forced.bound
        assert lifted.bound / error < 2.0


@pytest.mark.parametrize("eps", [1.0, 1e-2, 1e-6])
def test_corner(eps):
    check(stfem.estimate(stfem.solve_stationary(rotating_corner(eps, refinements=2), degree=1)))


def test_cylinder():
    check(stfem.estimate(stfem.solve_stationary(hemker_cylinder(0.2, cells=3), degree=2)))


def test_no_bound():
    """Nothing holds the error: a rotation without reaction or diffusion."""
    problem = rotating_corner(0.0, reaction=0.0, refinements=1)
    with pytest.raises(ValueError, match=r"problem: expected c_0 = inf\(c \+ ½∇·b\) > 0, or diffusion"):
        stfem.estimate(stfem.solve_stationary(problem, degree=1))


def test_what_estimates_refuse():
    solution = stfem.solve_stationary(wave(1e-2), degree=1)
    with pytest.raises(TypeError, match="expected a MeshEstimator for a stationary problem, got SplitEst"):
        stfem.estimate(solution, stfem.SplitEstimator())
    box = stfem.Box(0.0, 1.0, stfem.Dirichlet(0.0))
    shock = stfem.solve_stationary(stfem.StationaryProblem(Burgers(1, 0.1), box, 1.0), cells=8, degree=1)
    with pytest.raises((TypeError, ValueError), match="linear"):
        stfem.estimate(shock)


def test_signature_and_text():
    solution = stfem.solve_stationary(wave(1e-2), degree=1)
    estimate = stfem.estimate(solution)
    assert estimate.facts["signature"] == solution.signature
    assert "algebraic" in str(estimate)
    assert estimate.to_dict()["effectivity"] >= 1.0


def test_pictures_and_files(tmp_path):
    estimate = stfem.estimate(stfem.solve_stationary(wave(1e-2, n=4), degree=1))
    loaded = stfem.Estimate.load(estimate.save(tmp_path / "estimate.npz"))
    assert loaded.bound == estimate.bound
    assert np.array_equal(loaded.indicators_sq, estimate.indicators_sq)
    with pytest.raises(ValueError, match="expected one of a problem in time, got one without history"):
        estimate.plot()
