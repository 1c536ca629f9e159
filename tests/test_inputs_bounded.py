"""Inputs that a user will bring to boxes and meshes: items 15–27 of the list of reference cases, and more."""

import numpy as np
import pytest
import skfem
from mesh_cases import KINDS, box_mesh

from stfem import (
    Box,
    Dirichlet,
    Domain,
    MeshEstimator,
    Neumann,
    NonFiniteError,
    Outflow,
    Problem,
    Robin,
    Siac,
    SolveError,
    TotalFlux,
    certify,
    solve,
)
from stfem.data import Polynomial, Trigonometric
from stfem.equations import AdvectionDiffusion, DiffusivePSystem
from stfem.estimators.unstructured import interpolant_of
from stfem.fluxes import InteriorPenalty
from stfem.reconstruction import Hermite
from stfem.reconstruction.unstructured import TwoStage, VertexPatches
from stfem.timestepping import (
    RADAU3,
    RADAU5,
    ExplicitRungeKutta,
    ImplicitExplicitRungeKutta,
    ImplicitRungeKutta,
)


def bump(x):
    return np.prod(np.sin(np.pi * np.asarray(x)), axis=0)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_15_interior_penalty_on_stretched_cells(degree):
    """R4 item 15: 64×2 cells; the operator is negative, the order at fixed aspect q + 1; user override."""
    errors = []
    exact = lambda x, t: np.exp(-t) * np.sin(np.pi * x[0]) * np.cos(x[1])  # noqa: E731
    source = lambda x, t: np.pi**2 * exact(x, t)  # noqa: E731
    domain = Box((0.0, 0.0), (1.0, 1.0), Dirichlet(exact))
    problem = Problem(AdvectionDiffusion((0.0, 0.0), 1.0), domain, lambda x: exact(x, 0), 0.1, source)
    for cells in ((32, 1), (64, 2)):
        solution = solve(problem, cells=cells, degree=degree, stepper=ImplicitRungeKutta(RADAU5), dt=0.0125)
        semi = solution.semidiscretization
        points, weights = semi.mesh.reference.quadrature(2 * degree + 6)
        difference = semi.space.values(solution.values, points)[0] - exact(semi.mesh.points(points), 0.1)
        errors.append(np.sqrt((weights @ (difference**2 * semi.mesh.cell_map(points).determinant)).sum()))
        if cells == (32, 1):
            matrix = semi.diffusion.matrix.toarray()
            assert np.linalg.eigvalsh(0.5 * (matrix + matrix.T)).max() < 0.0
    assert degree + 0.6 < np.log2(errors[0] / errors[1]) < degree + 2.0, errors
    stronger = solve(problem, cells=(4, 2), degree=degree, penalty=InteriorPenalty(40.0))
    assert (
        stronger.semidiscretization.diffusion.spectral_radius
        > solve(problem, cells=(4, 2), degree=degree).semidiscretization.diffusion.spectral_radius
    )


def test_17_value_given_at_a_pure_outflow():
    """R4 item 17: without diffusion it does not count; with it the stationary limit has a layer."""
    boundary = {"left": Dirichlet(1.0), "right": Dirichlet(5.0)}
    still = solve(Problem(AdvectionDiffusion(1.0), Box(0.0, 1.0, boundary), 1.0, 2.0), cells=8, degree=1)
    np.testing.assert_allclose(still.values[0, 0], 1.0, rtol=1e-12)
    problem = Problem(AdvectionDiffusion(1.0, 0.1), Box(0.0, 1.0, boundary), 1.0, 20.0)
    solution = solve(problem, cells=32, degree=3, stepper=ImplicitRungeKutta(RADAU5), dt=0.25)
    assert solution(np.array([[0.9]]))[0] == pytest.approx(2.471403, rel=1e-5)


def test_18_no_flux_is_two_things():
    """R4 item 18: a closed box keeps its mass, zero diffusive flux lets it leave."""
    equation = AdvectionDiffusion(1.0, 0.1)
    closed = Problem(equation, Box(0.0, 1.0, TotalFlux(0.0)), 1.0, 40.0)
    solution = solve(closed, cells=32, degree=3, stepper=ImplicitRungeKutta(RADAU5), dt=0.5)
    assert solution.values[0, 0].mean() == pytest.approx(1.0, rel=1e-11)
    ends = solution(np.array([[1.0, 0.0]]))
    assert ends[0] == pytest.approx(10.000454, rel=1e-5)
    assert ends[1] == pytest.approx(4.5402e-4, rel=1e-3)
    sides = {"left": Dirichlet(0.0), "right": Neumann(0.0)}
    leaving = solve(Problem(equation, Box(0.0, 1.0, sides), 1.0, 2.0), cells=16, degree=2)
    assert leaving.values[0, 0].mean() < 0.1


@pytest.mark.parametrize("degree", [1, 2])
def test_19_boundary_data_at_stage_times(degree):
    """R4 item 19: u = e^{−t} sin x by callables, numbers or arrays at its ends; order q + 1."""
    exact = lambda x, t: np.exp(-t) * np.sin(np.asarray(x)[0])  # noqa: E731
    source = lambda x, t: np.exp(-t) * (np.cos(x[0]) - 0.9 * np.sin(x[0]))  # noqa: E731
    x = np.linspace(0.01, 0.99, 200)[None]
    for left in (lambda y, t: exact(y, t), 0.0, np.array([0.0])):
        domain = Box(0.0, 1.0, {"left": Dirichlet(left), "right": Dirichlet(exact)})
        problem = Problem(AdvectionDiffusion(1.0, 0.1), domain, lambda y: exact(y, 0.0), 1.0, source, exact)
        errors = [
            np.sqrt(np.mean((solve(problem, cells=n, degree=degree)(x) - exact(x, 1.0)) ** 2)) for n in (4, 8)
        ]
        assert degree + 0.6 < np.log2(errors[0] / errors[1]) < degree + 1.7, errors


def test_20_sets_of_facets_that_are_empty_or_missing():
    """R4 item 20: an error with the name, not a silent natural condition."""
    mesh = skfem.MeshTri().refined(2)
    third = mesh.with_boundaries({"left": lambda x: x[0] == 1.0 / 3.0, "rest": lambda x: x[0] >= 0.0})
    with pytest.raises(
        ValueError, match=r"boundary 'left': expected facets, got an empty set \(coordinates comp"
    ):
        Domain(third, {"left": Dirichlet(0.0), "rest": Neumann(0.0)})
    halves = mesh.with_boundaries({"left": lambda x: x[0] == 0.0, "rest": lambda x: x[0] > 0.0})
    with pytest.raises(ValueError, match=r"got none on 12 of 16; their boundaries: 'rest' \(12\)"):
        Domain(halves, {"left": Dirichlet(0.0)})


@pytest.mark.parametrize("kind", list(KINDS))
def test_23_second_derivatives_count(kind):
    """R4 item 23: u = x² with D = 1, g = −2 solves the equation, so that the whole bound is round-off."""
    dim = KINDS[kind][1]
    square = lambda x, t=0.0: x[0] ** 2  # noqa: E731
    domain = Domain(box_mesh(kind, 2), Dirichlet(Polynomial(np.reshape([0.0, 0.0, 1.0], (3,) + (1,) * dim))))
    equation = AdvectionDiffusion((0.0,) * dim, 1.0)
    right = certify(Problem(equation, domain, lambda x: square(x), 0.1, -2.0), degree=2, dt=0.05)
    assert right.bound < 1e-8
    wrong = certify(Problem(equation, domain, lambda x: square(x), 0.1, 0.0), degree=2, dt=0.05)
    assert wrong.bound > 1e-3


def test_27_normals_of_an_annulus():
    """R4 item 27: ∫x·n is twice the area within the outer circle, and minus that within the inner one."""
    rays, rings = 24, 3
    angle = 2.0 * np.pi * np.arange(rays) / rays
    radii = np.linspace(1.0, 2.0, rings + 1)
    vertices = np.stack([np.outer(radii, np.cos(angle)).ravel(), np.outer(radii, np.sin(angle)).ravel()])
    ring, ray = (index.ravel() for index in np.meshgrid(np.arange(rings), np.arange(rays), indexing="ij"))
    after = (ray + 1) % rays
    corners = [ring * rays + ray, (ring + 1) * rays + ray, (ring + 1) * rays + after, ring * rays + after]
    mesh = skfem.MeshQuad(vertices, np.array(corners))
    radius = lambda x: np.hypot(x[0], x[1])  # noqa: E731
    mesh = mesh.with_boundaries({"inner": lambda x: radius(x) < 1.1, "outer": lambda x: radius(x) > 1.9})
    domain = Domain(mesh, {"inner": Dirichlet(0.0), "outer": Dirichlet(0.0)})
    own = domain.mesh()
    parameters, weights = own.reference.on_facet.quadrature(4)
    polygon = 0.5 * rays * np.sin(2.0 * np.pi / rays)  # area within the unit circle's polygon
    for name, expected in (("inner", -2.0 * polygon), ("outer", 8.0 * polygon)):
        facets = own.facets.names[name]
        x, (normals, density) = own.facet_points(parameters, facets), own.facet_normals(parameters, facets)
        integral = float((weights[:, None] * (x * normals).sum(axis=0) * density).sum())
        assert integral == pytest.approx(expected, rel=1e-12)


# time stepping


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("eps", [1e-2, 1e-3])
def test_a_given_step_is_stable_with_the_default_stepper(eps, degree):
    """Explicit where it is stable, else implicit–explicit, else fully implicit; the values stay bounded."""
    problem = Problem(AdvectionDiffusion((1.0, 0.5), eps), Box((0, 0), (1, 1), Dirichlet(0.0)), bump, 0.5)
    kinds = []
    for dt in (0.002, 0.02, 0.05):
        solution = solve(problem, cells=16, degree=degree, dt=dt)
        assert np.abs(solution.values).max() < 1.5
        assert solution.steps == round(0.5 / dt)
        kinds.append(type(solution.stepper))
    assert kinds[-1] is ImplicitRungeKutta
    assert kinds[0] is (ImplicitExplicitRungeKutta if eps == 1e-2 else ExplicitRungeKutta)
    assert isinstance(solve(problem, cells=4, degree=3, dt=0.5).stepper.tableau, type(RADAU5))


def test_strong_diffusion_damps_to_nothing():
    """What is left underflows; that is no failure of the solver."""
    for D in (1e8, 1e12):
        problem = Problem(AdvectionDiffusion((1.0, 0.5), D), Box((0, 0), (1, 1), Dirichlet(0.0)), bump, 1.0)
        assert np.abs(solve(problem, cells=4, degree=2).values).max() < 1e-100


def test_failure_of_a_solve_tells_time_step_and_remedy(monkeypatch):
    from stfem.semidiscretization.unstructured.solver import Factorisation

    problem = Problem(AdvectionDiffusion(1.0, 1.0), Box(0.0, 1.0, Dirichlet(0.0)), bump, 1.0)
    whole = Factorisation.solve
    calls = []

    def failing(self, rhs):
        calls.append(rhs)
        if len(calls) > 4:
            raise SolveError("linear system", 0.5)
        return whole(self, rhs)

    monkeypatch.setattr(Factorisation, "solve", failing)
    with pytest.raises(
        SolveError, match=r"residual of 0.5 in step \d+, which begins at time 0\.\d+; a smaller"
    ) as caught:
        solve(problem, cells=4, degree=1, stepper=ImplicitRungeKutta(RADAU3), dt=0.1)
    assert caught.value.step > 1
    assert caught.value.time == pytest.approx(0.1 * (caught.value.step - 1))
    assert caught.value.residual == 0.5


@pytest.mark.parametrize("height", [1e-6, 1e-8])
@pytest.mark.parametrize("eps", [1e-8, 1e-2])
def test_flat_cells(height, eps):
    """Cells of any aspect ratio: a bound, or nothing worse than a large one."""
    sides = np.linspace(0.0, 1.0, 4), np.linspace(0.0, height, 4)
    triangles = Domain(skfem.MeshTri.init_tensor(*sides), Dirichlet(0.0))
    for domain, cells in ((triangles, None), (Box((0.0, 0.0), (1.0, height), Dirichlet(0.0)), 4)):
        problem = Problem(AdvectionDiffusion((1.0, 0.0), eps), domain, lambda x: x[0], 0.02)
        assert certify(problem, cells=cells, degree=1).bound >= 0.5 * np.sqrt(height / 3.0)


def test_growth_beyond_all_numbers_gives_an_infinite_bound():
    domain = Box((0, 0), (1, 1), Dirichlet(0.0))
    growing = AdvectionDiffusion((1.0, 0.5), 1e-2, reaction=-1e4)
    with pytest.raises(NonFiniteError, match="not finite at time"):
        certify(Problem(growing, domain, 1e-3, 0.1), cells=2, degree=1)
    implicit = certify(
        Problem(growing, domain, 1e-3, 10.0), cells=2, degree=1, stepper=ImplicitRungeKutta(RADAU5), dt=0.5
    )
    assert implicit.bound == np.inf
    assert implicit.parts["growth"] == np.inf
    assert "inf" in str(implicit)


# conditions


@pytest.mark.parametrize(
    "given", [Dirichlet, 5.0, [Dirichlet(0.0)], "left", ("left", Dirichlet(0.0)), np.zeros(3), np.nan]
)
def test_boundary_of_another_kind(given):
    for make in (lambda: Box(0.0, 1.0, given), lambda: Domain(box_mesh("line", 2), given)):
        with pytest.raises(
            TypeError, match=r"boundary: expected conditions by .* such as Dirichlet\(0.0\), got"
        ):
            make()


def test_sides_keep_their_names_under_one_condition():
    problem = Problem(AdvectionDiffusion((1.0, 0.5), 1e-3), Box((0, 0), (1, 1), Dirichlet(0.0)), 1.0, 0.1)
    lifted = certify(problem, cells=8, degree=1, estimator=MeshEstimator(lifted=("right", "top")))
    named = {side: Dirichlet(0.0) for side in ("left", "right", "bottom", "top")}
    same = Problem(problem.equation, Box((0, 0), (1, 1), named), 1.0, 0.1)
    other = certify(same, cells=8, degree=1, estimator=MeshEstimator(lifted=("right", "top")))
    assert lifted.bound == pytest.approx(other.bound, rel=1e-12)
    partly = skfem.MeshTri().refined(1).with_boundaries({"left": lambda x: x[0] == 0.0})
    with pytest.raises(ValueError, match=r"expected some of \['boundary', 'left'\]"):
        certify(
            Problem(problem.equation, Domain(partly, Dirichlet(0.0)), 1.0, 0.1),
            degree=1,
            estimator=MeshEstimator(lifted=("right",)),
        )


@pytest.mark.parametrize(
    "options",
    [
        {"reconstructions": (Siac(),)},
        {"reconstructions": (VertexPatches,)},
        {"reconstructions": [TwoStage()]},
        {"reconstructions": (None,)},
        {"spacing": 1.5},
        {"spacing": True},
        {"spacing": "a"},
        {"spacing": np.nan},
        {"lifted": "left"},
        {"lifted": 5},
        {"lifted": (5,)},
    ],
)
def test_estimators_of_other_kinds(options):
    (name,) = options
    with pytest.raises(TypeError, match=f"{name}: expected .*, got"):
        MeshEstimator(**options)


def test_degree_in_time_is_capped():
    rates = type("Rates", (), {"per_node": 2})
    assert interpolant_of(rates, 3) == Hermite(5)
    assert interpolant_of(rates, 40) == Hermite(15)


# exact solutions that contradict their problem


def slide(x, t=0.0):
    return np.cos(np.asarray(x)[0] - t)


def test_exact_solution_must_fit_the_boundary_values():
    equation = AdvectionDiffusion(1.0, 1e-3)
    wrong = Box(0.0, 1.0, {"left": Dirichlet(slide), "right": Dirichlet(0.0)})
    with pytest.raises(
        ValueError, match=r"values of Dirichlet at boundary 'right', got a difference of 0\.\d+ at x"
    ):
        Problem(equation, wrong, slide, 0.1, exact=slide)
    tiny = lambda x, t=0.0: 1e-12 * slide(x, t)  # noqa: E731
    with pytest.raises(ValueError, match="values of Dirichlet at boundary 'left'"):
        Problem(equation, Box(0.0, 1.0, Dirichlet(0.0)), tiny, 0.1, exact=tiny)
    with pytest.raises(ValueError, match="expected the initial value"):
        Problem(equation, Box(0.0, 1.0, Dirichlet(tiny)), 0.0, 0.1, exact=tiny)
    Problem(equation, Box(0.0, 1.0, Dirichlet(slide)), slide, 0.1, exact=slide)
    # without diffusion the value at an outflow does not count
    boundary = {"left": Dirichlet(slide), "right": Dirichlet(7.0)}
    Problem(AdvectionDiffusion(1.0), Box(0.0, 1.0, boundary), slide, 0.1, exact=slide)


def test_exact_solution_that_jumps_may_differ_at_the_jump():
    step = lambda x, t=0.0: np.where(np.asarray(x)[0] - t < 0.3, 1.0, 0.0)  # noqa: E731
    Problem(AdvectionDiffusion((1.0, 0.0)), Box((0, 0), (1, 1), Dirichlet(step)), step, 0.5, exact=step)


def test_exact_solution_must_fit_the_given_fluxes():
    equation = AdvectionDiffusion(1.0, 0.1)
    slope = lambda x, t: -np.sin(np.asarray(x) - t)  # noqa: E731
    through = lambda x, t: 0.1 * slope(x, t)[0]  # noqa: E731
    right = {
        "neumann": Neumann(through),
        "robin": Robin(2.0, lambda x, t: through(x, t) + 2.0 * slide(x, t)),
        "total": TotalFlux(lambda x, t: slide(x, t) - through(x, t)),
    }
    for condition in right.values():
        domain = Box(0.0, 1.0, {"left": Dirichlet(slide), "right": condition})
        Problem(equation, domain, slide, 0.1, exact=slide, exact_gradient=slope)
    for condition in (Neumann(1.0), Outflow(), Robin(2.0, through), TotalFlux(0.0)):
        domain = Box(0.0, 1.0, {"left": Dirichlet(slide), "right": condition})
        with pytest.raises(ValueError, match=f"fluxes of {type(condition).__name__} at boundary 'right'"):
            Problem(equation, domain, slide, 0.1, exact=slide, exact_gradient=slope)


def test_one_wrong_component_of_a_system_is_noticed():
    exact = lambda x, t=0.0: np.stack([1.0 + 0.0 * x[0], 0.0 * x[0], 0.0 * x[0]])  # noqa: E731
    domain = Box((0, 0), (1, 1), Dirichlet((1.0, 0.0, 0.0)))
    with pytest.raises(ValueError, match="expected the initial value"):
        Problem(DiffusivePSystem(0.1), domain, (1.0, 0.0, 1e-3), 0.1, exact=exact)


# flows that leave


@pytest.mark.parametrize(
    ("velocity", "proved"),
    [
        ((1.0, 0.0), True),
        ((Polynomial(np.array([[0.0, 1.0], [0.5, 0.0]])[..., None]), 0.0), True),
        ((Trigonometric([[0.0, 0.0], [0.0, 3.0]], [0.0, 0.0], [1.0, 0.4]), 0.0), True),
        ((lambda x, t: 1.0 + x[1], lambda x, t: 0.0 * x[0]), False),
    ],
    ids=["constant", "polynomial", "trigonometric", "callable"],
)
def test_sign_of_the_flow_is_proved_or_an_assumption(velocity, proved):
    sides = {"left": Dirichlet(0.0), "right": Outflow(), "bottom": Dirichlet(0.0), "top": Dirichlet(0.0)}
    for domain, cells in (
        (Box((0, 0), (1, 1), sides), 4),
        (Domain(box_mesh("triangle", 4, 0.2), sides), None),
    ):
        known = None if proved else 0.0
        equation = AdvectionDiffusion(velocity, 0.1, dim=2, divergence=known)
        problem = Problem(equation, domain, bump, 0.01)
        result = certify(problem, cells=cells, degree=1, estimator=MeshEstimator(growth=3.0))
        assert any("flow leaves through boundary 'right'" in word for word in result.unproved) is not proved


def test_flow_that_enters_between_the_samples():
    """−0.01 in a gap of width 0.02: the samples may miss it, the bound of b·n does not."""
    from stfem.residual.leaving import smallest_normal_velocity

    y = np.polynomial.Polynomial([0.517**2 - 0.01**2, -2.0 * 0.517, 1.0])  # (y − 0.517)² − 0.01²
    mesh = Box((0, 0), (1, 1), Dirichlet(0.0)).mesh(1)
    right = mesh.facets.names["right"]
    velocity = (Polynomial(y.coef.reshape(1, 3, 1)), Polynomial(np.zeros((1, 1, 1))))
    assert -1e-3 < smallest_normal_velocity(mesh, right, velocity, 1.0) <= -(0.01**2)
    wave = Trigonometric([[0.0, 0.0], [0.0, 8.0]], [0.0, 2.0], [1.0, 1.0 + 1e-3])
    assert -0.5 < smallest_normal_velocity(mesh, right, (wave, wave), 10.0) <= -1e-3
    still = Trigonometric([[np.pi, 2.0], [np.pi, -2.0]], [0.0, 0.0], [-1.0j, -1.0j])  # 2 sin πx cos 2y
    assert abs(smallest_normal_velocity(mesh, right, (still, wave), 1.0)) < 1e-13


# numbers of other kinds


def masked(x):
    return np.ma.masked_less(np.asarray(x)[0], 0.5)


@pytest.mark.parametrize("given", [np.ma.masked_array([1.0], mask=[True]), lambda x, t=0.0: masked(x)])
def test_masked_values_are_no_values(given):
    still = AdvectionDiffusion(1.0, 0.1)
    for make in (
        lambda: Problem(still, Box(0.0, 1.0, Dirichlet(given)), 0.0, 0.1),
        lambda: Problem(still, Box(0.0, 1.0, Dirichlet(0.0)), given, 0.1),
        lambda: Problem(still, Box(0.0, 1.0, Dirichlet(0.0)), 0.0, 0.1, source=given),
    ):
        with pytest.raises(ValueError, match=r"expected a value at every point, got masked ones"):
            make()
    with pytest.raises(ValueError, match="diffusion: expected numbers, got masked ones"):
        AdvectionDiffusion((1.0, 0.0), np.ma.masked_array(np.eye(2), mask=np.eye(2)))


@pytest.mark.parametrize(
    ("domain", "diffusion"),
    [
        (Box(0.0, 1.0, Robin(-1e308)), 1.0),
        (Box(0.0, 1.0, Dirichlet(0.0)), 1e308),
        (Box(0.0, 1e-55, Dirichlet(0.0)), 1.0),
        (Domain(skfem.MeshLine(np.array([0.0, 1e-200, 2e-200])), Dirichlet(0.0)), 1.0),
    ],
    ids=["robin", "diffusion", "box", "mesh"],
)
def test_rates_beyond_all_numbers(domain, diffusion):
    problem = Problem(AdvectionDiffusion(0.0, diffusion), domain, 0.0, 0.1)
    with pytest.raises(ValueError, match=r"diffusion: expected rates D/h² and alpha/h up to 1e\+100, got"):
        solve(problem, cells=4 if isinstance(domain, Box) else None, degree=1)


@pytest.mark.parametrize(
    ("lower", "upper", "error"),
    [
        (None, 1.0, TypeError),
        ("ab", "cd", TypeError),
        (0.0, 1e-300, ValueError),
        (0j, 1.0, TypeError),
        (np.nan, 1.0, ValueError),
        ((), (), ValueError),
        ([[0.0]], [[1.0]], TypeError),
        (np.ma.masked_array([0.0], mask=[True]), 1.0, TypeError),
        (True, 2.0, TypeError),
    ],
)
def test_corners_of_other_kinds(lower, upper, error):
    with pytest.raises(error, match=r"(lower|upper).*: expected .*, got"):
        Box(lower, upper, Dirichlet(0.0))


@pytest.mark.parametrize("kind", list(KINDS))
def test_points_outside_and_none(kind):
    dim = KINDS[kind][1]
    domain = Domain(box_mesh(kind, 2, 0.2), Dirichlet(1.0))
    solution = solve(Problem(AdvectionDiffusion((1.0,) * dim), domain, 1.0, 0.01), degree=1)
    assert solution(np.zeros((dim, 0))).shape == (0,)
    np.testing.assert_allclose(solution(domain.mesh().vertices), 1.0)
    for outside in (np.nan, np.inf):
        with pytest.raises(ValueError, match="x: expected finite numbers"):
            solution(np.full((dim, 2), outside))
    for outside in (2.0, -1e-3, 1e300):
        with pytest.raises(ValueError, match="x: expected points inside of the mesh"):
            solution(np.full((dim, 1), outside))
