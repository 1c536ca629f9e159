"""Intervals contain what operations on their points give, in floating point too."""

import operator

import numpy as np
import pytest

from stfem.data import Interval, cell_ranges
from stfem.spaces.legendre import legendre_values


def random_intervals(rng, positive=False, n=200):
    low = rng.normal(size=n)
    low = np.abs(low) + 0.1 if positive else low
    return Interval(low, low + rng.choice([0.0, 1e-16, 0.3, 2.0], n) * np.abs(low))


def points(rng, interval):
    for share in (0.0, 1.0, *rng.random(10)):
        yield np.clip(
            interval.lower + share * (interval.upper - interval.lower), interval.lower, interval.upper
        )


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_operations(operation):
    rng = np.random.default_rng(0)
    first, second = random_intervals(rng), random_intervals(rng, operation is operator.truediv)
    found = operation(first, second)
    for a in points(rng, first):
        for b in points(rng, second):
            exact = operation(a.astype(np.longdouble), b.astype(np.longdouble))
            assert np.all((found.lower <= exact) & (exact <= found.upper))
    widths = found.upper - found.lower
    assert np.all(widths[(first.lower == first.upper) & (second.lower == second.upper)] < 1e-13)


@pytest.mark.parametrize("exponent", [-3.0, -0.5, 0.0, 0.4, 2.5])
def test_powers_and_squares(exponent):
    rng = np.random.default_rng(1)
    positive, any_sign = random_intervals(rng, True), random_intervals(rng)
    for a in points(rng, positive):
        exact = a.astype(np.longdouble) ** exponent
        found = positive.power(exponent)
        assert np.all((found.lower <= exact) & (exact <= found.upper))
    around = Interval(any_sign.lower - 1.0, any_sign.upper + 1.0)
    squares = around.square()
    for a in points(rng, around):
        exact = a.astype(np.longdouble) ** 2
        assert np.all((squares.lower <= exact) & (exact <= squares.upper))
    assert np.all(squares.lower[(around.lower < 0.0) & (around.upper > 0.0)] == 0.0)


def test_parts():
    both = Interval.stack([Interval.of(np.array([1.0, -2.0])), Interval(np.zeros(2), np.ones(2))])
    assert both.magnitude.tolist() == [[1.0, 2.0], [1.0, 1.0]]
    total = both.sum()
    assert total.lower == pytest.approx([1.0, -2.0])
    assert total.upper == pytest.approx([2.0, -1.0])
    assert np.all(both.midpoint + both.radius >= both.upper)
    assert np.all((-both).lower == -both.upper)


def test_division_by_zero_is_refused():
    with pytest.raises(ValueError, match="expected positive intervals"):
        Interval.of(1.0) / Interval(np.array([-1.0]), np.array([1.0]))


def test_ranges_on_cells():
    """Bernstein ranges contain all values on every cell, and are sharp for polynomials of degree one."""
    rng = np.random.default_rng(2)
    modes = rng.normal(size=(4, 5, 3, 7)) * 0.4 ** np.indices((4, 5)).sum(axis=0)[:, :, None, None]
    found = cell_ranges(modes, 2)
    table = [legendre_values(n - 1, np.linspace(0.0, 1.0, 41)) for n in modes.shape[:2]]
    values = np.einsum("ap,bq,pqmc->abmc", *table, modes)
    assert np.all(found.lower <= values.min(axis=(0, 1)))
    assert np.all(found.upper >= values.max(axis=(0, 1)))
    line = cell_ranges(modes[:2, 0], 1)
    ends = np.einsum("ap,pmc->amc", table[0][:, :2], modes[:2, 0])
    assert line.upper == pytest.approx(ends.max(axis=0), abs=1e-13)
    assert line.lower == pytest.approx(ends.min(axis=0), abs=1e-13)
