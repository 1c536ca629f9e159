"""Tolerances for problems in time on adaptive meshes, against uniform ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import skfem

import stfem
from stfem.problems import Problem, moving_front, outflow_layer, rotating_pulse
from stfem.problems.shapes import l_shape

#: Targets: distance of the slope from −(q + 1)/2, and unknowns of uniform meshes over adaptive ones at the
#: same bound.
SLOPE, RATIO = 0.2, 10.0
TITLE = (
    "*Problems in time: order of the bound in the unknowns, and uniform against adaptive at the same bound*"
)
#: The case that these are for, and runs of it (from the finest on) that resolve the layer.
TARGETED, RESOLVING = "layer", 3


def square(n: int) -> Any:
    """The unit square in 2n² triangles, with named sides."""
    return skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, n + 1)] * 2).with_defaults()


def large_square(n: int) -> Any:
    """The same of (0, 3/2)²."""
    return skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.5, n + 1)] * 2)


@dataclass(frozen=True)
class Case:
    """A problem, its tolerances, and the uniform meshes that it is compared on.

    Attributes
    ----------
    name, eps, degree
        For the record; ε and q.
    make, mesh
        Problem of ε and a mesh; mesh of a size.
    coarse, uniform
        Size of the mesh that adaptive runs start from, and of the uniform meshes.
    tolerances
        Of the bound in L².
    """

    name: str
    eps: float
    degree: int
    make: Callable[[float, Any], Problem]
    mesh: Callable[[int], Any]
    coarse: int
    uniform: tuple[int, ...]
    tolerances: tuple[float, ...]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Uniform meshes, then tolerances."""
        for size in self.uniform:
            yield self.row("uniform", self.make(self.eps, self.mesh(size)), None)
        for tol in self.tolerances:
            yield self.row("adaptive", self.make(self.eps, self.mesh(self.coarse)), tol)

    def row(self, mesh: str, problem: Problem, tol: float | None) -> dict[str, Any]:
        """One run; the time holds that of the true error."""
        started = time.perf_counter()
        options: dict[str, Any] = {} if tol is None else {"tol": tol, "unproved": True}
        result = stfem.certify(problem, degree=self.degree, **options)
        unknowns = result.facts.get("dofs", result.solution.values.size)
        return {
            "series": "unsteady",
            "problem": self.name,
            "eps": self.eps,
            "q": self.degree,
            "mesh": mesh,
            "tol": tol,
            "unknowns": int(unknowns),
            "mean": int(result.facts.get("dofs_mean", unknowns)),
            "meshes": result.facts["changes"] + 1,
            "bound": float(f"{result.bound:.4g}"),
            "error": float(f"{result.error:.4g}"),
            "seconds": float(f"{time.perf_counter() - started:.3g}"),
        }


def front(eps: float, mesh: Any) -> Problem:
    """A layer that moves by some times its width."""
    return moving_front(2, eps, 0.015, 0.075, mesh)


def wide_front(eps: float, mesh: Any) -> Problem:
    """The same for any ε."""
    return moving_front(2, eps, 0.05, 0.1, mesh)


def pulse(eps: float, mesh: Any) -> Problem:
    """A pulse that goes around a corner."""
    return rotating_pulse(eps, 0.1, 0.2, mesh=mesh)


def outflow(eps: float, mesh: Any) -> Problem:
    """A layer that stays at the outflow."""
    return outflow_layer(eps, 0.05, mesh)


CASES = (
    Case("layer", 1e-4, 1, front, large_square, 6, (60, 120), (2e-2, 1e-2, 5e-3)),
    Case("layer", 1e-4, 2, front, large_square, 6, (48, 96), (2e-2, 8e-3, 4e-3, 2e-3)),
    Case("rotating pulse", 1e-4, 2, pulse, l_shape, 2, (3, 4, 5), (2e-2, 4e-3, 8e-4)),
    Case("outflow layer", 2e-2, 2, outflow, square, 4, (8, 16, 32), (4e-2, 1e-2, 2.5e-3)),
    *(
        Case("wide layer", eps, 2, wide_front, square, 4, (16, 32), (1e-2,))
        for eps in (1e-2, 1e-3, 1e-5, 1e-6)
    ),
)


@dataclass(frozen=True)
class Unsteady:
    """All cases."""

    cases: tuple[Case, ...] = CASES

    def quick(self) -> Unsteady:
        """One coarse run of every kind."""
        case = replace(CASES[-1], uniform=(4,), tolerances=(0.5,), degree=1)
        return replace(self, cases=(case,))

    def parameters(self) -> dict[str, Any]:
        """What the record says of it."""
        cases = [
            asdict(case) | {"make": case.make.__name__, "mesh": case.mesh.__name__} for case in self.cases
        ]
        return {"cases": cases, "target_slope": SLOPE, "target_ratio": RATIO}

    def rows(self) -> Iterator[dict[str, Any]]:
        """One per run."""
        for case in self.cases:
            yield from case.rows()


def slope(rows: list[dict[str, Any]]) -> float | None:
    """Order of the bound in the unknowns (the mean over time), of the finest adaptive runs."""
    adaptive = [row for row in rows if row["mesh"] == "adaptive"][-RESOLVING:]
    if len(adaptive) < 2:
        return None
    unknowns, bounds = ([np.log(row[name]) for row in adaptive] for name in ("mean", "bound"))
    return float(np.polyfit(unknowns, bounds, 1)[0])


def ratio(rows: list[dict[str, Any]]) -> float | None:
    """Unknowns of uniform meshes over those of an adaptive run, its largest, at the same bound.

    For the smallest bound that uniform meshes reach, by the power law of the two next to it; where they reach
    none, for the largest.
    """
    uniform = [row for row in rows if row["mesh"] == "uniform"]
    adaptive = [row for row in rows if row["mesh"] == "adaptive"]
    if len(uniform) < 2 or not adaptive:
        return None
    reached = [row for row in adaptive if row["bound"] >= uniform[-1]["bound"]]
    chosen = reached[-1] if reached else adaptive[0]
    above = [k for k, row in enumerate(uniform) if row["bound"] > chosen["bound"]]
    first = min(max(above, default=0), len(uniform) - 2)
    left, right = uniform[first : first + 2]
    order = np.log(left["bound"] / right["bound"]) / np.log(right["unknowns"] / left["unknowns"])
    return float(left["unknowns"] * (left["bound"] / chosen["bound"]) ** (1.0 / order) / chosen["unknowns"])


def grouped(rows: list[dict[str, Any]]) -> dict[tuple[str, float, int], list[dict[str, Any]]]:
    """The rows of this series by problem, ε and q."""
    result: dict[tuple[str, float, int], list[dict[str, Any]]] = {}
    for row in rows:
        if row["series"] == "unsteady":
            result.setdefault((row["problem"], row["eps"], row["q"]), []).append(row)
    return result


def failures(rows: list[dict[str, Any]]) -> list[str]:
    """What misses a target."""
    missed = []
    for (problem, eps, q), own in grouped(rows).items():
        name = f"{problem}, ε = {eps:g}, q = {q}"
        for row in own:
            if row["error"] > row["bound"]:
                missed.append(f"{name}: error {row['error']} above the bound {row['bound']}")
            if row["tol"] is not None and row["bound"] > row["tol"]:
                missed.append(f"{name}: bound {row['bound']} above the tolerance {row['tol']}")
        order, fewer = slope(own), ratio(own)
        if problem == TARGETED and order is not None and abs(order + 0.5 * (q + 1)) > SLOPE:
            missed.append(f"{name}: slope {order:.2f}")
        if problem == TARGETED and fewer is not None and fewer < RATIO:
            missed.append(f"{name}: {fewer:.1f} times fewer unknowns")
    return missed


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Slopes and ratios of all cases that have them."""
    result = []
    for (problem, eps, q), own in grouped(rows).items():
        order, fewer = slope(own), ratio(own)
        if order is not None or fewer is not None:
            result.append(
                {
                    "problem": problem,
                    "eps": eps,
                    "q": q,
                    "slope": None if order is None else f"{order:.2f}",
                    "times fewer unknowns": None if fewer is None else f"{fewer:.1f}",
                }
            )
    return result
