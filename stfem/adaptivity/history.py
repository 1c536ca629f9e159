"""Where the cells of a mesh of simplices come from: a forest of bisections on the cells of a first mesh.

Every node of the forest is a simplex; bisected, it has two children, its parent is one entry away. The leaves
are the cells of the mesh. Whatever hangs on a mesh (names of boundaries and subdomains) hangs on its nodes
here, so that it follows the cells down and up again. Only the leaves and what lies above them is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from stfem.meshes.arrays import mesh_from_arrays
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh

__all__ = ["History", "first_history"]


@dataclass(frozen=True, eq=False)
class History:
    """A forest of n nodes over C leaves and V vertices, all in the numbering of the mesh.

    Attributes
    ----------
    shape
        Name of the reference cell.
    vertices
        Coordinates ``(d, V)``.
    corners
        Vertices of every node ``(d + 1, n)``.
    parents
        Node above ``(n,)``, −1 for cells of the first mesh.
    middles
        Vertex that bisected the node ``(n,)``, −1 for leaves.
    places
        Corners of the node in barycentric coordinates of its parent ``(d + 1, d + 1, n)``: column k is
        corner k, all numbers are 0, ½ or 1. The identity for cells of the first mesh.
    labels
        Which set of names the facet opposite to every corner has ``(d + 1, n)``, 0 for none.
    roots
        Cell of the first mesh that holds the node ``(n,)``.
    leaves
        Node of every cell ``(C,)``.
    name_sets
        Names of boundaries behind every label.
    empty_names
        Names of boundaries without facets, which are kept as well.
    subdomains
        Cells of the first mesh by the names of subdomains.
    """

    shape: str
    vertices: Array
    corners: Index
    parents: Index
    middles: Index
    places: Array
    labels: Index
    roots: Index
    leaves: Index
    name_sets: tuple[frozenset[str], ...]
    empty_names: tuple[str, ...]
    subdomains: dict[str, Index]

    @property
    def cells(self) -> Index:
        """Vertices of the cells ``(d + 1, C)``."""
        return np.ascontiguousarray(self.corners[:, self.leaves])

    def mesh(self) -> Any:
        """The scikit-fem mesh of the leaves, with its names."""
        boundaries = {name: np.zeros((len(self.vertices), 0), dtype=np.intp) for name in self.empty_names}
        cells, labels = self.cells, self.labels[:, self.leaves]
        for name in sorted(set().union(*self.name_sets)):
            chosen = np.array([name in names for names in self.name_sets])[labels]
            sides = [np.delete(cells[:, here], k, axis=0) for k, here in enumerate(chosen)]
            # both cells of a facet inside the domain have its names
            facets = np.unique(np.sort(np.concatenate(sides, axis=1), axis=0), axis=1)
            boundaries[name] = np.ascontiguousarray(facets)
        above = self.roots[self.leaves]
        subdomains = {name: np.flatnonzero(np.isin(above, old)) for name, old in self.subdomains.items()}
        return mesh_from_arrays(self.shape, self.vertices, cells, boundaries, subdomains)

    def trimmed(self, leaves: Index) -> History:
        """The forest over other leaves, with numbers of its own for the nodes and vertices that are left."""
        kept = np.zeros(len(self.parents), dtype=bool)
        level = leaves
        while len(level):
            kept[level] = True
            level = np.unique(self.parents[level])
            level = level[level >= 0]
        used = np.zeros(self.vertices.shape[1], dtype=bool)
        used[self.corners[:, leaves]] = True
        node, vertex = np.cumsum(kept) - 1, np.cumsum(used) - 1
        above, middles = self.parents[kept], self.middles[kept]
        middles = np.where(middles >= 0, vertex[middles], -1)
        middles[node[leaves]] = -1
        return History(
            self.shape,
            np.ascontiguousarray(self.vertices[:, used]),
            vertex[self.corners[:, kept]],
            np.where(above >= 0, node[above], -1),
            middles,
            self.places[:, :, kept],
            self.labels[:, kept],
            self.roots[kept],
            node[leaves],
            self.name_sets,
            self.empty_names,
            self.subdomains,
        )


def first_history(mesh: UnstructuredMesh) -> History:
    """A forest that is only its leaves, the cells of a mesh.

    Raises
    ------
    TypeError
        Unless the cells are lines, triangles or tetrahedra.
    """
    if not mesh.reference.simplex:
        raise TypeError(
            f"mesh: expected lines, triangles or tetrahedra to refine, got a {mesh.reference.name} mesh"
        )
    source, width, size = mesh.source, mesh.dim + 1, mesh.size
    names = {str(name): np.asarray(facets) for name, facets in (source.boundaries or {}).items()}
    # scikit-fem numbers the facets of a cell in an order of its own; here they go by the corner left out
    opposite = [(set(range(width)) - set(facet)).pop() for facet in mesh.reference.facets]
    sides = np.empty((width, size), dtype=np.intp)
    sides[opposite] = source.t2f
    belongs = np.zeros((len(names), source.facets.shape[1]), dtype=bool)
    for row, facets in zip(belongs, names.values(), strict=True):
        row[facets] = True
    any_name = np.asarray(belongs.any(axis=0))
    patterns, number = np.unique(belongs[:, any_name], axis=1, return_inverse=True)
    label = np.zeros(belongs.shape[1], dtype=np.intp)
    label[any_name] = number.ravel() + 1
    return History(
        mesh.reference.name,
        mesh.vertices,
        mesh.cells,
        np.full(size, -1, dtype=np.intp),
        np.full(size, -1, dtype=np.intp),
        np.repeat(np.eye(width)[:, :, None], size, axis=2),
        label[sides],
        np.arange(size),
        np.arange(size),
        (frozenset(), *(frozenset(compress(names, pattern)) for pattern in patterns.T)),
        tuple(name for name, facets in names.items() if len(facets) == 0),
        {name: np.asarray(cells) for name, cells in mesh.subdomains.items()},
    )
