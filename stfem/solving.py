"""solve, estimate, certify: the three verbs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

import numpy as np

from stfem.arguments import check_methods, check_objects, named
from stfem.certificates import Certificate, certified, together
from stfem.checkpoints import EVERY, Checkpoint
from stfem.checks import checked_flag, positive_number
from stfem.determinism import deterministic
from stfem.estimators import Estimate, MeshEstimator, SplitEstimator
from stfem.fluxes import ConvectiveFlux, InteriorPenalty, flux_rusanov
from stfem.problems import Problem, Torus
from stfem.problems.domain import torus_of
from stfem.reconstruction import Reconstruction, corrected_start, defect_norm
from stfem.running import Interruption, Recorder, Run, failed, with_steps
from stfem.semidiscretization import AnySemidiscretization, EquationProjection, semidiscretize
from stfem.solution import Solution
from stfem.spaces.stencil import Array
from stfem.stationary import StationarySolution
from stfem.timestepping import (
    MOST_STEPS,
    ControlledSteps,
    Node,
    StepControl,
    StepLimits,
    Stepper,
    integrate,
    require_admissible,
)

__all__ = ["DEFAULT_CFL", "Certificate", "Estimator", "certify", "chosen_estimator", "estimate", "solve"]

#: One for every scheme in use.
_LOCKS: WeakKeyDictionary[AnySemidiscretization, RLock] = WeakKeyDictionary()
#: Fraction of the linear stability limit that the automatic time step uses.
DEFAULT_CFL = 0.8


class Estimator(Protocol):
    """Anything that turns a stream of nodes into an `Estimate`.

    It is asked on unstructured meshes only if it has an attribute ``on_meshes`` that is true.
    """

    def run(self, semidiscretization: Any, nodes: Iterator[Node], order: int) -> Estimate:
        """Consume all nodes of a run with time stepping of the given order."""
        ...


@deterministic
def solve(
    problem: Problem,
    *,
    cells: int | tuple[int, ...] | None = None,
    degree: int,
    dt: float | None = None,
    cfl: float | None = None,
    stepper: Stepper | None = None,
    step_control: StepControl | None = None,
    flux: ConvectiveFlux = flux_rusanov,
    penalty: InteriorPenalty | None = None,
    initial_correction: bool | Reconstruction | EquationProjection = True,
    progress: bool = False,
    history: bool = False,
    checkpoint: str | Path | None = None,
    every: float = EVERY,
) -> Solution:
    """Solve a problem with the discontinuous Galerkin method of lines (T1.2).

    Parameters
    ----------
    problem
        What to solve.
    cells
        Cells per direction, one number or one per direction; none where the domain has its mesh.
    degree
        Polynomial degree q of Q_q, 0 to 5, on a torus; of P_q or mapped Q_q, 0 to 4, on other domains.
    dt
        Upper limit of the time step. Default: from the CFL rule.
    cfl
        Fraction of the linear stability limit, 0.8 by default (dimensionless); not together with ``dt``.
    stepper
        Time stepping; by default explicit of order ≥ 2q + 1, implicit–explicit where diffusion would limit an
        explicit step below a quarter of the convective one, or below ``dt``; on a `Box` or `Domain` Radau IIA
        for a ``dt`` that would be unstable with both.
    step_control
        Steps that follow the temporal part of the residual, at most ``dt`` or the stability limit.
    flux, penalty
        Numerical fluxes.
    initial_correction
        Whether U_0 is corrected so that its reconstruction meets u_0 (T2.0a/b), and for which reconstruction
        (`Siac()`), on a torus; elsewhere U_0 is the L² projection, or that of an `EquationProjection`.
    progress
        Show a progress bar.
    history
        Keep all time nodes in memory (otherwise only the last; an estimate then repeats the time stepping).
    checkpoint, every
        File for the last node, or with ``history`` for all of them, written each time that so many seconds
        have passed. With that file the same call goes on from it, to the same solution bit for bit.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError, TypeError
        For arguments out of range, both ``dt`` and ``cfl``, an explicit stepper without a stable step, or
        waves too fast for any.
    SolverError
        Where the run comes to no end, with time, step and, where it is known, cell and state; what was
        reached is its ``solution``. `NonFiniteError` where it blows up, among them `CflError` where the time
        step was too long, and `InadmissibleStateError` for states without wave speeds; `SolveError` for a
        system that was not solved; `DataError` for data that are unusable at some time; `StepSizeError` where
        no step meets the tolerance of ``step_control``.
    InterruptedRunError
        For a first Ctrl-C, after the step the run is in; a second one interrupts at once.
    OSError
        For a checkpoint that cannot be written; one of another run is a ValueError.
    Exception
        Whatever a function of the user raises in the middle of a run, as it is. It gets the attributes of a
        SolverError that have what was reached, and so does the OSError.
    """
    checked_flag("history", history)
    solution = _prepare(
        problem, cells, degree, dt, cfl, stepper, step_control, flux, penalty, initial_correction
    )
    run = _run(solution, step_control, initial_correction)
    call, control = "solve with history" if history else "solve", (step_control, initial_correction)
    with (
        nullcontext()
        if checkpoint is None
        else Checkpoint(checkpoint, every, call, solution, control=step_control and control)
    ) as place:
        with Interruption() as interruption:
            recorder = Recorder(run, progress, interruption)
            kept: Sequence[Node] = (
                deque(recorder, maxlen=None if history else 1)
                if place is None
                else place.nodes(recorder, history)
            )
        solution = with_steps(solution, run)
        if recorder.failure is not None:
            raise failed(recorder.failure, solution, recorder.last)
    return replace(solution, values=kept[-1].values, stored=tuple(kept) if history else None)


@deterministic
def estimate(solution: Solution | StationarySolution, estimator: Estimator | None = None) -> Estimate:
    """Guaranteed bound, enclosure and indicators for a solution (T2–T4).

    Estimates of one solution in several threads wait for each other: its scheme has one workspace.

    Parameters
    ----------
    solution
        From `solve`, whose time stepping is repeated without a stored history, or `solve_stationary` (T5.3).
    estimator
        By default `SplitEstimator()` on a torus, `MeshEstimator()` on a `Box` or `Domain`.

    Raises
    ------
    TypeError
        For anything that is not a solution or not an estimator.
    ValueError
        Where the repeated time stepping does not end at ``solution.values``.
    """
    if isinstance(solution, StationarySolution):
        return solution.estimate(estimator)
    if not isinstance(solution, Solution):
        raise TypeError(
            f"solution: expected a Solution, as solve(…) returns it, got {named(solution)}; "
            "certify(problem, …) solves and estimates"
        )
    chosen = chosen_estimator(estimator, solution.problem)
    semi = solution.semidiscretization
    with _LOCKS.setdefault(semi, RLock()):
        result: Any = chosen.run(semi, solution.nodes(), solution.stepper.order)
    if not isinstance(result, Estimate):
        return cast(Estimate, result)  # of an estimator of the user's own, whatever it is
    return replace(result, facts={**result.facts, **solution.facts})


@deterministic
def certify(
    problem: Problem,
    *,
    cells: int | tuple[int, ...] | None = None,
    degree: int,
    estimator: Estimator | None = None,
    dt: float | None = None,
    cfl: float | None = None,
    stepper: Stepper | None = None,
    step_control: StepControl | None = None,
    flux: ConvectiveFlux = flux_rusanov,
    penalty: InteriorPenalty | None = None,
    initial_correction: bool | Reconstruction | EquationProjection = True,
    progress: bool = False,
    checkpoint: str | Path | None = None,
    every: float = EVERY,
) -> Certificate:
    """Solve and estimate in one streaming pass: memory does not grow with the number of steps.

    Parameters are those of `solve` and `estimate`; the initial value is corrected for the reconstruction of
    the estimator.

    Returns
    -------
    Certificate
        ``.solution``, ``.estimate`` and all attributes of the estimate.

    Raises
    ------
    ValueError, TypeError, SolverError, InterruptedRunError
        As `solve`; what was reached is the ``certificate`` of the last two.
    """
    chosen = chosen_estimator(estimator, problem)
    rule = getattr(chosen, "reconstruction", None)
    correction = rule if initial_correction is True and rule is not None else initial_correction
    solution = _prepare(problem, cells, degree, dt, cfl, stepper, step_control, flux, penalty, correction)
    run = _run(solution, step_control, correction)
    if checkpoint is None:
        return certified(run, solution, chosen, progress, None)
    control = step_control and (step_control, correction)
    with Checkpoint(checkpoint, every, "certify", solution, chosen, control) as place:
        if place.result is not None:
            return together(*place.result)
        certificate = certified(run, solution, chosen, progress, place)
        place.keep(certificate, certificate.solution)
        return certificate


# squares of values that are too large overflow; the run that follows ends with an error of its own
@np.errstate(over="ignore")
def _prepare(
    problem: Problem,
    cells: int | tuple[int, ...] | None,
    degree: int,
    dt: float | None,
    cfl: float | None,
    stepper: Stepper | None,
    control: StepControl | None,
    flux: ConvectiveFlux,
    penalty: InteriorPenalty | None,
    initial_correction: bool | Reconstruction | EquationProjection,
) -> Solution:
    """Everything that is known before the first step."""
    if not isinstance(problem, Problem):
        raise TypeError(f"problem: expected a Problem, got {named(problem)}")
    if control is not None and not isinstance(control, StepControl):
        raise TypeError(f"step_control: expected a StepControl(tol), got {named(control)}")
    if dt is not None and cfl is not None:
        raise TypeError("solve: expected either dt or cfl, got both")
    for name, value in (("dt", dt), ("cfl", cfl)):
        if value is not None:
            positive_number(name, value)
    check_objects(stepper, flux, penalty, initial_correction)
    if isinstance(degree, (float, np.floating)) and float(degree).is_integer():
        degree = int(degree)  # like the numbers of cells: 2.0 is a whole number
    semi = semidiscretize(problem, cells, degree, flux, penalty)
    projection = semi.project(problem.initial)
    limits = StepLimits.of(semi, projection)
    _require_waves(semi, projection, limits.convective_rate)
    if dt is None and np.isinf(limits.convective_rate):
        _require_steps(problem, limits.convective_rate, 0.0)
    chosen = stepper if stepper is not None else limits.default_stepper(dt)
    initial = corrected_start(semi, initial_correction, getattr(chosen, "implicit", False))
    if initial is None:
        initial = projection
    else:  # waves of the corrected state may be faster, next to a jump by far
        rate = semi.convective_rate(initial)
        _require_waves(semi, initial, rate, "initial_correction=False leaves the L² projection as it is")
        limits = replace(limits, convective_rate=max(limits.convective_rate, rate))
    limit = limits.stable_step if control is None else limits.stability_limit
    step = dt if dt is not None else (cfl if cfl is not None else DEFAULT_CFL) * limit(chosen)
    if dt is None:
        _require_steps(problem, limits.convective_rate, step)
    return Solution(problem, semi, chosen, min(step, problem.final_time), initial, initial)


def _require_waves(semi: AnySemidiscretization, values: Array, rate: float, advice: str = "") -> None:
    """Raise InadmissibleStateError for initial values without wave speeds, whose largest rate tells."""
    if not np.isfinite(rate):
        require_admissible(semi, values, advice)


def _require_steps(problem: Problem, rate: float, step: float) -> None:
    """Raise ValueError for waves that need more time steps than a run may have."""
    if not step >= problem.final_time / MOST_STEPS:
        raise ValueError(
            f"problem: expected waves that {MOST_STEPS:g} time steps can follow to the final time, got wave "
            f"speeds of {rate:.3g} cells per unit of time, for which a step is {step:.3g}"
        )


def chosen_estimator(given: Estimator | None, problem: Problem) -> Estimator:
    """The estimator, or the default one; checked against the domain before any work is done."""
    on_mesh = isinstance(problem, Problem) and not isinstance(problem.domain, Torus)
    if given is None:
        return MeshEstimator() if on_mesh else SplitEstimator()
    check_methods("estimator", given, "an estimator such as SplitEstimator()", "run")
    if isinstance(problem, Problem) and not getattr(given, "on_meshes", False):
        torus_of(problem.domain, type(given).__name__)
    return given


def _run(solution: Solution, control: StepControl | None, correction: object) -> Run:
    """The nodes of a run that is computed for the first time."""
    semi, stepper = solution.semidiscretization, solution.stepper
    start, stop, dt = solution.initial, solution.problem.final_time, solution.dt
    if control is None:
        return integrate(semi, stepper, start, stop, dt)
    norm = defect_norm(semi, correction, getattr(stepper, "implicit", False))
    return ControlledSteps(semi, stepper, start, stop, control, norm, dt)
