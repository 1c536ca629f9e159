"""Running cases: one after the other, in processes, or on an executor that the user has."""

from __future__ import annotations

import os
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context, parent_process
from queue import SimpleQueue
from typing import Any, Protocol

from stfem.problems import Problem
from stfem.studies.cases import Case
from stfem.studies.columns import run_case

_BROKEN = (
    " A worker was killed (is there enough memory?) or could not start: a script that uses workers does its "
    'work below `if __name__ == "__main__":`'
)


class Future(Protocol):
    """What an executor returns at once for a result to come."""

    def result(self) -> Any:
        """Wait for the result; raises what went wrong."""
        ...


class Executor(Protocol):
    """Anything with the ``submit`` of `concurrent.futures.Executor`, such as a client of dask."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """Start a call; returns a `Future`."""
        ...


@dataclass(frozen=True)
class Outcome:
    """Results of a case, or why there are none.

    Attributes
    ----------
    results
        None for a case that failed.
    error, traceback
        What was raised, in one line and in full.
    """

    results: Mapping[str, Any] | None
    error: str = ""
    traceback: str = ""


def outcomes(cases: Sequence[Case], workers: int, executor: Executor | None) -> Iterator[tuple[int, Outcome]]:
    """Position and outcome of every case, as they come to their ends.

    Raises
    ------
    TypeError
        For a case that cannot be sent to another process.
    """
    if executor is None and workers == 1:
        for number, case in enumerate(cases):
            yield number, _attempt(partial(run_case, case.problem, case.options))
        return
    messages = [message(case) for case in cases]
    if not messages:  # all were in the store
        return
    if executor is not None:
        yield from _submitted(executor, messages)
        return
    with _processes(min(workers, len(cases))) as pool:
        yield from _submitted(pool, messages)


def message(case: Case) -> bytes:
    """A case as bytes for another process: its problem, or where that has functions of its own, its factory.

    Raises
    ------
    TypeError
        Naming what cannot be sent.
    """
    options = {name: _pickled({name: value}) for name, value in case.options.items()}
    return pickle.dumps((_pickled({"the problem": case.problem, "the factory": case.recipe}), options))


def run_message(content: bytes) -> Outcome:
    """Run a case in another process."""
    return _attempt(partial(_run, content))


def _run(content: bytes) -> Mapping[str, Any]:
    source, options = pickle.loads(content)
    try:
        given = pickle.loads(source)
        chosen = {name: pickle.loads(value) for name, value in options.items()}
    except AttributeError as error:
        raise TypeError(
            f"expected functions and classes from modules that a worker can import, got one it cannot find "
            f"({error}); what is typed into an interactive session runs with workers=1 only"
        ) from error
    return run_case(given if isinstance(given, Problem) else given(), chosen)


def _pickled(candidates: Mapping[str, object]) -> bytes:
    """The first of them that can be sent."""
    reasons = []
    for name, value in candidates.items():
        try:
            return pickle.dumps(value)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            reasons.append(f"{name}: {error}")
    raise TypeError(
        "workers, executor: expected what can be sent to other processes (functions that a module defines, "
        f"no lambda and none inside another function), got {'; '.join(reasons)}"
    )


def _attempt(run: Callable[[], Any]) -> Outcome:
    try:
        result = run()
    except Exception as error:  # noqa: BLE001  (foreign code: a case that fails must not take others with it)
        told = f"{type(error).__name__}: {error}{_BROKEN if isinstance(error, BrokenExecutor) else ''}"
        return Outcome(None, told, "".join(traceback.format_exception(error)))
    return result if isinstance(result, Outcome) else Outcome(result)


def _submitted(executor: Executor, messages: Sequence[bytes]) -> Iterator[tuple[int, Outcome]]:
    """Outcomes as they come; in the order of the cases from futures that have no callbacks."""
    done: SimpleQueue[int] = SimpleQueue()
    futures = [executor.submit(run_message, content) for content in messages]
    try:
        for number, future in enumerate(futures):
            if hasattr(future, "add_done_callback"):
                future.add_done_callback(lambda _, number=number: done.put(number))
            else:
                done.put(number)
        for _ in futures:
            number = done.get()
            yield number, _attempt(futures[number].result)
    finally:  # interrupted, or nobody asks on: what has not begun never does
        for future in futures:
            if hasattr(future, "cancel"):
                future.cancel()


@contextmanager
def _processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that start afresh (no copies of threads or locks) and end with this one, even if killed."""
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
