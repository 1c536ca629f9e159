"""Which cells to refine and which to coarsen, from indicators η_K² (T4.7).

A rule takes squares ``indicators_sq`` of any shape and returns the numbers of cells (those of the flattened
array), each once and in ascending order. All fractions and tolerances refer to sums of *squares* except
where a tolerance of the error itself is asked for, which is squared here. Rules are passed on as callables;
`functools.partial` fixes their parameters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stfem.checks import checked_number, described, numeric_array, real_array
from stfem.meshes.facets import Index

__all__ = [
    "Marking",
    "mark_dorfler",
    "mark_dorfler_coarsening",
    "mark_equidistribution",
    "mark_equidistribution_coarsening",
    "mark_maximum",
    "mark_maximum_coarsening",
    "mark_tolerance",
    "mark_tolerance_coarsening",
]

Array = NDArray[np.float64]
#: A rule: cell numbers from indicators_sq.
Marking = Callable[[ArrayLike], Index]

#: Error of a sum of squares in units of round-off of the total: pairwise sums of less than 2^64 terms.
_SUM_ERROR = 64.0 * float(np.finfo(np.float64).eps)


def mark_dorfler(indicators_sq: ArrayLike, theta: float = 0.5) -> Index:
    """The fewest cells with Σ_marked η_K² ≥ θ Σ η_K².

    The largest indicators, selected by halving in linear time; where equal ones compete, any of them.

    Parameters
    ----------
    indicators_sq
        η_K² ≥ 0 of every cell.
    theta
        θ in (0, 1]; 1 takes every cell with a positive indicator.

    Returns
    -------
    Index
        Cell numbers; none where all indicators vanish.

    Raises
    ------
    ValueError
        For indicators that are negative, infinite or no numbers, and for θ out of range.
    """
    squares, share = _checked(indicators_sq), _fraction("theta", theta)
    if share == 0.0:
        raise ValueError("theta: expected a number in (0, 1], got 0.0")
    return np.flatnonzero(squares) if share == 1.0 else _largest(squares, share * float(squares.sum()))


def mark_maximum(indicators_sq: ArrayLike, theta: float = 0.5) -> Index:
    """All cells with 0 < η_K² ≥ θ max η_K².

    Parameters
    ----------
    indicators_sq
        η_K² ≥ 0 of every cell.
    theta
        θ in [0, 1].

    Raises
    ------
    ValueError
        As `mark_dorfler`.
    """
    squares = _checked(indicators_sq)
    threshold = _fraction("theta", theta) * squares.max(initial=0.0)
    return np.flatnonzero((squares >= threshold) & (squares > 0.0))


def mark_equidistribution(indicators_sq: ArrayLike, tolerance: float, theta: float = 1.0) -> Index:
    """All cells with η_K² > θ tol²/N, N the number of cells: more than their share of a tolerance.

    Parameters
    ----------
    indicators_sq
        η_K² ≥ 0 of every cell.
    tolerance
        tol ≥ 0 for the square root of Σ η_K².
    theta
        θ in [0, 1].

    Raises
    ------
    ValueError
        As `mark_dorfler`, and for a tolerance that is negative or no number.
    """
    squares = _checked(indicators_sq)
    return np.flatnonzero(squares * max(squares.size, 1) > _fraction("theta", theta) * _square(tolerance))


def mark_tolerance(indicators_sq: ArrayLike, tolerance: float) -> Index:
    """The fewest cells whose refinement leaves Σ_unmarked η_K² ≤ tol²; none where the sum is below already.

    Parameters
    ----------
    indicators_sq
        η_K² ≥ 0 of every cell.
    tolerance
        tol ≥ 0 for the square root of the sum.

    Raises
    ------
    ValueError
        As `mark_equidistribution`.
    """
    squares = _checked(indicators_sq)
    excess = float(squares.sum()) - _square(tolerance)
    return np.flatnonzero(squares) if excess == squares.sum() else _largest(squares, excess)


def mark_dorfler_coarsening(indicators_sq: ArrayLike, theta: float = 0.05) -> Index:
    """The most cells with Σ_marked η_K² ≤ θ Σ η_K²: all others are what `mark_dorfler` takes with 1 − θ.

    Parameters
    ----------
    indicators_sq
        η_K² ≥ 0 of every cell; cells without an error are always marked.
    theta
        θ in [0, 1).

    Raises
    ------
    ValueError
        As `mark_dorfler`.
    """
    squares, share = _checked(indicators_sq), _fraction("theta", theta)
    if share == 1.0:
        raise ValueError("theta: expected a number in [0, 1), got 1.0")
    return _others(squares, mark_dorfler(squares, 1.0 - share))


def mark_maximum_coarsening(indicators_sq: ArrayLike, theta: float = 0.05) -> Index:
    """All cells with η_K² ≤ θ max η_K².

    Parameters
    ----------
    indicators_sq
        η_K² ≥ 0 of every cell.
    theta
        θ in [0, 1].

    Raises
    ------
    ValueError
        As `mark_dorfler`.
    """
    squares = _checked(indicators_sq)
    return np.flatnonzero(squares <= _fraction("theta", theta) * squares.max(initial=0.0))


def mark_equidistribution_coarsening(
    indicators_sq: ArrayLike, tolerance: float, theta: float = 0.05
) -> Index:
    """All cells with η_K² ≤ θ tol²/N, N the number of cells: far less than their share of a tolerance.

    Parameters
    ----------
    indicators_sq
        η_K² ≥ 0 of every cell.
    tolerance
        tol ≥ 0 for the square root of Σ η_K².
    theta
        θ in [0, 1].

    Raises
    ------
    ValueError
        As `mark_equidistribution`.
    """
    squares = _checked(indicators_sq)
    return _others(squares, mark_equidistribution(squares, tolerance, theta))


def mark_tolerance_coarsening(indicators_sq: ArrayLike, tolerance: float) -> Index:
    """The most cells with Σ_marked η_K² ≤ tol²: all others are what `mark_tolerance` takes.

    Parameters
    ----------
    indicators_sq
        η_K² ≥ 0 of every cell.
    tolerance
        tol ≥ 0 for the square root of the sum.

    Raises
    ------
    ValueError
        As `mark_equidistribution`.
    """
    squares = _checked(indicators_sq)
    return _others(squares, mark_tolerance(squares, tolerance))


def _largest(squares: Array, goal: float) -> Index:
    """The fewest cells that add up to a goal, up to the round-off of the sums."""
    left = goal - _SUM_ERROR * float(squares.sum())
    rest, taken = np.flatnonzero(squares), []
    while left > 0.0 and len(rest) > 1:
        middle = len(rest) // 2
        order = np.argpartition(squares[rest], middle)
        upper = rest[order[middle:]]
        reached = float(squares[upper].sum())
        if reached >= left:
            rest = upper
        else:
            taken.append(upper)
            left -= reached
            rest = rest[order[:middle]]
    if left > 0.0:
        taken.append(rest)
    return np.sort(np.concatenate(taken)) if taken else np.zeros(0, dtype=np.intp)


def _others(squares: Array, marked: Index) -> Index:
    kept = np.ones(squares.size, dtype=bool)
    kept[marked] = False
    return np.flatnonzero(kept)


def _checked(indicators_sq: ArrayLike) -> Array:
    squares = real_array(indicators_sq, "indicators_sq").ravel()
    wrong = ~(np.isfinite(squares) & (squares >= 0.0))
    if np.any(wrong):
        first = int(np.argmax(wrong))
        raise ValueError(
            f"indicators_sq: expected squares, finite and not negative, got {squares[first]} in cell {first}"
        )
    with np.errstate(over="ignore"):
        total = squares.sum()
    if not np.isfinite(total):
        raise ValueError("indicators_sq: expected squares with a finite sum, got an overflow")
    return squares


def _fraction(name: str, given: float) -> float:
    return checked_number(name, given, "a number between 0 and 1,", 0.0, 1.0)


def _square(tolerance: float) -> float:
    return checked_number("tolerance", tolerance, "a finite number that is not negative,", 0.0) ** 2


def checked_cells(marked: object, size: int) -> Index:
    """Numbers of marked cells, each once and in ascending order.

    Raises
    ------
    TypeError, ValueError
        For what are no numbers of cells of a mesh of so many.
    """
    cells = numeric_array(marked, "marked")
    if cells.size == 0:
        return np.zeros(0, dtype=np.intp)
    if not np.issubdtype(cells.dtype, np.integer):
        raise TypeError(f"marked: expected numbers of cells, got an array of {cells.dtype}")
    wrong = (cells < 0) | (cells >= size)
    if np.any(wrong):
        raise ValueError(f"marked: expected cells from 0 to {size - 1}, got {cells[wrong].ravel()[0]}")
    return np.unique(cells)


def checked_rule(name: str, given: object) -> None:
    """Raise TypeError for a rule that cannot be called."""
    if isinstance(given, type) or not callable(given):
        raise TypeError(f"{name}: expected a rule such as mark_dorfler, got {described(given)}")
