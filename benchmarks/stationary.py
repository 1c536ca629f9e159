"""Bound over error without time: problem × reconstruction × diffusion × cells × degree (T5.3, T5.6).

    python benchmarks/stationary.py [--quick] [--only interior transport outflow corner cylinder]

B is the bound of ‖u − û‖, e_h = ‖u − u_h‖. After every series results/stationary.json gets its rows and
results/stationary.md the tables of all stored ones, with the targets that are missed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import records
import skfem
from unstructured import graded_rule, table, triangles, values_at

import stfem
from stfem.problems import (
    StationaryProblem,
    hemker_cylinder,
    interior_layer,
    rotating_corner,
    stationary_layer,
)
from stfem.problems.shapes import l_shape, mesh_around_disc
from stfem.reconstruction.unstructured import MeshRule, TwoStage, TwoStageMixed, VertexPatches
from stfem.stationary import StationarySolution

RULES: dict[str, MeshRule] = {
    "patches": VertexPatches(),
    "two-stage": TwoStage(),
    "mixed": TwoStageMixed(),
}
#: Width of a layer in cells, from which on a target does not apply.
UNRESOLVED = 0.1


@dataclass(frozen=True)
class Series:
    """One problem with its grids, and the largest B/e_h of the best reconstruction.

    That target is for layers thinner than a tenth of a cell; infinite where there is none.
    """

    title: str
    problem: Callable[[float, int], StationaryProblem]
    eps: tuple[float, ...]
    cells: dict[int, tuple[int, ...]]
    largest: float = math.inf
    lifted: tuple[str, ...] = ()

    def quick(self) -> Series:
        """The coarsest grid, degree 1, and at most two diffusions."""
        return replace(
            self, cells={1: self.cells[1][:1]}, eps=tuple(dict.fromkeys((self.eps[0], self.eps[-1])))
        )

    def parameters(self) -> dict[str, Any]:
        """What the rows of a record belong to."""
        return {
            "title": self.title,
            "eps": self.eps,
            "cells": {str(degree): cells for degree, cells in self.cells.items()},
            "largest B/e_h": None if math.isinf(self.largest) else self.largest,
            "lifted": self.lifted,
        }


DIFFUSIONS = (1.0, 1e-2, 1e-4, 1e-6)
GRIDS = {1: (16, 32), 2: (16, 32)}
SERIES = {
    "interior": Series(
        "Interior layer from a step at the inflow, reaction 1",
        lambda eps, n: interior_layer(eps, mesh=triangles(n)),
        DIFFUSIONS,
        GRIDS,
    ),
    "transport": Series(
        "Interior layer from a smooth step, without reaction",
        lambda eps, n: interior_layer(eps, reaction=0.0, upstream=0.25, mesh=triangles(n)),
        DIFFUSIONS,
        GRIDS,
    ),
    "outflow": Series(
        "Layer at the outflow, lifted where the mesh does not resolve it",
        lambda eps, n: stationary_layer(eps, mesh=triangles(n)),
        DIFFUSIONS,
        GRIDS,
        2.0,
        ("right",),
    ),
    "corner": Series(
        "Re-entrant corner in a rotating flow, reaction 1",
        lambda eps, n: rotating_corner(eps, mesh=l_shape(int(math.log2(n)) - 1)),
        DIFFUSIONS,
        {1: (8, 16)},
    ),
    "cylinder": Series(
        "Hemker's cylinder",
        lambda eps, n: hemker_cylinder(eps, mesh=mesh_around_disc(n)),
        (1.0, 0.1),
        {1: (4, 8), 2: (4, 8)},
    ),
}


def runs(name: str, series: Series) -> Iterator[dict[str, Any]]:
    """One row per run; layers that cells of width 1/n resolve are not lifted."""
    for degree, grids in series.cells.items():
        for eps in series.eps:
            for cells in grids:
                problem = series.problem(eps, cells)
                started = time.perf_counter()
                solution = stfem.solve_stationary(problem, degree=degree)
                shared = {"series": name, "degree": degree, "eps": eps, "cells": cells}
                shared["seconds_solve"] = time.perf_counter() - started
                lifted = series.lifted if eps * cells < 1.0 else ()
                error = layer_error(solution, eps) if lifted else None
                for label, rule in RULES.items():
                    numbers = measured(solution, stfem.MeshEstimator((rule,), lifted=lifted), error)
                    yield shared | {"reconstruction": label} | numbers


def measured(
    solution: StationarySolution, estimator: stfem.MeshEstimator, error: float | None
) -> dict[str, Any]:
    """Bound and errors; ``error`` in place of the one that a rule finds that does not resolve layers."""
    started = time.perf_counter()
    estimate = stfem.estimate(solution, estimator)
    seconds = time.perf_counter() - started
    error_dg = estimate.error_dg if error is None else error
    lower, upper = estimate.enclosure
    return {
        "bound": estimate.bound,
        "error_dg": error_dg,
        "ratio": estimate.bound / error_dg,
        "effectivity": estimate.effectivity,
        "effectivity_energy": estimate.effectivity_energy,
        "enclosed": lower <= error_dg <= upper,
        "seconds_estimate_and_errors": seconds,
    }


def layer_error(solution: StationarySolution, eps: float) -> float:
    """‖u − u_h‖ with a layer at x = 1, by a quadrature that resolves it."""
    x, weights = graded_rule(eps)
    exact: Any = solution.problem.exact
    semi = solution.semidiscretization
    source: skfem.Mesh = semi.mesh.source
    cells = source.element_finder()(*x)
    difference = exact(x, 0.0)[0] - values_at(semi.space, solution.values, x, cells)
    return math.sqrt(float(weights @ np.square(difference)))


def failures(rows: list[dict[str, Any]], series: dict[str, Any]) -> list[str]:
    """Targets that the rows of one series miss."""
    missed = [f"{described(row)}: a bound below the error" for row in rows if not sound(row)]
    largest = series["largest B/e_h"]
    for degree, eps, n in dict.fromkeys((row["degree"], row["eps"], row["cells"]) for row in rows):
        group = [row for row in rows if (row["degree"], row["eps"], row["cells"]) == (degree, eps, n)]
        best = min(row["ratio"] for row in group)
        if largest is not None and eps * n < UNRESOLVED and best > largest:
            missed.append(f"q={degree} eps={eps:g} n={n}: B/e_h {best:.2f} of the best, target {largest:g}")
    return missed


def sound(row: dict[str, Any]) -> bool:
    """No bound below an error."""
    return bool(row["enclosed"]) and all(
        row[key] is None or row[key] >= 1.0 for key in ("effectivity", "effectivity_energy")
    )


def described(row: dict[str, Any]) -> str:
    """Which run it was."""
    return f"{row['reconstruction']} q={row['degree']} eps={row['eps']:g} n={row['cells']}"


def tables(rows: list[dict[str, Any]]) -> str:
    """B/e_h per series against the diffusion, and what misses its target."""
    lines = []
    for name in dict.fromkeys(row["series"] for row in rows):
        own = [row for row in rows if row["series"] == name]
        lines += [
            f"*{SERIES[name].title}*",
            "",
            records.markdown(table(own, RULES, {row["eps"] for row in own})),
            "",
        ]
        missed = failures(own, SERIES[name].parameters())
        lines += [f"{len(own)} runs, {len(missed)} miss a target{':' if missed else '.'}", ""]
        lines += [*(f"- {sentence}" for sentence in missed), *([""] if missed else [])]
    return "\n".join(lines)


def line(row: dict[str, Any]) -> str:
    """A run on the terminal."""
    return (
        f"{row['series']:9} {described(row):36} B/e_h {row['ratio']:8.3f} "
        f"energy {row['effectivity_energy'] or math.nan:8.3f} "
        f"solve {row['seconds_solve']:.2f} s rest {row['seconds_estimate_and_errors']:.2f} s"
    )


def main() -> None:
    """Run what the command line asks for."""
    records.run_series("stationary", __doc__.splitlines()[0], SERIES, runs, line, tables)


if __name__ == "__main__":
    main()
