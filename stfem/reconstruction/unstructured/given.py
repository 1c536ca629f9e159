"""Values that a problem gives on the boundary, as reconstructions need them (T5)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from stfem.data import Data
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.problems import Box, Domain, Problem
from stfem.problems.bounded import BoundaryPart, boundary_parts
from stfem.semidiscretization.unstructured.boundary import FixedInTime
from stfem.semidiscretization.unstructured.diffusion import cell_diffusion
from stfem.spaces.continuous import ContinuousSpace

__all__ = ["BoundaryValues", "NodeValues", "boundary_values", "parts_of"]

#: Order of the quadrature on facets at whose points a flow is looked at.
_INFLOW_ORDER = 8


@dataclass(frozen=True, eq=False)
class BoundaryValues:
    """Facets where u is given, with the data.

    Attributes
    ----------
    parts
        Facets and data of every boundary.
    """

    parts: Sequence[tuple[Index, Data]]

    @property
    def facets(self) -> Index:
        """All of these facets."""
        return np.concatenate([np.zeros(0, dtype=np.intp), *(facets for facets, _ in self.parts)])

    def at(self, space: ContinuousSpace) -> NodeValues:
        """The data at the nodes of a space."""
        return NodeValues(self, space)


class NodeValues:
    """Given values at the nodes on the boundary; where two boundaries meet, those of the later one.

    Attributes
    ----------
    nodes
        Numbers of the nodes, sorted.
    """

    def __init__(self, values: BoundaryValues, space: ContinuousSpace) -> None:
        self.nodes = space.nodes_on(values.facets)
        self._parts = []
        for facets, data in values.parts:
            members = space.nodes_on(facets)
            place = np.searchsorted(self.nodes, members)
            self._parts.append((place, FixedInTime((data,), space.points[:, members])))

    def __call__(self, t: float, rate: bool = False) -> Array:
        """Values ``(1, nodes)``, or their rates of change."""
        result = np.zeros((1, len(self.nodes)))
        for place, values in self._parts:
            result[:, place] = values(t, rate)
        return result


def boundary_values(problem: Problem, mesh: UnstructuredMesh, lifted: Collection[str] = ()) -> BoundaryValues:
    """Where û has to carry the given values.

    Parameters
    ----------
    problem, mesh
        A scalar linear problem and the mesh of its domain.
    lifted
        Names of boundaries to leave out, because layers take care of them.

    Without diffusion a value counts only where the flow enters (it is kept everywhere where the flow changes
    with time; no harm is done where it leaves).
    """
    steady = not any(b.time_dependent for b in problem.equation.velocity)
    diffuses = bool(np.any(cell_diffusion(problem.equation, mesh)))
    entries = []
    for part in parts_of(problem, mesh):
        if part.name in lifted or not part.condition.trace:
            continue
        facets = part.facets
        if not diffuses and steady:
            middle = mesh.reference.on_facet.quadrature(_INFLOW_ORDER)[0]
            normals, x = mesh.facet_normals(middle, facets)[0], mesh.facet_points(middle, facets)
            velocity = np.stack([b(x, 0.0) for b in problem.equation.velocity])
            facets = facets[((velocity * normals).sum(axis=0) < 0.0).any(axis=0)]
        entries.append((facets, part.condition.data(mesh.dim, 1, part.name)[0]))
    return BoundaryValues(entries)


def parts_of(problem: Problem, mesh: UnstructuredMesh) -> tuple[BoundaryPart, ...]:
    """The conditions of a problem on a mesh of its domain; none on a torus."""
    domain = problem.domain
    return boundary_parts(mesh, domain.boundary) if isinstance(domain, (Box, Domain)) else ()
