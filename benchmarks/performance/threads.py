"""Whether two threads over the cells pay: right-hand sides of two halves of a grid, in turn and at once.

    python benchmarks/performance/threads.py [--quick]

Either half has a scheme and work arrays of its own, as blocks of cells would. *loop* is that of compiled.py,
which holds no lock of the interpreter, where the package numba is installed; *control* is a large matrix
product per thread: what this machine gives at all while it is measured. Times are those of the clock, the
best of many repeats. Writes results/performance_threads.json and .md, and nothing where the control shows
that the second core was busy.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import timing  # sets the environment: before numpy

import numpy as np  # isort: skip
import records  # isort: skip

from compiled import compiled_kernels
from rhs import EQUATIONS

from stfem import Problem, Torus
from stfem.semidiscretization import Semidiscretization

CELLS, QUICK_CELLS, DEGREE = 512, 4, 2
CONTROL = 600
SECONDS = 60.0
#: Left to others after every pass.
PAUSE = 0.05
#: What threads have to bring for an argument of their own.
TARGET = 1.3
#: What the control has to gain for the others to mean something.
FREE = 1.7
NAMES = ("linear", "Burgers", "Burgers + SIPG")
Half = Callable[[], object]


def halves(name: str, cells: int, way: str) -> list[Half]:
    """The right-hand side of either half of the grid."""
    equation = EQUATIONS[name](2)
    calls: list[Half] = []
    for seed in range(2):
        problem = Problem(equation, Torus((0.5, 1.0)), [1.0] * equation.components, 1.0)
        semi = Semidiscretization(problem, (cells // 2, cells), DEGREE)
        u = 0.05 * np.random.default_rng(seed).standard_normal(semi.shape)
        u[:, 0, 0] += 1.0
        out = np.empty_like(u)
        if way == "numpy":
            calls.append(partial(semi.rhs, 0.0, u, out))
        else:
            loop = {"linear": compiled_kernels.linear, "Burgers": compiled_kernels.burgers}[name](semi)
            calls.append(partial(loop, u, out, 0, semi.grid.cells[0]))
    return calls


def control() -> list[Half]:
    """Products that take some milliseconds and nothing of the interpreter."""
    matrices = [np.random.default_rng(seed).standard_normal((CONTROL, CONTROL)) for seed in range(2)]
    return [partial(np.matmul, a, a, out=np.empty_like(a)) for a in matrices]


def once(pool: ThreadPoolExecutor, first: Half, second: Half) -> tuple[float, float]:
    """Wall-clock times of both calls, one after the other and at once."""
    start = time.perf_counter()
    first()
    second()
    between = time.perf_counter()
    other = pool.submit(first)
    second()
    other.result()
    return between - start, time.perf_counter() - between


def rows(cells: int, seconds: float) -> list[dict[str, Any]]:
    """One row per work and way; all of them in turn, so that they see the same machine."""
    works = {("control", "numpy"): control()}
    works |= {(name, "numpy"): halves(name, cells, "numpy") for name in NAMES}
    if compiled_kernels is not None:
        works |= {(name, "loop"): halves(name, cells, "loop") for name in NAMES[:2]}
    passes: list[list[tuple[float, float]]] = []
    end = time.perf_counter() + seconds
    with ThreadPoolExecutor(1) as pool:
        while len(passes) < 2 or time.perf_counter() < end:  # the first one makes work arrays
            passes.append([once(pool, *calls) for calls in works.values()])
            time.sleep(PAUSE)
    return [
        {
            "work": name,
            "way": way,
            "one thread / ms": float(f"{1e3 * one:.3g}"),
            "two threads / ms": float(f"{1e3 * two:.3g}"),
            "gain": round(one / two, 2),
        }
        for (name, way), (one, two) in zip(works, np.min(passes, axis=0).tolist(), strict=True)
    ]


def main() -> None:
    """Measure, print the table, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small grid, a moment")
    quick = parser.parse_args().quick
    cells, seconds = (QUICK_CELLS, 0.0) if quick else (CELLS, SECONDS)
    results = rows(cells, seconds)
    table = records.markdown(results)
    print(f"{table}\ntarget for threads: {TARGET} times one thread")
    if not quick and results[0]["gain"] < FREE:
        raise SystemExit(
            f"control: expected a gain of {FREE} at least, got {results[0]['gain']}; nothing written"
        )
    parameters = {"quick": quick, "cells": cells, "degree": DEGREE, "seconds": seconds}
    records.write(timing.name("performance_threads", quick), parameters, results, table)


if __name__ == "__main__":
    main()
