"""`certify` where a flux is given: no bound is below the true error."""

import numpy as np
import pytest
from mesh_cases import box_mesh
from sample_meshes import moved

import stfem
from stfem import Box, Dirichlet, Domain, MeshEstimator, Neumann, Outflow, Problem, Robin, TotalFlux
from stfem.data import cosine
from stfem.equations import AdvectionDiffusion
from stfem.problems.manufactured import balance, initial_value
from stfem.reconstruction import TwoStage, TwoStageMixed, VertexPatches
from stfem.reconstruction.unstructured.natural import NaturalFluxes
from stfem.residual.natural import NaturalResidual
from stfem.spaces.legendre import gauss
from stfem.timestepping import RADAU5, ImplicitRungeKutta

PI = np.pi
NAMES = (("left", "right"), ("bottom", "top"))


def wave(condition_of, dim, velocity, eps, mesh, final_time=0.1, reaction=0.0):
    """Problem with u = cos(2x + 3y + 1 − 2t); ``condition_of`` makes the condition of a side."""
    u = cosine([2.0, 3.0][:dim], -2.0, 1.0)
    equation = AdvectionDiffusion(velocity[:dim], eps, reaction)
    boundary = {}
    for i in range(dim):
        for name, n in zip(NAMES[i], (-1.0, 1.0), strict=True):
            slope, along = u.derivative(i) * (eps * n), n * velocity[i]
            boundary[name] = condition_of(u, slope, along, name)
    return Problem(
        equation, Domain(mesh, boundary), initial_value(u), final_time, balance(equation, u), exact=u
    )


def neumann(u, slope, along, name):
    return Dirichlet(u) if along < 0.0 else Neumann(slope)


def robin(u, slope, along, name):
    """α = ¼ − ½b·n: negative where the flow leaves, and still α + ½b·n > 0."""
    alpha = 0.25 - 0.5 * along
    return Robin(alpha, slope + u * alpha)


def total(u, slope, along, name):
    return TotalFlux(u * along - slope) if along < 0.0 else Neumann(slope)


def mixed(u, slope, along, name):
    return TotalFlux(u * along - slope) if name == "left" else neumann(u, slope, along, name)


def entering(u, slope, along, name):
    return Neumann(slope) if along < 0.0 else Dirichlet(u)


def closed(u, slope, along, name):
    return TotalFlux(u * along - slope)


GOOD = (neumann, robin, total, mixed)


def errors_of(problem, solution, rule, result):
    """Largest and final errors of û in L² and L¹, with another quadrature and at other times."""
    from stfem.estimators.unstructured import interpolant_of
    from stfem.reconstruction.unstructured import mesh_slabs

    bound = rule.bind(solution.semidiscretization)
    mesh = bound.target.mesh
    points, weights = mesh.reference.quadrature(2 * bound.target.degree + 9)
    weights = weights[:, None] * mesh.cell_map(points).determinant
    x = mesh.points(points)
    largest, last = 0.0, (0.0, 0.0)
    slabs = mesh_slabs(map(bound.at_node, solution.nodes()), interpolant_of(bound, solution.stepper.order))
    for slab in slabs:
        for s in (0.0, 0.21, 0.5, 0.83, 1.0):
            t = slab.time.start + s * slab.time.duration
            error = problem.exact(x, t)[0] - bound.target.values(slab.at(s, slab.state), points)[0]
            last = float(np.sqrt((weights * error**2).sum())), float((weights * np.abs(error)).sum())
            largest = max(largest, last[0])
    assert largest == pytest.approx(result.error, rel=0.2)
    return largest, *last


def checked(problem, rule, degree, **more):
    solution = stfem.solve(problem, degree=degree, history=True, **more)
    result = stfem.estimate(solution, MeshEstimator((rule,)))
    largest, final, final_l1 = errors_of(problem, solution, rule, result)
    assert largest <= result.bound
    assert final <= result.bound_final
    assert final_l1 <= result.bound_l1
    assert final_l1 == pytest.approx(result.error_l1, rel=1e-2)
    assert result.error_energy <= result.bound_energy
    assert result.enclosure[0] <= result.error_dg <= result.enclosure[1]
    return result


def stepping(eps):
    return {"dt": 0.02, "stepper": ImplicitRungeKutta(RADAU5) if eps == 1.0 else None}


@pytest.mark.parametrize("condition", GOOD)
@pytest.mark.parametrize("eps", [1.0, 1e-2, 1e-4, 0.0])
@pytest.mark.parametrize("degree", [1, 2])
def test_conditions_with_a_good_sign(condition, eps, degree):
    if eps == 0.0 and condition is robin:
        pytest.skip("nothing is given where the flow enters")
    problem = wave(condition, 2, (1.0, 0.5), eps, box_mesh("triangle", 4, 0.2))
    result = checked(problem, VertexPatches(), degree, **stepping(eps))
    assert result.bound <= 40.0 * max(result.error, result.error_dg)
    assert not any("may grow" in sentence for sentence in result.assumptions)
    assert result.parts["growth"] == 1.0


@pytest.mark.parametrize("condition", GOOD)
def test_effectivity_stays_bounded_as_the_diffusion_vanishes(condition):
    ratios = []
    for eps in (1e-4, 1e-8, 1e-11, 1e-310, 5e-324):  # whose reciprocals are infinite in the end
        problem = wave(condition, 2, (1.0, 0.5), eps, box_mesh("triangle", 4, 0.2))
        result = stfem.certify(problem, degree=1, dt=0.02)
        ratios.append(result.bound / result.error_dg)
    assert max(ratios) <= 2.0 * min(ratios)
    assert ratios[2:] == pytest.approx([ratios[1]] * 3, rel=1e-2)


@pytest.mark.parametrize("condition", GOOD)
@pytest.mark.parametrize("kind", ["line", "quadrilateral"])
@pytest.mark.parametrize("eps", [1.0, 1e-4])
def test_other_cells(condition, kind, eps):
    problem = wave(condition, 1 if kind == "line" else 2, (1.0, 0.5), eps, box_mesh(kind, 6, 0.15))
    checked(problem, VertexPatches(), 1, **stepping(eps))


@pytest.mark.parametrize("condition", GOOD)
@pytest.mark.parametrize("rule", [TwoStage(), TwoStageMixed()])
@pytest.mark.parametrize("eps", [1.0, 1e-4])
def test_sharp_reconstructions(condition, rule, eps):
    problem = wave(condition, 2, (1.0, 0.5), eps, box_mesh("triangle", 4, 0.2))
    result = checked(problem, rule, 1, **stepping(eps))
    if isinstance(rule, TwoStageMixed):
        assert result.bound <= 12.0 * result.error_dg


@pytest.mark.parametrize("condition", [entering, closed])
@pytest.mark.parametrize("eps", [1.0, 0.1, 0.02])
def test_conditions_with_a_bad_sign(condition, eps):
    """A bound all the same, that says what it rests on; that in L¹ knows no 1/ε for total fluxes."""
    problem = wave(condition, 2, (1.0, 0.5), eps, box_mesh("triangle", 4, 0.2))
    result = checked(problem, TwoStageMixed(), 1, **stepping(eps))
    assert any("not robust for ε → 0" in sentence for sentence in result.assumptions)
    assert result.parts["growth"] > 1.0


def test_total_variation_is_robust_where_the_energy_is_not():
    """A closed box: the L² bound grows like e^{1/ε}, that in L¹ does not."""
    bounds = []
    for eps in (1e-2, 1e-3, 1e-4):
        problem = wave(closed, 1, (1.0,), eps, box_mesh("line", 12), final_time=0.2)
        result = stfem.certify(problem, degree=2, dt=0.02)
        assert result.error_l1 <= result.bound_l1
        assert result.error <= result.bound
        bounds.append((result.bound, result.bound_l1 / result.error_dg))
    assert bounds[1][0] > 1e10 * bounds[0][0]
    assert np.isinf(bounds[2][0]) or bounds[2][0] > 1e100
    assert bounds[2][1] < 30.0


def box_at_rest(eps):
    """Steady state of mass 1 in a closed box: e^{(x−1)/ε}/(ε(1 − e^{−1/ε}))."""

    def exact(x, t=0.0):
        return np.exp((x[0] - 1.0) / eps) / (eps * (1.0 - np.exp(-1.0 / eps)))

    return exact


def test_the_total_flux_box():
    """Mass 1 for all time, and the profile that REFERENCE values belong to."""
    eps = 0.1
    exact = box_at_rest(eps)
    ends = exact(np.array([[1.0, 0.0]]))
    assert ends == pytest.approx([10.000454, 4.5402e-4], rel=1e-5)

    def gradient(x, t=0.0):
        return exact(x)[None] / eps

    domain = Box(0.0, 1.0, TotalFlux(0.0))
    problem = Problem(AdvectionDiffusion(1.0, eps), domain, exact, 0.2, None, exact, gradient)
    for rule in (VertexPatches(), TwoStageMixed()):
        result = checked(problem, rule, 2, cells=32)
        assert result.bound <= 100.0 * result.error
    filling = Problem(AdvectionDiffusion(1.0, eps), domain, 1.0, 5.0)
    solution = stfem.solve(
        filling, cells=32, degree=3, history=True, dt=0.1, stepper=ImplicitRungeKutta(RADAU5)
    )
    points, weights = gauss(8)
    x = ((np.arange(32)[:, None] + points) / 32.0).ravel()
    assert np.tile(weights, 32) @ solution(x[None]).ravel() / 32.0 == pytest.approx(1.0, abs=1e-12)
    assert solution(np.array([[1.0, 0.0]])).ravel() == pytest.approx(ends, rel=1e-2)
    assert stfem.estimate(solution).guaranteed


@pytest.mark.parametrize("eps", [1e-2, 1e-4])
def test_a_pulse_that_leaves(eps):
    problem, estimator = stfem.problems.leaving_pulse(1, eps=eps), MeshEstimator(spacing=1)
    result = stfem.certify(problem, cells=32, degree=2, estimator=estimator)
    assert result.error <= result.bound <= 40.0 * result.error_dg
    assert result.error_l1 <= result.bound_l1
    assert result.error_energy <= result.bound_energy


@pytest.mark.parametrize("eps", [1e-2, 0.0])
@pytest.mark.parametrize("make", [stfem.problems.robin_outflow, stfem.problems.cellular_flow])
def test_catalogue(make, eps):
    problem = make(eps=eps, final_time=0.1)
    result = stfem.certify(problem, cells=5, degree=2, estimator=MeshEstimator(growth=0.0))
    assert result.error <= result.bound <= 30.0 * result.error_dg
    assert result.error_l1 <= result.bound_l1
    assert result.error_energy <= result.bound_energy


AT_REST = {
    # conditions, velocity, what u tends to
    "neumann": ({"left": Dirichlet(0.0), "right": Neumann(1.0)}, 0.0, lambda x: x),
    "robin": ({"left": Dirichlet(0.0), "right": Robin(1.0, 1.0)}, 0.0, lambda x: 0.5 * x),
    "robin, absorbed": ({"left": Dirichlet(0.0), "right": Robin(100.0, 100.0)}, 0.0, lambda x: x / 1.01),
    "total": ({"left": TotalFlux(-1.0), "right": Dirichlet(0.0)}, 1.0, lambda x: 1.0 - np.exp(x - 1.0)),
}


@pytest.mark.parametrize("case", AT_REST)
@pytest.mark.parametrize("known", [True, False])
def test_a_solution_that_ignores_the_condition(case, known, monkeypatch):
    """U grows from 0 to a steady state, û stays 0; nothing but the boundary knows of it."""
    conditions, velocity, limit = AT_REST[case]
    problem = Problem(AdvectionDiffusion(velocity, 1.0), Box(0.0, 1.0, conditions), 0.0, 4.0)
    solution = stfem.solve(
        problem, cells=4, degree=1, dt=1.0, stepper=ImplicitRungeKutta(RADAU5), history=True
    )
    nodes = [stfem.timestepping.Node(n.time, 0.0 * n.values, 0.0 * n.rate) for n in solution.nodes()]
    if not known:
        monkeypatch.setattr(
            NaturalResidual, "added", lambda self, slab, ways, _: np.zeros((3, len(ways), self._mesh.size))
        )
        # d̃·n as û has it
        monkeypatch.setattr(
            NaturalFluxes,
            "given",
            lambda self, space, *_: np.full((1, self.parameters.shape[1], space.mesh.facets.count), np.nan),
        )
    result = MeshEstimator().run(solution.semidiscretization, nodes, 5)
    points, weights = gauss(20)
    norm = float(np.sqrt(weights @ limit(points) ** 2))
    if known:
        assert norm <= 1.01 * result.bound_final
        assert result.bound_final <= 30.0 * norm
        assert float(weights @ np.abs(limit(points))) <= 1.01 * result.bound_l1
    else:
        assert result.bound_final < norm


def test_an_error_that_grows_at_the_boundary(monkeypatch):
    """u = δ sinh(kx) e^{k²t}, tanh k = k/3: the condition u' = 3u feeds it, û = 0."""
    k = 2.0
    for _ in range(200):
        k = 3.0 * np.tanh(k)
    domain = Box(0.0, 1.0, {"left": Dirichlet(0.0), "right": Robin(-3.0, 0.0)})

    def exact(x, t=0.0):
        return 1e-3 * np.sinh(k * x[0]) * np.exp(k**2 * t)

    problem = Problem(AdvectionDiffusion(0.0, 1.0), domain, exact, 0.4, None, exact)
    solution = stfem.solve(
        problem, cells=4, degree=1, dt=0.1, stepper=ImplicitRungeKutta(RADAU5), history=True
    )
    nodes = [stfem.timestepping.Node(n.time, 0.0 * n.values, 0.0 * n.rate) for n in solution.nodes()]
    result = MeshEstimator().run(solution.semidiscretization, nodes, 5)
    assert result.error_final <= result.bound_final
    assert result.error_l1 <= result.bound_l1
    assert result.error_final > 10.0 * result.parts["initial"]
    monkeypatch.setattr("stfem.residual.natural.boundary_growth", lambda *_: 0.0)
    result = MeshEstimator().run(solution.semidiscretization, nodes, 5)
    assert result.error_final > result.bound_final


def test_given_values_beside_given_fluxes():
    """What û misses of u at a corner, where the other condition depends on û, is not forgotten."""
    problem = wave(mixed, 2, (1.0, 0.5), 1e-2, moved("triangles", 3).with_defaults())
    result = stfem.certify(problem, degree=1, dt=0.01)
    assert result.error <= result.bound
    assert result.error_l1 <= result.bound_l1


def test_layers_beside_a_condition_on_u_are_refused():
    sides = {"left": Dirichlet(0.0), "right": Dirichlet(0.0), "bottom": Robin(1.0, 0.0), "top": Outflow()}
    problem = Problem(AdvectionDiffusion((1.0, 0.0), 1e-3), Box((0.0, 0.0), (1.0, 1.0), sides), 0.0, 0.1)
    with pytest.raises(ValueError, match="boundary 'bottom': expected Dirichlet, Neumann or Outflow beside"):
        stfem.certify(problem, cells=4, degree=1, estimator=MeshEstimator(lifted=("right",)))


def test_interpolation_in_time_is_told():
    """Nodes further apart leave more; at every step there is what the time stepping itself leaves."""
    problem = wave(neumann, 1, (1.0,), 1e-2, box_mesh("line", 8), final_time=0.4)
    shares = [
        stfem.certify(problem, degree=2, dt=0.005, estimator=MeshEstimator(spacing=k)).parts["temporal"]
        for k in (1, 8, 40)
    ]
    assert 0.0 < shares[0] < shares[1] < shares[2]
    assert shares[0] < 0.1 * shares[2]
    result = stfem.certify(problem, degree=2, dt=0.01, estimator=MeshEstimator(spacing=8))
    assert len(result.history["temporal"]) == result.facts["slabs"]
