"""Meshes that may follow on a mesh: refined where they must be, and then coarsened where they may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stfem.adaptivity.refinement import MeshChange, coarsen, refine
from stfem.meshes.facets import Index
from stfem.problems.bounded import Domain

__all__ = ["Trial", "first_trial"]


@dataclass(frozen=True, eq=False)
class Trial:
    """A mesh made from another by refinements, up to a finest one, and coarsenings of that.

    In this order both have a common refinement, and what was coarsened too far comes back as it was.

    Attributes
    ----------
    refinements, coarsenings
        The changes, those of the first domain first.
    finest, domain
        After the former, and after all of them.
    levels
        How many bisections of the finest cells ``(F,)`` may be undone.
    inside
        Cell of the mesh that holds each of the finest ``(F,)``.
    """

    refinements: tuple[MeshChange, ...]
    coarsenings: tuple[MeshChange, ...]
    finest: Domain
    domain: Domain
    levels: Index
    inside: Index

    @property
    def changes(self) -> tuple[MeshChange, ...]:
        """All of them."""
        return (*self.refinements, *self.coarsenings)

    def refined(self, marked: Index) -> tuple[Trial, Index]:
        """A finer mesh, and which cell of this one holds each of its cells.

        Parameters
        ----------
        marked
            Cells of the mesh. Those that were put together fall apart again, others are bisected.
        """
        count = np.bincount(self.inside, minlength=self.domain.mesh().size)
        chosen = np.zeros(len(count), dtype=bool)
        chosen[marked] = True
        levels = np.where(chosen[self.inside], 0, self.levels)
        change = refine(self.finest, np.flatnonzero((chosen & (count == 1))[self.inside]))
        unchanged = np.bincount(change.old, minlength=len(levels)) == 1
        levels = np.where(unchanged, levels, 0)[change.old]
        result = _coarsened((*self.refinements, change), change.domain, levels)
        origins = np.empty(result.domain.mesh().size, dtype=np.intp)
        origins[result.inside] = self.inside[change.old]
        return result, origins

    def coarsened(self, levels: Index) -> Trial:
        """The finest mesh with as many bisections of its cells undone as these numbers and the mesh allow."""
        return _coarsened(self.refinements, self.finest, levels)


def first_trial(domain: Domain) -> Trial:
    """The mesh as it is."""
    cells = np.arange(domain.mesh().size)
    return Trial((), (), domain, domain, np.zeros_like(cells), cells)


def _coarsened(refinements: tuple[MeshChange, ...], finest: Domain, levels: Index) -> Trial:
    domain, inside, left = finest, np.arange(finest.mesh().size), levels
    changes: list[MeshChange] = []
    while np.any(left > 0):
        change = coarsen(domain, np.flatnonzero(left > 0))
        size = change.domain.mesh().size
        if size == len(left):
            break
        merged = np.bincount(change.new, minlength=size)[change.new] > 1
        above = np.full(size, np.iinfo(np.intp).max)
        np.minimum.at(above, change.new, np.where(merged, left - 1, left))
        changes.append(change)
        domain, inside, left = change.domain, change.new[inside], above
    return Trial(refinements, tuple(changes), finest, domain, levels, inside)
