"""Where the values of a field at Gauss points and on faces lie in one work array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stfem.spaces.stencil import Array
from stfem.spaces.tensor_product import TensorProduct, kronecker

#: Values at the Gauss points, and per direction one array on faces for every functional at an end.
Views = tuple[Array, list[list[Array]]]


class PointLayout:
    """Values at the Gauss points of cells, and functionals at the ends of every direction.

    Either the plain tensor product of [values; ends], edges and corners included, or one dense matrix without
    them, whichever costs less.

    Parameters
    ----------
    values
        Basis functions at n points, ``(n, q + 1)``.
    ends
        Per direction functionals that turn modes into numbers on faces, ``(e, q + 1)``.
    """

    def __init__(self, values: Array, ends: Sequence[Array]) -> None:
        self._count, self._dim, self._ends = len(values), len(ends), len(ends[0])
        tensor = TensorProduct([np.vstack([values, e]) for e in ends])
        dense = TensorProduct([_without_edges(values, ends)])
        self.dense = dense.cost <= tensor.cost
        self.product = dense if self.dense else tensor

    def views(self, field: Array, cells: tuple[int, ...]) -> Views:
        """Views of a work array ``(m, rows, cells)``: ``(m, n, …, n, N…)`` and, on faces, one n less."""
        n, e, dim = self._count, self._ends, self._dim
        if self.dense:
            return self._split(field.reshape(*field.shape[:2], *cells), 1, dim)
        grid = field.reshape(len(field), *(n + e,) * dim, *cells)
        return along(grid, 0, slice(0, n), n, dim), [
            [along(grid, i, n + k, n, dim) for k in range(e)] for i in range(dim)
        ]

    def _split(self, field: Array, axis: int, directions: int) -> Views:
        """Rows at ``axis``: n times those of the further directions, then e times their Gauss points."""
        n, before, behind = self._count, field.shape[:axis], field.shape[axis + 1 :]
        face = n ** (directions - 1)
        inside, faces = np.split(field, [field.shape[axis] - self._ends * face], axis=axis)
        shaped = faces.reshape(*before, self._ends, *(n,) * (directions - 1), *behind)
        first = list(np.moveaxis(shaped, axis, 0))
        if directions == 1:
            return inside, [first]
        volume, others = self._split(inside.reshape(*before, n, -1, *behind), axis + 1, directions - 1)
        return volume, [first, *others]


def along(grid: Array, direction: int, index: int | slice, count: int, dim: int) -> Array:
    """View at one index of a point axis and at the first ``count`` of the others."""
    where: tuple[Any, ...] = (index if k == direction else slice(0, count) for k in range(dim))  # type: ignore[assignment]
    view: Array = grid[(slice(None), *where)]
    return view


def _without_edges(values: Array, ends: Sequence[Array]) -> Array:
    """Rows in the order of `PointLayout._split`."""
    if len(ends) == 1:
        return np.vstack([values, ends[0]])
    inside = kronecker([values, _without_edges(values, ends[1:])])
    return np.vstack([inside, kronecker([ends[0], *[values] * (len(ends) - 1)])])
