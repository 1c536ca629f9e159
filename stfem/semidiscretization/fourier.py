"""Direct solution of (I − sP) x = r for block-circulant P on a periodic tensor grid.

The Fourier transform in the cell index turns the interior-penalty operator into Hermitian blocks, one per
frequency. With a diagonal diffusion matrix the blocks are sums of one-dimensional ones and each direction is
diagonalised on its own. No iteration, no tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from stfem.spaces.blocks import Block, Workspaces, blocks
from stfem.spaces.stencil import Array, Stencil, Term

ComplexArray = NDArray[np.complex128]


class SeparableSolver:
    """P = Σ_i (one-dimensional operator in direction i): each direction has its own eigenvectors.

    The operators commute with reflection, under which Legendre mode j gets the sign (−1)^j. With odd modes
    divided by i their symbols, and so the eigenvectors, are real: real and imaginary parts of a spectrum pass
    through real matrices, block of frequencies by block.

    Parameters
    ----------
    operators
        One symmetric stencil per direction, or None where the direction carries no diffusion.
    cells
        Numbers of cells.

    Raises
    ------
    ValueError
        For a stencil that does not commute with reflection.
    """

    def __init__(self, operators: Sequence[Stencil | None], cells: Sequence[int]) -> None:
        self._dim, self._cells = len(cells), tuple(cells)
        self._spectral = (*cells[:-1], cells[-1] // 2 + 1)  # the real transform keeps half of the last axis
        self._vectors: list[Array | None] = []  # (mode, eigenvector, 1, …, frequency, …, 1)
        self._by_direction: list[Array] = []  # eigenvalues, which add up; likewise
        for i, operator in enumerate(operators):
            if operator is None:
                self._vectors.append(None)
                continue
            symbols = _real_symbol(operator, self._cells[i])[: self._spectral[i]]
            eigenvalues, vectors = np.linalg.eigh(symbols)
            count, width = eigenvalues.shape
            self._vectors.append(
                np.moveaxis(vectors, 0, -1).reshape(
                    width, width, *(count if k == i else 1 for k in range(self._dim))
                )
            )
            shape = [1] * (2 * self._dim)
            shape[i], shape[self._dim + i] = width, count
            self._by_direction.append(eigenvalues.T.reshape(shape))
        self._inverse: tuple[float, Array] = (np.nan, np.ones(1))
        self._modes = (max(len(v) for v in self._vectors if v is not None),) * self._dim
        self._work: Workspaces[tuple[Array, Array]] = Workspaces()

    @property
    def spectral_radius(self) -> float:
        """Largest |eigenvalue| of P."""
        return float(np.abs(self._eigenvalues).max())

    @property
    def _eigenvalues(self) -> Array:
        """Of P, for all frequencies."""
        return np.asarray(sum(self._by_direction))

    def solve(self, rhs: Array, shift: float, out: Array | None = None) -> Array:
        """Solution x of (I − shift·P) x = rhs, one component ``(p…, N…)``, in ``out`` if given."""
        if self._inverse[0] != shift:  # all steps of a run have few shifts, mostly one
            self._inverse = (shift, 1.0 / (1.0 - shift * self._eigenvalues))
        axes = tuple(range(self._dim - 1, 2 * self._dim - 1))
        parts, turns = self._parts, self._turns
        for j, turn in enumerate(turns):  # part by part: what is transformed stays in the cache
            spectrum = fft.rfftn(rhs[j], axes=axes)
            spectrum *= turn
            parts[0, j], parts[1, j] = spectrum.real, spectrum.imag
        for block, *tables in self._tables:
            self._invert(block.of(parts, self._dim), block, tables)
        x = np.empty_like(rhs) if out is None else out
        for j, turn in enumerate(np.conj(turns)):
            spectrum.real, spectrum.imag = parts[0, j], parts[1, j]
            spectrum *= turn
            x[j] = fft.irfftn(spectrum, s=self._cells, axes=axes)
        return x

    @cached_property
    def _parts(self) -> Array:
        """Real and imaginary part of a spectrum, kept from solve to solve."""
        return np.empty((2, *self._modes, *self._spectral))

    @cached_property
    def _turns(self) -> ComplexArray:
        """Division of modes by i for every odd index in a direction that carries diffusion."""
        index = np.indices(self._modes).reshape(self._dim, -1)
        odd = sum(j % 2 for j, v in zip(index, self._vectors, strict=True) if v is not None)
        powers = np.array([1.0, -1.0j, -1.0, 1.0j])
        return np.asarray(powers[np.asarray(odd) % 4].reshape(*self._modes, *(1,) * self._dim))

    @cached_property
    def _tables(self) -> list[tuple[Any, ...]]:
        """Blocks of frequencies, each with the eigenvectors of every direction spread over it.

        Long rows: numpy is slow where an inner loop ends after the few frequencies of one direction.
        """
        result: list[tuple[Any, ...]] = []
        known: dict[tuple[int, int, int], Array] = {}  # later directions are alike in blocks of one size
        for block in blocks(self._spectral, 5 * prod(self._modes)):
            shape = (block.stop - block.start, *self._spectral[1:])
            spread: list[Array | None] = []
            for i, v in enumerate(self._vectors):
                if v is None:
                    spread.append(None)
                    continue
                key = (i, shape[0], block.start if i == 0 else 0)
                if key not in known:
                    part = v[:, :, block.start : block.stop] if i == 0 else v
                    known[key] = np.ascontiguousarray(np.broadcast_to(part, (*part.shape[:2], *shape)))
                spread.append(known[key])
            result.append((block, *spread))
        return result

    def _invert(self, field: Array, block: Block, tables: Sequence[Array | None]) -> None:
        """Expand in eigenvectors, divide by 1 − shift·eigenvalue, expand back; in place."""
        inverse = self._inverse[1]
        if inverse.shape[self._dim] > 1:
            inverse = block.of(inverse, self._dim)
        used = [(1 + i, table) for i, table in enumerate(tables) if table is not None]
        steps = [(axis, table, "by") for axis, table in used] + [(axis, table, "yb") for axis, table in used]
        source, between = field, self._work.get(2, field.shape, _two)
        for n, (axis, table, order) in enumerate(steps):
            target = field if n + 1 == len(steps) else between[n % 2]
            _contract(table, order, source, target, axis)
            if n + 1 == len(used):
                target *= inverse
            source = target


def _two(_: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
    return np.empty(shape), np.empty(shape)


def _contract(table: Array, order: str, field: Array, out: Array, axis: int) -> None:
    """Contract a mode axis with a matrix of its own for every frequency, ``order`` by or yb, in one pass."""
    dim = field.ndim // 2
    shape = (prod(field.shape[:axis]), field.shape[axis], prod(field.shape[axis + 1 : dim + 1]), -1)
    np.einsum(
        f"{order}z,abcz->aycz",
        table.reshape(*table.shape[:2], -1),
        field.reshape(shape),
        out=out.reshape(shape),
    )


def _real_symbol(operator: Stencil, cells: int) -> Array:
    """Symbol with odd modes divided by i, ``(cells, width, width)``."""
    symbol = operator.symbol(cells)
    turn = np.array([1.0, 1.0j])[np.arange(symbol.shape[1]) % 2]
    turned = np.conj(turn)[:, None] * symbol * turn
    if np.abs(turned.imag).max() > 1e-12 * np.abs(turned).max():
        raise ValueError("operator: expected a stencil that commutes with reflection, got another one")
    return np.ascontiguousarray(turned.real)


class BlockSolver:
    """P = Σ of products of one-dimensional stencils (cross derivatives).

    One Hermitian block per frequency.
    """

    def __init__(self, terms: Sequence[Term], degree: int, cells: Sequence[int]) -> None:
        self._dim = len(cells)
        half = (*cells[:-1], cells[-1] // 2 + 1)
        width = degree + 1
        symbols = np.zeros((*half, width**self._dim, width**self._dim), dtype=complex)
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
            symbols += product
        self._eigenvalues, self._vectors = np.linalg.eigh(symbols)
        self._adjoint = np.conj(np.swapaxes(self._vectors, -1, -2))

    @property
    def spectral_radius(self) -> float:
        """Largest |eigenvalue| of P."""
        return float(np.abs(self._eigenvalues).max())

    def solve(self, rhs: Array, shift: float, out: Array | None = None) -> Array:
        """Solution x of (I − shift·P) x = rhs, one component ``(p…, N…)``, in ``out`` if given."""
        axes = tuple(range(self._dim, 2 * self._dim))
        field = fft.rfftn(rhs, axes=axes)
        spectrum = np.moveaxis(field.reshape(-1, *field.shape[self._dim :]), 0, -1)[..., None]
        spectrum = (self._adjoint @ spectrum) / (1.0 - shift * self._eigenvalues[..., None])
        field = np.moveaxis((self._vectors @ spectrum)[..., 0], -1, 0).reshape(field.shape)
        x = np.empty_like(rhs) if out is None else out
        x[...] = fft.irfftn(field, s=rhs.shape[self._dim :], axes=axes)
        return x


def _kronecker(left: ComplexArray, right: ComplexArray) -> ComplexArray:
    """Kronecker product of the last two axes, broadcast over the others."""
    product = left[..., :, None, :, None] * right[..., None, :, None, :]
    shape = product.shape
    return product.reshape(*shape[:-4], shape[-4] * shape[-3], shape[-2] * shape[-1])
