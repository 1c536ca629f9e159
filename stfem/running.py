"""A run that is watched: what it has reached when it fails, or is interrupted from the keyboard."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Any

import numpy as np
from tqdm import tqdm

from stfem.checks import checked_flag
from stfem.failures import InterruptedRunError, SolverError
from stfem.solution import Solution
from stfem.timestepping import ControlledSteps, Integration, Node, NonFiniteError, diagnosed

__all__ = ["Interruption", "Recorder", "Run", "failed", "until", "with_steps"]

#: The nodes of a run that is computed for the first time.
Run = Integration | ControlledSteps


class Interruption:
    """Takes note of the first Ctrl-C inside of a ``with`` block; the next one interrupts at once.

    Only in the main thread, and where nobody else listens to the signal.

    Attributes
    ----------
    asked
        Whether the run is to end.
    """

    def __init__(self) -> None:
        self.asked = False
        self._listens = False

    def __enter__(self) -> Interruption:
        alone = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if alone and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._ask)
            self._listens = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_listening()

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        self._stop_listening()

    def _stop_listening(self) -> None:
        if self._listens:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._listens = False


class Recorder:
    """Passes nodes on until the run ends, fails or is interrupted.

    An estimator sees a run that ends early: what it says holds up to the last node.

    Parameters
    ----------
    run
        Computes them.
    progress
        Whether a progress bar is shown.
    interruption
        Whether the run is to end.

    Attributes
    ----------
    last, count
        The last node, None before the first, and how many there were.
    seconds
        Time that computing them took.
    failure
        Why there are no more: what was raised where they are computed, functions of the user included.
    """

    def __init__(self, run: Run, progress: bool, interruption: Interruption) -> None:
        self._run, self._interruption = run, interruption
        self._progress = checked_flag("progress", progress)
        self.last: Node | None = None
        self.count = 0
        self.seconds = 0.0
        self.failure: Exception | InterruptedRunError | None = None

    def past(self) -> dict[str, Any]:
        """What is to be known besides the last node, to go on after it."""
        return {"nodes": self._run.past(), "seconds": self.seconds}

    def go_on(self, past: Mapping[str, Any], node: Node) -> None:
        """Pass on the nodes that follow on one of an earlier session."""
        self._run.go_on(past["nodes"], node)
        self.last, self.count, self.seconds = node, self._run.step + 1, past["seconds"]

    def stop(self, failure: Exception) -> None:
        """There are no more nodes, for a reason of somebody else; an interrupt goes first."""
        if not self._interruption.asked:
            self.failure = failure

    def __iter__(self) -> Iterator[Node]:
        nodes = iter(self._run)
        if self._progress:  # how many steps a control will take is not known before
            total = self._run.steps + 1 if isinstance(self._run, Integration) else None
            nodes = iter(tqdm(nodes, total=total, initial=self.count, unit="node", leave=False))
        while True:
            if self.failure is None and self.last is not None and self._interruption.asked:
                self.failure = InterruptedRunError(self.last.time)
            if self.failure is not None:
                return
            started = time.perf_counter()
            try:
                node = next(nodes, None)
            except Exception as error:  # noqa: BLE001  (whatever it is, what was before is kept)
                self.failure = error
                return
            finally:
                self.seconds += time.perf_counter() - started
            if node is None:
                return
            self.last = node
            self.count += 1
            yield node


def failed(
    failure: Exception | InterruptedRunError,
    solution: Solution,
    last: Node | None,
    certificate: Any = None,
) -> Exception | InterruptedRunError:
    """What a run raises: the failure, diagnosed, with the results up to it.

    Any other exception than those of the package stays the object that it is; it gets ``solution`` and
    ``certificate``, and a note.

    Parameters
    ----------
    failure
        Why the run ended.
    solution
        What was to be computed.
    last
        The last finite node.
    certificate
        Up to that node or an earlier one.
    """
    error = failure
    if isinstance(failure, NonFiniteError):
        step = solution.problem.final_time / solution.steps if solution.sizes is None else 0.0
        if solution.sizes is not None and last is not None and failure.time is not None:
            step = failure.time - last.time  # the last one that was tried
        with suppress(Exception):  # functions of the user are asked again, and may fail once more
            error = diagnosed(
                failure, solution.semidiscretization, solution.stepper, step, solution.initial, last
            )
            error.__cause__ = None if error is failure else failure
    reached = until(solution, last)
    if isinstance(error, (SolverError, InterruptedRunError)):
        error.solution, error.certificate = reached, certificate
        return error
    vars(error).update(solution=reached, certificate=certificate)
    if reached is not None:
        kept = "solution" if certificate is None else "solution and certificate"
        error.add_note(
            f"the run had reached time {reached.time:.17g}: this exception has its {kept} up to then"
        )
    return error


def with_steps(solution: Solution, run: Run) -> Solution:
    """The solution with the steps that a control has chosen so far."""
    return replace(solution, sizes=np.array(run.sizes)) if isinstance(run, ControlledSteps) else solution


def until(solution: Solution, node: Node | None) -> Solution | None:
    """The solution of a run that ends at a node; None at its beginning."""
    if node is None or node.time <= 0.0:
        return None
    problem = replace(solution.problem, final_time=node.time)
    if solution.sizes is not None:
        taken = solution.sizes[: int(np.searchsorted(solution.times, node.time))]
        return replace(solution, problem=problem, values=node.values, sizes=taken)
    step = solution.problem.final_time / solution.steps
    return replace(solution, problem=problem, dt=step, values=node.values)
