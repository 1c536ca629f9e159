"""Sums of one-dimensional nearest-neighbour stencils as two matrix products per application.

A discontinuous Galerkin stencil couples a cell to its neighbours through few numbers per face (traces,
slopes): the matrices for shift ±1 have low rank, M_s = A_s B_s. One product with [own block; all B_s] gives
the cell's own part and what the neighbours need; these numbers are moved to the neighbours; one product with
all A_s adds them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stfem.meshes.periodic import neighbour
from stfem.spaces.stencil import Array, Stencil

_RANK_TOLERANCE = 1e-13


class CompactOperator:
    """Σ over (direction, stencil) on fields ``(…, q+1, …, q+1, N_1, …, N_d)``.

    The stencils act along their direction.

    Parameters
    ----------
    terms
        Stencils that keep the degree and reach at most next neighbours.
    degree, dim
        Polynomial degree q and dimension d.
    """

    def __init__(self, terms: Sequence[tuple[int, Stencil]], degree: int, dim: int) -> None:
        self._dim, self._size = dim, (degree + 1) ** dim
        coupling: dict[tuple[int, int], Array] = {}
        own = np.zeros((self._size, self._size))
        for direction, stencil in terms:
            for shift, matrix in zip(stencil.shifts, stencil.matrices, strict=True):
                if shift == 0:
                    own += _embedded(matrix, direction, degree + 1, dim)
                else:
                    coupling[direction, shift] = coupling.get((direction, shift), 0.0) + matrix
        sent, received = [own], []
        self._moves: list[tuple[slice, int, int]] = []
        for (direction, shift), matrix in coupling.items():
            left, right = _factors(matrix)
            if left.shape[1]:
                start = sum(len(block) for block in sent[1:])
                sent.append(_embedded(right, direction, degree + 1, dim))
                received.append(_embedded(left, direction, degree + 1, dim))
                self._moves.append((slice(start, start + len(sent[-1])), direction, shift))
        self._sent = np.concatenate(sent)
        self._received = np.concatenate(received, axis=1) if received else np.zeros((self._size, 0))

    def apply(self, field: Array) -> Array:
        """Result with the shape of ``field``."""
        cells = field.shape[-self._dim :]
        flat = np.ascontiguousarray(field).reshape(-1, self._size, int(np.prod(cells)))
        both = np.matmul(self._sent, flat)
        result = both[:, : self._size]
        if self._moves:
            faces = both[:, self._size :].reshape(len(flat), -1, *cells)
            moved = np.empty_like(faces)
            for rows, direction, shift in self._moves:
                moved[:, rows] = neighbour(faces[:, rows], shift, 2 + direction)
            result = result + np.matmul(self._received, moved.reshape(len(flat), -1, flat.shape[2]))
        return np.ascontiguousarray(result).reshape(field.shape)


def _factors(matrix: Array) -> tuple[Array, Array]:
    """M = A B with as few columns of A as the rank of M."""
    u, s, v = np.linalg.svd(matrix)
    rank = int(np.sum(s > _RANK_TOLERANCE * max(s[0], np.finfo(float).tiny)))
    return u[:, :rank] * s[:rank], v[:rank]


def _embedded(matrix: Array, direction: int, width: int, dim: int) -> Array:
    """1 ⊗ … ⊗ matrix ⊗ … ⊗ 1 with the matrix at ``direction``."""
    before, after = np.eye(width**direction), np.eye(width ** (dim - 1 - direction))
    return np.kron(np.kron(before, matrix), after)
