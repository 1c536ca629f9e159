"""One mesh for the whole interval, refined from run to run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stfem.adaptivity.attempts import Attempt
from stfem.adaptivity.marking import Marking, checked_rule, mark_dorfler
from stfem.adaptivity.mesh_search import MarchedSolution, MeshSearch, StoppedError
from stfem.adaptivity.start import started_mesh
from stfem.adaptivity.trial import first_trial
from stfem.checks import checked_share, checked_whole
from stfem.estimators import Estimate, MeshEstimator
from stfem.estimators.estimate import attributes
from stfem.failures import SolverError
from stfem.problems import Domain
from stfem.solution import Solution
from stfem.solving import DEFAULT_CFL, Certificate, certify
from stfem.timestepping import Node

__all__ = ["WholeInterval"]

#: Part of the tolerance that refinement aims at.
_AIM = 0.8
#: Share of the time stepping in a bound from which on the time step is halved instead.
_DOMINATES = 0.5
#: Runs after which a search is given up.
_MOST = 40


@dataclass(frozen=True)
class WholeInterval:
    """Whole runs on one mesh, which is refined where the indicators of the whole run are large.

    For solutions whose layers stay where they are: where they move, all that they cross is refined. The mesh
    at the start is adapted to the initial value.

    Parameters
    ----------
    initial_share
        Part of the tolerance for the initial error, in (0, 1).
    marking
        Rule for indicators η_K² of a run.
    rounds
        Largest number of bisections of a cell from one run to the next.

    Raises
    ------
    ValueError, TypeError
        For numbers out of range and a rule that is not callable.
    """

    initial_share: float = 0.1
    marking: Marking = mark_dorfler
    rounds: int = 6

    def __post_init__(self) -> None:
        checked_whole("rounds", self.rounds, 1)
        checked_share("initial_share", self.initial_share)
        checked_rule("marking", self.marking)

    def run(self, search: MeshSearch) -> None:
        """See `stfem.adaptivity.mesh_search.Strategy`."""
        domain = started_mesh(search, self.initial_share * search.tol, self.marking, self.rounds)
        cfl = DEFAULT_CFL
        for _ in range(_MOST):
            result = self._tried(search, domain, cfl)
            bound, initial = search.size(result), result.parts["initial"]
            if bound <= search.tol:
                return
            if result.parts["temporal"] * result.parts["hyperbolic"] > _DOMINATES * bound:
                cfl *= 0.5
                continue
            factor = (_AIM * search.tol - initial) / (bound - initial) if bound > initial else 0.0
            goal = min(max(factor, 0.0), 1.0) ** 2 * float(result.indicators_sq.sum())
            trial = first_trial(domain)
            domain = search.refined(trial, result.indicators_sq, goal, self.marking, self.rounds).domain
        raise StoppedError(f"{_MOST} runs were not enough")

    def _tried(self, search: MeshSearch, domain: Domain, cfl: float) -> Certificate:
        started = time.perf_counter()
        problem = search.on(domain).problem
        watched = _Watched(search.estimator, search)
        try:
            result = certify(problem, degree=search.degree, cfl=cfl, estimator=watched, **search.options)
        except SolverError as error:
            raise StoppedError(f"the run on {domain.mesh().size} cells ends: {error}") from error
        if search.best is None or search.size(result) < search.size(search.best[0]):
            own = attributes(result, Estimate)
            dofs = result.solution.values.size
            sizes = {"dofs": dofs, "dofs_mean": float(dofs), "changes": 0}
            own["facts"] = {**result.facts, "steps": result.solution.steps, **sizes}
            parts = attributes(result.solution, Solution)
            solution = MarchedSolution(**parts, meshes=((0.0, domain),), repeatable=True)
            search.best = Estimate(**own), solution
        attempt = Attempt(
            cells=domain.mesh().size,
            degree=search.degree,
            cfl=cfl,
            dt=problem.final_time / result.solution.steps,
            steps=result.solution.steps,
            slabs=result.facts["slabs"],
            dofs=result.solution.values.size,
            bound=search.size(result),
            initial=result.parts["initial"],
            temporal=result.parts["temporal"],
            growth=result.parts["growth"],
            seconds=time.perf_counter() - started,
            seconds_solve=result.facts["seconds_solve"],
        )
        search.record(attempt, result.guaranteed, result.unproved)
        return result


@dataclass(frozen=True)
class _Watched:
    """An estimator whose runs end when the time of a search is over."""

    inner: MeshEstimator
    search: MeshSearch

    on_meshes = True

    def run(self, semidiscretization: Any, nodes: Iterator[Node], order: int) -> Estimate:
        return self.inner.run(semidiscretization, self.search.watched(nodes), order)
