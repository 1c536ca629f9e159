"""Integration over a time interval as a stream of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

import numpy as np

from stfem.checks import checked_number, described, real_array
from stfem.failures import SolverError
from stfem.resumable import Resumable, laid_out, taken_back
from stfem.semidiscretization import SolveError
from stfem.timestepping.stepper import ODE, Array, Stepper, Writing


@dataclass(frozen=True, eq=False)
class Node:
    """The discrete solution at one time and its rate of change: t_n, U_n, F_n = H(t_n,U_n) + P(t_n,U_n) (T2).

    The arrays are read-only.  ``acceleration`` is d²U/dt²(t_n) = dF/dt, where a consumer has added it.
    """

    time: float
    values: Array
    rate: Array
    acceleration: Array | None = None


class NonFiniteError(SolverError, FloatingPointError):
    """The run produced an infinite value or a NaN; ``time`` and ``step`` say where it was found first."""

    def __init__(self, quantity: str, time: float, step: int) -> None:
        super().__init__(
            f"the {quantity} is not finite at time {time:.17g} (step {step})",
            time=time,
            step=step,
            advice="the run is unstable (a smaller time step may help), its data are not finite there, or "
            "its values are so large (beyond 1e150) that squares of them are not finite",
        )


class DataError(SolverError, ValueError):
    """Data turned out to be unusable in the middle of a run, such as a source that is not finite.

    What they were found to be is in the message, and in the ValueError that it comes from.
    """

    def __init__(self, error: ValueError, time: float, step: int) -> None:
        super().__init__(f"{error} (in step {step}, from time {time:.17g})", time=time, step=step)


def number_of_steps(final_time: float, dt: float) -> int:
    """Return the smallest number of equal steps from 0 to final_time that are not longer than dt.

    A step may exceed ``dt`` by a relative 1e-10, for rounding.  An infinite ``dt`` asks for one step.

    Raises
    ------
    ValueError
        ``final_time`` or ``dt`` is not positive, or the number of steps is beyond 1e12.
    """
    final_time = checked_number("final_time", final_time, "a positive finite final time", 0.0)
    if final_time == 0.0:
        raise ValueError(f"expected a positive finite final time, got {final_time}")
    if not checked_number("dt", dt, "a positive time step", -inf, inf) > 0.0:
        raise ValueError(f"expected a positive time step, got {dt}")
    dt = float(dt)
    # Rounding in final_time/dt must not cost a step: 0.3/0.1 needs 3, and a ratio just above a whole number
    # that one.
    steps = final_time / dt * (1 - 1e-10)
    if steps > 1e12:
        raise ValueError(f"expected at most 1e12 steps, got final time {final_time} with time step {dt}")
    return max(1, ceil(steps))


class Integration(Resumable, Iterator[Node]):
    """The nodes of du/dt = H + P, computed one after the other as they are asked for, see `integrate`.

    A step depends on the node it starts from alone, so that a run goes on from any of its nodes as if it had
    never stopped: bit for bit where the stepper keeps nothing from one step to the next.

    Attributes
    ----------
    step
        Number of the last node that was asked for, −1 before the first.
    steps
        Number of the last node of the run, N.
    """

    PAST = ("step",)

    def __init__(
        self,
        ode: ODE,
        stepper: Stepper,
        initial: Array,
        final_time: float,
        dt: float,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.step, self.steps = -1, number_of_steps(final_time, dt)
        self._ode, self._stepper, self._final_time = ode, stepper, final_time
        if progress is not None and not callable(progress):
            raise TypeError(f"progress: expected a function of (n, N), got {described(progress)}")
        self._progress = progress
        self._nodes = self._all(real_array(initial, "initial"))

    def __iter__(self) -> Iterator[Node]:
        return self

    def __next__(self) -> Node:
        node = next(self._nodes)
        self.step += 1
        return node

    def go_on(self, past: Mapping[str, Any], node: Node) -> None:
        """Compute the nodes that follow on ``node``, the last one when the past was taken."""
        self.resume(past)
        self._nodes = self._after(node, self.step)

    def _all(self, values: Array) -> Iterator[Node]:
        first = [node_at(self._ode, 0.0, values, 0)]
        del values
        self._report(0)
        yield first[0]
        yield from self._after(first.pop(), 0)  # not held any longer than its successors are

    def _after(self, node: Node, last: int) -> Iterator[Node]:
        # The same dt in every step (not the difference of the times, which varies by rounding) lets direct
        # solvers keep their factorisation.
        steps, final_time = self.steps, self._final_time
        dt = final_time / steps
        for n in range(last + 1, steps + 1):
            time = final_time if n == steps else n * final_time / steps
            node = node_after(self._ode, self._stepper, node, dt, time, n)
            self._report(n)
            yield node

    def _report(self, n: int) -> None:
        if self._progress is not None:
            self._progress(n, self.steps)


def integrate(
    ode: ODE,
    stepper: Stepper,
    initial: Array,
    final_time: float,
    dt: float,
    progress: Callable[[int, int], None] | None = None,
) -> Integration:
    """Integrate du/dt = H + P from t = 0 to ``final_time`` and yield all N + 1 nodes, one after the other.

    Parameters
    ----------
    ode, stepper : see the protocols.
    initial : U_0, copied.
    final_time : the time of the last node, exactly.
    dt : upper limit of the step; the steps are equal, T/N with N = ``number_of_steps(final_time, dt)``.
    progress : called as ``progress(n, N)`` when node n has been computed.

    Raises
    ------
    NonFiniteError
        a value or a rate is infinite or NaN; raised for the first such node, instead of yielding it.
    SolveError
        an implicit step whose system was not solved, with its time and number.
    DataError
        data that are not usable at a time of the run.
    ValueError
        from ``number_of_steps``, at the call.
    """
    return Integration(ode, stepper, initial, final_time, dt, progress)


def saved_nodes(nodes: Sequence[Node]) -> tuple[dict[str, Any], ...]:
    """Nodes as plain data: times and values, of which the rest follows."""
    return tuple({"time": node.time, **laid_out(node.values)} for node in nodes)


def loaded_node(ode: ODE, saved: Mapping[str, Any]) -> Node:
    """A node again, bit for bit."""
    return node_at(ode, saved["time"], taken_back(saved), 0)


def node_after(ode: ODE, stepper: Stepper, node: Node, dt: float, time: float, step: int) -> Node:
    """The node at a time that a step of some number leads to.

    Raises
    ------
    NonFiniteError, SolveError, DataError
        As `integrate`.
    """
    # Overflow is reported as NonFiniteError; the state of the caller is not touched between nodes.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            return node_at(ode, time, stepper.step(ode, node.time, node.values, dt, node.rate), step)
        except SolveError as error:
            raise SolveError(error.what, error.residual, node.time, step) from error
        except ValueError as error:
            raise DataError(error, node.time, step) from error


def node_at(ode: ODE, time: float, values: Array, step: int) -> Node:
    """The node with values at a time, which is that of a step: evaluates the rate and checks both arrays.

    Raises
    ------
    NonFiniteError
        For values or rates that are infinite or NaN.
    """
    _require_finite(values, "solution", time, step)
    values = _read_only(values)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        rate = np.empty(values.shape)
        Writing(ode).rhs(time, values, rate)
    _require_finite(rate, "rate of change of the solution", time, step)
    return Node(time, values, _read_only(rate))


def _require_finite(values: Array, quantity: str, time: float, step: int) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    # A finite sum has finite terms; only an infinite one needs the full look (it may be a mere overflow).
    if not np.isfinite(total) and not np.isfinite(values).all():
        raise NonFiniteError(quantity, time, step)


def _read_only(values: Array) -> Array:
    view = values.view()
    view.flags.writeable = False
    return view
