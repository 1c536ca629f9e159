"""A tolerance spread over time: whether a run that goes on like this will be within it. Pure numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Spent"]

_BISECTIONS = 60


@dataclass(frozen=True)
class Spent:
    """What a window adds to a bound.

    Attributes
    ----------
    before, after
        The bound before and after it.
    linear
        Part in [0, 1] of what it adds that further windows add as well (the hyperbolic one, α of T4.2); the
        rest adds up under the root (β).
    windows
        Windows to come of the same length, this one included: the time that is left over that of a window.
    growth
        Factor by which errors will have grown at the end, if they grow as in this window.
    """

    before: float
    after: float
    linear: float
    windows: float
    growth: float = 1.0

    def within(self, tol: float) -> bool:
        """Whether a run that goes on like this keeps a tolerance."""
        return self.after <= tol and self.expected() <= tol

    def expected(self, factor: float = 1.0) -> float:
        """The bound at the end where every window, from this one on, adds so many times what this one does.

        What earlier windows have not spent is thereby left to later ones.
        """
        added = self.before + factor * self.windows * (self.after - self.before)
        squares = self.before**2 + factor**2 * self.windows * (self.after**2 - self.before**2)
        return self.growth * (self.linear * added + (1.0 - self.linear) * math.sqrt(max(squares, 0.0)))

    def factor(self, tol: float) -> float:
        """The largest factor with an expected bound of at most ``tol``; 0 where there is none, or inf."""
        if self.growth * self.before >= tol:
            return 0.0
        if not self.after > self.before:
            return math.inf
        low, high = 0.0, 1.0
        while self.expected(high) <= tol:
            low, high = high, 2.0 * high
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.expected(middle) <= tol else (low, middle)
        return low
