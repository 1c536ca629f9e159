"""Tools for problems whose solution is a trigonometric polynomial in space and time."""

from __future__ import annotations

import math

import numpy as np

from stfem.data import Trigonometric

__all__ = ["along", "initial_value", "pruned"]


def along(dim: int, direction: int) -> list[float]:
    """Wave vector 2π e_i."""
    return [2.0 * math.pi if i == direction else 0.0 for i in range(dim)]


def initial_value(u: Trigonometric) -> Trigonometric:
    """The field u(·, 0), independent of time."""
    return Trigonometric(u.wavevectors, np.zeros(len(u.frequencies)), u.amplitudes)


def pruned(u: Trigonometric, allowance: float) -> tuple[Trigonometric, float]:
    """Without the smallest terms, and the supremum bound of what they add, at most `allowance`."""
    size = np.abs(u.amplitudes)
    order = np.argsort(size)
    dropped = np.zeros(len(size), dtype=bool)
    dropped[order[np.cumsum(size[order]) <= allowance]] = True
    kept = Trigonometric(u.wavevectors[~dropped], u.frequencies[~dropped], u.amplitudes[~dropped])
    return kept, float(size[dropped].sum()) * (1.0 + 1e-12)
