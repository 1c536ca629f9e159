"""Right-hand sides of the scheme: unknowns per second, against a copy of the array and against NGSolve.

    python benchmarks/performance/rhs.py [--quick]

Linear convection, Burgers, Burgers with diffusion (interior penalty), p-system; degrees 1 to 3 in one, two
and three dimensions. Where the package ngsolve is importable, the same work in two dimensions is timed there.
Writes results/performance_rhs.json and .md. The class is named for asv.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import timing  # sets the environment: before numpy

import numpy as np  # isort: skip
import records  # isort: skip

from stfem import Problem, Torus
from stfem.equations import AdvectionDiffusion, Burgers, DiffusivePSystem, Equation
from stfem.semidiscretization import Semidiscretization

try:
    import peer_ngsolve
except ImportError:
    peer_ngsolve = None

EQUATIONS: dict[str, Callable[[int], Equation]] = {
    "linear": lambda dim: AdvectionDiffusion((1.0, 0.5, -0.3)[:dim]),
    "Burgers": Burgers,
    "Burgers + SIPG": lambda dim: Burgers(dim, diffusion=1e-3),
    "p-system": lambda dim: DiffusivePSystem(dim=dim),
}
CELLS = {1: 1 << 18, 2: 512, 3: 32}
QUICK = {1: 256, 2: 16, 3: 4}
#: Least fraction of the copy rate, and factor over NGSolve, in two dimensions with degree 2.
TARGETS = {"linear": (10, 10), "Burgers": (18, 30), "Burgers + SIPG": (30, 50)}
PEER_CELLS = 128


def scheme(name: str, dim: int, degree: int, cells: int) -> tuple[Semidiscretization, np.ndarray]:
    """The semidiscretization and a state near 1."""
    equation = EQUATIONS[name](dim)
    problem = Problem(equation, Torus((1.0,) * dim), [1.0] * equation.components, 1.0)
    semi = Semidiscretization(problem, cells, degree)
    u = 0.05 * np.random.default_rng(0).standard_normal(semi.shape)
    u[(slice(None), *(0,) * dim)] += 1.0
    return semi, u


class RightHandSide:
    """For asv."""

    params = (list(EQUATIONS), [1, 2, 3], [1, 2, 3])
    param_names = ("equation", "dim", "degree")
    cells = CELLS

    def setup(self, name: str, dim: int, degree: int) -> None:
        self.semi, self.u = scheme(name, dim, degree, self.cells[dim])
        self.out = np.empty_like(self.u)
        self.semi.rhs(0.0, self.u, self.out)

    def time_rhs(self, *_: object) -> None:
        self.semi.rhs(0.0, self.u, self.out)

    def peakmem_rhs(self, *_: object) -> None:
        self.time_rhs()


def rows(cells: dict[int, int], seconds: float) -> Iterator[dict[str, Any]]:
    """One row per equation, dimension and degree."""
    case = RightHandSide()
    case.cells = cells
    for dim in cells:
        for name in EQUATIONS:
            for degree in (1, 2, 3):
                case.setup(name, dim, degree)
                rates = timing.measure(case.time_rhs, case.u, seconds)
                row = {
                    "equation": name,
                    "dim": dim,
                    "degree": degree,
                    "cells": f"{cells[dim]}^{dim}",
                    "Mdof/s": round(rates.rate, 1),
                    "copy Mdof/s": round(rates.copy_rate),
                    "fraction of copy": f"1/{rates.copies:.1f}",
                    "NGSolve Mdof/s": None,
                    "times NGSolve": None,
                }
                if peer_ngsolve is not None and dim == 2 and name in peer_ngsolve.FORMS:
                    peer = peer_ngsolve.rate(name, degree, min(cells[dim], PEER_CELLS), seconds)
                    row |= {"NGSolve Mdof/s": round(peer, 2), "times NGSolve": round(rates.rate / peer, 1)}
                yield row


def main() -> None:
    """Measure, print the table, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small grids, a few seconds")
    quick = parser.parse_args().quick
    results = []
    for row in rows(QUICK if quick else CELLS, 0.0 if quick else 1.0):
        results.append(row)
        print({key: value for key, value in row.items() if value is not None}, flush=True)
    table = records.markdown(results)
    print(table)
    for row in results:
        if row["dim"] == row["degree"] == 2 and row["equation"] in TARGETS:
            fraction, factor = TARGETS[row["equation"]]
            print(
                f"{row['equation']}: {row['fraction of copy']} of a copy (target 1/{fraction}), "
                f"{row['times NGSolve']} times NGSolve (target {factor})"
            )
    records.write(
        timing.name("performance_rhs", quick),
        {"quick": quick, "threads": 1, "kernels": timing.kernels()},
        results,
        table,
    )


if __name__ == "__main__":
    main()
