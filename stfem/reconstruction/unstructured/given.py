"""Values that a problem gives on the boundary, as reconstructions need them (T5)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stfem.data import Data
from stfem.equations import ScalarConservationLaw
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.problems import Box, Domain, Problem
from stfem.problems.bounded import BoundaryPart, boundary_parts
from stfem.problems.states import state_range
from stfem.semidiscretization.unstructured.boundary import FixedInTime
from stfem.semidiscretization.unstructured.diffusion import cell_diffusion
from stfem.spaces.continuous import ContinuousSpace

__all__ = ["BoundaryValues", "NodeValues", "boundary_values", "cells_near", "parts_of"]

#: Order of the quadrature on facets at whose points a flow is looked at.
_INFLOW_ORDER = 8


@dataclass(frozen=True, eq=False)
class BoundaryValues:
    """Facets where u is given, with the data.

    Attributes
    ----------
    parts
        Facets and data of every boundary.
    final_time
        Data are not asked for beyond it.
    """

    parts: Sequence[tuple[Index, Data]]
    final_time: float | None = None

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
            self._parts.append((place, FixedInTime((data,), space.points[:, members], values.final_time)))

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
        A scalar problem and the mesh of its domain.
    lifted
        Names of boundaries to leave out, because layers take care of them.

    Without diffusion a value counts only where the flow enters (it is kept everywhere where the flow changes
    with time; no harm is done where it leaves), for a nonlinear flux with any of the states that u can take.

    Raises
    ------
    ValueError
        For layers beside a nonlinear flux.
    """
    equation = problem.equation
    if lifted and not equation.linear:
        raise ValueError(f"lifted: expected no boundaries for a nonlinear equation, got {sorted(lifted)}")
    steady = not (equation.linear and any(b.time_dependent for b in equation.velocity))
    diffuses = bool(np.any(cell_diffusion(equation, mesh)))
    entries = []
    for part in parts_of(problem, mesh):
        if part.name in lifted or not part.condition.trace:
            continue
        facets = part.facets
        if not diffuses and steady:
            facets = facets[_enters(problem, mesh, facets)]
        entries.append((facets, part.condition.data(mesh.dim, 1, part.name)[0]))
    return BoundaryValues(entries, problem.final_time)


def _enters(problem: Problem, mesh: UnstructuredMesh, facets: Index) -> NDArray[np.bool_]:
    """Whether the flow enters somewhere on a facet, at the start or, where f = f(u), for a state of u."""
    equation = problem.equation
    middle = mesh.reference.on_facet.quadrature(_INFLOW_ORDER)[0]
    normals, x = mesh.facet_normals(middle, facets)[0], mesh.facet_points(middle, facets)
    if isinstance(equation, ScalarConservationLaw):
        speed = equation.normal_speeds(*state_range(problem, mesh).until(problem.final_time), normals)[0]
    else:
        speed = (np.stack([b(x, 0.0) for b in equation.velocity]) * normals).sum(axis=0)
    return np.asarray((speed < 0.0).any(axis=0))


def parts_of(problem: Problem, mesh: UnstructuredMesh) -> tuple[BoundaryPart, ...]:
    """The conditions of a problem on a mesh of its domain; none on a torus."""
    domain = problem.domain
    return boundary_parts(mesh, domain.boundary) if isinstance(domain, (Box, Domain)) else ()


def cells_near(mesh: UnstructuredMesh, facets: Index, layers: int) -> Index:
    """Cells that share a vertex with some facets, and so many layers in all of cells that touch these."""
    linear = ContinuousSpace(mesh, 1)
    reached, cells = linear.nodes_on(facets), np.zeros(0, dtype=np.intp)
    for _ in range(layers):
        cells = np.flatnonzero(np.isin(linear.nodes, reached).any(axis=0))
        reached = np.unique(linear.nodes[:, cells])
    return cells
