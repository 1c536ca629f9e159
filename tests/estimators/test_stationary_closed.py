"""Stationary bounds where fluxes are given: what is free, what is determined, what has no bound (T5.6)."""

from dataclasses import replace

import numpy as np
import pytest
import skfem

import stfem
from stfem import Dirichlet, Domain, Neumann, Outflow, StationaryProblem, TotalFlux
from stfem.data import Polynomial
from stfem.equations import AdvectionDiffusion

LINE = (
    skfem.MeshLine().refined(4).with_boundaries({"left": lambda x: x[0] == 0, "right": lambda x: x[0] == 1})
)
SQUARE = skfem.MeshTri.init_tensor(np.linspace(0, 1, 9), np.linspace(0, 1, 9)).with_defaults()


def slope(eps, b):
    """The only solution is u = 1 + x: the total flux is given where the flow enters."""
    sides = {"left": TotalFlux(eps - b), "right": Neumann(eps)}
    equation = AdvectionDiffusion(b, eps)
    return StationaryProblem(equation, Domain(LINE, sides), source=b, exact=lambda x: 1.0 + x[0])


@pytest.mark.parametrize(("eps", "b"), [(1.0, 1e-9), (1e6, 1.0), (1.0, 1.0), (1e-2, 1.0), (1e-4, 1.0)])
def test_a_total_flux_at_the_inflow_determines_the_solution(eps, b):
    result = stfem.certify(slope(eps, b), degree=1)
    assert result.error <= result.bound
    assert result.enclosure[0] <= result.error_dg <= result.enclosure[1]
    assert result.error < 1e-2  # nothing moves the mean to 0


def test_ordinary_numbers_are_sharp():
    assert stfem.certify(slope(1.0, 1.0), degree=1).bound < 1e-10


@pytest.mark.parametrize("eps", [1.0, 0.05, 1e-3])
def test_any_values_whatever_are_bounded(eps):
    rng = np.random.default_rng(4)
    solution = stfem.solve_stationary(slope(eps, 1.0), degree=1)
    for size in (1e-3, 0.1, 1.0):
        moved = replace(solution, values=solution.values + size * rng.standard_normal(solution.values.shape))
        estimate = stfem.estimate(moved)
        assert estimate.guaranteed
        assert estimate.error <= estimate.bound
        assert estimate.enclosure[0] <= estimate.error_dg <= estimate.enclosure[1]


def test_a_closed_box_with_a_flow_has_no_bound():
    """Its homogeneous problem is solved by exp(b·x/ε), not by constants: coercivity is lost."""
    equation = AdvectionDiffusion((20.0, 0.0), 1.0)
    source = Polynomial([[-0.5, 1.0]], dim=2)
    problem = StationaryProblem(equation, Domain(SQUARE, TotalFlux(0.0)), source=source)
    with pytest.raises(ValueError, match="problem: expected c_0"):
        stfem.certify(problem, degree=1)


def test_a_closed_box_without_a_flow_is_known_up_to_its_mean():
    """−Δu = y − ½, ∂_n u = 0: u = (y²/4 − y³/6 + const); with zero in its place the bound still holds."""
    source = Polynomial([[-0.5, 1.0]], dim=2)

    def exact(x):
        return x[1] ** 2 / 4.0 - x[1] ** 3 / 6.0 - 1.0 / 24.0

    problem = StationaryProblem(
        AdvectionDiffusion((0.0, 0.0), 1.0),
        Domain(SQUARE, Neumann(0.0)),
        source=source,
        exact=exact,
        mean=0.0,
    )
    solution = stfem.solve_stationary(problem, degree=1)
    for values in (solution.values, 0.0 * solution.values):
        estimate = stfem.estimate(replace(solution, values=values))
        assert estimate.error <= estimate.bound < 0.1


def test_a_channel_with_a_given_total_flux():
    """u = 1: nothing leaves through the walls, the flux enters as it is, and the flow takes it out."""
    walls = {"bottom": Neumann(0.0), "top": Neumann(0.0)}
    sides = {"left": TotalFlux(-1.0), "right": Outflow(), **walls}
    problem = StationaryProblem(
        AdvectionDiffusion((1.0, 0.0), 0.1), Domain(SQUARE, sides), exact=lambda x: 1.0 + 0.0 * x[0]
    )
    result = stfem.certify(problem, degree=1)
    assert result.error <= result.bound < 1e-9


def test_given_values_determine_the_mean_whatever_the_diffusion():
    sides = {"left": Dirichlet(1.0), "right": Neumann(0.0)}
    problem = StationaryProblem(
        AdvectionDiffusion(1.0, 1e12), Domain(LINE, sides), exact=lambda x: 1.0 + 0.0 * x[0]
    )
    assert stfem.solve_stationary(problem, degree=1)(np.array([[0.3]])) == pytest.approx(1.0, abs=1e-6)


def test_a_mean_that_is_not_free_is_refused():
    problem = StationaryProblem(
        AdvectionDiffusion(1.0, 0.1), Domain(LINE, {"left": TotalFlux(-1.0), "right": Outflow()}), mean=2.0
    )
    with pytest.raises(ValueError, match="mean: expected none, as the equation and its conditions"):
        stfem.solve_stationary(problem, degree=1)
