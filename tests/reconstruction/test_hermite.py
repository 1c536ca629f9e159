"""Hermite interpolation in time: exactness for equal and unequal steps, any number of nodes."""

from itertools import pairwise

import numpy as np
import pytest

from stfem import Hermite
from stfem.spaces.legendre import legendre_values


def interpolated(polynomial, times, slab):
    data = np.array([f(t) for t in times for f in (polynomial, polynomial.deriv())])
    values, rates = Hermite(2 * len(times) - 1 if len(times) > 1 else 3).modes(times, *slab)
    return values @ data, rates @ data


@pytest.mark.parametrize(
    ("times", "slab"),
    [
        ((0.3, 0.5), (0.3, 0.5)),
        ((0.0, 0.1, 0.2), (0.0, 0.1)),
        ((0.0, 0.1, 0.35), (0.1, 0.35)),
        ((1.0, 1.01, 1.2, 1.21), (1.01, 1.2)),
        ((0.0, 0.3, 0.4, 0.9, 1.0), (0.4, 0.9)),
    ],
)
def test_exact_for_its_degree(times, slab):
    degree = 2 * len(times) - 1
    polynomial = np.polynomial.Polynomial(np.random.default_rng(1).normal(size=degree + 1))
    values, rates = interpolated(polynomial, times, slab)
    s = np.linspace(0.0, 1.0, 9)
    basis, t = legendre_values(degree, s), slab[0] + s * (slab[1] - slab[0])
    np.testing.assert_allclose(basis @ values, polynomial(t), atol=1e-9)
    np.testing.assert_allclose(basis @ rates, polynomial.deriv()(t), atol=1e-7)
    higher = np.polynomial.Polynomial([*polynomial.coef, 1.0])
    # a monic polynomial of one degree more is missed by Π (t − t_k)²
    missed = np.prod([(t - node) ** 2 for node in times], axis=0)
    np.testing.assert_allclose(higher(t) - basis @ interpolated(higher, times, slab)[0], missed, atol=1e-9)
    assert np.abs(missed).max() > 1e-10


def test_order_of_the_interpolation_error():
    errors = []
    for h in (0.2, 0.1):
        times = [0.4 + k * h for k in (-1, 0, 1)]
        data = np.array([f(t) for t in times for f in (np.sin, np.cos)])
        values, _ = Hermite(5).modes(times, 0.4, 0.4 + h)
        s = np.linspace(0.0, 1.0, 33)
        errors.append(np.abs(legendre_values(5, s) @ values @ data - np.sin(0.4 + s * h)).max())
    assert 5.7 < np.log2(errors[0] / errors[1]) < 6.3


@pytest.mark.parametrize(
    ("degree", "nodes", "back", "ahead"), [(3, 2, 0, 0), (5, 3, 1, 0), (7, 4, 1, 1), (9, 5, 2, 1)]
)
def test_stencil(degree, nodes, back, ahead):
    rule = Hermite(degree)
    assert (rule.nodes, rule.look_back, rule.look_ahead) == (nodes, back, ahead)


@pytest.mark.parametrize("degree", [1, 2, 4, 0, -3])
def test_wrong_degree(degree):
    with pytest.raises(ValueError, match="odd number >= 3"):
        Hermite(degree)


def test_degrees_that_round_off_ruins():
    with pytest.raises(ValueError, match="expected at most 15, got 17"):
        Hermite(17)
    assert [Hermite.for_order(order).degree for order in (1, 9, 10, 15, 16, 300)] == [9, 9, 11, 15, 15, 15]


@pytest.mark.parametrize("start", [0.0, 0.37])
def test_slabs_meet_to_the_last_digit(start):
    # a matrix that misses the values at the ends lets û jump between slabs, which no residual norm sees
    step = 1.0 / 284.0
    times = [start + k * step for k in range(4)]
    values, _ = Hermite(7).modes(times, times[1], times[2])
    ends = legendre_values(7, np.array([0.0, 1.0])) @ values
    expected = np.zeros((2, 8))
    expected[0, 2] = expected[1, 4] = 1.0
    assert np.abs(ends - expected).max() < 4e-15


@pytest.mark.parametrize("start", [0.0, 0.37])
@pytest.mark.parametrize(
    "times",
    [
        (0.0, 1e-6, 1.0, 1.5, 1.500001),
        (0.0, 1.0, 1.1, 4.0, 4.01),
        (0.0, 1.0, 2.5, 4.75, 4.9),
        (0.0, 0.1, 0.2, 0.3, 0.4),
    ],
)
def test_no_digit_is_lost_however_unequal_the_nodes_are(times, start):
    """Relative to the sizes of what is added up, on every slab of the stencil."""
    moved = [start + t for t in times]
    points, weights = np.polynomial.legendre.leggauss(12)
    s, degree = 0.5 * (points + 1.0), 2 * len(times) - 1
    project = (legendre_values(degree, s) * 0.5 * weights[:, None]).T
    for left, right in pairwise(moved):
        values, rates = Hermite(degree).modes(moved, left, right)
        reach = max(abs(t - left) for t in moved)
        for power in (0, 1, 5, degree):
            scaled = [(t - left) / reach for t in moved]
            data = np.ravel([(z**power, power * z ** max(power - 1, 0) / reach) for z in scaled])
            exact = project @ (s * (right - left) / reach) ** power
            size = (np.abs(values) @ np.abs(data)).max()
            assert np.abs(values @ data - exact).max() <= 1e-14 * size
            slope = power * project @ (s * (right - left) / reach) ** max(power - 1, 0) / reach
            size = (np.abs(rates) @ np.abs(data)).max()
            assert np.abs(rates @ data - slope).max() <= 1e-14 * size
