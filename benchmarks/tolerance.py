"""What a search for a tolerance costs against the best fixed grid, which nobody knows beforehand.

    python benchmarks/tolerance.py [--quick] [--only linear1 burgers1 linear2 burgers2]

All grids of a scan are run first; the best one for a tolerance is the one of least time whose bound is small
enough. Times are CPU seconds of one thread, the least of a few repetitions. After every series
results/tolerance.json gets its rows and results/tolerance.md all of them, with the targets that are missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import process_time
from typing import Any, TypeVar

import records

import stfem
from stfem.problems import Problem, linear_advection_diffusion, viscous_burgers

CELLS = (4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64)
_Result = TypeVar("_Result", bound=stfem.Certificate)
#: Most that the search may cost, in multiples of the best grid, and most by which its bound may be smaller
#: than the tolerance.
COST, EXCESS = 3.0, 20.0


@dataclass(frozen=True)
class Series:
    """One problem."""

    factory: Callable[..., Problem]
    dim: int
    eps: float
    tolerances: tuple[float, ...] = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
    degrees: tuple[int, ...] = (1, 2, 3, 4, 5)
    cells: tuple[int, ...] = CELLS
    repetitions: int = 3

    def quick(self) -> Series:
        """Two tolerances and few grids."""
        return replace(self, tolerances=(1e-2, 1e-4), degrees=(1, 2), cells=(4, 8, 16), repetitions=1)

    def parameters(self) -> dict[str, Any]:
        """What the rows of a record belong to."""
        return {
            "problem": self.factory.__name__,
            "dim": self.dim,
            "eps": self.eps,
            "tolerances": self.tolerances,
            "degrees": self.degrees,
            "cells": self.cells,
            "repetitions": self.repetitions,
        }


SERIES = {
    "linear1": Series(linear_advection_diffusion, 1, 1e-3),
    "burgers1": Series(viscous_burgers, 1, 1e-3),
    "linear2": Series(linear_advection_diffusion, 2, 1e-3, cells=CELLS[:15], repetitions=2),
    "burgers2": Series(viscous_burgers, 2, 1e-3, cells=CELLS[:15], repetitions=2),
}


@dataclass(frozen=True)
class Run:
    """A grid of the scan."""

    cells: int
    degree: int
    bound: float
    seconds: float


def timed(run: Callable[[], _Result], repetitions: int) -> tuple[_Result, float]:
    """A result, and the least time it took."""
    least = float("inf")
    for _ in range(repetitions):
        started = process_time()
        result = run()
        least = min(least, process_time() - started)
    return result, least


def scan(problem: Problem, series: Series) -> Iterator[Run]:
    """All grids, of every degree up to the first whose bound is below all tolerances."""
    for degree in series.degrees:
        for cells in series.cells:
            result, seconds = timed(
                lambda: stfem.certify(problem, cells=cells, degree=degree),  # noqa: B023  (called at once)
                series.repetitions,
            )
            yield Run(cells, degree, result.bound, seconds)
            if result.bound <= min(series.tolerances):
                break


def runs(name: str, series: Series) -> Iterator[dict[str, Any]]:
    """One row per tolerance."""
    problem = series.factory(series.dim, series.eps)
    for degree in series.degrees:  # matrices of a degree are made once
        stfem.certify(problem, cells=4, degree=degree)
    grids = list(scan(problem, series))
    for tol in series.tolerances:
        result, seconds = timed(
            lambda: stfem.certify(problem, tol=tol),  # noqa: B023  (called at once)
            series.repetitions,
        )
        best = min((run for run in grids if run.bound <= tol), key=lambda run: run.seconds, default=None)
        last = result.search.attempts[-1]
        row = {
            "series": name,
            "tol": tol,
            "bound": result.bound,
            "error": result.error,
            "runs": len(result.search.attempts),
            "cells": last.cells,
            "degree": last.degree,
            "seconds": seconds,
            "best cells": None if best is None else best.cells,
            "best degree": None if best is None else best.degree,
            "best seconds": None if best is None else best.seconds,
            "cost": None if best is None else seconds / best.seconds,
        }
        yield row | {"missed": failures(row)}


def failures(row: dict[str, Any]) -> list[str]:
    """Targets that a row misses."""
    missed = []
    if not row["error"] <= row["bound"] <= row["tol"]:
        missed.append("bound")
    if row["bound"] < row["tol"] / EXCESS:
        missed.append(f"{row['tol'] / row['bound']:.1f} times as good as asked for")
    if row["cost"] is not None and row["cost"] > COST:
        missed.append(f"cost {row['cost']:.1f}")
    return missed


def line(row: dict[str, Any]) -> str:
    """A row for the terminal."""
    cost = "–" if row["cost"] is None else f"{row['cost']:.2f}"
    return (
        f"{row['series']:9} tol {row['tol']:.0e}  bound {row['bound']:.2e}  {row['runs']} runs, last "
        f"({row['cells']}, {row['degree']}), {row['seconds']:.3f} s  best ({row['best cells']}, "
        f"{row['best degree']})  cost {cost}  {'; '.join(row['missed'])}"
    )


def table(rows: list[dict[str, Any]]) -> str:
    """All rows, and how many miss a target."""
    shown = [
        {
            "problem": row["series"],
            "tol": f"{row['tol']:.0e}",
            "bound": f"{row['bound']:.2e}",
            "true error": f"{row['error']:.2e}",
            "runs": row["runs"],
            "cells, degree": f"{row['cells']}, {row['degree']}",
            "seconds": f"{row['seconds']:.2f}",
            "best cells, degree": f"{row['best cells']}, {row['best degree']}",
            "seconds of it": None if row["best seconds"] is None else f"{row['best seconds']:.2f}",
            "cost": None if row["cost"] is None else f"{row['cost']:.2f}",
            "missed": "; ".join(row["missed"]),
        }
        for row in rows
    ]
    missed = sum(bool(row["missed"]) for row in rows)
    return f"{records.markdown(shown)}\n\n{missed} of {len(rows)} rows miss a target.\n"


def main() -> None:
    """Run what the command line asks for."""
    records.run_series("tolerance", __doc__.splitlines()[0], SERIES, runs, line, table)


if __name__ == "__main__":
    main()
