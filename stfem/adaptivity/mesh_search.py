"""What every search for a tolerance on adaptive meshes has: its limits, its record, and how it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import comb
from typing import Any, Protocol

from tqdm import tqdm

from stfem.adaptivity.attempts import (
    Attempt,
    Search,
    Searching,
    ToleranceCertificate,
    ToleranceError,
    WindowAttempt,
)
from stfem.adaptivity.forecast import refined_to
from stfem.adaptivity.marking import Marking
from stfem.adaptivity.meshing import too_small
from stfem.adaptivity.trial import Trial
from stfem.determinism import deterministic
from stfem.estimators import Estimate, MeshEstimator
from stfem.estimators.estimate import attributes
from stfem.failures import keeping
from stfem.meshes.quadrature import Array
from stfem.problems import Domain, Problem
from stfem.semidiscretization import UnstructuredSemidiscretization
from stfem.solution import Solution
from stfem.timestepping import Node

__all__ = ["NORMS", "MarchedSolution", "MeshSearch", "StoppedError", "Strategy"]

#: Attribute of an estimate by the name of its norm.
NORMS: Mapping[str, str] = {"l2": "bound", "energy": "bound_energy", "l1": "bound_l1"}


class StoppedError(Exception):
    """Raised where a search has a reason to end."""


class Strategy(Protocol):
    """How meshes and time steps are adapted."""

    def run(self, search: MeshSearch) -> None:
        """Attempts, until `MeshSearch.best` is within the tolerance.

        Raises
        ------
        StoppedError
            Where there is a reason to end before.
        """


@dataclass(frozen=True, eq=False, repr=False)
class MarchedSolution(Solution):
    """A solution at the final time of a run whose mesh may have changed: on its last mesh.

    Attributes
    ----------
    meshes
        Times, and the domain with the mesh from each on.
    repeatable
        Whether it was one run, on one mesh and with one stepper, that can be repeated. Otherwise ``initial``
        and ``stepper`` are those of the last part, and ``sizes`` all steps.
    """

    meshes: tuple[tuple[float, Domain], ...] = ()
    repeatable: bool = False

    def nodes(self) -> Iterator[Node]:
        """As of any solution, of a run on one mesh.

        Raises
        ------
        ValueError
            For others, which cannot be repeated from what is stored; and as `Solution.nodes`.
        """
        if self.repeatable:
            return super().nodes()
        raise ValueError("solution: expected one on a single mesh, got one whose mesh changed during the run")

    def mesh_at(self, t: float) -> Domain:
        """The domain with the mesh at a time; at a change that after it.

        Raises
        ------
        ValueError
            For a time outside of the run.
        """
        if not 0.0 <= t <= self.time:
            raise ValueError(f"t: expected a time from 0 to {self.time:g}, got {t}")
        return [domain for start, domain in self.meshes if start <= t][-1]


@dataclass
class MeshSearch(Searching):
    """The state of a search.

    Attributes
    ----------
    problem
        Scalar, on a `Domain` of simplices.
    tol, norm, degree
        What the bound is to be at most, the name of its norm, and q.
    max_dofs, max_seconds, callback, unproved, progress
        As in `stfem.certify`.
    estimator
        Of the bounds.
    options
        Fluxes and stepper of a run.
    attempts
        So far.
    best
        Estimate and solution to be returned, as far as there are any.
    """

    problem: Problem
    tol: float
    norm: str
    degree: int
    max_dofs: int
    max_seconds: float
    callback: Callable[[Attempt], object] | None
    unproved: bool
    progress: bool
    estimator: MeshEstimator
    options: Mapping[str, Any]
    started: float = field(default_factory=time.perf_counter)
    attempts: list[Attempt] = field(default_factory=list)
    best: tuple[Estimate, Solution] | None = None

    @deterministic
    def run(self, strategy: Strategy) -> ToleranceCertificate:
        """Let a strategy search.

        Raises
        ------
        ToleranceError
            Where it ends with a bound that is too large.
        """
        with tqdm(desc=f"tol {self.tol:g}", unit="run", leave=False, disable=not self.progress) as self._bar:
            try:
                with keeping(lambda: self._certificate("interrupted from the keyboard")):
                    strategy.run(self)
            except StoppedError as error:
                raise ToleranceError(self._search(str(error)), self._certificate(str(error))) from None
        result = self._certificate(f"the bound is at most {self.tol:g}")
        if result is None:
            raise ValueError("strategy: expected one that ends with a certificate, got one without")
        return result

    def check(self, domain: Domain) -> None:
        """Whether a mesh is within the limits.

        Raises
        ------
        StoppedError
            For too many unknowns, for cells as small as rounding errors, and where the time is over.
        """
        cells = domain.mesh().size
        dofs = cells * self.problem.equation.components * comb(self.degree + domain.dim, domain.dim)
        if dofs > self.max_dofs:
            raise StoppedError(
                f"the next mesh, of {cells} cells at degree {self.degree}, has {dofs} unknowns, beyond "
                f"max_dofs={self.max_dofs}"
            )
        if self.elapsed > self.max_seconds:
            windows = [a for a in self.attempts if isinstance(a, WindowAttempt) and a.accepted]
            reached = windows[-1].stop if windows else 0.0
            raise StoppedError(
                f"max_seconds={self.max_seconds:g} are over, at t = {reached:.3g}, with {cells} cells"
            )
        reason = too_small(domain)
        if reason:
            raise StoppedError(reason)

    def refined(
        self,
        trial: Trial,
        indicators_sq: Array,
        target: float,
        marking: Marking,
        rounds: int,
        higher: int = 0,
    ) -> Trial:
        """A finer mesh, as `refined_to`; what the indicators are of has a degree by so much higher than q.

        Raises
        ------
        StoppedError
            Where no cell is marked, and as `check`.
        """
        before = trial.domain
        degree = self.degree + higher
        result = refined_to(trial, indicators_sq, target, marking, degree, rounds, self.check)
        if result.domain is before:
            raise StoppedError("no cell is marked")
        return result

    def on(self, domain: Domain) -> UnstructuredSemidiscretization:
        """The scheme on a mesh.

        Raises
        ------
        StoppedError
            As `check`.
        """
        self.check(domain)
        problem = self.problem if domain is self.problem.domain else replace(self.problem, domain=domain)
        fluxes = self.options["flux"], self.options["penalty"]
        return UnstructuredSemidiscretization(problem, None, self.degree, *fluxes)

    def size(self, estimate: Estimate) -> float:
        """The bound in the norm of the search."""
        bound = getattr(estimate, NORMS[self.norm])
        return float(bound)

    def watched(self, nodes: Iterator[Node]) -> Iterator[Node]:
        """Nodes, until the time is over.

        Raises
        ------
        StoppedError
            Then.
        """
        for node in nodes:
            if self.elapsed > self.max_seconds:
                raise StoppedError(f"max_seconds={self.max_seconds:g} are over, at t = {node.time:.3g}")
            yield node

    def record(self, attempt: Attempt, guaranteed: bool, unproved: tuple[str, ...]) -> None:
        """An attempt more.

        Raises
        ------
        StoppedError
            Where the callback asks for it, and for a bound that is not guaranteed.
        """
        self.attempts.append(attempt)
        self._bar.update()
        self._bar.set_postfix_str(
            f"bound {attempt.bound:.3g}, {attempt.cells} cells, {attempt.dofs} unknowns, {self.elapsed:.3g} s"
        )
        if not guaranteed and not self.unproved:
            raise StoppedError(
                f"no mesh makes the bound guaranteed ({'; '.join(unproved)}); unproved=True accepts that"
            )
        if self.callback is not None and self.callback(attempt) is True:
            raise StoppedError("the callback asked for it")

    def _search(self, reason: str) -> Search:
        return Search(
            tol=self.tol,
            norm=self.norm,
            attempts=tuple(self.attempts),
            reason=reason,
            per_direction=False,
        )

    def _certificate(self, reason: str) -> ToleranceCertificate | None:
        if self.best is None:
            return None
        estimate, solution = self.best
        own = attributes(estimate, Estimate)
        own["facts"] = {**estimate.facts, **solution.facts}
        return ToleranceCertificate(**own, solution=solution, search=self._search(reason))
