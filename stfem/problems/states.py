"""States that the solution of a scalar conservation law can take: the maximum principle (T4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stfem.data import data_range
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.problems.bounded import Box, Domain, boundary_parts
from stfem.problems.problem import Problem

__all__ = ["StateRange", "state_range"]


@dataclass(frozen=True)
class StateRange:
    """inf(u_0, u_D) + t inf(g, 0) ≤ u(·, t) ≤ sup(u_0, u_D) + t sup(g, 0), u_D given on the boundary.

    Where u is not given, n·f' must not be negative for these states.

    Attributes
    ----------
    lower, upper
        Of the initial and the given values.
    falling, rising
        inf(g, 0) and sup(g, 0).
    unproved
        Sentences on ranges that are not proved.
    """

    lower: float
    upper: float
    falling: float
    rising: float
    unproved: tuple[str, ...]

    def until(self, t: float) -> tuple[float, float]:
        """Range of u on [0, t]."""
        return self.lower + t * self.falling, self.upper + t * self.rising


def state_range(problem: Problem, mesh: UnstructuredMesh) -> StateRange:
    """Range of u for f = f(u), c = 0 on a mesh, from the ranges of the data on its cells and facets."""
    final, start, source = problem.final_time, problem.initial[0], problem.source[0]
    cells = _boxes(mesh.points(mesh.reference.vertices))
    ranges, used = [data_range(start, *cells)], [start, source]
    domain = problem.domain
    parts = boundary_parts(mesh, domain.boundary) if isinstance(domain, (Box, Domain)) else ()
    for part in parts:
        if part.condition.trace and len(part.facets):
            given = part.condition.data(mesh.dim, 1, part.name)[0]
            facets = _boxes(mesh.facet_points(mesh.reference.on_facet.vertices, part.facets))
            ranges.append(data_range(given, *facets, 0.0, final))
            used.append(given)
    lower, upper = np.array(ranges).T
    falling, rising = data_range(source, *cells, 0.0, final)
    sampled = any(datum.assumption is not None for datum in used)
    sentence = "range of the solution from values of the data at points, not proved"
    return StateRange(
        float(lower.min()),
        float(upper.max()),
        min(falling, 0.0),
        max(rising, 0.0),
        (sentence,) if sampled else (),
    )


def _boxes(points: Array) -> tuple[Array, Array]:
    """Bounding boxes of points ``(d, V, n)``."""
    return points.min(axis=1), points.max(axis=1)
