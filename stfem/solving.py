"""solve, estimate, certify: the three verbs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from tqdm import tqdm

from stfem.estimators import Estimate, SplitEstimator
from stfem.fluxes import ConvectiveFlux, InteriorPenalty, flux_rusanov
from stfem.problems import Problem
from stfem.reconstruction import Reconstruction, Siac, initial_corrected, initial_projection
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.stencil import Array
from stfem.timestepping import (
    ButcherTableau,
    ExplicitRungeKutta,
    Node,
    Stepper,
    default_stepper,
    integrate,
    number_of_steps,
)

#: Fraction of the linear stability limit that the automatic time step uses.
DEFAULT_CFL = 0.8
#: Least number of automatic steps where diffusion is implicit: its transients set no stability limit, but they need resolving.
IMPLICIT_STEPS = 64


class Estimator(Protocol):
    """Anything that turns a stream of nodes into an `Estimate`."""

    def run(self, semidiscretization: Semidiscretization, nodes: Iterator[Node], order: int) -> Estimate:
        """Consume all nodes of a run with time stepping of the given order."""
        ...


@dataclass(frozen=True, eq=False)
class Solution:
    """A discontinuous Galerkin solution at the final time, and the recipe that reproduces its whole history.

    Attributes
    ----------
    problem
        The problem.
    semidiscretization
        Grid, space and fluxes.
    stepper, dt
        Time stepping and upper limit of the step; steps are equal and end at the final time exactly.
    initial
        U_0 in kernel layout.
    values
        U(T) in kernel layout ``(m, q+1, …, N…)``.
    """

    problem: Problem
    semidiscretization: Semidiscretization
    stepper: Stepper
    dt: float
    initial: Array
    values: Array
    stored: tuple[Node, ...] | None = field(default=None, repr=False)

    @property
    def time(self) -> float:
        """Final time T."""
        return self.problem.final_time

    @property
    def steps(self) -> int:
        """Number of time steps."""
        return number_of_steps(self.problem.final_time, self.dt)

    @property
    def coefficients(self) -> Array:
        """Orthonormal Legendre coefficients at T, axes (component, cell…, mode): a view."""
        dim = self.semidiscretization.grid.dim
        cells = self.values.shape[1 + dim :]
        order = (0, *range(1 + dim, 1 + 2 * dim), *range(1, 1 + dim))
        return self.values.transpose(order).reshape(self.values.shape[0], *cells, -1)

    def nodes(self) -> Iterator[Node]:
        """All time nodes: the stored ones, or computed again (bit for bit the same run)."""
        if self.stored is not None:
            return iter(self.stored)
        return integrate(self.semidiscretization, self.stepper, self.initial, self.problem.final_time, self.dt)

    def __call__(self, x: Array) -> Array:
        """u_h(x, T) at points x ``(d, …)``; scalar problems return ``x.shape[1:]``, systems ``(m, …)``.

        Points are taken modulo the torus; on a face the value is that of the cell to its right.
        """
        values = evaluate(self.values, self.semidiscretization, np.asarray(x, dtype=float))
        return values[0] if self.problem.equation.components == 1 else values

    def __repr__(self) -> str:
        grid = self.semidiscretization.grid
        return (
            f"Solution(cells={grid.cells}, degree={self.semidiscretization.degree}, steps={self.steps}, "
            f"stepper={self.stepper!r}, time={self.time:g})"
        )


def evaluate(values: Array, semidiscretization: Semidiscretization, x: Array) -> Array:
    """u_h at arbitrary points ``(d, …)``: array ``(m, …)``."""
    from stfem.spaces.legendre import legendre_values

    grid = semidiscretization.grid
    if x.ndim == 0 or x.shape[0] != grid.dim:
        raise ValueError(f"x: expected shape ({grid.dim}, ...), got {x.shape}")
    points = x.reshape(grid.dim, -1)
    index, basis = [], []
    for i, (h, count) in enumerate(zip(grid.spacing, grid.cells, strict=True)):
        scaled = points[i] / h
        cell = np.floor(scaled)
        index.append(cell.astype(int) % count)
        basis.append(legendre_values(semidiscretization.degree, scaled - cell))
    local = values[(slice(None),) * (1 + grid.dim) + tuple(index)]  # (m, modes…, points)
    for table in basis:
        local = np.einsum("mk...p,pk->m...p", local, table)
    return np.asarray(local.reshape(values.shape[0], *x.shape[1:]))


def solve(
    problem: Problem,
    *,
    cells: int | tuple[int, ...],
    degree: int,
    dt: float | None = None,
    cfl: float | None = None,
    stepper: Stepper | None = None,
    flux: ConvectiveFlux = flux_rusanov,
    penalty: InteriorPenalty | None = None,
    initial_correction: bool | Reconstruction = True,
    progress: bool = False,
    history: bool = False,
) -> Solution:
    """Solve a problem with the discontinuous Galerkin method of lines (T1.2).

    Parameters
    ----------
    problem
        What to solve.
    cells
        Cells per direction, one number or one per direction.
    degree
        Polynomial degree q of Q_q.
    dt
        Upper limit of the time step. Default: from the CFL rule.
    cfl
        Fraction of the linear stability limit, 0.8 by default (dimensionless); not together with ``dt``.
    stepper
        Time stepping; by default explicit of order ≥ 2q + 1, implicit–explicit where diffusion would limit an explicit step
        below a quarter of the convective one.
    flux, penalty
        Numerical fluxes.
    initial_correction
        Whether U_0 is corrected so that its reconstruction meets u_0 (T2.0a/b), and for which reconstruction (`Siac()`).
    progress
        Show a progress bar.
    history
        Keep all time nodes in memory (otherwise only the last; an estimate then repeats the time stepping).

    Returns
    -------
    Solution

    Raises
    ------
    ValueError, TypeError
        For arguments out of range, both ``dt`` and ``cfl``, or an explicit stepper without a stable step.
    NonFiniteError
        Where the run blows up, with time and step.
    """
    solution = _prepare(problem, cells, degree, dt, cfl, stepper, flux, penalty, initial_correction)
    nodes = _stream(solution, progress)
    kept = tuple(nodes) if history else None
    last = kept[-1] if kept else _last(nodes)
    return replace(solution, values=last.values, stored=kept)


def estimate(solution: Solution, estimator: Estimator | None = None) -> Estimate:
    """Guaranteed bound, enclosure and indicators for a solution (T2–T4).

    Parameters
    ----------
    solution
        From `solve`. Without a stored history its time stepping is repeated, node by node.
    estimator
        `SplitEstimator()` by default.
    """
    chosen = estimator if estimator is not None else SplitEstimator()
    return chosen.run(solution.semidiscretization, solution.nodes(), solution.stepper.order)


@dataclass(frozen=True, eq=False)
class Certificate:
    """A solution with its estimate; every attribute of the estimate is available here, too."""

    solution: Solution
    estimate: Estimate

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("solution", "estimate"):
            raise AttributeError(name)
        return getattr(self.estimate, name)

    def __str__(self) -> str:
        return str(self.estimate)

    def __repr__(self) -> str:
        return f"Certificate({self.solution!r}, bound={self.estimate.bound:.4e})"


def certify(
    problem: Problem,
    *,
    cells: int | tuple[int, ...],
    degree: int,
    estimator: Estimator | None = None,
    dt: float | None = None,
    cfl: float | None = None,
    stepper: Stepper | None = None,
    flux: ConvectiveFlux = flux_rusanov,
    penalty: InteriorPenalty | None = None,
    initial_correction: bool | Reconstruction = True,
    progress: bool = False,
) -> Certificate:
    """Solve and estimate in one streaming pass: memory does not grow with the number of steps.

    Parameters are those of `solve` and `estimate`; the initial value is corrected for the reconstruction of the estimator.

    Returns
    -------
    Certificate
        ``.solution``, ``.estimate`` and all attributes of the estimate.

    Raises
    ------
    ValueError, TypeError, NonFiniteError
        As `solve`.
    """
    chosen = estimator if estimator is not None else SplitEstimator()
    own = getattr(chosen, "reconstruction", None)
    correction = own if initial_correction is True and own is not None else initial_correction
    solution = _prepare(problem, cells, degree, dt, cfl, stepper, flux, penalty, correction)
    recorder = _Recorder(_stream(solution, progress))
    started = time.perf_counter()
    result = chosen.run(solution.semidiscretization, iter(recorder), solution.stepper.order)
    facts = {
        **result.facts,
        "seconds_solve": recorder.seconds,
        "seconds_estimate": time.perf_counter() - started - recorder.seconds,
    }
    return Certificate(replace(solution, values=recorder.last.values), replace(result, facts=facts))


class _Recorder:
    """Passes nodes on, remembers the last one and the time that computing them took."""

    def __init__(self, nodes: Iterator[Node]) -> None:
        self._nodes = nodes
        self.seconds = 0.0

    def __iter__(self) -> Iterator[Node]:
        while True:
            started = time.perf_counter()
            node = next(self._nodes, None)
            self.seconds += time.perf_counter() - started
            if node is None:
                return
            self.last = node
            yield node


def _prepare(
    problem: Problem,
    cells: int | tuple[int, ...],
    degree: int,
    dt: float | None,
    cfl: float | None,
    stepper: Stepper | None,
    flux: ConvectiveFlux,
    penalty: InteriorPenalty | None,
    initial_correction: bool | Reconstruction,
) -> Solution:
    """Everything that is known before the first step."""
    if dt is not None and cfl is not None:
        raise TypeError("solve: expected either dt or cfl, got both")
    for name, value in (("dt", dt), ("cfl", cfl)):
        if value is not None and not (np.isfinite(value) and value > 0.0):
            raise ValueError(f"{name}: expected a positive finite number, got {value}")
    semi = Semidiscretization(problem, cells, degree, flux, penalty)
    projection = initial_projection(semi)
    limits = StepLimits(semi, projection)
    chosen = stepper if stepper is not None else limits.default_stepper()
    initial = projection
    if initial_correction is not False:
        rule = Siac() if initial_correction is True else initial_correction
        implicit = getattr(chosen, "implicit", False)
        initial = initial_corrected(semi, rule.bind(semi), implicit)
    step = dt if dt is not None else (cfl if cfl is not None else DEFAULT_CFL) * limits.stable_step(chosen)
    return Solution(problem, semi, chosen, min(step, problem.final_time), initial, initial)


class StepLimits:
    """Linear stability limits of explicit time stepping for one scheme and initial state."""

    #: Explicit stepping is kept while it needs at most this many times the steps of convection alone.
    IMPLICIT_FROM = 4.0

    def __init__(self, semidiscretization: Semidiscretization, initial: Array) -> None:
        self._semi = semidiscretization
        self.convective_rate = semidiscretization.convective_rate(initial)

    @cached_property
    def diffusive_rate(self) -> float:
        """Largest eigenvalue of −P, in 1/time."""
        return self._semi.diffusion.spectral_radius if self._semi.has_diffusion else 0.0

    def default_stepper(self) -> Stepper:
        """Explicit where diffusion does not limit the step, else implicit–explicit."""
        explicit = default_stepper(self._semi.degree, diffusion_limits=False)
        if self.diffusive_rate == 0.0:
            return explicit
        convective, both = self._rates(explicit.tableau)
        implicit = both > self.IMPLICIT_FROM * convective
        return default_stepper(self._semi.degree, diffusion_limits=True) if implicit else explicit

    def _rates(self, tableau: ButcherTableau) -> tuple[float, float]:
        """1/dt at the stability limit for convection alone and with diffusion."""
        convective = self.convective_rate / tableau.stable_step(self._semi.transport_spectrum)
        return convective, convective + self.diffusive_rate / tableau.real_stability

    def stable_step(self, stepper: Stepper) -> float:
        """Largest step within the linear stability limit: convective part, and diffusion where it is stepped explicitly.

        With implicit diffusion at least 64 steps are taken, whatever ε.

        Raises
        ------
        ValueError
            For a stepper without a tableau, whose limit is not known.
        """
        tableau = getattr(stepper, "tableau", None)
        if tableau is None:
            raise ValueError(f"dt: expected a time step for the stepper {stepper!r}, whose stability limit is not known, got None")
        explicit = getattr(tableau, "explicit", None)
        part = tableau if isinstance(tableau, ButcherTableau) else explicit
        if not isinstance(part, ButcherTableau):
            raise ValueError(f"dt: expected a time step for the stepper {stepper!r}, got None")
        convective, both = self._rates(part)
        if isinstance(stepper, ExplicitRungeKutta):
            return 1.0 / both if both > 0.0 else np.inf
        accurate = self._semi.problem.final_time / IMPLICIT_STEPS if self._semi.has_diffusion else np.inf
        return min(accurate, 1.0 / convective if convective > 0.0 else np.inf)


def _stream(solution: Solution, progress: bool) -> Iterator[Node]:
    nodes = solution.nodes()
    return iter(tqdm(nodes, total=solution.steps + 1, unit="node", leave=False)) if progress else nodes


def _last(nodes: Iterator[Node]) -> Node:
    for node in nodes:
        last = node
    return last
