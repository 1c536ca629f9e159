"""Proved ranges of piecewise polynomials by Bernstein coefficients (T4.6)."""

from __future__ import annotations

from functools import lru_cache
from math import comb, prod

import numpy as np

from stfem.checks import checked_number, checked_whole, float_array
from stfem.data.base import Array
from stfem.data.interval import Interval
from stfem.spaces.legendre import bernstein_matrix

__all__ = ["PolynomialRange", "apply_along", "cell_ranges", "polynomial_range"]

_EPS = float(np.finfo(np.float64).eps)
_HUGE = 1e300  # what sums of coefficients may not reach
_LARGEST = 1 << 22  # coefficients held while subdividing


def polynomial_range(
    coefficients: Array, axes: int, rtol: float = 1e-2, max_subdivisions: int = 6
) -> tuple[float, float]:
    """Lower and upper bound of a field over all cells (and the time slab, if that is one of its axes).

    min b <= f <= max b, b the Bernstein coefficients; those at the corners are values of f, so that cells
    which cannot beat the best corner are dropped and the others halved (de Casteljau), where the bound is
    coarsest.
    Bounds are widened by the round-off of the computation, so they hold in floating point as well.

    Parameters
    ----------
    coefficients : array, shape (p_1, .., p_axes, cells...)
        Orthonormal Legendre modes; space and time axes in any order.
    axes : int
        Number of polynomial axes.
    rtol : float
        Aim: overestimation relative to the range max f - min f.
    max_subdivisions : int
        Halvings per polynomial axis, at most; the bounds stay valid when they stop early.

    Returns
    -------
    lower, upper : float

    Raises
    ------
    ValueError
        For non-finite coefficients.
    """
    found = PolynomialRange(axes, rtol, max_subdivisions)
    found.take(coefficients)
    return found.value()


def cell_ranges(coefficients: Array, axes: int) -> Interval:
    """Ranges of a field on every single cell, by its Bernstein coefficients there, widened by round-off.

    Parameters
    ----------
    coefficients : array, shape (p_1, .., p_axes, ...)
        Orthonormal Legendre modes.
    axes : int
        Number of polynomial axes; the others remain.
    """
    coefficients = _checked(coefficients, axes)
    field, size = coefficients, np.abs(coefficients)
    for axis, count in enumerate(coefficients.shape[:axes]):
        matrix = bernstein_matrix(count - 1)
        field = apply_along(matrix, field, axis)
        size = apply_along(np.abs(matrix).max(axis=0, keepdims=True), size, axis)
    within = tuple(range(axes))
    slack = 4.0 * _EPS * (sum(coefficients.shape[:axes]) + 2 * axes) * size.reshape(size.shape[axes:])
    return Interval(field.min(axis=within) - slack, field.max(axis=within) + slack)


def _checked(coefficients: object, axes: object) -> Array:
    array = float_array(coefficients, "coefficients")
    count = checked_whole("axes", axes, 1)
    if count > array.ndim or array.size == 0:
        raise ValueError(f"polynomial_range: expected {count} polynomial axes, got shape {array.shape}")
    return array


class PolynomialRange:
    """`polynomial_range` of a field that comes in blocks of cells, in the same numbers as if it came at once.

    Of a block only the Bernstein coefficients of those cells are held that can still beat the best corner.

    Parameters
    ----------
    axes, rtol, max_subdivisions
        As for `polynomial_range`.
    """

    def __init__(self, axes: int, rtol: float = 1e-2, max_subdivisions: int = 6) -> None:
        self._axes, self._halvings = (
            checked_whole("axes", axes, 1),
            checked_whole("max_subdivisions", max_subdivisions, 0, 64),
        )
        self._rtol = checked_number("rtol", rtol, "a relative tolerance", 0.0)
        self._largest: Array | None = None
        self._ends = tuple(_End(sign) for sign in (1.0, -1.0))

    def take(self, coefficients: Array) -> None:
        """Add a block of cells, with the Legendre modes of all blocks.

        Raises
        ------
        ValueError
            For non-finite coefficients.
        """
        axes = self._axes
        coefficients = _checked(coefficients, axes)
        sizes = coefficients.shape[:axes]
        field = coefficients.reshape(*sizes, -1)
        largest = np.max(np.abs(field), axis=-1)
        if not np.all(largest <= _HUGE):
            raise ValueError(f"polynomial_range: expected finite coefficients up to {_HUGE:g}, got others")
        self._largest = largest if self._largest is None else np.maximum(self._largest, largest)
        for axis, size in enumerate(sizes):
            field = apply_along(bernstein_matrix(size - 1), field, axis)
        for end in self._ends:
            end.meet(field)
        for end in self._ends:
            end.take(field, self._tolerance)

    @property
    def _slack(self) -> float:
        """Round-off: every operation rounds sums whose absolute terms are bounded by the largest ones."""
        if self._largest is None:
            raise ValueError("polynomial_range: expected at least one block of cells, got none")
        largest, sizes = self._largest, self._largest.shape
        for axis, size in enumerate(sizes):
            largest = apply_along(np.abs(bernstein_matrix(size - 1)), largest, axis)
        return 4.0 * _EPS * (sum(sizes) + self._axes * (2 + self._halvings)) * float(largest.max())

    @property
    def _tolerance(self) -> float:
        upper, lower = self._ends
        return max(self._rtol * (upper.best + lower.best), self._slack)

    def value(self) -> tuple[float, float]:
        """Lower and upper bound over all cells that were taken."""
        slack, tolerance = self._slack, self._tolerance
        upper, lower = (end.bound(tolerance, self._halvings) for end in self._ends)
        return -lower - slack, upper + slack


class _End:
    """Maximum of sign * field: the best corner, and the Bernstein coefficients of cells that may beat it."""

    def __init__(self, sign: float) -> None:
        self.best = -np.inf
        self._sign, self._dropped = sign, -np.inf
        self._open: Array | None = None

    def meet(self, field: Array) -> None:
        """Compare the corners of new cells, which are values."""
        corners = field[tuple(slice(None, None, max(1, size - 1)) for size in field.shape[:-1])]
        self.best = max(self.best, float(corners.max() if self._sign > 0.0 else -corners.min()))

    def take(self, field: Array, tolerance: float) -> None:
        """Hold those of the cells, old and new, that may beat the best corner."""
        kept = self._candidates(self._sign, field, tolerance)
        old = None if self._open is None else self._candidates(1.0, self._open, tolerance)
        self._open = kept if old is None else np.concatenate([old, kept], axis=-1)

    def _candidates(self, sign: float, field: Array, tolerance: float) -> Array:
        """Coefficients of sign * field on the cells that may beat the best corner."""
        within = tuple(range(field.ndim - 1))
        tops = field.max(axis=within) if sign > 0.0 else -field.min(axis=within)
        may = tops > self.best + tolerance
        self._dropped = max(self._dropped, float(np.max(tops[~may], initial=-np.inf)))
        return np.asarray(sign * field[..., may])

    def bound(self, tolerance: float, max_subdivisions: int) -> float:
        """Bound of the maximum."""
        rest, field = self.best, self._open
        if field is not None:
            field = self._candidates(1.0, field, tolerance)
            rest = max(rest, self._dropped)
        if field is None or not field.size:
            return rest
        return max(rest, _upper(field, self.best, tolerance, max_subdivisions))


def apply_along(matrix: Array, array: Array, axis: int) -> Array:
    """Apply a matrix along one axis, with long contiguous rows on the right."""
    rows = prod(array.shape[:axis])
    product = matrix @ array.reshape(rows, array.shape[axis], -1)
    return product.reshape(*array.shape[:axis], matrix.shape[0], *array.shape[axis + 1 :])


def _upper(field: Array, best: float, tolerance: float, max_subdivisions: int) -> float:
    """Bound of the maximum of a field; `best` is a value that is attained."""
    axes = field.ndim - 1
    halvings = [max_subdivisions if size > 2 else 0 for size in field.shape[:-1]]
    bound = best
    within = tuple(range(axes))
    tops = field.max(axis=within)
    while True:
        open_cells = tops > best + tolerance
        bound = max(bound, float(np.max(tops[~open_cells], initial=best)))
        if not open_cells.any():
            return bound
        field = field[..., open_cells]
        # along an axis the bound misses the values by about the second differences
        bends = [
            float(np.abs(np.diff(field, 2, axis=axis)).max()) if halvings[axis] > 0 else 0.0
            for axis in range(axes)
        ]
        axis = int(np.argmax(bends))
        if bends[axis] == 0.0 or 2 * field.size > _LARGEST:
            return max(bound, float(tops.max()))
        halvings[axis] -= 1
        halves = apply_along(_halving(field.shape[axis] - 1), field, axis)
        left, right = np.split(halves, 2, axis=axis)
        field = np.concatenate([left, right], axis=-1)
        corners = field[tuple(slice(None, None, max(1, size - 1)) for size in field.shape[:-1])]
        best = max(best, float(corners.max()))
        tops = field.max(axis=within)


@lru_cache(maxsize=64)
def _halving(degree: int) -> Array:
    """Bernstein coefficients on the left and the right half, shape (2 (degree+1), degree+1)."""
    left = np.array([[comb(i, j) / 2**i for j in range(degree + 1)] for i in range(degree + 1)])
    matrix = np.concatenate([left, left[::-1, ::-1]])
    matrix.flags.writeable = False
    return matrix
