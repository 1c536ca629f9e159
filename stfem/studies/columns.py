"""The columns of a study: what a case yields, and the orders of convergence between cases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from stfem.estimators import MeshEstimator, SplitEstimator
from stfem.problems import Problem, Torus
from stfem.semidiscretization import AnySemidiscretization, Semidiscretization
from stfem.solving import Certificate, certify

#: Numbers of a case, in the order of the columns; None where there is none, as an error without exact
#: solution. Seconds are those of solving, of estimating (without the true error), and of everything.
RESULTS = (
    *("unknowns", "h", "error", "bound", "effectivity", "error_final", "bound_final"),
    *("error_energy", "bound_energy", "effectivity_energy", "bound_l1"),
    *("error_dg", "enclosure_lower", "enclosure_upper"),
    *("initial", "hyperbolic", "parabolic", "temporal", "growth", "guaranteed"),
    *("steps", "slabs", "seconds_solve", "seconds_estimate", "seconds"),
)
#: The parameter along which there are orders of convergence, unless the problem brings meshes.
CELLS = "cells"
#: Orders between one grid and the next, log(e/e')/log(h/h'), and what they are the orders of.
ORDERS = {"eoc_error": "error", "eoc_bound": "bound"}


def run_case(problem: Problem, options: Mapping[str, Any]) -> dict[str, Any]:
    """Certify one case; returns its `RESULTS`."""
    started = perf_counter()
    certificate = certify(problem, **_with_reconstruction(options, problem))
    return _results(certificate, perf_counter() - started)


def with_orders(rows: Sequence[Mapping[str, Any]], refined: str = CELLS) -> tuple[dict[str, Any], ...]:
    """Rows with `ORDERS` between each and the one before in which only the parameter ``refined`` differs."""
    results = {*RESULTS, *ORDERS, refined}
    last: dict[str, Mapping[str, Any]] = {}
    complete = []
    for row in rows:
        group = repr([(name, value) for name, value in row.items() if name not in results])
        before = last.get(group)
        last[group] = row
        orders = {
            name: None if before is None else _order(before, row, size) for name, size in ORDERS.items()
        }
        complete.append({**row, **orders})
    return tuple(complete)


def restored(record: Mapping[str, Any]) -> dict[str, Any]:
    """A row as it was before JSON, which has no tuples; there infinite numbers are words (`plain`)."""
    numbers = {*RESULTS, *ORDERS}
    return {
        name: float(value) if name in numbers and isinstance(value, str) else tuples(value)
        for name, value in record.items()
    }


def tuples(value: Any) -> Any:
    """Lists, also inside of lists, as tuples."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def _with_reconstruction(options: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
    chosen = dict(options)
    if "reconstruction" not in chosen:
        return chosen
    rule, estimator = chosen.pop("reconstruction"), chosen.get("estimator")
    if estimator is None:
        estimator = SplitEstimator() if isinstance(problem.domain, Torus) else MeshEstimator()
    entry = {"reconstructions": (rule,)} if isinstance(estimator, MeshEstimator) else {"reconstruction": rule}
    return {**chosen, "estimator": replace(estimator, **entry)}


def _results(certificate: Certificate, seconds: float) -> dict[str, Any]:
    semi = certificate.solution.semidiscretization
    lower, upper = certificate.enclosure
    values = {
        "unknowns": semi.dofs,
        "h": _size(semi),
        "steps": certificate.solution.steps,
        "enclosure_lower": lower,
        "enclosure_upper": upper,
        **certificate.parts,
        **certificate.facts,
        "seconds": seconds,
    }
    row = {name: values[name] if name in values else getattr(certificate, name, None) for name in RESULTS}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in row.items()}


def _size(semi: AnySemidiscretization) -> float:
    """h: the largest spacing of a grid, the largest diameter of the cells of a mesh."""
    if isinstance(semi, Semidiscretization):
        return max(semi.grid.spacing)
    return float(semi.mesh.cell_diameters.max())


def _order(before: Mapping[str, Any], row: Mapping[str, Any], size: str) -> float | None:
    sizes, h = (before[size], row[size]), (before["h"], row["h"])
    known = all(value is not None and 0.0 < value < math.inf for value in (*sizes, *h))
    if not known or h[0] == h[1]:
        return None
    return math.log(sizes[0] / sizes[1]) / math.log(h[0] / h[1])
