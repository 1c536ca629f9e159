"""Cells and facets that lie on others: meshes that were joined to themselves, or that have cracks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

if TYPE_CHECKING:
    from stfem.meshes.unstructured import UnstructuredMesh

__all__ = ["refuse_cracks", "refuse_doubles"]

#: Distance of the centres of facets that lie on each other, relative to their radius; what counts as zero.
_BACK_TO_BACK, _TOUCHING = 0.6, 1e-6


def refuse_doubles(mesh: UnstructuredMesh) -> None:
    """Two cells in one place, as in a mesh that was joined to itself."""
    order = np.lexsort(mesh.centroids)
    double = ~np.any(np.diff(mesh.centroids[:, order], axis=1), axis=0)
    if np.any(double):
        first = order[np.argmax(double)]
        raise ValueError(
            f"mesh: expected every cell once, got {np.count_nonzero(double)} that lie on others, the first "
            f"at {mesh.centroids[:, first].tolist()}"
        )


def refuse_cracks(mesh: UnstructuredMesh) -> None:
    """Boundary facets back to back come from doubled or hanging vertices; with names they are meant."""
    named = np.concatenate([*mesh.facets.names.values(), np.zeros(0, dtype=np.intp)])
    facets = np.setdiff1d(mesh.facets.boundary, named)
    if len(facets) < 2:
        return
    centre = mesh.reference.on_facet.vertices.mean(axis=1, keepdims=True)
    x, normals = mesh.facet_points(centre, facets)[:, 0], mesh.facet_normals(centre, facets)[0][:, 0]
    corners = mesh.facet_points(mesh.reference.on_facet.vertices, facets)
    sizes = np.linalg.norm(corners - x[:, None], axis=0).max(axis=0)
    scales = mesh.cell_measures[mesh.facets.cells[0, facets]] / mesh.facet_measures[facets]  # heights
    near = cKDTree(x.T).query_ball_point(x.T, _BACK_TO_BACK * sizes + _TOUCHING * scales)
    one = np.repeat(np.arange(len(facets)), [len(others) for others in near])
    other = np.concatenate([np.asarray(others, dtype=np.intp) for others in near])
    beyond = np.abs(((x[:, other] - x[:, one]) * normals[:, one]).sum(axis=0))
    against = (normals[:, one] * normals[:, other]).sum(axis=0) < _TOUCHING - 1.0
    facing = against & (beyond <= _TOUCHING * scales[one])
    if np.any(facing):
        first = one[np.argmax(facing)]
        raise ValueError(
            "mesh: expected neighbours that share their vertices, "
            f"got {len(np.unique(one[facing]))} boundary facets of no name that lie on others, "
            f"the first at {x[:, first].tolist()} (vertices given twice or in the middle of a facet; "
            "the two sides of a crack need names)"
        )
