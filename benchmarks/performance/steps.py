"""Time steps: implicit-explicit ones, and how the time of an explicit one grows with the number of cells.

    python benchmarks/performance/steps.py [--quick]

Writes results/performance_steps.json and .md. The class is named for asv.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import timing  # sets the environment: before numpy

import records  # isort: skip

from stfem.problems import Problem, diffusive_p_system, linear_advection_diffusion, viscous_burgers
from stfem.semidiscretization import Semidiscretization
from stfem.timestepping import Stepper, default_stepper

PROBLEMS: dict[str, Callable[[int, float], Problem]] = {
    "linear": linear_advection_diffusion,
    "Burgers": viscous_burgers,
    "p-system": diffusive_p_system,
}
CELLS = {1: (1 << 14,), 2: (32, 64, 128, 256), 3: (32,)}
QUICK = {1: (64,), 2: (4, 8), 3: (4,)}
EPS, DT = 1e-2, 1e-5


class Step:
    """For asv: a step with implicit diffusion, and one with explicit."""

    params = (list(PROBLEMS), [1, 2, 3], [1, 2], ["implicit", "explicit"])
    param_names = ("equation", "dim", "degree", "diffusion")

    def setup(self, name: str, dim: int, degree: int, kind: str, cells: int | None = None) -> None:
        problem = PROBLEMS[name](dim, EPS)
        self.semi = Semidiscretization(problem, cells or CELLS[dim][-1], degree)
        self.u = self.semi.project(problem.initial)
        self.rate = self.semi.rhs(0.0, self.u)
        self.stepper: Stepper = default_stepper(degree, kind == "implicit")
        self.time_step()

    def time_step(self, *_: object) -> None:
        self.stepper.step(self.semi, 0.0, self.u, DT, self.rate)

    def peakmem_step(self, *_: object) -> None:
        self.time_step()


def rows(cells: dict[int, tuple[int, ...]], seconds: float) -> Iterator[dict[str, Any]]:
    """One row per equation, kind of step, dimension, degree and grid."""
    case = Step()
    for kind in ("explicit", "implicit"):
        for name in PROBLEMS:
            for dim, grids in cells.items():
                for degree in (1, 2):
                    first = None
                    for count in grids:
                        case.setup(name, dim, degree, kind, count)
                        rates = timing.measure(case.time_step, case.u, seconds)
                        per_cell = rates.seconds / count**dim
                        first = per_cell if first is None else first
                        yield {
                            "diffusion": kind,
                            "equation": name,
                            "dim": dim,
                            "degree": degree,
                            "cells": f"{count}^{dim}",
                            "stages": case.stepper.tableau.stages,
                            "ms per step": float(f"{1e3 * rates.seconds:.3g}"),
                            "Mdof/s": round(rates.rate, 2),
                            "copies": round(rates.copies),
                            "time per cell": None if len(grids) == 1 else round(per_cell / first, 2),
                        }


def main() -> None:
    """Measure, print the table, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small grids, a few seconds")
    quick = parser.parse_args().quick
    results = []
    for row in rows(QUICK if quick else CELLS, 0.0 if quick else 0.5):
        results.append(row)
        print({key: value for key, value in row.items() if value is not None}, flush=True)
    table = records.markdown(results)
    print(table)
    growth = [row["time per cell"] for row in results if row["time per cell"] is not None]
    print(f"time per step and cell against the coarsest grid: {min(growth)} to {max(growth)} (target ≤ 1.2)")
    records.write(
        timing.name("performance_steps", quick),
        {"quick": quick, "threads": 1, "kernels": timing.kernels()},
        results,
        table,
    )


if __name__ == "__main__":
    main()
