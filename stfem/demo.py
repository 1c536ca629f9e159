"""The demonstration: one problem from ε = 1 down to 0, the split bound beside the unsplit one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from stfem.estimators import AllDualEstimator, plain
from stfem.plotting import plot_demo
from stfem.problems import linear_advection_diffusion
from stfem.provenance import versions
from stfem.solving import estimate, solve

#: Names of the files that the demonstration writes.
FILES = ("stfem_demo.json", "stfem_demo.png")


@dataclass(frozen=True)
class DemoParameters:
    """What the demonstration runs; ε = 1 ends earlier, because the solution decays within 0.05."""

    eps: tuple[float, ...] = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 0.0)
    cells: int = 16
    degree: int = 2
    final_time: float = 0.25
    final_time_diffusive: float = 0.05


QUICK = DemoParameters(eps=(1e-2, 1e-4, 1e-6, 1e-8, 0.0), degree=1, final_time=0.1)


def run_demo(parameters: DemoParameters, folder: Path, report: Callable[[str], None]) -> list[dict[str, Any]]:
    """Certify the linear problem of arXiv 2604.01200 for every ε.

    Writes ``stfem_demo.json`` and ``stfem_demo.png``.

    Parameters
    ----------
    parameters
        Grid, degree, times and diffusions.
    folder
        Existing folder for the two files.
    report
        Takes lines of text.

    Returns
    -------
    list of dict
        One row per ε: errors, bounds, effectivities, and the seconds that computing them took.
    """
    rows = [_row(eps, parameters) for eps in parameters.eps]
    slope = unsplit_slope(rows)
    table = [
        [
            f"{row['eps']:g}",
            f"{row['error']:.3e}",
            f"{row['bound']:.3e}",
            f"{row['effectivity']:.3f}",
            f"{row['bound_unsplit']:.3e}",
            f"{row['effectivity_unsplit']:.4g}",
            "yes" if row["guaranteed"] else "no",
        ]
        for row in rows
    ]
    headers = ["eps", "true error", "bound", "bound/error", "unsplit bound", "unsplit/error", "guaranteed"]
    report(tabulate(table, headers, disable_numparse=True))
    report(
        f"\nbound/error for eps -> 0: split {rows[-1]['effectivity']:.3f}, unsplit grows like eps^{slope:.3f}"
    )
    record = {
        "versions": versions(),
        "parameters": asdict(parameters),
        "unsplit_slope": slope,
        "rows": rows,
    }
    numbers, picture = (folder / name for name in FILES)
    numbers.write_text(json.dumps(plain(record), indent=1) + "\n", encoding="utf-8")
    plot_demo(rows, slope, picture)
    report(f"wrote {numbers} and {picture}")
    return rows


def unsplit_slope(rows: list[dict[str, Any]]) -> float:
    """Slope of log(unsplit effectivity) over log ε for 1e-8 ≤ ε ≤ 1e-4: least squares over four decades."""
    chosen = [row for row in rows if 0.0 < row["eps"] <= 1e-4]
    eps = np.log([row["eps"] for row in chosen])
    return float(np.polyfit(eps, np.log([row["effectivity_unsplit"] for row in chosen]), 1)[0])


def _row(eps: float, parameters: DemoParameters) -> dict[str, Any]:
    final_time = parameters.final_time_diffusive if eps == 1.0 else parameters.final_time
    started = time.perf_counter()
    problem = linear_advection_diffusion(2, eps, final_time)
    solution = solve(problem, cells=parameters.cells, degree=parameters.degree, history=True)
    split, unsplit = estimate(solution), estimate(solution, AllDualEstimator())
    return {
        "eps": eps,
        "error": split.error,
        "bound": split.bound,
        "effectivity": split.effectivity,
        "bound_unsplit": unsplit.bound,
        "effectivity_unsplit": unsplit.effectivity,
        "guaranteed": split.guaranteed,
        "final_time": final_time,
        "seconds": round(time.perf_counter() - started, 3),
    }
