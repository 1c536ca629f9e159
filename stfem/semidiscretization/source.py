"""Projections of sources at stage times, with everything that does not depend on time made once."""

from __future__ import annotations

from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stfem.data import Approximated, Data, Trigonometric
from stfem.data.modes import factors
from stfem.meshes.grid import TensorGrid
from stfem.spaces.blocks import blocks
from stfem.spaces.stencil import Array

_LARGEST = 1 << 18  # combinations of wavenumbers up to which a trigonometric source is kept separated


class Source(Protocol):
    """Adds the modes of a projected source to a component of a right-hand side."""

    def add(self, t: float, rate: Array, /) -> None:
        """``rate`` += P_h g(·, t), ``(p…, N…)``."""


def source(datum: Data, grid: TensorGrid, degree: int) -> Source:
    """The fastest way for one datum."""
    waves = datum.approximation if isinstance(datum, Approximated) else datum
    if not datum.time_dependent:
        return _Fixed(datum.project(grid, degree, 0.0).coefficients)
    if isinstance(waves, Trigonometric):
        separated = [np.unique(column, return_inverse=True) for column in waves.wavevectors.T]
        if prod(len(values) for values, _ in separated) <= _LARGEST:
            return _Waves(waves, separated, grid, degree)
    return _Projected(datum, grid, degree)


class _Fixed:
    def __init__(self, coefficients: Array) -> None:
        self._coefficients = coefficients

    def add(self, t: float, rate: Array, /) -> None:
        rate += self._coefficients


class _Projected:
    def __init__(self, datum: Data, grid: TensorGrid, degree: int) -> None:
        self._datum, self._grid, self._degree = datum, grid, degree

    def add(self, t: float, rate: Array, /) -> None:
        rate += self._datum.project(self._grid, self._degree, t).coefficients


class _Waves:
    """Σ_j Re( c_j exp(iω_j t) e_{k_j,1}(x_1) ⋯ e_{k_j,d}(x_d) ), e the modes of exp(i k x) in one direction.

    At each time the amplitudes form a tensor over the distinct wavenumbers of every direction. It is
    contracted with the modes of the last direction first; the first one ends in a real matrix product that
    yields the kernel layout.
    """

    def __init__(
        self,
        waves: Trigonometric,
        separated: list[tuple[Array, NDArray[np.intp]]],
        grid: TensorGrid,
        degree: int,
    ) -> None:
        self._waves, self._grid, self._width = waves, grid, degree + 1
        self._shape = tuple(len(values) for values, _ in separated)
        self._index = np.ravel_multi_index(tuple(index for _, index in separated), self._shape)
        tables = []
        for (values, _), h, count in zip(separated, grid.spacing, grid.cells, strict=True):
            phase = np.exp(1j * np.outer(values, h * (np.arange(count) + 0.5)))
            tables.append(factors(values, h, degree)[:, :, None] * phase[:, None, :])
        first, *self._others = tables  # (wavenumber, mode, cell)
        self._first = np.ascontiguousarray(np.concatenate([first.real, -first.imag]).transpose(1, 2, 0))

    def add(self, t: float, rate: Array, /) -> None:
        width, cells, dim = self._width, self._grid.cells, self._grid.dim
        amplitudes = self._waves.amplitudes * np.exp(1j * self._waves.frequencies * t)
        state = np.zeros(self._shape, dtype=np.complex128)
        np.add.at(state.reshape(-1), self._index, amplitudes)
        for i, table in reversed(list(enumerate(self._others, 1))):  # axes (k_1, …, k_i, p, N, …)
            state = np.moveaxis(np.tensordot(state, table, axes=(i, 0)), (-2, -1), (i, i + 1))
        state = state.transpose(0, *range(1, 2 * dim - 1, 2), *range(2, 2 * dim - 1, 2))
        real = np.concatenate([state.real, state.imag]).reshape(-1, width ** (dim - 1), prod(cells[1:]))
        right = np.ascontiguousarray(real.transpose(1, 0, 2))
        modes = rate.reshape(width, -1, *cells)
        for block in blocks(cells, width**dim):
            product = np.matmul(self._first[:, None, block.start : block.stop], right)
            rows = block.of(modes, dim)
            rows += product.reshape(rows.shape)
