"""What interpolation in time leaves between the nodes, from unfiltered node data alone (T2, T4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.blas import daxpy

from stfem.data import Slab
from stfem.meshes.grid import TensorGrid
from stfem.reconstruction import ReconstructedSlab, RowReconstruction
from stfem.spaces.legendre import gauss, legendre_values
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import mode_heights

#: Cells combined at once, to stay in the cache.
_CELLS = 500
#: Values of one field added up at once, likewise.
_VALUES = 1 << 14
#: Modes in time of the rate whose size is told.
_RATES = 3


@dataclass(frozen=True, eq=False)
class ModeSizes:
    """Bounds for the modes in time C_a of û, a = 0, 1, …

    Attributes
    ----------
    sups
        sup|C_a|.
    slopes, sup_slopes
        ‖∂_iC_a‖ in L²(Ω) and sup|∂_iC_a|, ``(a, d)``.
    """

    sups: Array
    slopes: Array
    sup_slopes: Array


class TimeDefect:
    """Time modes C_a = S c_a of û, and the defect τ of the rate of the scheme's values interpolated in time.

    The interpolant is U^t(t) = Σ_a c_a L_a(s), L_a the orthonormal Legendre polynomials of s ∈ [0, 1] on the
    slab; τ = dU^t/dt − I(F_n, A_n), I the Hermite interpolation of U^t for rates and their derivatives.
    I reproduces dU^t/dt, which has the values F_n at the nodes; so τ is the interpolant of vanishing values
    and the derivatives d²U^t/dt²(t_n) − A_n, and has as many independent modes in time as there are nodes.

    Parameters
    ----------
    slab
        Reconstructed slab; its nodes carry accelerations.
    grid
        Grid of the scheme.
    filter
        S, where it is one filter for all times.
    """

    def __init__(
        self, slab: ReconstructedSlab, grid: TensorGrid, filter: RowReconstruction | None = None
    ) -> None:
        self._duration, self._grid, self._given = slab.time.duration, grid, filter
        self._measured: set[int] = set()  # modes in time whose bounds are close
        self._arrays = [
            array
            for node in (entry.node for entry in slab.nodes)
            for array in (node.values, node.rate, node.acceleration)
            if array is not None
        ]
        value, rate = slab.value_modes, slab.rate_modes
        self._modes, defect = np.zeros((2, len(value), len(self._arrays)))
        self._modes[:, 0::3], self._modes[:, 1::3] = value[:, 0::2], value[:, 1::2]
        defect[:, 0::3] = rate[:, 0::2]
        defect[:, 1::3] = rate[:, 1::2] - value[:, 0::2]
        defect[:, 2::3] = -value[:, 1::2]
        independent, _ = np.linalg.qr(value[:, 1::2])
        self._defect = independent.T @ defect
        self._rates = np.zeros((_RATES, len(self._arrays)))
        self._rates[:, 0::3], self._rates[:, 1::3] = rate[:_RATES, 0::2], rate[:_RATES, 1::2]

    def _combined(self, weights: Array) -> Iterator[tuple[slice, Array]]:
        """Combinations of the node data on some cells: which, and ``(rows, m p_1 ⋯ p_d, cells)``."""
        flat = [array.reshape(-1, self._grid.size) for array in self._arrays]
        for first in range(0, self._grid.size, _CELLS):
            cells = slice(first, first + _CELLS)
            block = np.stack([array[:, cells] for array in flat])
            combined = weights @ block.reshape(len(block), -1)
            yield cells, combined.reshape(len(weights), *block.shape[1:])

    def _fields(self, weights: Array) -> Iterator[Array]:
        """The same, one combination after the other on all cells."""
        flat = [array.reshape(-1) for array in self._arrays]
        for row in weights.tolist():
            field = np.zeros(flat[0].shape)
            for start in range(0, len(field), _VALUES):
                part = slice(start, start + _VALUES)
                for weight, array in zip(row, flat, strict=True):
                    daxpy(array[part], field[part], a=weight)
            yield field.reshape(self._arrays[0].shape)

    @property
    def _filter(self) -> RowReconstruction:
        if self._given is None:
            raise ValueError("filter: expected a reconstruction, got None")
        return self._given

    @cached_property
    def _sizes(self) -> Array:
        """Norms in L²(slab × Ω) of the modes of τ, and of the first ones of dU^t/dt."""
        weights = np.concatenate([self._defect, self._rates])
        squares = np.zeros(len(weights))
        for _, block in self._combined(weights):
            squares += _squares(block)
        return np.sqrt(self._duration * self._grid.cell_measure * squares)

    @property
    def rate(self) -> float:
        """‖τ‖ in L²(slab × Ω)."""
        return float(np.linalg.norm(self._sizes[: len(self._defect)]))

    @property
    def rates(self) -> Array:
        """Norms in L²(slab × Ω) of the first modes in time of dU^t/dt, not filtered."""
        return np.asarray(self._sizes[len(self._defect) :])

    @cached_property
    def filtered_rate(self) -> float:
        """‖S τ‖ in L²(slab × Ω)."""
        sizes = [self._filter.symbol.measure(field)[0][0] for field in self._fields(self._defect)]
        return float(np.sqrt(self._duration) * np.linalg.norm(sizes))

    @cached_property
    def modes(self) -> ModeSizes:
        """Bounds for C_a from the sizes of c_a and the operator norms of S; `measure` makes them closer."""
        norms, dim = self._filter.norms, self._grid.dim
        heights = mode_heights(self._arrays[0].shape[1 : 1 + dim]).ravel()
        squares, sups = np.zeros((2, len(self._modes)))
        for _, block in self._combined(self._modes):
            squares += _squares(block)
            size = np.abs(block, out=block).reshape(len(block), -1, len(heights), block.shape[-1])
            np.maximum(sups, (heights @ size).max(axis=(1, 2)), out=sups)
        sizes = np.sqrt(self._grid.cell_measure * squares)
        return ModeSizes(norms.sup * sups, np.outer(sizes, norms.slope), np.outer(sups, norms.sup_slope))

    def measure(self, modes: Sequence[int]) -> None:
        """Make the bounds for some C_a close, where they are not."""
        wanted, bounds = (None, *range(self._grid.dim)), self.modes
        missing = [a for a in modes if a not in self._measured]
        for a, field in zip(missing, self._fields(self._modes[missing]), strict=True):
            sizes, sups = self._filter.symbol.measure(field, wanted)
            bounds.sups[a] = min(bounds.sups[a], sups[0])
            np.minimum(bounds.slopes[a], sizes[1:], out=bounds.slopes[a])
            np.minimum(bounds.sup_slopes[a], sups[1:], out=bounds.sup_slopes[a])
        self._measured.update(missing)

    @property
    def mean(self) -> float:
        """Size of ∫_Ω τ in L²(slab), all components together; S keeps it."""
        size = self._grid.size
        first = [array.reshape(len(array), -1, size)[:, 0].sum(axis=1) for array in self._arrays]
        means = self._grid.cell_measure * (self._defect @ np.stack(first))
        return float(np.sqrt(self._duration) * np.linalg.norm(means))


def _squares(block: Array) -> Array:
    """Sums of squares of every entry."""
    flat = block.reshape(len(block), -1)
    return np.asarray(np.einsum("kc,kc->k", flat, flat))


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
