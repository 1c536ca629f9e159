"""Proved ranges of piecewise polynomials by Bernstein coefficients (T4.6)."""

from __future__ import annotations

from functools import lru_cache
from math import comb, prod

import numpy as np

from stfem.data.base import Array
from stfem.spaces.legendre import bernstein_matrix

__all__ = ["apply_along", "polynomial_range"]

_EPS = float(np.finfo(np.float64).eps)
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
    if not 0 < axes <= coefficients.ndim or coefficients.size == 0:
        raise ValueError(f"polynomial_range: expected {axes} polynomial axes, got shape {coefficients.shape}")
    sizes = coefficients.shape[:axes]
    field = coefficients.reshape(*sizes, -1)
    largest = np.max(np.abs(field), axis=-1)
    if not np.isfinite(largest).all():
        raise ValueError("polynomial_range: expected finite coefficients")
    for axis, size in enumerate(sizes):
        matrix = bernstein_matrix(size - 1)
        field = apply_along(matrix, field, axis)
        largest = apply_along(np.abs(matrix), largest, axis)
    # every operation rounds sums whose absolute terms are bounded by `largest`
    slack = 4.0 * _EPS * (sum(sizes) + axes * (2 + max_subdivisions)) * float(largest.max())
    corners = field[tuple(slice(None, None, max(1, size - 1)) for size in sizes)]
    lowest, highest = float(corners.min()), float(corners.max())
    tolerance = max(rtol * (highest - lowest), slack)
    upper = _upper(field, 1.0, highest, tolerance, max_subdivisions)
    lower = -_upper(field, -1.0, -lowest, tolerance, max_subdivisions)
    return lower - slack, upper + slack


def apply_along(matrix: Array, array: Array, axis: int) -> Array:
    """Apply a matrix along one axis, with long contiguous rows on the right."""
    rows = prod(array.shape[:axis])
    product = matrix @ array.reshape(rows, array.shape[axis], -1)
    return product.reshape(*array.shape[:axis], matrix.shape[0], *array.shape[axis + 1 :])


def _upper(field: Array, sign: float, best: float, tolerance: float, max_subdivisions: int) -> float:
    """Bound of the maximum of sign * field; `best` is a value that is attained."""
    axes = field.ndim - 1
    halvings = [max_subdivisions if size > 2 else 0 for size in field.shape[:-1]]
    bound = best
    within = tuple(range(axes))
    tops = field.max(axis=within) if sign > 0.0 else -field.min(axis=within)
    while True:
        open_cells = tops > best + tolerance
        bound = max(bound, float(np.max(tops[~open_cells], initial=best)))
        if not open_cells.any():
            return bound
        field = sign * field[..., open_cells]
        sign = 1.0
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
