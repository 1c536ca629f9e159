"""Which cell of a mesh holds a point, and where in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.reference import ReferenceCell

__all__ = ["CellFinder", "Location"]

#: Distance from the reference cell up to which a point belongs to it: points on facets have round-off.
_ON_FACET = 1e-9
#: Residual of x = F(X), relative to the size of the cell, at which Newton's method has arrived.
_ARRIVED = 1e-13
_STEPS = 20
#: Cells in one box of the last level, and points that are looked up at once.
_LEAF, _BLOCK = 4, 1 << 15


class Location(NamedTuple):
    """Places of points in a mesh.

    Attributes
    ----------
    cells
        Numbers of the cells ``(n,)``, −1 for points outside of the mesh.
    points
        Reference coordinates there ``(d, n)``, NaN outside.
    """

    cells: Index
    points: Array


class CellFinder:
    """Finds the cells that hold given points.

    The cells lie in a binary tree of boxes, whose halves hold equally many cells, however graded the mesh is;
    a point goes down all branches whose boxes contain it. In the cells at their ends x = F(X) is solved by
    Newton's method, in one step where F is affine. Of several cells that meet in a point the one with the
    smallest number is taken, whatever other points are asked for.

    Parameters
    ----------
    reference
        Reference cell.
    corners
        Coordinates of the vertices of the cells, ``(d, vertices per cell, C)``.
    affine
        Whether F is affine in all cells.
    """

    def __init__(self, reference: ReferenceCell, corners: Array, affine: bool) -> None:
        self._reference, self._affine = reference, affine
        self._centres = corners.mean(axis=1)
        self._corners = corners - self._centres[:, None]
        self._sizes = np.ptp(corners, axis=1).max(axis=0)
        rounding = np.spacing(np.abs(corners).max(axis=(0, 1)))
        self._tolerance = _ON_FACET + 8.0 * rounding / self._sizes
        margin = 10.0 * self._tolerance * self._sizes
        self._low, self._high = corners.min(axis=1) - margin, corners.max(axis=1) + margin
        self._leaves = _leaves(self._centres)
        boxes = self._low[:, self._leaves].min(axis=2), self._high[:, self._leaves].max(axis=2)
        self._levels = [boxes]
        while boxes[0].shape[1] > 1:
            (low, high) = boxes
            boxes = np.minimum(low[:, ::2], low[:, 1::2]), np.maximum(high[:, ::2], high[:, 1::2])
            self._levels.insert(0, boxes)
        centre = reference.vertices.mean(axis=1)
        # Newton's method may go astray from the centre of a cell that is far from a parallelepiped
        others = [] if affine else list(0.5 * (centre[:, None] + reference.vertices).T)
        self._starts = [centre, *others]

    def __call__(self, x: Array) -> Location:
        """Places of points ``(d, n)``."""
        blocks = [self._located(x[:, n : n + _BLOCK]) for n in range(0, max(1, x.shape[1]), _BLOCK)]
        cells, points = zip(*blocks, strict=True)
        return Location(np.concatenate(cells), np.concatenate(points, axis=1))

    def _located(self, x: Array) -> Location:
        point, cell = self._candidates(x)
        order = np.lexsort((cell, point))
        point, cell = point[order], cell[order]
        local = self._inverse(x[:, point] - self._centres[:, cell], cell)
        inside = np.flatnonzero(self._distance(local) <= self._tolerance[cell])
        found, first = np.unique(point[inside], return_index=True)
        cells, points = np.full(x.shape[1], -1, dtype=np.intp), np.full(x.shape, np.nan)
        cells[found], points[:, found] = cell[inside[first]], local[:, inside[first]]
        return Location(cells, points)

    def _candidates(self, x: Array) -> tuple[Index, Index]:
        """Pairs of points and cells whose boxes contain them; some may come twice."""
        point, node = np.arange(x.shape[1]), np.zeros(x.shape[1], dtype=np.intp)
        for depth, (low, high) in enumerate(self._levels):
            if depth > 0:
                point, node = np.repeat(point, 2), np.repeat(2 * node, 2)
                node[1::2] += 1
            here = _contained(x[:, point], low[:, node], high[:, node])
            point, node = point[here], node[here]
        point, cell = np.repeat(point, self._leaves.shape[1]), self._leaves[node].ravel()
        here = _contained(x[:, point], self._low[:, cell], self._high[:, cell])
        return point[here], cell[here]

    def _inverse(self, x: Array, cells: Index) -> Array:
        """X with F(X) = x, both relative to the centres of the cells; NaN where none is found."""
        result, missing = np.full(x.shape, np.nan), np.arange(x.shape[1])
        for start in self._starts:
            local, arrived = self._newton(start, x[:, missing], cells[missing])
            result[:, missing[arrived]] = local[:, arrived]
            missing = missing[~arrived]
        return result

    def _newton(self, start: Array, x: Array, cells: Index) -> tuple[Array, NDArray[np.bool_]]:
        """Where the iteration ends, and whether that is a solution."""
        corners, sizes, shapes = self._corners[:, :, cells], self._sizes[cells], self._reference
        local = np.repeat(start[:, None], len(cells), axis=1)
        running = np.arange(len(cells))
        for _ in range(1 if self._affine else _STEPS):
            at, here = local[:, running], corners[:, :, running]
            missed = x[:, running] - np.einsum("ivq,vq->iq", here, shapes.shape_values(at))
            slopes = np.einsum("ivq,jvq->qij", here, shapes.shape_gradients(at))
            slopes[np.linalg.det(slopes) == 0.0] = np.eye(len(x))  # only outside of cells
            steps = np.linalg.solve(slopes, missed.T[:, :, None])[:, :, 0].T
            # what leaves a cell by its size and more is in none of its points again
            local[:, running] = np.clip(at + steps, -1.0, 2.0)
            running = running[np.abs(steps).max(axis=0) > _ARRIVED]
            if len(running) == 0:
                break
        missed = x - np.einsum("ivq,vq->iq", corners, shapes.shape_values(local))
        return local, np.asarray(np.abs(missed).max(axis=0) <= 100.0 * _ARRIVED * sizes)

    def _distance(self, local: Array) -> Array:
        """How far reference points lie outside of the reference cell; NaN stays."""
        beyond = local.sum(axis=0) if self._reference.simplex else local.max(axis=0)
        return np.asarray(np.maximum(-local.min(axis=0), beyond - 1.0))


def _leaves(centres: Array) -> Index:
    """Cells in the order of the tree, ``(leaves, cells per leaf)``.

    Every group is halved across its longest direction. To have halves of one size some cells come twice.
    """
    count = centres.shape[1]
    leaves = 1 << max(0, int(np.ceil(np.log2(count / _LEAF))))
    groups = np.resize(np.arange(count), (1, leaves * -(-count // leaves)))
    while len(groups) < leaves:
        places = centres[:, groups]  # (d, groups, cells)
        longest = np.ptp(places, axis=2).argmax(axis=0)
        along = np.take_along_axis(places, longest[None, :, None], axis=0)[0]
        order = np.argsort(along, axis=1, kind="stable")
        groups = np.take_along_axis(groups, order, axis=1).reshape(2 * len(groups), -1)
    return groups


def _contained(x: Array, low: Array, high: Array) -> NDArray[np.bool_]:
    return np.asarray(np.all((low <= x) & (x <= high), axis=0))
