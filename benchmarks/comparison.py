"""Estimators side by side: how sharp they are as the diffusion goes to zero, and what they cost.

    python benchmarks/comparison.py [--quick] [--only linear-1d …]

After every problem results/comparison.json gets its rows, results/comparison.md the tables of all stored ones
and docs/images/comparison.png the picture; --quick writes nothing. Fails where a guaranteed bound lies below
the error.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from comparison_methods import Run, methods  # isort: skip (sets the environment: before numpy)

import records
from comparison_picture import picture

from stfem import Problem, Torus
from stfem.data import sine
from stfem.equations import AdvectionDiffusion
from stfem.estimators import plain
from stfem.problems import (
    ExactData,
    burgers_cole_hopf,
    diffusive_p_system,
    linear_advection_diffusion,
    sheared_pulse,
    viscous_burgers,
)

EPS = (1.0, 1e-1, 1e-2, 1e-4, 1e-6, 1e-8, 0.0)
#: For problems whose residuals are integrated at points, which takes long.
COARSE = EPS[::3]
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "comparison.png"
WAVES = 20
#: For the repeats of one time.
SECONDS = 0.5


@dataclass(frozen=True)
class Case:
    """A problem for every diffusion, and the grid on which the methods are compared."""

    kind: str
    factory: Callable[[float], Problem]
    cells: int
    eps: tuple[float, ...] = EPS
    degree: int = 2

    def quick(self) -> Case:
        """Small enough for a trial."""
        return replace(self, cells=4, eps=self.eps[2::2], degree=1)


def linear(dim: int) -> Callable[[float], Problem]:
    """With ε = 1 the solution is gone after T = 0.05."""
    return lambda eps: linear_advection_diffusion(dim, eps, final_time=0.05 if eps == 1.0 else 1.0)


def waves(eps: float) -> Problem:
    """∂_t u + ∂_x u = ε∂_xx u, u_0 = sin 40πx: 20 waves, more than the cells of the grid."""
    k = 2.0 * math.pi * WAVES
    exact = ExactData([sine(k, frequency=-k)], decay=eps * k**2)
    return Problem(AdvectionDiffusion(1.0, eps), Torus(1.0), sine(k), final_time=1.0, exact=exact)


CASES = {
    "linear-1d": Case("linear", linear(1), 64),
    "linear-2d": Case("linear", linear(2), 32),
    "shear-2d": Case("linear", lambda eps: sheared_pulse(2, eps, final_time=0.25), 16, COARSE),
    "burgers-1d": Case("nonlinear", lambda eps: viscous_burgers(1, eps), 64),
    "burgers-2d": Case("nonlinear", lambda eps: viscous_burgers(2, eps), 32),
    "p-system-2d": Case("nonlinear", lambda eps: diffusive_p_system(2, eps), 16, COARSE),
    "front-1d": Case("hard", lambda eps: burgers_cole_hopf(eps, final_time=0.12), 32, EPS[:4]),
    "waves-1d": Case("hard", waves, 16, EPS[3:]),
}


def rows(name: str, case: Case, seconds: float) -> Iterator[dict[str, Any]]:
    """One row per diffusion, method and what it estimates; ``seconds`` for the repeats of each time."""
    for eps in case.eps:
        run = Run(case.factory(eps), case.cells, case.degree)
        for method, way in methods(case.degree).items():
            if not way.applies(run.problem.equation):
                continue
            readings = way.readings(run)
            cost = way.cost(run, seconds)
            for reading in readings:
                yield {
                    "problem": name,
                    "kind": case.kind,
                    "eps": eps,
                    "method": method,
                    "estimates": reading.estimates,
                    "guaranteed": reading.guaranteed,
                    "value": plain(reading.value),
                    "error": reading.error,
                    "sharpness": plain(reading.value / reading.error),
                    "cost": float(f"{cost:.3g}"),
                }


def tables(stored: list[dict[str, Any]]) -> str:
    """Ranges over the problems of each kind, and below every problem by itself."""
    wrong = [described(row) for row in stored if refuted(row)]
    proved = sum(row["guaranteed"] for row in stored)
    counts = f"{len(stored)} values, {proved} of them guaranteed"
    ending = f"{counts}; guaranteed and below the error: {len(wrong)}"
    return "\n\n".join([table(stored, "kind"), table(stored, "problem"), ending, *wrong])


def table(stored: list[dict[str, Any]], key: str) -> str:
    """One line per kind or problem, method and what it estimates."""
    columns = sorted({row["eps"] for row in stored}, reverse=True)
    lines = []
    for entry in dict.fromkeys((row[key], row["method"], row["estimates"]) for row in stored):
        group, method, estimates = entry
        chosen = [row for row in stored if (row[key], row["method"], row["estimates"]) == entry]
        below = sum(float(row["value"]) < row["error"] for row in chosen)
        line = {
            key: group,
            "method": method,
            "estimates": estimates,
            "guaranteed": "yes" if all(row["guaranteed"] for row in chosen) else "no",
        }
        for eps in columns:
            line[f"ε = {eps:g}"] = span(float(row["sharpness"]) for row in chosen if row["eps"] == eps)
        finite = [row["cost"] for row in chosen if math.isfinite(float(row["value"]))]
        lines.append(line | {"below the error": f"{below} of {len(chosen)}", "cost": span(finite)})
    return records.markdown(lines)


def span(values: Iterable[float]) -> str:
    """Smallest and largest value."""
    collected = sorted(values)
    ends = dict.fromkeys(short(value) for value in (*collected[:1], *collected[-1:]))
    return " … ".join(ends) if ends else "–"


def short(value: float) -> str:
    """Two decimals near 1."""
    if not math.isfinite(value):
        return "∞"
    return f"{value:.2f}" if 0.01 <= value < 100.0 else f"{value:.0f}" if value >= 100.0 else f"{value:.0e}"


def refuted(row: dict[str, Any]) -> bool:
    """Whether a guaranteed bound lies below the error."""
    return bool(row["guaranteed"] and float(row["value"]) < row["error"])


def described(row: dict[str, Any]) -> str:
    """Which value it is."""
    return f"{row['problem']} eps={row['eps']:g} {row['method']}: {row['estimates']}"


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="four cells per direction; writes nothing")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    collected: list[dict[str, Any]] = []
    for name in options.only:
        case = CASES[name].quick() if options.quick else CASES[name]
        found = []
        for row in rows(name, case, 0.0 if options.quick else SECONDS):
            found.append(row)
            sharpness = short(float(row["sharpness"]))
            print(
                f"{described(row):64} error {row['error']:.3e} value/error {sharpness:>6} "
                f"cost {row['cost']:.2f}{'  BELOW' if refuted(row) else ''}",
                flush=True,
            )
        collected += found
        if not options.quick:
            parameters = {"kind": case.kind, "cells": case.cells, "degree": case.degree, "eps": case.eps}
            path = records.write_part("comparison", name, parameters, found, tables)
            picture(path, PICTURE)
    print(tables(collected))
    if any(map(refuted, collected)):
        raise SystemExit("a guaranteed bound lies below the error")


if __name__ == "__main__":
    main()
