"""Convex potentials W with W'' = a ξ^s: mean curvatures and their ranges (C13)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stfem.data import Interval
from stfem.data.base import Array

__all__ = ["PowerPotential"]


@dataclass(frozen=True)
class PowerPotential:
    """W on ξ > 0 with W''(ξ) = a ξ^s, a > 0, and W(1) = W'(1) = 0.

    Attributes
    ----------
    coefficient
        a.
    exponent
        s.
    """

    coefficient: float
    exponent: float

    def value(self, xi: Array) -> Array:
        """W(ξ)."""
        a, s = self.coefficient, self.exponent
        if s == -1.0:
            return np.asarray(a * (xi * np.log(xi) - xi + 1.0))
        if s == -2.0:
            return np.asarray(a * (xi - 1.0 - np.log(xi)))
        return np.asarray(a * ((xi ** (s + 2.0) - 1.0) / (s + 2.0) - (xi - 1.0)) / (s + 1.0))

    def slope(self, xi: Array) -> Array:
        """W'(ξ)."""
        a, s = self.coefficient, self.exponent
        return np.asarray(a * (np.log(xi) if s == -1.0 else (xi ** (s + 1.0) - 1.0) / (s + 1.0)))

    def curvature(self, xi: Array) -> Array:
        """W''(ξ)."""
        return np.asarray(self.coefficient * xi**self.exponent)

    def derivative_bound(self, order: int, lower: float, upper: float) -> float:
        """Largest |W^(order)| on [lower, upper], order ≥ 2."""
        factor, power = self.coefficient, self.exponent
        for _ in range(order - 2):
            factor, power = abs(factor * power), power - 1.0
        return float(factor * max(lower**power, upper**power))

    def curvature_range(self, lower: float, upper: float) -> tuple[float, float]:
        """Smallest and largest W'' on [lower, upper]."""
        ends = float(self.curvature(np.asarray(lower))), float(self.curvature(np.asarray(upper)))
        return min(ends), max(ends)

    def mean_curvature(self, hat: Interval, lower: float, upper: float) -> Interval:
        """Ranges of 2W(ξ|ξ̂)/(ξ − ξ̂)² over ξ in [lower, upper] and ξ̂ in ``hat``.

        It is the mean of W'' with the weight 2(1 − t) at ξ̂ + t(ξ − ξ̂), whose centre is (2ξ̂ + ξ)/3. By
        Jensen's inequality it lies between W'' there and (2W''(ξ̂) + W''(ξ))/3, in the order that the
        convexity of W'' tells; both are monotone in ξ and ξ̂.
        """
        end = Interval(np.full_like(hat.lower, lower), np.full_like(hat.upper, upper))
        centre = ((hat * 2.0 + end) * (1.0 / 3.0)).power(self.exponent) * self.coefficient
        chord = (hat.power(self.exponent) * 2.0 + end.power(self.exponent)) * (self.coefficient / 3.0)
        if 0.0 < self.exponent < 1.0:  # W'' is concave
            return Interval(chord.lower, centre.upper)
        return Interval(centre.lower, chord.upper)
