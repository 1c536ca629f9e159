"""Random problems with known solutions: no bound lies below the true error, integrated independently (T4.6).

    python benchmarks/random_cases.py [--nonlinear] [--cases 2000] [--workers 2] [--seed0 0]

Seed k is case k: all cases are fixed beforehand and none is left out afterwards. With ``--nonlinear`` they
are those of random_nonlinear.py, 4,000 by default: Burgers, polynomial fluxes and two systems. The errors are
found here from the modes of û with more Gauss points and more times than the library takes anywhere, without
its quadrature, basis functions or data. The complete run (the default seeds) writes results/random_cases.json
and random_cases.md, or random_nonlinear; any other writes nothing. Exits with 1 where a bound fails or the
cases are not the mixture they should be.
"""

from __future__ import annotations

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # the workers share the cores

import argparse  # noqa: E402  (after the environment)
import math  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Iterator, Mapping, Sequence  # noqa: E402
from concurrent.futures import ProcessPoolExecutor  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import records  # noqa: E402
from random_nonlinear import NONLINEAR, nonlinear_case  # noqa: E402
from random_problems import KINDS, MAX_STEPS, Case, random_case  # noqa: E402
from truth import (  # noqa: E402
    EXTRA_POINTS,
    GAUSS_TIMES,
    LEAST_CELLS,
    RANDOM_TIMES,
    RELATIVE_SLACK,
    ROUND_OFF,
    SUBCELLS_L1,
    Quadrature,
    Truth,
    violations,
)

from stfem import SplitEstimator, estimate, solve  # noqa: E402

__all__ = ["Quadrature", "Truth", "violations"]

NORMS = ("bound", "bound_final", "bound_energy", "bound_l1")
COMPLETE = range(2000)  # seeds of the record
COMPLETE_NONLINEAR = range(4000)
RESOLVED = 0.1  # relative error
LEAST_SHARES = {"and resolved": 0.5, "μ > 0": 0.2, "g ≠ 0": 0.2}


@dataclass(frozen=True)
class Campaign:
    """A family of cases: its record, its kinds, the case of a seed, the seeds of the record."""

    name: str
    kinds: Mapping[str, float]
    case: Callable[[int], Case]
    complete: range


CAMPAIGN = Campaign("random_cases", KINDS, random_case, COMPLETE)
CAMPAIGN_NONLINEAR = Campaign("random_nonlinear", NONLINEAR, nonlinear_case, COMPLETE_NONLINEAR)


def run(seed: int, case: Callable[[int], Case] = random_case) -> dict[str, Any]:
    """The row of one seed."""
    return checked(case(seed))


def checked(case: Case) -> dict[str, Any]:
    """Solve, certify and check one case."""
    started = time.perf_counter()
    correction = case.reconstruction if case.corrected else False
    solution = solve(
        case.problem, cells=case.cells, degree=case.degree, initial_correction=correction, history=True
    )
    estimator = SplitEstimator(case.reconstruction, spacing=case.spacing)
    result = estimate(solution, estimator)
    certified = time.perf_counter()
    truth = Truth(case, solution, estimator, result.history["time"])
    lower, upper = result.enclosure
    pairs = {
        "bound": (result.bound, truth.supremum),
        "bound_final": (result.bound_final, truth.final),
        "bound_energy": (math.nan if result.bound_energy is None else result.bound_energy, truth.energy),
        "bound_l1": (math.nan if result.bound_l1 is None else result.bound_l1, truth.l1),
        "enclosure above": (upper, truth.dg),
        "enclosure below": (truth.dg, lower),
    }
    if len(case.fields) > 1:
        del pairs["bound_l1"]  # systems have none
    failed = violations(pairs, truth.size)
    if not result.guaranteed:
        failed.append("guaranteed")
    equation = case.problem.equation
    return {
        "seed": case.seed,
        "kind": case.kind,
        "degree": case.degree,
        "cells": case.cells,
        "eps": float(np.trace(equation.diffusion)) / equation.dim,
        "final_time": case.problem.final_time,
        "steps": solution.steps,
        "spacing": case.spacing,
        "spline_order": case.reconstruction.order_for(case.degree),
        "source": not all(g.is_zero for g in case.problem.source),
        "growth": result.parts["growth"],
        "relative_error": truth.supremum / truth.size,
        **{name: pairs[name][0] / pairs[name][1] for name in NORMS if name in pairs},
        "enclosure_width": (upper - lower) / truth.dg,
        "violated": failed,
        "seconds": certified - started,
        "seconds_truth": time.perf_counter() - certified,
    }


def outcomes(
    seeds: Sequence[int], workers: int, case: Callable[[int], Case] = random_case
) -> Iterator[dict[str, Any]]:
    """Rows in the order of the seeds; a case that raises becomes a violation."""
    with ProcessPoolExecutor(workers) as pool:
        futures = [(k, pool.submit(run, k, case)) for k in seeds]
        for seed, future in futures:
            error = future.exception()
            yield {"seed": seed, "kind": "raised", "violated": [repr(error)]} if error else future.result()


def shares(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Shares of all rows; those that raised count as none of it."""
    chosen = [row for row in rows if "bound" in row]
    sharp = [row for row in chosen if row["bound"] < 2.0]
    counts = {
        "effectivity < 2": len(sharp),
        "and resolved": sum(row["relative_error"] < RESOLVED for row in sharp),
        "μ > 0": sum(row["growth"] > 1.0 for row in chosen),
        "g ≠ 0": sum(row["source"] for row in chosen),
    }
    return {name: count / len(rows) for name, count in counts.items()}


def summary(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, float] = KINDS) -> list[dict[str, Any]]:
    """One line per kind of problem, and one for all; a case that raised has failed but has no bound."""
    table = []
    for kind in (*kinds, "all"):
        given = [row for row in rows if kind in (row["kind"], "all")]
        chosen = [row for row in given if "bound" in row]
        if not chosen:
            continue
        ratios = np.array([row["bound"] for row in chosen])
        table.append(
            {
                "problems": kind,
                "cases": len(given),
                "failed": sum(bool(row["violated"]) for row in given),
                **{name: f"{100.0 * share:.1f} %" for name, share in shares(given).items()},
                "median": f"{np.median(ratios):.3f}",
                "90 %": f"{np.quantile(ratios, 0.9):.3g}",
                "largest": f"{ratios.max():.3g}",
                **{f"least {name}": _least(row[name] for row in chosen if name in row) for name in NORMS},
            }
        )
    return table


def _least(ratios: Iterator[float]) -> str:
    return f"{smallest:.6f}" if (smallest := min(ratios, default=math.inf)) < math.inf else "–"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; returns the number of failed cases and missed shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nonlinear", action="store_true", help="the cases of random_nonlinear.py")
    parser.add_argument("--cases", type=int, help="number of cases, by default those of the record")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed0", type=int, help="first seed, by default that of the record")
    parser.add_argument("--dry", action="store_true", help="write no results")
    options = parser.parse_args(arguments)
    campaign = CAMPAIGN_NONLINEAR if options.nonlinear else CAMPAIGN
    options.cases = len(campaign.complete) if options.cases is None else options.cases
    first = campaign.complete.start if options.seed0 is None else options.seed0
    seeds = range(first, first + options.cases)
    started, rows = time.perf_counter(), []
    for row in outcomes(seeds, options.workers, campaign.case):
        rows.append(row)
        if row["violated"]:
            print("VIOLATED", row, flush=True)
        if len(rows) % 100 == 0:
            print(f"{len(rows)} cases, {time.perf_counter() - started:.0f} s", flush=True)
    table = records.markdown(summary(rows, campaign.kinds))
    violated = sum(bool(row["violated"]) for row in rows)
    print(table)
    share = shares(rows)
    missed = [name for name, least in LEAST_SHARES.items() if share[name] < least]
    print(f"{len(rows)} cases, {violated} failed; shares too small: {', '.join(missed) or 'none'}")
    complete = campaign.complete
    if options.dry or seeds != complete:
        print(f"nothing written: the record is that of the seeds {complete.start} to {complete.stop - 1}")
    else:
        rounded = [_rounded(row) for row in rows]
        records.write(campaign.name, _parameters(options, campaign.kinds), rounded, table)
    return violated + len(missed)


def _parameters(options: argparse.Namespace, kinds: Mapping[str, float]) -> dict[str, Any]:
    return {
        "cases": options.cases,
        "seed0": options.seed0,
        "kinds": kinds,
        "max_steps": MAX_STEPS,
        "gauss_times": GAUSS_TIMES,
        "random_times": RANDOM_TIMES,
        "extra_points": EXTRA_POINTS,
        "least_cells": LEAST_CELLS,
        "subcells_l1": SUBCELLS_L1,
        "relative_slack": RELATIVE_SLACK,
        "round_off": ROUND_OFF,
        "resolved": RESOLVED,
    }


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers with seven digits."""
    return {key: float(f"{value:.7g}") if isinstance(value, float) else value for key, value in row.items()}


if __name__ == "__main__":
    sys.exit(main() > 0)
