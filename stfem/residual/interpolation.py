"""What interpolation in time leaves between the nodes, from unfiltered node data alone (T2, T4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from stfem.data import Slab
from stfem.meshes.grid import TensorGrid
from stfem.reconstruction import ReconstructedSlab
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array, apply_along

#: Cells taken at once, to stay in the cache; a power of two makes rows fall on the same cache lines.
_BLOCK_CELLS = 1000
#: Modes in time of the rate whose size is told.
_RATES = 3


class TimeDefect:
    """Time modes c_a of the interpolant U^t of the scheme's values, and the defect τ of its rate.

    U^t(t) = Σ_a c_a L_a(s), L_a the orthonormal Legendre polynomials of the slab, s ∈ [0, 1];
    τ = dU^t/dt − I(F_n, A_n), I the Hermite interpolation of U^t applied to the rates and their derivatives.

    With filtered node data the same are the modes C_a = S c_a of û, and S τ.

    Parameters
    ----------
    slab
        Reconstructed slab.
    data
        U_n, F_n and A_n of every node, ``(m, p…, N…)``, plain or filtered.
    grid
        Their grid.
    """

    def __init__(
        self, slab: ReconstructedSlab, data: Sequence[tuple[Array, Array, Array]], grid: TensorGrid
    ) -> None:
        self._grid, self._dim, self._duration = grid, grid.dim, slab.time.duration
        self._arrays = [array for triple in data for array in triple]
        value, rate = slab.value_modes, slab.rate_modes
        self._modes, self._defect = np.zeros((2, len(value), len(self._arrays)))
        self._modes[:, 0::3], self._modes[:, 1::3] = value[:, 0::2], value[:, 1::2]
        self._defect[:, 0::3] = rate[:, 0::2]
        self._defect[:, 1::3] = rate[:, 1::2] - value[:, 0::2]
        self._defect[:, 2::3] = -value[:, 1::2]
        self._rates = np.zeros((_RATES, len(self._arrays)))
        self._rates[:, 0::3], self._rates[:, 1::3] = rate[:_RATES, 0::2], rate[:_RATES, 1::2]

    def _blocks(self, weights: Array) -> Iterator[Array]:
        """Combinations of the node data, ``(rows, m·p_1 ⋯ p_d, cells)``, some cells at a time."""
        cells = prod(self._arrays[0].shape[-self._dim :])
        flat = [array.reshape(-1, cells) for array in self._arrays]
        for start in range(0, cells, _BLOCK_CELLS):
            block = np.stack([array[:, start : start + _BLOCK_CELLS] for array in flat])
            yield (weights @ block.reshape(len(block), -1)).reshape(len(weights), len(flat[0]), -1)

    @cached_property
    def _defects(self) -> Array:
        """Norms in L²(slab × Ω) of the modes of τ, and of the first ones of dU^t/dt."""
        squares = np.zeros(len(self._defect) + _RATES)
        for block in self._blocks(np.concatenate([self._defect, self._rates])):
            squares += np.einsum("kmc,kmc->k", block, block)
        return np.sqrt(self._duration * self._grid.cell_measure * squares)

    @property
    def rate(self) -> float:
        """‖τ‖ in L²(slab × Ω)."""
        return float(np.linalg.norm(self._defects[:-_RATES]))

    @property
    def rates(self) -> Array:
        """Norms in L²(slab × Ω) of the first modes in time of dU^t/dt."""
        return np.asarray(self._defects[-_RATES:])

    @cached_property
    def _sizes(self) -> tuple[Array, Array]:
        heights = peaks(self._arrays[0].shape[: -self._dim], self._dim).ravel()
        squares, sups = np.zeros((2, len(self._modes)))
        for block in self._blocks(self._modes):
            squares += np.einsum("kmc,kmc->k", block, block)
            sups = np.maximum(sups, (heights @ np.abs(block, out=block)).max(axis=1))
        return np.sqrt(self._grid.cell_measure * squares), sups

    @property
    def sizes(self) -> Array:
        """‖c_a‖ in L²(Ω), a = 0, 1, …"""
        return self._sizes[0]

    @property
    def sups(self) -> Array:
        """Bounds of sup|c_a|."""
        return self._sizes[1]

    @cached_property
    def slopes(self) -> Array:
        """‖∂_ic_a‖ in L²(Ω), cell by cell, ``(d, a)``."""
        shape, count = self._arrays[0].shape, len(self._modes)
        squares = np.zeros((self._dim, count))
        for block in self._blocks(self._modes):
            field = block.reshape(count, *shape[: -self._dim], -1)
            for i, h in enumerate(self._grid.spacing):
                slope = apply_along(derivative_matrix(shape[1 + i] - 1) / h, field, 2 + i).reshape(count, -1)
                squares[i] += np.einsum("kc,kc->k", slope, slope)
        return np.asarray(np.sqrt(self._grid.cell_measure * squares))

    @property
    def mean(self) -> float:
        """Size of ∫_Ω τ in L²(slab), all components together."""
        cells = prod(self._arrays[0].shape[-self._dim :])
        first = [a.reshape(len(a), -1, cells)[:, 0].sum(axis=1) for a in self._arrays]
        means = self._grid.cell_measure * (self._defect @ np.stack(first))
        return float(np.sqrt(self._duration) * np.linalg.norm(means))


def peaks(shape: tuple[int, ...], dim: int) -> Array:
    """Largest values Π√(2k_i + 1) of the basis functions, shaped like the modes ``(m, p_1, …, p_d)``."""
    result = np.ones(shape)
    for i in range(dim):
        axis = len(shape) - dim + i
        heights = np.sqrt(2.0 * np.arange(shape[axis]) + 1.0)
        result *= heights.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    return result


@dataclass(frozen=True, eq=False)
class InterpolationError:
    """Errors of one slab's Hermite interpolation I for functions of time alone.

    Parameters
    ----------
    time
        Slab.
    nodes
        Node times.
    value_modes
        Node data to modes in time.
    """

    time: Slab
    nodes: Array
    value_modes: Array

    @cached_property
    def smooth(self) -> float:
        """C with |f − If| ≤ C sup|f^{(2k)}|: max Π(t − t_n)²/(2k)! on the slab, bounded factor by factor."""
        start, stop = self.time.start, self.time.stop
        log = 2.0 * np.log(0.25 * (stop - start) ** 2)
        for t in self.nodes:
            if t not in (start, stop):
                log += 2.0 * np.log(max(abs(t - start), abs(t - stop)))
        return float(np.exp(log - np.log(np.arange(1.0, 2 * len(self.nodes) + 1)).sum()))

    @cached_property
    def products(self) -> Array:
        """‖(id − I)(L_a L_b)‖ in L²(0, 1), zero for a + b < 2k."""
        degree = len(self.value_modes) - 1
        local = (self.nodes - self.time.start) / self.time.duration
        values, slopes = (legendre_values(degree, local, k) for k in range(2))
        data = np.empty((len(self.value_modes), degree + 1, degree + 1))
        data[0::2] = values[:, :, None] * values[:, None, :]
        mixed = slopes[:, :, None] * values[:, None, :]
        data[1::2] = (mixed + mixed.transpose(0, 2, 1)) / self.time.duration
        points, weights = gauss(2 * degree + 1)
        basis = legendre_values(degree, points)
        gap = basis[:, :, None] * basis[:, None, :] - np.tensordot(basis @ self.value_modes, data, 1)
        a, b = np.indices(gap.shape[1:])
        return np.where(a + b > degree, np.sqrt(np.tensordot(weights, gap**2, 1)), 0.0)
