"""Problems without time: certificates, and the loop solve – estimate – mark – refine for a tolerance."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from tqdm import tqdm

from stfem.adaptivity.attempts import Searching, ToleranceError
from stfem.adaptivity.marking import Marking, checked_cells, mark_dorfler
from stfem.adaptivity.meshing import first_domain, too_small
from stfem.adaptivity.refinement import refine
from stfem.adaptivity.stationary_search import (
    StationaryAttempt,
    StationarySearch,
    StationaryToleranceCertificate,
)
from stfem.checks import (
    checked_flag,
    checked_instance,
    checked_number,
    checked_whole,
    described,
    positive_number,
)
from stfem.determinism import deterministic
from stfem.estimators import Estimate, MeshEstimator
from stfem.estimators.estimate import attributes
from stfem.failures import SolverError, keeping
from stfem.problems import Domain, StationaryProblem
from stfem.reconstruction.unstructured import TwoStage, TwoStageMixed
from stfem.stationary import StationaryCertificate, solve_stationary

__all__ = ["certify_on_meshes", "certify_stationary", "sharp_estimator"]


#: Default of the largest number of unknowns: what the factors of a second stage need fits into 8 GB.
MAX_DOFS = 300_000
#: Share of the squares that is marked: larger meshes from step to step than ½ gives, hardly more unknowns.
_THETA = 0.7
#: Part of all cells below which those that are marked cost next to nothing.
_FEW = 0.03
#: Meshes with so many times as many unknowns
_WINDOW = 16
#: lower the bound by less than this factor: given up where layers are resolved, that is where the bound
_GAIN = 0.5
#: is below this part of the size of the solution.
_RESOLVED = 1e-6
#: Meshes in a row with bounds of this multiple of the smallest one: rounding errors, where cells are tiny.
_RISING, _WORSE = 8, 2.0
#: Time grows like this power of the unknowns; sparse factors in two dimensions.
_POWER = 1.5
#: Bounds of a search, by norm.
_NORMS = ("l2", "energy")
#: Part of the seconds expected of a mesh that have to be left for it to be started.
_SECONDS_LEFT = 0.5


def sharp_estimator(problem: StationaryProblem) -> MeshEstimator:
    """The estimator of a search: û and its flux by least squares together (T5.2), without diffusion T5.1.

    Where a mesh resolves a layer, only that bound follows the error. With a flux that is local, the scheme's
    or a relaxed one, it falls behind as h/ε does; T5.1 has second derivatives of a local reconstruction on
    its right-hand side, and stops to fall.
    """
    checked_instance("problem", problem, StationaryProblem, "a StationaryProblem")
    equation = problem.equation
    diffuses = bool(np.any(equation.diffusion)) or equation.subdomain_diffusion is not None
    return MeshEstimator((TwoStageMixed() if diffuses else TwoStage(),))


@deterministic
def certify_stationary(
    problem: StationaryProblem,
    *,
    degree: int,
    cells: int | tuple[int, ...] | None,
    estimator: MeshEstimator | None,
    options: Mapping[str, Any],
) -> StationaryCertificate:
    """Solve and estimate on one mesh; ``options`` are those of `solve_stationary`."""
    started = time.perf_counter()
    solution = solve_stationary(problem, cells=cells, degree=degree, **options)
    solved = time.perf_counter()
    estimate = solution.estimate(estimator)
    seconds = {
        "seconds_solve": solved - started,
        "seconds_estimate": time.perf_counter() - solved - estimate.facts["seconds_true_error"],
    }
    own = attributes(estimate, Estimate)
    return StationaryCertificate(**own | {"facts": {**estimate.facts, **seconds}}, solution=solution)


@dataclass
class _Search(Searching):
    """The state of a search."""

    problem: StationaryProblem
    tol: float
    norm: str
    degree: int
    estimator: MeshEstimator
    marking: Marking
    max_dofs: float
    max_seconds: float
    callback: Callable[[StationaryAttempt], object] | None
    unproved: bool
    progress: bool
    options: Mapping[str, Any]
    started: float = field(default_factory=time.perf_counter)
    attempts: list[StationaryAttempt] = field(default_factory=list)
    best: StationaryCertificate | None = None

    def run(self, domain: Domain) -> StationaryToleranceCertificate:
        """Finer and finer meshes until the bound is small enough.

        Raises
        ------
        ToleranceError
            Where there is a reason to stop before.
        """
        reason = self._too_much(domain)
        bar = tqdm(desc=f"tol {self.tol:g}", unit="mesh", leave=False, disable=not self.progress)
        with bar, keeping(self._interrupted):
            while not reason:
                now = f"now {self._dofs(domain)} unknowns"
                bar.set_postfix_str(f"bound {self.smallest:.3g}, {self.elapsed:.3g} s, {now}")
                current, reason = self._attempt(domain)
                bar.update()
                stop = self.callback is not None and self.callback(self.attempts[-1]) is True
                self.attempts[-1] = replace(self.attempts[-1], certificate=None)
                if self.best is not None and self.smallest <= self.tol and not reason:
                    return self._certificate(self.best, f"the bound is at most {self.tol:g}")
                reason = reason or ("the callback asked for it" if stop else self._exhausted(current))
                if not reason and current is not None:
                    domain, reason = self._refined(domain, current)
        best = None if self.best is None else self._certificate(self.best, reason)
        raise ToleranceError(self._record(reason), best)

    def _interrupted(self) -> StationaryToleranceCertificate | None:
        return None if self.best is None else self._certificate(self.best, "interrupted from the keyboard")

    def _dofs(self, domain: Domain) -> int:
        return domain.mesh().size * math.comb(self.degree + domain.dim, domain.dim)

    def _attempt(self, domain: Domain) -> tuple[StationaryCertificate | None, str]:
        """One mesh; its certificate, and why no further one makes sense, mostly nothing."""
        started, failure = time.perf_counter(), ""
        attempt = StationaryAttempt(cells=domain.mesh().size, dofs=self._dofs(domain))
        problem = self.problem.on(domain)
        try:
            found = certify_stationary(
                problem, degree=self.degree, cells=None, estimator=self.estimator, options=self.options
            )
        except MemoryError:
            failure = "the memory of this machine is full"
        except SolverError as error:
            failure = str(error)
        except (ValueError, ArithmeticError) as error:
            # of the first mesh that is bad input; of others rounding, and the best certificate is kept
            if not self.attempts:
                raise
            failure = f"the mesh of {attempt.cells} cells has no bound: {error}"
        seconds = time.perf_counter() - started
        if failure:
            self.attempts.append(replace(attempt, failure=failure, seconds=seconds))
            return None, failure
        bound = self._bound(found)
        self.attempts.append(
            replace(
                attempt,
                bound=bound,
                certificate=found,
                seconds=seconds - found.facts["seconds_true_error"],
                seconds_solve=found.facts["seconds_solve"],
            )
        )
        if self.best is None or bound < self._bound(self.best):
            self.best = found
        if not found.guaranteed and not self.unproved:
            return found, (
                f"no mesh makes the bound guaranteed ({'; '.join(found.unproved)}); "
                "unproved=True accepts that"
            )
        return found, "" if math.isfinite(bound) else "the bound is not finite"

    def _bound(self, certificate: StationaryCertificate) -> float:
        found = certificate.bound if self.norm == "l2" else certificate.bound_energy
        return math.inf if found is None or math.isnan(found) else found

    def _exhausted(self, current: StationaryCertificate | None) -> str:
        """Why finer meshes will not do: rounding errors."""
        if current is None:
            return ""
        latest = [attempt.bound for attempt in self.attempts[-_RISING:]]
        if len(self.attempts) > _RISING and min(latest) > _WORSE * self.smallest:
            return f"bounds of the last {_RISING} meshes are larger than before: rounding errors grow"
        rounding = current.facts["rounding"]
        if rounding >= self.tol:
            return f"rounding errors alone are {rounding:.2g} of the bound"
        last, size = self.attempts[-1], float(np.linalg.norm(current.solution.values))
        coarse = [a.bound for a in self.attempts if _WINDOW * a.dofs <= last.dofs]
        if coarse and last.bound > _GAIN * min(coarse) and min(coarse) < _RESOLVED * size:
            return (
                f"meshes with {_WINDOW} times as many unknowns hardly lower the bound, "
                "which has reached the size of rounding errors"
            )
        return ""

    def _refined(self, domain: Domain, current: StationaryCertificate) -> tuple[Domain, str]:
        """The next mesh, or why there is none."""
        reason = too_small(domain)
        if reason:
            return domain, reason
        marked = checked_cells(self.marking(current.indicators_sq), domain.mesh().size)
        change = refine(domain, marked)
        # at a singularity few cells have most of the bound, mesh after mesh: their size is halved at once
        for _ in range(domain.dim - 1 if marked.size < _FEW * domain.mesh().size else 0):
            marked = np.flatnonzero(np.isin(change.old, marked))
            change = refine(change.domain, marked)
        finer = change.domain
        if finer.mesh().size == domain.mesh().size:
            return finer, "no cell is marked, and what is left of the bound belongs to none"
        return finer, self._too_much(finer)

    def _too_much(self, domain: Domain) -> str:
        """Which limit a mesh exceeds."""
        dofs = self._dofs(domain)
        if dofs > self.max_dofs:
            return f"the next mesh has {dofs} unknowns, beyond max_dofs={self.max_dofs:g}"
        left, expected = self.max_seconds - self.elapsed, 0.0
        if self.attempts:
            last = self.attempts[-1]
            expected = last.seconds * (dofs / last.dofs) ** _POWER
        if left <= 0.0 or _SECONDS_LEFT * expected > left:
            return (
                f"the next mesh, with {dofs} unknowns, takes about {expected:.2g} s, and of "
                f"max_seconds={self.max_seconds:g} {max(left, 0.0):.2g} s are left"
            )
        return ""

    def _record(self, reason: str) -> StationarySearch:
        return StationarySearch(
            tol=self.tol,
            norm=self.norm,
            degree=self.degree,
            attempts=tuple(self.attempts),
            reason=reason,
        )

    def _certificate(self, best: StationaryCertificate, reason: str) -> StationaryToleranceCertificate:
        own = attributes(best, StationaryCertificate)
        return StationaryToleranceCertificate(**own, search=self._record(reason))


def certify_on_meshes(
    problem: StationaryProblem,
    tol: float,
    *,
    degree: int,
    cells: int | tuple[int, ...] | None = None,
    norm: str = "l2",
    estimator: MeshEstimator | None = None,
    marking: Marking | None = None,
    max_dofs: float = MAX_DOFS,
    max_seconds: float = math.inf,
    callback: Callable[[StationaryAttempt], object] | None = None,
    unproved: bool = False,
    progress: bool = False,
    options: Mapping[str, Any] | None = None,
) -> StationaryToleranceCertificate:
    """Solve – estimate – mark – refine until the bound is at most a tolerance.

    Parameters
    ----------
    problem
        Scalar and linear, on a `Domain` of simplices or a `Box`.
    tol
        What the bound is to be at most (the unit of the norm).
    degree
        Polynomial degree q on all meshes.
    cells
        Cells per direction of the first mesh of a `Box`, 4 by default; each is cut into simplices.
    norm
        "l2" or "energy": `Estimate.bound`, `Estimate.bound_energy`.
    estimator
        By default `sharp_estimator`; of several reconstructions the smallest bound counts.
    marking
        Cells to bisect from indicators, by default those with 70 % of the squares, `mark_dorfler`.
    max_dofs, max_seconds
        Limits of the unknowns of a mesh, and of the wall time of all. A mesh is not begun where that of the
        one before says that the time will not do.
    callback
        Called with the `StationaryAttempt` of every mesh; the search ends where it returns True.
    unproved
        Whether bounds that are not `Estimate.guaranteed` do as well.
    progress
        Show the smallest bound, seconds, and the unknowns of the mesh that runs.
    options
        Arguments of `solve_stationary`.

    Raises
    ------
    ToleranceError
        Where no bound ≤ ``tol`` was found, with the best certificate and the reason.
    ValueError, TypeError
        As `solve_stationary` and `estimate`.
    """
    checked_instance("problem", problem, StationaryProblem, "a StationaryProblem")
    if not isinstance(norm, str) or norm not in _NORMS:
        raise ValueError(f"norm: expected one of {', '.join(_NORMS)} without time, got {described(norm)}")
    for name, given in (("callback", callback), ("marking", marking)):
        if given is not None and not callable(given):
            raise TypeError(f"{name}: expected a function, got a {type(given).__name__}")
    checked_instance("options", options, (Mapping, type(None)), "arguments of solve_stationary")
    checked_instance("estimator", estimator, (MeshEstimator, type(None)), "a MeshEstimator")
    positive_number("max_dofs", max_dofs)
    checked_number("max_seconds", max_seconds, "a time", 0.0, math.inf)
    checked_flag("unproved", unproved)
    checked_flag("progress", progress)
    checked_whole("degree", degree, 0)
    return _Search(
        problem,
        positive_number("tol", tol),
        norm,
        degree,
        sharp_estimator(problem) if estimator is None else estimator,
        partial(mark_dorfler, theta=_THETA) if marking is None else marking,
        max_dofs,
        max_seconds,
        callback,
        unproved,
        progress,
        {} if options is None else options,
    ).run(first_domain(problem.domain, cells))
