"""How fast characteristics diverge: what the dual problem's gradients may grow by (N10)."""

from __future__ import annotations

import numpy as np

from stfem.data import Data, Slab
from stfem.problems import Problem
from stfem.residual.growth import GrowthRate, data_range
from stfem.resumable import Resumable


class Expansion(Resumable):
    """L ≥ ∂_xb on slabs, b = ∫_0^1 f'(û + θ(u − û)) dθ.

    Zero for constant velocities. With a flux of degree 2, ∂_xb = ½f''(∂_xû + ∂_xu), and P =
    sup p_+, p = f''∂_xu, obeys P' ≤ −P² + sup|f''∂_xg| by the maximum principle for

        ∂_tp + f'(u)∂_xp = ε∂_xxp − p² + f''∂_xg .

    So without a source P(t) ≤ P(0)/(1 + P(0)t), as Oleinik's one-sided bound has it.

    Parameters
    ----------
    growth
        Rates of the equation.
    steepest
        (sup f''∂_xu_0)_+; None for constant velocities.
    slope
        ∂_xg; None where it vanishes.
    curvature
        |f''|.
    """

    PAST = ("_steepest",)

    def __init__(
        self, growth: GrowthRate, steepest: float | None, slope: Data | None, curvature: float
    ) -> None:
        self._growth, self._steepest, self._slope, self._curvature = growth, steepest, slope, curvature

    @classmethod
    def of(cls, problem: Problem, growth: GrowthRate) -> Expansion | None:
        """For scalar conservation laws in one dimension and data with known derivatives; None for others."""
        equation = problem.equation
        # in more dimensions |Ω|^{1/2} times the bound in L² does as well where the velocity is constant
        if equation.dim > 1 or equation.components > 1 or not equation.reaction.is_zero:
            return None
        if equation.linear:
            return cls(growth, None, None, 0.0) if all(b.constant for b in equation.velocity) else None
        if growth.slope is None:
            return None
        second = -float(growth.slope[0].gradient[0, 0])
        try:
            start = problem.initial[0].derivative(0)
            change = problem.source[0].derivative(0)
        except TypeError:
            return None
        ends = second * np.array(data_range(start, growth.grid))
        return cls(growth, max(0.0, float(ends.max())), None if change.is_zero else change, abs(second))

    def on(self, time: Slab) -> float:
        """L on a slab, the one for which rates were asked last; slabs come in the order of time."""
        if self._steepest is None:
            return 0.0
        largest = self._steepest
        if self._slope is None:
            self._steepest = largest / (1.0 + largest * time.duration)
        else:
            sup = self._curvature * self._slope.sup(time.start, time.stop, self._growth.grid.lengths)
            self._steepest = largest = largest + time.duration * sup
        return 0.5 * (largest + max(0.0, -self._growth.least))
