"""Peak memory of `certify` for a final time and ten times that: slabs stream, so it must not grow.

    python benchmarks/memory.py

Each run is a process of its own; the peak resident set size is the operating system's.
"""

from __future__ import annotations

import resource
import subprocess
import sys

import records

import stfem

CELLS, DEGREE, EPS, SHORT = 32, 2, 1e-3, 0.2


def peak(final_time: float) -> tuple[int, int]:
    """Peak resident memory in KiB and number of steps of one run, measured in a fresh process."""
    code = f"import memory; memory.run({final_time!r})"
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=records.RESULTS.parent
    )
    kib, steps = output.stdout.split()
    return int(kib), int(steps)


def run(final_time: float) -> None:
    """Certify and print the peak memory of this process in KiB and the number of steps."""
    problem = stfem.problems.linear_advection_diffusion(2, EPS, final_time)
    result = stfem.certify(problem, cells=CELLS, degree=DEGREE)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, result.facts["steps"])


def main() -> None:
    """Compare T and 10 T."""
    rows = []
    for final_time in (SHORT, 10.0 * SHORT):
        kib, steps = peak(final_time)
        rows.append({"final time": final_time, "steps": steps, "peak memory / MiB": round(kib / 1024.0, 1)})
    table = records.markdown(rows)
    print(table)
    records.write("memory", {"cells": CELLS, "degree": DEGREE, "eps": EPS}, rows, table)


if __name__ == "__main__":
    main()
