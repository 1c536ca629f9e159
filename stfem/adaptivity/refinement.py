"""Refinement and coarsening of domains: mesh, names, conditions and glued sides together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from stfem.adaptivity.bisection import bisect, merge, vertex_classes
from stfem.adaptivity.history import History, first_history
from stfem.adaptivity.marking import checked_cells
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.problems.bounded import Domain

__all__ = ["AdaptedDomain", "MeshChange", "coarsen", "refine"]


class AdaptedDomain(Domain):
    """A `Domain` whose mesh was refined, and which remembers how; `refine` and `coarsen` make it.

    It is used like any domain. Saved and loaded, or built from its mesh, it is one without a past.

    Parameters
    ----------
    before
        Where conditions and periodicity come from.
    history
        The mesh.
    """

    #: What it is made again as from a file.
    described_as = Domain

    def __init__(self, before: Domain, history: History) -> None:
        super().__init__(history.mesh(), before.boundary, before.periodic)
        self._history = history

    @property
    def history(self) -> History:
        """Where its cells come from."""
        return self._history

    @property
    def levels(self) -> Index:
        """How often every cell was bisected, ``(C,)``."""
        node = self._history.leaves
        result = np.zeros(len(node), dtype=np.intp)
        while np.any(node >= 0):
            node = np.where(node >= 0, self._history.parents[node], -1)
            result += node >= 0
        return result


@dataclass(frozen=True, eq=False)
class MeshChange:
    """Two meshes, and which of their cells lie in each other.

    Pairs of cells, as many as the finer mesh has cells: the finer cell lies in the coarser one.

    Attributes
    ----------
    before, domain
        The domain, and the one that takes its place.
    old, new
        Cells ``(n,)`` of both meshes.
    places
        Corners of the finer cell in barycentric coordinates of the coarser one, ``(d + 1, d + 1, n)``: column
        k belongs to corner k, all numbers are multiples of powers of ½.
    finer
        Whether the new mesh is the finer one.
    """

    before: Domain
    domain: AdaptedDomain
    old: Index
    new: Index
    places: Array
    finer: bool

    @cached_property
    def shares(self) -> Array:
        """Volume of the finer cell over that of the coarser one, ``(n,)``: powers of ½, exactly."""
        determinants = np.abs(np.linalg.det(np.moveaxis(self.places, -1, 0)))
        return np.asarray(np.exp2(np.rint(np.log2(determinants))))

    def __repr__(self) -> str:
        return f"MeshChange({self.before.mesh().size} cells to {self.domain.mesh().size})"


def refine(domain: Domain, marked: ArrayLike | Sequence[int]) -> MeshChange:
    """Bisect the marked cells, and as many others as it takes to keep the mesh conforming.

    Cells are cut at their longest edges. Names of boundaries and subdomains, conditions and periodicity carry
    over; sides that are glued are cut alike. ``change.old`` are the parents, the old cell that holds each new
    one.

    Parameters
    ----------
    domain
        A domain with a mesh of lines, triangles or tetrahedra.
    marked
        Numbers of cells, in any order.

    Raises
    ------
    TypeError, ValueError
        For another domain or shape of cells, for numbers that are no cells, and for a period of one cell.
    """
    history = _history(domain)
    cells = checked_cells(marked, domain.mesh().size)
    new, origins, places = bisect(history, vertex_classes(domain.mesh()), cells)
    return MeshChange(domain, AdaptedDomain(domain, new), origins, np.arange(len(origins)), places, True)


def coarsen(domain: Domain, marked: ArrayLike | Sequence[int]) -> MeshChange:
    """Put marked cells together again to what they were before their last bisection, where all fit.

    Cells go back to their parent where every cell around the vertex between them is marked and comes from a
    bisection at that vertex; the others stay. One call undoes one bisection of a cell at most; cells of the
    first mesh always stay. ``change.new`` says which new cell holds each old one.

    Parameters
    ----------
    domain
        A domain as `refine` made it (any other one has nothing to undo).
    marked
        Numbers of cells, in any order.

    Raises
    ------
    TypeError, ValueError
        As `refine`.
    """
    history = _history(domain)
    cells = checked_cells(marked, domain.mesh().size)
    new, targets, places = merge(history, vertex_classes(domain.mesh()), cells)
    return MeshChange(domain, AdaptedDomain(domain, new), np.arange(len(targets)), targets, places, False)


def _history(domain: Domain) -> History:
    if isinstance(domain, AdaptedDomain):
        return domain.history
    if not isinstance(domain, Domain):
        raise TypeError(f"domain: expected a Domain with its own mesh, got {type(domain).__name__}")
    return first_history(domain.mesh())
