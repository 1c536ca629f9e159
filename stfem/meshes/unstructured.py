"""Meshes of lines, triangles, quadrilaterals, tetrahedra or hexahedra: cells, their maps, and facets.

Layout. Everything is structure-of-arrays in kernel layout: components first, then points, cells (or facets)
last. `UnstructuredMesh` holds

    vertices   (d, V)        cells   (vertices per cell, C)        facets   the table of `Facets`

and x = Σ_v shape_v(X) vertices[:, cells[v]] maps the reference cell K̂ (`mesh.reference`) to every cell,
with J_ij = ∂x_i/∂X_j. On a mesh whose cells are all affine images (simplices, parallelepipeds) J does not
depend on the point, and the point axis of J, its determinant and the normals has length 1; otherwise it has
one entry per point. Both broadcast alike.

Every facet k has a *parameter* s in the reference cell of dimension d − 1. Its minus cell, which the normal
leaves, sees it at ``reference.facet_points(local[0, k], s)``, its plus cell at the same physical points (plus
``shift[:, k]`` across a periodic seam) at ``reference.facet_points(local[1, k], s, orientation[k])``. With
n̂ = ``reference.facet_normals``,

    n ds = |det J| J^{-T} n̂ ds(parameter).

Facets 0 … interior − 1 have two cells; the others lie on the boundary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import skfem

from stfem.meshes import reference as shapes
from stfem.meshes.doubles import refuse_cracks, refuse_doubles
from stfem.meshes.facets import Facets, Index, build_facets
from stfem.meshes.location import CellFinder, Location
from stfem.meshes.quadrature import Array
from stfem.meshes.reference import ReferenceCell

__all__ = ["CellMap", "UnstructuredMesh", "from_skfem"]

#: Change of the Jacobian within a cell, relative to its size, up to which the cell counts as affine.
_AFFINE = 1e-13
#: Largest coordinate: volumes, and their squares, must stay finite.
_FARTHEST = 1e60
_SHAPES: dict[type, ReferenceCell] = {
    skfem.MeshLine1: shapes.LINE,
    skfem.MeshTri1: shapes.TRIANGLE,
    skfem.MeshQuad1: shapes.QUADRILATERAL,
    skfem.MeshTet1: shapes.TETRAHEDRON,
    skfem.MeshHex1: shapes.HEXAHEDRON,
}


@dataclass(frozen=True, eq=False)
class CellMap:
    """Jacobians of some cells at some points; P is the number of points, or 1 where J is constant.

    Attributes
    ----------
    jacobian
        J ``(d, d, P, C)``.
    inverse
        J^{-1} ``(d, d, P, C)``: ∂_iφ = Σ_j inverse[j, i] ∂̂_jφ.
    determinant
        Absolute value of det J, ``(P, C)``.
    """

    jacobian: Array
    inverse: Array
    determinant: Array


@dataclass(frozen=True, eq=False)
class UnstructuredMesh:
    """A conforming mesh of cells of one shape, with periodic sides glued (see the module for the layout).

    Attributes
    ----------
    reference
        Reference cell.
    vertices, cells
        Coordinates ``(d, V)`` and the vertices of every cell ``(vertices per cell, C)``, as scikit-fem
        numbers them.
    facets
        Who meets whom; named boundaries.
    subdomains
        Named sets of cells.
    source
        The scikit-fem mesh that it was made from; it knows nothing of periodicity.
    """

    reference: ReferenceCell
    vertices: Array
    cells: Index
    facets: Facets
    subdomains: Mapping[str, Index]
    source: Any

    def __post_init__(self) -> None:
        corners = self._jacobian(slice(None), self.reference.vertices)
        determinants = np.linalg.det(np.moveaxis(corners, (0, 1), (-2, -1)))
        size = np.abs(corners).max(axis=(0, 1, 2)) ** self.dim
        flat = (np.abs(determinants) <= 1e-14 * size).any(axis=0)
        folded = (np.sign(determinants) != np.sign(determinants[:1])).any(axis=0)
        for wrong, what in ((flat, "no volume"), (folded, "a fold (det J changes its sign)")):
            if np.any(wrong):
                raise ValueError(
                    f"mesh: expected cells with positive volume, got {np.count_nonzero(wrong)} with {what}, "
                    f"the first is cell {np.argmax(wrong)}"
                )
        if self.reference.simplex or self.dim < 3:  # facets are plane
            self._refuse_overlaps()
        refuse_doubles(self)
        refuse_cracks(self)

    def _refuse_overlaps(self) -> None:
        """Two cells at a facet lie on either side of it, or the mesh folds over itself."""
        inner = np.arange(self.facets.interior)
        middle = self.reference.on_facet.vertices.mean(axis=1, keepdims=True)
        normals = self.facet_normals(middle, inner)[0][:, 0]
        beyond = self.centroids[:, self.facets.cells[1, inner]] - self.facets.shift[:, inner]
        same = ((beyond - self.facet_points(middle, inner)[:, 0]) * normals).sum(axis=0) <= 0.0
        if np.any(same):
            first = self.facets.cells[:, np.argmax(same)]
            raise ValueError(
                f"mesh: expected cells on either side of every interior facet, got {np.count_nonzero(same)} "
                f"facets with both cells on one side, the first is that of cells {first[0]} and {first[1]}"
            )

    @property
    def dim(self) -> int:
        """Space dimension d."""
        return self.reference.dim

    @property
    def size(self) -> int:
        """Number of cells C."""
        return int(self.cells.shape[1])

    @cached_property
    def affine(self) -> bool:
        """Whether J is constant on every cell."""
        if self.reference.simplex:
            return True
        jacobian = self._jacobian(slice(None), self.reference.vertices)
        change = np.abs(jacobian - jacobian[:, :, :1]).max(axis=(0, 1, 2))
        return bool(np.all(change <= _AFFINE * np.abs(jacobian).max(axis=(0, 1, 2))))

    def points(self, reference_points: Array, cells: Index | slice = slice(None)) -> Array:
        """Physical points ``(d, Q, C)`` of reference points ``(d, Q)``."""
        return _einsum("ivc,vq->iqc", self._gather(cells), self.reference.shape_values(reference_points))

    def cell_map(self, reference_points: Array, cells: Index | slice = slice(None)) -> CellMap:
        """J, its inverse and determinant at reference points ``(d, Q)``."""
        if not self.affine:
            return self._map(reference_points, cells)
        whole = self._affine_map
        if isinstance(cells, slice) and cells == slice(None):
            return whole
        parts = (whole.jacobian, whole.inverse, whole.determinant)
        return CellMap(*(part[..., cells] for part in parts))

    @cached_property
    def _affine_map(self) -> CellMap:
        return self._map(self.reference.vertices[:, :1], slice(None))

    def _map(self, points: Array, cells: Index | slice) -> CellMap:
        jacobian = self._jacobian(cells, points)
        stacked = np.moveaxis(jacobian, (0, 1), (-2, -1))
        inverse = np.moveaxis(np.linalg.inv(stacked), (-2, -1), (0, 1))
        return CellMap(jacobian, np.ascontiguousarray(inverse), np.abs(np.linalg.det(stacked)))

    @cached_property
    def cell_measures(self) -> Array:
        """|K|, ``(C,)``."""
        points, weights = self.reference.quadrature(self.dim)
        determinants = self.cell_map(points).determinant
        return np.asarray(np.broadcast_to(determinants, (len(weights), self.size)).T @ weights)

    @cached_property
    def cell_diameters(self) -> Array:
        """Largest distance of two vertices, ``(C,)``."""
        corners = self._gather(slice(None))
        return np.asarray(np.linalg.norm(corners[:, :, None] - corners[:, None], axis=0).max(axis=(0, 1)))

    @cached_property
    def centroids(self) -> Array:
        """Means of the vertices, ``(d, C)``."""
        return np.asarray(self._gather(slice(None)).mean(axis=1))

    def locate(self, x: Array) -> Location:
        """Cells ``(n,)`` that hold points ``(d, n)``, and the reference points ``(d, n)`` there.

        On a facet it is the cell with the smallest number.

        Raises
        ------
        ValueError
            For points outside of the mesh, naming the first.
        """
        if not np.isfinite(x).all():
            raise ValueError("x: expected finite coordinates, got others")
        found = self.find(x)
        outside = found.cells < 0
        if np.any(outside):
            first = x[:, np.argmax(outside)]
            raise ValueError(
                f"x: expected points inside of the mesh, got {np.count_nonzero(outside)} outside, "
                f"the first is {first.tolist()}"
            )
        return found

    def find(self, x: Array) -> Location:
        """The same, with −1 for points outside of the mesh."""
        return self._finder(x)

    @cached_property
    def _finder(self) -> CellFinder:
        return CellFinder(self.reference, self._gather(slice(None)), self.affine)

    def facet_groups(self, side: int, facets: Index) -> Iterator[tuple[int, int, Index]]:
        """Facets by their place in the cell: (local number, orientation, positions in ``facets``).

        One table of traces serves each group. ``side`` is 0 (minus) or 1 (plus).
        """
        turned = self.facets.orientation[facets] * side
        width = len(self.reference.facet_permutations)
        keys = self.facets.local[side, facets] * width + turned
        for key in np.unique(keys):
            yield int(key) // width, int(key) % width, np.flatnonzero(keys == key)

    def facet_points(self, parameters: Array, facets: Index | None = None) -> Array:
        """Physical points ``(d, Q, F)`` of parameters ``(d − 1, Q)``, seen from the minus cells."""
        chosen = np.arange(self.facets.count) if facets is None else facets
        points = np.empty((self.dim, parameters.shape[1], len(chosen)))
        for local, turned, where in self.facet_groups(0, chosen):
            reference_points = self.reference.facet_points(local, parameters, turned)
            points[:, :, where] = self.points(reference_points, self.facets.cells[0, chosen[where]])
        return points

    def facet_normals(self, parameters: Array, facets: Index | None = None) -> tuple[Array, Array]:
        """Unit normals ``(d, P, F)`` out of the minus cells, and ds/d(parameter) ``(P, F)``."""
        chosen = np.arange(self.facets.count) if facets is None else facets
        count = 1 if self.affine else parameters.shape[1]
        normals = np.empty((self.dim, count, len(chosen)))
        for local, turned, where in self.facet_groups(0, chosen):
            reference_points = self.reference.facet_points(local, parameters, turned)
            maps = self.cell_map(reference_points, self.facets.cells[0, chosen[where]])
            scaled = np.einsum("jipc,j->ipc", maps.inverse, self.reference.facet_normals[:, local])
            normals[:, :, where] = scaled * maps.determinant
        densities = np.linalg.norm(normals, axis=0)
        return normals / densities, densities

    @cached_property
    def facet_measures(self) -> Array:
        """|F|, ``(F,)`` (1 for the points that bound lines)."""
        points, weights = self.reference.on_facet.quadrature(2 * self.dim)
        densities = self.facet_normals(points)[1]
        return np.asarray(np.broadcast_to(densities, (len(weights), self.facets.count)).T @ weights)

    def _gather(self, cells: Index | slice) -> Array:
        return self.vertices[:, self.cells[:, cells]]

    def _jacobian(self, cells: Index | slice, points: Array) -> Array:
        """J ``(d, d, Q, C)``."""
        return _einsum("ivc,jvq->ijqc", self._gather(cells), self.reference.shape_gradients(points))

    def __repr__(self) -> str:
        return (
            f"UnstructuredMesh({self.size} cells of shape {self.reference.name}, "
            f"{self.facets.interior} interior and {len(self.facets.boundary)} boundary facets)"
        )


def _einsum(subscripts: str, *operands: Array) -> Array:
    return np.asarray(np.einsum(subscripts, *operands))


def from_skfem(mesh: Any, periodic: Sequence[int | tuple[str, str]] = ()) -> UnstructuredMesh:
    """Mesh from a scikit-fem mesh of the first order.

    Parameters
    ----------
    mesh
        `MeshLine`, `MeshTri`, `MeshQuad`, `MeshTet` or `MeshHex`; its names are kept.
    periodic
        Directions (the two end sides of the mesh are glued) or pairs of boundary names.

    Raises
    ------
    TypeError, ValueError
        For other meshes, degenerate cells, and sides that do not match.
    """
    reference = _SHAPES.get(type(mesh))
    if reference is None:
        expected = ", ".join(shape.__name__ for shape in _SHAPES)
        raise TypeError(f"mesh: expected one of scikit-fem's {expected}, got {type(mesh).__name__}")
    vertices = np.array(mesh.p, dtype=np.float64)
    if vertices.shape[0] != reference.dim:
        raise ValueError(
            f"mesh: expected vertices ({reference.dim}, V) for cells of shape {reference.name}, got "
            f"{vertices.shape}; a surface in space is no domain"
        )
    if mesh.t.shape[1] == 0:
        raise ValueError("mesh: expected cells, got none")
    if not (np.abs(vertices) <= _FARTHEST).all():
        raise ValueError(f"mesh: expected finite coordinates up to {_FARTHEST:g}, got others")
    used = np.zeros(vertices.shape[1], dtype=bool)
    used[mesh.t] = True
    cells = (np.cumsum(used) - 1)[mesh.t].astype(np.intp)
    vertices = np.ascontiguousarray(vertices[:, used])
    names, subdomains = (
        {str(name): np.unique(np.asarray(members, dtype=np.intp)) for name, members in (given or {}).items()}
        for given in (mesh.boundaries, mesh.subdomains)
    )
    facets = build_facets(reference, vertices, cells, np.array(mesh.t2f, dtype=np.intp), names, periodic)
    return UnstructuredMesh(reference, vertices, cells, facets, subdomains, mesh)
