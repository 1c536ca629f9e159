"""What interpolation in time leaves between the nodes, from unfiltered node data alone (T2, T4.6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from stfem.data import Slab
from stfem.meshes.grid import TensorGrid
from stfem.reconstruction import ReconstructedSlab, RowReconstruction
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array, apply_along

#: Cells combined at once, to stay in the cache;
_CELLS = 500
#: combinations filtered together, and rows of cells at once (their neighbours are needed as well).
_GROUP, _ROWS = 4, 32
#: Modes in time of the rate whose size is told.
_RATES = 3


class TimeDefect:
    """Time modes c_a of the interpolant U^t of the scheme's values, and the defect τ of its rate.

    U^t(t) = Σ_a c_a L_a(s), L_a the orthonormal Legendre polynomials of the slab, s ∈ [0, 1];
    τ = dU^t/dt − I(F_n, A_n), I the Hermite interpolation of U^t applied to the rates and their derivatives.

    Parameters
    ----------
    slab
        Reconstructed slab; its nodes carry accelerations.
    grid
        Grid of the scheme.
    products
        Whether the modes c_a are wanted, or τ alone.
    filter
        A reconstruction S, for the modes C_a = S c_a and for S τ instead.
    """

    def __init__(
        self,
        slab: ReconstructedSlab,
        grid: TensorGrid,
        products: bool,
        filter: RowReconstruction | None = None,
    ) -> None:
        self._duration, self._dim = slab.time.duration, grid.dim
        self._arrays = [
            array
            for node in (entry.node for entry in slab.nodes)
            for array in (node.values, node.rate, node.acceleration)
            if array is not None
        ]
        self._filter, self._scheme = filter, grid
        self._grid = grid if filter is None else filter.grid
        value, rate = slab.value_modes, slab.rate_modes
        self._modes, self._defect = np.zeros((2, len(value), len(self._arrays)))
        self._modes[:, 0::3], self._modes[:, 1::3] = value[:, 0::2], value[:, 1::2]
        self._defect[:, 0::3] = rate[:, 0::2]
        self._defect[:, 1::3] = rate[:, 1::2] - value[:, 0::2]
        self._defect[:, 2::3] = -value[:, 1::2]
        self._modes = self._modes if products else self._modes[:0]
        self._rates = np.zeros((_RATES, len(self._arrays)))
        self._rates[:, 0::3], self._rates[:, 1::3] = rate[:_RATES, 0::2], rate[:_RATES, 1::2]

    def _combined(self, weights: Array) -> Iterator[tuple[slice, Array]]:
        """Combinations of the node data on some cells: which, and ``(rows, m, p_1, …, p_d, cells)``."""
        shape = self._arrays[0].shape[: -self._dim]
        flat = [array.reshape(*shape, -1) for array in self._arrays]
        for first in range(0, flat[0].shape[-1], _CELLS):
            block = np.stack([array[..., first : first + _CELLS] for array in flat])
            combined = weights @ block.reshape(len(block), -1)
            yield slice(first, first + _CELLS), combined.reshape(len(weights), *shape, -1)

    def _blocks(self, weights: Array) -> Iterator[tuple[slice, Array]]:
        """Which of the combinations, and their values, or filtered values, on some cells."""
        if self._filter is None:
            yield from ((slice(len(weights)), block) for _, block in self._combined(weights))
            return
        shape = self._arrays[0].shape
        for start in range(0, len(weights), _GROUP):
            which = slice(start, min(start + _GROUP, len(weights)))
            fields = np.empty((which.stop - start, *shape[: -self._dim], prod(shape[-self._dim :])))
            for cells, block in self._combined(weights[which]):
                fields[..., cells] = block
            fields = fields.reshape(-1, *shape)
            for first in range(0, shape[-self._dim], _ROWS):
                rows = slice(first, min(first + _ROWS, shape[-self._dim]))
                block = np.stack([self._filter.field(field, rows) for field in fields])
                yield which, block.reshape(*block.shape[: -self._dim], -1)

    @cached_property
    def _measured(self) -> tuple[Array, Array, Array]:
        """Norms of all combinations in L²(Ω), suprema and slopes of those of U^t."""
        count = len(self._modes)
        squares, sups, slopes = np.zeros(count), np.zeros(count), np.zeros((self._dim, count))
        for which, block in self._blocks(self._modes) if count else ():
            squares[which] += _squares(block)
            if self._filter is not None:
                for i, h in enumerate(self._grid.spacing):
                    derivative = derivative_matrix(block.shape[2 + i] - 1) / h
                    slopes[i, which] += _squares(apply_along(derivative, block, 2 + i))
            heights = peaks(block.shape[1:-1], self._dim).ravel()
            size = np.abs(block, out=block).reshape(len(block), len(heights), -1)
            sups[which] = np.maximum(sups[which], (heights @ size).max(axis=1))
        measure = self._grid.cell_measure
        return np.sqrt(measure * squares), sups, np.sqrt(measure * slopes)

    @cached_property
    def _defects(self) -> Array:
        """Norms in L²(slab × Ω) of the modes of τ, and without a filter of the first ones of dU^t/dt."""
        weights = self._defect if self._filter else np.concatenate([self._defect, self._rates])
        squares = np.zeros(len(weights))
        for which, block in self._blocks(weights):
            squares[which] += _squares(block)
        return np.sqrt(self._duration * self._grid.cell_measure * squares)

    @property
    def rate(self) -> float:
        """‖τ‖ in L²(slab × Ω)."""
        return float(np.linalg.norm(self._defects[: len(self._defect)]))

    @property
    def rates(self) -> Array:
        """Norms in L²(slab × Ω) of the first modes in time of dU^t/dt, not filtered."""
        return np.asarray(self._defects[len(self._defect) :])

    @property
    def sizes(self) -> Array:
        """‖c_a‖ in L²(Ω), a = 0, 1, …"""
        return self._measured[0]

    @property
    def sups(self) -> Array:
        """Bounds of sup|c_a|."""
        return self._measured[1]

    @property
    def slopes(self) -> Array:
        """‖∂_iC_a‖ in L²(Ω), ``(d, a)``, of filtered modes."""
        return self._measured[2]

    @property
    def mean(self) -> float:
        """Size of ∫_Ω τ in L²(slab), all components together; S keeps it."""
        size = self._scheme.size
        first = [array.reshape(len(array), -1, size)[:, 0].sum(axis=1) for array in self._arrays]
        means = self._scheme.cell_measure * (self._defect @ np.stack(first))
        return float(np.sqrt(self._duration) * np.linalg.norm(means))


def _squares(block: Array) -> Array:
    """Sums of squares of the rows of a block."""
    flat = block.reshape(len(block), -1)
    return np.asarray(np.einsum("kc,kc->k", flat, flat))


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
        """C with |f − If| ≤ C sup|f^{(2k)}| on the slab: max Π(t − t_n)²/(2k)!, bounded factor by factor.

        The supremum is over the whole stencil, from its first node to its last.
        """
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
