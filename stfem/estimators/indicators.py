"""Local error indicators (T4.7)."""

from __future__ import annotations

import numpy as np

from stfem.estimators.bound import Choice
from stfem.meshes.grid import TensorGrid
from stfem.residual import SlabNorms
from stfem.resumable import Resumable
from stfem.spaces.stencil import Array


class IndicatorSum(Resumable):
    """Accumulates η_K² = (Σ_m α_m) Σ_n α_n s_{K,n} + Σ_n β_{K,n} with Σ_K η_K² = (Σα)² + Σβ (T4.7).

    s_{K,n} is the share of cell K in ∫∫R_H² on slab n; what belongs to no cell (remainders, the mean) is
    spread evenly.

    Parameters
    ----------
    grid
        Grid of the reconstruction.
    cells
        Cells of the scheme; pieces of one cell are added up.
    """

    PAST = ("_alpha", "_hyperbolic", "_parabolic")

    def __init__(self, grid: TensorGrid, cells: tuple[int, ...]) -> None:
        self._cells, self._fine = cells, grid.cells
        self._alpha = 0.0
        self._hyperbolic = np.zeros(grid.cells)
        self._parabolic = np.zeros(grid.cells)

    def add(self, norms: SlabNorms, choice: Choice) -> None:
        """Add one slab with the member that was chosen for it."""
        self._alpha += choice.alpha
        more = choice.alpha * cell_shares(norms.hyperbolic_sq(choice.member))
        self._hyperbolic = self._hyperbolic + more  # not in place: `past` holds the array
        parabolic = self._parabolic + choice.flux_part * cell_shares(norms.parabolic_sq(choice.member))
        self._parabolic = parabolic + (choice.beta - choice.flux_part) / parabolic.size

    def total(self) -> Array:
        """η_K² per cell ``(N_1, …, N_d)``."""
        fine = self._alpha * self._hyperbolic + self._parabolic
        for axis, (count, pieces) in enumerate(zip(self._cells, self._fine, strict=True)):
            shape = (*fine.shape[:axis], count, pieces // count, *fine.shape[axis + 1 :])
            fine = fine.reshape(shape).sum(axis=axis + 1)
        return fine


def cell_shares(squares: Array) -> Array:
    """Shares of the cells in the total of their squares, equal ones where all vanish."""
    total = float(squares.sum())
    return squares / total if total > 0.0 else np.full(squares.shape, 1.0 / squares.size)
