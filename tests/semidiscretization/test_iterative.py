"""Iterative solves: the same solution, failures with their residual, bounds that still hold (R4 item 25)."""

import numpy as np
import pytest
from mesh_cases import box_mesh
from scipy import sparse

import stfem
from stfem.data import cosine, sine
from stfem.equations import AdvectionDiffusion
from stfem.problems import transient_wave
from stfem.problems.manufactured import balance
from stfem.reconstruction.unstructured import TwoStage, VertexPatches
from stfem.timestepping import ARK548L2SA, RADAU5, DiagonallyImplicitRungeKutta, ImplicitRungeKutta

PI = np.pi
WAVE = sine([PI, 0.0]) * sine([0.0, PI]) * cosine([2.0 * PI, PI])


def resting(eps=1e-2):
    equation = AdvectionDiffusion((1.0, 0.5), eps, 1.0)
    domain = stfem.Domain(box_mesh("triangle", 8, 0.2), stfem.Dirichlet(0.0))
    return stfem.StationaryProblem(equation, domain, balance(equation, WAVE), WAVE)


def early(iterations):
    """A solver that gives up soon, and barely has a preconditioner."""
    return stfem.Gmres(1e-12, iterations, fill=1.0, drop=0.5, warn=True)


def test_stationary_solution_is_that_of_the_factors():
    direct = stfem.solve_stationary(resting(), degree=2)
    iterated = stfem.solve_stationary(resting(), degree=2, solver=stfem.Gmres(1e-13))
    assert np.abs(direct.values - iterated.values).max() < 1e-9


@pytest.mark.parametrize(
    "stepper", [ImplicitRungeKutta, DiagonallyImplicitRungeKutta], ids=lambda entry: entry.__name__
)
def test_steps_are_those_of_the_factors(stepper):
    tableau = RADAU5 if stepper is ImplicitRungeKutta else ARK548L2SA.implicit
    problem = transient_wave(2, 1e-2, 0.1, box_mesh("triangle", 6, 0.2))
    values = [
        stfem.solve(problem, degree=1, dt=0.02, stepper=stepper(tableau, *solver)).values
        for solver in ((), (stfem.Gmres(1e-13),))
    ]
    assert np.abs(values[0] - values[1]).max() < 1e-9
    assert repr(stepper(tableau)).endswith(f"({tableau.name})")
    assert f"{tableau.name}, Gmres(tolerance=1e-11" in repr(stepper(tableau, stfem.Gmres()))


def test_stopping_early_is_an_error_with_its_residual():
    solver = stfem.Gmres(1e-12, 2, fill=1.0, drop=0.5)
    with pytest.raises(stfem.SolveError, match=r"GMRES, 2 iterations: .* relative residual of") as caught:
        stfem.solve_stationary(resting(), degree=1, solver=solver)
    assert 1e-10 < caught.value.residual < 10.0
    problem = transient_wave(2, 1e-2, 0.1, box_mesh("triangle", 6, 0.2))
    with pytest.raises(stfem.SolveError, match="GMRES"):
        stfem.solve(problem, degree=1, dt=0.05, stepper=ImplicitRungeKutta(RADAU5, solver))


@pytest.mark.parametrize("eps", [1e-6, 1e-2, 1.0])
def test_bound_of_a_stationary_solver_that_stopped_early(eps):
    bounds = []
    for iterations in (1, 3, 9):
        with pytest.warns(
            stfem.UnfinishedSolveWarning, match=r"GMRES: expected a relative residual of 1e-12"
        ):
            solution = stfem.solve_stationary(resting(eps), degree=1, solver=early(iterations))
        for rule in (VertexPatches(), TwoStage()):
            estimate = stfem.estimate(solution, stfem.MeshEstimator((rule,)))
            assert estimate.error <= estimate.bound
            assert estimate.enclosure[0] <= estimate.error_dg <= estimate.enclosure[1]
        assert estimate.parts["algebraic"] == solution.residual > 1e-6
        bounds.append(stfem.estimate(solution).bound)
    finished = stfem.estimate(stfem.solve_stationary(resting(eps), degree=1))
    assert finished.parts["algebraic"] < 1e-10
    assert bounds[0] > 1.2 * finished.bound


@pytest.mark.parametrize("eps", [1e-2, 1.0])
def test_bound_of_steps_that_stopped_early(eps):
    """Nodes carry H + P of the values that were found, so that the residual sees what the solver left."""
    problem = transient_wave(2, eps, 0.1, box_mesh("triangle", 6, 0.2))
    bounds, errors = [], []
    for iterations in (1, 3, 500):
        stepper = ImplicitRungeKutta(RADAU5, early(iterations))
        if iterations < 500:
            with pytest.warns(stfem.UnfinishedSolveWarning):
                solution = stfem.solve(problem, degree=1, dt=0.02, stepper=stepper, history=True)
        else:
            solution = stfem.solve(problem, degree=1, dt=0.02, stepper=stepper, history=True)
        estimate = stfem.estimate(solution)
        assert estimate.error <= estimate.bound
        assert estimate.error_energy <= estimate.bound_energy
        assert estimate.enclosure[0] <= estimate.error_dg <= estimate.enclosure[1]
        bounds.append(estimate.bound)
        errors.append(estimate.error_dg)
    assert errors[0] > 1.5 * errors[2]
    assert bounds[0] > bounds[1] > bounds[2]


def test_arguments():
    for wrong in ({"tolerance": 0.0}, {"iterations": 0}, {"fill": 0.1}, {"drop": -1.0}, {"restart": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected"):
            stfem.Gmres(**wrong)
    with pytest.raises(TypeError, match="tolerance: expected a number"):
        stfem.Gmres("small")


def test_matrices_of_all_kinds():
    rng = np.random.default_rng(0)
    matrix = sparse.random_array((40, 40), density=0.2, rng=rng) + 10.0 * sparse.eye_array(40)
    for factor in (1.0, 1.0 + 2.0j):
        rhs = rng.normal(size=40) * factor
        x = stfem.Gmres()(matrix * factor).solve(rhs)
        assert np.linalg.norm(matrix @ x * factor - rhs) < 1e-10 * np.linalg.norm(rhs)
    assert np.array_equal(stfem.Gmres()(matrix).solve(np.zeros(40)), np.zeros(40))
    assert np.isnan(stfem.Gmres()(matrix).solve(np.full(40, np.inf))).all()
    with pytest.raises(stfem.SolveError, match="singular"):
        stfem.Gmres()(sparse.csr_array((3, 3)))
