"""Convex sets of states on which the constants of an entropy hold."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stfem.data.base import Array

__all__ = ["StateSet"]

_TRIES = 1000


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
        lower, upper = (np.asarray(end, dtype=np.float64) for end in (self.lower, self.upper))
        if lower.ndim != 1 or lower.shape != upper.shape or not np.all(lower < upper):
            raise ValueError(f"state set: expected lower < upper, got {lower.tolist()}, {upper.tolist()}")
        rows = np.asarray(self.constraints, dtype=np.float64).reshape(-1, len(lower))
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

    def contains(self, states: Array) -> Array:
        """Whether states ``(m, …)`` lie in the set, up to round-off of the constraints."""
        shape = (-1, *(1,) * (states.ndim - 1))
        inside = (states >= self.lower.reshape(shape)) & (states <= self.upper.reshape(shape))
        products = np.tensordot(self.constraints, states, 1)
        return np.asarray(inside.all(axis=0) & (products >= -1e-14 * np.abs(states).max()).all(axis=0))

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Random states ``(m, count)``, some of them on the faces of the box; infinite ends are cut at ±1.

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
            kept.append(drawn[:, self.contains(drawn)])
            total += kept[-1].shape[1]
            if total >= count:
                return np.concatenate(kept, axis=1)[:, :count]
        raise ValueError("state set: expected constraints that leave a part of the box, got next to nothing")
