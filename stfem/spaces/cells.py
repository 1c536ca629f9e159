"""Quadrature in the cells of a discontinuous space: values at points, and moments back."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from stfem.spaces.broken import Array, BrokenSpace

__all__ = ["CellRule"]


class CellRule:
    """One quadrature rule in all cells.

    Parameters
    ----------
    space
        The space.
    order
        Polynomial degree that the rule integrates exactly on the reference cell.

    Attributes
    ----------
    points, weights
        Reference points ``(d, Q)`` and weights ``(Q,)``.
    """

    def __init__(self, space: BrokenSpace, order: int) -> None:
        self.space = space
        self.points, self.weights = space.mesh.reference.quadrature(order)
        self.values_table = space.basis.values(self.points)
        self.gradients_table = space.basis.gradients(self.points)
        self._test = np.ascontiguousarray((self.values_table * self.weights[:, None]).T)
        weighted = self.gradients_table * self.weights[:, None]  # (d, Q, modes)
        self._test_gradient = np.ascontiguousarray(weighted.transpose(2, 0, 1).reshape(space.modes, -1))

    @cached_property
    def x(self) -> Array:
        """Physical points ``(d, Q, C)``, read-only."""
        points = self.space.mesh.points(self.points)
        points.flags.writeable = False
        return points

    @cached_property
    def density(self) -> Array:
        """|det J| / |K|, ``(P, C)``: the mean over a cell is Σ_q weights · density · values."""
        return np.asarray(self.space.mesh.cell_map(self.points).determinant / self.space.mesh.cell_measures)

    @cached_property
    def pull_back(self) -> Array:
        """J^{-1} |det J| / |K| ``(d, d, P, C)``: from a flux to that on the reference cell."""
        return np.asarray(self.space.mesh.cell_map(self.points).inverse * self.density)

    def values(self, u: Array, cells: slice = slice(None)) -> Array:
        """u ``(m, Q, C)`` in some cells, u of just these."""
        return np.asarray(self.values_table @ self.space.to_reference(u, cells))

    def moments(self, values: Array) -> Array:
        """(1/|K|) ∫_K values φ: ``(m, modes, C)``."""
        return self.space.from_moments(self._test @ (values * self.density))

    def gradient_moments(self, fluxes: Array, cells: slice = slice(None)) -> Array:
        """(1/|K|) ∫_K flux·∇φ in some cells, of fluxes pulled back ``(m, d, Q, C)``: ``(m, modes, C)``."""
        flat = fluxes.reshape(len(fluxes), -1, fluxes.shape[-1])
        return self.space.from_moments(self._test_gradient @ flat, cells)
