"""Orthonormal Legendre basis on [0, 1]: orthonormality, derivatives, Gauss rules, Bernstein coefficients."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from stfem.spaces.legendre import bernstein_matrix, derivative_matrix, gauss, legendre_values


def test_basis_is_orthonormal_up_to_degree_30():
    points, weights = gauss(31)
    values = legendre_values(30, points)
    np.testing.assert_allclose((values.T * weights) @ values, np.eye(31), atol=2e-13)


def test_one_gauss_point_less_is_not_exact():
    points, weights = gauss(30)
    values = legendre_values(30, points)
    assert abs((weights @ values[:, 30] ** 2) - 1.0) > 0.5  # phi_30 vanishes at all 30 points


@pytest.mark.parametrize("derivative", [0, 1, 2, 3])
def test_derivatives_match_numpy(derivative):
    s = np.linspace(0.0, 1.0, 11)
    for j in range(11):
        reference = np.polynomial.Legendre.basis(j, domain=[0.0, 1.0]).deriv(derivative)(s)
        got = legendre_values(10, s, derivative)[:, j]
        np.testing.assert_allclose(got, np.sqrt(2 * j + 1) * reference, rtol=1e-10, atol=1e-9)


def test_derivative_matrix_takes_modes_to_modes():
    s = np.linspace(0.0, 1.0, 7)
    modes = np.random.default_rng(1).normal(size=6)
    got = legendre_values(5, s) @ (derivative_matrix(5) @ modes)
    np.testing.assert_allclose(got, legendre_values(5, s, 1) @ modes, rtol=1e-12)
    assert not np.allclose(legendre_values(5, s) @ (derivative_matrix(5).T @ modes), got)


@pytest.mark.parametrize("degree", [0, 1, 2, 5, 14, 30])
def test_bernstein_coefficients_are_exact_up_to_rounding(degree):
    """Every column against exact rational values of P_j(2s-1) at degree + 1 points."""
    matrix = bernstein_matrix(degree)
    for s in (Fraction(i, degree + 2) for i in range(degree + 3)):
        bernstein = [comb(degree, i) * s**i * (1 - s) ** (degree - i) for i in range(degree + 1)]
        z = 2 * s - 1
        legendre = [Fraction(1), z]
        for j in range(1, degree):
            legendre.append(((2 * j + 1) * z * legendre[j] - j * legendre[j - 1]) / (j + 1))
        for j in range(degree + 1):
            column = [Fraction(float(entry)) for entry in matrix[:, j]]
            scale = Fraction(float(np.sqrt(2 * j + 1)))
            error = abs(sum(b * c for b, c in zip(bernstein, column, strict=True)) - scale * legendre[j])
            size = sum(b * abs(c) for b, c in zip(bernstein, column, strict=True))
            assert error <= Fraction(1, 2**51) * size


def test_tables_are_read_only():
    for array in (bernstein_matrix(3), derivative_matrix(3), *gauss(4), legendre_values(3, np.array([0.5]))):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"one-dimensional array, got shape \(1, 2\)"):
        legendre_values(2, np.zeros((1, 2)))
    with pytest.raises(ValueError, match="degree >= 0"):
        legendre_values(-1, np.zeros(2))
