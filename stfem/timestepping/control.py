"""Step sizes from the temporal part of the residual (T2): the controller, which knows numbers only."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import ceil, floor, inf, isfinite, log

from stfem.failures import SolverError
from stfem.problems.arguments import checked_number

__all__ = ["StepControl", "StepSizeError"]

#: First trial, as a part of the run: it may be rejected like any other.
FIRST_PART = 1.0 / 64.0


class StepSizeError(SolverError):
    """No step above the smallest one meets the tolerance.

    Attributes
    ----------
    time, step
        Beginning and number of the step.
    dt, defect, allowed
        Its last trial: size, temporal part of the residual, and what that may be, both per unit of time.
    """

    def __init__(self, time: float, step: int, dt: float, defect: float, allowed: float, tol: float) -> None:
        super().__init__(
            f"step {step}, which begins at time {time:.17g}: expected a temporal residual of at most "
            f"{allowed:.3g} per unit of time for the tolerance {tol:g}, got {defect:.3g} with a step of "
            f"{dt:.3g}, and smaller ones are not allowed",
            time=time,
            step=step,
            advice="a larger tolerance may help (the rounding of the solution over the step is the least "
            "that can be asked for), or data that are smoother in time",
        )
        self.dt, self.defect, self.allowed = dt, defect, allowed


@dataclass(frozen=True)
class StepControl:
    """Step sizes for a tolerance of the temporal part of the residual.

        ∫_0^T ‖dU^t/dt − H(t,U^t) − P(t,U^t)‖ dt ≤ tol,                                     (T2)

    U^t an interpolant in time of the numerical solution. Every step may have its share, tol·Δt/T; one with
    more is rejected and tried again with a smaller Δt. For the bounds of errors this is what the time
    stepping adds to them, but for their growth; they stay guaranteed whatever the steps are. The control
    looks at two points of a step and at its stages: data that change for a much shorter time, and are as
    before after it, may be missed (a largest step finds them).

    Parameters
    ----------
    tol
        Of the integral above, in the unit of u in L².
    safety
        Part of the predicted step that is used.
    growth, shrink
        Largest and smallest ratio of two steps, or trials, in a row.
    ratio
        Implicit steppers factorise for every new step: theirs change by powers of this ratio only, and are
        left alone in between.
    smallest
        Smallest step, relative to the final time.

    Raises
    ------
    TypeError, ValueError
        For what is not a number or out of range: expected are 0 < shrink ≤ 1/ratio < 1 < ratio ≤ growth and
        0 < safety < 1.
    """

    tol: float
    safety: float = 0.9
    growth: float = 2.0
    shrink: float = 0.1
    ratio: float = 2.0
    smallest: float = 1e-10

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            checked_number(entry.name, value, "a positive number", 0.0)
            if value <= 0.0:
                raise ValueError(f"{entry.name}: expected a positive number, got {value}")
        if self.safety >= 1.0:
            raise ValueError(f"safety: expected a number in (0, 1), got {self.safety}")
        if self.smallest >= FIRST_PART:
            raise ValueError(f"smallest: expected less than {FIRST_PART:g}, got {self.smallest}")
        if not self.shrink * self.ratio <= 1.0 < self.ratio <= self.growth:
            raise ValueError(
                "shrink, ratio, growth: expected shrink <= 1/ratio < 1 < ratio <= growth, "
                f"got {self.shrink}, {self.ratio}, {self.growth}"
            )

    def propose(
        self,
        dt: float,
        defect: float,
        allowed: float,
        order: int,
        *,
        implicit: bool = False,
        rejected: bool = False,
    ) -> float:
        """The step to try next; the one that was made is accepted if ``defect ≤ allowed``.

            Δt_new = Δt · safety · (allowed/defect)^{1/order}, within the limits of growth

        Parameters
        ----------
        dt
            Δt of the trial.
        defect, allowed
            `temporal_defect` of the trial, infinite where it failed, and what it may be, tol/T; both per unit
            of time.
        order
            Of the defect.
        implicit
            Whether a new step costs factorisations.
        rejected
            Whether the trial before was rejected: steps do not grow then.
        """
        if defect == 0.0:
            factor = inf
        else:
            factor = self.safety * (allowed / defect) ** (1.0 / order) if isfinite(defect) else 0.0
        factor = min(max(factor, self.shrink), self.growth)
        if implicit:
            power = max(floor(log(factor) / log(self.ratio)), ceil(-log(1.0 / self.shrink) / log(self.ratio)))
            # a step that was accepted is good enough
            factor = self.ratio ** (max(power, 0) if defect <= allowed else min(power, -1))
        return dt * (min(factor, 1.0) if rejected else factor)
