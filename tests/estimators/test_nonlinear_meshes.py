"""Bounds of nonlinear scalar laws on meshes lie above errors at more points and times than they look at."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial as Power
from sample_meshes import moved

import stfem
from stfem import Box, Dirichlet, Domain, MeshEstimator, Outflow, Problem
from stfem.data import Polynomial
from stfem.equations import Burgers, ScalarConservationLaw
from stfem.problems import burgers_front, nonlinear_wave
from stfem.reconstruction import Averaging, TwoStage, TwoStageMixed, VertexPatches
from stfem.reconstruction.unstructured import mesh_slabs
from stfem.residual.mesh_growth import MeshGrowth
from stfem.residual.unstructured import MeshResidual
from stfem.spaces.legendre import gauss, legendre_values
from stfem.timestepping import RADAU5, ImplicitRungeKutta

from stfem.estimators.unstructured import interpolant_of  # isort: skip

RULES = (VertexPatches(), Averaging(), TwoStage(), TwoStageMixed())
EPS = (0.0, 1e-6, 1e-4, 1e-2, 1.0)
MESHES = {"line": (1, 12), "triangles": (2, 5), "quadrilaterals": (2, 3), "tetrahedra": (3, 1)}


def solved(problem, degree, steps=8, **options):
    options = {"stepper": ImplicitRungeKutta(RADAU5)} | options
    dt = problem.final_time / steps
    return stfem.solve(problem, degree=degree, dt=dt, history=True, **options)


def slabs_of(solution, rule):
    bound = rule.bind(solution.semidiscretization)
    nodes = map(bound.at_node, solution.nodes())
    return bound, list(mesh_slabs(nodes, interpolant_of(bound, 5)))


def true_error(solution, rule, times=8):
    """Largest ‖u − û‖ at more times than the estimator looks at, and by a finer quadrature."""
    problem = solution.problem
    bound, slabs = slabs_of(solution, rule)
    target, mesh = bound.target, bound.target.mesh
    points, weights = mesh.reference.quadrature(2 * target.degree + 7)
    weights = weights[:, None] * mesh.cell_map(points).determinant
    x, largest = mesh.points(points), 0.0
    for slab in slabs:
        for s in np.linspace(0.0, 1.0, times):
            t = slab.time.start + s * slab.time.duration
            difference = problem.exact(x, t)[0] - target.values(slab.at(s, slab.state), points)[0]
            largest = max(largest, float(np.sqrt((weights * difference**2).sum())))
    return largest


def check(estimate):
    assert estimate.error <= estimate.bound
    assert estimate.error_final <= estimate.bound_final
    assert estimate.error_energy <= estimate.bound_energy
    assert estimate.enclosure[0] <= estimate.error_dg <= estimate.enclosure[1]


CASES = [
    *(("line", power, degree, eps) for power in (2, 3, 4) for degree in (1, 2) for eps in EPS),
    *(("triangles", 2, 1, eps) for eps in EPS),
    *(
        # these take long where every rule and diffusion is run
        pytest.param(shape, power, degree, eps, marks=() if eps == eps_of_default else pytest.mark.slow)
        for shape, power, degree, eps_of_default in (
            ("triangles", 3, 2, 1e-4),
            ("quadrilaterals", 3, 1, 0.0),
            ("quadrilaterals", 2, 2, 1e-2),
            ("tetrahedra", 2, 1, 1e-6),
        )
        for eps in EPS
    ),
]


@pytest.mark.parametrize(("shape", "power", "degree", "eps"), CASES)
def test_bound_is_not_below_the_error(shape, power, degree, eps):
    dim, n = MESHES[shape]
    problem = nonlinear_wave(dim, eps, power, 0.05 if eps == 1.0 else 0.1, moved(shape, n, 0.15))
    solution = solved(problem, degree, initial_correction=stfem.EquationProjection())
    for rule in RULES[: 4 if eps > 0.0 else 3]:
        estimate = stfem.estimate(solution, MeshEstimator((rule,)))
        check(estimate)
        assert true_error(solution, rule) <= estimate.bound
        assert not estimate.guaranteed  # the source is no polynomial
        if isinstance(rule, VertexPatches):
            assert estimate.bound <= 25.0 * max(estimate.error_dg, estimate.error)


@pytest.mark.parametrize("eps", [0.0, 1e-4, 1e-2])
def test_two_stages_are_as_sharp_as_for_linear_equations(eps):
    """Up to the growth: B/e_h of Burgers over that of the linear wave is the growth factor."""
    ratios = []
    for make in (stfem.problems.transient_wave, nonlinear_wave):
        problem = make(2, eps, final_time=0.3, mesh=moved("triangles", 6))
        solution = solved(problem, 1, 15, initial_correction=stfem.EquationProjection())
        estimate = stfem.estimate(solution, MeshEstimator((TwoStage(),)))
        ratios.append(estimate.bound / estimate.error_dg / estimate.parts["growth"])
    assert ratios[1] < 1.1 * ratios[0]


def polynomial_problem(dim, eps, domain, power=2):
    """u = 1 + x(1 − x)(1 + t)/2 in every direction's product, with its source as a polynomial."""
    shape = [1] * dim + [1]
    u = Polynomial(np.full(shape, 0.5))
    for i in range(dim):
        axis = [1] * (dim + 1)
        axis[i] = 3
        u = u * Polynomial(np.reshape([0.0, 1.0, -1.0], axis))
    u = 1.0 + u * Polynomial(np.reshape([1.0, 1.0], [*[1] * dim, 2]))
    b = (1.0, 0.5, 0.25)[:dim]
    source = u.time_derivative()
    for i, speed in enumerate(b):
        slope = u.derivative(i)
        source = source + speed * u ** (power - 1) * slope - eps * slope.derivative(i)
    equation = ScalarConservationLaw([Power([0.0] * power + [speed / power]) for speed in b], diffusion=eps)
    start = Polynomial(u.coefficients[..., :1])
    return Problem(equation, domain, start, 0.2, source, exact=u)


@pytest.mark.parametrize("power", [2, 3])
@pytest.mark.parametrize("eps", [0.0, 1e-3])
@pytest.mark.parametrize(("shape", "dim", "n"), [("line", 1, 4), ("triangles", 2, 2)])
def test_polynomial_data_are_guaranteed(shape, dim, n, eps, power):
    problem = polynomial_problem(dim, eps, Domain(moved(shape, n), Dirichlet(1.0)), power)
    for rule in (VertexPatches(), TwoStage()):
        estimate = stfem.estimate(solved(problem, 1, 6), MeshEstimator((rule,)))
        assert estimate.guaranteed, estimate.assumptions
        check(estimate)


@pytest.mark.parametrize("eps", [0.0, 1e-4, 0.1])
@pytest.mark.parametrize("power", [2, 3])
def test_outflow(eps, power):
    """u = 1 + t/2 − x²(…): no slope at the outlet x = 1, the flow leaves for every state."""
    bump = Polynomial([[0.0, 0.0], [0.0, 0.0], [1.0, 0.5], [-2.0, -1.0], [1.0, 0.5]])  # x²(1 − x)²(1 + t/2)
    u = 1.0 + bump
    slope = u.derivative(0)
    source = u.time_derivative() + u ** (power - 1) * slope - eps * slope.derivative(0)
    domain = Box(0.0, 1.0, {"left": Dirichlet(1.0), "right": Outflow()})
    equation = ScalarConservationLaw(Power([0.0] * power + [1.0 / power]), diffusion=eps)
    start = Polynomial(u.coefficients[..., :1])
    problem = Problem(equation, domain, start, 0.2, source, exact=u)
    estimate = stfem.estimate(solved(problem, 2, 10, cells=8))
    check(estimate)
    assert estimate.guaranteed, estimate.assumptions


def test_outlets_are_checked_for_all_states():
    """Burgers: the flow leaves where u > 0, and only then."""
    sides = {"left": Dirichlet(1.0), "right": Outflow()}
    # −15(1 − x)³: all that is known is that u ≥ 1 − 15t, while u at the outlet hardly changes
    falling = Polynomial([-15.0, 45.0, -45.0, 15.0], dim=1)
    bump = Polynomial([1.0, 0.0], dim=1)
    problem = Problem(Burgers(1, 0.1), Box(0.0, 1.0, sides), bump, 0.02)
    assert stfem.estimate(solved(problem, 1, 4, cells=4)).guaranteed
    pulled = Problem(Burgers(1, 0.1), Box(0.0, 1.0, sides), bump, 0.08, falling)
    estimate = stfem.estimate(solved(pulled, 1, 8, cells=4))
    assert any("'right': the flow is assumed to leave" in s for s in estimate.assumptions)
    entering = {"left": Outflow(), "right": Dirichlet(1.0)}
    problem = Problem(Burgers(1, 0.1), Box(0.0, 1.0, entering), bump, 0.02)
    solution = solved(Problem(Burgers(1, 0.1), Box(0.0, 1.0, Dirichlet(1.0)), bump, 0.02), 1, 4, cells=4)
    bound = VertexPatches().bind(solution.semidiscretization)
    slab = next(mesh_slabs(map(bound.at_node, solution.nodes()), interpolant_of(bound, 5)))
    with pytest.raises(ValueError, match="boundary 'left': expected a flow that leaves where u is not given"):
        MeshGrowth(problem, bound).rate(slab)


def test_without_diffusion_values_are_kept_where_the_flow_may_enter():
    """Burgers with states of both signs at a side: the data stay, and the boundary term has a sign."""
    domain = Box(0.0, 1.0, Dirichlet(Polynomial([[0.5], [-1.0]])))
    problem = Problem(Burgers(1), domain, Polynomial([0.5, -1.0], dim=1), 0.2)
    solution = solved(problem, 1, 8, cells=6)
    growth = MeshGrowth(problem, VertexPatches().bind(solution.semidiscretization))
    assert growth._free == []
    assert stfem.estimate(solution).guaranteed
    leaving = Box(0.0, 1.0, Dirichlet(1.0))
    problem = Problem(Burgers(1), leaving, 1.0, 0.2)
    growth = MeshGrowth(problem, VertexPatches().bind(solved(problem, 1, 2, cells=3).semidiscretization))
    [(_, facets)] = growth._free
    assert np.all(growth._mesh.facet_points(np.zeros((0, 1)), facets) == 1.0)


@pytest.mark.parametrize("dim", [1, 2])
def test_front_of_burgers_with_growth(dim):
    problem = burgers_front(
        dim, 0.02, 0.4, moved("line", 24, 0.1) if dim == 1 else moved("triangles", 6, 0.1)
    )
    solution = solved(problem, 2, 12)
    for rule in RULES:
        estimate = stfem.estimate(solution, MeshEstimator((rule,)))
        check(estimate)
        assert true_error(solution, rule) <= estimate.bound
        # 2μ = d a²/(2ε) at most, and not far below it
        assert 0.8 * dim * 0.0625 / 0.04 * 0.2 <= np.log(estimate.parts["growth"]) <= 0.45 * dim
    assert estimate.history["alpha"].min() > 0.0


def test_boundary_data_between_the_nodes_are_lifted():
    """Data of high degree: z is not zero, and its suprema enter slopes and states."""
    problem = burgers_front(2, 0.05, 0.2, moved("triangles", 3, 0.1))
    bound, slabs = slabs_of(solved(problem, 1, 6), VertexPatches())
    residual = MeshResidual(problem, bound)
    oscillation = residual.boundary.oscillation
    size, slopes = oscillation.suprema(slabs[2])
    assert 0.0 < size < 0.1
    assert np.all(slopes > 0.0)
    frozen = MeshGrowth(problem, bound).frozen(slabs[2], (size, slopes))
    assert np.all(frozen.speeds >= 0.7)
    for s in (0.0, 0.3, 1.0):
        modes = oscillation._modes(slabs[2])
        delta = np.tensordot(legendre_values(len(modes) - 1, [s])[0], modes, 1)
        parts = (*oscillation._hats(delta, delta), *oscillation._blends(delta, delta))
        assert max(np.abs(value).max() for _, _, _, value, _, _ in parts) <= size
        for i in range(2):
            assert max(np.abs(gradient[i]).max() for *_, gradient in parts) <= slopes[i]


def test_periodic_in_one_direction():
    u = nonlinear_wave(1, 0.0).exact.entries[0]
    domain = Domain(moved("triangles", 5).with_defaults(), dict.fromkeys(("bottom", "top"), Outflow()), (0,))
    # along x alone: walls are passed by
    two = stfem.data.Trigonometric(
        np.concatenate([2.0 * u.wavevectors, np.zeros_like(u.wavevectors)], axis=1),
        u.frequencies,
        u.amplitudes,
    )
    start = stfem.data.Trigonometric(two.wavevectors, np.zeros(len(two.frequencies)), two.amplitudes)
    source = two.time_derivative() + two * two.derivative(0)
    equation = ScalarConservationLaw([Power([0, 0, 0.5]), Power([0.0])], diffusion=0.0)
    problem = Problem(equation, domain, start, 0.1, source, exact=two)
    estimate = stfem.estimate(solved(problem, 1, 6))
    check(estimate)


@pytest.mark.parametrize("eps", [1.0, 1e-3, 0.0])
@pytest.mark.parametrize("power", [2, 3])
@pytest.mark.parametrize("rule", [VertexPatches(), TwoStage()])
def test_modes_and_points_agree(eps, power, rule):
    problem = nonlinear_wave(2, eps, power, 0.2, moved("triangles", 3))
    bound, slabs = slabs_of(solved(problem, 1, 6), rule)
    modes, points = (MeshResidual(problem, bound, order=2 * power * bound.target.degree) for _ in range(2))
    points.modal = None
    for one, other in zip(modes.norms(slabs[2]), points.norms(slabs[2]), strict=True):
        # what f(û) and g leave out of the modes is added by the triangle inequality
        assert other.residual_sq.sum() <= one.residual_sq.sum() * (1.0 + 1e-9)
        assert one.residual_sq.sum() <= 1.2 * other.residual_sq.sum()
        np.testing.assert_allclose(one.flux_sq.sum(), other.flux_sq.sum(), rtol=0.05)
        assert other.flux_sq.sum() <= one.flux_sq.sum() * (1.0 + 1e-9)


def test_growth_is_a_supremum():
    """Not below samples of −f''(û)·∇û, and close to them for Burgers, on every shape."""
    for shape, (dim, n) in (MESHES | {"hexahedra": (3, 1)}).items():
        problem = nonlinear_wave(dim, 1e-3, 2, 0.1, moved(shape, n + 1, 0.15))
        bound, slabs = slabs_of(solved(problem, 1, 3), VertexPatches())
        mesh, target, slab = bound.target.mesh, bound.target, slabs[1]
        rate = MeshGrowth(problem, bound).rate(slab)
        points = mesh.reference.quadrature(9)[0]
        b = np.array([1.0, 0.5, 0.25])[:dim]
        seen = max(
            float((-np.tensordot(b, target.gradients(slab.at(s, slab.state), points)[:, 0], 1)).max())
            for s in np.linspace(0.0, 1.0, 7)
        )
        assert seen <= rate <= 1.3 * seen + 0.1


def test_a_linear_rate_or_flux_is_noticed():
    """Negative control: residual and rate of another flux are far from the right ones."""
    problem = nonlinear_wave(2, 1e-4, 2, 0.2, moved("triangles", 6))
    bound, slabs = slabs_of(solved(problem, 2, 6), TwoStage())
    flat = ScalarConservationLaw([Power([0.0, speed]) for speed in (1.0, 0.5)], diffusion=1e-4)
    other = Problem(flat, problem.domain, problem.initial[0], 0.2, problem.source[0])
    right, wrong = (
        min(n.residual_sq.sum() for n in MeshResidual(p, bound).norms(slabs[2])) for p in (problem, other)
    )
    assert wrong > 4.0 * right
    assert MeshGrowth(other, bound).rate(slabs[2]) == 0.0 < MeshGrowth(problem, bound).rate(slabs[2])


def test_a_user_flux_is_named():
    flux = ScalarConservationLaw(np.cosh, np.sinh, np.cosh, diffusion=0.01)
    problem = Problem(flux, Box(0.0, 1.0, Dirichlet(0.0)), Polynomial([0.0, 1.0, -1.0], dim=1), 0.1)
    estimate = stfem.estimate(solved(problem, 1, 6, cells=6))
    assert not estimate.guaranteed
    text = " ".join(estimate.assumptions)
    assert "second derivative of the flux taken from" in text
    assert "the flux is not polynomial" in text


def test_what_does_not_fit_is_refused():
    problem = nonlinear_wave(1, 0.1)
    solution = solved(problem, 1, 4, cells=4)
    with pytest.raises(ValueError, match="growth: expected None, it follows from û"):
        stfem.estimate(solution, MeshEstimator(growth=1.0))
    with pytest.raises(ValueError, match="lifted: expected no boundaries for a nonlinear equation"):
        stfem.estimate(solution, MeshEstimator(lifted=("right",)))


def test_quadrature_of_the_flux_is_exact():
    """Twice the points in space and time change nothing."""
    problem = nonlinear_wave(2, 1e-2, 3, 0.2, moved("triangles", 3))
    bound, slabs = slabs_of(solved(problem, 1, 6), VertexPatches())
    residual = MeshResidual(problem, bound)
    convection = residual._convection_modes.of(slabs[2])
    target, mesh = bound.target, bound.target.mesh
    points, weights = mesh.reference.quadrature(30)
    times, in_time = gauss(24)
    total = np.zeros(mesh.size)
    for s, weight in zip(times, in_time, strict=True):
        state = slabs[2].at(s, slabs[2].state)
        u, slope = target.values(state, points)[0], target.gradients(state, points)[:, 0]
        divergence = u**2 * (slope[0] + 0.5 * slope[1])
        total += weight * weights @ divergence**2 / mesh.reference.measure
    scale = slabs[2].time.duration * mesh.cell_measures
    kept = (convection.divergence**2).sum(axis=(0, 1)) * scale
    np.testing.assert_allclose(kept + convection.left, scale * total, rtol=1e-10)
