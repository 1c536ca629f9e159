"""The experiments of arXiv 2604.01200: the estimator of the paper and ours, side by side.

    python benchmarks/paper_2604_01200.py [--quick] [--only linear burgers p-system]

Says which targets hold. The full run writes results/paper_2604_01200.json and .md and the README's table,
--quick only results/paper_2604_01200_quick.json and .md; with --only nothing is written.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import records
from paper_reference import REFERENCES, Reference

import stfem
from stfem.estimators import PaperEstimator
from stfem.problems import Problem, diffusive_p_system, linear_advection_diffusion, viscous_burgers
from stfem.timestepping import ARK324L2SA, ARK548L2SA, ImplicitExplicitRungeKutta

NAME = "paper_2604_01200"
README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- benchmark:begin -->", "<!-- benchmark:end -->"
EPS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
README_EPS = (0.0, 1e-3, 1e-1)
SMALLEST = 16  # cells from which on the targets for the size of the bound are set
QUANTITIES = ("E_rec", "E", "e0", "R1", "E_r2")


@dataclass(frozen=True)
class Experiment:
    """A problem of the paper with its fixed λ_max and the targets.

    Largest share of the paper's E that `bound` may have, largest effectivities, tolerance of the reference.
    """

    factory: Callable[..., Problem]
    speed: float
    final_time: float
    share: float
    largest: Callable[[float], float]
    largest_energy: float = math.inf
    tolerance: float = 0.02


EXPERIMENTS = {
    "linear": Experiment(
        linear_advection_diffusion, 1.0, 1.0, 0.5, lambda eps: 1.1 if eps <= 1e-3 else 1.5, 2.2
    ),
    "burgers": Experiment(viscous_burgers, 2.2, 0.1, 0.25, lambda eps: 1.6, tolerance=0.05),
    "p-system": Experiment(diffusive_p_system, math.sqrt(2.0 / 0.9**3), 0.05, 0.5, lambda eps: 3.0),
}


def paper(experiment: Experiment, degree: int, cells: int, eps: float, final_time: float) -> dict[str, Any]:
    """The paper's scheme and estimator: IMEX steps of fixed length, plain L² projection, Rusanov flux."""
    result = stfem.certify(
        experiment.factory(2, eps, final_time),
        cells=cells,
        degree=degree,
        estimator=PaperEstimator(),
        dt=0.1 / ((2 * degree + 1) * experiment.speed * cells),
        stepper=ImplicitExplicitRungeKutta(ARK324L2SA if degree == 1 else ARK548L2SA),
        initial_correction=False,
    )
    values = {name: result.facts[name] for name in ("E_rec", "e0", "R1", "E_r2", "steps")}
    return values | {"E": result.bound, "seconds": _seconds(result)}


def ours(experiment: Experiment, degree: int, cells: int, eps: float) -> dict[str, Any]:
    """The split estimator with all defaults."""
    result = stfem.certify(experiment.factory(2, eps, experiment.final_time), cells=cells, degree=degree)
    return {
        "error": result.error,
        "bound": result.bound,
        "effectivity": result.effectivity,
        "bound_energy": result.bound_energy,
        "effectivity_energy": result.effectivity_energy,
        "guaranteed": result.guaranteed,
        "steps": result.facts["steps"],
        "slabs": result.facts["slabs"],
        "seconds": _seconds(result),
    }


def _seconds(result: stfem.Certificate) -> float:
    return float(result.facts["seconds_solve"] + result.facts["seconds_estimate"])


def runs(
    names: list[str], degrees: tuple[int, ...], cells: tuple[int, ...], eps: tuple[float, ...]
) -> Iterator[dict[str, Any]]:
    """One row per run of both; orders compare with the next coarser grid."""
    for name in names:
        experiment = EXPERIMENTS[name]
        for degree in degrees:
            for diffusion in eps:
                coarser: dict[str, Any] | None = None
                for count in cells:
                    row: dict[str, Any] = {
                        "experiment": name,
                        "degree": degree,
                        "eps": diffusion,
                        "cells": count,
                        "paper": paper(experiment, degree, count, diffusion, experiment.final_time),
                        "ours": ours(experiment, degree, count, diffusion),
                    }
                    row["order_paper"] = _order(coarser, row, "paper", "E")
                    row["order_ours"] = _order(coarser, row, "ours", "bound")
                    yield row
                    coarser = row


def _order(coarser: dict[str, Any] | None, row: dict[str, Any], who: str, what: str) -> float | None:
    if coarser is None:
        return None
    ratio = row["cells"] / coarser["cells"]
    return math.log(coarser[who][what] / row[who][what]) / math.log(ratio)


def failures(row: dict[str, Any]) -> list[str]:
    """Targets that a row misses."""
    experiment, mine = EXPERIMENTS[row["experiment"]], row["ours"]
    missed = []
    share = mine["bound"] / row["paper"]["E"]
    if share > experiment.share and row["cells"] >= SMALLEST:
        missed.append(f"bound is {share:.3f} of the paper's E, target {experiment.share}")
    if not 1.0 <= mine["effectivity"] <= experiment.largest(row["eps"]):
        missed.append(f"effectivity {mine['effectivity']:.4f}")
    if not 1.0 <= mine["effectivity_energy"] <= experiment.largest_energy:
        missed.append(f"effectivity in the energy norm {mine['effectivity_energy']:.4f}")
    return missed


def deviations(reference: Reference, values: dict[str, Any]) -> dict[str, float]:
    """Relative deviations from one reference row."""
    return {name: values[name] / getattr(reference, name) - 1.0 for name in QUANTITIES}


def compare(rows: list[dict[str, Any]], extra: bool) -> list[dict[str, Any]]:
    """Deviations from all reference rows that were run; with ``extra`` also those with another final time."""
    known = {(r["experiment"], r["degree"], r["cells"], r["eps"]): r["paper"] for r in rows}
    table = []
    for reference in REFERENCES:
        experiment = EXPERIMENTS[reference.experiment]
        key = (reference.experiment, reference.degree, reference.cells, reference.eps)
        if reference.final_time is None:
            values = known.get(key)
        else:
            values = paper(experiment, *key[1:], reference.final_time) if extra else None
        if values is None:
            continue
        found = deviations(reference, values)
        worst = max(map(abs, found.values()))
        table.append(
            {
                "reference": asdict(reference),
                "deviations": found,
                "worst": worst,
                "holds": worst <= experiment.tolerance and values["steps"] == reference.steps,
            }
        )
    return table


def table(rows: list[dict[str, Any]]) -> str:
    """Both estimators, one line per run.

    E bounds the energy norm, `bound` the maximum in time of the L² norm; "energy norm" is our `bound_energy`.
    """
    lines = []
    for row in rows:
        theirs, mine = row["paper"], row["ours"]
        lines.append(
            {
                "problem": row["experiment"],
                "q": row["degree"],
                "ε": f"{row['eps']:g}",
                "N": row["cells"],
                "paper: error": f"{theirs['E_rec']:.3e}",
                "E": f"{theirs['E']:.3e}",
                "E/error": f"{theirs['E'] / theirs['E_rec']:.2f}",
                "EOC of E": _short(row["order_paper"]),
                "ours: error": f"{mine['error']:.3e}",
                "bound": f"{mine['bound']:.3e}",
                "bound/error": f"{mine['effectivity']:.3f}",
                "energy norm": f"{mine['bound_energy']:.3e}",
                "EOC of bound": _short(row["order_ours"]),
                "E/bound": f"{theirs['E'] / mine['bound']:.1f}",
                "E/energy norm": f"{theirs['E'] / mine['bound_energy']:.1f}",
            }
        )
    return records.markdown(lines)


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def write_readme(text: str, path: Path = README) -> None:
    """Put the text between the two marks of the README."""
    content = path.read_text(encoding="utf-8")
    if content.count(BEGIN) != 1 or content.count(END) != 1:
        raise ValueError(f"{path.name}: expected the marks {BEGIN} and {END} once each")
    before, rest = content.split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="N = 8, 16 and one diffusion; written beside the full record"
    )
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    options = parser.parse_args()
    degrees, cells, eps = ((1, 2), (8, 16), (1e-2,)) if options.quick else ((1, 2), (16, 32), EPS)
    rows, missed = [], 0
    for row in runs(options.only, degrees, cells, eps):
        rows.append(row)
        wrong = failures(row)
        missed += bool(wrong)
        print(
            f"{row['experiment']:8} q={row['degree']} eps={row['eps']:<6g} N={row['cells']:<3}"
            f" E {row['paper']['E']:.4e} bound {row['ours']['bound']:.4e}"
            f" effectivity {row['ours']['effectivity']:.3f} energy {row['ours']['effectivity_energy']:.3f}"
            f" seconds {row['paper']['seconds']:.1f} / {row['ours']['seconds']:.1f}"
            f" {'MISSED ' + ', '.join(wrong) if wrong else ''}",
            flush=True,
        )
    checks = compare(rows, extra=not options.quick and "linear" in options.only)
    print("\n" + table(rows) + "\n")
    for check in checks:
        given = check["reference"]
        print(
            f"{given['source']:11} {given['experiment']:8} q={given['degree']} N={given['cells']} "
            f"eps={given['eps']:<6g} largest deviation {100 * check['worst']:.2f} % "
            f"{'holds' if check['holds'] else 'MISSED ' + str(check['deviations'])}"
        )
    lost = sum(not check["holds"] for check in checks)
    print(f"{len(rows)} runs, {missed} miss a target; {len(checks)} reference rows, {lost} outside tolerance")
    if options.only != list(EXPERIMENTS):
        return
    parameters = {"degrees": degrees, "cells": cells, "eps": eps, "reference": checks}
    records.write(f"{NAME}_quick" if options.quick else NAME, parameters, rows, table(rows))
    if not options.quick:
        write_readme(table([row for row in rows if row["cells"] == cells[-1] and row["eps"] in README_EPS]))


if __name__ == "__main__":
    main()
