"""Corrected initial values meet u_0 after reconstruction (T2.0a, T2.0b)."""

import math

import numpy as np
import pytest

from stfem import Problem, Siac, Torus, certify, equations
from stfem.data import sine
from stfem.problems import diffusive_p_system, linear_advection_diffusion
from stfem.reconstruction import initial_corrected, initial_projection
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.tensor import norm_l2_sq
from stfem.timestepping import ImplicitExplicitRungeKutta


def mismatch(semi, bound, u):
    """‖Π u_0 − S U_0‖."""
    exact = np.stack([f.project(bound.grid, bound.degree, 0.0).coefficients for f in semi.problem.initial])
    return math.sqrt(norm_l2_sq(bound.field(u) - exact, bound.grid))


def setting(problem, cells, degree, order=None):
    semi = Semidiscretization(problem, cells, degree)
    return semi, Siac(order).bind(semi)


@pytest.mark.parametrize("order", [None, 3])
@pytest.mark.parametrize("degree", [1, 2])
def test_explicit_correction(degree, order):
    semi, bound = setting(linear_advection_diffusion(1, 0.0), 8, degree, order)
    plain = initial_projection(semi)
    corrected = initial_corrected(semi, bound, implicit=False)
    assert mismatch(semi, bound, corrected) < 0.2 * mismatch(semi, bound, plain)
    mass = plain[0, 0].sum()
    assert corrected[0, 0].sum() == pytest.approx(mass, abs=1e-13)


def test_explicit_correction_is_small():
    """It moves U_0 by O(h^{2q+2}), below the error of u_h."""
    moved = []
    for cells in (8, 16):
        semi, bound = setting(linear_advection_diffusion(1, 0.0), cells, 1)
        change = initial_corrected(semi, bound, implicit=False) - initial_projection(semi)
        moved.append(math.sqrt(norm_l2_sq(change, semi.grid)))
    assert math.log2(moved[0] / moved[1]) > 3.7


@pytest.mark.parametrize("degree", [2, 3])
def test_implicit_correction(degree):
    """With stiff diffusion F_0 must stay near D Δu_0, which the explicit correction spoils."""
    problem = linear_advection_diffusion(1, 1.0, 0.05)
    semi, bound = setting(problem, 8, degree)
    exact = -4.0 * math.pi**2 * problem.initial[0]
    target = exact.project(bound.grid, bound.degree, 0.0).coefficients[None]

    def rate_error(u):
        return math.sqrt(norm_l2_sq(bound.field(semi.rhs_parabolic(0.0, u)) - target, bound.grid))

    implicit = initial_corrected(semi, bound, implicit=True)
    explicit = initial_corrected(semi, bound, implicit=False)
    assert rate_error(implicit) < 0.7 * rate_error(explicit)
    assert rate_error(implicit) < 0.1 * math.sqrt(norm_l2_sq(target, bound.grid))
    assert mismatch(semi, bound, implicit) < 0.05


def test_implicit_correction_with_a_full_matrix_and_odd_splines():
    matrix = np.array([[1.0, 0.4], [0.4, 0.5]])
    wave = sine([2.0 * math.pi, 2.0 * math.pi])
    problem = Problem(equations.AdvectionDiffusion((0.0, 0.0), matrix), Torus((1.0, 1.0)), wave, 0.1)
    semi, bound = setting(problem, 8, 2, 3)
    implicit = initial_corrected(semi, bound, implicit=True)
    target = semi.project(
        (sum(matrix[i, j] * wave.derivative(i).derivative(j) for i in range(2) for j in range(2)),)
    )
    defect = math.sqrt(norm_l2_sq(semi.rhs_parabolic(0.0, implicit) - target, semi.grid))
    assert defect < 0.02 * math.sqrt(norm_l2_sq(target, semi.grid))
    assert (
        math.sqrt(norm_l2_sq(semi.rhs_parabolic(0.0, initial_projection(semi)) - target, semi.grid))
        > 4 * defect
    )


def in_units(length, time):
    """Velocity 1, diffusion 1, T = 0.005 and the unit torus, all in units of length and time."""
    eps, speed, wave = length**2 / time, length / time, 2.0 * math.pi / length

    def exact(x, t):
        return math.exp(-eps * wave**2 * t) * np.sin(wave * (x[0] - speed * t))

    equation = equations.AdvectionDiffusion((speed,), eps)
    return Problem(equation, Torus(length), sine(wave), 0.005 * time, exact=exact)


@pytest.mark.parametrize(
    ("length", "time"), [(1024.0, 1.0), (1.0, 2.0**14), (1.0, 2.0**-14), (128.0, 2.0**20)]
)
def test_other_units_give_the_same_effectivity(length, time):
    """The weight of the rate of w is a time of the problem; a bare 1 changed the effectivity by 5 %."""
    reference, scaled = (
        certify(in_units(*units), cells=8, degree=2) for units in ((1.0, 1.0), (length, time))
    )
    assert isinstance(scaled.solution.stepper, ImplicitExplicitRungeKutta)
    assert scaled.effectivity == pytest.approx(reference.effectivity, rel=1e-9)
    assert scaled.bound == pytest.approx(math.sqrt(length) * reference.bound, rel=1e-9)


def test_components_without_diffusion_and_unknown_derivatives():
    semi, bound = setting(diffusive_p_system(1, 1.0), 8, 1)
    assert mismatch(semi, bound, initial_corrected(semi, bound, implicit=True)) < 0.05
    equation = equations.AdvectionDiffusion((1.0,), 1.0)
    bare = Problem(equation, Torus(1.0), lambda x: np.sin(2.0 * np.pi * x[0]), 1.0)
    semi, bound = setting(bare, 8, 1)
    np.testing.assert_array_equal(
        initial_corrected(semi, bound, implicit=True), initial_corrected(semi, bound, implicit=False)
    )
