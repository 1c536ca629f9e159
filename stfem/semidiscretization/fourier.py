"""Direct solution of (I − sP) x = r for block-circulant P on a periodic tensor grid.

The Fourier transform in the cell index turns the interior-penalty operator into Hermitian blocks, one per
frequency. With a diagonal diffusion matrix the blocks are sums of one-dimensional ones and each direction is
diagonalised on its own. No iteration, no tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from stfem.spaces.stencil import Array, Stencil, Term

ComplexArray = NDArray[np.complex128]


class SeparableSolver:
    """P = Σ_i (one-dimensional operator in direction i): each direction has its own eigenvectors.

    Parameters
    ----------
    operators
        One symmetric stencil per direction, or None where the direction carries no diffusion.
    cells
        Numbers of cells.
    """

    def __init__(self, operators: Sequence[Stencil | None], cells: Sequence[int]) -> None:
        self._dim = len(cells)
        self._vectors: list[ComplexArray | None] = []
        total: Array = np.zeros((1,) * (2 * self._dim))
        for i, (operator, count) in enumerate(zip(operators, cells, strict=True)):
            if operator is None:
                self._vectors.append(None)
                continue
            symbol = operator.symbol(count)
            if i == self._dim - 1:  # the real transform keeps half of the last axis
                symbol = symbol[: count // 2 + 1]
            eigenvalues, vectors = np.linalg.eigh(symbol)
            self._vectors.append(
                np.ascontiguousarray(np.moveaxis(vectors, 0, -1))
            )  # (mode, eigenvector, frequency)
            shape = [1] * (2 * self._dim)
            shape[i], shape[self._dim + i] = eigenvalues.shape[1], eigenvalues.shape[0]
            total = total + eigenvalues.T.reshape(shape)
        self._eigenvalues = total

    @property
    def spectral_radius(self) -> float:
        """Largest |eigenvalue| of P."""
        return float(np.abs(self._eigenvalues).max())

    def solve(self, rhs: Array, shift: float) -> Array:
        """Solution x of (I − shift·P) x = rhs, one component ``(p…, N…)``."""
        axes = tuple(range(self._dim, 2 * self._dim))
        field = fft.rfftn(rhs, axes=axes)
        for i, vectors in enumerate(self._vectors):
            if vectors is not None:
                field = self._transform(np.conj(np.swapaxes(vectors, 0, 1)), field, i)
        field /= 1.0 - shift * self._eigenvalues
        for i, vectors in enumerate(self._vectors):
            if vectors is not None:
                field = self._transform(vectors, field, i)
        return np.asarray(fft.irfftn(field, s=rhs.shape[self._dim :], axes=axes))

    def _transform(self, matrices: ComplexArray, field: ComplexArray, direction: int) -> ComplexArray:
        """Apply ``matrices[a, b, frequency]`` to the modes of one direction."""
        moved = np.moveaxis(field, direction, 0)
        shape = [1] * (moved.ndim - 1)
        shape[self._dim - 1 + direction] = matrices.shape[2]
        result = np.empty(moved.shape, dtype=complex)
        for a in range(matrices.shape[0]):
            np.multiply(matrices[a, 0].reshape(shape), moved[0], out=result[a])
            for b in range(1, matrices.shape[1]):
                result[a] += matrices[a, b].reshape(shape) * moved[b]
        return np.moveaxis(result, 0, direction)


class BlockSolver:
    """P = Σ of products of one-dimensional stencils (cross derivatives).

    One Hermitian block per frequency.
    """

    def __init__(self, terms: Sequence[Term], degree: int, cells: Sequence[int]) -> None:
        self._dim = len(cells)
        half = (*cells[:-1], cells[-1] // 2 + 1)
        width = degree + 1
        blocks = np.zeros((*half, width**self._dim, width**self._dim), dtype=complex)
        for term in terms:
            product = np.ones((*(1,) * self._dim, 1, 1), dtype=complex)
            factors = dict(term)
            for i, count in enumerate(cells):
                symbol = (
                    factors[i].symbol(count)[: half[i]]
                    if i in factors
                    else np.eye(width, dtype=complex)[None]
                )
                shape = [1] * self._dim
                shape[i] = symbol.shape[0]
                product = _kronecker(product, symbol.reshape(*shape, width, width))
            blocks += product
        eigenvalues, self._vectors = np.linalg.eigh(blocks)
        self._eigenvalues = eigenvalues

    @property
    def spectral_radius(self) -> float:
        """Largest |eigenvalue| of P."""
        return float(np.abs(self._eigenvalues).max())

    def solve(self, rhs: Array, shift: float) -> Array:
        """Solution x of (I − shift·P) x = rhs, one component ``(p…, N…)``."""
        axes = tuple(range(self._dim, 2 * self._dim))
        field = fft.rfftn(rhs, axes=axes)
        spectrum = np.moveaxis(field.reshape(-1, *field.shape[self._dim :]), 0, -1)[..., None]
        adjoint = np.conj(np.swapaxes(self._vectors, -1, -2))
        spectrum = (adjoint @ spectrum) / (1.0 - shift * self._eigenvalues[..., None])
        field = np.moveaxis((self._vectors @ spectrum)[..., 0], -1, 0).reshape(field.shape)
        return np.asarray(fft.irfftn(field, s=rhs.shape[self._dim :], axes=axes))


def _kronecker(left: ComplexArray, right: ComplexArray) -> ComplexArray:
    """Kronecker product of the last two axes, broadcast over the others."""
    product = left[..., :, None, :, None] * right[..., None, :, None, :]
    shape = product.shape
    return product.reshape(*shape[:-4], shape[-4] * shape[-3], shape[-2] * shape[-1])
