"""Filtered fields of arXiv 2604.01200 at Gauss points."""

from __future__ import annotations

import numpy as np

from stfem.meshes.grid import TensorGrid
from stfem.reconstruction import NodeReconstruction, filter_stencil
from stfem.spaces.legendre import legendre_values
from stfem.spaces.stencil import Array, Stencil, apply_term, mode_axis
from stfem.timestepping import Node

__all__ = ["PaperFields", "point_stencil"]


class PaperFields:
    """Values of û, ∂_iû, d_i and Δ_h (see `PaperEstimator`) at tensor-product points.

    Parameters
    ----------
    grid, degree
        Grid and polynomial degree q of u_h.
    abscissae
        Points in [0, 1] per direction and cell.
    """

    def __init__(self, grid: TensorGrid, degree: int, abscissae: Array) -> None:
        self.dim = grid.dim
        self._plain = point_stencil(degree, degree + 1, 0, abscissae)
        kinds = ((degree + 1, 0), (degree + 1, 1), (degree + 2, 1), (degree + 3, 2))
        self._stacked = [
            _stacked([point_stencil(degree, order, k, abscissae).scaled(h**-k) for order, k in kinds])
            for h in grid.spacing
        ]

    def at_node(self, node: Node) -> NodeReconstruction:
        """``state`` of shape ``(2, 2d + 2, m, P…, N…)``.

        û, ∂_1û …, d_1 …, Δ_h of (U_n, F_n), point values.
        """
        return NodeReconstruction(node, self._fields, lambda pair: ())

    def _fields(self, pair: Array) -> Array:
        slopes, fluxes, laplacian = [], [], np.zeros(1)
        for i in range(self.dim):
            term = tuple((j, self._stacked[i] if j == i else self._plain) for j in range(self.dim))
            both = apply_term(term, pair, self.dim)
            value, slope, flux, second = np.split(both, 4, axis=mode_axis(both, i, self.dim))
            slopes.append(slope)
            fluxes.append(flux)
            laplacian = laplacian + second
        return np.stack([value, *slopes, *fluxes, laplacian], axis=1)


def point_stencil(degree: int, order: int, derivative: int, points: Array) -> Stencil:
    """∂^k K^{(ℓ)} * u_h in one direction on unit cells, at points of [0, 1] in each cell."""
    modal = filter_stencil(degree, order, degree)
    rows = modal.matrices.shape[1] // modal.pieces
    scaled = points * modal.pieces
    piece = np.minimum(scaled.astype(int), modal.pieces - 1)
    local = legendre_values(rows - 1, scaled - piece, derivative) * float(modal.pieces**derivative)
    evaluation = np.zeros((len(points), rows * modal.pieces))
    for k, start in enumerate(piece * rows):
        evaluation[k, start : start + rows] = local[k]
    return Stencil(modal.shifts, evaluation @ modal.matrices)


def _stacked(stencils: list[Stencil]) -> Stencil:
    """One stencil whose rows are those of all (all centred)."""
    width = max(stencil.shifts[-1] for stencil in stencils)
    blocks = []
    for stencil in stencils:
        margin = width - stencil.shifts[-1]
        blocks.append(np.pad(stencil.matrices, ((margin, margin), (0, 0), (0, 0))))
    return Stencil(tuple(range(-width, width + 1)), np.concatenate(blocks, axis=1))
