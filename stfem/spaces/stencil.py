"""Small matrices acting on one direction of a tensor-product field, with and without neighbour cells.

Kernel arrays are laid out as ``(..., p_1, …, p_d, N_1, …, N_d)``: modes (or points) first, cells last, so
that one small matrix meets long contiguous rows and a whole field is one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from stfem.meshes.periodic import gather_neighbours, interleave

Array = NDArray[np.float64]

#: Values of a block of rows.
_BLOCK_VALUES = 1 << 16


def mode_axis(field: Array, direction: int, dim: int) -> int:
    """Axis of the modes (or points) of one direction."""
    return field.ndim - 2 * dim + direction


def cell_axis(field: Array, direction: int, dim: int) -> int:
    """Axis of the cells of one direction."""
    return field.ndim - dim + direction


def apply_along(matrix: Array, field: Array, axis: int) -> Array:
    """Contract one axis of a field with a matrix: ``out[…, i, …] = Σ_j matrix[i, j] field[…, j, …]``."""
    shape = field.shape
    rows = int(np.prod(shape[:axis], dtype=np.int64))
    flat = np.ascontiguousarray(field).reshape(rows, shape[axis], -1)
    product: Array = np.matmul(matrix, flat)
    return product.reshape(*shape[:axis], matrix.shape[0], *shape[axis + 1 :])


def apply_matrix(matrix: Array, field: Array, direction: int, dim: int) -> Array:
    """Apply a matrix to the modes of one direction, cell by cell."""
    return apply_along(matrix, field, mode_axis(field, direction, dim))


def apply_everywhere(matrix: Array, field: Array, dim: int) -> Array:
    """Apply the same matrix to the modes of every direction.

    The last direction comes first: it is the smallest product.
    """
    for direction in reversed(range(dim)):
        field = apply_matrix(matrix, field, direction, dim)
    return field


@dataclass(frozen=True, eq=False)
class Stencil:
    """Linear map of one direction that couples a cell with its neighbours on a periodic row of cells.

    ``out_c = Σ_k matrices[k] · in_{c + shifts[k]}``; with ``pieces`` > 1 each cell is split into that many
    equal pieces and row block ``r`` of the matrices belongs to piece ``r``.

    Parameters
    ----------
    shifts
        Cell offsets, increasing.
    matrices
        Array ``(len(shifts), pieces * rows, columns)``.
    pieces
        Number of equal pieces per cell in the result.
    """

    shifts: tuple[int, ...]
    matrices: Array
    pieces: int = 1

    def scaled(self, factor: float) -> Stencil:
        """The stencil times a number."""
        return Stencil(self.shifts, self.matrices * factor, self.pieces)

    def after(self, inner: Stencil) -> Stencil:
        """The composition ``self ∘ inner`` (``inner`` must keep the cells whole)."""
        lowest = self.shifts[0] + inner.shifts[0]
        highest = self.shifts[-1] + inner.shifts[-1]
        matrices = np.zeros((highest - lowest + 1, self.matrices.shape[1], inner.matrices.shape[2]))
        for shift, matrix in zip(self.shifts, self.matrices, strict=True):
            for inner_shift, inner_matrix in zip(inner.shifts, inner.matrices, strict=True):
                matrices[shift + inner_shift - lowest] += matrix @ inner_matrix
        return Stencil(tuple(range(lowest, highest + 1)), matrices, self.pieces)

    def folded(self, cells: int) -> Stencil:
        """The same map on a row of ``cells`` cells.

        Shifts that meet after wrapping round summed (circulant).
        """
        if len(self.shifts) <= cells:
            return self
        matrices = np.zeros((cells, *self.matrices.shape[1:]))
        for shift, matrix in zip(self.shifts, self.matrices, strict=True):
            matrices[shift % cells] += matrix
        return Stencil(tuple(range(cells)), matrices, self.pieces)

    def symbol(self, cells: int) -> NDArray[np.complex128]:
        """Fourier symbol ``Σ_k matrices[k] exp(2πi j shifts[k]/cells)``, shape ``(cells, rows, columns)``."""
        phases = np.exp(2j * np.pi * np.outer(np.arange(cells), self.shifts) / cells)
        return np.asarray(np.tensordot(phases, self.matrices, axes=1))

    def apply(self, field: Array, direction: int, dim: int) -> Array:
        """Apply along one direction of a field ``(…, p_1, …, p_d, N_1, …, N_d)``."""
        modes, cells = mode_axis(field, direction, dim), cell_axis(field, direction, dim)
        stencil = self.folded(field.shape[cells])
        gathered = gather_neighbours(field, stencil.shifts, cells, modes)
        result = apply_along(np.concatenate(list(stencil.matrices), axis=1), gathered, modes)
        return interleave(result, self.pieces, modes, cells)


#: A product of one-dimensional stencils in different directions.
Term = tuple[tuple[int, Stencil], ...]


def apply_term(term: Term, field: Array, dim: int) -> Array:
    """Apply a product of one-dimensional stencils; the last direction comes first, as the smallest product.

    Direction 0 reads windows of consecutive rows of cells, which lie in memory as the matrix product wants
    them, so that no neighbour is copied.
    """
    inner = sorted((entry for entry in term if entry[0] > 0), reverse=True)
    outer = [stencil for direction, stencil in term if direction == 0]
    if not outer or dim == 1 or not inner:
        for direction, stencil in (*inner, *((0, stencil) for stencil in outer)):
            field = stencil.apply(field, direction, dim)
        return field
    return _apply_rows(outer[0], inner, field, dim)


def _apply_rows(rows: Stencil, inner: Term | list[tuple[int, Stencil]], field: Array, dim: int) -> Array:
    """``rows`` in direction 0 after the ``inner`` ones, block by block of rows."""
    count = field.shape[-dim]
    rows = rows.folded(count)
    first, width = rows.shifts[0], rows.shifts[-1] - rows.shifts[0] + 1
    leading = field.shape[: -2 * dim]
    flat = field.reshape(-1, *field.shape[-2 * dim :])
    step = max(1, min(count, _BLOCK_VALUES * count // flat[0].size))
    padded: Array | None = None
    for start in range(0, count, step):
        block = flat[(..., slice(start, start + step), *(slice(None),) * (dim - 1))]
        for direction, stencil in inner:
            block = stencil.apply(block, direction, dim)
        moved = np.moveaxis(block, 1 + dim, 1)  # (k, rows, p_1, the rest)
        if padded is None:
            padded = np.empty((len(flat), count + width - 1, *moved.shape[2:]))
        padded[:, start - first : start - first + moved.shape[1]] = moved
    assert padded is not None
    padded[:, :-first] = padded[:, count : count - first]
    padded[:, count - first :] = padded[:, -first : -first + width - 1 + first]
    inside = padded.shape[3:]
    matrix = np.zeros((rows.matrices.shape[1], width, rows.matrices.shape[2]))
    for shift, entries in zip(rows.shifts, rows.matrices, strict=True):
        matrix[:, shift - first] = entries
    matrix = matrix.reshape(len(matrix), -1)
    rest = prod(inside)
    modes = len(matrix) // rows.pieces
    result = np.empty((len(flat), modes, *inside[: dim - 1], count, rows.pieces, *inside[dim - 1 :]))
    across, along, unit = padded.strides[1], rest * padded.itemsize, padded.itemsize
    windows = np.lib.stride_tricks.as_strided(
        padded, (len(flat), count, matrix.shape[1], rest), (padded.strides[0], across, along, unit)
    )
    step = max(1, min(count, _BLOCK_VALUES // (len(matrix) * rest)))
    for k in range(len(flat)):
        for start in range(0, count, step):
            product = np.matmul(matrix, windows[k, start : start + step])
            product = product.reshape(len(product), rows.pieces, modes, *inside)
            target = result[(k, *(slice(None),) * dim, slice(start, start + step))]
            target[...] = np.moveaxis(product, (0, 1), (dim, dim + 1))
    return result.reshape(*leading, *result.shape[1 : 1 + dim], count * rows.pieces, *inside[dim - 1 :])
