"""What compiled right-hand sides would bring: numba against the library's own, on one thread.

    python benchmarks/performance/compiled.py [--quick]

*fluxes* is the library with both fluxes of Burgers compiled and passed in like any other, *loop* a loop over
the cells that does everything. Does nothing where the package numba is missing. Writes
results/performance_compiled.json and .md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import timing  # sets the environment: before numpy

import numpy as np  # isort: skip
import records  # isort: skip

from rhs import scheme

from stfem import Problem, Torus
from stfem.semidiscretization import Semidiscretization

try:
    import compiled_kernels
except ImportError:
    compiled_kernels = None  # type: ignore[assignment]

CELLS, QUICK_CELLS, DEGREE = (128, 512), (4,), 2
SECONDS = 10.0
#: What a compiled path has to bring to be worth its code.
TARGET = 1.5
Work = Callable[[np.ndarray, np.ndarray], object]


def ways(semi: Semidiscretization, equation: str) -> dict[str, Work]:
    """What writes a right-hand side, by name."""
    rows = semi.grid.cells[0]
    loop = {"linear": compiled_kernels.linear, "Burgers": compiled_kernels.burgers}[equation](semi)
    found: dict[str, Work] = {
        "numpy": lambda u, out: semi.rhs(0.0, u, out),
        "loop": lambda u, out: loop(u, out, 0, rows),
    }
    if equation == "Burgers":
        problem = Problem(compiled_kernels.CompiledBurgers(2), Torus((1.0, 1.0)), [1.0], 1.0)
        other = Semidiscretization(problem, rows, semi.degree, compiled_kernels.flux_compiled)
        found["fluxes"] = lambda u, out: other.rhs(0.0, u, out)
    return found


def rows(cells: tuple[int, ...], seconds: float) -> Iterator[dict[str, Any]]:
    """One row per equation, grid and way; medians of calls in turn."""
    for equation in ("linear", "Burgers"):
        for count in cells:
            semi, u = scheme(equation, 2, DEGREE, count)
            works = ways(semi, equation)
            results = {way: np.empty_like(u) for way in works}
            calls = {way: partial(work, u, results[way]) for way, work in works.items()}
            for call in calls.values():  # compiles, makes the work arrays
                call()
            times = timing.in_turn(calls, seconds)
            reference = results["numpy"]
            for way, result in results.items():
                difference = np.abs(result - reference).max() / np.abs(reference).max()
                yield {
                    "equation": equation,
                    "cells": f"{count}^2",
                    "way": way,
                    "Mdof/s": round(u.size / times[way] / 1e6, 1),
                    "times numpy": round(times["numpy"] / times[way], 2),
                    "relative difference": f"{difference:.0e}",
                }


def main() -> None:
    """Measure, print the table, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small grid, a few seconds")
    quick = parser.parse_args().quick
    if compiled_kernels is None:
        print("nothing to measure: the package numba is not installed")
        return
    results = list(rows(QUICK_CELLS, 0.0) if quick else rows(CELLS, SECONDS))
    table = records.markdown(results)
    print(table)
    print(f"target for a compiled path: {TARGET} times numpy")
    parameters = {"quick": quick, "degree": DEGREE, "threads": 1, "numba": compiled_kernels.numba.__version__}
    records.write(timing.name("performance_compiled", quick), parameters, results, table)


if __name__ == "__main__":
    main()
