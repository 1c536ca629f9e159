"""Forward in time, window by window: each is repeated until what it adds to the bound is small enough."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil

import numpy as np

from stfem.adaptivity.attempts import WindowAttempt
from stfem.adaptivity.budget import Spent
from stfem.adaptivity.composition import overlap_of
from stfem.adaptivity.forecast import coarsenings, following, velocity
from stfem.adaptivity.marking import Marking, checked_rule, mark_dorfler, mark_dorfler_coarsening
from stfem.adaptivity.mesh_search import MarchedSolution, MeshSearch, StoppedError
from stfem.adaptivity.pace import Pace
from stfem.adaptivity.start import initial_values, started_mesh
from stfem.adaptivity.trial import Trial, first_trial
from stfem.adaptivity.windows import slab_nodes
from stfem.checks import checked_share, checked_whole, positive_number
from stfem.estimators import Estimate
from stfem.estimators.unstructured import MeshWindow
from stfem.failures import SolverError
from stfem.meshes.quadrature import Array
from stfem.problems import Domain
from stfem.semidiscretization import UnstructuredSemidiscretization
from stfem.solving import DEFAULT_CFL
from stfem.timestepping import Node, StepLimits, Stepper

__all__ = ["TimeMarching"]

#: Part of the tolerance that refinement aims at, so that the next window need not be repeated at once.
_AIM = 0.9
#: Part of the error that is always given for fewer cells.
_TRIFLE = 0.02
#: Largest factor by which a window may add more than the one before; bisections that are forgotten at most.
_LARGEST, _FURTHEST = 1e3, 12
#: Share of the time stepping in what a window adds, too much, from which on slabs are halved.
_DOMINATES = 0.25
#: Part of the cells that have to change for a change of the mesh.
_WORTH = 0.05
#: Explicit time steps per slab from which on implicit ones are used, one per slab.
_MOST_STEPS = 48
#: Largest exponent of a growth that is expected.
_MOST_GROWTH = 50.0
#: Repetitions of a window after which a run is given up.
_REPEATS = 40


@dataclass(frozen=True)
class TimeMarching:
    """A run in windows of a few slabs, each with its own mesh and length of slabs.

    The mesh at the start is adapted to the initial value. A window is solved and estimated; where the bound
    at the final time, if all windows to come added what this one does, is above the tolerance, marked cells
    are refined and the window is repeated from its start. Where most of what it adds is due to the time
    stepping, its slabs are halved instead. An accepted window is final; the mesh of the next one follows the
    flow and is coarsened where indicators are small.

    Parameters
    ----------
    slabs
        Slabs of a window. The interpolation in time does not cross its ends.
    initial_share
        Part of the tolerance for the initial error, in (0, 1).
    marking, coarsening
        Rules for indicators η_K² of a window.
    rounds, coarser
        Largest number of bisections of a cell at one repetition, and of those undone at one change.
    follow
        Whether the mesh moves with the flow before a window is tried.
    first_slab
        Duration of the first slabs; by default one in which a wave crosses a few of the smallest cells.

    Raises
    ------
    ValueError, TypeError
        For numbers out of range and rules that are not callable.
    """

    slabs: int = 8
    initial_share: float = 0.1
    marking: Marking = mark_dorfler
    coarsening: Marking = mark_dorfler_coarsening
    rounds: int = 6
    coarser: int = 3
    follow: bool = True
    first_slab: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("slabs", 1), ("rounds", 1), ("coarser", 0)):
            checked_whole(name, getattr(self, name), least)
        checked_share("initial_share", self.initial_share)
        for name in ("marking", "coarsening"):
            checked_rule(name, getattr(self, name))
        if self.first_slab is not None:
            positive_number("first_slab", self.first_slab)

    def run(self, search: MeshSearch) -> None:
        """See `stfem.adaptivity.mesh_search.Strategy`."""
        _March(self, search).run()


@dataclass(frozen=True, eq=False)
class _Window:
    """A window that was tried.

    Attributes
    ----------
    start, stop, slabs
        Times, and number of slabs in between.
    domain, semi, stepper, sizes, first, values
        Mesh, scheme and time steps; U at both ends.
    window, estimate
        The bound with all before it.
    spent, temporal, change
        What this window adds, and the shares of the time stepping and of the change of the mesh in that.
    """

    start: float
    stop: float
    slabs: int
    domain: Domain
    semi: UnstructuredSemidiscretization
    stepper: Stepper
    sizes: Array
    first: Array
    values: Array
    window: MeshWindow
    estimate: Estimate
    spent: Spent
    temporal: float
    change: float

    @property
    def stays(self) -> float:
        """Part of the error that is in the same cells in the last slab as in the first."""
        one, other = self.window.best.first_sq, self.window.best.latest_sq
        totals = float(one.sum()), float(other.sum())
        if not min(totals) > 0.0:
            return 1.0
        return float(np.minimum(one / totals[0], other / totals[1]).sum())


class _March:
    """One run."""

    def __init__(self, strategy: TimeMarching, search: MeshSearch) -> None:
        self.strategy, self.search = strategy, search
        self.final_time = search.problem.final_time
        self.estimator = replace(search.estimator, spacing=1)
        self.reached: _Window | None = None
        self.meshes: list[tuple[float, Domain]] = []
        self.sizes: list[Array] = []
        self.steppers: list[Stepper] = []
        self.initial = np.zeros(0)

    def run(self) -> None:
        search, strategy = self.search, self.strategy
        domain = started_mesh(search, strategy.initial_share * search.tol, strategy.marking, strategy.rounds)
        trial = first_trial(domain)
        slab = strategy.first_slab or self._first_slab(domain)
        self.pace = Pace(self.final_time, strategy.slabs, strategy.slabs * slab)
        while self.reached is None or self.reached.stop < self.final_time:
            self.reached = self._accepted(trial)
            if self.reached.stop < self.final_time:
                trial = self._following(self.reached)

    def _first_slab(self, domain: Domain) -> float:
        semi = self.search.on(domain)
        rate = semi.convective_rate(semi.project(semi.problem.initial))
        return min(self.final_time / self.strategy.slabs, 2.0 / rate if rate > 0.0 else self.final_time)

    @property
    def _start(self) -> float:
        """Where the next window begins."""
        return 0.0 if self.reached is None else self.reached.stop

    def _accepted(self, trial: Trial) -> _Window:
        """The window on the first mesh and with the first length of slabs that are good enough."""
        search, strategy = self.search, self.strategy
        for _ in range(_REPEATS):
            try:
                tried = self._tried(trial)
            except SolverError as error:
                self.pace.halve(self._start, f"the run ends: {error}")
                continue
            spent = tried.spent
            if spent.within(search.tol):
                self.pace.adapt(tried.stop - tried.start, tried.temporal, tried.change, tried.stays)
                return tried
            if tried.temporal > _DOMINATES:
                reason = f"the time stepping dominates at t = {tried.start:.3g}"
                self.pace.halve(self._start, reason, tried.change, tried.stays)
                continue
            factor = spent.factor(_AIM * search.tol)
            indicators = tried.window.best.indicators_sq
            goal = min(factor, 1.0) ** 2 * float(indicators.sum())
            trial = search.refined(trial, indicators, goal, strategy.marking, strategy.rounds)
        raise StoppedError(f"{_REPEATS} attempts at the window from t = {self._start:.3g} on were not enough")

    def _tried(self, trial: Trial) -> _Window:
        started = time.perf_counter()
        search, before, times = self.search, self.reached, self.pace.times(self._start)
        semi = search.on(trial.domain)
        overlap = None
        if before is None:
            first = initial_values(search, semi)
        else:
            overlap = overlap_of(before.domain, trial.changes)
            first = before.values
            if trial.domain is not before.domain:
                # where cells change û with the means of U: smooth, and of the same mass (T4.10)
                best = before.window.best
                carried = best.final_state.copy()
                carried[:, 0] = before.values[:, 0]
                first = overlap.project(best.reconstruction.target, carried, semi.space)
                kept = overlap.untouched
                plain = overlap.project(before.semi.space, before.values, semi.space)
                first[:, :, kept] = plain[:, :, kept]
        stepper, steps = self._stepping(semi, first, np.diff(times))
        last: list[Node] = []

        def nodes() -> Iterator[Node]:
            for node in search.watched(slab_nodes(semi, stepper, first, times, steps)):
                last[:] = [node]
                yield node

        earlier = None if before is None else before.window
        window = self.estimator.window(semi, nodes(), stepper.order, earlier, overlap)
        estimate = window.result()
        result = _Window(
            *(float(times[0]), float(times[-1]), len(steps), trial.domain, semi, stepper),
            np.repeat(np.diff(times) / steps, steps),
            *(first, last[0].values, window, estimate),
            *self._spent(window, estimate, times),
        )
        self._record(result, time.perf_counter() - started)
        return result

    def _stepping(
        self, semi: UnstructuredSemidiscretization, state: Array, slabs: Array
    ) -> tuple[Stepper, list[int]]:
        """How to step, and numbers of time steps in slabs of these lengths."""
        limits, given = StepLimits.of(semi, state), self.search.options["stepper"]
        chosen: Stepper = given if given is not None else limits.default_stepper()
        stable = DEFAULT_CFL * limits.stable_step(chosen)
        steps = [max(1, ceil(slab / stable * (1.0 - 1e-10))) for slab in slabs.tolist()]
        if given is None and max(steps) > _MOST_STEPS:
            return limits.default_stepper(float(slabs.max())), [1] * len(steps)
        return chosen, steps

    def _spent(self, window: MeshWindow, estimate: Estimate, times: Array) -> tuple[Spent, float, float]:
        best, search = window.best, self.search
        rows = np.array(best.rows[best.carried :])
        alpha, beta = float(rows[:, 2].sum()), float(rows[:, 3].sum())
        if self.reached is None:
            before = best.initial_l1 if search.norm == "l1" else estimate.parts["initial"]
            level = estimate.parts["initial"]
        else:
            before, level = search.size(self.reached.estimate), self.reached.estimate.bound_final
        under_root = float(np.hypot(level, np.sqrt(beta))) - level
        total = alpha + under_root
        linear = alpha / total if total > 0.0 else 1.0
        left, duration = self.final_time - float(times[0]), float(times[-1] - times[0])
        grown = best.exponent - (0.0 if self.reached is None else self.reached.window.best.exponent)
        growth = float(np.exp(min(grown * (left / duration - 1.0), _MOST_GROWTH)))
        spent = Spent(before, search.size(estimate), linear, left / duration, growth)
        if not total > 0.0:
            return spent, 0.0, 0.0
        # at the start and after a change U has transients, which no slab resolves: they count for the change
        first, rest = rows[0], rows[1:] if len(rows) > 1 else rows
        temporal = float((rest[:, 2] * np.minimum(rest[:, 5], 1.0)).mean()) * len(rows)
        change = max(0.0, float(first[2] - rest[:, 2].mean())) if best.jump > 0.0 else 0.0
        return spent, temporal / total, change / total

    def _record(self, tried: _Window, seconds: float) -> None:
        spent, estimate = tried.spent, tried.estimate
        attempt = WindowAttempt(
            cells=tried.domain.mesh().size,
            degree=self.search.degree,
            cfl=DEFAULT_CFL,
            dt=float(tried.sizes.max()),
            steps=len(tried.sizes),
            slabs=tried.slabs,
            dofs=tried.semi.dofs,
            bound=self.search.size(estimate),
            initial=estimate.parts["initial"],
            temporal=tried.temporal,
            growth=estimate.parts["growth"],
            seconds=seconds,
            start=tried.start,
            stop=tried.stop,
            accepted=spent.within(self.search.tol),
        )
        if attempt.accepted or self.reached is None:
            self._publish(tried)
        if attempt.accepted:
            self.initial = self.initial if self.meshes else tried.first
            self.meshes.append((tried.start, tried.domain))
            self.sizes.append(tried.sizes)
            self.steppers.append(tried.stepper)
        self.search.record(attempt, estimate.guaranteed, estimate.unproved)

    def _publish(self, last: _Window) -> None:
        """The certificate up to the end of a window."""
        search, semi = self.search, last.semi
        # of a run that ends before, a problem that ends there
        problem = replace(semi.problem, final_time=last.stop)
        meshes = (*self.meshes, (last.start, last.domain))
        changes = sum(one is not other for (_, one), (_, other) in pairwise(meshes))
        one = not changes and all(repr(stepper) == repr(last.stepper) for stepper in self.steppers)
        first = self.initial if one and self.meshes else last.first
        sizes = np.concatenate([*self.sizes, last.sizes])
        solution = MarchedSolution(
            *(problem, semi, last.stepper, float(sizes.max()), first, last.values, None, sizes),
            meshes=meshes,
            repeatable=one,
        )
        windows = [a for a in search.attempts if isinstance(a, WindowAttempt) and a.accepted]
        dofs = [a.dofs for a in windows] + [semi.dofs]
        durations = [a.stop - a.start for a in windows] + [last.stop - last.start]
        facts = {
            "steps": solution.steps,
            "dofs": max(dofs),
            "dofs_mean": float(np.average(dofs, weights=durations)),
            "windows": len(dofs),
            "changes": changes,
        }
        search.best = replace(last.estimate, facts={**last.estimate.facts, **facts}), solution

    def _following(self, reached: _Window) -> Trial:
        """The mesh that the next window is tried on."""
        search, strategy = self.search, self.strategy
        best, mesh = reached.window.best, reached.domain.mesh()
        factor = min(reached.spent.factor(_AIM * search.tol), _LARGEST)
        # the last slab says where the error is now; as many of them are what the window would add
        latest = best.latest_sq * reached.slabs**2
        sums = float(latest.sum()), float(best.indicators_sq.sum())
        allowed = max(factor**2 * max(sums), (1.0 + _TRIFLE) * sums[0])
        levels = coarsenings(latest, allowed, strategy.coarsening, search.degree, mesh.dim, _FURTHEST)
        times = self.pace.times(reached.stop)
        along = velocity(search.problem.equation, mesh, reached.values[:, 0], reached.stop)
        ways = [(t - reached.stop) * along for t in times] if strategy.follow else [np.zeros_like(along)]
        trial = following(reached.domain, levels, ways, strategy.coarser)
        kept = np.count_nonzero(overlap_of(reached.domain, trial.changes).same)
        return trial if kept < (1.0 - _WORTH) * mesh.size else first_trial(reached.domain)
