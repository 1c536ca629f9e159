"""What the runs so far tell about the next one: orders of the bound, and what a run costs.

Of one degree q the bound is taken for C N^{−p} + z_0, with the order p of the last two runs, or the one of
the theory where there is one run only, and the initial error z_0, which falls faster and by itself. Nothing
here can make a bound wrong: a bad prediction costs a run more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from stfem.adaptivity.attempts import Attempt
from stfem.solving import DEFAULT_CFL

__all__ = ["Plan", "Prediction", "Scheme"]

#: Cells per direction of first runs.
_START = 4
#: What a run aims at, in multiples of the tolerance: of a degree that no run had yet, after one, after more.
_AIMS = (2.0, 0.6, 0.6)
#: By how much a degree more lowers the bound on first grids; 1.3 to 50 on problems of the catalogue.
_GAIN_OF_DEGREE = 4.0
#: A degree that no run had yet is tried where it is to cost at most this part of the others.
_WORTH = 0.5
#: Largest growth of N in one go: after one run of the degree, where the last order was good, else.
_GROWTH = (16.0, 4.0, 2.0)
#: Part of the order of the theory that is good enough to be trusted.
_GOOD = 0.5
#: Below this many unknowns the cost of a time step hardly depends on them: on a torus, on a box.
_SMALL = (1e4, 1e3)
#: Part of the last rise of the order that the next grid is to see as well.
_TREND = 0.5
#: An order below which a bound does not fall.
_STALLED = 0.05
#: Share of the time stepping in a bound that falls too slowly from which on the time step is suspected,
_SUSPECT = 0.3
#: if the order of the bound is that much below the one of the theory;
_MISSED = 1.5
#: the share that it is reduced to, and the largest reduction in one go: at first, and where one has helped.
_SHARE, _REDUCTION = 0.1, (1.0 / 4.0, 1.0 / 16.0)
#: Bounds up to this multiple of the size of rounding errors are left alone.
_ROUNDING = 10.0
#: A smaller time step has helped where it lowers the bound to this part.
_HELPED = 0.7


@dataclass(frozen=True)
class Scheme:
    """What is known of a problem before any run.

    Attributes
    ----------
    dim, components
        d and m.
    highest
        Largest degree.
    reconstructed
        Whether the bound is of order 2q + 1 where the solution is smooth, as on a torus (T2), else q + 1.
    """

    dim: int
    components: int
    highest: int
    reconstructed: bool

    def order(self, degree: int) -> int:
        """Order of the bound in h for smooth solutions."""
        return 2 * degree + 1 if self.reconstructed else degree + 1

    @property
    def initial_order(self) -> int:
        """How much faster the initial error falls: observed on problems of the catalogue."""
        return 3 if self.reconstructed else 1

    def dofs(self, cells: int, degree: int) -> int:
        """Number of unknowns m (N (q+1))^d."""
        return int(self.components * (cells * (degree + 1)) ** self.dim)

    def most_cells(self, dofs: int, degree: int) -> int:
        """Largest N with at most so many unknowns."""
        cells = int((dofs / self.components) ** (1.0 / self.dim) / (degree + 1)) + 1
        while cells > 0 and self.dofs(cells, degree) > dofs:
            cells -= 1
        return cells


@dataclass(frozen=True)
class Plan:
    """A run to come.

    Attributes
    ----------
    cells, degree, cfl
        As of `Attempt`.
    bound, seconds
        What is expected of it; seconds are 0 where nothing is known.
    needed
        Cells per direction with which the tolerance is expected.
    order
        Order with which the bound is expected to fall.
    """

    cells: int
    degree: int
    cfl: float
    bound: float = math.inf
    seconds: float = 0.0
    needed: float = math.inf
    order: float = 0.0

    @staticmethod
    def first(scheme: Scheme, digits: float) -> Plan:
        """The first run: a degree for every two digits that the bound is to have."""
        return Plan(_START, max(1, min(round(digits / 2.0), scheme.highest - 1)), DEFAULT_CFL)


@dataclass(frozen=True)
class _Fit:
    """C N^{−p} + z_0(N) through the last run of a degree."""

    cells: float
    rest: float
    initial: float
    order: float
    initial_order: float
    runs: int
    nominal: float

    def bound(self, cells: float) -> float:
        ratio = self.cells / cells
        return float(self.rest * ratio**self.order + self.initial * ratio**self.initial_order)

    def needed(self, aim: float) -> float:
        """N of a given bound, infinite where none is in sight."""
        if self.order <= _STALLED:
            return math.inf
        pairs = ((self.rest, self.order), (self.initial, self.initial_order))
        try:
            return float(self.cells * max((part / aim) ** (1.0 / order) for part, order in pairs))
        except OverflowError:
            return math.inf

    @property
    def good(self) -> bool:
        return self.runs >= 2 and self.order >= _GOOD * self.nominal

    @property
    def largest(self) -> float:
        """Largest N that may follow."""
        return self.cells * (_GROWTH[0] if self.runs == 1 else _GROWTH[1] if self.good else _GROWTH[2])


@dataclass(frozen=True)
class Prediction:
    """Predictions from all runs so far.

    Attributes
    ----------
    scheme, tol
        The problem and what is asked for.
    attempts
        At least one.
    time_order
        Order of the time stepping.
    floor
        Size of rounding errors: no grid is chosen for a smaller bound.
    """

    scheme: Scheme
    tol: float
    attempts: Sequence[Attempt]
    time_order: int
    floor: float = 0.0

    def grids(self) -> list[Plan]:
        """Finer grids that may come next, best first."""
        return sorted(self._grids(), key=self._cost)

    @property
    def order(self) -> float | None:
        """Order of the bound that the last two runs of the last degree show; None after one."""
        fit = self._fit(self.attempts[-1].degree)
        return fit.order if fit is not None and fit.runs >= 2 else None

    @property
    def was_good(self) -> bool:
        """Whether any two runs in a row of a degree have shown a good order."""
        for degree in {a.degree for a in self.attempts}:
            runs = self._finished(degree)
            for n in range(2, len(runs) + 1):
                fit = self._through(runs[:n])
                if fit.good:
                    return True
        return False

    def _grids(self) -> Iterator[Plan]:
        known = sorted({attempt.degree for attempt in self.attempts})
        for degree in known:
            fit, finest = self._fit(degree), max(a.cells for a in self.attempts if a.degree == degree)
            if fit is None or fit.cells < finest:  # the last run broke down: finer, without an expectation
                yield Plan(2 * finest, degree, self._cfl(degree), seconds=self._seconds(2 * finest, degree))
            else:
                yield self._plan(fit, degree, _AIMS[min(fit.runs, 2)])
        last = self._fit(known[-1])
        if known[-1] < self.scheme.highest and last is not None and last.order > _STALLED:
            yield self._plan(self._next_degree(last, known[-1]), known[-1] + 1, _AIMS[0])

    def _plan(self, fit: _Fit, degree: int, aim: float) -> Plan:
        needed = fit.needed(max(aim * self.tol, self.floor))
        least = fit.cells if fit.runs == 0 else _rounded_up(fit.cells + 1)
        cells = max(least, _rounded_up(min(needed, fit.largest)))
        plan = Plan(
            int(cells), degree, self._cfl(degree), fit.bound(cells), 0.0, max(needed, cells), fit.order
        )
        return replace(plan, seconds=self._seconds(plan.cells, degree))

    def _cost(self, plan: Plan) -> tuple[float, float]:
        """Seconds until the tolerance; without an expectation those of the run itself."""
        tried = any(attempt.degree == plan.degree for attempt in self.attempts)
        seconds = self._seconds(plan.needed, plan.degree)
        return seconds if tried else seconds / _WORTH, plan.seconds

    def _next_degree(self, fit: _Fit, degree: int) -> _Fit:
        """A guess for a degree without runs: orders grow like those of the theory, C from first grids."""
        order = min(self.scheme.order(degree + 1), fit.order + 2.0)
        start = min(attempt.cells for attempt in self.attempts)
        return _Fit(start, fit.bound(start) / _GAIN_OF_DEGREE, 0.0, order, order, 0, order)

    def _finished(self, degree: int) -> list[Attempt]:
        """Runs of a degree that came to an end, with its latest fraction of the stability limit."""
        runs = [a for a in self.attempts if a.degree == degree and math.isfinite(a.bound)]
        return [a for a in runs if a.cfl == self._cfl(degree)]

    def _cfl(self, degree: int) -> float:
        """Fraction of the stability limit: the latest, or the one before where a smaller one was no help."""
        runs = [a for a in self.attempts if a.degree == degree] or list(self.attempts)
        if len(runs) >= 2 and _is_smaller_step(runs[-2], runs[-1]) and not _helped(runs[-2], runs[-1]):
            return runs[-2].cfl
        return runs[-1].cfl

    def _fit(self, degree: int) -> _Fit | None:
        runs = self._finished(degree)
        return self._through(runs) if runs else None

    def _through(self, runs: Sequence[Attempt]) -> _Fit:
        last, nominal = runs[-1], float(self.scheme.order(runs[-1].degree))
        finer = [(a, b) for a, b in pairwise(runs) if a.cells < b.cells]
        orders = [_order(_rest(a), _rest(b), a, b) for a, b in finer]
        order, count = orders[-1] if orders else nominal, len(orders) + 1
        if len(orders) > 1 and orders[-2] < order < nominal:  # grids begin to resolve the solution
            order = min(nominal, order + _TREND * (order - orders[-2]))
        initial, falls = min(last.initial, last.bound), nominal + self.scheme.initial_order
        if finer and 0.0 < initial < math.inf and finer[-1][0].initial > 0.0:
            falls = min(falls, max(_STALLED, _order(finer[-1][0].initial, initial, *finer[-1])))
        order = min(order, nominal + 1.0)
        return _Fit(last.cells, _rest(last), initial, order, falls, count, nominal)

    def _seconds(self, cells: float, degree: int) -> float:
        """From the last run of the nearest degree: steps grow like N, slabs like √N, stages with q."""
        if math.isinf(cells):
            return math.inf
        last = min(reversed(self.attempts), key=lambda a: abs(a.degree - degree))
        finer, stages = cells / last.cells, (2 * degree + 1) / (2 * last.degree + 1)
        unknowns = self.scheme.dofs(1, degree) * cells**self.scheme.dim
        small = _SMALL[0 if self.scheme.reconstructed else 1]
        size = (small + unknowns) / (small + self.scheme.dofs(last.cells, last.degree))
        solving = min(last.seconds_solve, last.seconds)
        return size * stages * (solving * finer + (last.seconds - solving) * math.sqrt(finer))

    def smaller_step(self) -> Plan | None:
        """The last run again with a smaller time step, where that one is suspected."""
        last = self.attempts[-1]
        runs = [a for a in self.attempts if a.degree == last.degree]
        pairs = [pair for pair in pairwise(runs) if _is_smaller_step(*pair)]
        if last.temporal < _SUSPECT or not _ROUNDING * self.floor < last.bound < math.inf:
            return None
        if any(not _helped(*pair) for pair in pairs):
            return None
        fit = self._fit(last.degree)
        if not pairs and (fit is None or fit.runs < 2 or fit.order > fit.nominal - _MISSED):
            return None
        wanted = (_SHARE * self.tol / (min(last.temporal, 1.0) * last.bound)) ** (1.0 / self.time_order)
        factor = min(0.5, max(_REDUCTION[1 if pairs else 0], wanted))
        plan = Plan(last.cells, last.degree, factor * last.cfl, last.bound, last.seconds / factor)
        return replace(plan, needed=float(last.cells))


def _order(coarse: float, fine: float, before: Attempt, after: Attempt) -> float:
    """Of a number on two grids."""
    return math.log(coarse / fine) / math.log(after.cells / before.cells)


def _rest(attempt: Attempt) -> float:
    """The bound without the initial error."""
    return max(attempt.bound - attempt.initial, 1e-3 * attempt.bound, 1e-300)


def _is_smaller_step(before: Attempt, after: Attempt) -> bool:
    return before.cells == after.cells and after.cfl < before.cfl


def _helped(before: Attempt, after: Attempt) -> bool:
    return after.bound <= _HELPED * before.bound


def _rounded_up(cells: float) -> int:
    """N above a number, with a few leading binary digits."""
    least = math.ceil(cells - 1e-9)
    step = max(1, 1 << max(0, least.bit_length() - 5))
    return -(-least // step) * step
