"""Facets between cells and on the boundary, periodic sides glued: who meets whom, and how they are turned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from stfem.checks import checked_list, whole_number
from stfem.meshes.quadrature import Array
from stfem.meshes.reference import ReferenceCell

__all__ = ["Facets", "Index", "build_facets"]

Index = NDArray[np.intp]

#: Distance up to which points of two periodic sides count as the same, relative to the size of the cell.
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Facets:
    """Facet table; the interior ones come first, those glued by periodicity among them.

    Attributes
    ----------
    cells
        Minus and plus cell ``(2, F)``; −1 for the plus side of a boundary facet.
    local
        Number of the facet within its cells ``(2, F)``; −1 likewise.
    orientation
        ``(F,)``: the parameter s of facet k is mapped into the minus cell by
        ``reference.facet_points(local[0, k], s)`` and to the same point of the plus cell by
        ``reference.facet_points(local[1, k], s, orientation[k])``.
    shift
        ``(d, F)``: x seen from the plus cell minus x seen from the minus cell; zero but for periodic facets.
    interior
        Number of interior facets.
    names
        Named sets of facets; a set may hold interior facets.
    """

    cells: Index
    local: Index
    orientation: Index
    shift: Array
    interior: int
    names: Mapping[str, Index]

    @property
    def count(self) -> int:
        """Number of facets F."""
        return int(self.cells.shape[1])

    @property
    def boundary(self) -> Index:
        """Numbers of the boundary facets."""
        return np.arange(self.interior, self.count)

    def of_cells(self, cell_count: int, facets_per_cell: int) -> Index:
        """Number of the facet on every side of every cell, ``(facets per cell, C)``."""
        result = np.empty((facets_per_cell, cell_count), dtype=np.intp)
        for side in (1, 0):
            here = self.cells[side] >= 0
            result[self.local[side, here], self.cells[side, here]] = np.flatnonzero(here)
        return result


def build_facets(
    reference: ReferenceCell,
    vertices: Array,
    cells: Index,
    facet_of: Index,
    names: Mapping[str, Index],
    periodic: Sequence[int | tuple[str, str]],
) -> Facets:
    """Facet table of a conforming mesh.

    Parameters
    ----------
    reference, vertices, cells
        Shape, coordinates ``(d, V)`` and vertices of the cells ``(vertices per cell, C)``.
    facet_of
        Number of the facet on every side of every cell ``(facets per cell, C)``, as the mesh counts them.
    names
        Named sets of these numbers.
    periodic
        Directions (whose two end sides are glued), or pairs of names.

    Raises
    ------
    ValueError
        For a mesh that is not conforming, and for periodic sides that do not match.
    """
    table = _Table(reference, vertices, cells, facet_of)
    for sides in checked_list("periodic", periodic):
        table.glue(*table.sides(sides, names))
    inner = table.cell[1] >= 0
    order = np.concatenate([np.flatnonzero(table.kept & inner), np.flatnonzero(table.kept & ~inner)])
    number = np.empty(len(inner), dtype=np.intp)
    number[order] = np.arange(len(order))
    number = number[table.same]
    return Facets(
        table.cell[:, order],
        table.local[:, order],
        table.orientation()[order],
        table.shift[:, order],
        int(np.count_nonzero(table.kept & inner)),
        {name: np.unique(number[facets]) for name, facets in names.items()},
    )


class _Table:
    """The facets as the mesh counts them, while periodic sides are being glued."""

    def __init__(self, reference: ReferenceCell, vertices: Array, cells: Index, facet_of: Index) -> None:
        self._reference, self._vertices, self._cells = reference, vertices, cells
        count = int(facet_of.max()) + 1
        uses = np.bincount(facet_of.ravel(), minlength=count)
        if uses.max() > 2:
            raise ValueError(f"mesh: expected at most two cells at every facet, got {uses.max()} at one")
        # a stable sort lists the cells of every facet in ascending order
        order = np.argsort(facet_of.T.ravel(), kind="stable")
        first = np.cumsum(uses) - uses
        sides = np.array([order[first], np.where(uses == 2, order[first + uses - 1], -1)], dtype=np.intp)
        self.cell, self.local = np.where(sides >= 0, np.divmod(sides, facet_of.shape[0]), -1)
        self.shift = np.zeros((vertices.shape[0], count))
        #: Facet that stands for this one after gluing.
        self.same = np.arange(count)
        self._sizes = np.ptp(vertices[:, cells], axis=1).max(axis=0)[self.cell[0]]

    @property
    def kept(self) -> NDArray[np.bool_]:
        return np.asarray(self.same == np.arange(len(self.same)))

    def corners(self, side: int, facets: Index) -> Array:
        """Coordinates ``(d, vertices per facet, F)`` of facets seen from one of their cells."""
        corners = np.array(self._reference.facets).T[:, self.local[side, facets]]
        return self._vertices[:, self._cells[corners, self.cell[side, facets]]]

    def sides(self, sides: int | tuple[str, str], names: Mapping[str, Index]) -> tuple[Index, Index, str]:
        """The two sets of facets that are to be glued, and what to call them."""
        if isinstance(sides, tuple):
            if len(sides) != 2:
                raise ValueError(f"periodic: expected directions or pairs of names, got {sides!r}")
            for name in sides:
                if name not in names:
                    raise ValueError(
                        f"periodic: expected one of the boundaries {sorted(names)}, got {name!r}"
                    )
            return names[sides[0]], names[sides[1]], f"{sides[0]!r} and {sides[1]!r}"
        dim = len(self._vertices)
        if not 0 <= whole_number("periodic", sides) < dim:
            raise ValueError(f"periodic: expected directions from 0 to {dim - 1}, got {sides}")
        boundary = np.flatnonzero(self.cell[1] < 0)
        along = self.corners(0, boundary)[sides]
        near = _TOLERANCE * self._sizes[boundary]
        ends = [
            boundary[(np.abs(along - end) <= near).all(axis=0)]
            for end in (self._vertices[sides, self._cells].min(), self._vertices[sides, self._cells].max())
        ]
        return ends[0], ends[1], f"the two sides of direction {sides}"

    def glue(self, left: Index, right: Index, label: str) -> None:
        """Make interior facets of two sides that differ by a translation."""
        if len(left) == 0 or len(left) != len(right):
            raise ValueError(
                f"periodic: expected as many facets on both of {label}, got {len(left)} and {len(right)}"
            )
        taken = (self.cell[1, [*left, *right]] >= 0) | ~self.kept[[*left, *right]]
        if np.any(taken):
            raise ValueError(
                f"periodic: expected boundary facets on {label}, "
                f"got {np.count_nonzero(taken)} that have two cells already"
            )
        a, b = (self.corners(0, facets).mean(axis=1) for facets in (left, right))
        moved = b.mean(axis=1) - a.mean(axis=1)
        distance, partner = cKDTree(b.T).query((a + moved[:, None]).T)
        wrong = distance > _TOLERANCE * self._sizes[left]
        if np.any(wrong) or len(np.unique(partner)) < len(left):
            raise ValueError(
                f"periodic: expected facets on {label} that match after a translation by {moved.tolist()}, "
                f"got {max(1, np.count_nonzero(wrong))} without a partner, "
                f"one of them at {a[:, np.argmax(distance)].tolist()}"
            )
        right = right[partner]
        self.cell[1, left], self.local[1, left] = self.cell[0, right], self.local[0, right]
        self.shift[:, left] = moved[:, None]
        self.same[right] = left

    def orientation(self) -> Index:
        """Which permutation of the corners of the plus side gives those of the minus side."""
        result = np.zeros(len(self.same), dtype=np.intp)
        inner = np.flatnonzero(self.kept & (self.cell[1] >= 0))
        here, there = self.corners(0, inner) + self.shift[:, None, inner], self.corners(1, inner)
        distance = np.linalg.norm(here[:, :, None] - there[:, None], axis=0)  # (minus, plus, F)
        if np.any(distance.min(axis=1) > _TOLERANCE * self._sizes[inner]):
            raise ValueError("mesh: expected neighbouring facets with the same corners, got others")
        partner, width = distance.argmin(axis=1), here.shape[1]
        powers = width ** np.arange(width)
        codes = np.zeros(width**width, dtype=np.intp)
        for n, order in enumerate(self._reference.facet_permutations):
            codes[np.array(order) @ powers] = n
        result[inner] = codes[powers @ partner]
        return result
