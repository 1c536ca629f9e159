"""What the search for a tolerance leaves behind: its attempts, and why it stopped."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tabulate import tabulate

from stfem.estimators import Estimate
from stfem.solving import Certificate

__all__ = [
    "AnySearch",
    "Attempt",
    "Search",
    "Searching",
    "ToleranceCertificate",
    "ToleranceError",
    "WindowAttempt",
]


class Bounded(Protocol):
    """An attempt of any kind."""

    @property
    def bound(self) -> float:
        """In the norm of the search."""


class AnySearch(Protocol):
    """What a `ToleranceError` says of a search."""

    @property
    def tol(self) -> float:
        """What was asked for."""

    @property
    def reason(self) -> str:
        """Why it stopped, in a sentence."""

    @property
    def reached(self) -> str:
        """How far it came, and why not further."""


class Searching:
    """What all searches know of themselves while they go on."""

    started: float
    attempts: Sequence[Bounded]

    @property
    def elapsed(self) -> float:
        """Wall time since the beginning."""
        return time.perf_counter() - self.started

    @property
    def smallest(self) -> float:
        """The smallest bound so far."""
        return min((attempt.bound for attempt in self.attempts), default=math.inf)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One whole run of a search.

    Attributes
    ----------
    cells, degree
        Cells per direction N, on a `Domain` all of them, and polynomial degree q.
    cfl
        Fraction of the linear stability limit that the time step was asked to be.
    dt, steps, slabs, dofs
        Time step, number of steps, of slabs of the estimate, and of unknowns; 0 for a run without an end.
    bound
        In the norm of the search; infinite for a run without an end.
    initial, temporal, growth
        Of the bound in L² the initial error, the share of the time stepping, and the factor by which errors
        have grown, as in `Estimate.parts`.
    seconds, seconds_solve
        Wall time of all, and of the time stepping alone.
    failure
        Why the run has no end; empty where it has one.
    """

    cells: int
    degree: int
    cfl: float
    dt: float = 0.0
    steps: int = 0
    slabs: int = 0
    dofs: int = 0
    bound: float = float("inf")
    initial: float = 0.0
    temporal: float = 0.0
    growth: float = 1.0
    seconds: float = 0.0
    seconds_solve: float = 0.0
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class WindowAttempt(Attempt):
    """A part of a run on one mesh.

    The bound is that up to its end; the other attributes of `Attempt` are those of this part.

    Attributes
    ----------
    start, stop
        Times.
    accepted
        Whether the run goes on from it; otherwise it is repeated.
    """

    start: float
    stop: float
    accepted: bool


@dataclass(frozen=True, kw_only=True)
class Search:
    """How `certify` went about a tolerance.

    Attributes
    ----------
    tol, norm
        What was asked for.
    attempts
        All runs, or parts of one (`WindowAttempt`), in their order.
    reason
        Why it stopped, in a sentence.
    per_direction
        Whether cells are counted per direction.
    """

    tol: float
    norm: str
    attempts: tuple[Attempt, ...]
    reason: str
    per_direction: bool = True

    @property
    def seconds(self) -> float:
        """Wall time of all attempts."""
        return sum(attempt.seconds for attempt in self.attempts)

    @property
    def reached(self) -> str:
        """How far it came, and why not further."""
        finished = [attempt for attempt in self.attempts if not attempt.failure]
        if not finished:
            return f"none: {self.reason}"
        windows = [a for a in finished if isinstance(a, WindowAttempt)]
        if windows:
            return f"{_reached(windows)} in {self.seconds:.3g} s: {self.reason}"
        best = min(finished, key=lambda attempt: attempt.bound)
        return (
            f"{best.bound:.3g} with {best.cells} cells{' per direction' * self.per_direction} and degree "
            f"{best.degree}, after {len(self.attempts)} run{'s' * (len(self.attempts) > 1)} in "
            f"{self.seconds:.3g} s: {self.reason}"
        )

    def __str__(self) -> str:
        rows = []
        for a in self.attempts:
            dt, bound = f"{a.dt:.3g}" if a.dt else "", a.failure or f"{a.bound:.3e}"
            row = {"cells": a.cells, "degree": a.degree, "unknowns": a.dofs or "", "dt": dt, "bound": bound}
            if isinstance(a, WindowAttempt):
                row["to t"] = f"{a.stop:.4g}" + ("" if a.accepted else ", repeated")
            rows.append(row | {"seconds": f"{a.seconds:.2f}"})
        return tabulate(rows, headers="keys", disable_numparse=True) + f"\n{self.reason}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ToleranceCertificate(Certificate):
    """A certificate that a search has found.

    Attributes
    ----------
    search
        All attempts; all other attributes are those of `Certificate`.
    """

    search: Search


class ToleranceError(RuntimeError):
    """A search for a tolerance stopped before its bound was small enough.

    Attributes
    ----------
    search
        Its attempts, and why it stopped.
    certificate
        Of the attempt with the smallest bound; None where no run came to an end. Of a run in windows that of
        all accepted ones, up to the time ``certificate.solution.time``.
    """

    def __init__(self, search: AnySearch, certificate: Estimate | None) -> None:
        self.search, self.certificate = search, certificate
        super().__init__(f"tol: expected a bound of at most {search.tol:g}, got {search.reached}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.search, self.certificate)


def _reached(windows: list[WindowAttempt]) -> str:
    """How far a run in windows came."""
    accepted = [window for window in windows if window.accepted]
    if not accepted:
        stop, count = windows[-1].stop, _counted(len(windows))
        return f"no window up to t = {stop:.4g} that is accurate enough, after {count}"
    last = accepted[-1]
    return (
        f"{last.bound:.3g} up to t = {last.stop:.4g} with {last.cells} cells and degree {last.degree}, after "
        f"{_counted(len(windows))}, {len(windows) - len(accepted)} of them repeated,"
    )


def _counted(windows: int) -> str:
    return f"{windows} window{'s' * (windows > 1)}"
