"""certify, with a grid or with a tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, overload

from stfem import solving
from stfem.adaptivity.attempts import Attempt, ToleranceCertificate
from stfem.adaptivity.marching import TimeMarching
from stfem.adaptivity.marking import Marking
from stfem.adaptivity.mesh_search import MeshSearch, Strategy
from stfem.adaptivity.stationary_arguments import certify_without_time
from stfem.adaptivity.stationary_search import StationaryAttempt, StationaryToleranceCertificate
from stfem.adaptivity.tolerance import MAX_DOFS, NORMS, certify_within
from stfem.arguments import check_objects
from stfem.checkpoints import EVERY
from stfem.checks import checked_flag, checked_number, described, positive_number, whole_number
from stfem.estimators import MeshEstimator
from stfem.fluxes import ConvectiveFlux, InteriorPenalty, flux_rusanov
from stfem.problems import Domain, Problem, StationaryProblem, UnsupportedDomainError
from stfem.reconstruction import Reconstruction
from stfem.semidiscretization import EquationProjection, LinearSolver
from stfem.solving import Certificate, Estimator
from stfem.stationary import StationaryCertificate
from stfem.timestepping import StepControl, Stepper

__all__ = ["certify"]

#: Degree on adaptive meshes.
_DEGREE = 2


@overload
def certify(
    problem: Problem,
    *,
    tol: float,
    norm: str | None = ...,
    max_dofs: int | None = ...,
    max_seconds: float | None = ...,
    callback: Callable[[Attempt], object] | None = ...,
    unproved: bool | None = ...,
    degree: int | None = ...,
    strategy: Strategy | None = ...,
    estimator: Estimator | None = ...,
    stepper: Stepper | None = ...,
    flux: ConvectiveFlux = ...,
    penalty: InteriorPenalty | None = ...,
    initial_correction: bool | Reconstruction | EquationProjection = ...,
    progress: bool = ...,
) -> ToleranceCertificate: ...


@overload
def certify(
    problem: Problem,
    *,
    cells: int | tuple[int, ...] | None = ...,
    degree: int,
    estimator: Estimator | None = ...,
    dt: float | None = ...,
    cfl: float | None = ...,
    step_control: StepControl | None = ...,
    stepper: Stepper | None = ...,
    flux: ConvectiveFlux = ...,
    penalty: InteriorPenalty | None = ...,
    initial_correction: bool | Reconstruction | EquationProjection = ...,
    progress: bool = ...,
    checkpoint: str | Path | None = ...,
    every: float | None = ...,
) -> Certificate: ...


@overload
def certify(
    problem: StationaryProblem,
    *,
    tol: float,
    degree: int,
    cells: int | tuple[int, ...] | None = ...,
    norm: str | None = ...,
    max_dofs: int | None = ...,
    max_seconds: float | None = ...,
    callback: Callable[[StationaryAttempt], object] | None = ...,
    unproved: bool | None = ...,
    estimator: Estimator | None = ...,
    marking: Marking | None = ...,
    solver: LinearSolver | None = ...,
    flux: ConvectiveFlux = ...,
    penalty: InteriorPenalty | None = ...,
    progress: bool = ...,
) -> StationaryToleranceCertificate: ...


@overload
def certify(
    problem: StationaryProblem,
    *,
    cells: int | tuple[int, ...] | None = ...,
    degree: int,
    estimator: Estimator | None = ...,
    solver: LinearSolver | None = ...,
    flux: ConvectiveFlux = ...,
    penalty: InteriorPenalty | None = ...,
) -> StationaryCertificate: ...


def certify(
    problem: Problem | StationaryProblem,
    *,
    cells: int | tuple[int, ...] | None = None,
    degree: int | None = None,
    tol: float | None = None,
    norm: str | None = None,
    max_dofs: int | None = None,
    max_seconds: float | None = None,
    callback: Callable[[Any], object] | None = None,
    unproved: bool | None = None,
    strategy: Strategy | None = None,
    estimator: Estimator | None = None,
    marking: Marking | None = None,
    solver: LinearSolver | None = None,
    dt: float | None = None,
    cfl: float | None = None,
    step_control: StepControl | None = None,
    stepper: Stepper | None = None,
    flux: ConvectiveFlux = flux_rusanov,
    penalty: InteriorPenalty | None = None,
    initial_correction: bool | Reconstruction | EquationProjection = True,
    progress: bool = False,
    checkpoint: str | Path | None = None,
    every: float | None = None,
) -> Certificate | StationaryCertificate:
    """Solve and estimate, on a given grid or so that the bound is at most a tolerance.

    With ``cells`` and ``degree`` that is one streaming pass: memory does not grow with the number of steps.
    With ``tol`` whole runs follow each other, on a torus or `Box`, with as many cells in every direction;
    number of cells, degree and time step of each are chosen from the bounds and costs of those before it, so
    that a bound ≤ ``tol`` takes little time. On a `Domain` of lines, triangles or tetrahedra the mesh is
    refined and coarsened where the bound asks for it. All other parameters are those of `solve` and
    `estimate`; the initial value is corrected for the reconstruction of the estimator.

    A `StationaryProblem` is solved on one mesh, or with ``tol`` on meshes that are refined
    where the indicators are large, see `stfem.adaptivity.certify_on_meshes`.

    Parameters
    ----------
    cells, degree, dt, cfl, step_control
        The grid and the time steps. Not together with ``tol``, except for the degree on a `Domain` or
        without time, 2 by default.
    tol
        What the bound is to be at most (the unit of the norm).
    norm
        Of the bound: "l2" sup_t ‖u − û‖_{L²} (default), "energy" or "l1"; `Estimate.bound`,
        `Estimate.bound_energy`, `Estimate.bound_l1`.
    max_dofs
        Largest number of unknowns of a run, 10 millions by default.
    max_seconds
        Wall time of all runs; a run that is not done by then is given up. No limit by default.
    callback
        Called after every run, or every window of one, with its `Attempt`; the search ends where it returns
        True.
    unproved
        Whether bounds that are not `Estimate.guaranteed` do as well; by default they do not.
    checkpoint, every
        File that the state of a run goes to, each time that so many seconds of wall time have passed, 60 by
        default. With that file the same call goes on from it, to the same certificate bit for bit; once the
        run is done, it returns at once.
    strategy
        How meshes are adapted on a `Domain`: `TimeMarching(…)`, the default, or `WholeInterval(…)`.
    marking, solver
        Of problems without time: which cells are refined, and for linear systems as in `solve_stationary`.

    Returns
    -------
    Certificate or StationaryCertificate
        ``.solution``, ``.estimate`` and all attributes of the estimate; with ``tol`` a
        `ToleranceCertificate` or `StationaryToleranceCertificate`, whose ``.search`` lists the runs.

    Raises
    ------
    ToleranceError
        Where no bound ≤ ``tol`` was found. It says how far the search came and why it stopped, and has the
        best certificate as ``.certificate``.
    UnsupportedDomainError
        For ``tol`` on a `Domain` whose cells cannot be refined, and for a strategy elsewhere.
    ValueError, TypeError, NonFiniteError
        As `solve`; for both a grid and a tolerance, and for neither. A run that blows up during a search is
        followed by a finer one.
    OSError
        For a checkpoint that cannot be written; one that belongs to another run is a ValueError.
    """
    keeping = {"checkpoint": checkpoint, "every": every}
    limits: dict[str, Any] = {
        "norm": norm,
        "max_dofs": max_dofs,
        "max_seconds": max_seconds,
        "callback": callback,
        "unproved": unproved,
    }
    if isinstance(problem, StationaryProblem):
        if strategy is not None:
            raise TypeError(f"strategy: expected it with a problem in time only, got {strategy!r}")
        return certify_without_time(
            problem,
            tol,
            {"dt": dt, "cfl": cfl, "step_control": step_control, "stepper": stepper, **keeping},
            degree=_DEGREE if degree is None and tol is not None else degree,
            cells=cells,
            estimator=estimator,
            limits=limits | {"marking": marking},
            progress=progress,
            options={"flux": flux, "penalty": penalty, "solver": solver},
        )
    limits["strategy"] = strategy
    for name, given in {"marking": marking, "solver": solver}.items():
        if given is not None:
            raise TypeError(f"{name}: expected it with a StationaryProblem only, got a problem in time")
    scheme: dict[str, Any] = {
        "stepper": stepper,
        "flux": flux,
        "penalty": penalty,
        "initial_correction": initial_correction,
    }
    grid = {"cells": cells, "degree": degree, "dt": dt, "cfl": cfl, "step_control": step_control}
    if tol is None:
        _check_alone(limits, "with tol" if degree is None else "without degree, with tol")
        if degree is None:
            raise TypeError("certify: expected either cells and degree or tol, got neither degree nor tol")
        return solving.certify(
            problem,
            cells=cells,
            degree=degree,
            dt=dt,
            cfl=cfl,
            step_control=step_control,
            estimator=estimator,
            progress=progress,
            checkpoint=checkpoint,
            every=EVERY if every is None else every,
            **scheme,
        )
    adapted = isinstance(problem, Problem) and isinstance(problem.domain, Domain)
    if adapted:
        grid.pop("degree")
    _check_alone(grid | keeping, "without tol, with cells and degree")
    check_objects(stepper, flux, penalty, initial_correction)
    checked_flag("progress", progress)
    chosen = "l2" if norm is None else norm
    _check_search(problem, chosen, callback, strategy)
    most = MAX_DOFS
    if max_dofs is not None:
        most = int(checked_number("max_dofs", max_dofs, "a positive finite number", 1.0))
    accepted = unproved is not None and checked_flag("unproved", unproved)
    seconds = math.inf if max_seconds is None else positive_number("max_seconds", max_seconds)
    if adapted:
        q = _DEGREE if degree is None else whole_number("degree", degree)
        search = MeshSearch(
            *(problem, positive_number("tol", tol), chosen, q, most, seconds),
            *(callback, accepted, progress, _mesh_estimator(estimator, problem), scheme),
        )
        return search.run(TimeMarching() if strategy is None else strategy)
    return certify_within(
        problem,
        positive_number("tol", tol),
        chosen,
        max_dofs=most,
        max_seconds=seconds,
        callback=callback,
        unproved=accepted,
        progress=progress,
        estimator=estimator,
        options=scheme,
    )


def _mesh_estimator(given: Estimator | None, problem: Problem) -> MeshEstimator:
    chosen = solving.chosen_estimator(given, problem)
    if not isinstance(chosen, MeshEstimator):
        raise TypeError(
            f"estimator: expected a MeshEstimator for a tolerance on a Domain, got {type(chosen).__name__}"
        )
    if chosen.lifted:
        raise ValueError(f"lifted: expected no layers on a mesh that changes, got {chosen.lifted}")
    return chosen


def _check_alone(others: dict[str, Any], where: str) -> None:
    """Raise TypeError for arguments that do not belong to what was given."""
    superfluous = [name for name, value in others.items() if value is not None]
    if superfluous:
        raise TypeError(
            f"certify: expected {', '.join(superfluous)} only {where}: "
            "either the grid or the tolerance is given"
        )


def _check_search(problem: object, norm: object, callback: object, strategy: object) -> None:
    if not isinstance(problem, Problem):
        raise TypeError(f"problem: expected a Problem, got a {type(problem).__name__}")
    if isinstance(problem.domain, Domain) and not problem.domain.mesh().reference.simplex:
        raise UnsupportedDomainError(
            "tol: expected a Domain of lines, triangles or tetrahedra, which can be refined, got one of "
            f"shape {problem.domain.mesh().reference.name}; give degree alone"
        )
    if strategy is not None and not isinstance(problem.domain, Domain):
        raise UnsupportedDomainError(
            f"strategy: expected a problem on a Domain, got one on a {type(problem.domain).__name__}, whose "
            "grids are uniform"
        )
    if isinstance(strategy, type) or not (strategy is None or hasattr(strategy, "run")):
        raise TypeError(f"strategy: expected one such as TimeMarching(), got {strategy!r}")
    if not isinstance(norm, str) or norm not in NORMS:
        raise ValueError(f"norm: expected one of {', '.join(NORMS)}, got {described(norm)}")
    if norm == "l1" and problem.equation.components > 1:
        raise ValueError("norm: expected 'l2' or 'energy' for a system, got 'l1', which scalar problems have")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback: expected a function of an Attempt, got a {type(callback).__name__}")
