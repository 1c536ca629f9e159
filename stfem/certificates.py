"""An estimate together with its solution, computed in one pass."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from stfem.checkpoints import Checkpoint
from stfem.estimators import Estimate
from stfem.estimators.estimate import attributes
from stfem.failures import SolverError
from stfem.running import Interruption, Recorder, Run, failed, until, with_steps
from stfem.solution import Solution
from stfem.timestepping import ControlledSteps, Node

__all__ = ["Certificate", "certified", "together"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Certificate(Estimate):
    """An estimate together with the solution it is about.

    Attributes
    ----------
    solution
        The numerical solution; all other attributes are those of `Estimate`.
    """

    solution: Solution

    @property
    def estimate(self) -> Estimate:
        """The estimate alone."""
        return Estimate(**attributes(self, Estimate))


def certified(
    run: Run, solution: Solution, estimator: Any, progress: bool, place: Checkpoint | None
) -> Certificate:
    """Solution and estimate in one pass, which may keep its states in a place.

    Parameters
    ----------
    run, solution
        What is to be computed, with U_0.
    estimator
        Consumes the nodes.
    progress
        Whether a progress bar is shown.
    place
        For the states of the run.

    Raises
    ------
    SolverError, InterruptedRunError
        With what was certified before; any other exception has that too.
    """
    started = time.perf_counter()
    result: Any = None
    last: Node | None = None
    with Interruption() as interruption:
        recorder = Recorder(run, progress, interruption)
        try:
            if place is None:
                result = estimator.run(solution.semidiscretization, iter(recorder), solution.stepper.order)
            else:
                result, before = place.run(estimator, recorder)
                started -= before
        except Exception as error:  # noqa: BLE001  (of the estimate, or of functions that it calls)
            if isinstance(error, SolverError):  # the residual overflows before the solution
                result, last = error.estimate, error.node
            if recorder.failure is None:
                recorder.failure = error
            elif recorder.count > 1:  # there was something to estimate
                recorder.failure.add_note(f"the estimate up to there came to no end: {error!r}")
        else:
            last = recorder.last
    solution = with_steps(solution, run)
    if isinstance(result, Estimate) and isinstance(run, ControlledSteps):
        result = replace(result, facts={**result.facts, "rejected_steps": run.rejected})
    if recorder.failure is None:
        return _up_to(result, solution, last, recorder, started)
    ended, certificate = until(solution, last), None
    if isinstance(result, Estimate) and ended is not None:
        certificate = _up_to(result, ended, last, recorder, started)
    raise failed(recorder.failure, solution, recorder.last, certificate)


def _up_to(
    result: Estimate, solution: Solution, last: Node | None, recorder: Recorder, started: float
) -> Certificate:
    """Estimate and solution together, up to a node, with the times that both took."""
    solution = solution if last is None else replace(solution, values=last.values)
    facts = {
        **result.facts,
        **solution.facts,
        "seconds_solve": recorder.seconds,
        "seconds_estimate": time.perf_counter()
        - started
        - recorder.seconds
        - result.facts.get("seconds_true_error", 0.0),
    }
    return together(replace(result, facts=facts), solution)


def together(estimate: Estimate, solution: Solution) -> Certificate:
    """A certificate of its parts."""
    return Certificate(**attributes(estimate, Estimate), solution=solution)
