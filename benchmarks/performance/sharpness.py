"""What the measures that make a bound cheap cost in sharpness.

    python benchmarks/performance/sharpness.py [--quick]

The default against a node at every time step and residuals integrated at Gauss points, as many as make the
integrals exact, with all members of the flux family on every slab.
Writes results/performance_sharpness.json and .md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import timing  # sets the environment: before numpy

import records  # isort: skip

import stfem
from stfem.problems import linear_advection_diffusion, viscous_burgers
from stfem.reconstruction import Siac
from stfem.reconstruction.siac import BoundSiac
from stfem.semidiscretization import Semidiscretization

PROBLEMS = {"linear": linear_advection_diffusion, "Burgers": viscous_burgers}
ALL_EPS = (0.0, 1e-4, 1e-2, 0.1)
#: (degree, cells, diffusions)
CASES = ((1, 16, ALL_EPS), (2, 16, ALL_EPS), (3, 16, ALL_EPS), (2, 32, ALL_EPS), (2, 64, (1e-4,)))
QUICK = ((1, 4, (0.0, 1e-2)),)
#: Largest part of the bound that may be lost.
TARGET = 0.02


class SiacAtPoints(Siac):
    """The same û; without the norms of its filter no slab can be put together from residuals at nodes."""

    def bind(self, semidiscretization: Semidiscretization) -> BoundSiac:
        bound = super().bind(semidiscretization)
        del bound.norms
        return bound


def rows(cases: tuple[tuple[int, int, tuple[float, ...]], ...]) -> Iterator[dict[str, Any]]:
    """One row per problem, degree, grid and diffusion."""
    for name, problem in PROBLEMS.items():
        for degree, cells, diffusions in cases:
            for eps in diffusions:
                # both with one and the same time stepping
                solution = stfem.solve(
                    replace(problem(2, eps), exact=None, exact_gradient=None), cells=cells, degree=degree
                )
                given = stfem.estimate(solution)
                dense = stfem.estimate(solution, stfem.SplitEstimator(SiacAtPoints(), spacing=1))
                yield {
                    "equation": name,
                    "degree": degree,
                    "cells": f"{cells}^2",
                    "ε": f"{eps:g}",
                    "steps": given.facts["steps"],
                    "slabs": given.facts["slabs"],
                    "bound": f"{given.bound:.4e}",
                    "every step, Gauss points": f"{dense.bound:.4e}",
                    "loss": f"{given.bound / dense.bound - 1.0:+.2%}",
                    "energy norm: loss": f"{given.bound_energy / dense.bound_energy - 1.0:+.2%}",
                    "share of the time stepping": f"{given.parts['temporal']:.1e}",
                }


def main() -> None:
    """Measure, print the table, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small grids, a few seconds")
    quick = parser.parse_args().quick
    results = []
    for row in rows(QUICK if quick else CASES):
        results.append(row)
        print(row, flush=True)
    table = records.markdown(results)
    print(table)
    worst = max(float(row["loss"].rstrip("%")) for row in results)
    print(f"largest loss of the bound: {worst:.2f} % (target ≤ {100 * TARGET:g} %)")
    records.write(timing.name("performance_sharpness", quick), {"quick": quick}, results, table)


if __name__ == "__main__":
    main()
