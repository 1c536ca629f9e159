"""Bounds in L¹: the residual against solutions of the dual problem (T4.4, N10). Pure numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stfem.residual.levels import ResidualLevels
from stfem.spaces.stencil import Array


@dataclass(frozen=True)
class SlabL1:
    """What a slab says about the error in L¹.

    Attributes
    ----------
    duration
        Δt.
    size
        ∫_slab ‖R‖_{L¹}.
    remainder
        The part of it that is known as a whole only.
    levels
        The rest by scales, where it may be measured in a dual norm.
    expansion
        L ≥ ∂_xb, b the mean of f' between û and u; infinite where it is not known.
    """

    duration: float
    size: float
    remainder: float
    levels: ResidualLevels | None
    expansion: float


def packed(slabs: Sequence[SlabL1]) -> Array:
    """Slabs as rows of numbers: duration, size, remainder, expansion, and the levels as far as there are."""
    rows = [
        [
            *(slab.duration, slab.size, slab.remainder, slab.expansion),
            *([] if slab.levels is None else [slab.levels.within, slab.levels.reach]),
            *([] if slab.levels is None else [*slab.levels.plain, *slab.levels.dual]),
        ]
        for slab in slabs
    ]
    table = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for entries, row in zip(table, rows, strict=True):
        entries[: len(row)] = row
    return table


def unpacked(table: Array) -> list[SlabL1]:
    """The slabs of `packed`: those with levels have as many."""
    slabs = []
    for duration, size, remainder, expansion, *more in table.tolist():
        levels = None
        if more and not np.isnan(more[0]):
            plain, dual = np.split(np.array(more[2:]), 2)
            levels = ResidualLevels(more[0], more[1], plain, dual)
        slabs.append(SlabL1(duration, size, remainder, levels, expansion))
    return slabs


def dual_bound(initial: float, slabs: Sequence[SlabL1]) -> float:
    """‖e(0)‖_{L¹} + Σ_n Σ_l min(1, reach_l/√α) ∫‖R_l‖_{L¹}, with α the least on the slab (N10).

    Back from the final time α' = 2 − 2Lα, α = 0 there.
    """
    total, alpha = initial, 0.0
    for slab in reversed(slabs):
        before, alpha = alpha, _backward(alpha, slab.expansion, slab.duration)
        least = min(before, alpha)
        cost = slab.size
        if slab.levels is not None and least > 0.0:
            cost = min(cost, slab.levels.cost(1.0 / float(np.sqrt(least))) + slab.remainder)
        total += cost
    return total


def _backward(alpha: float, expansion: float, duration: float) -> float:
    """α at the start of a slab from that at its end; it is monotone in between."""
    if not np.isfinite(expansion):
        return 0.0
    x = 2.0 * expansion * duration
    gained = 2.0 * duration * (-np.expm1(-x) / x if x > 0.0 else 1.0)
    return float(alpha * np.exp(-x) + gained)
