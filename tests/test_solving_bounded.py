"""solve on boxes and meshes: orders of convergence, conservation, boundary conditions, steady states."""

import copy
import pickle

import numpy as np
import pytest
from mesh_cases import KINDS, box_mesh

import stfem
from stfem import (
    Box,
    Dirichlet,
    Domain,
    Neumann,
    Outflow,
    Problem,
    Robin,
    TotalFlux,
    certify,
    estimate,
    solve,
)
from stfem.equations import AdvectionDiffusion, Burgers, DiffusivePSystem
from stfem.fluxes import flux_engquist_osher, flux_rusanov, flux_upwind
from stfem.timestepping import (
    ARK548L2SA,
    RADAU3,
    RADAU5,
    DiagonallyImplicitRungeKutta,
    ImplicitRungeKutta,
)

ALL = pytest.mark.parametrize("kind", list(KINDS))
VELOCITY = np.array([1.0, 0.5, 0.25])
WAVES = np.array([2.0, 1.3, 0.7])
TIME = 0.1


def wave(dim, frequency=1.7):
    """u = sin(k·x − ωt + 0.3), its derivative with respect to the argument, k and ω."""
    k = WAVES[:dim]

    def phase(x, t):
        return np.tensordot(k, np.asarray(x), 1) - frequency * t + 0.3

    return (lambda x, t: np.sin(phase(x, t))), (lambda x, t: np.cos(phase(x, t))), k, frequency


def error(solution, exact):
    """L² error at the final time, with many points."""
    semi = solution.semidiscretization
    points, weights = semi.mesh.reference.quadrature(2 * semi.degree + 6)
    expected = exact(semi.mesh.points(points), solution.time)
    squares = (semi.space.values(solution.values, points)[0] - expected) ** 2
    return float(np.sqrt((weights @ (squares * semi.mesh.cell_map(points).determinant)).sum()))


def linear_problem(domain, diffusion, boundary_of=None):
    """AdvectionDiffusion with the wave as manufactured solution; D may be a matrix."""
    dim = domain.dim
    u, du, k, frequency = wave(dim)
    b, matrix = VELOCITY[:dim], np.eye(dim) * diffusion if np.ndim(diffusion) == 0 else diffusion

    def source(x, t):
        return (b @ k - frequency) * du(x, t) + (k @ matrix @ k) * u(x, t)

    equation = AdvectionDiffusion(tuple(b), diffusion=matrix)
    return Problem(equation, domain, lambda x: u(x, 0.0), TIME, source=source, exact=u)


def orders(make, cells, degree, exact, **options):
    errors = [error(solve(make(n), degree=degree, **options), exact) for n in cells]
    return np.log(np.array(errors[:-1]) / errors[1:]) / np.log(np.array(cells[1:]) / cells[:-1]), errors


@ALL
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("diffusion", [0.0, 0.1])
def test_order_of_convergence(kind, degree, diffusion):
    dim = KINDS[kind][1]
    if diffusion and degree == 0 and dim > 1:
        return  # the two-point flux wants orthogonal cells
    if diffusion and degree == 3 and dim == 3:
        return  # minutes
    exact = wave(dim)[0]
    cells = {1: [8, 16], 2: [4, 8], 3: [2, 4] if degree < 3 else [2, 3]}[dim]
    found, errors = orders(
        lambda n: linear_problem(Domain(box_mesh(kind, n, 0.15), Dirichlet(exact)), diffusion),
        cells,
        degree,
        exact,
        dt=TIME / 24 if diffusion and degree else None,
    )
    assert degree + 0.6 < found[-1] < degree + 1.6, errors
    assert errors[-1] < 0.2 / 4.0**degree


@pytest.mark.parametrize("kind", ["line", "triangle", "quadrilateral"])
def test_degree_four(kind):
    exact = wave(KINDS[kind][1])[0]
    cells = [4, 8] if kind == "line" else [2, 4]
    found, errors = orders(
        lambda n: linear_problem(Domain(box_mesh(kind, n, 0.1), Dirichlet(exact)), 0.01),
        cells,
        4,
        exact,
        stepper=ImplicitRungeKutta(RADAU5),
    )
    assert 4.4 < found[-1] < 5.8, errors


@pytest.mark.parametrize("kind", ["line", "triangle"])
@pytest.mark.parametrize(
    ("degree", "flux"),
    [
        (1, flux_rusanov),
        (1, flux_engquist_osher),
        (2, flux_rusanov),
        (3, flux_engquist_osher),
        (4, flux_rusanov),
    ],
)
def test_burgers(kind, flux, degree):
    dim = KINDS[kind][1]
    _, _, k, frequency = wave(dim)
    eps = 0.01

    def exact(x, t):
        return 1.0 + 0.3 * np.sin(np.tensordot(k, np.asarray(x), 1) - frequency * t)

    def source(x, t):
        phase = np.tensordot(k, np.asarray(x), 1) - frequency * t
        slope = 0.3 * np.cos(phase)
        return (k.sum() * exact(x, t) - frequency) * slope + eps * (k @ k) * 0.3 * np.sin(phase)

    def problem(n):
        domain = Domain(box_mesh(kind, n, 0.15), Dirichlet(exact))
        return Problem(Burgers(dim, eps), domain, lambda x: exact(x, 0.0), TIME, source=source)

    cells = [4, 8] if kind == "line" or degree < 3 else [2, 4]
    found, errors = orders(problem, cells, degree, exact, flux=flux)
    assert degree + 0.55 < found[-1] < degree + 1.6, errors


@pytest.mark.parametrize(
    "stepper",
    [
        ImplicitRungeKutta(RADAU3),
        ImplicitRungeKutta(RADAU5),
        DiagonallyImplicitRungeKutta(ARK548L2SA.implicit),
    ],
    ids=repr,
)
def test_fully_implicit_runs_of_a_nonlinear_system(stepper):
    """The p-system with diffusion in some components, against explicit steps."""
    domain = Domain(box_mesh("triangle", 3, 0.1), Dirichlet((1.0, 0.0, 0.0)))
    bump = lambda x: 1.0 + 0.1 * np.prod(np.sin(np.pi * np.asarray(x)), axis=0)  # noqa: E731
    problem = Problem(DiffusivePSystem(0.01), domain, (bump, 0.0, 0.0), 0.2)
    explicit = solve(problem, degree=2, dt=0.2 / 100)
    implicit = solve(problem, degree=2, stepper=stepper, dt=0.2 / 20)
    size = np.abs(explicit.values).max()
    assert np.abs(implicit.values - explicit.values).max() < 2e-4 * size
    assert explicit.steps == 100
    assert implicit.steps == 20


def test_matrix_diffusion_and_mixed_conditions():
    """Every kind of condition on one side of the square each, order q + 1."""
    matrix = np.array([[0.2, 0.05], [0.05, 0.1]])
    u, du, k, _ = wave(2)
    through = matrix @ k

    def boundary():
        return {
            "left": TotalFlux(lambda x, t: -VELOCITY[0] * u(x, t) + through[0] * du(x, t)),
            "right": Neumann(lambda x, t: through[0] * du(x, t)),
            "bottom": Dirichlet(u),
            "top": Robin(0.7, lambda x, t: through[1] * du(x, t) + 0.7 * u(x, t)),
        }

    for degree in (1, 2):
        found, errors = orders(
            lambda n: linear_problem(Domain(box_mesh("triangle", n, 0.15), boundary()), matrix),
            [4, 8],
            degree,
            u,
        )
        assert degree + 0.6 < found[-1] < degree + 1.6, errors


def test_jumping_diffusion_converges():
    """u_t = (D u')' + g with a kink at ½: u = a(x)·(x − ½) + …, D u' continuous."""
    small, large = 1e-2, 1.0

    def exact(x, t):
        x = np.asarray(x)[0]
        return np.exp(-t) * np.where(x < 0.5, np.sin(x - 0.5) / large, np.sin(x - 0.5) / small)

    def source(x, t):
        d = np.where(np.asarray(x)[0] < 0.5, large, small)
        return (d - 1.0) * exact(x, t)

    for kind in ("line", "triangle"):
        mesh_of = lambda n, kind=kind: box_mesh(kind, n).with_subdomains(  # noqa: E731
            {"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5}
        )
        equation = AdvectionDiffusion((0.0,) * KINDS[kind][1], {"a": large, "b": small})
        found, errors = orders(
            lambda n: Problem(
                equation,  # noqa: B023
                Domain(mesh_of(n), Dirichlet(exact)),  # noqa: B023
                lambda x: exact(x, 0.0),
                TIME,
                source=source,
            ),
            [4, 8],
            2,
            exact,
        )
        assert 2.4 < found[-1] < 3.6, errors


@ALL
@pytest.mark.parametrize("diffusion", [0.0, 0.05])
def test_closed_domain_keeps_its_mass(kind, diffusion):
    dim = KINDS[kind][1]
    domain = Domain(box_mesh(kind, 3, 0.2), TotalFlux(0.0))
    problem = Problem(
        AdvectionDiffusion(tuple(VELOCITY[:dim]), diffusion), domain, lambda x: 1.0 + x[0], TIME
    )
    solution = solve(problem, degree=2)
    mass = solution.values[0, 0] @ solution.semidiscretization.mesh.cell_measures
    assert mass == pytest.approx(1.5, rel=1e-12)
    assert np.abs(solution.values - solution.initial).max() > 1e-3


def test_total_flux_box_reaches_its_steady_state():
    problem = Problem(AdvectionDiffusion(1.0, 0.1), Box(0.0, 1.0, TotalFlux(0.0)), 1.0, 40.0)
    solution = solve(problem, cells=32, degree=3, stepper=ImplicitRungeKutta(RADAU5), dt=0.5)
    assert solution.values[0, 0].mean() == pytest.approx(1.0, rel=1e-11)
    ends = solution(np.array([[1.0, 0.0]]))
    assert ends[0] == pytest.approx(10.000454, rel=1e-5)
    assert ends[1] == pytest.approx(4.5402e-4, rel=1e-3)


def test_value_given_where_the_flow_leaves():
    """Without diffusion the outflow value does not count; with it a layer forms."""
    boundary = {"left": Dirichlet(1.0), "right": Dirichlet(5.0)}
    for eps, at, value in ((0.0, 0.5, 1.0), (0.1, 0.9, 2.471403)):
        problem = Problem(AdvectionDiffusion(1.0, eps), Box(0.0, 1.0, boundary), 1.0, 12.0)
        solution = solve(problem, cells=20, degree=3, stepper=ImplicitRungeKutta(RADAU5), dt=0.1)
        assert solution(np.array([[at]]))[0] == pytest.approx(value, rel=1e-5)


@ALL
def test_constants_are_kept_for_every_condition(kind):
    dim = KINDS[kind][1]
    boundary = {"left": Dirichlet(2.0), "right": Outflow()}
    if dim > 1:
        boundary |= {"bottom": TotalFlux(-2.0 * VELOCITY[1]), "top": Robin(3.0, 6.0)}
    if dim > 2:
        boundary |= {"front": Dirichlet(2.0), "back": Neumann(0.0)}
    for diffusion in (0.0, 0.1):
        if diffusion == 0.0 and dim > 1:
            boundary["top"] = Neumann(0.0)
        domain = Domain(box_mesh(kind, 2, 0.2), boundary)
        problem = Problem(AdvectionDiffusion(tuple(VELOCITY[:dim]), diffusion), domain, 2.0, TIME)
        solution = solve(problem, degree=2)
        np.testing.assert_allclose(solution.values[0, 0], 2.0, rtol=1e-11)
        np.testing.assert_allclose(solution.values[0, 1:], 0.0, atol=1e-11)


@pytest.mark.parametrize("number", [2.0, np.array([2.0]), (2.0,), lambda x, t: 2.0])
def test_data_as_number_array_or_callable(number):
    boundary = {"left": Dirichlet(number), "right": Outflow()}
    solution = solve(Problem(AdvectionDiffusion(1.0), Box(0.0, 1.0, boundary), 2.0, TIME), cells=4, degree=1)
    np.testing.assert_allclose(solution.values[0, 0], 2.0)
    wrong = Box(0.0, 1.0, {"left": Dirichlet(np.array([2.0, 3.0])), "right": Outflow()})
    with pytest.raises(ValueError, match="boundary 'left'"):
        Problem(AdvectionDiffusion(1.0), wrong, 2.0, TIME)


def test_boundary_data_are_taken_at_stage_times():
    """u = e^{−t} sin x with its values at both ends, in few steps of high order."""
    exact = lambda x, t: np.exp(-t) * np.sin(np.asarray(x)[0])  # noqa: E731
    source = lambda x, t: np.exp(-t) * (np.cos(x[0]) + (0.1 - 1.0) * np.sin(x[0]))  # noqa: E731
    problem = Problem(
        AdvectionDiffusion(1.0, 0.1),
        Box(0.0, 1.0, Dirichlet(exact)),
        lambda x: exact(x, 0.0),
        1.0,
        source=source,
    )
    for stepper, steps in ((None, None), (ImplicitRungeKutta(RADAU5), 4)):
        dt = None if steps is None else 1.0 / steps
        errors = [error(solve(problem, cells=n, degree=2, stepper=stepper, dt=dt), exact) for n in (2, 4)]
        assert 2.5 < np.log2(errors[0] / errors[1]) < 3.6, errors


def test_flux_without_diffusion_and_a_stepper_for_it():
    """With D = 0 a given diffusive flux is a source at the boundary; no eigenvalue limits the step."""
    boundary = {"left": Dirichlet(0.0), "right": Neumann(3.0)}
    problem = Problem(AdvectionDiffusion(1.0), Box(0.0, 1.0, boundary), 0.0, 0.25)
    solution = solve(problem, cells=4, degree=1)
    mass = solution.values[0, 0].mean()
    assert 0.0 < mass <= 3.0 * 0.25
    assert solution.semidiscretization.diffusion.spectral_radius == 0.0


@pytest.mark.parametrize("velocity", [0.0, 50.0])
def test_automatic_steps_of_implicit_steppers(velocity):
    problem = Problem(AdvectionDiffusion(velocity, 1.0), Box(0.0, 1.0, Dirichlet(0.0)), 1.0, TIME)
    solution = solve(problem, cells=32, degree=1, stepper=ImplicitRungeKutta(RADAU3), cfl=1.0)
    assert solution.steps == (64 if velocity == 0.0 else 160)


def test_periodic_channel_agrees_with_the_torus():
    """One and the same scheme in two codes: squares, periodic in both directions."""
    equation = AdvectionDiffusion((1.0, 0.5), 0.01)
    start = lambda x: np.sin(2.0 * np.pi * x[0]) * np.cos(2.0 * np.pi * x[1])  # noqa: E731
    box = Problem(equation, Box((0.0, 0.0), (1.0, 1.0), {}, periodic=(0, 1)), start, TIME)
    torus = Problem(equation, stfem.Torus((1.0, 1.0)), start, TIME)
    options = {"cells": 6, "degree": 2, "dt": TIME / 64, "initial_correction": False}
    one, other = solve(box, **options), solve(torus, **options)
    x = np.random.default_rng(0).uniform(0.01, 0.99, (2, 40))
    np.testing.assert_allclose(one(x), other(x), atol=1e-10)


def test_variable_velocity_on_a_mesh():
    """Solid rotation: u is carried along; nothing is known at the corners but Dirichlet values."""
    rotation = AdvectionDiffusion(lambda x, t: np.stack([0.5 - x[1], x[0] - 0.5]), dim=2, divergence=0.0)

    def exact(x, t):
        x = np.asarray(x) - 0.5
        c, s = np.cos(t), np.sin(t)
        back = c * x[0] + s * x[1], -s * x[0] + c * x[1]
        return np.exp(-4.0 * ((back[0] - 0.1) ** 2 + back[1] ** 2))

    for flux in (flux_upwind, flux_rusanov):
        found, errors = orders(
            lambda n: Problem(
                rotation,
                Domain(box_mesh("triangle", n, 0.15), Dirichlet(exact)),
                lambda x: exact(x, 0.0),
                0.3,
            ),
            [4, 8],
            2,
            exact,
            flux=flux,
        )
        assert 2.4 < found[-1] < 3.6, errors


@pytest.mark.parametrize("jump", [False, True])
def test_equation_projection_keeps_the_first_rate_accurate(jump):
    """F(0, U_0) is close to ∂_tu(0) where that of the L² projection is off by 1/h."""
    wavenumber = 2.0 * np.pi
    start = stfem.data.sine(wavenumber)  # zero at both ends

    def rate(x):
        return -(wavenumber**2) * np.sin(wavenumber * x[0]) - wavenumber * np.cos(wavenumber * x[0])

    diffusion, domain = 1.0, Box(0.0, 1.0, Dirichlet(0.0))
    if jump:  # the derivatives do not follow from the data then
        diffusion = {"all": 1.0}
        domain = Domain(box_mesh("line", 16).with_subdomains({"all": lambda x: x[0] > -1.0}), Dirichlet(0.0))
    problem = Problem(AdvectionDiffusion(1.0, diffusion), domain, start, TIME)
    options = {
        "cells": None if jump else 16,
        "degree": 2,
        "stepper": ImplicitRungeKutta(RADAU5),
        "dt": TIME / 4,
    }
    if jump:
        with pytest.raises(ValueError, match=r"rate: expected ∂_tu\(0\) for EquationProjection"):
            solve(problem, initial_correction=stfem.EquationProjection(), **options)
    distances = []
    for correction in (True, stfem.EquationProjection(rate if jump else None)):
        solution = solve(problem, initial_correction=correction, **options)
        first = next(solution.nodes())
        space = solution.semidiscretization.space
        distances.append(space.norm_l2(first.rate - space.project([lambda x, t: rate(x)])))
        assert space.norm_l2(first.values - space.project(problem.initial)) < 1e-3
    assert distances[1] < 0.02 * distances[0]


def test_equation_projection_has_its_limits():
    wrong = stfem.EquationProjection(0.0)
    torus = Problem(AdvectionDiffusion(1.0), stfem.Torus(1.0), 0.0, 1.0)
    with pytest.raises(stfem.UnsupportedDomainError, match="reconstruction such as Siac"):
        solve(torus, cells=4, degree=1, initial_correction=wrong)
    box = Box(0.0, 1.0, Dirichlet(0.0))
    with pytest.raises(stfem.UnsupportedDomainError, match=r"EquationProjection\(…\) for a problem on a Box"):
        solve(
            Problem(AdvectionDiffusion(1.0), box, 0.0, 1.0),
            cells=4,
            degree=1,
            initial_correction=stfem.Siac(),
        )
    gas = stfem.equations.DiffusivePSystem(0.1, 1, lower=0.85, upper=1.15)
    tube = Problem(gas, Box(0.0, 1.0, Dirichlet((1.0, 0.0))), (1.0, 0.0), 1.0)
    with pytest.raises(TypeError, match="equation: expected a scalar one for EquationProjection"):
        solve(tube, cells=4, degree=1, initial_correction=wrong)


@pytest.mark.parametrize("eps", [0.1, 1e-3])
def test_equation_projection_of_a_nonlinear_law_meets_the_first_rate(eps):
    problem = stfem.problems.nonlinear_wave(1, eps, 3)
    rate = problem.exact.entries[0].time_derivative()
    errors = []
    for correction in (True, stfem.EquationProjection()):
        solution = solve(
            problem,
            cells=16,
            degree=2,
            dt=0.05,
            initial_correction=correction,
            history=True,
            stepper=ImplicitRungeKutta(RADAU5),
        )
        first = next(iter(solution.nodes()))
        semi = solution.semidiscretization
        change = semi.rhs_hyperbolic(0.0, first.values) + semi.rhs_parabolic(0.0, first.values)
        errors.append(semi.space.norm_l2(change - semi.space.project([rate])))
    assert errors[1] < 0.5 * errors[0]


def test_other_estimators_are_refused_so_far():
    problem = linear_problem(Domain(box_mesh("triangle", 2), Dirichlet(wave(2)[0])), 0.01)
    other = stfem.SplitEstimator()
    with pytest.raises(stfem.UnsupportedDomainError, match="SplitEstimator: expected a problem on a Torus"):
        certify(problem, degree=1, estimator=other)
    solution = solve(problem, degree=1)
    with pytest.raises(NotImplementedError, match="SplitEstimator: expected a problem on a Torus so far"):
        estimate(solution, other)


def test_solution_tells_about_itself():
    problem = linear_problem(Domain(box_mesh("triangle", 3), Dirichlet(wave(2)[0])), 0.01)
    solution = solve(problem, degree=2, history=True)
    assert len(solution.stored) == solution.steps + 1
    assert solution.coefficients.shape == (1, 18, 6)
    assert "cells=18" in repr(solution)
    x = np.random.default_rng(0).uniform(size=(2, 7))
    np.testing.assert_allclose(solution(x), wave(2)[0](x, TIME), atol=5e-3)
    again = list(solve(problem, degree=2).nodes())
    np.testing.assert_array_equal(again[-1].values, solution.values)


def test_solutions_can_be_copied_and_stored():
    """Factorisations and search trees are left behind and made again."""
    problem = Problem(
        AdvectionDiffusion(1.0, 0.1), Box(0.0, 1.0, Dirichlet(0.0)), stfem.data.sine(np.pi), TIME
    )
    solution = solve(problem, cells=8, degree=2, stepper=ImplicitRungeKutta(RADAU5), dt=TIME / 4)
    x = np.linspace(0.1, 0.9, 5)[None]
    values = solution(x)
    for other in (copy.deepcopy(solution), pickle.loads(pickle.dumps(solution))):
        np.testing.assert_array_equal(other(x), values)
        *_, node = other.nodes()
        np.testing.assert_array_equal(node.values, solution.values)


def test_steps_heed_waves_that_are_about_to_enter():
    boundary = {"left": Dirichlet(4.0), "right": Outflow()}
    problem = Problem(Burgers(1), Box(0.0, 1.0, boundary), 1.0, TIME)
    solution = solve(problem, cells=16, degree=0)
    assert np.isfinite(solution.values).all()
    calm = solve(Problem(Burgers(1), Box(0.0, 1.0, Dirichlet(1.0)), 1.0, TIME), cells=16, degree=0)
    assert solution.steps == 5
    assert calm.steps == 2


def test_cells_come_from_the_domain_or_the_call():
    domain = Domain(box_mesh("line", 4), Dirichlet())
    with pytest.raises(TypeError, match="cells: expected none for a Domain"):
        solve(Problem(AdvectionDiffusion(1.0), domain, 0.0, 1.0), cells=4, degree=1)
    with pytest.raises(TypeError, match="cells: expected the number of cells"):
        solve(Problem(AdvectionDiffusion(1.0), Box(0.0, 1.0, Dirichlet()), 0.0, 1.0), degree=1)
    with pytest.raises(TypeError, match="cells: expected the number of cells"):
        solve(Problem(AdvectionDiffusion(1.0), stfem.Torus(1.0), 0.0, 1.0), degree=1)


def test_outflow_that_turns_into_inflow_stops_the_run():
    equation = AdvectionDiffusion(lambda x, t: np.ones_like(x) * (0.5 - t), dim=1, divergence=0.0)
    boundary = {"left": Dirichlet(0.0), "right": Outflow()}
    problem = Problem(equation, Box(0.0, 1.0, boundary), 1.0, 1.0)
    with pytest.raises(
        ValueError, match=r"boundary 'right': expected a flow that leaves .* got one that enters"
    ):
        solve(problem, cells=4, degree=1)
