"""Small matrices acting on one direction of a tensor-product field, with and without neighbour cells.

Kernel arrays are laid out as ``(..., p_1, …, p_d, N_1, …, N_d)``: modes (or points) first, cells last, so
that one small matrix meets long contiguous rows and a whole field is one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from stfem.meshes.periodic import gather_neighbours, interleave, rows_of

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


def apply_term(term: Term, field: Array, dim: int, rows: slice | None = None) -> Array:
    """Apply a product of one-dimensional stencils; the last direction comes first, as the smallest product.

    Parameters
    ----------
    term
        Stencils in different directions.
    field
        ``(…, p_1, …, p_d, N_1, …, N_d)``.
    dim
        d.
    rows
        Cells in direction 0 on which the result is wanted; all by default.
    """
    start, stop, _ = (rows or slice(None)).indices(field.shape[-dim])
    return TermRows(term, field, dim)(slice(start, stop))


def refined_rows(rows: slice, pieces: int) -> slice:
    """The same range of cells where each is cut into ``pieces``."""
    return slice(rows.start * pieces, rows.stop * pieces)


def cell_rows(field: Array, rows: slice, dim: int) -> Array:
    """View of a range of the first cell axis."""
    index: list[slice] = [slice(None)] * field.ndim
    index[field.ndim - dim] = rows
    return field[tuple(index)]


class TermRows:
    """A product of one-dimensional stencils applied to a field on some rows of cells after others.

    Direction 0 reads windows of consecutive rows of what the other directions give, which lie in memory as
    the matrix product wants them, so that no neighbour is copied. The rows that one block shares with the
    block before it are kept.

    Parameters
    ----------
    term
        Stencils in different directions.
    field
        ``(…, p_1, …, p_d, N_1, …, N_d)``, or several such arrays that make up a first axis of the result.
    dim
        d.
    """

    def __init__(self, term: Term, field: Array | Sequence[Array], dim: int) -> None:
        fields, first = ([field], ()) if isinstance(field, np.ndarray) else (list(field), (len(field),))
        shape = fields[0].shape
        self._dim, self._leading = dim, (*first, *shape[: -2 * dim])
        self._inner = sorted((entry for entry in term if entry[0] > 0), reverse=True)
        outer = [stencil.folded(shape[-dim]) for direction, stencil in term if direction == 0]
        self._outer = outer[0] if outer else Stencil((0,), np.eye(shape[-2 * dim])[None])
        self._fields = [array.reshape(-1, *shape[-2 * dim :]) for array in fields]
        self._known, self._inside = range(0), np.empty((prod(self._leading), 0))

    def __call__(self, rows: slice) -> Array:
        """The result on a range of cells in direction 0, on all their pieces."""
        if not self._inner:
            return cell_rows(self._whole, refined_rows(rows, self._outer.pieces), self._dim)
        return self._windows(range(rows.start, rows.stop))

    @cached_property
    def _whole(self) -> Array:
        """Direction 0 alone."""
        field = self._outer.apply(np.concatenate(self._fields), 0, self._dim)
        return field.reshape(*self._leading, *field.shape[1:])

    def _rows(self, wanted: range) -> Array:
        """What the other directions give, ``(k, rows, p_1, the rest)``; rows may pass the torus' ends."""
        known = self._known
        if wanted.start not in known or wanted.stop <= known.stop:
            self._inside, known = _inner_rows(self._inner, self._fields, self._dim, wanted), wanted
        else:
            further = _inner_rows(self._inner, self._fields, self._dim, range(known.stop, wanted.stop))
            kept = self._inside[:, wanted.start - known.start :]
            self._inside, known = np.concatenate([kept, further], axis=1), wanted
        self._known = known
        return self._inside

    def _windows(self, wanted: range) -> Array:
        """Direction 0 after the others, block by block."""
        dim, count, outer = self._dim, len(wanted), self._outer
        first, last = outer.shifts[0], outer.shifts[-1]
        inside = self._rows(range(wanted.start + first, wanted.stop + last))
        matrix = np.zeros((outer.matrices.shape[1], last - first + 1, outer.matrices.shape[2]))
        for shift, entries in zip(outer.shifts, outer.matrices, strict=True):
            matrix[:, shift - first] = entries
        joined = matrix.reshape(len(matrix), -1)
        modes, rest = len(joined) // outer.pieces, inside.shape[3:]
        windows = np.lib.stride_tricks.as_strided(
            inside,
            (len(inside), count, joined.shape[1], prod(rest)),
            (*inside.strides[:2], prod(rest) * inside.itemsize, inside.itemsize),
        )
        result = np.empty((len(inside), modes, *rest[: dim - 1], count, outer.pieces, *rest[dim - 1 :]))
        step = max(1, min(count, _BLOCK_VALUES // (len(joined) * prod(rest))))
        for given, target in zip(windows, result, strict=True):
            for start in range(0, count, step):
                product = np.matmul(joined, given[start : start + step])
                product = product.reshape(len(product), outer.pieces, modes, *rest)
                np.moveaxis(target, (dim, dim + 1), (0, 1))[start : start + step] = product
        pieces = count * outer.pieces
        return result.reshape(*self._leading, modes, *rest[: dim - 1], pieces, *rest[dim - 1 :])


def _inner_rows(
    inner: Sequence[tuple[int, Stencil]], fields: Sequence[Array], dim: int, wanted: range
) -> Array:
    """The inner stencils applied to rows of fields ``(k, p…, N…)``, as ``(Σk, rows, p_1, the rest)``.

    The rows may reach over the ends of the torus.
    """
    step = max(1, _BLOCK_VALUES * fields[0].shape[-dim] // fields[0][0].size)
    result: Array | None = None
    for start in range(0, len(wanted), step):
        parts = [rows_of(field, wanted[start : start + step], 1 + dim) for field in fields]
        block = parts[0] if len(parts) == 1 else np.concatenate(parts)
        for direction, stencil in inner:
            block = stencil.apply(block, direction, dim)
        moved = np.moveaxis(block, 1 + dim, 1)
        if result is None:
            result = np.empty((len(moved), len(wanted), *moved.shape[2:]))
        result[:, start : start + moved.shape[1]] = moved
    return np.empty((0,)) if result is None else result
