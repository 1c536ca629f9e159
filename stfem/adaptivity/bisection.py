"""Longest-edge bisection of conforming meshes of simplices, one code for every dimension, and its undoing.

A cell is cut at the middle of its longest edge. The order of the edges (by length, equal ones by their
vertices) belongs to the edges and not to the cells: two cells that share a facet cut it at the same edges in
the same order, and the mesh becomes conforming again once every cell with a cut edge has been bisected. That
ends, as every cut induces cuts of longer edges only.

Vertices on sides that are glued have the same `class`, and an edge is known by the classes of its ends: what
is cut on one side is cut on the other.

A bisection is undone where all cells around its new vertex come from bisections at that vertex: then the
cells before it fit together again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from stfem.adaptivity.history import History
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh

__all__ = ["bisect", "merge", "vertex_classes"]

#: Vertices that a pair of numbers can tell apart.
_MOST = 2**31
#: Lengths are compared in units of this relative difference; rounding must not decide between equal ones.
_SAME_LENGTH = 1e-6


def vertex_classes(mesh: UnstructuredMesh) -> Index:
    """The same number for vertices that are glued by periodicity, ``(V,)``: the smallest of theirs."""
    facets, reference = mesh.facets, mesh.reference
    glued = np.flatnonzero(np.any(facets.shift != 0.0, axis=0))
    pairs = [np.zeros((2, 0), dtype=np.intp)]
    for local, _, here in mesh.facet_groups(0, glued):
        for other, turned, there in mesh.facet_groups(1, glued[here]):
            chosen = glued[here[there]]
            order = reference.facet_permutations[turned]
            left = mesh.cells[np.ix_(reference.facets[local], facets.cells[0, chosen])]
            right = mesh.cells[np.ix_([reference.facets[other][k] for k in order], facets.cells[1, chosen])]
            pairs.append(np.array([left.ravel(), right.ravel()]))
    one, other_end = np.concatenate(pairs, axis=1)
    count = mesh.vertices.shape[1]
    graph = coo_matrix((np.ones(len(one), dtype=bool), (one, other_end)), (count, count))
    number = connected_components(graph, directed=False)[1]
    return np.asarray(np.unique(number, return_index=True)[1][number])


def bisect(history: History, classes: Index, marked: Index) -> tuple[History, Index, Array]:
    """Bisect cells at least once, and others as far as the mesh must stay conforming.

    Parameters
    ----------
    history
        The mesh, conforming.
    classes
        `vertex_classes` of it.
    marked
        Numbers of cells.

    Returns
    -------
    history
        The finer mesh; children take the place of their parent in the order of the cells.
    origins
        Cell before ``(C',)`` that holds each new one.
    places
        Corners of the new cells in barycentric coordinates of these, ``(d + 1, d + 1, C')``.

    Raises
    ------
    ValueError
        Where a period is a single cell wide.
    """
    growing = _Growing(history, classes)
    chosen = np.zeros(len(history.leaves), dtype=bool)
    chosen[marked] = True
    while np.any(chosen):
        growing.bisect(chosen)
        chosen = growing.hanging()
    return growing.result()


class _Table:
    """Numbers by keys, both integers."""

    def __init__(self) -> None:
        self._keys = self._values = np.zeros(0, dtype=np.int64)

    def find(self, keys: Index) -> Index:
        """The numbers, −1 for unknown keys."""
        if len(self._keys) == 0:
            return np.full(keys.shape, -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._values[at], -1)

    def add(self, keys: Index, values: Index) -> None:
        """Enter new keys."""
        keys, values = np.concatenate([self._keys, keys]), np.concatenate([self._values, values])
        order = np.argsort(keys, kind="stable")
        self._keys, self._values = keys[order], values[order]


@dataclass
class _Leaves:
    """Cells while the mesh is being refined, as columns."""

    node: Index
    origin: Index
    place: Array
    #: Codes of the edges ``(edges, C)`` and their lengths in units of `_SAME_LENGTH`.
    edges: Index
    lengths: Index

    def __getitem__(self, chosen: Index) -> _Leaves:
        return _Leaves(*(part[..., chosen] for part in vars(self).values()))

    def joined(self, other: _Leaves) -> _Leaves:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Leaves(*(np.concatenate(pair, axis=-1) for pair in pairs))


class _Growing:
    """A mesh whose edges are being cut."""

    def __init__(self, history: History, classes: Index) -> None:
        self._forest, self._classes = history, classes
        self._pairs = np.array(list(combinations(range(len(history.corners)), 2))).T
        self._measured, self._cut, self._middles = _Table(), _Table(), _Table()
        place = np.repeat(np.eye(len(history.corners))[:, :, None], len(history.leaves), axis=2)
        self._leaves = self._with_edges(history.leaves, np.arange(len(history.leaves)), place)

    def _with_edges(self, node: Index, origin: Index, place: Array) -> _Leaves:
        ends = self._forest.corners[:, node][self._pairs]  # (2, edges, C)
        edges = _codes(self._classes[ends])
        if np.any(np.diff(np.sort(edges, axis=0), axis=0) == 0):
            raise ValueError("periodic: expected at least two cells across every period, got one")
        unknown, first = np.unique(edges, return_index=True)
        new = self._measured.find(unknown) < 0
        tails, heads = np.sort(ends.reshape(2, -1)[:, first[new]], axis=0)
        lengths = np.linalg.norm(self._forest.vertices[:, tails] - self._forest.vertices[:, heads], axis=0)
        # shifted to be positive: the logarithm of a number in double precision is above −800
        units = np.rint((np.log(lengths) + 800.0) / _SAME_LENGTH).astype(np.int64)
        self._measured.add(unknown[new], units)
        return _Leaves(node, origin, place, edges, self._measured.find(edges))

    def hanging(self) -> Index:
        """Which cells have an edge that is cut."""
        return np.asarray((self._cut.find(self._leaves.edges) >= 0).any(axis=0))

    def bisect(self, chosen: Index) -> None:
        """Cut cells at their longest edges."""
        old = self._leaves[chosen]
        longest = old.lengths == old.lengths.max(axis=0)
        edge = np.where(longest, old.edges, -1).argmax(axis=0)
        which = np.arange(len(edge))
        first, second = self._pairs[:, edge]
        ends = np.array([first, second]), old.node
        middle = self._cut_edges(self._forest.corners[ends])
        count = len(self._forest.parents)
        children = [self._child(old.node, middle, *pair) for pair in ((first, second), (second, first))]
        forest = self._forest
        before = (forest.corners, forest.parents, forest.places, forest.labels, forest.roots)
        corners, parents, places, labels, roots = (
            np.concatenate(parts, axis=-1) for parts in zip(before, *children, strict=True)
        )
        middles = np.concatenate([forest.middles, np.full(2 * len(which), -1, dtype=np.intp)])
        middles[old.node] = middle
        self._forest = replace(
            forest,
            corners=corners,
            parents=parents,
            middles=middles,
            places=places,
            labels=labels,
            roots=roots,
        )
        both = np.concatenate([which, which])
        nodes = count + np.arange(len(both))
        place = np.einsum("abc,bkc->akc", old.place[:, :, both], places[:, :, nodes])
        new = self._with_edges(nodes, old.origin[both], place)
        self._leaves = self._leaves[np.flatnonzero(~chosen)].joined(new)

    def _cut_edges(self, ends: Index) -> Index:
        """Vertices in the middle of edges, new ones where there are none."""
        codes, inverse = np.unique(_codes(ends), return_inverse=True)
        new = codes[self._middles.find(codes) < 0]
        vertices, count = self._forest.vertices, self._forest.vertices.shape[1]
        tails, heads = np.divmod(new, _MOST)
        self._middles.add(new, count + np.arange(len(new)))
        middle = 0.5 * (vertices[:, tails] + vertices[:, heads])
        self._forest = replace(self._forest, vertices=np.concatenate([vertices, middle], axis=1))
        # the first vertex on a class of edges names the class of all of them
        edges = _codes(self._classes[np.array([tails, heads])])
        unknown, first = np.unique(edges, return_index=True)
        fresh = self._cut.find(unknown) < 0
        self._cut.add(unknown[fresh], count + first[fresh])
        self._classes = np.concatenate([self._classes, self._cut.find(edges)])
        return self._middles.find(codes)[inverse]

    def _child(
        self, node: Index, middle: Index, stays: Index, moves: Index
    ) -> tuple[Index, Index, Array, Index, Index]:
        """The half at one end of the edge: the corner at the other one moves to the middle.

        Its corners, parents, places, labels and roots.
        """
        which = np.arange(len(node))
        corners, labels = self._forest.corners[:, node], self._forest.labels[:, node]
        corners[moves, which] = middle
        labels[stays, which] = 0  # the facet between both halves has no name
        place = np.repeat(np.eye(len(corners))[:, :, None], len(node), axis=2)
        place[moves, moves, which] = place[stays, moves, which] = 0.5
        order = np.argsort(corners, axis=0)  # as scikit-fem has it
        return (
            np.take_along_axis(corners, order, axis=0),
            node,
            np.take_along_axis(place, order[None], axis=1),
            np.take_along_axis(labels, order, axis=0),
            self._forest.roots[node],
        )

    def result(self) -> tuple[History, Index, Array]:
        """The leaves in order, and where they lie in the first ones."""
        order = np.lexsort((self._leaves.node, self._leaves.origin))
        leaves = self._leaves[order]
        return self._forest.trimmed(leaves.node), leaves.origin, leaves.place


def _codes(ends: Index) -> Index:
    """One number for two ends ``(2, …)`` in any order."""
    low, high = np.sort(ends, axis=0).astype(np.int64)
    return np.asarray(low * _MOST + high)


def merge(history: History, classes: Index, marked: Index) -> tuple[History, Index, Array]:
    """Undo the last bisections of marked cells where the mesh stays conforming.

    Parameters
    ----------
    history
        The mesh.
    classes
        `vertex_classes` of it.
    marked
        Numbers of cells. Two halves go back to their parent where all cells around the vertex between them
        are marked and come from bisections at this vertex.

    Returns
    -------
    history
        The coarser mesh; a parent takes the place of the first of its children.
    targets
        New cell ``(C,)`` that holds each of the old ones.
    places
        Corners of the old cells in barycentric coordinates of these, ``(d + 1, d + 1, C)``.
    """
    leaves, width = history.leaves, len(history.corners)
    above = history.parents[leaves]
    wanted = np.zeros(len(leaves), dtype=bool)
    wanted[marked] = True
    wanted &= above >= 0
    newest = np.where(wanted, classes[history.middles[above]], -1)
    around = classes[history.cells]
    free = np.zeros(len(classes), dtype=bool)
    free[newest[wanted]] = True
    free[around[around != newest]] = False
    gone = wanted & free[newest]
    nodes = np.where(gone, above, leaves)
    new, first, targets = np.unique(nodes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    position = np.empty(len(order), dtype=np.intp)
    position[order] = np.arange(len(order))
    places = np.where(gone, history.places[:, :, leaves], np.eye(width)[:, :, None])
    return history.trimmed(new[order]), position[targets], places
