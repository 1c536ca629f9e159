"""Effectivity of the bounds of systems with an entropy, for diffusions from 0 to 1e-2.

    python benchmarks/systems.py [--quick] [--only p-system1 shallow-water2 …]

Every system of the catalogue on the unit torus up to a tenth of the time in which waves cross it. After each
series results/systems.json gets its rows and results/systems.md the table of all stored ones, with those that
miss a target: effectivities of `bound` in [1, 5], within a factor 1.5 of each other over all diffusions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import records

import stfem
from stfem.problems import (
    Problem,
    acoustics,
    diffusive_p_system,
    isentropic_euler,
    isothermal_euler,
    shallow_water,
    viscous_p_system,
)

EPS = (0.0, 1e-6, 1e-4, 1e-2)
LARGEST, SPREAD = 5.0, 1.5


@dataclass(frozen=True)
class Series:
    """One system in one dimension."""

    factory: Callable[..., Problem]
    dim: int
    final_time: float
    degrees: tuple[int, ...] = (1, 2)
    cells: tuple[int, ...] = (16, 32)
    eps: tuple[float, ...] = EPS

    def quick(self) -> Series:
        """One coarse grid."""
        return replace(self, cells=(8,), degrees=(1,))

    def parameters(self) -> dict[str, Any]:
        """What the rows of a record belong to."""
        return {
            "problem": self.factory.__name__,
            "dim": self.dim,
            "final_time": self.final_time,
            "degrees": self.degrees,
            "cells": self.cells,
            "eps": self.eps,
            "largest effectivity": LARGEST,
            "largest ratio of effectivities": SPREAD,
        }


#: Sound crosses the torus in 1/√2 for the p-system at τ = 1, and in 1 elsewhere.
SERIES = {
    f"{name}{dim}": Series(factory, dim, final_time)
    for name, factory, final_time, dims in (
        ("p-system", diffusive_p_system, 0.07, (1, 2)),
        ("viscous-p-system", viscous_p_system, 0.07, (1, 2)),
        ("shallow-water", shallow_water, 0.1, (1, 2)),
        ("isothermal", isothermal_euler, 0.1, (1, 2)),
        ("isentropic", isentropic_euler, 0.1, (1, 2)),
        ("acoustics", acoustics, 0.1, (1, 2)),
    )
    for dim in dims
} | {
    f"{name}3": Series(factory, 3, 0.1, (1,), (8,))
    for name, factory in (("isothermal", isothermal_euler), ("acoustics", acoustics))
}


def runs(name: str, series: Series) -> Iterator[dict[str, Any]]:
    """One row per run."""
    for degree in series.degrees:
        for cells in series.cells:
            for eps in series.eps:
                problem = series.factory(series.dim, eps, series.final_time)
                result = stfem.certify(problem, cells=cells, degree=degree)
                lower, upper = result.enclosure
                yield {
                    "series": name,
                    "degree": degree,
                    "cells": cells,
                    "eps": eps,
                    "error": result.error,
                    "bound": result.bound,
                    "effectivity": result.effectivity,
                    "effectivity_energy": result.effectivity_energy,
                    "growth": result.parts["growth"],
                    "enclosed": lower <= result.error_dg <= upper,
                    "guaranteed": result.guaranteed,
                    "seconds": result.facts["seconds_estimate"],
                }


def table(rows: list[dict[str, Any]]) -> str:
    """One line per system, degree and grid, and what misses its target."""
    lines, missed = [], []
    for name, degree, cells in dict.fromkeys((r["series"], r["degree"], r["cells"]) for r in rows):
        chosen = [r for r in rows if (r["series"], r["degree"], r["cells"]) == (name, degree, cells)]
        values = [r["effectivity"] for r in chosen]
        spread = max(values) / min(values)
        lines.append(
            {
                "system": name,
                "q": degree,
                "N": cells,
                **{f"ε = {r['eps']:g}": f"{r['effectivity']:.3f}" for r in chosen},
                "largest / least": f"{spread:.3f}",
                "energy norm": f"{max(r['effectivity_energy'] for r in chosen):.3f}",
                "guaranteed": "yes" if all(r["guaranteed"] for r in chosen) else "no",
            }
        )
        wrong = [f"effectivity {v:.3f}" for v in values if not 1.0 <= v <= LARGEST]
        wrong += [f"ratio {spread:.3f}"] if spread > SPREAD else []
        wrong += ["enclosure"] if not all(r["enclosed"] for r in chosen) else []
        wrong += ["energy norm"] if min(r["effectivity_energy"] for r in chosen) < 1.0 else []
        missed += [f"- {name} q={degree} N={cells}: {', '.join(wrong)}"] if wrong else []
    ending = f"{len(rows)} runs, {len(missed)} targets missed{':' if missed else '.'}"
    return "\n".join([records.markdown(lines), "", ending, *(["", *missed] if missed else [])])


def line(row: dict[str, Any]) -> str:
    """A run on the terminal."""
    return (
        f"{row['series']:24} q={row['degree']} N={row['cells']:<3} eps={row['eps']:<6g} "
        f"error {row['error']:.3e} effectivity {row['effectivity']:.3f} "
        f"energy {row['effectivity_energy']:.3f} growth {row['growth']:.3f} "
        f"{'guaranteed' if row['guaranteed'] else 'NOT guaranteed'}, {row['seconds']:.1f} s"
    )


def main() -> None:
    """Run what the command line asks for."""
    records.run_series("systems", __doc__.splitlines()[0], SERIES, runs, line, table)


if __name__ == "__main__":
    main()
