"""Traces on all facets at once, and back: the two index maps of an explicit right-hand side."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from stfem.meshes.facets import Index
from stfem.spaces.broken import Array, BrokenSpace

__all__ = ["FacetTraces"]


class FacetTraces:
    """Values of both sides at the quadrature points of all facets, and moments of facet values.

    All cells are evaluated on all their sides by one matrix product; the values lie side by side in one array
    ``(m, sides, Q, C)``, from which each facet gathers its own, turned as the facet asks.

    Parameters
    ----------
    space
        The space.
    order
        Polynomial degree that the quadrature on facets integrates exactly.

    Attributes
    ----------
    parameters, weights
        Quadrature ``(d − 1, Q)`` and ``(Q,)`` on the parameter cell.
    """

    def __init__(self, space: BrokenSpace, order: int) -> None:
        self.space = space
        reference = space.mesh.reference
        self.parameters, self.weights = reference.on_facet.quadrature(order)
        points = [reference.facet_points(f, self.parameters) for f in range(len(reference.facets))]
        self.table = space.basis.values(np.concatenate(points, axis=1))
        self._lift = np.ascontiguousarray((self.table * np.tile(self.weights, len(points))[:, None]).T)

    @property
    def count(self) -> int:
        """Number of quadrature points Q per facet."""
        return len(self.weights)

    @cached_property
    def sides(self) -> tuple[Index, Index]:
        """Positions in ``(sides, Q, C)`` of the minus values ``(Q, F)``, plus values ``(Q, interior F)``."""
        facets, reference = self.space.mesh.facets, self.space.mesh.reference
        inner = facets.interior
        points = np.arange(self.count)[:, None]
        minus = (facets.local[0] * self.count + points) * self.space.mesh.size + facets.cells[0]
        turned = np.empty((self.count, inner), dtype=np.intp)
        for orientation in np.unique(facets.orientation[:inner]):
            where = np.flatnonzero(facets.orientation[:inner] == orientation)
            turned[:, where] = reference.turned_points(self.parameters, int(orientation))[:, None]
        plus = (facets.local[1, :inner] * self.count + turned) * self.space.mesh.size
        return minus, plus + facets.cells[1, :inner]

    @cached_property
    def _back(self) -> tuple[Index, Array]:
        """Positions in ``(Q, F)`` of the values on the sides of cells, and their signs ``(sides, 1, C)``."""
        facets, mesh = self.space.mesh.facets, self.space.mesh
        count = len(mesh.reference.facets) * self.count * mesh.size
        back = np.empty(count, dtype=np.intp)
        sign = np.empty(count)
        places = np.arange(self.count * facets.count).reshape(self.count, facets.count)
        minus, plus = self.sides
        back[plus], sign[plus] = places[:, : facets.interior], -1.0
        back[minus], sign[minus] = places, 1.0
        shape = (len(mesh.reference.facets), self.count, mesh.size)
        return back, np.ascontiguousarray(sign.reshape(shape)[:, :1])

    @cached_property
    def across(self) -> Index:
        """Positions in ``(sides, Q, C)`` of the value on the other side of the facet, ``(sides · Q · C,)``.

        On the boundary it is the value itself.
        """
        minus, plus = self.sides
        across = np.arange(len(self.space.mesh.reference.facets) * self.count * self.space.mesh.size)
        across[minus[:, : plus.shape[1]]] = plus
        across[plus] = minus[:, : plus.shape[1]]
        return across

    def all_sides(self, u: Array) -> Array:
        """u on all sides of all cells: ``(m, sides · Q · C)``."""
        values = self.table @ self.space.to_reference(u)
        return np.asarray(values.reshape(len(u), -1))

    def minus(self, sides: Array, facets: slice | Index = slice(None)) -> Array:
        """Values ``(m, Q, F)`` seen from the minus cells, from those of `all_sides`."""
        return np.asarray(sides[:, self.sides[0][:, facets]])

    def plus(self, sides: Array, facets: slice = slice(None)) -> Array:
        """Values ``(m, Q, F)`` of interior facets seen from the plus cells."""
        return np.asarray(sides[:, self.sides[1][:, facets]])

    def side_moments(self, values: Array) -> Array:
        """Σ_sides ∫ values φ d(parameter) of values ``(m, sides, Q, C)``: array ``(m, modes, C)``."""
        moments = self._lift @ values.reshape(len(values), -1, self.space.mesh.size)
        return self.space.from_moments(moments)

    def jump_moments(self, values: Array) -> Array:
        """(1/|K|) Σ_F ± ∫_F values φ, plus on the minus side of a facet: ``(m, modes, C)``.

        ``values`` ``(m, Q, F)`` hold the factor ds/d(parameter) already.
        """
        back, sign = self._back
        mesh = self.space.mesh
        gathered = values.reshape(len(values), -1)[:, back].reshape(
            len(values), *sign.shape[:1], -1, mesh.size
        )
        gathered *= sign / mesh.cell_measures
        return self.side_moments(gathered)
