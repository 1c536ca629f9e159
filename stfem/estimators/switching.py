"""Choices slab by slab: the way to measure, and the reconstruction, where the distance counts (T4.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stfem.residual import SlabNorms

if TYPE_CHECKING:
    from stfem.estimators.mesh_pass import MeshPass

__all__ = ["cheapest", "switch"]


def cheapest(norms: Sequence[SlabNorms], level: float) -> tuple[SlabNorms, int]:
    """The way with the smallest α + √(z² + β) (T4.2), and its number."""
    costs = [
        entry.alpha(0.0) + float(np.hypot(level, np.sqrt(0.5 * entry.flux_total(0.0)))) for entry in norms
    ]
    best = int(np.argmin(costs))
    return norms[best], best


def switch(passes: Sequence[MeshPass]) -> None:
    """After a slab: every pass goes on from another, where this lowers its bounds.

        z ← min(z, z' + ‖û − û'‖),   where sup z' and the new z are at most sup z as well.

    z' is that of another û' at the same time, whose way to this time is then the common one. So the smallest
    bound at the end is that of the cheapest sequence of reconstructions, among those whose suprema allow it;
    never one above that of the best reconstruction alone. Boundary data missed by either count at a switch.

    Cost: norms of differences, for those whose bound is not the smallest.

    Parameters
    ----------
    passes
        At the same time, on the same cells; without layers, whose distances are not computed.
    """
    for one in passes:
        for other in passes:
            _try(one, other)


def _try(one: MeshPass, other: MeshPass) -> None:
    mine, theirs = one.state, other.state
    if mine is None or theirs is None or not (theirs.final < mine.final and theirs.bound <= mine.bound):
        return
    distance = _distance(one, other) + one.missed_end + other.missed_end
    moved = theirs.moved(distance)
    if moved.final < mine.final and moved.bound <= mine.bound:
        one.state, one.rows = moved, [*other.rows]
        one.errors.go_on_from(other.errors)
        one.hyperbolic, one.parabolic = other.hyperbolic.copy(), other.parabolic.copy()
        one.carried, one.earlier, one.jump = other.carried, other.earlier, other.jump
        one.first_sq, one.latest_sq = other.first_sq, other.latest_sq
        one.l1 = other.l1 + float(np.sqrt(one.measure)) * distance
        one.missed = max(one.missed, other.missed)
        one.residual.missed_sup += other.residual.missed_sup
        one.residual.missed_flux_sq += other.residual.missed_flux_sq
        one.switches = other.switches + 1
        one.inherited = tuple(dict.fromkeys((*one.inherited, *other.unproved)))


def _distance(one: MeshPass, other: MeshPass) -> float:
    """‖û − û'‖ at the end of the last slab, integrated exactly."""
    spaces = [entry.reconstruction.target for entry in (one, other)]
    mesh, degree = spaces[0].mesh, max(space.degree for space in spaces)
    # on cells that are not affine the determinant is a polynomial as well
    points, weights = mesh.reference.quadrature(2 * degree + (0 if mesh.affine else mesh.dim))
    fields = []
    for entry, space in zip((one, other), spaces, strict=True):
        if entry.last is None:
            raise ValueError("passes: expected some that took a slab, got one that did not")
        fields.append(space.values(entry.last.at(1.0, entry.last.state), points))
    density = weights[:, None] * mesh.cell_map(points).determinant
    return float(np.sqrt((density * (fields[0] - fields[1]) ** 2).sum()))
