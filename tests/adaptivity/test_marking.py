"""Rules that choose cells: minimal sets, thresholds, and what is odd about their input."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from stfem.adaptivity import (
    mark_dorfler,
    mark_dorfler_coarsening,
    mark_equidistribution,
    mark_equidistribution_coarsening,
    mark_maximum,
    mark_maximum_coarsening,
    mark_tolerance,
    mark_tolerance_coarsening,
)

REFINING = [
    mark_dorfler,
    mark_maximum,
    partial(mark_equidistribution, tolerance=0.1),
    partial(mark_tolerance, tolerance=0.1),
]
COARSENING = [
    mark_dorfler_coarsening,
    mark_maximum_coarsening,
    partial(mark_equidistribution_coarsening, tolerance=0.1),
    partial(mark_tolerance_coarsening, tolerance=0.1),
]
SQUARES = arrays(float, st.integers(1, 60), elements=st.integers(0, 8).map(lambda k: k / 8.0))
SHARE = st.integers(1, 16).map(lambda k: k / 16.0)


def fewest(squares, goal):
    """How many of the largest reach a goal; all sums are exact in the tests that use this."""
    sums = np.concatenate([[0.0], np.cumsum(np.sort(squares)[::-1])])
    return int(np.argmax(sums >= goal))


@pytest.mark.parametrize("rule", REFINING)
def test_nothing_is_refined_where_there_is_no_error(rule):
    """R4 item 24: all zero, nothing marked."""
    assert rule(np.zeros(7)).tolist() == []
    assert rule([]).tolist() == []


@pytest.mark.parametrize("rule", COARSENING)
def test_everything_may_be_coarsened_where_there_is_no_error(rule):
    assert rule(np.zeros(7)).tolist() == list(range(7))
    assert rule([]).tolist() == []


@pytest.mark.parametrize("rule", REFINING + COARSENING)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0])
def test_indicators_that_are_no_squares_are_refused(rule, wrong):
    with pytest.raises(ValueError, match=rf"indicators_sq: expected .*, got {wrong} in cell 2"):
        rule([1.0, 2.0, wrong, 3.0])


@pytest.mark.parametrize("rule", REFINING + COARSENING)
def test_indicators_whose_sum_overflows_are_refused(rule):
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="indicators_sq: expected squares with a finite sum"),
    ):
        rule([1e308, 1e308])


@pytest.mark.parametrize("rule", REFINING + COARSENING)
def test_numbers_are_unique_and_ascending(rule):
    squares = np.random.default_rng(3).lognormal(-8.0, 4.0, (20, 30))
    marked = rule(squares)
    assert 0 < len(marked) < squares.size
    assert np.all(np.diff(marked) > 0)
    assert marked.dtype.kind == "i"


@pytest.mark.parametrize("value", [1.0, 0.1, 1e-300, 1.0 / 3.0])
def test_of_equal_indicators_half_is_half_of_the_cells(value):
    assert len(mark_dorfler(np.full(100, value), 0.5)) == 50
    assert len(mark_dorfler_coarsening(np.full(100, value), 0.5)) == 50


def test_a_share_of_one_takes_every_positive_indicator():
    squares = np.array([1.0, 0.0, 1e-40, 3.0, 0.0, 1e-320])
    assert mark_dorfler(squares, 1.0).tolist() == [0, 2, 3, 5]
    assert mark_tolerance(squares, 0.0).tolist() == [0, 2, 3, 5]
    assert mark_dorfler_coarsening(squares, 0.0).tolist() == [1, 4]


@given(SQUARES, SHARE)
def test_dorfler_is_minimal(squares, theta):
    marked, goal = mark_dorfler(squares, theta), theta * squares.sum()
    assert squares[marked].sum() >= goal
    assert len(marked) == fewest(squares, goal)


@given(SQUARES, SHARE)
def test_dorfler_for_coarsening_is_maximal(squares, theta):
    marked, allowed = mark_dorfler_coarsening(squares, 1.0 - theta), (1.0 - theta) * squares.sum()
    assert squares[marked].sum() <= allowed
    others = np.delete(squares, marked)
    assert len(others) == 0 or squares[marked].sum() + others.min() > allowed


@given(SQUARES, st.integers(0, 40).map(lambda k: k / 8.0))
def test_what_a_tolerance_leaves_is_below_it(squares, tolerance):
    marked = mark_tolerance(squares, tolerance)
    assert np.delete(squares, marked).sum() <= tolerance**2
    assert len(marked) == fewest(squares, squares.sum() - tolerance**2)
    coarse = mark_tolerance_coarsening(squares, tolerance)
    assert np.array_equal(np.sort([*marked, *coarse]), np.arange(squares.size))


def test_thresholds():
    squares = [4.0, 1.0, 0.0, 2.0, 0.5]
    assert mark_maximum(squares, 0.5).tolist() == [0, 3]
    assert mark_maximum(squares, 0.0).tolist() == [0, 1, 3, 4]
    assert mark_maximum_coarsening(squares, 0.125).tolist() == [2, 4]
    # five cells share tol² = 5 evenly
    tolerance = np.sqrt(5.0) * (1.0 + 1e-12)
    assert mark_equidistribution(squares, tolerance).tolist() == [0, 3]
    assert mark_equidistribution(squares, tolerance, 0.5).tolist() == [0, 1, 3]
    assert mark_equidistribution_coarsening(squares, tolerance, 0.5).tolist() == [2, 4]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (partial(mark_dorfler, theta=0.0), r"theta: expected a number in \(0, 1\], got 0.0"),
        (partial(mark_dorfler, theta=1.5), "theta: expected a number between 0 and 1, from 0 to 1, got 1.5"),
        (partial(mark_dorfler, theta=np.nan), "theta: expected .*, got nan"),
        (partial(mark_maximum, theta=-0.1), "theta: expected .*, got -0.1"),
        (partial(mark_dorfler_coarsening, theta=1.0), r"theta: expected a number in \[0, 1\), got 1.0"),
        (partial(mark_tolerance, tolerance=-1.0), "tolerance: expected .*, got -1.0"),
        (partial(mark_equidistribution, tolerance=np.nan), "tolerance: expected .*, got nan"),
    ],
)
def test_parameters_out_of_range_are_refused(rule, message):
    with pytest.raises(ValueError, match=message):
        rule([1.0, 2.0])
