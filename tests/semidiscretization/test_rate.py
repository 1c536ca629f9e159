"""d/dt of the right-hand side along a solution, against differences in time of the scheme itself."""

import math

import numpy as np
import pytest

from stfem import Problem, Torus, equations
from stfem.data import Polynomial, cosine, sine
from stfem.semidiscretization import Semidiscretization
from stfem.timestepping import DORMAND_PRINCE5, ExplicitRungeKutta, integrate

PI2 = 2.0 * math.pi


def settings():
    wave, source = 2.0 + sine(PI2), cosine(PI2, 5.0, 0.3)
    plane = 2.0 + sine([PI2, PI2])
    yield "linear", Problem(equations.AdvectionDiffusion((1.0,)), Torus(1.0), wave, 1.0), 2
    yield (
        "linear, source and reaction",
        Problem(
            equations.AdvectionDiffusion((1.0,), 0.01, reaction=0.7), Torus(1.0), wave, 1.0, source=source
        ),
        1,
    )
    yield (
        "polynomial source",
        Problem(
            equations.AdvectionDiffusion((1.0,)),
            Torus(1.0),
            wave,
            1.0,
            source=Polynomial(np.array([[0.3, -0.5, 2.0]]), 1),
        ),
        1,
    )
    yield "Burgers", Problem(equations.Burgers(1), Torus(1.0), wave, 1.0, source=source), 2
    yield "Burgers, diffusion", Problem(equations.Burgers(1, 0.01), Torus(1.0), wave, 1.0, source=source), 1
    matrix = np.array([[0.02, 0.01], [0.01, 0.03]])
    yield "2D, full matrix", Problem(equations.Burgers(2, matrix), Torus((1.0, 1.0)), plane, 1.0), 1


CASES = {name: (problem, degree) for name, problem, degree in settings()}


def nodes(problem, degree, dt):
    """A fifth-order run, five nodes of it at the middle."""
    semi = Semidiscretization(problem, 6, degree)
    stepper = ExplicitRungeKutta(DORMAND_PRINCE5)
    run = list(integrate(semi, stepper, semi.project(problem.initial), 12 * dt, dt))
    return semi, run[4:9]


@pytest.mark.parametrize("name", CASES)
def test_against_differences_of_a_run(name):
    """Central differences of F_n over two and four steps, extrapolated: an error of dt⁴ for smooth fluxes."""
    problem, degree = CASES[name]
    gaps = []
    for dt in (4e-3, 2e-3):
        semi, (first, second, node, fourth, fifth) = nodes(problem, degree, dt)
        close, wide = (fourth.rate - second.rate) / (2.0 * dt), (fifth.rate - first.rate) / (4.0 * dt)
        expected = (4.0 * close - wide) / 3.0
        found = semi.rhs_rate(node.time, node.values, node.rate)
        gaps.append(float(np.linalg.norm(found - expected) / np.linalg.norm(expected)))
    assert gaps[1] < 2e-4
    # the larger one of two wave speeds makes a numerical flux less smooth
    assert gaps[0] / gaps[1] > (10.0 if problem.equation.linear else 3.0) or gaps[1] < 1e-8
    without = expected - semi.rhs_rate(node.time, node.values, 0.0 * node.rate)
    if problem.source[0].time_dependent:
        assert np.linalg.norm(without - expected) > 0.01 * np.linalg.norm(expected)  # ∂_tg counts


@pytest.mark.parametrize("size", [1e-100, 1.0, 1e100])
def test_linear_in_the_rate(size):
    """For a linear equation it is the operator itself, applied to F, whatever the state and the source."""
    equation = equations.AdvectionDiffusion((1.0,), 0.01, reaction=0.7)
    wave = sine(PI2, amplitude=size)
    plain = Semidiscretization(Problem(equation, Torus(1.0), wave, 1.0), 6, 2)
    forced = Semidiscretization(
        Problem(equation, Torus(1.0), wave, 1.0, source=sine(2 * PI2, 0.0, 0.1, 1e3 * size)), 6, 2
    )
    rate = size * np.random.default_rng(1).normal(size=plain.shape)
    expected = plain.rhs(0.0, rate)
    for state in (plain.project([wave]), np.zeros(plain.shape)):
        for semi in (plain, forced):
            gap = semi.rhs_rate(0.3, state, rate) - expected
            assert np.linalg.norm(gap) <= 1e-11 * np.linalg.norm(expected)


def test_still_state():
    problem = Problem(equations.Burgers(1), Torus(1.0), 0.0, 1.0, source=sine(PI2, 3.0))
    semi = Semidiscretization(problem, 6, 1)
    zero = np.zeros(semi.shape)
    slope = semi.project([sine(PI2, 3.0).time_derivative()], 0.2)
    np.testing.assert_allclose(semi.rhs_rate(0.2, zero, zero), slope, atol=1e-14)


def test_source_without_derivative():
    def bare(x, t):
        return np.sin(PI2 * x[0]) + t

    problem = Problem(equations.AdvectionDiffusion((1.0,)), Torus(1.0), 0.0, 1.0, source=bare)
    semi = Semidiscretization(problem, 6, 1)
    zero = np.zeros(semi.shape)
    with pytest.raises(TypeError, match="derivative"):
        semi.rhs_rate(0.0, zero, zero + 1.0)
