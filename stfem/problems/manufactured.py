"""Tools for problems whose solution is a trigonometric polynomial in space and time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from stfem.data import Trigonometric
from stfem.data.base import Array

__all__ = ["along", "fields", "initial_value", "pruned"]


def along(dim: int, direction: int) -> list[float]:
    """Wave vector 2π e_i."""
    return [2.0 * math.pi if i == direction else 0.0 for i in range(dim)]


def initial_value(u: Trigonometric) -> Trigonometric:
    """The field u(·, 0), independent of time."""
    return Trigonometric(u.wavevectors, np.zeros(len(u.frequencies)), u.amplitudes)


def fields(
    components: Sequence[Trigonometric],
) -> tuple[Callable[[Array, float], Array], Callable[[Array, float], Array]]:
    """Functions (x, t) -> u of shape (m, ...) and (x, t) -> ∇u of shape (d, m, ...)."""
    slopes = [[u.derivative(i) for u in components] for i in range(components[0].dim)]

    def exact(x: Array, t: float) -> Array:
        return np.stack([u(x, t) for u in components])

    def gradient(x: Array, t: float) -> Array:
        return np.stack([np.stack([slope(x, t) for slope in row]) for row in slopes])

    return exact, gradient


def pruned(u: Trigonometric, allowance: float) -> tuple[Trigonometric, float]:
    """Without the smallest terms, and the supremum bound of what they add, at most `allowance`."""
    size = np.abs(u.amplitudes)
    order = np.argsort(size)
    dropped = np.zeros(len(size), dtype=bool)
    dropped[order[np.cumsum(size[order]) <= allowance]] = True
    kept = Trigonometric(u.wavevectors[~dropped], u.frequencies[~dropped], u.amplitudes[~dropped])
    return kept, float(size[dropped].sum()) * (1.0 + 1e-12)
