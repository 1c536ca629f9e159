"""Lagrange interpolation in time: exact for polynomials, no jumps between slabs."""

import numpy as np
import pytest

from stfem.reconstruction import Lagrange
from stfem.spaces.legendre import legendre_values


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 6])
def test_polynomials_are_exact_for_unequal_steps(degree):
    rng = np.random.default_rng(degree)
    times = np.cumsum(rng.uniform(0.2, 1.0, degree + 1))
    polynomial = np.polynomial.Polynomial(rng.normal(size=degree + 1))
    place = degree // 2 if degree > 1 else 0
    start, stop = times[place], times[place + 1]
    values, rates = Lagrange(degree).modes(list(times), start, stop)
    s = np.linspace(0.0, 1.0, 9)
    basis, t = legendre_values(degree, s), start + s * (stop - start)
    np.testing.assert_allclose(basis @ values @ polynomial(times), polynomial(t), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(basis @ rates @ polynomial(times), polynomial.deriv()(t), rtol=1e-9, atol=1e-9)


def test_ends_are_met_to_round_off():
    times = [0.0, 0.1, 0.25, 0.3]
    values, _ = Lagrange(3).modes(times, 0.1, 0.25)
    ends = legendre_values(3, np.array([0.0, 1.0])) @ values
    np.testing.assert_allclose(ends, [[0, 1, 0, 0], [0, 0, 1, 0]], atol=1e-15)


def test_degree_zero_is_refused():
    with pytest.raises(ValueError, match="expected at least 1, got 0"):
        Lagrange(0)
