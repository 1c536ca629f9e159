"""SIAC reconstruction with the filtered-gradient flux of arXiv 2604.01200 (T3.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stfem.reconstruction.kernel import filter_stencil
from stfem.reconstruction.node import NodeReconstruction
from stfem.reconstruction.siac import check_order
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array, Stencil, apply_term
from stfem.spaces.tensor import refined
from stfem.timestepping import Node


@dataclass(frozen=True)
class SiacFilteredGradient:
    """û = K^{(ℓ)} * u_h and d̃_i = Σ_j D_ij ∂_jK_j^{(ℓ+1)} * u_h instead of the filtered scheme flux.

    K_j^{(ℓ+1)} has splines of order ℓ + 1 in direction j and ℓ in the others, so that ∂_jK_j^{(ℓ+1)} is again
    made of splines of order ℓ. The estimator takes the divergence of this very flux, so that the bound stays
    guaranteed. Both orders live on half cells; û is of degree q + ℓ there.

    Parameters
    ----------
    order
        Spline order ℓ, from 2 to 20. Default q + 1 as in the paper, at least 2.

    Raises
    ------
    ValueError, TypeError
        For another order, see `Siac`.

    References
    ----------
    Giesselmann, Kwon, Krumscheid (2026), arXiv 2604.01200.
    """

    order: int | None = None

    def __post_init__(self) -> None:
        check_order(self.order)

    def bind(self, semidiscretization: Semidiscretization) -> BoundFilteredGradient:
        """Filter matrices for one grid and degree."""
        order = self.order if self.order is not None else max(2, semidiscretization.degree + 1)
        return BoundFilteredGradient(semidiscretization, order)


class BoundFilteredGradient:
    """Filter operators of `SiacFilteredGradient` on one grid."""

    def __init__(self, semidiscretization: Semidiscretization, order: int) -> None:
        q, grid = semidiscretization.degree, semidiscretization.grid
        equation = semidiscretization.problem.equation
        self._dim = grid.dim
        self.order, self.degree = order, q + order
        self.grid = refined(grid, 2)
        self._filter = on_half_cells(filter_stencil(q, order, q))
        smoother = on_half_cells(filter_stencil(q, order + 1, q))
        slope = derivative_matrix(self.degree + 1)[:-1]
        self._slopes = [
            _per_piece(slope / h, smoother) for h in self.grid.spacing
        ]  # ∂_i K_i^{(ℓ+1)}: one degree is lost, so that all directions have degree q + ℓ
        self._matrix = equation.diffusion
        self._diffused = [c for c, weight in enumerate(equation.diffused) if weight]
        self._has_flux = semidiscretization.has_diffusion

    def field(self, u: Array, rows: slice | None = None) -> Array:
        """û = K^{(ℓ)} * u_h, modes of degree q + ℓ on half cells, for any array ``(…, q+1, …, N…)``.

        On all cells, or on the halves of some rows of cells.
        """
        return apply_term(tuple((i, self._filter) for i in range(self._dim)), u, self._dim, rows)

    def flux(self, u: Array, rows: slice | None = None) -> tuple[Array, ...]:
        """d̃ of the diffusing components of ``(…, m, q+1, …, N…)``, one array per direction."""
        if not self._has_flux:
            return ()
        chosen = np.take(u, self._diffused, axis=u.ndim - 2 * self._dim - 1)
        gradient = [
            apply_term(
                tuple((j, self._slopes[j] if j == i else self._filter) for j in range(self._dim)),
                chosen,
                self._dim,
                rows,
            )
            for i in range(self._dim)
        ]
        return tuple(
            np.asarray(sum(d * g for d, g in zip(row, gradient, strict=True))) for row in self._matrix
        )

    def at_node(self, node: Node) -> NodeReconstruction:
        """û_n, ∂_tû_n and the filtered gradients of both."""
        return NodeReconstruction(node, self.field, self.flux, by_rows=True)


def on_half_cells(stencil: Stencil) -> Stencil:
    """The same map with its result in modes on the two halves of every cell."""
    if stencil.pieces == 2:
        return stencil
    degree = stencil.matrices.shape[1] - 1
    points, weights = gauss(degree + 1)
    test = (legendre_values(degree, points) * weights[:, None]).T
    halves = np.concatenate([test @ legendre_values(degree, 0.5 * (piece + points)) for piece in range(2)])
    return Stencil(stencil.shifts, halves @ stencil.matrices, 2)


def _per_piece(matrix: Array, stencil: Stencil) -> Stencil:
    """A matrix applied to the modes of every piece of the result."""
    blocks = np.split(stencil.matrices, stencil.pieces, axis=1)
    return Stencil(stencil.shifts, np.concatenate([matrix @ b for b in blocks], axis=1), stencil.pieces)
