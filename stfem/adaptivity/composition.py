"""Several changes of a mesh, one after the other, as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stfem.adaptivity.refinement import MeshChange
from stfem.problems.bounded import Domain
from stfem.spaces.overlap import MeshOverlap

__all__ = ["overlap_of"]


def overlap_of(domain: Domain, changes: Sequence[MeshChange]) -> MeshOverlap:
    """What the meshes before the first and after the last change have in common.

    The finest of all meshes lies between the last refinement and the first coarsening: its cells are the
    common ones.

    Parameters
    ----------
    domain
        Before all changes.
    changes
        Refinements, then coarsenings, each of the domain that the one before left; none is a change to the
        same mesh.

    Raises
    ------
    ValueError
        For a refinement after a coarsening, and for a change of another domain.
    """
    mesh = domain.mesh()
    cells, width = np.arange(mesh.size), mesh.dim + 1
    same = np.repeat(np.eye(width)[:, :, None], mesh.size, axis=2)
    old, new, in_old, in_new = cells, cells, same, same
    current, finest = domain, True
    for change in changes:
        if change.before is not current:
            raise ValueError(f"changes: expected one of {current!r}, got one of {change.before!r}")
        if change.finer:
            if not finest:
                raise ValueError("changes: expected refinements before coarsenings, got one after")
            old, in_old = old[change.old], _within(in_old[:, :, change.old], change.places)
            new = np.arange(len(old))
            in_new = np.repeat(np.eye(width)[:, :, None], len(old), axis=2)
        else:
            finest = False
            new, in_new = change.new[new], _within(change.places[:, :, new], in_new)
        current = change.domain
    shares = np.abs(np.linalg.det(np.moveaxis(in_old, -1, 0)))
    shares = np.exp2(np.rint(np.log2(shares)))  # exactly: all are powers of ½
    return MeshOverlap(mesh, current.mesh(), old, new, in_old, in_new, shares)


def _within(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Places in places: corners of the inner cells in coordinates of what holds the outer ones."""
    return np.asarray(np.einsum("abn,bkn->akn", outer, inner))
