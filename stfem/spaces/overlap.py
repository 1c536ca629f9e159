"""Piecewise polynomials on two nested meshes, compared and projected exactly on the cells they share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.spaces.broken import BrokenSpace

__all__ = ["MeshOverlap"]


@dataclass(frozen=True, eq=False)
class MeshOverlap:
    """The coarsest mesh that is finer than two others: each of its n cells lies in one cell of both.

    Attributes
    ----------
    before, after
        The meshes, of simplices.
    old, new
        Their cells ``(n,)`` that hold a common cell.
    in_old, in_new
        Corners of the common cells in barycentric coordinates of these, ``(d + 1, d + 1, n)``: column k
        belongs to corner k.
    shares
        Volume of the common cells over that of the old ones ``(n,)``.
    """

    before: UnstructuredMesh
    after: UnstructuredMesh
    old: Index
    new: Index
    in_old: Array
    in_new: Array
    shares: Array

    @property
    def measures(self) -> Array:
        """Volumes of the common cells ``(n,)``."""
        return np.asarray(self.shares * self.before.cell_measures[self.old])

    @property
    def same(self) -> Index:
        """Which common cells are cells of both meshes ``(n,)``."""
        # volumes differ by powers of ½ where they do
        return np.asarray((self.shares == 1.0) & (self.measures > 0.75 * self.after.cell_measures[self.new]))

    @property
    def untouched(self) -> Index:
        """Which new cells are old ones ``(C',)``, as are all that share a vertex with them."""
        changed = np.zeros(self.after.vertices.shape[1], dtype=bool)
        changed[self.after.cells[:, self.new[~self.same]]] = True
        return np.asarray(~changed[self.after.cells].any(axis=0))

    def carried(self, values: Array) -> Array:
        """Numbers of the old cells ``(C,)``, shared out to the new ones by volume; their sum stays."""
        return self.gathered(self.shares * values[self.old])

    def gathered(self, values: Array) -> Array:
        """Numbers of the common cells ``(n,)``, added up on the new ones."""
        return np.bincount(self.new, values, self.after.size).astype(np.float64)

    def difference_sq(self, before: BrokenSpace, u: Array, after: BrokenSpace, v: Array) -> Array:
        """‖u − v‖² on every common cell ``(n,)``, exactly.

        Parameters
        ----------
        before, after
            Spaces on the meshes.
        u, v
            Coefficients ``(m, modes, C)`` in these.
        """
        points, weights = self.before.reference.quadrature(2 * max(before.degree, after.degree))
        weights = weights / weights.sum()
        result = np.empty(len(self.old))
        for here, inside, outside in self._places(points):
            left = before.basis.values(inside) @ u[:, :, self.old[here]]
            right = after.basis.values(outside) @ v[:, :, self.new[here]]
            result[here] = np.einsum("q,mqn->n", weights, (left - right) ** 2)
        return np.asarray(result * self.measures)

    def project(self, before: BrokenSpace, u: Array, after: BrokenSpace) -> Array:
        """L² projection from a space on the old mesh to one on the new mesh, exact up to round-off.

        Parameters
        ----------
        before, after
            Spaces on the meshes.
        u
            Coefficients ``(m, modes, C)`` in the former.

        Returns
        -------
        Array
            Coefficients ``(m, modes', C')`` in the latter; their integral is that of u.
        """
        points, weights = self.before.reference.quadrature(before.degree + after.degree)
        weights = weights / weights.sum()
        shares = self.measures / self.after.cell_measures[self.new]
        result = np.zeros((len(u), after.modes, self.after.size))
        for here, inside, outside in self._places(points):
            table = (after.basis.values(outside) * weights[:, None]).T @ before.basis.values(inside)
            # of different new cells: what of one lies alike in one old cell is the same
            result[:, :, self.new[here]] += (table @ u[:, :, self.old[here]]) * shares[here]
        return result

    def _places(self, points: Array) -> Iterator[tuple[Index, Array, Array]]:
        """Common cells that lie alike, and points of theirs in reference coordinates of old and new cells."""
        reference, count = self.before.reference, len(self.old)
        both = np.concatenate([self.in_old.reshape(-1, count), self.in_new.reshape(-1, count)])
        kinds, kind = np.unique(both, axis=1, return_inverse=True)
        width, shapes = len(self.in_old), reference.shape_values(points)
        order = np.argsort(kind.ravel(), kind="stable")
        ends = np.searchsorted(kind.ravel()[order], np.arange(kinds.shape[1] + 1))
        for k, place in enumerate(kinds.T.reshape(-1, 2, width, width)):
            inside, outside = (reference.vertices @ corners @ shapes for corners in place)
            yield order[ends[k] : ends[k + 1]], inside, outside
