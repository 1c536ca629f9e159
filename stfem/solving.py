"""solve, estimate, certify: the three verbs."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from threading import RLock
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

import numpy as np
from tqdm import tqdm

from stfem.arguments import checked_flag, positive_number
from stfem.estimators import Estimate, MeshEstimator, SplitEstimator
from stfem.fluxes import ConvectiveFlux, InteriorPenalty, flux_rusanov
from stfem.problems import Problem, Torus, UnsupportedDomainError
from stfem.problems.domain import torus_of
from stfem.reconstruction import Reconstruction, Siac, initial_corrected
from stfem.semidiscretization import (
    AnySemidiscretization,
    EquationProjection,
    Semidiscretization,
    semidiscretize,
)
from stfem.solution import Solution
from stfem.spaces.stencil import Array
from stfem.stationary import StationarySolution
from stfem.timestepping import Node, StepLimits, Stepper, integrate

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


def solve(
    problem: Problem,
    *,
    cells: int | tuple[int, ...] | None = None,
    degree: int,
    dt: float | None = None,
    cfl: float | None = None,
    stepper: Stepper | None = None,
    flux: ConvectiveFlux = flux_rusanov,
    penalty: InteriorPenalty | None = None,
    initial_correction: bool | Reconstruction | EquationProjection = True,
    progress: bool = False,
    history: bool = False,
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
    flux, penalty
        Numerical fluxes.
    initial_correction
        Whether U_0 is corrected so that its reconstruction meets u_0 (T2.0a/b), and for which reconstruction
        (`Siac()`), on a torus; elsewhere U_0 is the L² projection, or that of an `EquationProjection`.
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
    kept = tuple(nodes) if checked_flag("history", history) else None
    last = kept[-1] if kept else deque(nodes, maxlen=1).pop()
    return replace(solution, values=last.values, stored=kept)


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
            f"solution: expected a Solution, as solve(…) returns it, got {_named(solution)}; "
            "certify(problem, …) solves and estimates"
        )
    chosen = chosen_estimator(estimator, solution.problem)
    semi = solution.semidiscretization
    with _LOCKS.setdefault(semi, RLock()):
        result: Any = chosen.run(semi, solution.nodes(), solution.stepper.order)
    if not isinstance(result, Estimate):
        return cast(Estimate, result)  # of an estimator of the user's own, whatever it is
    return replace(result, facts={**result.facts, **solution.facts})


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Certificate(Estimate):
    """An estimate together with the solution it is about.

    Attributes
    ----------
    solution
        The numerical solution; all other attributes are those of `Estimate`.
    """

    solution: Solution

    @property
    def estimate(self) -> Estimate:
        """The estimate alone."""
        return Estimate(**{entry.name: getattr(self, entry.name) for entry in fields(Estimate)})


def certify(
    problem: Problem,
    *,
    cells: int | tuple[int, ...] | None = None,
    degree: int,
    estimator: Estimator | None = None,
    dt: float | None = None,
    cfl: float | None = None,
    stepper: Stepper | None = None,
    flux: ConvectiveFlux = flux_rusanov,
    penalty: InteriorPenalty | None = None,
    initial_correction: bool | Reconstruction | EquationProjection = True,
    progress: bool = False,
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
    ValueError, TypeError, NonFiniteError
        As `solve`.
    """
    chosen = chosen_estimator(estimator, problem)
    rule = getattr(chosen, "reconstruction", None)
    correction = rule if initial_correction is True and rule is not None else initial_correction
    solution = _prepare(problem, cells, degree, dt, cfl, stepper, flux, penalty, correction)
    recorder = _Recorder(_stream(solution, progress))
    started = time.perf_counter()
    result = chosen.run(solution.semidiscretization, iter(recorder), solution.stepper.order)
    solution = replace(solution, values=recorder.last.values)
    facts = {
        **result.facts,
        **solution.facts,
        "seconds_solve": recorder.seconds,
        "seconds_estimate": time.perf_counter()
        - started
        - recorder.seconds
        - result.facts.get("seconds_true_error", 0.0),
    }
    own = {entry.name: getattr(result, entry.name) for entry in fields(Estimate)} | {"facts": facts}
    return Certificate(**own, solution=solution)


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


# squares of values that are too large overflow; the run that follows ends with an error of its own
@np.errstate(over="ignore")
def _prepare(
    problem: Problem,
    cells: int | tuple[int, ...] | None,
    degree: int,
    dt: float | None,
    cfl: float | None,
    stepper: Stepper | None,
    flux: ConvectiveFlux,
    penalty: InteriorPenalty | None,
    initial_correction: bool | Reconstruction | EquationProjection,
) -> Solution:
    """Everything that is known before the first step."""
    if not isinstance(problem, Problem):
        raise TypeError(f"problem: expected a Problem, got {_named(problem)}")
    if dt is not None and cfl is not None:
        raise TypeError("solve: expected either dt or cfl, got both")
    for name, value in (("dt", dt), ("cfl", cfl)):
        _check_positive(name, value)
    _check_objects(stepper, flux, penalty, initial_correction)
    if isinstance(degree, (float, np.floating)) and float(degree).is_integer():
        degree = int(degree)  # like the numbers of cells: 2.0 is a whole number
    semi = semidiscretize(problem, cells, degree, flux, penalty)
    projection = semi.project(problem.initial)
    limits = StepLimits(
        semi.degree,
        problem.final_time,
        semi.convective_rate(projection),
        semi.transport_spectrum,
        (lambda: semi.diffusion.spectral_radius) if semi.has_diffusion else None,
        semi.reaction_rate,
        hasattr(semi, "linearise"),
    )
    chosen = stepper if stepper is not None else limits.default_stepper(dt)
    initial = _corrected(semi, initial_correction, getattr(chosen, "implicit", False))
    if initial is None:
        initial = projection
    else:  # waves of the corrected state may be faster, next to a jump by far
        limits = replace(limits, convective_rate=max(limits.convective_rate, semi.convective_rate(initial)))
    step = dt if dt is not None else (cfl if cfl is not None else DEFAULT_CFL) * limits.stable_step(chosen)
    return Solution(problem, semi, chosen, min(step, problem.final_time), initial, initial)


def _corrected(
    semi: AnySemidiscretization, correction: bool | Reconstruction | EquationProjection, implicit: bool
) -> Array | None:
    """U_0, None where it is the L² projection."""
    if not isinstance(semi, Semidiscretization):
        if isinstance(correction, bool):
            return None
        if isinstance(correction, EquationProjection):
            return correction.of(semi)
        raise UnsupportedDomainError(
            "initial_correction: expected True, False or EquationProjection(…) for a problem on a Box or "
            f"Domain, got {_named(correction)}"
        )
    if isinstance(correction, EquationProjection):
        raise UnsupportedDomainError(
            "initial_correction: expected True, False or a reconstruction such as Siac() for a problem on a "
            f"Torus, got {_named(correction)}"
        )
    if correction is False:
        return None
    rule = Siac() if correction is True else correction
    return initial_corrected(semi, rule.bind(semi), implicit)


def chosen_estimator(given: Estimator | None, problem: Problem) -> Estimator:
    """The estimator, or the default one; checked against the domain before any work is done."""
    on_mesh = isinstance(problem, Problem) and not isinstance(problem.domain, Torus)
    if given is None:
        return MeshEstimator() if on_mesh else SplitEstimator()
    _check_methods("estimator", given, "an estimator such as SplitEstimator()", "run")
    if isinstance(problem, Problem) and not getattr(given, "on_meshes", False):
        torus_of(problem.domain, type(given).__name__)
    return given


def _check_objects(stepper: object, flux: object, penalty: object, initial_correction: object) -> None:
    """Raise TypeError for what is not the object that an extension point takes."""
    if stepper is not None:
        _check_methods("stepper", stepper, "a stepper such as ExplicitRungeKutta(RK4)", "step", "order")
    if isinstance(flux, type) or not callable(flux):
        raise TypeError(f"flux: expected a function such as stfem.fluxes.flux_upwind, got {_named(flux)}")
    if penalty is not None:
        _check_methods("penalty", penalty, "a penalty such as InteriorPenalty(10.0)", "coefficient")
    if not isinstance(initial_correction, (bool, EquationProjection)):
        rule = "True, False or a reconstruction such as Siac()"
        _check_methods("initial_correction", initial_correction, rule, "bind")


def _check_methods(name: str, given: object, expected: str, *attributes: str) -> None:
    """Raise TypeError for a class, and for an object without one of the attributes."""
    if isinstance(given, type) or not all(hasattr(given, attribute) for attribute in attributes):
        raise TypeError(f"{name}: expected {expected}, got {_named(given)}")


def _check_positive(name: str, value: object) -> None:
    if value is None:
        return
    positive_number(name, value)


def _named(given: object) -> str:
    """What was passed, for messages: numbers and words themselves, classes and objects by name."""
    if given is None or isinstance(given, (str, bool, int, float, np.generic)):
        return repr(given)
    return f"the class {given.__name__}" if isinstance(given, type) else f"a {type(given).__name__}"


def _stream(solution: Solution, progress: bool) -> Iterator[Node]:
    """The nodes of a run that is computed for the first time."""
    semi, final_time = solution.semidiscretization, solution.problem.final_time
    checked_flag("progress", progress)
    nodes = integrate(semi, solution.stepper, solution.initial, final_time, solution.dt)
    return iter(tqdm(nodes, total=solution.steps + 1, unit="node", leave=False)) if progress else nodes
