"""The search for a tolerance on uniform grids: whole runs, each chosen from those before it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from tqdm import tqdm

from stfem.adaptivity.attempts import Attempt, Search, Searching, ToleranceCertificate, ToleranceError
from stfem.adaptivity.mesh_search import NORMS
from stfem.adaptivity.prediction import Plan, Prediction, Scheme
from stfem.estimators import Estimate
from stfem.estimators.estimate import attributes
from stfem.failures import SolverError, keeping
from stfem.problems import Problem, Torus
from stfem.solving import DEFAULT_CFL, Certificate, Estimator, certify, chosen_estimator
from stfem.timestepping import Node, NonFiniteError

__all__ = ["MAX_DOFS", "NORMS", "certify_within"]

#: Default of the largest number of unknowns.
MAX_DOFS = 10_000_000
#: Smallest bound that rounding allows, in multiples of ‖u_0‖: what runs of the catalogue end at.
_FLOOR = 1e-12
#: Bounds up to this multiple of it owe much to rounding.
_ROUNDING = 10.0
#: Digits that a solution of unknown size is to have.
_DIGITS = 4.0
#: Last resort against a search that never ends.
_MOST_ATTEMPTS = 40
#: A bound that grids finer by this factor
_WINDOW = 16
#: lower by less than a half, and whose last order is not above
_FALLS = 0.25
#: this, or so slowly that no grid in reach will do, is given up.
_GAIN = 0.5
#: Factor from grid to grid by which the growth of errors may rise while gradients are not resolved yet.
_SETTLES = 4.0
#: A clipped grid is still tried where the bound expected there is within this factor of the tolerance.
_CLOSE = 4.0
#: Part of the seconds expected of a run that have to be left for it to be started.
_SECONDS_LEFT = 0.5


class _OutOfTimeError(Exception):
    """Raised inside a run when its time is over."""


@dataclass(frozen=True)
class _Watched:
    """An estimator whose runs end at a deadline."""

    inner: Any
    deadline: float

    @property
    def reconstruction(self) -> Any:
        return getattr(self.inner, "reconstruction", None)

    @property
    def on_meshes(self) -> bool:
        return bool(getattr(self.inner, "on_meshes", False))

    def run(self, semidiscretization: Any, nodes: Iterator[Node], order: int) -> Estimate:
        result: Estimate = self.inner.run(semidiscretization, self._until_deadline(nodes), order)
        return result

    def _until_deadline(self, nodes: Iterator[Node]) -> Iterator[Node]:
        for node in nodes:
            if time.perf_counter() > self.deadline:
                raise _OutOfTimeError(f"stopped at t = {node.time:.3g}")
            yield node


@dataclass
class _Search(Searching):
    """The state of a search."""

    problem: Problem
    tol: float
    norm: str
    max_dofs: int
    max_seconds: float
    callback: Callable[[Attempt], object] | None
    unproved: bool
    progress: bool
    options: Mapping[str, Any]
    estimator: Estimator
    started: float = field(default_factory=time.perf_counter)
    attempts: list[Attempt] = field(default_factory=list)
    best: Certificate | None = None
    time_order: int = 1

    def run(self) -> ToleranceCertificate:
        """Attempts until the bound is small enough.

        Raises
        ------
        ToleranceError
            Where there is a reason to stop before.
        """
        domain, equation = self.problem.domain, self.problem.equation
        on_torus = isinstance(domain, Torus)
        scheme = Scheme(equation.dim, equation.components, 5 if on_torus else 4, on_torus)
        digits = math.log10(self.size / self.tol) if self.size > 0.0 else _DIGITS
        plan: Plan | str = self._within_limits([Plan.first(scheme, digits)], scheme)
        bar = tqdm(desc=f"tol {self.tol:g}", unit="run", leave=False, disable=not self.progress)
        with bar, keeping(self._interrupted):
            while isinstance(plan, Plan):
                dofs = scheme.dofs(plan.cells, plan.degree)
                now = f"now {plan.cells} cells, degree {plan.degree}, {dofs} unknowns"
                bar.set_postfix_str(f"bound {self.smallest:.3g}, {self.elapsed:.3g} s, {now}")
                reason = self._attempt(plan)
                bar.update()
                stop = self.callback is not None and self.callback(self.attempts[-1]) is True
                if self.best is not None and self.smallest <= self.tol and not reason:
                    return self._certificate(self.best, f"the bound is at most {self.tol:g}")
                if reason or stop:
                    plan = reason or "the callback asked for it"
                else:
                    plan = self._next(scheme)
        best = None if self.best is None else self._certificate(self.best, plan)
        raise ToleranceError(self._search(plan), best)

    def _interrupted(self) -> ToleranceCertificate | None:
        return None if self.best is None else self._certificate(self.best, "interrupted from the keyboard")

    @cached_property
    def size(self) -> float:
        """‖u_0‖, from a few points."""
        points = self.problem.domain.spread()
        squares = [np.mean(np.square(datum(points, 0.0))) for datum in self.problem.initial]
        size = math.sqrt(float(np.sum(squares)) * self.problem.domain.measure)
        return size if math.isfinite(size) else 0.0

    def _attempt(self, plan: Plan) -> str:
        """Run; returns why no further run makes sense, mostly nothing."""
        started, reason = time.perf_counter(), ""
        facts: dict[str, Any] = {"cells": plan.cells, "degree": plan.degree, "cfl": plan.cfl}
        watched = _Watched(self.estimator, self.started + self.max_seconds)
        try:
            result = certify(
                self.problem,
                cells=plan.cells,
                degree=plan.degree,
                **self._step(plan),
                estimator=watched,
                progress=self.progress,
                **self.options,
            )
        except _OutOfTimeError as error:
            facts["failure"], reason = str(error), f"max_seconds={self.max_seconds:g} are over"
        except NonFiniteError as error:
            facts["failure"] = f"not finite at t = {error.time:.3g}"
        except SolverError as error:
            facts["failure"] = str(error)
        except MemoryError:
            reason = facts["failure"] = "the memory of this machine is full"
        else:
            facts |= self._measured(result)
            if not result.guaranteed and not self.unproved:
                reason = (
                    f"no grid makes the bound guaranteed ({'; '.join(result.unproved)}); "
                    "unproved=True accepts that"
                )
        self.attempts.append(Attempt(**facts, seconds=time.perf_counter() - started))
        return reason

    def _step(self, plan: Plan) -> dict[str, Any]:
        """The time step; where stability sets no limit, and one step goes to the end, a part of that one."""
        whole = plan.cfl / DEFAULT_CFL
        unlimited = whole < 1.0 and all(a.steps == 1 for a in self.attempts if a.cfl == DEFAULT_CFL)
        return {"dt": whole * self.problem.final_time} if unlimited else {"cfl": plan.cfl}

    def _measured(self, result: Certificate) -> dict[str, Any]:
        bound = getattr(result, NORMS[self.norm])
        if bound is None:
            raise ValueError(
                f"norm: expected one that {type(self.estimator).__name__} bounds for this problem, "
                f"got {self.norm!r}"
            )
        if self.best is None or bound < getattr(self.best, NORMS[self.norm]):
            self.best = result
        self.time_order = result.solution.stepper.order
        return {
            "dt": self.problem.final_time / result.solution.steps,
            "steps": result.solution.steps,
            "slabs": result.facts.get("slabs", 0),
            "dofs": result.solution.values.size,
            "bound": float(bound),
            # in other norms the initial error has another size: it is then part of what falls with N
            "initial": result.parts["initial"] if self.norm == "l2" else 0.0,
            "temporal": result.parts.get("temporal", 0.0),
            "growth": result.parts.get("growth", 1.0),
            "seconds_solve": result.facts["seconds_solve"],
        }

    def _next(self, scheme: Scheme) -> Plan | str:
        """The next run, or why there is none."""
        if len(self.attempts) >= _MOST_ATTEMPTS:
            return f"{_MOST_ATTEMPTS} attempts were not enough"
        prediction = Prediction(scheme, self.tol, self.attempts, self.time_order, _FLOOR * self.size)
        smaller_step = prediction.smaller_step()
        if smaller_step is not None:
            return self._within_limits([smaller_step], scheme)
        patience = 1 if self.tol < prediction.floor else 2
        before = min((a.bound for a in self.attempts[:-patience]), default=math.inf)
        if prediction.was_good and min(a.bound for a in self.attempts[-patience:]) > _GAIN * before:
            small = self.smallest < _ROUNDING * prediction.floor
            reached = ", which has reached the size of rounding errors" if small else ""
            return f"finer grids no longer lower the bound{reached}"
        plans = prediction.grids()
        slow = self._too_slow(plans, scheme, prediction.order)
        return slow or self._within_limits(plans, scheme)

    def _too_slow(self, plans: list[Plan], scheme: Scheme, order: float | None) -> str:
        """Why finer grids will not do, after a degree has seen some that were finer by a large factor."""
        last = self.attempts[-1]
        runs = [a for a in self.attempts if a.degree == last.degree]
        coarse = [a.bound for a in runs if _WINDOW * a.cells <= last.cells]
        if not coarse:
            return ""
        falls = (order is not None and order > _FALLS) or _settles(*runs[-2:])
        if not last.bound <= _GAIN * min(coarse) and not falls:
            failed = f" ({last.failure})" if last.failure else ""
            return f"grids {_WINDOW} times as fine hardly lower the bound{failed}"
        if all(plan.needed > scheme.most_cells(self.max_dofs, plan.degree) for plan in plans):
            needed = min(plan.needed for plan in plans)
            cells = f"about {needed:.2g} cells" if needed < math.inf else "more cells than can be told"
            return f"the bound falls so slowly that {cells} per direction are needed, beyond {self._limit}"
        return ""

    @property
    def _limit(self) -> str:
        return f"max_dofs={self.max_dofs}"

    def _within_limits(self, plans: list[Plan], scheme: Scheme) -> Plan | str:
        """The first plan that the limits allow, with fewer cells where that may still be enough."""
        reason = ""
        for plan in plans:
            most = scheme.most_cells(self.max_dofs, plan.degree)
            tried = max((a.cells for a in self.attempts if a.degree == plan.degree), default=0)
            if plan.cells > most:
                expected = plan.bound * (plan.cells / max(most, 1)) ** plan.order
                if not (tried < most < plan.cells and expected <= _CLOSE * self.tol):
                    reason = reason or (
                        f"the next grid, of {plan.cells} cells per direction at degree {plan.degree}, has "
                        f"{scheme.dofs(plan.cells, plan.degree)} unknowns, beyond {self._limit}"
                    )
                    continue
                plan = replace(plan, cells=most, bound=expected)
            left = self.max_seconds - self.elapsed
            if _SECONDS_LEFT * plan.seconds > left or left <= 0.0:
                reason = reason or (
                    f"the next run, of {plan.cells} cells per direction at degree {plan.degree}, takes about "
                    f"{plan.seconds:.2g} s, and of max_seconds={self.max_seconds:g} "
                    f"{max(left, 0.0):.2g} s are left"
                )
                continue
            return plan
        return reason

    def _search(self, reason: str) -> Search:
        return Search(tol=self.tol, norm=self.norm, attempts=tuple(self.attempts), reason=reason)

    def _certificate(self, best: Certificate, reason: str) -> ToleranceCertificate:
        own = attributes(best, Certificate)
        return ToleranceCertificate(**own, search=self._search(reason))


def _settles(before: Attempt, after: Attempt) -> bool:
    """Whether the residual falls, and the growth of errors hides it but comes to an end."""
    grown = after.growth / before.growth
    return grown < _SETTLES and after.bound <= _GAIN * grown * before.bound < math.inf


def certify_within(
    problem: Problem,
    tol: float,
    norm: str,
    *,
    max_dofs: int,
    max_seconds: float,
    callback: Callable[[Attempt], object] | None,
    unproved: bool,
    progress: bool,
    estimator: Estimator | None,
    options: Mapping[str, Any],
) -> ToleranceCertificate:
    """`stfem.certify` with a tolerance; its arguments are checked."""
    return _Search(
        problem,
        tol,
        norm,
        max_dofs,
        max_seconds,
        callback,
        unproved,
        progress,
        options,
        chosen_estimator(estimator, problem),
    ).run()
