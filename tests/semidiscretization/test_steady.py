"""States of rest: order, systems with a kernel, Newton's method, and what cannot be solved."""

import numpy as np
import pytest
from mesh_cases import box_mesh

import stfem
from stfem.data import cosine, sine
from stfem.equations import AdvectionDiffusion, Burgers
from stfem.problems.manufactured import balance
from stfem.semidiscretization import SolveError, UnstructuredSemidiscretization, steady_state

PI = np.pi
WAVE = sine([PI, 0.0]) * sine([0.0, PI]) * cosine([2.0 * PI, PI])


def points(lower=0.0, upper=1.0, dim=2, count=2000):
    return np.random.default_rng(0).uniform(lower, upper, (dim, count))


def distance(solution, exact, x):
    return float(np.sqrt(np.mean((solution(x) - exact(x)) ** 2)))


def resting(equation, u, mesh, boundary, **options):
    return stfem.StationaryProblem(
        equation, stfem.Domain(mesh, boundary, **options), balance(equation, u), exact=u
    )


@pytest.mark.parametrize("eps", [0.0, 1e-6, 1.0])
@pytest.mark.parametrize("degree", [1, 2])
def test_order(eps, degree):
    equation, x = AdvectionDiffusion((1.0, 0.5), eps, 1.0), points()
    errors = [
        distance(
            stfem.solve_stationary(
                resting(equation, WAVE, box_mesh("triangle", n, 0.2), stfem.Dirichlet(0.0)), degree=degree
            ),
            lambda x: WAVE(x, 0.0),
            x,
        )
        for n in (8, 16)
    ]
    assert degree + 0.7 < np.log2(errors[0] / errors[1]) < degree + 1.6


def test_every_condition_in_one_box():
    u = cosine([2.0, 1.0])
    eps = 0.1
    equation = AdvectionDiffusion((1.0, 0.5), eps, 0.5)
    slope = [u.derivative(i) * eps for i in range(2)]
    boundary = {
        "left": stfem.TotalFlux(slope[0] - u),
        "bottom": stfem.Dirichlet(u),
        "right": stfem.Robin(1.0, slope[0] + u),
        "top": stfem.Neumann(slope[1]),
    }
    x = points()
    errors = []
    for n in (4, 8):
        problem = resting(equation, u, box_mesh("triangle", n, 0.2), boundary)
        errors.append(distance(stfem.solve_stationary(problem, degree=2), lambda x: u(x, 0.0), x))
    assert errors[1] < 3e-4
    assert np.log2(errors[0] / errors[1]) > 2.6


@pytest.mark.parametrize("kind", ["line", "quadrilateral", "tetrahedron"])
def test_other_cells(kind):
    mesh = box_mesh(kind, 4, 0.1)
    dim = mesh.p.shape[0]
    u = sine([PI] + [0.0] * (dim - 1), phase=0.3) if dim == 1 else cosine([1.0] * dim)
    equation = AdvectionDiffusion((1.0, 0.5, 0.25)[:dim], 0.1, 1.0)
    solution = stfem.solve_stationary(resting(equation, u, mesh, stfem.Dirichlet(u)), degree=3)
    assert distance(solution, lambda x: u(x, 0.0), points(dim=dim)) < 2e-3
    assert solution.residual < 1e-10


def test_outflow_values_at_a_pure_outflow():
    """R4 item 17: the value 5 counts with diffusion, not without it."""
    for eps, expected, at in ((0.0, 1.0, 1e-12), (0.1, 2.471403, 5e-7)):
        sides = {"left": stfem.Dirichlet(1.0), "right": stfem.Dirichlet(5.0)}
        problem = stfem.StationaryProblem(AdvectionDiffusion(1.0, eps), stfem.Box(0.0, 1.0, sides))
        assert abs(stfem.solve_stationary(problem, cells=64, degree=3)(np.array([[0.9]]))[0] - expected) < at


def test_nothing_passes():
    """R4 item 18: the state of rest with mass 1 of a box with zero total flux, against a diffusive one."""
    box = stfem.Box(0.0, 1.0, stfem.TotalFlux(0.0))
    problem = stfem.StationaryProblem(AdvectionDiffusion(1.0, 0.1), box, mean=1.0)
    ends = stfem.solve_stationary(problem, cells=64, degree=4)(np.array([[0.0, 1.0]]))
    assert ends == pytest.approx([4.5402e-4, 10.000454], rel=1e-5)


@pytest.mark.parametrize("periodic", [(), (0, 1)])
def test_systems_with_a_kernel(periodic):
    """R4 item 16: mean zero, and an error that names the defect."""
    wavenumber = 2.0 * PI if periodic else PI
    u = cosine([wavenumber, 0.0]) * cosine([0.0, wavenumber])
    velocity = (1.0, 0.5) if periodic else (0.0, 0.0)
    equation = AdvectionDiffusion(velocity, 0.5)
    boundary = None if periodic else stfem.Neumann(0.0)
    domain = stfem.Domain(box_mesh("triangle", 8), boundary, periodic)
    source, x = balance(equation, u), points()
    for mean in (0.0, 0.7):
        problem = stfem.StationaryProblem(equation, domain, source, exact=u + mean, mean=mean)
        solution = stfem.solve_stationary(problem, degree=2)
        assert distance(solution, lambda x, mean=mean: u(x, 0.0) + mean, x) < 5e-3
        measures = solution.semidiscretization.mesh.cell_measures
        assert float(measures @ solution.values[0, 0]) == pytest.approx(mean, abs=1e-12)
    with pytest.raises(ValueError, match=r"source: expected an integral .* got a defect of 0\.25$"):
        stfem.solve_stationary(stfem.StationaryProblem(equation, domain, source + 0.25), degree=2)


def test_reaction_takes_what_periodic_sources_add():
    equation = AdvectionDiffusion((1.0, 0.5), 1e-3, 2.0)
    domain = stfem.Domain(box_mesh("triangle", 4), periodic=(0, 1))
    solution = stfem.solve_stationary(stfem.StationaryProblem(equation, domain, 3.0), degree=1)
    assert np.abs(solution(points(count=50)) - 1.5).max() < 1e-12


def test_viscous_shock():
    """Burgers: −tanh((x − ½)/(2ε)) rests."""
    eps = 0.05

    def shock(x, t=0.0):
        return -np.tanh((x[0] - 0.5) / (2.0 * eps))

    problem = stfem.StationaryProblem(Burgers(1, eps), stfem.Box(0.0, 1.0, stfem.Dirichlet(shock)))
    errors = []
    for cells in (16, 32):
        solution = stfem.solve_stationary(problem, cells=cells, degree=2)
        errors.append(np.abs(solution(points(dim=1)) - shock(points(dim=1))).max())
        assert solution.iterations < 20
        assert solution.residual < 1e-9
    assert errors[1] < 5e-4
    assert np.log2(errors[0] / errors[1]) > 2.3


def test_a_good_start_needs_fewer_iterations():
    sides = {"left": stfem.Dirichlet(1.0), "right": stfem.Dirichlet(-0.6)}
    problem = stfem.StationaryProblem(Burgers(1, 0.05), stfem.Box(0.0, 1.0, sides))
    first = stfem.solve_stationary(problem, cells=24, degree=1)
    again = stfem.solve_stationary(problem, cells=24, degree=1, start=first.values)
    assert again.iterations < first.iterations
    assert np.allclose(first.values, again.values, atol=1e-8)


def test_a_shock_that_has_to_cross_the_domain(monkeypatch):
    """Zero lies far from the state of rest, a layer at the outflow; without pseudo-time nothing is found."""
    from stfem.semidiscretization.unstructured import steady

    sides = {"left": stfem.Dirichlet(1.0), "right": stfem.Dirichlet(-0.9)}
    problem = stfem.StationaryProblem(Burgers(1, 5e-3), stfem.Box(0.0, 1.0, sides))
    solution = stfem.solve_stationary(problem, cells=64, degree=2)
    assert solution.residual < 1e-8
    assert solution.iterations < 100
    assert np.abs(solution(np.array([[0.2, 0.5, 0.9]])) - 1.0).max() < 1e-6
    monkeypatch.setattr(steady, "_FIRST", 1e12)
    monkeypatch.setattr(steady, "_REJECTED", 1e12)
    with pytest.raises(SolveError):
        stfem.solve_stationary(problem, cells=64, degree=2)


def test_errors_of_the_solvers():
    circling = stfem.StationaryProblem(
        AdvectionDiffusion(0.0), stfem.Box(0.0, 1.0, stfem.Dirichlet(0.0)), 0.0
    )
    with pytest.raises(SolveError, match="singular"):
        stfem.solve_stationary(stfem.StationaryProblem(circling.equation, circling.domain), cells=4, degree=1)
    good = stfem.StationaryProblem(AdvectionDiffusion(1.0, 0.1), circling.domain, 1.0)
    with pytest.raises(TypeError, match=r"expected a StationaryProblem, got a Problem; solve"):
        stfem.solve_stationary(good.in_time(1.0), cells=4, degree=1)
    with pytest.raises(TypeError, match="expected a Problem, got a StationaryProblem"):
        stfem.solve(good, cells=4, degree=1)
    with pytest.raises(ValueError, match=r"start: expected coefficients of shape \(1, 2, 4\), got \(3,\)"):
        stfem.solve_stationary(good, cells=4, degree=1, start=np.zeros(3))
    with pytest.raises(ValueError, match="degree"):
        stfem.solve_stationary(good, cells=4, degree=7)


def test_newton_that_does_not_converge(monkeypatch):
    from stfem.semidiscretization.unstructured import steady

    monkeypatch.setattr(steady, "_ITERATIONS", 2)
    sides = {"left": stfem.Dirichlet(1.0), "right": stfem.Dirichlet(-1.0)}
    problem = stfem.StationaryProblem(Burgers(1, 0.05), stfem.Box(0.0, 1.0, sides))
    with pytest.raises(SolveError, match=r"Newton's iteration for a state of rest: .* residual of") as caught:
        stfem.solve_stationary(problem, cells=16, degree=1)
    assert caught.value.residual > 1e-11


def test_solution_as_a_function():
    problem = stfem.StationaryProblem(
        AdvectionDiffusion(1.0, 0.1), stfem.Box(0.0, 1.0, stfem.Dirichlet(lambda x, t: x[0])), 1.0
    )
    solution = stfem.solve_stationary(problem, cells=5, degree=1)  # u = x
    x = points(dim=1, count=20)
    assert np.abs(solution(x) - x[0]).max() < 1e-12
    assert solution.coefficients.shape == (1, 5, 2)
    assert repr(solution).startswith("StationarySolution(cells=5, degree=1, residual=")
    with pytest.raises(ValueError, match="x: expected shape"):
        solution(np.zeros((2, 3)))


def test_state_of_rest_is_where_time_leads():
    problem = stfem.StationaryProblem(
        AdvectionDiffusion(1.0, 0.1, 1.0), stfem.Box(0.0, 1.0, stfem.Dirichlet(0.0)), 1.0
    )
    moving = stfem.solve(problem.in_time(12.0), cells=8, degree=1)
    semi = UnstructuredSemidiscretization(problem.in_time(1.0), 8, 1)
    assert np.abs(moving.values - steady_state(semi).values).max() < 1e-8
