"""Effectivity of the bounds on the catalogue: every degree, grid and diffusion, with the orders of the bound.

    python benchmarks/effectivity.py [--quick] [--only linear1 linear2 linear3 burgers p-system]

After every series results/effectivity.json gets its rows and results/effectivity.md the summary of all stored
ones, with the targets that are missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import records

import stfem
from stfem.problems import Problem, diffusive_p_system, linear_advection_diffusion, viscous_burgers

ALL_EPS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
PAPER_EPS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)


@dataclass(frozen=True)
class Series:
    """One family of runs with its targets: effectivity of `bound` and of `bound_energy`."""

    factory: Callable[..., Problem]
    dim: int
    degrees: tuple[int, ...]
    cells: tuple[int, ...]
    eps: tuple[float, ...]
    largest: Callable[[float], float]
    largest_energy: float | None = None

    def problem(self, eps: float) -> Problem:
        """The problem at one diffusion; with ε = 1 the linear solution is gone after T = 0.05."""
        if self.factory is linear_advection_diffusion:
            return linear_advection_diffusion(self.dim, eps, final_time=0.05 if eps == 1.0 else 1.0)
        return self.factory(self.dim, eps)

    def quick(self) -> Series:
        """Coarse grids and four diffusions only."""
        return replace(self, degrees=(1, 2), cells=self.cells[:2], eps=(0.0, 1e-6, 1e-2, 1e-1))

    def parameters(self) -> dict[str, Any]:
        """What the rows of a record belong to."""
        return {
            "problem": self.factory.__name__,
            "dim": self.dim,
            "degrees": self.degrees,
            "cells": self.cells,
            "eps": self.eps,
            "largest effectivity": [self.largest(eps) for eps in self.eps],
            "largest effectivity in the energy norm": self.largest_energy,
        }


def linear_target(eps: float) -> float:
    """Effectivity at most 1.1 for ε ≤ 1e-3, else 1.5."""
    return 1.1 if eps <= 1e-3 else 1.5


SERIES = {
    "linear1": Series(linear_advection_diffusion, 1, (1, 2, 3), (8, 16, 32), ALL_EPS, linear_target, 2.2),
    "linear2": Series(linear_advection_diffusion, 2, (1, 2, 3), (8, 16, 32), ALL_EPS, linear_target, 2.2),
    "linear3": Series(linear_advection_diffusion, 3, (1, 2), (8, 16), ALL_EPS, linear_target, 2.2),
    "burgers": Series(viscous_burgers, 2, (1, 2), (16, 32), PAPER_EPS, lambda eps: 1.6),
    "p-system": Series(diffusive_p_system, 2, (1, 2), (16, 32), PAPER_EPS, lambda eps: 3.0),
}


def runs(name: str, series: Series) -> Iterator[dict[str, Any]]:
    """One row per run; the order compares with the next coarser grid."""
    for degree in series.degrees:
        for eps in series.eps:
            coarser: stfem.Certificate | None = None
            for cells in series.cells:
                result = stfem.certify(series.problem(eps), cells=cells, degree=degree)
                lower, upper = result.enclosure
                row = {
                    "series": name,
                    "degree": degree,
                    "eps": eps,
                    "cells": cells,
                    "error": result.error,
                    "bound": result.bound,
                    "effectivity": result.effectivity,
                    "effectivity_energy": result.effectivity_energy,
                    "order": None if coarser is None else math.log2(coarser.bound / result.bound),
                    "enclosed": lower <= result.error_dg <= upper,
                    "enclosure_width": (upper - lower) / result.error_dg,
                    "final": result.bound_final / result.error_final if result.error_final else None,
                    "guaranteed": result.guaranteed,
                    "steps": result.facts["steps"],
                    "slabs": result.facts["slabs"],
                    "temporal": result.parts["temporal"],
                    "seconds_solve": result.facts["seconds_solve"],
                    "seconds_estimate": result.facts["seconds_estimate"],
                    "seconds_true_error": result.facts["seconds_true_error"],
                }
                yield row | {"missed": failures(row, series)}
                coarser = result


def failures(row: dict[str, Any], series: Series) -> list[str]:
    """Targets that a row misses."""
    eps, degree, finest = row["eps"], row["degree"], row["cells"] == series.cells[-1]
    missed = []
    if not 1.0 <= row["effectivity"] <= series.largest(eps):
        missed.append(f"effectivity {row['effectivity']:.4f}")
    if not 1.0 <= row["effectivity_energy"] <= (series.largest_energy or math.inf):
        missed.append(f"effectivity in the energy norm {row['effectivity_energy']:.4f}")
    if finest and eps <= 1e-3 and row["order"] < 2 * degree + 0.7:
        missed.append(f"order {row['order']:.2f}")
    if not row["enclosed"]:
        missed.append("enclosure")
    if degree == 2 and row["cells"] == 32 and eps <= 1e-3 and row["enclosure_width"] > 0.1:
        missed.append(f"width of the enclosure {row['enclosure_width']:.3f}")
    return missed


def summary(rows: list[dict[str, Any]]) -> str:
    """Ranges per series and degree, and what misses its target."""
    table = []
    for name, degree in dict.fromkeys((row["series"], row["degree"]) for row in rows):
        chosen = [row for row in rows if (row["series"], row["degree"]) == (name, degree)]
        small = [row for row in chosen if row["eps"] <= 1e-3]
        orders = [row["order"] for row in small if row["cells"] == max(r["cells"] for r in chosen)]
        table.append(
            {
                "problem": name,
                "q": degree,
                "runs": len(chosen),
                "effectivity": span(row["effectivity"] for row in chosen),
                "ε ≤ 1e-3": span(row["effectivity"] for row in small),
                "energy norm": span(row["effectivity_energy"] for row in chosen),
                "order of bound, ε ≤ 1e-3": span(order for order in orders if order is not None),
                "enclosure width": span(row["enclosure_width"] for row in small),
            }
        )
    wrong = [f"- {described(row)}: {', '.join(row['missed'])}" for row in rows if row["missed"]]
    ending = f"{len(rows)} runs, {len(wrong)} miss a target{':' if wrong else '.'}"
    return "\n".join([records.markdown(table), "", ending, *(["", *wrong] if wrong else [])])


def described(row: dict[str, Any]) -> str:
    """Which run it was."""
    return f"{row['series']} q={row['degree']} eps={row['eps']:g} N={row['cells']}"


def span(values: Iterator[float]) -> str:
    """Smallest and largest value."""
    collected = list(values)
    return f"{min(collected):.3f} … {max(collected):.3f}" if collected else "–"


def line(row: dict[str, Any]) -> str:
    """A run on the terminal."""
    return (
        f"{described(row):32} error {row['error']:.3e} effectivity {row['effectivity']:.3f} "
        f"energy {row['effectivity_energy']:.3f} order {row['order'] or math.nan:.2f} "
        f"{'MISSED ' + ', '.join(row['missed']) if row['missed'] else ''}"
    )


def main() -> None:
    """Run what the command line asks for."""
    records.run_series("effectivity", __doc__.splitlines()[0], SERIES, runs, line, summary)


if __name__ == "__main__":
    main()
