"""Peak memory of `certify`: in solution vectors, of a process in 3D, and against the final time.

    python benchmarks/memory.py [--quick]

Each run is a process of its own. Vectors (of the size of U_n) are counted by tracemalloc, which sees the
arrays of numpy; the peak resident set size is the operating system's. Slabs stream, so that the memory
of a run ten times as long must not grow. Writes results/performance_memory.json and .md.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import records

import stfem
from stfem.problems import linear_advection_diffusion, viscous_burgers
from stfem.semidiscretization import Semidiscretization
from stfem.timestepping import Node

PROBLEMS = {"linear": linear_advection_diffusion, "Burgers": viscous_burgers}
DEGREE = 2


@dataclass(frozen=True)
class Case:
    """A run with degree 2, over its first ``steps`` steps; None for all of them up to ``final_time``."""

    name: str
    dim: int
    eps: float
    cells: int
    steps: int | None = None
    final_time: float = 1.0
    target: str = ""


CASES = (
    Case("linear", 2, 1e-4, 256, 24, target="≤ 25 vectors"),
    Case("Burgers", 2, 1e-4, 256, 24, 0.1, target="≤ 25 vectors"),
    Case("linear", 2, 1e-2, 256, 24, target="≤ 45 vectors"),
    Case("Burgers", 2, 1e-2, 256, 24, 0.1, target="≤ 45 vectors"),
    Case("linear", 3, 1e-4, 32, 20, target="≤ 2048 MiB"),
    Case("Burgers", 3, 1e-4, 32, 20, 0.1, target="≤ 2048 MiB"),
    Case("linear", 2, 1e-3, 32, None, 2.0),
    Case("linear", 2, 1e-3, 32, None, 8.0, target="as the row before"),
)
QUICK = tuple(
    replace(case, cells=4, steps=case.steps and 6, final_time=0.1 * case.final_time) for case in CASES
)


@dataclass(frozen=True)
class First:
    """The default estimator on the first steps of a run, its spacing of nodes being that of the whole run."""

    steps: int | None

    def run(
        self, semidiscretization: Semidiscretization, nodes: Iterable[Node], order: int
    ) -> stfem.estimators.Estimate:
        stop = None if self.steps is None else self.steps + 1
        return stfem.SplitEstimator().run(semidiscretization, islice(nodes, stop), order)


def run(case: Case, traced: bool) -> None:
    """Certify and print what `measured` wants to know."""
    problem = replace(
        PROBLEMS[case.name](case.dim, case.eps, case.final_time), exact=None, exact_gradient=None
    )
    if traced:
        tracemalloc.start()
    result = stfem.certify(problem, cells=case.cells, degree=DEGREE, estimator=First(case.steps))
    peak = tracemalloc.get_traced_memory()[1]
    implicit = getattr(result.solution.stepper, "implicit", False)
    facts = {
        "diffusion": "implicit" if implicit else "explicit",
        "steps": result.facts["steps"],
        "slabs": result.facts["slabs"],
        "vectors": peak / result.solution.values.nbytes,
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0,
    }
    print(json.dumps(facts))


def measured(case: Case, traced: bool) -> dict[str, Any]:
    """What a fresh process says about a run."""
    code = f"import memory; memory.run(memory.Case(**{asdict(case)!r}), {traced})"
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=Path(__file__).parent
    )
    facts: dict[str, Any] = json.loads(output.stdout)
    return facts


def row(case: Case) -> dict[str, Any]:
    """Measure once with tracemalloc, which takes memory itself, and once without."""
    facts = measured(case, True)
    return {
        "equation": case.name,
        "ε": f"{case.eps:g}",
        "cells": f"{case.cells}^{case.dim}",
        "diffusion": facts["diffusion"],
        "steps": facts["steps"],
        "slabs": facts["slabs"],
        "peak / solution vectors": round(facts["vectors"], 1),
        "peak of the process / MiB": round(measured(case, False)["MiB"]),
        "target": case.target,
    }


def main() -> None:
    """Measure all cases, print the table, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small grids, a few seconds")
    quick = parser.parse_args().quick
    rows = []
    for case in QUICK if quick else CASES:
        rows.append(row(case))
        print(rows[-1], flush=True)
        name = "performance_memory" + ("_quick" if quick else "")
        records.write(name, {"quick": quick, "degree": DEGREE}, rows, records.markdown(rows))
    print(records.markdown(rows))


if __name__ == "__main__":
    main()
