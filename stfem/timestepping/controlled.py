"""A run whose steps a control chooses, and the same run again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import Any

import numpy as np

from stfem.resumable import Grown, Resumable
from stfem.semidiscretization import SolveError
from stfem.timestepping.control import FIRST_PART, StepControl, StepSizeError
from stfem.timestepping.defect import nodes_for_order, temporal_defect
from stfem.timestepping.integrate import (
    DataError,
    Node,
    NonFiniteError,
    loaded_node,
    node_after,
    node_at,
    saved_nodes,
)
from stfem.timestepping.stepper import ODE, Array, Stepper

__all__ = ["ControlledSteps", "repeat", "times_of"]

#: Part of the tolerance that is kept for steps across jumps of the data in time: there a residual per unit of
#: time does not fall with the step, its integral does. Each such step may take half of what is left.
RESERVE = 0.1
#: Trials that are rejected within the span of one before a step there may take from the reserve.
JUMP_AFTER = 4
#: Times closer than this, relative to the final time, are one: rounding of sums of steps.
SAME_TIME = 64.0 * float(np.finfo(float).eps)


class ControlledSteps(Resumable):
    """Integration of du/dt = H + P with steps of a `StepControl`: iterating yields the nodes, once.

    A tenth of the tolerance is kept for jumps of the data in time: where several trials were rejected, ∫‖r‖
    over a step may take half of what is left of that, and interpolation starts anew behind it. Steps are
    equal parts of what is left where that is less than two of them, so that none is tiny and the last node is
    at the final time exactly.

    Parameters
    ----------
    ode, stepper
        See the protocols.
    initial
        Values at ``start``, copied.
    final_time
        Time of the last node.
    control
        Tolerance and limits.
    norm
        Of L² for states.
    largest
        Largest step, such as the limit of stability.
    start, duration
        First time, and what the tolerance is for, ``final_time − start`` by default: windows of one run share
        a tolerance.
    first
        First trial; by default the largest step or 1/64 of the duration.

    Attributes
    ----------
    sizes
        Steps that were accepted so far.
    proposed
        The step to go on with behind the last node.
    rejected
        Number of trials that were not.

    Raises
    ------
    ValueError
        For a largest step below the smallest one.
    StepSizeError, NonFiniteError, SolveError
        While iterating, where the smallest step still has too large a residual or fails.
    DataError
        While iterating, for data that are not usable at a time of the run.
    """

    PAST = ("sizes", "proposed", "rejected", "_reserve", "_again", "_cuts", "_passed")

    def __init__(
        self,
        ode: ODE,
        stepper: Stepper,
        initial: Array,
        final_time: float,
        control: StepControl,
        norm: Callable[[Array], float],
        largest: float = inf,
        *,
        start: float = 0.0,
        duration: float | None = None,
        first: float | None = None,
    ) -> None:
        self._ode, self._stepper, self._control, self._norm = ode, stepper, control, norm
        self._initial = np.array(initial, dtype=float)
        self._start, self._stop, self._largest = start, final_time, largest
        duration = final_time - start if duration is None else duration
        self._smallest, self._allowed = control.smallest * duration, (1.0 - RESERVE) * control.tol / duration
        self._reserve = RESERVE * control.tol * (final_time - start) / duration
        if not largest >= self._smallest:
            raise ValueError(
                f"expected a largest step of at least {self._smallest:g}, the smallest one, got {largest:g}"
            )
        self.sizes: list[float] = []
        self.proposed = min(FIRST_PART * duration if first is None else first, largest)
        self.rejected = 0
        # trials rejected before the end of the first of them
        self._again, self._cuts, self._passed = False, 0, start
        self._window: deque[Node] = deque(maxlen=nodes_for_order(stepper.order))

    @property
    def step(self) -> int:
        """Number of the last node."""
        return len(self.sizes)

    def past(self) -> dict[str, Any]:
        nodes = [*self._window]
        return super().past() | {"window": Grown(nodes, len(nodes), saved_nodes)}

    def go_on(self, past: Mapping[str, Any], node: Node) -> None:
        """Compute the nodes that follow on ``node``, the last one when the past was taken."""
        own = dict(past)
        before = [loaded_node(self._ode, saved) for saved in own.pop("window")]
        self.resume(own)
        self._window.extend([*before[:-1], node])

    def __iter__(self) -> Iterator[Node]:
        control, order, window = self._control, self._stepper.order, self._window
        if not window:
            window.append(node_at(self._ode, self._start, self._initial, 0))
            yield window[-1]
        while (node := window[-1]).time < self._stop:
            dt = self._fitted(node.time)
            after, defect, failure = self._trial(window, dt)
            seen = min(order, 2 * min(len(window) + 1, nodes_for_order(order)) - 1)
            jump = self._cuts >= JUMP_AFTER and self._allowed < defect <= 0.5 * self._reserve / dt
            proposed = control.propose(
                dt,
                defect,
                max(self._allowed, defect) if jump else self._allowed,
                seen,
                implicit=self._stepper.implicit,
                rejected=self._again,
            )
            if after is not None and (defect <= self._allowed or jump):
                if jump:
                    self._reserve -= dt * defect
                    window.clear()
                self.sizes.append(dt)
                self.proposed, self._again = min(proposed, self._largest), False
                window.append(after)
                self._cuts = self._cuts if after.time < self._passed else 0
                del after, node
                yield window[-1]
            else:
                self.rejected += 1
                if proposed < self._smallest:
                    step = len(self.sizes) + 1
                    raise failure or StepSizeError(node.time, step, dt, defect, self._allowed, control.tol)
                self._passed = self._passed if self._cuts else node.time + dt
                self.proposed, self._again, self._cuts = proposed, True, self._cuts + 1

    def _fitted(self, time: float) -> float:
        """The proposed step, or an equal part of what is left.

        The size that the last step had is kept where only rounding tells them apart: direct solvers then keep
        their factorisation.
        """
        left, same = self._stop - time, SAME_TIME * self._stop
        for size in (self.proposed, *self.sizes[-1:]):
            if size <= self.proposed and abs(left - size) <= same:
                return size
        if left < self.proposed:
            return left
        return 0.5 * left if left < 2.0 * self.proposed - same else self.proposed

    def _trial(
        self, window: Sequence[Node] | deque[Node], dt: float
    ) -> tuple[Node | None, float, Exception | None]:
        """A node after dt and its defect; infinite with the reason where there is none."""
        node, step = window[-1], len(self.sizes) + 1
        try:
            time = after_step(node.time, dt, self._stop)
            after = node_after(self._ode, self._stepper, node, dt, time, step)
            stencil = [*window, after][-nodes_for_order(self._stepper.order) :]
            # what overflows belongs to a step that is too large
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                defect = temporal_defect(self._ode, stencil, self._norm, self._allowed)
        except (NonFiniteError, SolveError) as error:
            return None, inf, error
        except DataError:
            raise
        except ValueError as error:
            raise DataError(error, node.time, step) from error
        return after, defect if isfinite(defect) else inf, None


def after_step(time: float, dt: float, final_time: float) -> float:
    """time + dt, the final time exactly where only rounding tells them apart."""
    after = time + dt
    return final_time if abs(final_time - after) <= SAME_TIME * final_time else after


def times_of(final_time: float, steps: int | Sequence[float] | Array) -> Array:
    """Times of the nodes of a run, of a number of equal steps or of given ones."""
    if isinstance(steps, int):
        return np.array([n * final_time / steps for n in range(steps)] + [final_time])
    times = [0.0]
    for dt in map(float, steps):
        times.append(after_step(times[-1], dt, final_time))
    return np.array(times)


def repeat(
    ode: ODE, stepper: Stepper, initial: Array, final_time: float, sizes: Sequence[float] | Array
) -> Iterator[Node]:
    """The nodes of a run with the steps of one before, bit for bit the same; no step is tried twice.

    Raises
    ------
    NonFiniteError, SolveError, DataError
        As `integrate`.
    """
    node = node_at(ode, 0.0, np.array(initial, dtype=float), 0)
    yield node
    for step, dt in enumerate(map(float, sizes), start=1):
        node = node_after(ode, stepper, node, dt, after_step(node.time, dt, final_time), step)
        yield node
