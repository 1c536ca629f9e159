"""Adaptivity: time of marking, and mass through many changes of a mesh.

    python benchmarks/adaptivity.py [--quick] [--only marking cycles stationary unsteady]

*marking*: median seconds of every rule on indicators of several kinds. *cycles*: a strip moves through a
mesh, which is refined in it and coarsened elsewhere, with a function taken along; the largest change of its
mass relative to the first one, and the median time of a change. *stationary*: layers without time, adaptive
against uniform meshes, see adaptivity_stationary.py. *unsteady*: the same in time, with meshes that change,
see adaptivity_unsteady.py. Writes results/adaptivity.json and .md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import adaptivity_stationary as stationary
import adaptivity_unsteady as unsteady
import numpy as np
import records
import skfem

from stfem.adaptivity import (
    coarsen,
    mark_dorfler,
    mark_dorfler_coarsening,
    mark_equidistribution,
    mark_maximum,
    mark_tolerance,
    refine,
    transfer,
)
from stfem.problems import Dirichlet, Domain
from stfem.spaces.broken import BrokenSpace

#: Targets: seconds for a million indicators, change of the mass.
MARKING_SECONDS, MASS_DRIFT = 0.1, 1e-12
#: The strip that is refined: bisections of a cell, way per cycle, half of its width.
LEVELS, SPEED, WIDTH = 6, 0.06, 0.15

RULES: dict[str, Callable[..., Any]] = {
    "Dörfler, θ = 0.1": partial(mark_dorfler, theta=0.1),
    "Dörfler, θ = 0.5": partial(mark_dorfler, theta=0.5),
    "Dörfler, θ = 0.9": partial(mark_dorfler, theta=0.9),
    "maximum": mark_maximum,
    "equidistribution": partial(mark_equidistribution, tolerance=1.0),
    "tolerance": partial(mark_tolerance, tolerance=1.0),
    "Dörfler, coarsening": mark_dorfler_coarsening,
}
INDICATORS: dict[str, Callable[[int], np.ndarray]] = {
    "spread": lambda count: np.random.default_rng(0).lognormal(0.0, 4.0, count),
    "equal": lambda count: np.full(count, 0.1),
    "ascending": lambda count: np.linspace(0.0, 1.0, count),
}


def line_mesh(cells: int) -> Any:
    """The unit interval."""
    return skfem.MeshLine(np.linspace(0.0, 1.0, cells + 1))


def cube_mesh(shape: Any, dim: int, cells: int) -> Any:
    """The unit cube with so many pieces per direction."""
    return shape.init_tensor(*[np.linspace(0.0, 1.0, cells + 1)] * dim)


MESHES: dict[str, Callable[[int], Any]] = {
    "line": line_mesh,
    "triangle": partial(cube_mesh, skfem.MeshTri, 2),
    "tetrahedron": partial(cube_mesh, skfem.MeshTet, 3),
}


@dataclass(frozen=True)
class Marking:
    """Rules on a number of indicators."""

    count: int = 1_000_000
    repeats: int = 9

    def quick(self) -> Marking:
        """Few indicators."""
        return replace(self, count=10_000, repeats=1)

    def parameters(self) -> dict[str, Any]:
        """What the record says of it."""
        return asdict(self) | {"target_seconds": MARKING_SECONDS}

    def rows(self) -> Iterator[dict[str, Any]]:
        """One per rule and kind of indicators."""
        for kind, make in INDICATORS.items():
            squares = make(self.count)
            for rule, mark in RULES.items():
                runs = [timed(partial(mark, squares)) for _ in range(self.repeats)]
                seconds = float(f"{np.median([taken for taken, _ in runs]):.3g}")
                head = {"series": "marking", "indicators": kind, "rule": rule, "count": self.count}
                yield head | {"marked": len(runs[0][1]), "seconds": seconds}


@dataclass(frozen=True)
class Cycles:
    """Meshes, periodic in the first direction, that are changed many times."""

    cells: tuple[tuple[str, int], ...] = (("line", 200), ("triangle", 24), ("tetrahedron", 5))
    degrees: tuple[int, ...] = (1, 3)
    cycles: int = 50

    def quick(self) -> Cycles:
        """Small meshes."""
        return replace(
            self, cells=(("line", 20), ("triangle", 4), ("tetrahedron", 2)), degrees=(1,), cycles=5
        )

    def parameters(self) -> dict[str, Any]:
        """What the record says of it."""
        return asdict(self) | {"target_drift": MASS_DRIFT}

    def rows(self) -> Iterator[dict[str, Any]]:
        """One per mesh and degree."""
        for shape, cells in self.cells:
            for degree in self.degrees:
                yield {"series": "cycles", "cells": shape, "q": degree} | self.changed(shape, cells, degree)

    def changed(self, shape: str, cells: int, degree: int) -> dict[str, Any]:
        """What a function in a mesh goes through."""
        domain: Domain = Domain(MESHES[shape](cells), Dirichlet(0.0) if shape != "line" else None, (0,))
        space = BrokenSpace(domain.mesh(), degree)
        u = 1.0 + np.random.default_rng(1).normal(size=(1, space.modes, space.mesh.size))
        least = space.mesh.cell_measures.min() / 2**LEVELS
        start, sizes, drift = u[0, 0] @ space.mesh.cell_measures, [space.mesh.size], 0.0
        meshes, transfers = [], []
        for cycle in range(self.cycles):
            for refines in (True, False):
                mesh = domain.mesh()
                inside = np.abs(mesh.centroids[0] - cycle * SPEED % 1.0) < WIDTH
                chosen = inside & (mesh.cell_measures > 1.5 * least) if refines else ~inside
                work = partial(refine if refines else coarsen, domain, np.flatnonzero(chosen))
                taken, change = timed(work)
                meshes.append(taken)
                taken, u = timed(partial(transfer, change, u, degree))
                transfers.append(taken)
                domain = change.domain
                sizes.append(domain.mesh().size)
                drift = max(drift, abs(u[0, 0] @ domain.mesh().cell_measures / start - 1.0))
        return {
            "cycles": self.cycles,
            "fewest": min(sizes),
            "most": max(sizes),
            "drift": float(f"{drift:.2g}"),
            "seconds_mesh": float(f"{np.median(meshes):.3g}"),
            "seconds_transfer": float(f"{np.median(transfers):.3g}"),
        }


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a call, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


SERIES: dict[str, Any] = {
    "marking": Marking(),
    "cycles": Cycles(),
    "stationary": stationary.Layers(),
    "unsteady": unsteady.Unsteady(),
}


def failures(rows: list[dict[str, Any]]) -> list[str]:
    """What misses a target."""
    missed = stationary.failures([row for row in rows if row["series"] == "stationary"])
    for row in rows:
        if row["series"] == "marking" and row["seconds"] > MARKING_SECONDS * row["count"] / 1e6:
            missed.append(f"{row['rule']}, {row['indicators']}: {row['seconds']} s")
        if row["series"] == "cycles" and row["drift"] > MASS_DRIFT:
            missed.append(f"{row['cells']}, q = {row['q']}: mass changed by {row['drift']}")
    return missed + unsteady.failures(rows)


def tables(rows: list[dict[str, Any]]) -> str:
    """All tables, and what misses its target."""
    lines = []
    for name, title in (
        ("marking", f"*Marking, target {MARKING_SECONDS} s for a million indicators*"),
        ("cycles", f"*Refined and coarsened in turn, target {MASS_DRIFT:g} for the change of the mass*"),
        ("unsteady", "*Problems in time: largest and mean number of unknowns*"),
    ):
        own = [{key: row[key] for key in row if key != "series"} for row in rows if row["series"] == name]
        if own:
            lines += [title, "", records.markdown(own), ""]
    layers = [row for row in rows if row["series"] == "stationary"]
    if layers:
        lines += ["*Layers without time*", "", stationary.table(layers), ""]
    if orders := unsteady.summary(rows):
        lines += [unsteady.TITLE, "", records.markdown(orders), ""]
    missed = failures(rows)
    lines += [f"{len(rows)} runs, {len(missed)} miss a target{':' if missed else '.'}", ""]
    return "\n".join([*lines, *(f"- {sentence}" for sentence in missed)])


def line(row: dict[str, Any]) -> str:
    """A row on the terminal."""
    if row["series"] == "stationary":
        return stationary.line(row)
    return "  ".join(str(value) for value in row.values())


def main() -> None:
    """Run what the command line asks for."""
    records.run_series(
        "adaptivity",
        __doc__.splitlines()[0],
        SERIES,
        lambda _, series: series.rows(),
        line,
        tables,
    )


if __name__ == "__main__":
    main()
