"""Ranges of data over boxes: never inside of the values, and not far outside."""

import numpy as np
import pytest

from stfem.data import Approximated, CallableData, Constant, Polynomial, cosine, data_range, sine

LOWER, UPPER = np.array([[0.0, 0.5, -1.0], [0.2, 0.0, 2.0]]), np.array([[0.5, 1.0, -0.7], [0.4, 0.3, 2.0]])
WAVE = 1.0 + 0.3 * (sine([3.0, 2.0], 1.0) * cosine([1.0, 0.0], -4.0))
CUBIC = Polynomial([[[0.1, 1.0], [0.0, -2.0]], [[1.0, 0.0], [3.0, 0.0]], [[-1.0, 0.0], [0.0, 0.5]]])


def sampled(datum, start, stop):
    rng = np.random.default_rng(0)
    s = rng.uniform(0.0, 1.0, (2, 4000, 1))
    x = LOWER[:, None] + s * (UPPER - LOWER)[:, None]
    values = np.concatenate([datum(x, t) for t in np.linspace(start, stop, 30)])
    return values.min(), values.max()


@pytest.mark.parametrize("datum", [WAVE, CUBIC, Approximated(WAVE, 1e-3), Constant(2.0, 2)])
@pytest.mark.parametrize("times", [(0.0, 0.0), (0.2, 0.9)])
def test_range_contains_the_values_and_is_close(datum, times):
    low, high = data_range(datum, LOWER, UPPER, *times)
    least, largest = sampled(datum, *times)
    assert low <= least <= largest <= high
    assert high - low <= 1.1 * (largest - least) + 5e-3


def test_range_of_a_callable_is_that_of_its_values():
    datum = CallableData(lambda x, t: x[0] + t, 2, "u")
    assert data_range(datum, LOWER, UPPER, 0.0, 1.0) == pytest.approx((-1.0, 2.0))
    assert datum.assumption is not None
