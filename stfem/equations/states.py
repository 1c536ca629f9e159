"""Convex sets of states on which the constants of an entropy hold."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stfem.checks import checked_array, checked_instance, checked_number, described, real_array
from stfem.data.base import Array

__all__ = ["StateSet", "positive_range", "positive_size"]

_TRIES = 1000
#: Densities, volumes and speeds are raised to powers of about ten.
_EXTREME = 1e12


def positive_range(lower: object, upper: object) -> tuple[float, float]:
    """Ends of the states of a density or a volume, far enough from 0 and ∞ for their high powers."""
    low, high = (checked_number("state set", end, "a number", -np.inf, np.inf) for end in (lower, upper))
    if not 0.0 < low < high < np.inf:
        raise ValueError(f"state set: expected 0 < lower < upper < inf, got [{lower}, {upper}]")
    if low < 1.0 / _EXTREME or high > _EXTREME:
        raise ValueError(
            f"state set: expected ends from {1.0 / _EXTREME:g} to {_EXTREME:g}, got [{lower}, {upper}]"
        )
    return low, high


def positive_size(name: str, value: object, kind: str) -> float:
    """A speed or a coefficient of the same range."""
    return checked_number(name, value, kind, 1.0 / _EXTREME, _EXTREME)


@dataclass(frozen=True, eq=False)
class StateSet:
    """𝒦 = { lower ≤ u ≤ upper, constraints · u ≥ 0 }: convex; Bernstein bounds can verify polynomials.

    Attributes
    ----------
    lower, upper : arrays of shape (m,)
        Ends of every component, ±inf where there are none.
    constraints : array of shape (k, m)
        Rows of linear inequalities.
    sentence : str
        What is assumed of the solution; empty for all of ℝ^m.

    Raises
    ------
    ValueError
        For an empty set, or arrays of the wrong shape.
    """

    lower: Array
    upper: Array
    constraints: Array = field(default_factory=lambda: np.zeros((0, 0)))
    sentence: str = ""

    def __post_init__(self) -> None:
        lower, upper = real_array(self.lower, "lower"), real_array(self.upper, "upper")
        if lower.ndim != 1 or lower.shape != upper.shape or not np.all(lower < upper):
            got = f"{described(lower.tolist())}, {described(upper.tolist())}"
            raise ValueError(f"state set: expected lower < upper, got {got}")
        if len(lower) == 0:
            raise ValueError("state set: expected at least one component, got none")
        rows = checked_array("constraints", self.constraints)
        if rows.size == 0:
            rows = rows.reshape(0, len(lower))
        if rows.ndim != 2 or rows.shape[1] != len(lower):
            raise ValueError(f"constraints: expected rows of {len(lower)} numbers, got shape {rows.shape}")
        checked_instance("sentence", self.sentence, str, "a sentence")
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "constraints", rows)
        if not self.sentence and self.limits:
            sentence = f"the solution stays between {lower.tolist()} and {upper.tolist()}"
            object.__setattr__(self, "sentence", sentence)

    @property
    def limits(self) -> bool:
        """Whether the set is not all of ℝ^m."""
        ends = np.concatenate([self.lower, self.upper])
        return bool(np.isfinite(ends).any()) or len(self.constraints) > 0

    def contains(self, states: Array) -> NDArray[np.bool_]:
        """Whether states ``(m, …)`` lie in the set, up to round-off of the constraints."""
        shape = (-1, *(1,) * (states.ndim - 1))
        inside = (states >= self.lower.reshape(shape)) & (states <= self.upper.reshape(shape))
        products = np.tensordot(self.constraints, states, 1)
        return np.asarray(inside.all(axis=0) & (products >= -1e-14 * np.abs(states).max()).all(axis=0))

    def _pulled(self, outside: Array, centre: Array) -> Array:
        """Points moved towards one inside, as far as constraints ask: extremes lie where they are zero."""
        at_centre, at_points = self.constraints @ centre, self.constraints @ outside
        beyond = at_points < 0.0
        drops = np.where(beyond, at_centre[:, None] - at_points, 1.0)
        share = np.min(np.where(beyond, at_centre[:, None] / drops, 1.0), axis=0)
        return np.asarray(centre[:, None] + share * (outside - centre[:, None]))

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Random states ``(m, count)``, some of them on the faces of the set; infinite ends are cut at ±1.

        Raises
        ------
        ValueError
            Where the constraints leave next to nothing of the box.
        """
        low = np.where(np.isfinite(self.lower), self.lower, np.minimum(-1.0, self.upper - 2.0))
        high = np.where(np.isfinite(self.upper), self.upper, np.maximum(1.0, low + 2.0))
        kept: list[Array] = []
        total = 0
        for _ in range(_TRIES):
            local = np.clip(rng.uniform(-0.1, 1.1, (len(low), 4 * count)), 0.0, 1.0)
            drawn = low[:, None] + (high - low)[:, None] * local
            inside = self.contains(drawn)
            kept.append(drawn[:, inside])
            total += kept[-1].shape[1]
            if len(self.constraints) and inside.any():
                kept.append(self._pulled(drawn[:, ~inside], kept[-1].mean(axis=1)))
            if total >= count:
                found = np.concatenate(kept, axis=1)
                return (
                    found[:, :count] if len(kept) == 1 else found[:, rng.permutation(found.shape[1])[:count]]
                )
        raise ValueError("state set: expected constraints that leave a part of the box, got next to nothing")
