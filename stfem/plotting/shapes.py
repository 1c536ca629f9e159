"""Cells of a mesh as intervals and polygons: what a picture needs to know of a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from stfem.meshes.grid import TensorGrid
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.spaces.stencil import Array

#: Pieces that a curved edge is drawn with.
_PIECES = 8


@runtime_checkable
class MappedMesh(Protocol):
    """A mesh in the manner of scikit-fem: cells are images of a reference cell."""

    refdom: Any

    def mapping(self) -> Any:
        """The map of the reference cell; its ``F`` takes points ``(d, P)`` to ``(d, cells, P)``."""
        ...


#: What pictures of cells can be drawn on.
Mesh = TensorGrid | MappedMesh


@dataclass(frozen=True, eq=False)
class Shapes:
    """Intervals ``(2, 1)`` or polygons ``(corners, 2)`` and the numbers of the cells that they show."""

    corners: Sequence[Array]
    cells: NDArray[np.intp]


def drawable(mesh: Mesh | UnstructuredMesh) -> Mesh:
    """A grid, or a mesh in the manner of scikit-fem."""
    source: Mesh = mesh.source if isinstance(mesh, UnstructuredMesh) else mesh
    return source


def dimension(mesh: Mesh) -> int:
    """Space dimension of a mesh.

    Raises
    ------
    TypeError
        For what is no mesh.
    """
    if isinstance(mesh, TensorGrid):
        return mesh.dim
    if isinstance(mesh, MappedMesh) and not isinstance(mesh, type):
        return int(np.shape(mesh.refdom.p)[0])
    raise TypeError(f"mesh: expected a TensorGrid or a mesh of scikit-fem, got a {type(mesh).__name__}")


def cell_count(mesh: Mesh) -> int:
    """Number of cells."""
    return mesh.size if isinstance(mesh, TensorGrid) else len(_vertices(mesh))


def box(mesh: Mesh) -> Array:
    """Least and greatest coordinates ``(2, d)``."""
    if isinstance(mesh, TensorGrid):
        return np.array([np.zeros(mesh.dim), mesh.lengths])
    corners = _vertices(mesh)
    return np.array([corners.min(axis=(0, 1)), corners.max(axis=(0, 1))])


def shapes(mesh: Mesh, cut: tuple[int, float] | None = None) -> Shapes:
    """All cells in one or two dimensions, or those that a plane (a line) meets, and what it cuts out of them.

    A face that lies in the plane belongs to the cell to its right, as in the evaluation of fields.

    Parameters
    ----------
    mesh
        A grid, or a mesh of scikit-fem; its cells are taken from the map of the reference cell, so that those
        of a periodic mesh stay small.
    cut
        Direction and position of the plane.
    """
    if isinstance(mesh, TensorGrid):
        return _grid_shapes(mesh, cut)
    if cut is not None:
        return _cut_shapes(mesh, *cut)
    if dimension(mesh) == 1:
        return Shapes(list(_vertices(mesh)), np.arange(len(_vertices(mesh))))
    return Shapes(list(_outlines(mesh)), np.arange(len(_vertices(mesh))))


def _grid_shapes(grid: TensorGrid, cut: tuple[int, float] | None) -> Shapes:
    numbers = np.arange(grid.size).reshape(grid.cells)
    kept = list(range(grid.dim))
    if cut is not None:
        direction, position = cut
        kept.remove(direction)
        layer = int(np.floor(position / grid.spacing[direction])) % grid.cells[direction]
        numbers = np.take(numbers, layer, axis=direction)
    reference = np.array([[0, 0], [1, 0], [1, 1], [0, 1]] if len(kept) == 2 else [[0], [1]])
    index = np.stack([axis.ravel() for axis in np.indices(numbers.shape)], axis=1)
    spacing = np.array([grid.spacing[i] for i in kept])
    return Shapes((index[:, None, :] + reference) * spacing, numbers.ravel())


def _vertices(mesh: MappedMesh) -> Array:
    """Corners of all cells ``(cells, corners, d)``."""
    return np.asarray(mesh.mapping().F(np.asarray(mesh.refdom.p, dtype=float)), dtype=float).transpose(
        1, 2, 0
    )


def _outlines(mesh: MappedMesh) -> Array:
    """Polygons of cells in two dimensions; curved edges in small pieces."""
    corners = np.asarray(mesh.refdom.p, dtype=float)
    following = (np.arange(corners.shape[1]) + 1) % corners.shape[1]
    edges = corners[:, following] - corners

    def outline(pieces: int) -> Array:
        steps = np.arange(pieces) / pieces
        points = (corners[:, :, None] + edges[:, :, None] * steps).reshape(2, -1)
        return np.asarray(mesh.mapping().F(points), dtype=float).transpose(1, 2, 0)

    halves = outline(2)
    ends, middles = halves[:, ::2], halves[:, 1::2]
    straight = np.allclose(middles, 0.5 * (ends + ends[:, following]), atol=1e-9 * np.abs(ends).max())
    return ends if straight else outline(_PIECES)


def _cut_shapes(mesh: MappedMesh, direction: int, position: float) -> Shapes:
    """Cells cut along their straight edges: convex polygons, or intervals."""
    vertices = _vertices(mesh)
    top = vertices[:, :, direction].max()
    if position >= top:  # no cell lies to the right of the last face
        position = float(np.nextafter(top, -np.inf))
    edges = np.array(_edges(np.asarray(mesh.refdom.p, dtype=float)))
    start, stop = vertices[:, edges[:, 0]], vertices[:, edges[:, 1]]
    low, high = start[:, :, direction], stop[:, :, direction]
    crossed = (np.minimum(low, high) <= position) & (position < np.maximum(low, high))
    kept = [i for i in range(vertices.shape[2]) if i != direction]
    corners, cells = [], []
    for cell in np.flatnonzero(crossed.any(axis=1)):
        which = crossed[cell]
        share = (position - low[cell, which]) / (high[cell, which] - low[cell, which])
        points = (start[cell, which] + share[:, None] * (stop - start)[cell, which])[:, kept]
        middle = points.mean(axis=0)
        if np.ptp(points, axis=0).max() > 0.0:  # more than a corner
            angle = np.arctan2(*(points - middle).T[::-1]) if len(kept) == 2 else points[:, 0]
            corners.append(points[np.argsort(angle)])
            cells.append(cell)
    return Shapes(corners, np.array(cells, dtype=np.intp))


def _edges(corners: Array) -> list[tuple[int, int]]:
    """Pairs of corners ``(d, n)`` of a reference cell with an edge between them: of a simplex, all."""
    dim, count = corners.shape
    pairs = [(i, j) for i, j in product(range(count), repeat=2) if i < j]
    if count == dim + 1:
        return pairs
    return [(i, j) for i, j in pairs if np.count_nonzero(corners[:, i] != corners[:, j]) == 1]
