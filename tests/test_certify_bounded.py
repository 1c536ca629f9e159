"""`certify` on boxes and meshes: no bound is below the true error, whatever shape, condition, diffusion."""

import numpy as np
import pytest
import skfem
from sample_meshes import moved

import stfem
from stfem import Box, Dirichlet, Domain, MeshEstimator, Neumann, Outflow, Problem, Torus
from stfem.data import Constant, Polynomial
from stfem.equations import AdvectionDiffusion
from stfem.reconstruction import Averaging, TwoStage, TwoStageMixed, VertexPatches
from stfem.timestepping import RADAU5, ImplicitRungeKutta

PI = np.pi
VELOCITY = (1.0, 0.5, 0.25)


def bump(dim, eps, boundary_of, reaction=0.0, velocity=VELOCITY):
    """Problem with u = Π sin(πx_i) cos t."""

    def exact(x, t=0.0):
        return np.prod(np.sin(PI * x), axis=0) * np.cos(t)

    def gradient(x, t=0.0):
        sines = np.sin(PI * x)
        others = [np.prod(np.delete(sines, i, axis=0), axis=0) for i in range(dim)]
        return np.stack([PI * np.cos(PI * x[i]) * others[i] for i in range(dim)]) * np.cos(t)

    def source(x, t):
        u = np.prod(np.sin(PI * x), axis=0)
        slope = np.tensordot(velocity[:dim], gradient(x, t), 1)
        return -np.sin(t) * u + slope + (reaction + eps * dim * PI**2) * exact(x, t)

    equation = AdvectionDiffusion(velocity[:dim], eps, reaction)
    return Problem(equation, boundary_of, exact, 0.2, source, exact, gradient)


def check(result, sharp=None):
    assert result.error <= result.bound
    assert result.error_final <= result.bound_final
    if result.error_energy is not None:
        assert result.error_energy <= result.bound_energy
    assert result.enclosure[0] <= result.error_dg <= result.enclosure[1]
    if sharp is not None:
        assert result.bound <= sharp * result.error_dg


@pytest.mark.parametrize("eps", [1.0, 1e-3, 0.0])
@pytest.mark.parametrize(
    ("shape", "dim", "n"),
    [
        ("line", 1, 8),
        ("triangles", 2, 4),
        ("quadrilaterals", 2, 4),
        ("tetrahedra", 3, 2),
        ("hexahedra", 3, 2),
    ],
)
def test_every_shape(shape, dim, n, eps):
    problem = bump(dim, eps, Domain(moved(shape, n, 0.15), Dirichlet(0.0)), reaction=0.5)
    check(stfem.certify(problem, degree=1, dt=0.02), 30.0)


@pytest.mark.parametrize("rule", [VertexPatches(), Averaging(), TwoStage(), TwoStageMixed()])
@pytest.mark.parametrize("degree", [1, 2])
def test_every_reconstruction(rule, degree):
    problem = bump(2, 1e-2, Domain(moved("triangles", 5), Dirichlet(0.0)))
    check(stfem.certify(problem, degree=degree, dt=0.02, estimator=MeshEstimator((rule,))), 30.0)


def test_the_best_of_several_is_taken():
    problem = bump(2, 1e-2, Box((0.0, 0.0), (1.0, 1.0), Dirichlet(0.0)))
    solution = stfem.solve(problem, cells=5, degree=1, dt=0.02, history=True)
    rules = (VertexPatches(), TwoStage(), TwoStageMixed())
    single = [stfem.estimate(solution, MeshEstimator((rule,))).bound for rule in rules]
    assert stfem.estimate(solution, MeshEstimator(rules)).bound == min(single)


def test_nodes_several_steps_apart():
    problem = bump(1, 1e-2, Box(0.0, 1.0, Dirichlet(0.0)))
    fine, coarse = (
        stfem.certify(problem, cells=8, degree=1, dt=0.004, estimator=MeshEstimator(spacing=k))
        for k in (1, 7)
    )
    check(coarse)
    assert fine.facts["slabs"] == 50
    assert coarse.facts["slabs"] == 8
    assert coarse.bound == pytest.approx(fine.bound, rel=0.05)


@pytest.mark.parametrize("eps", [0.1, 1e-4, 0.0])
def test_periodic_in_one_direction(eps):
    """A wave along the periodic direction, its amplitude zero on the walls."""

    def exact(x, t=0.0):
        return np.sin(2 * PI * (x[0] - t)) * np.sin(PI * x[1])

    domain = Domain(
        moved("triangles", 6).with_defaults(), dict.fromkeys(("bottom", "top"), Dirichlet(0.0)), (0,)
    )
    source = (lambda x, t: 5 * PI**2 * eps * exact(x, t)) if eps else None
    problem = Problem(AdvectionDiffusion((1.0, 0.0), eps), domain, exact, 0.2, source, exact)
    check(stfem.certify(problem, degree=1, dt=0.01), 30.0)


@pytest.mark.parametrize("condition", [Outflow(), Neumann(0.0)])
@pytest.mark.parametrize("eps", [1.0, 1e-3, 0.0])
def test_outflow(condition, eps):
    """U = cos(πx)(1 + t) has no diffusive flux through the outlet x = 1."""

    def exact(x, t=0.0):
        return np.cos(PI * x[0]) * (1.0 + t)

    def source(x, t):
        return (1.0 + eps * PI**2 * (1.0 + t)) * np.cos(PI * x[0]) - PI * np.sin(PI * x[0]) * (1.0 + t)

    inlet = stfem.data.Polynomial(np.array([[1.0, 1.0]]))
    domain = Box(0.0, 1.0, {"left": Dirichlet(inlet), "right": condition})
    problem = Problem(AdvectionDiffusion(1.0, eps), domain, exact, 0.3, source, exact)
    start = stfem.EquationProjection(lambda x: np.cos(PI * x[0]))
    stiff = ImplicitRungeKutta(RADAU5) if eps == 1.0 else None
    solution = stfem.solve(problem, cells=10, degree=1, dt=0.02, initial_correction=start, stepper=stiff)
    check(stfem.estimate(solution), 30.0)
    check(stfem.estimate(solution, MeshEstimator((TwoStage(),))))


@pytest.mark.parametrize("periodic", [(), (0,)])
def test_errors_decay_with_the_poincare_rate(periodic):
    """The slowest mode, e^{−λt} for ever: the final bound follows it down."""
    rate = PI**2 * (1.0 if periodic else 2.0)

    def exact(x, t=0.0):
        return np.exp(-rate * t) * np.sin(PI * x[1]) * (1.0 if periodic else np.sin(PI * x[0]))

    walls = ("bottom", "top") if periodic else ("left", "right", "bottom", "top")
    domain = Domain(moved("triangles", 4).with_defaults(), dict.fromkeys(walls, Dirichlet(0.0)), periodic)
    equation = AdvectionDiffusion((0.0, 0.0), 1.0)
    finals = []
    for time in (0.1, 0.5):
        problem = Problem(equation, domain, exact, time, exact=exact)
        result = stfem.certify(problem, degree=1, dt=0.01, stepper=ImplicitRungeKutta(RADAU5))
        check(result)
        finals.append(result.bound_final)
    assert finals[1] < 0.1 * finals[0]


def test_diffusion_that_jumps():
    """A stationary kink in an interface: D u' is the same on both sides."""
    mesh = skfem.MeshLine(np.linspace(0.0, 1.0, 9)).with_subdomains(
        {"soft": lambda x: x[0] < 0.5, "hard": lambda x: x[0] > 0.5}
    )

    def exact(x, t=0.0):
        return np.where(x[0] < 0.5, x[0], 0.5 + (x[0] - 0.5) / 10.0)

    ends = mesh.with_boundaries({"left": lambda x: x[0] < 1e-9, "right": lambda x: x[0] > 1 - 1e-9})
    domain = Domain(ends, {"left": Dirichlet(0.0), "right": Dirichlet(0.55)})
    equation = AdvectionDiffusion(0.0, {"soft": 0.1, "hard": 1.0})
    problem = Problem(equation, domain, exact, 0.2, exact=exact)
    for rule in (VertexPatches(), Averaging(), TwoStageMixed()):
        check(stfem.certify(problem, degree=1, dt=0.02, estimator=MeshEstimator((rule,))))


def test_what_is_not_covered_is_refused():
    torus = Problem(AdvectionDiffusion(1.0), Torus(1.0), 0.0, 1.0)
    with pytest.raises(stfem.UnsupportedDomainError, match="MeshEstimator: expected a problem on a Box"):
        stfem.certify(torus, cells=4, degree=1, estimator=MeshEstimator())
    system = stfem.equations.DiffusivePSystem(0.1, 1, lower=0.85, upper=1.15)
    gas = Problem(system, Box(0.0, 1.0, Dirichlet((1.0, 0.0))), (1.0, 0.0), 1.0)
    with pytest.raises(TypeError, match="equation: expected a scalar one, got DiffusivePSystem"):
        stfem.certify(gas, cells=4, degree=1)
    closed = Problem(AdvectionDiffusion(1.0, 0.0), Box(0.0, 1.0, stfem.TotalFlux(0.0)), 1.0, 1.0)
    with pytest.raises(ValueError, match="boundary 'right': expected a total flux to be given where"):
        stfem.certify(closed, cells=4, degree=1)
    with pytest.raises(ValueError, match="expected at least one, got none"):
        MeshEstimator(())
    with pytest.raises(ValueError, match="expected at least 1 step per slab, got 0"):
        MeshEstimator(spacing=0)


def test_numbers_of_the_caller_are_checked_and_named():
    """A bound that rests on them is not guaranteed, and one that data contradict is refused."""
    problem = Problem(
        AdvectionDiffusion(1.0, reaction=-1.0),
        Box(0.0, 1.0, boundary={"left": Dirichlet(0.0), "right": Outflow()}),
        Polynomial([0.0, 0.0, 1.0], dim=1),
        0.1,
    )
    plain = stfem.certify(problem, cells=4, degree=1)
    assert plain.guaranteed
    claimed = stfem.certify(problem, cells=4, degree=1, estimator=MeshEstimator(initial_error=0.0))
    assert not claimed.guaranteed
    assert "‖u_0 − û(0)‖ ≤ 0 is an argument" in " ".join(claimed.assumptions)
    for growth in (1.9, -1e6):
        with pytest.raises(ValueError, match="growth: expected at least 2μ = −2c = 2"):
            stfem.certify(problem, cells=4, degree=1, estimator=MeshEstimator(growth=growth))
    faster = stfem.certify(problem, cells=4, degree=1, estimator=MeshEstimator(growth=3.0))
    assert faster.guaranteed
    assert faster.bound > plain.bound


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"growth": np.nan}, ValueError, "growth: expected a growth rate"),
        ({"growth": "a"}, TypeError, "growth: expected a number"),
        ({"initial_error": -1.0}, ValueError, "initial_error: expected a bound"),
        ({"initial_error": np.nan}, ValueError, "initial_error: expected a bound"),
        ({"reconstructions": VertexPatches()}, TypeError, "reconstructions: expected a tuple of rules"),
        ({"reconstructions": (VertexPatches,)}, TypeError, "reconstructions: expected a tuple of rules"),
        ({"lifted": "right"}, TypeError, "lifted: expected a tuple of names"),
    ],
)
def test_arguments_of_the_estimator(arguments, error, message):
    with pytest.raises(error, match=message):
        MeshEstimator(**arguments)


@pytest.mark.parametrize("amplitude", [1e-100, 1e-150, 1e-160, 1e-200, 1e-300])
def test_values_whose_squares_underflow(amplitude):
    """u = A(x − t)⁵: bounds stay above errors that are small, but no smaller than numbers are."""
    given, start = Polynomial([[0, 0, 0, 0, 0, -amplitude]], dim=1), Polynomial([0] * 5 + [amplitude], dim=1)
    domain = Box(0.0, 1.0, boundary={"left": Dirichlet(given), "right": Outflow()})
    problem = Problem(AdvectionDiffusion(1.0), domain, start, 0.1)
    solution = stfem.solve(problem, cells=4, degree=1)
    result = stfem.estimate(solution)
    x = (np.arange(4000) + 0.5) / 4000
    gap = (solution(x[None]) - amplitude * (x - 0.1) ** 5) / amplitude
    error = amplitude * np.sqrt(float(np.mean(gap**2)))
    assert error > 1e-4 * amplitude
    assert result.enclosure[0] <= error <= result.enclosure[1]
    assert result.bound >= result.bound_final > 0.0


def test_a_decay_to_nothing():
    problem = Problem(
        AdvectionDiffusion(1.0, 1e5), Box(0.0, 1.0, boundary=Dirichlet(0.0)), Constant(1.0, 1), 0.1
    )
    solution = stfem.solve(problem, cells=4, degree=1)
    result = stfem.estimate(solution)
    assert 0.0 < float(np.abs(solution(np.linspace(0.1, 0.9, 9)[None])).max()) <= result.enclosure[1]
