"""Sums of one-dimensional nearest-neighbour stencils as two matrix products per block of cells.

A discontinuous Galerkin stencil couples a cell to its neighbours through few numbers per face (traces,
slopes): the matrices for shift ±1 have low rank, M_s = A_s B_s. One product with all B_s gives what the
neighbours need; these numbers are moved to the neighbours; one product with [own block; all A_s] acts on the
cell's own modes and on what has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from stfem.meshes.periodic import move
from stfem.spaces.blocks import Block, Workspaces, blocks, result_array, rows
from stfem.spaces.stencil import Array, Stencil
from stfem.spaces.tensor_product import MOVE

_RANK_TOLERANCE = 1e-13


class CompactOperator:
    """Σ over (direction, stencil) on fields ``(…, q+1, …, q+1, N_1, …, N_d)``.

    The stencils act along their direction. All directions together (Kronecker products with identities) or
    one after the other, whichever costs less.

    Parameters
    ----------
    terms
        Stencils that keep the degree and reach at most next neighbours.
    degree, dim
        Polynomial degree q and dimension d.
    """

    def __init__(self, terms: Sequence[tuple[int, Stencil]], degree: int, dim: int) -> None:
        width = degree + 1
        self._dim, self._size = dim, width**dim
        together = _Coupling(
            [(i, _embedded(stencil, i, width, dim)) for i, stencil in terms], 1, self._size, 1
        )
        apart = [
            _Coupling([(i, s) for i, s in terms if i == k], width**k, width, width ** (dim - 1 - k))
            for k in dict.fromkeys(i for i, _ in terms)
        ]
        single = together.cost <= sum(coupling.cost for coupling in apart)
        self._couplings = [together] if single and terms else apart

    def apply(self, field: Array, out: Array | None = None, add: bool = False) -> Array:
        """Result with the shape of ``field``, in ``out`` (added to what is there) if given."""
        cells = field.shape[-self._dim :]
        modes = np.asarray(field).reshape(-1, self._size, *cells)
        result = result_array(field.shape, out)
        target = result.reshape(modes.shape)
        if not self._couplings and not (add and out is not None):
            target.fill(0.0)
        for k, coupling in enumerate(self._couplings):
            for block in blocks(cells, coupling.values):
                coupling.apply(modes, target, block, add or k > 0)
        return result


@dataclass(frozen=True)
class _Work:
    """Arrays of one block: what the second product takes, what the first gives, what the second gives."""

    taken: Array
    given: Array
    product: Array


class _Coupling:
    """Stencils whose matrices act on the middle one of the mode axes ``(before, width, behind)``."""

    def __init__(self, terms: Sequence[tuple[int, Stencil]], before: int, width: int, behind: int) -> None:
        self._before, self._width, self._behind = before, width, behind
        coupling: dict[tuple[int, int], Array] = {}
        own = np.zeros((width, width))
        for direction, stencil in terms:
            for shift, matrix in zip(stencil.shifts, stencil.matrices, strict=True):
                if shift == 0:
                    own += matrix
                else:
                    coupling[direction, shift] = coupling.get((direction, shift), 0.0) + matrix
        sent, received = [np.zeros((0, width))], [own]
        self._moves: list[tuple[slice, int, int]] = []
        start = 0
        for (direction, shift), matrix in coupling.items():
            left, right = _factors(matrix)
            if len(right):
                self._moves.append((slice(start, start + len(right)), direction, shift))
                sent.append(right)
                received.append(left)
                start += len(right)
        self._sent = np.concatenate(sent)
        self._received = np.concatenate(received, axis=1)
        self._work: Workspaces[_Work] = Workspaces()

    @property
    def values(self) -> int:
        """Numbers per cell in the work arrays of one component."""
        return self._before * (2 * self._width + 2 * len(self._sent)) * self._behind

    @property
    def cost(self) -> int:
        """Multiplications per cell, moved values counted as `MOVE` each."""
        given, width = len(self._sent), self._width
        return (
            self._before * self._behind * (2 * given * width + width * width + MOVE * (3 * given + 2 * width))
        )

    def _build(self, components: int, cells: tuple[int, ...]) -> _Work:
        count = self._before * components
        given, total = len(self._sent), self._behind * prod(cells)
        return _Work(
            np.empty((count, self._width + given, total)),
            np.empty((count, given, total)),
            np.empty((count, self._width, total)),
        )

    def apply(self, field: Array, target: Array, block: Block, add: bool) -> None:
        """Write (or add) the result for one block of ``(m, modes, N_1, …)`` to ``target``."""
        dim = field.ndim - 2
        source, result = block.of(field, dim), block.of(target, dim)
        cells = source.shape[2:]
        work = self._work.get(len(field), cells, self._build)
        own = work.taken[:, : self._width]
        own.reshape(-1, self._width, self._behind, *cells)[...] = source.reshape(
            -1, self._width, self._behind, *cells
        )
        if self._moves:
            np.matmul(self._sent, own, out=work.given)
            shape = (len(own), -1, self._behind, *cells)
            given, arrived = work.given.reshape(shape), work.taken[:, self._width :].reshape(shape)
            for part, direction, shift in self._moves:
                outside = direction == 0 and not block.whole
                beyond = self._row(field, block, part, shift) if outside else None
                move(arrived[:, part], given[:, part], shift, 3 + direction, beyond)
        if add:
            np.matmul(self._received, work.taken, out=work.product)
            result += work.product.reshape(result.shape)
        elif self._before == self._behind == 1:
            np.matmul(self._received, work.taken, out=result.reshape(work.product.shape))
        else:
            np.matmul(self._received, work.taken, out=work.product)
            result[...] = work.product.reshape(result.shape)

    def _row(self, field: Array, block: Block, sent: slice, shift: int) -> Array:
        """What the row of cells above or below the block gives."""
        dim = field.ndim - 2
        index = block.above if shift == 1 else block.below
        row = rows(field, index, index + 1, dim)
        modes = np.ascontiguousarray(row).reshape(len(field) * self._before, self._width, -1)
        given: Array = np.matmul(self._sent[sent], modes)
        return given.reshape(len(modes), -1, self._behind, *row.shape[2:])


def _factors(matrix: Array) -> tuple[Array, Array]:
    """M = A B with as few columns of A as the rank of M."""
    u, s, v = np.linalg.svd(matrix)
    rank = int(np.sum(s > _RANK_TOLERANCE * max(s[0], np.finfo(float).tiny)))
    return u[:, :rank] * s[:rank], v[:rank]


def _embedded(stencil: Stencil, direction: int, width: int, dim: int) -> Stencil:
    """Matrices 1 ⊗ … ⊗ M ⊗ … ⊗ 1 with M at ``direction``."""
    before, after = np.eye(width**direction), np.eye(width ** (dim - 1 - direction))
    return Stencil(stencil.shifts, np.stack([np.kron(np.kron(before, m), after) for m in stencil.matrices]))
