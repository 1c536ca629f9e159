"""Interval arithmetic on arrays: proved ranges of quotients and products of fields on cells (T4.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stfem.data.base import Array

__all__ = ["Interval"]

#: Outward widening of every operation, relative to the larger end; each rounds by half of eps = 2.2e-16.
WIDENING = 4.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Interval:
    """Sets [lower, upper], entry by entry; operations contain all values of what they operate on.

    Attributes
    ----------
    lower, upper : arrays of one shape, or numbers
    """

    lower: Array
    upper: Array

    @classmethod
    def of(cls, value: Interval | Array | float) -> Interval:
        """A number or an array as intervals of length zero."""
        if isinstance(value, Interval):
            return value
        array = np.asarray(value, dtype=np.float64)
        return cls(array, array)

    @classmethod
    def stack(cls, parts: Sequence[Interval]) -> Interval:
        """Intervals of one shape on a new first axis."""
        return cls(np.stack([part.lower for part in parts]), np.stack([part.upper for part in parts]))

    def __getitem__(self, index: int) -> Interval:
        return Interval(self.lower[index], self.upper[index])

    @property
    def midpoint(self) -> Array:
        """Centres."""
        return np.asarray(0.5 * (self.lower + self.upper))

    @property
    def radius(self) -> Array:
        """Distances of the ends from `midpoint`, rounded up."""
        widest = np.maximum(np.abs(self.lower), np.abs(self.upper))
        return np.asarray(0.5 * (self.upper - self.lower) + WIDENING * widest)

    @property
    def magnitude(self) -> Array:
        """Largest |x|."""
        return np.asarray(np.maximum(np.abs(self.lower), np.abs(self.upper)))

    def __neg__(self) -> Interval:
        return Interval(-self.upper, -self.lower)

    def __add__(self, other: Interval | Array | float) -> Interval:
        term = Interval.of(other)
        return _widened(self.lower + term.lower, self.upper + term.upper)

    def __sub__(self, other: Interval | Array | float) -> Interval:
        return self + (-Interval.of(other))

    def __mul__(self, other: Interval | Array | float) -> Interval:
        factor = Interval.of(other)
        products = [a * b for a in (self.lower, self.upper) for b in (factor.lower, factor.upper)]
        return _widened(np.minimum.reduce(products), np.maximum.reduce(products))

    def __truediv__(self, other: Interval | Array | float) -> Interval:
        """Quotient by intervals of positive numbers.

        Raises
        ------
        ValueError
            Where the divisor may be zero or negative.
        """
        divisor = Interval.of(other)
        if not np.all(divisor.lower > 0.0):
            raise ValueError(f"divisor: expected positive intervals, got one from {divisor.lower.min()}")
        return self * _widened(1.0 / divisor.upper, 1.0 / divisor.lower)

    def square(self) -> Interval:
        """x², not below zero."""
        inside = (self.lower < 0.0) & (self.upper > 0.0)
        ends = self.lower**2, self.upper**2
        squares = _widened(np.where(inside, 0.0, np.minimum(*ends)), np.maximum(*ends))
        return Interval(np.maximum(squares.lower, 0.0), squares.upper)

    def power(self, exponent: float) -> Interval:
        """x^s of positive intervals."""
        ends = self.lower**exponent, self.upper**exponent
        return _widened(np.minimum(*ends), np.maximum(*ends))

    def sum(self) -> Interval:
        """Sum over the first axis."""
        total = self[0]
        for part in range(1, len(self.lower)):
            total = total + self[part]
        return total


def _widened(lower: Array, upper: Array) -> Interval:
    slack = WIDENING * np.maximum(np.abs(lower), np.abs(upper))
    return Interval(lower - slack, upper + slack)
