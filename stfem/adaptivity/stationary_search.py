"""What a search for a tolerance without time leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

from tabulate import tabulate

from stfem.stationary import StationaryCertificate

__all__ = ["StationaryAttempt", "StationarySearch", "StationaryToleranceCertificate"]


@dataclass(frozen=True, kw_only=True)
class StationaryAttempt:
    """One mesh of a search: solved and estimated on.

    Attributes
    ----------
    cells, dofs
        Number of cells and of unknowns.
    bound
        In the norm of the search; infinite where there is none.
    certificate
        Solution and estimate, for a callback; None in the record of a search, and where there is none.
    seconds, seconds_solve
        Wall time of all but true errors, and of the solution alone.
    failure
        Why there is no bound; empty where there is one.
    """

    cells: int
    dofs: int
    bound: float = float("inf")
    certificate: StationaryCertificate | None = None
    seconds: float = 0.0
    seconds_solve: float = 0.0
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class StationarySearch:
    """How `certify` went about a tolerance on meshes that it refined.

    Attributes
    ----------
    tol, norm, degree
        What was asked for.
    attempts
        All meshes, in their order.
    reason
        Why it stopped, in a sentence.
    """

    tol: float
    norm: str
    degree: int
    attempts: tuple[StationaryAttempt, ...]
    reason: str

    @property
    def seconds(self) -> float:
        """Wall time of all attempts."""
        return sum(attempt.seconds for attempt in self.attempts)

    @property
    def reached(self) -> str:
        """How far it came, and why not further."""
        best = min(self.attempts, key=lambda attempt: attempt.bound, default=None)
        if best is None or best.failure:
            return f"none: {self.reason}"
        return (
            f"{best.bound:.3g} with {best.cells} cells of degree {self.degree}, after {len(self.attempts)} "
            f"mesh{'es' * (len(self.attempts) > 1)} in {self.seconds:.3g} s: {self.reason}"
        )

    def __str__(self) -> str:
        rows = [(a.cells, a.dofs, a.failure or f"{a.bound:.3e}", f"{a.seconds:.2f}") for a in self.attempts]
        headers = ("cells", "unknowns", "bound", "seconds")
        return tabulate(rows, headers, disable_numparse=True) + f"\n{self.reason}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StationaryToleranceCertificate(StationaryCertificate):
    """A certificate without time that a search has found.

    Attributes
    ----------
    search
        All meshes; all other attributes are those of `StationaryCertificate`.
    """

    search: StationarySearch
