"""Norms of a filtered field from the Fourier coefficients of the field itself (T4.6)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from stfem.meshes.grid import TensorGrid
from stfem.spaces.legendre import derivative_matrix
from stfem.spaces.stencil import Array, Stencil

#: Bound of the relative round-off of transforms and products, with some margin.
ROUNDING = 1e-13
#: Numbers handled at once, to stay in the cache.
_BLOCK_VALUES = 1 << 15


@dataclass(frozen=True, eq=False)
class _Factor:
    """One direction of S or of its derivative for every frequency: cells in an orthonormal basis.

    Attributes
    ----------
    matrices
        ``(N, pieces · r, q + 1)``; for every piece of a cell the mean comes first.
    heights
        Bounds of sup|basis function|, ``(r,)``.
    """

    matrices: NDArray[np.complex128]
    heights: Array

    @property
    def gain(self) -> float:
        """Largest matrix norm."""
        return float(np.linalg.norm(self.matrices, axis=(1, 2)).max())


class FilterSymbol:
    """‖S v‖, ‖∂_iS v‖ and bounds of their suprema without S v: a filter does not mix frequencies.

    For every frequency k of the cell index S is a small matrix M_k = ⊗_i M_{k_i} from the modes of v to those
    of S v. Its QR factor, one per direction, has the same norms and as few rows as columns. With z_k the
    product of these factors with v̂_k,

        ‖S v‖² = |K| Σ_k |z_k|² / ΠN_i,   sup|S v| ≤ Σ_k Σ_j heights_j |z_{k,j}| / ΠN_i .

    Parameters
    ----------
    stencil
        S in one direction, the same in all.
    grid
        Grid of v.
    """

    def __init__(self, stencil: Stencil, grid: TensorGrid) -> None:
        self._grid, self._pieces = grid, stencil.pieces
        self._plain, self._slope = [], []
        for cells, h in zip(grid.cells, grid.spacing, strict=True):
            symbol = stencil.symbol(cells)
            symbol = symbol.reshape(cells, stencil.pieces, -1, symbol.shape[-1])
            slope = derivative_matrix(symbol.shape[2] - 1) * (stencil.pieces / h)
            self._plain.append(_factor(symbol))
            self._slope.append(_factor(slope @ symbol))
        # a real field has the same size at k and −k: half of the last frequencies are left out
        last = grid.cells[-1]
        half = np.arange(last // 2 + 1)
        self._count = np.where((half == 0) | (2 * half == last), 1.0, 2.0)

    def measure(self, field: Array, directions: tuple[int | None, ...] = (None,)) -> tuple[Array, Array]:
        """Norms in L²(Ω) and bounds of suprema of S v (None) or ∂_iS v, for every entry of ``directions``.

        Parameters
        ----------
        field
            v ``(m, q+1, …, N…)``.
        directions
            What is wanted: i for ∂_iS v, in 1/length.
        """
        # some modes at a time, as a transform takes the memory of its field once more
        dim, modes = self._grid.dim, field.reshape(-1, *self._grid.cells)
        spectrum = np.empty((len(modes), *self._grid.cells[:-1], len(self._count)), dtype=np.complex128)
        step = max(1, _BLOCK_VALUES // self._grid.size)
        for start in range(0, len(modes), step):
            some = slice(start, start + step)
            spectrum[some] = scipy.fft.rfftn(modes[some], axes=range(-dim, 0))
        spectrum = spectrum.reshape(*field.shape[:-dim], *spectrum.shape[1:])
        found = [self._norms(spectrum, direction) for direction in directions]
        sizes, sups = np.array(found).T
        return sizes, sups

    def _norms(self, spectrum: NDArray[np.complex128], direction: int | None) -> tuple[float, float]:
        """Of S v or ∂_iS v; some frequencies at a time, over which all sums go."""
        dim = self._grid.dim
        factors = [self._slope[i] if i == direction else self._plain[i] for i in range(dim)]
        count = spectrum.shape[-dim]
        step = max(1, _BLOCK_VALUES * count // spectrum.size)
        squares, lost, total, sups = 0.0, 0.0, 0.0, np.zeros(1)
        for start in range(0, count, step):
            rows = slice(start, min(start + step, count))
            z = np.moveaxis(np.moveaxis(spectrum, -dim, 0)[rows], 0, -dim)
            often = self._count[rows] if dim == 1 else self._count
            before = np.abs(z)
            for i, factor in enumerate(factors):
                z = _along(factor.matrices[rows] if i == 0 else factor.matrices, z, i, dim)
            after = np.abs(z)
            squares += float(self._sum(after**2, often).sum())
            lost += float(self._sum(before**2, often).sum())
            total += float(self._sum(before, often).sum())
            sups = sups + self._sum(after, often)
        measure = self._grid.cell_measure / self._pieces**dim
        gain = prod(factor.gain for factor in factors)
        for i, factor in enumerate(factors):
            split = sups.reshape(*sups.shape[: 1 + i], self._pieces, -1, *sups.shape[2 + i :])
            sups = np.moveaxis(split, 2 + i, -1) @ factor.heights
        highest = prod(float(np.linalg.norm(factor.heights)) for factor in factors)
        size = float(np.sqrt(measure * squares)) + ROUNDING * gain * float(np.sqrt(measure * lost))
        return size, float(sups.max()) + ROUNDING * gain * highest * total

    def _sum(self, magnitudes: Array, count: Array) -> Array:
        """Σ_k over frequencies, over the number of all of them."""
        summed = magnitudes @ count
        return np.asarray(summed.sum(axis=tuple(range(1 - self._grid.dim, 0))) / self._grid.size)


def _factor(symbol: NDArray[np.complex128]) -> _Factor:
    """QR factor of matrices ``(N, pieces, modes, q + 1)``, the first mode apart."""
    rest = np.linalg.qr(symbol[:, :, 1:], mode="r")
    matrices = np.concatenate([symbol[:, :, :1], rest], axis=2)
    # a combination of L_1, …, L_Q with coefficients of norm 1 is at most (Σ (2k + 1))^{1/2}
    highest = np.sqrt(symbol.shape[2] ** 2 - 1.0)
    heights = np.where(np.arange(matrices.shape[2]) == 0, 1.0, highest)
    return _Factor(matrices.reshape(len(matrices), -1, matrices.shape[3]), heights)


def _along(
    matrices: NDArray[np.complex128], spectrum: NDArray[np.complex128], direction: int, dim: int
) -> NDArray[np.complex128]:
    """One matrix per frequency of one direction on the modes of that direction."""
    axes = spectrum.ndim - dim + direction, spectrum.ndim - 2 * dim + direction
    moved = np.moveaxis(spectrum, axes, (0, 1))
    flat = np.ascontiguousarray(moved).reshape(*moved.shape[:2], -1)
    product = matrices[: len(moved)] @ flat
    return np.moveaxis(product.reshape(*product.shape[:2], *moved.shape[2:]), (0, 1), axes)
