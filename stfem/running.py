"""Runs: solving, and estimating along with it, from the beginning or from a checkpoint (T1–T4)."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from tqdm import tqdm

from stfem.estimators import Estimate
from stfem.estimators.run import SlabRun
from stfem.resumable import Grown, laid_out, resolved, taken_back
from stfem.solution import Solution
from stfem.spaces.stencil import Array
from stfem.timestepping import Integration, Node, integrate, loaded_node, saved_node

__all__ = ["Checkpoint", "Estimator", "NodeStream", "certified", "solved"]

#: Wall time between two checkpoints, in seconds.
EVERY = 60.0


class Estimator(Protocol):
    """Anything that turns a stream of nodes into an `Estimate`.

    It is asked on unstructured meshes only if it has an attribute ``on_meshes`` that is true. For checkpoints
    it has a method ``begin`` with the arguments of ``run`` that returns a `stfem.estimators.run.SlabRun`.
    """

    def run(self, semidiscretization: Any, nodes: Iterator[Node], order: int) -> Estimate:
        """Consume all nodes of a run with time stepping of the given order."""
        ...


class Checkpoint:
    """Where the state of a run is kept, so that the same call goes on from it.

    Parameters
    ----------
    path
        A file; the one before it gets the ending ``.previous``.
    every
        Wall time between two of them, in seconds.
    call, solution, estimator
        What is computed: the name of the function, its scheme with U_0, its estimator.

    Attributes
    ----------
    past, finished
        What the file has: of a run that is not done, and of one that is; None without.
    """

    def __init__(
        self, path: str | Path, every: float, call: str, solution: Solution, estimator: object = None
    ) -> None:
        from stfem.io.checkpoint import CheckpointFile, identity

        if isinstance(every, (bool, np.bool_)) or not isinstance(every, (int, float, np.number)):
            raise TypeError(f"every: expected a number of seconds, got {every!r}")
        if not every >= 0.0:
            raise ValueError(f"every: expected a number of seconds, not below 0, got {every}")
        self._file = CheckpointFile(path, identity(call, solution, estimator))
        saved = self._file.load() or {}
        self.past, self.finished = saved.get("past"), saved.get("finished")
        self._every, self._due = every, time.monotonic() + every
        self._latest: Mapping[str, Any] | None = None  # not written yet

    def take(self, past: Mapping[str, Any]) -> None:
        """Offer a state that a run may go on from; it is written when the time has come."""
        self._latest = past
        if time.monotonic() >= self._due:
            self._write()

    def _write(self) -> None:
        if self._latest is not None:
            self._file.save({"past": resolved(self._latest), "finished": None})
        self._latest, self._due = None, time.monotonic() + self._every

    @contextmanager
    def on_interrupt(self) -> Iterator[None]:
        """Within, an interrupt (Ctrl-C) is passed on when the last state has been written."""
        try:
            yield
        except KeyboardInterrupt as error:
            self._write()
            if self._file.path.exists():
                error.add_note(f"the same call goes on from the checkpoint {self._file.path}")
            raise

    @contextmanager
    def on_resume(self) -> Iterator[None]:
        """Within, a state that does not fit is a ValueError that names the file."""
        try:
            yield
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self._file.path}: expected the state of this run, got another ({error!r}); to begin anew, "
                "remove it or give another checkpoint"
            ) from error

    def finish(self, content: Mapping[str, Any]) -> None:
        """Keep a result in place of the states: the same call returns it at once.

        A result that is there is not lost with the disk: where it cannot be written, that is a warning.
        """
        try:
            self._file.save({"past": None, "finished": content})
        except OSError as error:
            import warnings

            from stfem.io.checkpoint import CheckpointWarning

            warnings.warn(f"{error}; the run is done all the same", CheckpointWarning, stacklevel=4)
        else:
            self._file.forget_previous()


class NodeStream:
    """The nodes of a run; remembers the last one and the time that computing them took."""

    def __init__(self, solution: Solution, progress: bool) -> None:
        semi, final_time = solution.semidiscretization, solution.problem.final_time
        self._nodes: Integration = integrate(
            semi, solution.stepper, solution.initial, final_time, solution.dt
        )
        self._progress = progress
        self.seconds = 0.0
        self.last: Node | None = None

    def __iter__(self) -> Iterator[Node]:
        source = self._nodes
        total, first = source.steps + 1, source.step + 1
        shown = iter(
            tqdm(source, total=total, initial=first, unit="node", leave=False) if self._progress else source
        )
        while True:
            started = time.perf_counter()
            node = next(shown, None)
            self.seconds += time.perf_counter() - started
            if node is None:
                return
            self.last = node
            yield node

    def past(self) -> dict[str, Any]:
        """What is to be known besides the last node."""
        return {"nodes": self._nodes.past(), "seconds": self.seconds}

    def go_on(self, past: Mapping[str, Any], node: Node) -> None:
        """Continue after a node."""
        self._nodes.go_on(past["nodes"], node)
        self.seconds, self.last = past["seconds"], node


def solved(
    solution: Solution, progress: bool, history: bool, checkpoint: str | Path | None, every: float
) -> Solution:
    """A solution with its values at T, and with all nodes where the history is wanted."""
    stream = NodeStream(solution, progress)
    if checkpoint is None:
        return _ending(solution, tuple(stream) if history else tuple(deque(stream, maxlen=1)), history)
    place = Checkpoint(checkpoint, every, "solve with history" if history else "solve", solution)
    nodes: list[Node] = []
    with place.on_resume():
        found = place.finished or place.past
        if found is not None:
            nodes = [loaded_node(solution.semidiscretization, saved) for saved in found["nodes"]]
            _check_nodes(nodes, solution)
        if place.past is not None:
            stream.go_on(place.past["stream"], nodes[-1])
    if place.finished is None:
        with place.on_interrupt():
            for node in stream:
                nodes = [node] if not history else nodes
                if history:
                    nodes.append(node)
                if node.time < solution.time:
                    place.take({"stream": stream.past(), "nodes": Grown(nodes, len(nodes), _saved)})
        place.finish({"nodes": _saved(nodes)})
    return _ending(solution, nodes, history)


def _ending(solution: Solution, nodes: Sequence[Node], history: bool) -> Solution:
    return replace(solution, values=nodes[-1].values, stored=tuple(nodes) if history else None)


def _saved(nodes: Sequence[Node]) -> tuple[dict[str, Any], ...]:
    return tuple(saved_node(node) for node in nodes)


def _check_nodes(nodes: Sequence[Node], solution: Solution) -> None:
    for node in nodes:
        if np.shape(node.values) != solution.semidiscretization.shape:
            raise ValueError(f"expected values of shape {solution.semidiscretization.shape}")


def certified(
    solution: Solution, chosen: Estimator, progress: bool, checkpoint: str | Path | None, every: float
) -> tuple[Estimate, Array]:
    """The estimate of a solution in one pass, and U(T)."""
    stream, order = NodeStream(solution, progress), solution.stepper.order
    semi, started = solution.semidiscretization, time.perf_counter()
    if checkpoint is None:
        result = chosen.run(semi, iter(stream), order)
        return _timed(result, solution, stream, time.perf_counter() - started)
    begin = getattr(chosen, "begin", None)
    if begin is None:
        raise TypeError(
            "checkpoint: expected an estimator with a method begin, such as SplitEstimator(), "
            f"got a {type(chosen).__name__}"
        )
    place = Checkpoint(checkpoint, every, "certify", solution, chosen)
    with place.on_resume():
        if place.finished is not None:
            return Estimate(**place.finished["estimate"]), taken_back(place.finished["values"])
    run: SlabRun = begin(semi, iter(stream), order)
    before = 0.0
    with place.on_resume():
        if place.past is not None:
            run.resume(place.past["run"])
            _check_nodes([run.latest], solution)
            stream.go_on(place.past["stream"], run.latest)
            before = place.past["seconds"]
    with place.on_interrupt():
        while run.advance():
            if run.time < solution.time:  # else there is nothing to go on with
                seconds = before + time.perf_counter() - started
                place.take({"run": run.past(), "stream": stream.past(), "seconds": seconds})
        result = run.result()
    found, values = _timed(result, solution, stream, before + time.perf_counter() - started)
    own = {entry.name: getattr(found, entry.name) for entry in fields(Estimate)}
    place.finish({"estimate": own, "values": laid_out(values)})
    return found, values


def _timed(
    result: Estimate, solution: Solution, stream: NodeStream, seconds: float
) -> tuple[Estimate, Array]:
    """The estimate with facts of its solution, and U(T)."""
    if stream.last is None:
        raise ValueError("nodes: expected at least two time nodes, got fewer")
    solution = replace(solution, values=stream.last.values)
    facts = {
        **result.facts,
        **solution.facts,
        "seconds_solve": stream.seconds,
        "seconds_estimate": seconds - stream.seconds - result.facts.get("seconds_true_error", 0.0),
    }
    own = {entry.name: getattr(result, entry.name) for entry in fields(Estimate)} | {"facts": facts}
    return Estimate(**own), solution.values
