"""Polynomial and constant data."""

from operator import add, mul, sub

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stfem.data import Constant, Polynomial, Slab
from stfem.data.sampling import Rule, project_sampled
from stfem.meshes import TensorGrid


def random_polynomial(rng, dim):
    return Polynomial(rng.normal(size=rng.integers(1, 5, dim + 1)))


def direct(polynomial, x, t):
    """Sum of monomials, term by term."""
    total = np.zeros(x.shape[1:])
    for index in np.ndindex(*polynomial.coefficients.shape):
        term = polynomial.coefficients[index] * t ** index[-1]
        for coordinate, power in zip(x, index, strict=False):
            term = term * coordinate**power
        total = total + term
    return total


@given(seed=st.integers(0, 10**6), dim=st.integers(1, 3))
@settings(max_examples=30)
def test_values_and_algebra(seed, dim):
    rng = np.random.default_rng(seed)
    f, g, x, t = random_polynomial(rng, dim), random_polynomial(rng, dim), rng.random((dim, 3, 2)), 0.7
    np.testing.assert_allclose(f(x, t), direct(f, x, t), atol=1e-12)
    for operation in (add, sub, mul):
        np.testing.assert_allclose(operation(f, g)(x, t), operation(f(x, t), g(x, t)), atol=1e-11)
        np.testing.assert_allclose(operation(2.5, f)(x, t), operation(2.5, f(x, t)), atol=1e-12)
        np.testing.assert_allclose(
            operation(f, Constant(2.5, dim))(x, t), operation(f(x, t), 2.5), atol=1e-12
        )
    np.testing.assert_allclose((f**2)(x, t), f(x, t) ** 2, atol=1e-11)


def test_derivatives():
    f = Polynomial([[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]])  # 1 + 2t + 3xt + 4x^2
    x = np.array([[0.3, 0.9]])
    np.testing.assert_allclose(f.derivative(0)(x, 0.5), 1.5 + 8.0 * x[0])
    np.testing.assert_allclose(f.time_derivative()(x, 0.5), 2.0 + 3.0 * x[0])
    assert f.derivative(0).derivative(0).derivative(0).is_zero
    assert Polynomial([1.0], dim=1).time_derivative().is_zero


def test_trailing_zeros_do_not_count():
    assert not Polynomial([[1.0, 0.0], [2.0, 0.0]]).time_dependent
    assert Polynomial([[1.0, 0.0], [0.0, 0.0]]).constant
    assert not Polynomial([0.0, 1.0], dim=1).constant


@pytest.mark.parametrize("seed", range(25))
def test_projection_and_remainder(seed):
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 4))
    grid = TensorGrid(tuple(rng.uniform(0.5, 2.0, dim)), tuple(int(n) for n in rng.integers(1, 4, dim)))
    f, degree = random_polynomial(rng, dim), int(rng.integers(0, 5))
    for time in (0.4, Slab(0.3, 0.9, int(rng.integers(0, 5)))):
        got = f.project(grid, degree, time)
        space = Rule.gauss(8, degree)
        if isinstance(time, Slab):
            rules = (space, Rule.gauss(8, time.degree))
            true = project_sampled(f, grid, rules, rules, time.start, time.duration)
            coefficients = true.coefficients
        else:
            rules = (space, Rule.moment())
            true = project_sampled(f, grid, rules, rules, time, 0.0)
            coefficients = true.coefficients[0]
        np.testing.assert_allclose(got.coefficients, coefficients, atol=1e-11)
        assert got.remainder_l2 == pytest.approx(true.remainder_l2, rel=1e-8, abs=1e-11)
        assert got.remainder_sup >= true.remainder_sup - 1e-11


def test_no_remainder_when_the_degree_suffices_and_some_when_not():
    f, grid = Polynomial([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]), TensorGrid((1.0,), 3)
    full = f.project(grid, 2, Slab(0.0, 1.0, 1))
    assert (full.remainder_l2, full.remainder_sup) == (0.0, 0.0)
    assert f.project(grid, 1, Slab(0.0, 1.0, 1)).remainder_l2 > 1e-3
    assert f.project(grid, 2, Slab(0.0, 1.0, 0)).remainder_l2 > 0.1


def test_supremum_is_proved_and_close():
    f = Polynomial([0.0, 4.0, -4.0], dim=1)  # 4x(1-x): 1 at the middle
    assert 1.0 <= f.sup(0.0, 1.0, (1.0,)) <= 1.02
    assert 8.0 <= f.sup(0.0, 0.0, (2.0,)) <= 8.2  # -8 at the end x = 2
    moving = Polynomial([[0.0, 1.0], [1.0, 0.0]])  # x + t
    assert moving.sup(1.0, 3.0, (0.5,)) == pytest.approx(3.5, rel=1e-12)
    assert moving.sup(1.0, 1.0, (0.5,)) == pytest.approx(1.5, rel=1e-12)


def test_constant_projects_exactly():
    f, grid = Constant(3.0, 2), TensorGrid((1.0, 2.0), (2, 3))
    result = f.project(grid, 1, Slab(0.0, 1.0, 2))
    assert result.coefficients.shape == (3, 2, 2, 2, 3)
    assert np.sum(result.coefficients**2) * grid.cell_measure == pytest.approx(9.0 * grid.measure)
    assert f.project(grid, 1, 0.0).coefficients.shape == (2, 2, 2, 3)
    assert f.constant
    assert not f.is_zero
    assert (f - 3.0).is_zero
    assert f.derivative(1).is_zero
    assert (2.0 - f * 2).value == -4.0
    np.testing.assert_array_equal(f(np.zeros((2, 4, 5))), np.full((4, 5), 3.0))


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="axes, got"):
        Polynomial([1.0, 2.0])
    with pytest.raises(ValueError, match="2 or 3 axes"):
        Polynomial([1.0, 2.0], dim=2)
    with pytest.raises(ValueError, match="finite"):
        Polynomial([np.nan], dim=1)
    with pytest.raises(ValueError, match="finite"):
        Constant(np.inf, 1)
    with pytest.raises(ValueError, match=r"expected shape \(1, ...\), got \(2, 3\)"):
        Constant(1.0, 1)(np.zeros((2, 3)))
