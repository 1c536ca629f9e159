"""Bounds where a pointwise rate explodes: growth, splits by frequency, L¹ by duality, enclosures by kernels.

    python benchmarks/growth.py [--quick] [--only burgers l1 enclosure split]

After every series results/growth.json gets its rows and results/growth.md the tables of all stored ones, with
the targets that are missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import records

import stfem
from stfem.problems import Problem, burgers_cole_hopf, linear_advection_diffusion, viscous_burgers

#: Points at which the error in L¹ is summed up.
POINTS = 40_000
#: What the choice of slabs, which depends on the split, may change.
SLABS = 1e-3


@dataclass(frozen=True)
class Series:
    """Runs of one kind: for every case, degree and number of cells one row."""

    row: Callable[[Any, int, int], dict[str, Any]]
    cases: tuple[Any, ...]
    degrees: tuple[int, ...]
    cells: tuple[int, ...]
    target: str

    def quick(self) -> Series:
        """The first case, the least degree, the coarsest grid."""
        return replace(self, cases=self.cases[:1], degrees=self.degrees[:1], cells=self.cells[:1])

    def parameters(self) -> dict[str, Any]:
        """What the rows of a record belong to."""
        return {"cases": self.cases, "degrees": self.degrees, "cells": self.cells, "target": self.target}


def burgers(case: tuple[float, float], degree: int, cells: int) -> dict[str, Any]:
    """Viscous Burgers from sin 2πx: the bound with a pointwise rate and with all that diffusion gives."""
    eps, final_time = case
    problem = burgers_cole_hopf(eps, final_time)
    plain, sharp = (
        stfem.certify(problem, cells=cells, degree=degree, estimator=stfem.SplitEstimator(spectral=spectral))
        for spectral in (False, True)
    )
    factor = stfem.stability_factor(sharp.solution, starts=8)
    largest = 1.5 if final_time <= 0.1 else 5.0
    return {
        "eps": eps,
        "time": final_time,
        "error": sharp.error,
        "plain": plain.effectivity,
        "sharp": sharp.effectivity,
        "energy": sharp.effectivity_energy,
        "growth_plain": plain.parts["growth"],
        "growth_sharp": sharp.parts["growth"],
        "stability_factor": factor.factor,
        "explanation": sharp.explanation,
        "seconds_plain": plain.facts["seconds_estimate"],
        "seconds_sharp": sharp.facts["seconds_estimate"],
        "guaranteed": sharp.guaranteed,
        "missed": outside(sharp.effectivity, largest) + outside(sharp.effectivity_energy, math.inf),
    }


def l1(case: tuple[float, float], degree: int, cells: int) -> dict[str, Any]:
    """The bound in L¹ beside the error, summed up at many points."""
    eps, final_time = case
    problem = burgers_cole_hopf(eps, final_time)
    result = stfem.certify(problem, cells=cells, degree=degree)
    x = (np.arange(POINTS) + 0.5)[None] / POINTS
    error = float(np.mean(np.abs(result.solution.reconstruct()(x) - problem.exact(x, final_time))))
    ratio = result.bound_l1 / error
    # the target is of a resolved shock on 128 cells; coarser grids have none
    return {
        "eps": eps,
        "time": final_time,
        "error": error,
        "bound": result.bound_l1,
        "effectivity": ratio,
        "l2_over_l1": result.bound_final / result.bound_l1,
        "missed": outside(ratio, 5.0 if cells >= 128 else math.inf),
    }


def enclosure(case: tuple[float, int | None], degree: int, cells: int) -> dict[str, Any]:
    """The linear problem at its end: the interval for the error of u_h, for kernels with several orders."""
    eps, above = case
    order = default_order(degree) if above is None else degree + above
    problem = linear_advection_diffusion(1, eps, 1.0)
    estimator = stfem.SplitEstimator(stfem.Siac(order))
    result = stfem.certify(problem, cells=cells, degree=degree, estimator=estimator)
    lower, upper = result.enclosure
    missed = [] if lower <= result.error_dg <= upper else ["enclosure"]
    asked = eps == 0.1 and degree == 3 and above is None
    return {
        "eps": eps,
        "order": order,
        "default": above is None,
        "error_dg": result.error_dg,
        "upper": upper / result.error_dg,
        "lower": lower / result.error_dg,
        "bound": result.bound,
        "bound_final": result.bound_final,
        "effectivity": result.effectivity,
        "missed": missed + (outside(upper / result.error_dg, 2.0) if asked else []),
    }


def split(case: tuple[str, float], degree: int, cells: int) -> dict[str, Any]:
    """Splits by frequency and lowered rates against the estimator without."""
    name, eps = case
    problem: Problem = FACTORIES[name](1, eps, 0.2)
    plain, sharp = (
        stfem.certify(problem, cells=cells, degree=degree, estimator=stfem.SplitEstimator(spectral=spectral))
        for spectral in (False, True)
    )
    ratios = {
        key: getattr(sharp, key) / getattr(plain, key) for key in ("bound", "bound_final", "bound_energy")
    }
    worse = [f"{key} {ratio:.4f} of the default" for key, ratio in ratios.items() if ratio > 1.0 + SLABS]
    return {
        "problem": name,
        "eps": eps,
        "effectivity": sharp.effectivity,
        "effectivity_plain": plain.effectivity,
        **ratios,
        "missed": worse + outside(sharp.effectivity, math.inf),
    }


def outside(value: float, largest: float) -> list[str]:
    """What to say of a ratio that is not between 1 and ``largest``."""
    return [] if 1.0 <= value <= largest else [f"{value:.3f}, expected at most {largest:g}"]


FACTORIES = {"linear": linear_advection_diffusion, "Burgers": viscous_burgers}
EPS = (0.0, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0)
SERIES = {
    "burgers": Series(
        burgers,
        ((0.05, 0.1), (0.02, 0.1), (0.02, 0.5)),
        (1, 2),
        (32, 64),
        "effectivity ≤ 1.5 at T = 0.1, ≤ 5 at T = 0.5",
    ),
    "l1": Series(l1, ((0.02, 0.2), (0.02, 0.3), (0.02, 0.5)), (1, 2), (64, 128), "≤ 5 with N = 128"),
    "enclosure": Series(
        enclosure,
        tuple(product((1e-4, 0.1), (None, 1, 2, 3))),
        (1, 2, 3),
        (8, 16),
        "upper / true ≤ 2 for eps = 0.1, q = 3",
    ),
    "split": Series(split, tuple(product(FACTORIES, EPS)), (1, 2, 3), (8, 16, 32), "≤ default"),
}


def runs(name: str, series: Series) -> Iterator[dict[str, Any]]:
    """One row per run."""
    for case, degree, cells in product(series.cases, series.degrees, series.cells):
        if name == "enclosure" and case[1] is not None and degree + case[1] == default_order(degree):
            continue
        yield {"series": name, "degree": degree, "cells": cells, **series.row(case, degree, cells)}


def default_order(degree: int) -> int:
    """Order of the splines that the default reconstruction has."""
    return stfem.Siac().order_for(degree)


def summary(rows: list[dict[str, Any]]) -> str:
    """A table per series, and what misses its target."""
    pieces = []
    for name, tabulated in TABLES.items():
        chosen = [row for row in rows if row["series"] == name]
        if chosen:
            pieces += [*tabulated(chosen), ""]
    wrong = [f"- {described(row)}: {', '.join(row['missed'])}" for row in rows if row["missed"]]
    pieces.append(f"{len(rows)} runs, {len(wrong)} miss a target{':' if wrong else '.'}")
    return "\n".join([*pieces, *(["", *wrong] if wrong else [])])


def burgers_table(rows: list[dict[str, Any]]) -> list[str]:
    """Effectivities and growth factors."""
    table = [
        {
            "ε": f"{row['eps']:g}",
            "T": f"{row['time']:g}",
            "q": row["degree"],
            "N": row["cells"],
            "error": f"{row['error']:.2e}",
            "effectivity": f"{row['sharp']:.2f}",
            "pointwise rate": f"{row['plain']:.2f}",
            "energy norm": f"{row['energy']:.2f}",
            "growth": f"{row['growth_sharp']:.2f}",
            "growth, pointwise": f"{row['growth_plain']:.2f}",
            "stability factor": f"{row['stability_factor']:.2f}",
        }
        for row in rows
    ]
    return ["Burgers from $\\sin2\\pi x$:", "", records.markdown(table)]


def l1_table(rows: list[dict[str, Any]]) -> list[str]:
    """Errors and bounds in L¹."""
    table = [
        {
            "ε": f"{row['eps']:g}",
            "T": f"{row['time']:g}",
            "q": row["degree"],
            "N": row["cells"],
            "error in L¹": f"{row['error']:.2e}",
            "bound": f"{row['bound']:.2e}",
            "effectivity": f"{row['effectivity']:.2f}",
            "bound in L² over it": f"{row['l2_over_l1']:.2f}",
        }
        for row in rows
    ]
    return ["The same in $L^1$:", "", records.markdown(table)]


def enclosure_table(rows: list[dict[str, Any]]) -> list[str]:
    """Intervals over the true error of u_h, by kernels."""
    table = [
        {
            "ε": f"{row['eps']:g}",
            "q": row["degree"],
            "N": row["cells"],
            "order": f"{row['order']}{', default' if row['default'] else ''}",
            "error of $u_h$": f"{row['error_dg']:.2e}",
            "enclosure / true": f"{row['lower']:.3f} … {row['upper']:.3f}",
            "bound": f"{row['bound']:.2e}",
            "effectivity": f"{row['effectivity']:.3f}",
        }
        for row in sorted(rows, key=lambda row: (row["eps"], row["degree"], row["cells"], row["order"]))
    ]
    return ["Linear problem at $T=1$, kernels with splines of several orders:", "", records.markdown(table)]


def split_table(rows: list[dict[str, Any]]) -> list[str]:
    """Ranges of the ratios of bounds over degrees and cells."""
    table = []
    for name, eps in dict.fromkeys((row["problem"], row["eps"]) for row in rows):
        chosen = [row for row in rows if (row["problem"], row["eps"]) == (name, eps)]
        spans = {key: span([row[key] for row in chosen]) for key in ("bound", "bound_final", "bound_energy")}
        table.append(
            {
                "problem": name,
                "ε": f"{eps:g}",
                "runs": len(chosen),
                "bound / default": spans["bound"],
                "at T": spans["bound_final"],
                "energy norm": spans["bound_energy"],
                "effectivity": span([row["effectivity"] for row in chosen]),
            }
        )
    return ["Splits by frequency against the estimator without:", "", records.markdown(table)]


TABLES = {"burgers": burgers_table, "l1": l1_table, "enclosure": enclosure_table, "split": split_table}


def span(values: list[float]) -> str:
    """Smallest and largest value."""
    return f"{min(values):.3f} … {max(values):.3f}"


def described(row: dict[str, Any]) -> str:
    """Which run it was."""
    case = {key: row[key] for key in ("problem", "eps", "time", "order") if key in row}
    told = " ".join(f"{key}={value:g}" if key != "problem" else str(value) for key, value in case.items())
    return f"{row['series']} {told} q={row['degree']} N={row['cells']}"


def line(row: dict[str, Any]) -> str:
    """A run on the terminal."""
    known = ("plain", "sharp", "effectivity", "upper", "lower", "growth_sharp", "stability_factor", "bound")
    numbers = " ".join(f"{key} {row[key]:.3g}" for key in known if key in row)
    return f"{described(row):44} {numbers} {'MISSED ' + ', '.join(row['missed']) if row['missed'] else ''}"


def main() -> None:
    """Run what the command line asks for."""
    records.run_series("growth", __doc__.splitlines()[0], SERIES, runs, line, summary)


if __name__ == "__main__":
    main()
