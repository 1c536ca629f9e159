"""What a study costs over bare calls of `certify`: rows, fingerprints, and files with finished cases.

    python benchmarks/studies.py [--quick]

The cases are small, so that everything beside them shows. The ways take turns, and the least processor time
of each counts, which other work on the machine disturbs little; waiting for the disk is not in it.
Writes results/performance_studies.json and .md.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import records

import stfem
from stfem.problems import linear_advection_diffusion
from stfem.studies import Study, sweep

GRID: dict[str, Any] = {"eps": [1e-2, 1e-6, 0.0], "cells": [8, 16, 32], "degree": [1, 2]}
FIXED = {"dim": 1, "final_time": 0.1}


def bare() -> None:
    """The loops that a study stands for."""
    for eps in GRID["eps"]:
        problem = linear_advection_diffusion(eps=eps, **FIXED)
        for degree, cells in product(GRID["degree"], GRID["cells"]):
            stfem.certify(problem, cells=cells, degree=degree)


def studied(folder: Path | None = None) -> Study:
    """The same as a study."""
    return sweep(linear_advection_diffusion, store=folder, **GRID, **FIXED)


def processor_time() -> float:
    """Seconds of this process and of those it has waited for, such as git, which tells the commit."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def measured(repetitions: int) -> list[dict[str, Any]]:
    """One row per way, with its least time and what it takes per case beyond the bare calls."""
    with tempfile.TemporaryDirectory() as scratch:
        full = Path(scratch) / "full"
        count = len(studied(full).rows)
        fresh = (Path(scratch) / str(number) for number in range(repetitions))
        ways: dict[str, Callable[[], object]] = {
            "certify in loops": bare,
            "sweep": studied,
            "sweep with store": lambda: studied(next(fresh)),
            "sweep, all in the store": lambda: studied(full),
        }
        seconds = {name: float("inf") for name in ways}
        for _ in range(repetitions):
            for name, way in ways.items():
                started = processor_time()
                way()
                seconds[name] = min(seconds[name], processor_time() - started)
    base = seconds["certify in loops"]
    return [
        {
            "way": name,
            "cases": count,
            "seconds": value,
            "ms per case": 1e3 * value / count,
            "ms per case beyond certify": None
            if name.endswith("in the store")
            else 1e3 * (value - base) / count,
        }
        for name, value in seconds.items()
    ]


def main() -> None:
    """Measure and write the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two repetitions")
    repetitions = 2 if parser.parse_args().quick else 15
    rows = measured(repetitions)
    table = records.markdown(
        [{name: f"{v:.3g}" if isinstance(v, float) else v for name, v in row.items()} for row in rows]
    )
    print(table)
    print(records.write("performance_studies", {**GRID, **FIXED, "repetitions": repetitions}, rows, table))


if __name__ == "__main__":
    main()
