"""Runs that go on from a file: what they have reached is kept there from time to time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from stfem.arguments import check_methods
from stfem.checks import described
from stfem.estimators import Estimate
from stfem.estimators.estimate import attributes
from stfem.estimators.run import SlabRun
from stfem.resumable import Grown, laid_out, resolved, taken_back
from stfem.running import Recorder
from stfem.solution import Solution
from stfem.timestepping import Node, loaded_node, saved_nodes

__all__ = ["EVERY", "Checkpoint"]

#: Wall time between two checkpoints, in seconds.
EVERY = 60.0


class Checkpoint:
    """Where the state of a run is kept, so that the same call goes on from it.

    Parameters
    ----------
    path
        A file; the one before it gets the ending ``.previous``.
    every
        Wall time between two of them, in seconds.
    call, solution, estimator, control
        What is computed: the name of the function, its scheme with U_0, its estimator, and what chooses its
        steps.

    Raises
    ------
    TypeError, ValueError
        For a time that is no number or negative, and for the checkpoint of another run.
    OSError
        Where nothing can be written; in the middle of a run it has what was reached.
    """

    def __init__(
        self,
        path: str | Path,
        every: float,
        call: str,
        solution: Solution,
        estimator: object = None,
        control: object = None,
    ) -> None:
        from stfem.io.checkpoint import CheckpointFile, identity

        if estimator is not None:
            check_methods("checkpoint", estimator, "an estimator with a method begin", "begin")
        if isinstance(every, (bool, np.bool_)) or not isinstance(every, (int, float, np.number)):
            raise TypeError(f"every: expected a number of seconds, got {every!r}")
        if not every >= 0.0:
            raise ValueError(f"every: expected a number of seconds, not below 0, got {every}")
        self._file = CheckpointFile(path, identity(call, solution, estimator, control))
        self._solution = solution
        saved = self._file.load() or {}
        self._past, self._finished = saved.get("past"), saved.get("finished")
        self._every, self._due = every, time.monotonic() + every
        self._latest: Mapping[str, Any] | None = None  # not written yet
        self._begun = False
        self._unwritten: OSError | None = None

    def _take(self, past: Mapping[str, Any], recorder: Recorder) -> None:
        """A state that a run may go on from; it is written when the time has come.

        Where that cannot be done, the run ends with what it has.
        """
        self._latest, self._begun = past, True
        if time.monotonic() >= self._due:
            try:
                self._write()
            except OSError as error:
                self._unwritten = error
                recorder.stop(error)

    def _write(self) -> None:
        if self._latest is not None:
            self._file.save({"past": resolved(self._latest), "finished": None})
        self._latest, self._due = None, time.monotonic() + self._every

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Whatever ends a run is passed on when the last state has been written, or could not be."""
        if error is None or not (self._begun or isinstance(error, KeyboardInterrupt)):
            return
        in_vain = error is self._unwritten
        try:
            if not in_vain:
                self._write()
        except Exception as unwritten:  # noqa: BLE001  (the first error matters more)
            from stfem.io.checkpoint import CheckpointWarning

            text = f"the last state of the run is lost: {unwritten}"
            error.add_note(text)
            with suppress(CheckpointWarning):  # the error goes first where warnings are errors
                warnings.warn(text, CheckpointWarning, stacklevel=4)
        if self._file.exists:
            error.add_note(f"the same call goes on from the checkpoint {self._file.path}")

    def _finish(self, content: Mapping[str, Any]) -> None:
        """Keep a result in place of the states: the same call returns it at once.

        A result that is there is not lost with the disk: where it cannot be written, that is a warning.
        """
        from stfem.io.checkpoint import CheckpointWarning

        try:
            self._file.save({"past": None, "finished": content})
        except OSError as error:
            warnings.warn(f"{error}; the run is done all the same", CheckpointWarning, stacklevel=4)
        else:
            self._file.forget_previous()

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        """Within, a state that does not fit is a ValueError that names the file."""
        try:
            yield
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self._file.path}: expected the state of this run, got another ({error!r}); to begin anew, "
                "remove it or give another checkpoint"
            ) from error

    def nodes(self, recorder: Recorder, history: bool) -> Sequence[Node]:
        """All nodes of a run, or the last one: what an earlier session had, and what follows."""
        nodes: list[Node] = []
        with self._fitting():
            found = self._finished or self._past
            if found is not None:
                nodes = [self._node(saved) for saved in found["nodes"]]
                recorder.go_on(found["stream"], nodes[-1])
                self._past = found = None  # its arrays are let go
        if self._finished is not None:
            return nodes
        for node in recorder:
            nodes = nodes if history else []
            nodes.append(node)
            if node.time < self._solution.time:
                past = {"stream": recorder.past(), "nodes": Grown(nodes, len(nodes), saved_nodes)}
                self._take(past, recorder)
        if recorder.failure is None:
            self._finish({"stream": resolved(recorder.past()), "nodes": saved_nodes(nodes)})
        return nodes

    def run(self, estimator: Any, recorder: Recorder) -> tuple[Estimate, float]:
        """The estimate of a run, and the seconds that earlier sessions took."""
        run: SlabRun = estimator.begin(
            self._solution.semidiscretization, iter(recorder), self._solution.stepper.order
        )
        before, started = 0.0, time.perf_counter()
        with self._fitting():
            if self._past is not None:
                run.resume(self._past["run"])
                self._check(run.latest)
                recorder.go_on(self._past["stream"], run.latest)
                before, self._past = self._past["seconds"], None  # its arrays are let go
        while run.advance():
            # slabs at the end of a run that is broken off are not those of the whole run
            if recorder.failure is None and run.time < self._solution.time:
                seconds = before + time.perf_counter() - started
                past = {"run": run.past(), "stream": recorder.past(), "seconds": seconds}
                self._take(past, recorder)
        return run.result(), before

    @property
    def result(self) -> tuple[Estimate, Solution] | None:
        """Estimate and solution of a run that is done."""
        if self._finished is None:
            return None
        from stfem.io.checks import check_estimate

        with self._fitting():
            values, sizes = taken_back(self._finished["values"]), self._finished["sizes"]
            self._check_values(values)
            estimate = Estimate(**self._finished["estimate"])
            check_estimate(self._file.path, self._finished["estimate"])
            return estimate, replace(self._solution, values=values, sizes=sizes)

    def keep(self, estimate: Estimate, solution: Solution) -> None:
        """The run is done, and the same call returns this."""
        own = attributes(estimate, Estimate)
        self._finish({"estimate": own, "values": laid_out(solution.values), "sizes": solution.sizes})

    def _node(self, saved: Mapping[str, Any]) -> Node:
        return self._check(loaded_node(self._solution.semidiscretization, saved))

    def _check(self, node: Node) -> Node:
        self._check_values(node.values)
        return node

    def _check_values(self, values: Any) -> None:
        shape = self._solution.semidiscretization.shape
        if np.shape(values) != shape or values.dtype != np.float64 or not np.isfinite(values).all():
            raise ValueError(f"values: expected finite numbers of shape {shape}, got {described(values)}")
