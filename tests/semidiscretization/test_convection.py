"""Stencil and quadrature form of −∇·f(u): equal where both apply, and conservative."""

import math

import numpy as np
import pytest

from stfem import Problem, Torus, equations
from stfem.data import sine
from stfem.fluxes import flux_engquist_osher, flux_rusanov, flux_upwind
from stfem.meshes import TensorGrid
from stfem.semidiscretization import Semidiscretization
from stfem.semidiscretization.convection import StencilConvection, linear_traces
from stfem.semidiscretization.quadrature import QuadratureConvection

PI2 = 2.0 * math.pi


def central(equation, minus, plus, x, t, direction):
    return 0.5 * (equation.flux(minus, x, t, direction) + equation.flux(plus, x, t, direction))


@pytest.mark.parametrize("flux", [flux_upwind, flux_rusanov, flux_engquist_osher, central])
@pytest.mark.parametrize(
    ("velocity", "cells"), [((1.3,), (5,)), ((-0.7, 0.4), (3, 4)), ((1.0, 0.0, -0.2), (2, 1, 3))]
)
@pytest.mark.parametrize("degree", [0, 1, 3])
def test_stencil_equals_quadrature(flux, velocity, cells, degree):
    equation = equations.AdvectionDiffusion(velocity)
    grid = TensorGrid((1.0, 1.5, 0.7)[: len(cells)], cells)
    traces = linear_traces(equation, flux)
    stencil = StencilConvection(grid, degree, traces)
    quadrature = QuadratureConvection(grid, degree, equation, flux)
    u = np.random.default_rng(1).normal(size=(1, *(degree + 1,) * len(cells), *cells))
    np.testing.assert_allclose(stencil.apply(0.0, u), quadrature.apply(0.0, u), atol=1e-11)
    swapped = StencilConvection(grid, degree, [(plus, minus) for minus, plus in traces])
    if flux is not central:
        assert np.abs(swapped.apply(0.0, u) - quadrature.apply(0.0, u)).max() > 0.01


def test_flux_that_is_not_linear_in_the_traces_takes_quadrature():
    def limited(equation, minus, plus, x, t, direction):
        return flux_rusanov(equation, minus, plus, x, t, direction) - 0.1 * np.abs(plus - minus)

    problem = Problem(equations.AdvectionDiffusion((1.0,)), Torus(1.0), 0.0, 1.0)
    assert linear_traces(problem.equation, limited) is None
    assert isinstance(Semidiscretization(problem, 4, 1, limited)._convection, QuadratureConvection)
    assert isinstance(Semidiscretization(problem, 4, 1)._convection, StencilConvection)
    wavy = Problem(equations.AdvectionDiffusion((1.0 + sine(PI2, amplitude=0.1),)), Torus(1.0), 0.0, 1.0)
    assert linear_traces(wavy.equation, flux_rusanov) is None


PROBLEMS = {
    "linear": equations.AdvectionDiffusion((1.0, -0.5)),
    "variable": equations.AdvectionDiffusion((1.0 + sine([PI2, 0.0], amplitude=0.4), 0.3)),
    "Burgers": equations.Burgers(2),
    "cubic": equations.ScalarConservationLaw((0.0, 0.0, 0.0, 1.0), dim=2),
    "p-system": equations.DiffusivePSystem(0.0, dim=2),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("cells", [(4, 3), (1, 2)])
def test_conservation(name, degree, cells):
    equation = PROBLEMS[name]
    semi = Semidiscretization(
        Problem(equation, Torus((1.0, 1.0)), [1.0] * equation.components, 1.0), cells, degree
    )
    u = 0.05 * np.random.default_rng(2).normal(size=semi.shape)
    u[:, 0, 0] += 1.0
    rate = semi.rhs_hyperbolic(0.0, u)
    means = rate[:, 0, 0].sum(axis=(-2, -1))
    np.testing.assert_allclose(means, 0.0, atol=1e-12 * max(1.0, np.abs(rate).max()) * 10)
    if np.prod(cells) > 2:
        assert np.abs(rate[:, 0, 0]).max() > 1e-3  # the cells do exchange mass


@pytest.mark.parametrize("name", ["linear", "Burgers", "cubic", "p-system"])
def test_constant_states_are_kept(name):
    equation = PROBLEMS[name]
    semi = Semidiscretization(
        Problem(equation, Torus((1.0, 1.0)), [1.0] * equation.components, 1.0), (4, 3), 2
    )
    u = np.zeros(semi.shape)
    u[:, 0, 0] = 1.1
    np.testing.assert_allclose(semi.rhs_hyperbolic(0.0, u), 0.0, atol=1e-11)


@pytest.mark.parametrize("flux", [flux_rusanov, flux_engquist_osher])
def test_dissipative_fluxes_lose_energy(flux):
    """(H(u), u) ≤ 0 for Burgers with exact integration and an E-flux; the reversed flux gains."""
    semi = Semidiscretization(Problem(equations.Burgers(1), Torus(1.0), 0.0, 1.0), 7, 2, flux)

    def reversed_flux(equation, minus, plus, x, t, direction):
        return 2.0 * central(equation, minus, plus, x, t, direction) - flux(
            equation, minus, plus, x, t, direction
        )

    gaining = Semidiscretization(semi.problem, 7, 2, reversed_flux)
    rng = np.random.default_rng(3)
    for _ in range(5):
        u = rng.normal(size=semi.shape)
        assert np.vdot(semi.rhs_hyperbolic(0.0, u), u) < 0.0 < np.vdot(gaining.rhs_hyperbolic(0.0, u), u)


def test_velocity_is_taken_at_points_and_time():
    """Projection of −∂_x(b u) with continuous u and b: the face terms cancel."""
    b = 1.0 + sine(PI2, 0.7, amplitude=0.4)
    semi = Semidiscretization(Problem(equations.AdvectionDiffusion((b,)), Torus(1.0), 0.0, 1.0), 64, 3)
    u, t = sine(PI2, phase=0.3), 0.61
    rate = semi.rhs_hyperbolic(t, semi.project((u,)))
    expected = semi.project((-1.0 * (b * u).derivative(0),), t)
    assert np.abs(rate - expected).max() < 1e-4
    assert np.abs(semi.rhs_hyperbolic(0.0, semi.project((u,))) - expected).max() > 0.1
