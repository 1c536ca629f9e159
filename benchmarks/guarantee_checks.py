"""One case of guarantee_campaign.py: solved, certified, and compared with its true errors."""

from __future__ import annotations

import math
import signal
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from guarantee_cases import SCALAR, SYSTEMS, Attack, torus_attack
from guarantee_catalogue import catalogue_attack
from guarantee_meshes import KINDS as MESH_KINDS
from guarantee_meshes import MeshAttack, MeshTruth, mesh_attack
from truth import RELATIVE_SLACK, Accuracy, Truth

from stfem import Estimate, NonFiniteError, SolveError, UnfinishedSolveWarning, estimate, solve
from stfem.solution import Solution

NORMS = ("bound", "bound_final", "bound_energy", "bound_l1")
#: Case k is of kind k mod 20.
CYCLE = (*SCALAR, *SYSTEMS, "decay", "constant", "incompressible", "Burgers", "catalogue", *MESH_KINDS)
#: What evaluating exact solutions and û may be wrong by, in units of 2⁻⁵³·size·conditioning.
UNITS = 16.0
#: Relative error of integrals of |e|, which has kinks, on at least 4 pieces with several points each.
KINKS = 1e-4
#: By dimension: how errors are integrated, and again where a bound seems to lie below one.
FAST = {1: Accuracy(4, 6, 5, 3, 4), 2: Accuracy(2, 1, 4, 2, 2), 3: Accuracy(1, 1, 4, 2, 1)}
FINE = {1: Accuracy(12, 24, 12, 20, 16), 2: Accuracy(8, 8, 8, 8, 4), 3: Accuracy(4, 4, 6, 4, 1)}
#: Seconds of computing after which a case counts as hanging.
PATIENCE = 60.0


def attack_of(seed: int) -> Attack | MeshAttack:
    """Case number `seed`."""
    kind = CYCLE[seed % len(CYCLE)]
    if kind == "catalogue":
        return catalogue_attack(seed)
    return mesh_attack(seed, kind) if kind in MESH_KINDS else torus_attack(seed, kind)


def run(seed: int) -> dict[str, Any]:
    """The row of one case; what is raised, or warned of, is part of it."""
    started = time.perf_counter()
    row: dict[str, Any] = {"seed": seed, "kind": CYCLE[seed % len(CYCLE)], "violated": []}
    try:
        with warnings.catch_warnings(), limited(PATIENCE):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UnfinishedSolveWarning)
            row |= checked(attack_of(seed))
    except Exception as error:  # noqa: BLE001 (whatever is raised is a result)
        sentence = f"{type(error).__name__}: {error}"
        row |= {"refused": sentence} if is_refusal(error) else {"violated": [sentence]}
    return row | {"seconds": round(time.perf_counter() - started, 4)}


def is_refusal(error: Exception) -> bool:
    """Whether the library says itself that it cannot compute this."""
    if isinstance(error, (NonFiniteError, SolveError)):
        return True
    return type(error) in (ValueError, TypeError) and "expected" in str(error)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in a block that computes longer; what other processes take does not count."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"not finished after {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def checked(attack: Attack | MeshAttack) -> dict[str, Any]:
    """Solve, certify and check one case."""
    if isinstance(attack, MeshAttack):
        problem, options = attack.problem, dict(attack.solving)
        solution = solve(problem, degree=attack.degree, history=True, **options)
    else:
        case, problem = attack.case, attack.case.problem
        correction = case.reconstruction if case.corrected else False
        solution = solve(
            problem,
            cells=case.cells,
            degree=case.degree,
            initial_correction=correction,
            history=True,
            **case.solving,
        )
    result = estimate(solution, attack.estimator)
    units = UNITS * 2.0**-53 * attack.conditioning * max(1.0, result.parts["growth"])
    dim, scale = problem.equation.dim, (units, problem.domain.measure, sharpness(attack))
    found = judged(result, truth_of(attack, solution, result, FAST[dim]), *scale)
    if found["violated"]:  # seen by the coarse rule: a fine one decides
        found = judged(result, truth_of(attack, solution, result, FINE[dim]), *scale)
    return facts(attack, solution, result) | found


def truth_of(
    attack: Attack | MeshAttack, solution: Solution, result: Estimate, accuracy: Accuracy
) -> Mapping[str, float]:
    """True errors by name."""
    if isinstance(attack, MeshAttack) and len(attack.estimator.reconstructions) > 1:
        # û changes between them: by the library's own rule
        found = (result.error, result.error_final, result.error_energy, result.error_l1, result.error_dg)
        values = solution.problem.exact(solution.problem.domain.spread(), solution.problem.final_time)
        size = float(np.abs(values).max()) * math.sqrt(solution.problem.domain.measure)
        errors = [math.nan if value is None else value for value in found]
        return dict(zip(("size", "sup", "final", "energy", "l1", "dg"), (size, *errors), strict=True))
    ends = result.history["time"]
    truth: Any = (
        MeshTruth(attack, solution, ends, accuracy)
        if isinstance(attack, MeshAttack)
        else Truth(attack.case, solution, attack.estimator, ends, accuracy)
    )
    return {
        "size": truth.size,
        "sup": truth.supremum,
        "final": truth.final,
        "energy": truth.energy,
        "l1": truth.l1,
        "dg": truth.dg,
    }


def sharpness(attack: Attack | MeshAttack) -> float:
    """What ‖D^{1/2}∇·‖ in time and space may magnify round-off by."""
    problem = attack.problem if isinstance(attack, MeshAttack) else attack.case.problem
    degree = attack.degree if isinstance(attack, MeshAttack) else attack.case.degree
    if isinstance(attack, MeshAttack):
        mesh = problem.domain.mesh(attack.solving.get("cells"))
        h = float(mesh.cell_measures.min()) ** (1.0 / mesh.dim)
    else:
        h = min(a / n for a, n in zip(problem.domain.lengths, attack.case.cells, strict=True))
    slope = 2.0 * (2.0 * degree + 4.0) ** 2 / h
    return slope * math.sqrt(float(np.trace(problem.equation.diffusion)) * problem.final_time)


def judged(
    result: Estimate, truth: Mapping[str, float], units: float, measure: float, sharp: float
) -> dict[str, Any]:
    """Ratios, and what lies below the truth by more than quadrature and round-off explain."""
    slack = units * truth["size"]
    lower, upper = result.enclosure
    pairs = {
        "bound": (result.bound, truth["sup"], slack),
        "bound_final": (result.bound_final, truth["final"], slack),
        "bound_energy": (result.bound_energy, truth["energy"], slack * math.hypot(1.0, sharp)),
        "bound_l1": (result.bound_l1, truth["l1"], slack * math.sqrt(measure)),
        "enclosure above": (upper, truth["dg"], slack),
        "enclosure below": (truth["dg"], lower, slack),
    }
    failed, ratios = [], {}
    for name, (above, below, allowance) in pairs.items():
        if above is None or (math.isnan(below) and name in ("bound_energy", "bound_l1")):
            continue
        loose = RELATIVE_SLACK if name != "bound_l1" else KINKS
        if not above * (1.0 + loose) + allowance >= below:
            failed.append(f"{name}: {above:.9e} < {below:.9e} (allowance {allowance:.1e})")
        if name in NORMS and below > allowance:
            ratios[name] = above / below
    return {
        "size": truth["size"],
        "relative_error": truth["sup"] / truth["size"] if truth["size"] > 0.0 else None,
        "measurable": truth["sup"] > slack,
        "violated": failed,
        **ratios,
    }


def facts(attack: Attack | MeshAttack, solution: Solution, result: Estimate) -> dict[str, Any]:
    """What kind of case it was, in plain numbers and words."""
    problem = solution.problem
    equation = problem.equation
    rules = getattr(attack.estimator, "reconstructions", (getattr(attack.estimator, "reconstruction", None),))
    return {
        "twist": attack.twist,
        "dim": equation.dim,
        "degree": solution.semidiscretization.degree,
        "eps": float(np.trace(equation.diffusion)) / equation.dim,
        "domain": type(problem.domain).__name__,
        "estimator": type(attack.estimator).__name__,
        "rules": [type(rule).__name__ for rule in rules],
        "stepper": type(solution.stepper).__name__,
        "steps": solution.steps,
        "slabs": len(result.history["time"]),
        "final_time": problem.final_time,
        "source": not all(g.is_zero for g in problem.source),
        "growth": result.parts["growth"],
        "guaranteed": result.guaranteed,
        "unproved": list(result.unproved),
        "explanation": result.explanation,
    }
