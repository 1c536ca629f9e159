"""Polynomial bases on reference cells: P_q on simplices, Q_q on quadrilaterals and hexahedra.

They are orthonormal in the mean, (1/|K̂|) ∫ φ_i φ_j = δ_ij, so that φ_0 = 1 and the first coefficient of a
function is its mean value.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stfem.meshes.reference import ReferenceCell

__all__ = ["ReferenceBasis", "Tabulated", "reference_basis", "tables"]

Array = NDArray[np.float64]

#: Sets of points whose tables are kept: the same ones are asked for again and again.
_TABLES = 512


class ReferenceBasis:
    """Orthonormal basis of P_q (total degree, simplices) or Q_q (degree per variable, cubes).

    With r_i = 1 − x_1 − … − x_{i−1} and Jacobi polynomials (Dubiner's basis) on simplices

        φ_k ∝ Π_i r_i^{k_i} P_{k_i}^{(a_i, 0)}( 2x_i/r_i − 1 ),   a_i = 2(k_{i+1} + … + k_d) + d − i,

    sorted by total degree, so that the first dim P_k functions span P_k. On cubes function (k_1, …, k_d), in
    lexicographic order, is the product of Legendre polynomials of degrees k_i.

    Parameters
    ----------
    cell
        Reference cell.
    degree
        q ≥ 0.
    """

    def __init__(self, cell: ReferenceCell, degree: int) -> None:
        if degree < 0:
            raise ValueError(f"degree: expected at least 0, got {degree}")
        self.cell, self.degree = cell, degree
        self._powers = list(product(range(degree + 1), repeat=cell.dim))
        if cell.simplex:
            self._powers = sorted((k for k in self._powers if sum(k) <= degree), key=sum)
        self._scale = np.ones(len(self._powers))
        points, weights = cell.quadrature(2 * degree)
        self._scale = 1.0 / np.sqrt(weights @ self.tabulate(points)[0] ** 2 / cell.measure)

    @property
    def size(self) -> int:
        """Number of basis functions."""
        return len(self._powers)

    @property
    def powers(self) -> tuple[tuple[int, ...], ...]:
        """The k of every basis function."""
        return tuple(self._powers)

    def values(self, points: Array) -> Array:
        """φ_j at points ``(d, Q)``: array ``(Q, size)``, read-only."""
        return tables(self, points)[0]

    def gradients(self, points: Array) -> Array:
        """∂̂_iφ_j at points ``(d, Q)``: array ``(d, Q, size)``, read-only."""
        return tables(self, points)[1]

    def tabulate(self, points: Array) -> tuple[Array, Array]:
        """Basis and its gradients."""
        dim, count = points.shape
        values = np.empty((count, self.size))
        gradients = np.empty((dim, count, self.size))
        known: dict[tuple[int, int, int], tuple[Array, Array]] = {}
        for n, powers in enumerate(self._powers):
            keys = [(i, powers[i], sum(powers[i + 1 :]) if self.cell.simplex else 0) for i in range(dim)]
            known.update({key: self._factor(points, *key) for key in keys if key not in known})
            factors = [known[key] for key in keys]
            values[:, n] = np.prod([value for value, _ in factors], axis=0)
            for j in range(dim):
                terms = [
                    np.prod(
                        [slope[j] if i == k else value for k, (value, slope) in enumerate(factors)], axis=0
                    )
                    for i in range(dim)
                ]
                gradients[j, :, n] = np.sum(terms, axis=0)
        return values * self._scale, gradients * self._scale

    def _factor(self, points: Array, i: int, power: int, later: int) -> tuple[Array, Array]:
        """Factor i, given k_i and k_{i+1} + … + k_d, at all points ``(Q,)``, and its gradient ``(d, Q)``."""
        dim, simplex = self.cell.dim, self.cell.simplex
        rest = 1.0 - points[:i].sum(axis=0) if simplex else np.ones(points.shape[1])
        exponent = 2 * later + dim - 1 - i if simplex else 0
        value, by_z, by_w = _jacobi(power, exponent, 2.0 * points[i] - rest, rest)
        slope = np.zeros_like(points)
        slope[i] = 2.0 * by_z
        if simplex:
            slope[:i] = by_z - by_w
        return value, slope


def _jacobi(degree: int, a: int, z: Array, w: Array) -> tuple[Array, Array, Array]:
    """w^n P_n^{(a, 0)}(z/w), a polynomial in both, and its derivatives with respect to z and w."""
    one, zero = np.ones_like(z), np.zeros_like(z)
    if degree == 0:
        return one, zero, zero
    older = (one, zero, zero)
    newer = (0.5 * ((a + 2) * z + a * w), 0.5 * (a + 2) * one, 0.5 * a * one)
    for n in range(1, degree):
        lead = 2 * (n + 1) * (n + a + 1) * (2 * n + a)
        of_z, of_w = (2 * n + a + 1) * (2 * n + a + 2) * (2 * n + a) / lead, (2 * n + a + 1) * a * a / lead
        back = 2 * (n + a) * n * (2 * n + a + 2) / lead
        line = of_z * z + of_w * w
        older, newer = (
            newer,
            (
                line * newer[0] - back * w * w * older[0],
                line * newer[1] + of_z * newer[0] - back * w * w * older[1],
                line * newer[2] + of_w * newer[0] - back * (w * w * older[2] + 2.0 * w * older[0]),
            ),
        )
    return newer


class Tabulated(Hashable, Protocol):
    """A basis on a reference cell."""

    def tabulate(self, points: Array) -> tuple[Array, Array]:
        """Values and derivatives at points ``(d, Q)``."""


def tables(basis: Tabulated, points: Array) -> tuple[Array, Array]:
    """What a basis tabulates at points ``(d, Q)``: read-only, and kept for the next call."""
    return _tables(basis, points.shape, points.tobytes())


@lru_cache(maxsize=_TABLES)
def _tables(basis: Tabulated, shape: tuple[int, ...], buffer: bytes) -> tuple[Array, Array]:
    found = basis.tabulate(np.frombuffer(buffer).reshape(shape))
    for table in found:
        table.flags.writeable = False
    return found


@lru_cache(maxsize=64)
def reference_basis(cell: ReferenceCell, degree: int) -> ReferenceBasis:
    """The basis, made once."""
    return ReferenceBasis(cell, degree)
