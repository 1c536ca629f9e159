"""Time levels that were computed elsewhere, in place of a time stepping."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stfem.checks import checked_flag, checked_whole, float_array
from stfem.spaces.stencil import Array
from stfem.timestepping import ODE

__all__ = ["RecordedLevels"]


@dataclass(frozen=True, eq=False, repr=False)
class RecordedLevels:
    """A stepper that returns given time levels, one after the other.

    An estimate measures how well they satisfy the equation (T3); it needs no more of their origin than the
    order, which chooses the interpolation in time and is no part of any proof.

    Attributes
    ----------
    levels
        Modes ``(steps + 1, m, q+1, …, N…)`` at equal steps.
    order
        Order of the method that computed them.
    """

    levels: Array
    order: int = 1
    implicit: bool = False

    def __post_init__(self) -> None:
        levels = float_array(self.levels, "levels")
        if levels.ndim < 2 or len(levels) < 2:
            raise ValueError(f"levels: expected two levels or more, got shape {levels.shape}")
        object.__setattr__(self, "levels", levels)
        checked_whole("order", self.order, 1)
        checked_flag("implicit", self.implicit)

    def step(self, ode: ODE, t: float, u: Array, dt: float, rate: Array, /) -> Array:
        """The level after time t."""
        return np.asarray(self.levels[round(t / dt) + 1])

    def __repr__(self) -> str:
        return f"RecordedLevels({len(self.levels)} levels, order={self.order})"
