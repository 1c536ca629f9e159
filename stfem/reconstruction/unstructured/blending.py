"""Geometry of functions that are given on facets and die away in the cells next to them (T5.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.spaces.legendre import gauss

__all__ = ["Blend", "blends"]


@dataclass(frozen=True, eq=False)
class Blend:
    """Facets with the same place in their cells: what S·β(s) needs at quadrature points.

    Attributes
    ----------
    where, cells
        Positions of the facets, and their cells.
    s, height
        Coordinates along and towards the facet at every point, ``(Q,)``.
    gradients
        From (∂_s, ∂_S) to ∇, ``(d, 2, Q, F)``.
    x
        Points ``(d, Q, F)``.
    weights
        ``(Q, F)``.
    steepness
        Bounds of the factors in |∂_i(Sβ)| ≤ steepness[i, 0] |β'| + steepness[i, 1] |β|, ``(d, 2)``; on cells
        that are not affine those at the points.
    """

    where: Index
    cells: Index
    s: Array
    height: Array
    gradients: Array
    x: Array
    weights: Array
    steepness: Array


def blends(mesh: UnstructuredMesh, facets: Index, degree: int) -> list[Blend]:
    """All of the facets of a mesh in two dimensions, with rules exact for squares of β of some degree."""
    return [_blend(mesh, facets, degree, *group) for group in mesh.facet_groups(0, facets)]


def _blend(
    mesh: UnstructuredMesh, facets: Index, degree: int, local: int, turned: int, where: Index
) -> Blend:
    reference, cells = mesh.reference, mesh.facets.cells[0, facets[where]]
    points, weights = gauss(degree + 2)
    height, s = (grid.ravel() for grid in np.meshgrid(points, points, indexing="ij"))
    on_facet = reference.facet_points(local, s[None], turned)
    ends = reference.facet_points(local, np.array([[0.0, 1.0]]), turned)
    slope = np.broadcast_to(ends[:, 1:] - ends[:, :1], on_facet.shape)
    if reference.simplex:
        (other,) = np.setdiff1d(np.arange(reference.vertices.shape[1]), reference.facets[local])
        beyond = np.broadcast_to(reference.vertices[:, other : other + 1], on_facet.shape)
        along = height * slope
    else:
        axis = int(np.argmax(np.abs(reference.facet_normals[:, local])))
        beyond, along = on_facet.copy(), slope
        beyond[axis] = 1.0 - beyond[axis]
    position = height * on_facet + (1.0 - height) * beyond
    jacobian = np.stack([along, on_facet - beyond], axis=1).transpose(2, 0, 1)  # (Q, d, 2)
    inverse, determinant = np.linalg.inv(jacobian), np.abs(np.linalg.det(jacobian))
    maps = mesh.cell_map(position, cells)
    gradients = np.einsum("jiqc,qaj->iaqc", maps.inverse, inverse)
    weight = np.multiply.outer(weights, weights).ravel() * determinant
    scaled = weight[:, None] * maps.determinant
    # S∇s has no pole at the vertex of a simplex, it is linear in s, and so are all of these on affine cells:
    # between 0 and the first point, and after the last, they grow by no more than this
    reach = 1.0 + 2.0 * points[0] / (points[-1] - points[0])
    factors = np.stack([height if reference.simplex else np.ones_like(height), np.ones_like(height)])
    steepness = reach * np.abs(gradients * factors[None, :, :, None]).max(axis=(2, 3))
    return Blend(where, cells, s, height, gradients, mesh.points(position, cells), scaled, steepness)
