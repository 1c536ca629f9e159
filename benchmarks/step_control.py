"""Step-size control: work and temporal part of the residual against equal steps with the same bound.

    python benchmarks/step_control.py [--quick] [--only torus heat ...]

Problems whose time scale changes. Every one is certified with controlled steps, and with as few equal
ones as give the same bound. Work is that of the time stepping alone: evaluations of H or P, factorisations,
seconds of both in one process, one after the other. Writes results/step_control.json and .md.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import records
import skfem

import stfem
from stfem.data import cosine, sine
from stfem.equations import AdvectionDiffusion
from stfem.problems import ExactData
from stfem.problems.manufactured import balance, initial_value
from stfem.reconstruction import defect_norm
from stfem.semidiscretization import Factorisation
from stfem.timestepping import (
    DORMAND_PRINCE5,
    RADAU5,
    ControlledSteps,
    ExplicitRungeKutta,
    ImplicitRungeKutta,
    StepControl,
    integrate,
)

#: Bounds closer than this are equal, and so are numbers of steps in the search for the fewest.
SAME_BOUND, SAME_STEPS = 1.02, 1.03
#: Ratio of steps so close to 1 that implicit steps follow the residual without a dead band.
FREE = 1.0 + 1e-6
TURN = 2.0 * np.pi


def pulsed(domain: Any, dim: int, eps: float, velocity: float, power: int = 8) -> stfem.Problem:
    """A wave that is there for a fifth of the time, and a hundredth of it before and after."""
    zero, along = (0.0,) * dim, (TURN, *(0.0,) * (dim - 1))
    pulse = (0.5 + 0.5 * cosine(zero, frequency=TURN, phase=-np.pi)) ** power + 0.01
    exact = pulse * sine(along, frequency=-TURN * velocity, phase=0.3)
    equation = AdvectionDiffusion((velocity, *(0.0,) * (dim - 1)), eps)
    known = ExactData([exact]) if isinstance(domain, stfem.Torus) else exact
    place = domain if isinstance(domain, stfem.Torus) else domain(stfem.Dirichlet(exact))
    return stfem.Problem(
        equation, place, initial_value(exact), 1.0, source=balance(equation, exact), exact=known
    )


def decaying(fast: int = 8, diffusion: float = 0.1) -> stfem.Problem:
    """sin πx and sin πkx under the heat equation: the second decays k² times as fast."""

    def exact(x: np.ndarray, t: float) -> np.ndarray:
        waves = [(1, 1.0), (fast, 0.5)]
        return sum(a * np.exp(-diffusion * (k * np.pi) ** 2 * t) * np.sin(k * np.pi * x[0]) for k, a in waves)

    initial = sine(np.pi) + 0.5 * sine(fast * np.pi)
    box = stfem.Box(0.0, 1.0, stfem.Dirichlet(0.0))
    return stfem.Problem(AdvectionDiffusion(0.0, diffusion), box, initial, 0.5, exact=exact)


class Factors:
    """A direct solver that counts its factorisations."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, matrix: Any) -> Factorisation:
        self.count += 1
        return Factorisation(matrix)


class Counted:
    """An ODE that counts evaluations of H, of P and of their sum."""

    def __init__(self, ode: Any) -> None:
        self._ode, self.evaluations = ode, 0

    def __getattr__(self, name: str) -> Any:
        if name in ("rhs", "rhs_hyperbolic", "rhs_parabolic"):
            self.evaluations += 1
        return getattr(self._ode, name)


@dataclass(frozen=True)
class Series:
    """One problem, one stepper, several tolerances."""

    title: str
    problem: Callable[[], stfem.Problem]
    degree: int
    tolerances: tuple[float, ...]
    cells: int | None = None
    stepper: Callable[[Factors], Any] | None = None
    estimator: Any = None
    initial: Any = True
    most: float = 1e5
    repeats: int = 3

    def quick(self) -> Series:
        """The largest tolerance, timed once."""
        return replace(self, tolerances=self.tolerances[:1], repeats=1)

    def parameters(self) -> dict[str, Any]:
        """What the record says of it."""
        return {"title": self.title, "degree": self.degree, "cells": self.cells, "tol": self.tolerances}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Controlled steps, equal ones with the same bound and, for implicit steppers, no dead band."""
        problem = self.problem()
        for tol in self.tolerances:
            given = self._certified(problem, step_control=StepControl(tol))
            count, equal = self._fewest(problem, given)
            rules: dict[str, tuple[Any, Any]] = {
                "controlled": (given, StepControl(tol)),
                "equal": (equal, problem.final_time / count),
            }
            if self.stepper is not None and given.solution.stepper.implicit:
                free = StepControl(tol, ratio=FREE)
                rules["no dead band"] = (self._certified(problem, step_control=free), free)
            works = self._works(given.solution, {name: rule for name, (_, rule) in rules.items()})
            for name, (result, _) in rules.items():
                yield self._row(tol, name, result) | works[name]

    def _certified(self, problem: stfem.Problem, **steps: Any) -> Any:
        return stfem.certify(
            problem,
            cells=self.cells,
            degree=self.degree,
            stepper=None if self.stepper is None else self.stepper(Factors()),
            estimator=self.estimator,
            initial_correction=self.initial,
            **steps,
        )

    def _fewest(self, problem: stfem.Problem, given: Any) -> tuple[int, Any]:
        """The fewest equal steps whose bound is no larger, up to a few per cent."""
        good, found, bad = given.solution.steps, None, 1
        while found is None:
            result = self._certified(problem, dt=problem.final_time / good)
            if result.bound <= SAME_BOUND * given.bound or good > self.most:
                found = result
            else:
                good, bad = 2 * good, good
        while good > SAME_STEPS * bad + 1:
            middle = round((good * bad) ** 0.5) if bad > 1 else (good + bad) // 2
            if middle in (good, bad):
                break
            result = self._certified(problem, dt=problem.final_time / middle)
            if result.bound <= SAME_BOUND * given.bound:
                good, found = middle, result
            else:
                bad = middle
        return good, found

    def _row(self, tol: float, name: str, result: Any) -> dict[str, Any]:
        history = result.history
        temporal = float((history["temporal"] * history["alpha"]).sum())
        sizes = np.diff(result.solution.times)
        return {
            "series": self.title,
            "tol": tol,
            "steps are": name,
            "steps": result.solution.steps,
            "rejected": result.facts.get("rejected_steps", 0),
            "longest / shortest": float(f"{sizes.max() / sizes.min():.3g}"),
            "bound": float(f"{result.bound:.4g}"),
            "error": float(f"{result.error:.4g}"),
            "temporal part": float(f"{temporal:.3g}"),
        }

    def _works(self, solution: Any, rules: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Evaluations, factorisations and least seconds, the latter relative to the first rule."""
        seconds: dict[str, list[float]] = {name: [] for name in rules}
        counts: dict[str, dict[str, Any]] = {}
        for _ in range(self.repeats):
            for name, rule in rules.items():
                factors, ode = Factors(), Counted(solution.semidiscretization)
                stepper = solution.stepper if self.stepper is None else self.stepper(factors)
                start, stop, semi = solution.initial, solution.problem.final_time, solution.semidiscretization
                if isinstance(rule, StepControl):
                    norm = defect_norm(semi, True, stepper.implicit)
                    nodes: Any = ControlledSteps(ode, stepper, start, stop, rule, norm, solution.dt)
                else:
                    nodes = integrate(ode, stepper, start, stop, rule)
                began = time.perf_counter()
                deque(nodes, maxlen=1)
                seconds[name].append(time.perf_counter() - began)
                counts[name] = {"evaluations": ode.evaluations, "factorisations": factors.count}
        first = min(next(iter(seconds.values())))
        return {
            name: counts[name] | {"seconds, relative": float(f"{min(seconds[name]) / first:.3g}")}
            for name in rules
        }


def radau(factors: Factors) -> ImplicitRungeKutta:
    """Order 5, all implicit."""
    return ImplicitRungeKutta(RADAU5, factors)


def triangles(condition: Any) -> stfem.Domain:
    """128 of them on the unit square."""
    return stfem.Domain(skfem.MeshTri().refined(3), condition)


SERIES: dict[str, Any] = {
    "explicit": Series(
        "pulse on a torus, Dormand–Prince",
        lambda: pulsed(stfem.Torus(1.0), 1, 1e-5, 0.02),
        3,
        (1e-6, 1e-8),
        cells=24,
        stepper=lambda factors: ExplicitRungeKutta(DORMAND_PRINCE5),
    ),
    "torus": Series(
        "pulse on a torus, implicit–explicit",
        lambda: pulsed(stfem.Torus(1.0), 1, 1e-2, 0.02),
        3,
        (1e-6, 1e-8),
        cells=24,
    ),
    "triangles": Series(
        "pulse on triangles, Radau IIA 5",
        lambda: pulsed(triangles, 2, 1e-2, 0.02),
        2,
        (1e-3, 1e-4),
        stepper=radau,
    ),
    "heat": Series(
        "decaying waves on an interval, Radau IIA 5", decaying, 3, (1e-2, 1e-3), cells=32, stepper=radau
    ),
}


def failures(rows: list[dict[str, Any]]) -> list[str]:
    """Bounds below the error."""
    return [
        f"{row['series']}, tol {row['tol']:g}, {row['steps are']}: bound {row['bound']:g} below the error "
        f"{row['error']:g}"
        for row in rows
        if not row["bound"] >= row["error"]
    ]


def tables(rows: list[dict[str, Any]]) -> str:
    """One table per series, and what misses its target."""
    lines = []
    for title in dict.fromkeys(row["series"] for row in rows):
        own = [{key: row[key] for key in row if key != "series"} for row in rows if row["series"] == title]
        lines += [f"*{title[0].upper()}{title[1:]}*", "", records.markdown(own), ""]
    missed = failures(rows)
    lines += [f"{len(rows)} runs, {len(missed)} miss a target{':' if missed else '.'}", ""]
    return "\n".join([*lines, *(f"- {sentence}" for sentence in missed)])


def main() -> None:
    """Run what the command line asks for."""
    records.run_series(
        "step_control",
        __doc__.splitlines()[0],
        SERIES,
        lambda _, series: series.rows(),
        lambda row: "  ".join(str(value) for value in row.values()),
        tables,
    )


if __name__ == "__main__":
    main()
