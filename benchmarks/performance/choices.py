"""What the arguments of the split estimator trade: time against sharpness.

    python benchmarks/performance/choices.py [--quick]

Writes results/performance_choices.json and .md.
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterator
from typing import Any

import timing  # sets the environment: before numpy

import numpy as np  # isort: skip
import records  # isort: skip

from estimate import PROBLEMS, without_exact

import stfem
from stfem import SplitEstimator
from stfem.reconstruction import Hermite, Siac

CHOICES = {
    "default": SplitEstimator(),
    "temporal_share=0.03": SplitEstimator(temporal_share=0.03),
    "temporal_share=0.0003": SplitEstimator(temporal_share=0.0003),
    "spacing=1": SplitEstimator(spacing=1),
    "spacing=8": SplitEstimator(spacing=8),
    "interpolant=Hermite(5)": SplitEstimator(interpolant=Hermite(5)),
    "interpolant=Hermite(7)": SplitEstimator(interpolant=Hermite(7)),
    "interpolant=Hermite(11)": SplitEstimator(interpolant=Hermite(11)),
    "members=(1.0,)": SplitEstimator(members=(1.0,)),
    "Siac(order=2)": SplitEstimator(Siac(2)),
    "Siac(order=3)": SplitEstimator(Siac(3)),
    "Siac(order=6)": SplitEstimator(Siac(6)),
}
EPS, DEGREE, CELLS, QUICK_CELLS, REPEATS = 1e-2, 2, 32, 4, 3


def rows(cells: int, repeats: int) -> Iterator[dict[str, Any]]:
    """One row per problem and choice; medians of repeats in turn, "estimate" is what it adds to the solve."""
    for name, factory in PROBLEMS.items():
        default: float | None = None
        for choice, estimator in CHOICES.items():
            solution = stfem.solve(
                without_exact(factory(2, EPS)),
                cells=cells,
                degree=DEGREE,
                initial_correction=estimator.reconstruction,
            )
            bound = stfem.estimate(solution, estimator)
            default = bound.bound if default is None else default
            pairs = [
                (
                    timing.timed(lambda run=solution: deque(run.nodes(), maxlen=0)),
                    timing.timed(lambda run=solution, chosen=estimator: stfem.estimate(run, chosen)),
                )
                for _ in range(repeats)
            ]
            yield {
                "equation": name,
                "choice": choice,
                "steps": bound.facts["steps"],
                "slabs": bound.facts["slabs"],
                "estimate/solve": float(f"{np.median([whole / solve - 1.0 for solve, whole in pairs]):.3g}"),
                "bound": f"{bound.bound:.3e}",
                "bound / default": float(f"{bound.bound / default:.4g}"),
            }


def main() -> None:
    """Measure, print the table, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small grid, a few seconds")
    quick = parser.parse_args().quick
    cells, repeats = (QUICK_CELLS, 1) if quick else (CELLS, REPEATS)
    parameters = {"quick": quick, "eps": EPS, "degree": DEGREE, "cells": cells, "repeats": repeats}
    results = []
    for row in rows(cells, repeats):
        results.append(row)
        print(row, flush=True)
        records.write(
            timing.name("performance_choices", quick), parameters, results, records.markdown(results)
        )
    print(records.markdown(results))


if __name__ == "__main__":
    main()
