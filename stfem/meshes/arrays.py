"""Meshes of scikit-fem as plain arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import skfem

from stfem.checks import checked_array, described, numeric_array
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array

__all__ = ["MESH_KINDS", "MESH_PARTS", "mesh_arrays", "mesh_from_arrays"]

#: Meshes of the first order by the names of their reference cells.
MESH_KINDS: dict[str, Any] = {
    "line": skfem.MeshLine1,
    "triangle": skfem.MeshTri1,
    "quadrilateral": skfem.MeshQuad1,
    "tetrahedron": skfem.MeshTet1,
    "hexahedron": skfem.MeshHex1,
}
#: What `mesh_arrays` returns, by name.
MESH_PARTS = ("shape", "vertices", "cells", "boundaries", "subdomains")


def mesh_arrays(mesh: Any) -> dict[str, Any]:
    """What there is to a mesh.

    Parameters
    ----------
    mesh
        One of the `MESH_KINDS`.

    Returns
    -------
    dict
        "shape": name of the cells; "vertices" ``(d, V)``; "cells" ``(vertices per cell, C)``; "boundaries" by
        name, the vertices of their facets ``(vertices per facet, F)``; "subdomains" by name, the numbers of
        their cells.
    """
    shape = next(name for name, kind in MESH_KINDS.items() if type(mesh) is kind)
    boundaries = {str(name): mesh.facets[:, np.asarray(f)] for name, f in (mesh.boundaries or {}).items()}
    subdomains = {str(name): np.asarray(cells) for name, cells in (mesh.subdomains or {}).items()}
    return {
        "shape": shape,
        "vertices": np.asarray(mesh.p),
        "cells": np.asarray(mesh.t),
        "boundaries": boundaries,
        "subdomains": subdomains,
    }


def mesh_from_arrays(
    shape: str,
    vertices: Array,
    cells: Index,
    boundaries: Mapping[str, Index],
    subdomains: Mapping[str, Index],
) -> Any:
    """The mesh of scikit-fem behind `mesh_arrays`.

    Raises
    ------
    KeyError, ValueError
        For an unknown shape, and for facets that are not in the mesh.
    """
    if not isinstance(shape, str) or shape not in MESH_KINDS:
        raise ValueError(f"shape: expected one of {', '.join(MESH_KINDS)}, got {shape!r}")
    reference = MESH_KINDS[shape].elem.refdom
    vertices = checked_array("vertices", vertices, (reference.dim(), None))
    cells = _numbers("cells", cells, reference.nnodes, vertices.shape[1])
    mesh = MESH_KINDS[shape](vertices, cells, sort_t=False)
    per_facet = mesh.facets.shape[0]
    boundaries = {
        name: _numbers(f"boundary {name!r}", corners, per_facet, None) for name, corners in boundaries.items()
    }
    for name, members in subdomains.items():
        _numbers(f"subdomain {name!r}", np.atleast_2d(numeric_array(members, name)), 1, cells.shape[1])
    numbered = {name: _facet_numbers(mesh, corners, name) for name, corners in boundaries.items()}
    if subdomains:
        mesh = mesh.with_subdomains(dict(subdomains))
    return mesh.with_boundaries(numbered) if numbered else mesh


def _numbers(name: str, given: object, rows: int, count: int | None) -> Index:
    """Whole numbers below a count, so many in every column."""
    array = numeric_array(given, name)
    if array.dtype.kind not in "iu" or array.ndim != 2 or len(array) != rows:
        raise ValueError(f"{name}: expected whole numbers of shape ({rows}, …), got {described(array)}")
    if count is not None and array.size and not 0 <= array.min() <= array.max() < count:
        raise ValueError(
            f"{name}: expected numbers from 0 to {count - 1}, got {array.min()} to {array.max()}"
        )
    numbers: Index = array
    return numbers


def _facet_numbers(mesh: Any, corners: Index, name: str) -> Index:
    """Which facets of a mesh have these vertices, in any order."""
    known = mesh.facets.shape[1]
    both = np.sort(np.concatenate([mesh.facets, corners], axis=1), axis=0)
    number = np.unique(both, axis=1, return_inverse=True)[1].ravel()
    place = np.full(both.shape[1], -1, dtype=np.intp)
    place[number[:known]] = np.arange(known)
    found = place[number[known:]]
    if np.any(found < 0):
        raise ValueError(f"boundary {name!r}: expected facets of the mesh, got {np.sum(found < 0)} others")
    return found
