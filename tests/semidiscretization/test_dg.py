"""The joined semidiscretization: sources, reaction, shapes, orders of convergence in space."""

import math

import numpy as np
import pytest

from stfem import Problem, Torus, equations, solve
from stfem.data import Constant, cosine, sine
from stfem.estimators.errors import distance
from stfem.problems import linear_advection_diffusion, viscous_burgers
from stfem.semidiscretization import Semidiscretization
from stfem.timestepping import FEHLBERG7, ExplicitRungeKutta

PI2 = 2.0 * math.pi


def error_of(problem, cells, degree, **options):
    solution = solve(problem, cells=cells, degree=degree, initial_correction=False, **options)
    semi = solution.semidiscretization
    return distance(problem, semi.grid, degree, solution.values, problem.final_time)


def orders(problem, degree, cells, **options):
    errors = [error_of(problem, n, degree, **options) for n in cells]
    return [
        math.log(a / b) / math.log(n / k)
        for a, b, k, n in zip(errors, errors[1:], cells, cells[1:], strict=False)
    ]


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("eps", [0.0, 1e-2])
def test_order_in_one_dimension(degree, eps):
    cells = (64, 128) if degree == 0 else (8, 16) if degree < 4 else (5, 10)
    (order,) = orders(linear_advection_diffusion(1, eps, 0.1), degree, cells)
    assert degree + 0.75 < order < degree + 1.6
    if degree:  # one degree less has another order
        (lower,) = orders(linear_advection_diffusion(1, eps, 0.1), degree - 1, cells)
        assert lower < degree + 0.75


@pytest.mark.parametrize(("dim", "degree", "cells"), [(2, 1, (8, 16)), (2, 2, (6, 12)), (3, 1, (4, 8))])
def test_order_in_more_dimensions(dim, degree, cells):
    (order,) = orders(linear_advection_diffusion(dim, 1e-3, 0.1), degree, cells)
    assert degree + 0.7 < order < degree + 1.7


def test_order_with_a_full_matrix():
    """u = e^{-kᵀDk t} sin(k·x) without convection."""
    matrix = np.array([[0.05, 0.03], [0.03, 0.04]])
    k = np.array([PI2, PI2])
    rate = float(k @ matrix @ k)
    problem = Problem(
        equations.AdvectionDiffusion((0.0, 0.0), matrix),
        Torus((1.0, 1.0)),
        sine(k),
        0.1,
        exact=lambda x, t: math.exp(-rate * t) * np.sin(PI2 * (x[0] + x[1])),
    )
    (order,) = orders(problem, 1, (8, 16))
    assert 1.7 < order < 2.6


def test_full_degree_five_and_the_high_order_stepper():
    fine = error_of(linear_advection_diffusion(1, 0.0, 0.1), 10, 5, stepper=ExplicitRungeKutta(FEHLBERG7))
    assert fine < 2e-7


def test_burgers_in_two_dimensions():
    (order,) = orders(viscous_burgers(2, 1e-3, 0.05), 1, (8, 16))
    assert 1.7 < order < 2.5


def test_source_and_reaction_are_projections():
    c, g = 0.3 + cosine(PI2, 0.5), sine(PI2, 2.0, 0.1)
    for reaction in (c, Constant(0.7, 1)):
        equation = equations.AdvectionDiffusion((0.0,), reaction=reaction)
        semi = Semidiscretization(Problem(equation, Torus(1.0), 0.0, 1.0, source=g), 32, 3)
        u, t = cosine(PI2), 0.4
        rate = semi.rhs_hyperbolic(t, semi.project((u,)))
        product = reaction * u if reaction is c else 0.7 * u
        np.testing.assert_allclose(rate, semi.project((g - product,), t), atol=2e-6)
        assert np.abs(rate - semi.project((g - product,), 0.0)).max() > 0.1


def test_degree_zero_upwind_is_finite_volume():
    problem = linear_advection_diffusion(1, 0.1, 0.1)
    semi = Semidiscretization(problem, 8, 0)
    u = np.random.default_rng(0).normal(size=(1, 1, 8))
    upwind = -(u - np.roll(u, 1, 2)) * 8
    np.testing.assert_allclose(semi.rhs_hyperbolic(0.0, u), upwind, atol=1e-12)
    second = (np.roll(u, 1, 2) - 2 * u + np.roll(u, -1, 2)) * 64
    np.testing.assert_allclose(semi.rhs_parabolic(0.0, u), 0.1 * second, atol=1e-11)
    np.testing.assert_allclose(semi.rhs(0.0, u), upwind + 0.1 * second, atol=1e-11)


def test_shapes_and_counts():
    semi = Semidiscretization(viscous_burgers(3), (2, 3, 4), 1)
    assert semi.shape == (1, 2, 2, 2, 2, 3, 4)
    assert semi.dofs == 8 * 24
    assert semi.convective_rate(semi.project(semi.problem.initial)) == pytest.approx(2.2 * 9, rel=0.05)


@pytest.mark.parametrize(
    ("cells", "degree", "error", "message"),
    [
        (0, 1, ValueError, "at least 1"),
        ((4, 4), 1, ValueError, "expected 1 numbers"),
        (2.5, 1, TypeError, "whole numbers"),
        (4, -1, ValueError, "^degree: expected 0 to 5, got -1$"),
        (4, 6, ValueError, "^degree: expected 0 to 5, got 6$"),
        (4, 9, ValueError, "^degree: expected 0 to 5, got 9$"),
        (4, 1.5, TypeError, "whole number"),
        (4, True, TypeError, "whole number"),
    ],
)
def test_wrong_arguments(cells, degree, error, message):
    with pytest.raises(error, match=message):
        Semidiscretization(linear_advection_diffusion(1), cells, degree)
