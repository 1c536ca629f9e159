"""Bound over error on perturbed triangles: reconstruction × diffusion × cells × degree (T5).

    python benchmarks/unstructured.py [--quick] [--only wave front layer burgers cubic steep]

B is the bound of sup‖u − û‖, e_h = ‖u − u_h‖ at the final time. After every series results/unstructured.json
gets its rows and results/unstructured.md the tables of all stored ones, with the targets that are missed.
Targets of nonlinear equations are those times the growth factor of the bound.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import records
import skfem

import stfem
from stfem.problems import (
    Problem,
    burgers_front,
    moving_front,
    nonlinear_wave,
    outflow_layer,
    transient_wave,
)
from stfem.reconstruction.unstructured import Averaging, MeshRule, TwoStage, TwoStageMixed, VertexPatches
from stfem.spaces.broken import BrokenSpace
from stfem.timestepping import RADAU5, ImplicitRungeKutta

Array = np.ndarray[Any, np.dtype[np.float64]]

RULES: dict[str, MeshRule] = {
    "patches": VertexPatches(),
    "averaging": Averaging(),
    "two-stage": TwoStage(),
    "mixed": TwoStageMixed(),
}
#: Of the Radau method of order 5: time counts for little.
STEPS = 20
SHARP = ("two-stage", "mixed")
ENERGY_EPS, LARGEST_ENERGY, LARGEST_LOCAL = (1.0, 1e-2), 2.0, 20.0


@dataclass(frozen=True)
class Series:
    """One problem with its grids, and the largest B/e_h of the best reconstruction.

    That is a target on the finest grid, for layers that no grid resolves on all of them.
    """

    title: str
    problem: Callable[[float, skfem.Mesh], Problem]
    rate: Callable[[Problem, float], Callable[[Array], Array]] | None
    eps: tuple[float, ...]
    cells: dict[int, tuple[int, ...]]
    largest: float
    lifted: tuple[str, ...] = ()
    rules: tuple[str, ...] = tuple(RULES)

    def quick(self) -> Series:
        """One coarse grid, degree 1, and at most two diffusions."""
        return replace(self, cells={1: (4,)}, eps=self.eps[:: len(self.eps) - 1])

    def parameters(self) -> dict[str, Any]:
        """What the rows of a record belong to."""
        return {
            "title": self.title,
            "eps": self.eps,
            "cells": {str(degree): cells for degree, cells in self.cells.items()},
            "largest B/e_h": self.largest,
            "on every grid": bool(self.lifted),
            "rules": self.rules,
            "steps": STEPS,
        }


def wave(eps: float, mesh: skfem.Mesh) -> Problem:
    """Up to T = 0.5; with ε = 1, where errors are soon forgotten, up to T = 0.1."""
    return transient_wave(2, eps, 0.1 if eps == 1.0 else 0.5, mesh)


def nonlinear(power: int) -> Callable[[float, skfem.Mesh], Problem]:
    """The same on top of 1, carried by f = b u^p/p."""
    return lambda eps, mesh: nonlinear_wave(2, eps, power, 0.1 if eps == 1.0 else 0.5, mesh)


def layer_rate(problem: Problem, eps: float) -> Callable[[Array], Array]:
    """∂_tu(0) of the outflow layer."""
    return lambda x: -eps * math.pi**2 * problem.initial[0](x, 0.0)


def front_rate(problem: Problem, eps: float) -> Callable[[Array], Array]:
    """∂_tu(0) of the moving front, by a difference of the exact solution."""
    exact, step = problem.exact, 1e-5
    if exact is None:
        raise ValueError("exact: expected the solution of the front, got None")
    return lambda x: (4.0 * exact(x, step)[0] - 3.0 * exact(x, 0.0)[0] - exact(x, 2.0 * step)[0]) / (2 * step)


SERIES = {
    "wave": Series(
        "Transient wave",
        wave,
        None,
        (0.0, 1e-6, 1e-4, 1e-2, 1.0),
        {1: (8, 16, 32), 2: (8, 16)},
        2.5,
    ),
    "front": Series(
        "Moving front of width 0.1",
        lambda eps, mesh: moving_front(2, eps, 0.1, 0.5, mesh),
        front_rate,
        (0.0, 1e-4),
        {1: (16, 32)},
        3.0,
        rules=("patches", "two-stage"),
    ),
    "layer": Series(
        "Outflow layer that the mesh does not resolve, with the lift",
        lambda eps, mesh: outflow_layer(eps, 0.2, mesh),
        layer_rate,
        (1e-6, 1e-4, 1e-3),
        {1: (16, 32), 2: (16, 32)},
        2.0,
        lifted=("right",),
        rules=("patches", "two-stage", "mixed"),
    ),
    "burgers": Series(
        "Burgers along b: the wave on top of 1, f = b u²/2",
        nonlinear(2),
        None,
        (0.0, 1e-6, 1e-4, 1e-2, 1.0),
        {1: (8, 16), 2: (8,)},
        2.5,
    ),
    "cubic": Series(
        "Cubic flux: the wave on top of 1, f = b u³/3",
        nonlinear(3),
        None,
        (0.0, 1e-4, 1e-2),
        {1: (8, 16)},
        2.5,
    ),
    "steep": Series(
        "Travelling front of the viscous Burgers equation, of width 8ε",
        lambda eps, mesh: burgers_front(2, eps, 0.5, mesh),
        front_rate,
        (0.02, 0.05),
        {1: (8, 16)},
        3.0,
        rules=("patches", "two-stage", "mixed"),
    ),
}


def triangles(n: int, amount: float = 0.2) -> skfem.MeshTri:
    """2n² triangles of the unit square; inner vertices moved by up to 0.2/n per direction."""
    mesh = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, n + 1)] * 2)
    vertices = mesh.p.copy()
    inner = ((vertices > 1e-9) & (vertices < 1.0 - 1e-9)).all(axis=0)
    vertices[:, inner] += np.random.default_rng(0).uniform(-amount / n, amount / n, vertices.shape)[:, inner]
    return skfem.MeshTri(vertices, mesh.t).with_defaults()


def runs(name: str, series: Series) -> Iterator[dict[str, Any]]:
    """One row per run."""
    for degree, grids in series.cells.items():
        for eps in series.eps:
            for cells in grids:
                problem = series.problem(eps, triangles(cells))
                rate = None if series.rate is None else series.rate(problem, eps)
                started = time.perf_counter()
                solution = stfem.solve(
                    problem,
                    degree=degree,
                    dt=problem.final_time / STEPS,
                    stepper=ImplicitRungeKutta(RADAU5),
                    initial_correction=stfem.EquationProjection(rate),
                    history=True,
                )
                shared = {"series": name, "degree": degree, "eps": eps, "cells": cells}
                shared["seconds_solve"] = time.perf_counter() - started
                layer = LayerErrors(solution) if series.lifted else None
                for label in series.rules:
                    if eps > 0.0 or not isinstance(RULES[label], TwoStageMixed):
                        numbers = measured(solution, RULES[label], series, layer)
                        yield shared | {"reconstruction": label} | numbers


def measured(
    solution: stfem.Solution, rule: MeshRule, series: Series, layer: LayerErrors | None
) -> dict[str, Any]:
    """Bound and errors."""
    start = None if layer is None else layer.initial(rule, series.lifted)
    estimator = stfem.MeshEstimator((rule,), lifted=series.lifted, initial_error=start)
    started = time.perf_counter()
    estimate = stfem.estimate(solution, estimator)
    seconds = time.perf_counter() - started
    error = estimate.error_dg if layer is None else layer.final
    lower, upper = estimate.enclosure
    return {
        "bound": estimate.bound,
        "error_dg": error,
        "ratio": estimate.bound / error,
        "effectivity": estimate.effectivity,
        "effectivity_energy": estimate.effectivity_energy,
        "growth": estimate.parts["growth"],
        "enclosed": lower <= error <= upper,
        "seconds_estimate_and_errors": seconds,
    }


class LayerErrors:
    """Errors of a solution with a layer at x = 1, by a quadrature that resolves it."""

    def __init__(self, solution: stfem.Solution) -> None:
        problem, self.solution = solution.problem, solution
        if problem.exact is None:
            raise ValueError("exact: expected the solution with the layer, got None")
        eps, self.nodes = float(problem.equation.diffusion[0, 0]), list(solution.nodes())
        self.x, self.weights = graded_rule(eps)
        self.side = np.stack([np.full_like(self.x[1], 1.0 - 1e-13), self.x[1]])
        find = solution.semidiscretization.mesh.source.element_finder()
        self.cells, self.cells_of_side = find(*self.x), find(*self.side)
        with np.errstate(under="ignore"):
            self.decay = np.exp((self.x[0] - 1.0) / eps)
        exact = problem.exact
        self.first, self.last = exact(self.x, 0.0)[0], exact(self.x, problem.final_time)[0]

    def norm(self, values: Array) -> float:
        """In L²."""
        return math.sqrt(float(self.weights @ values**2))

    def initial(self, rule: MeshRule, lifted: tuple[str, ...]) -> float:
        """‖u_0 − û(0)‖, û with its layer, and what the quadrature may be wrong by."""
        bound = rule.bind(self.solution.semidiscretization, lifted)
        state = bound.at_node(self.nodes[0]).state[0]
        u = values_at(bound.target, state, self.x, self.cells)
        u -= values_at(bound.target, state, self.side, self.cells_of_side) * self.decay
        return (1.0 + 1e-3) * self.norm(self.first - u)

    @property
    def final(self) -> float:
        """‖u − u_h‖ at the final time."""
        space, node = self.solution.semidiscretization.space, self.nodes[-1]
        return self.norm(self.last - values_at(space, node.values, self.x, self.cells))


def graded_rule(eps: float, cells: int = 48) -> tuple[Array, Array]:
    """Points (2, n) of the unit square and weights."""
    s, w = np.polynomial.legendre.leggauss(4)
    thin = 1.0 - min(eps, 1e-2) * np.concatenate([np.arange(0.0, 12.0, 0.5), 2.0 ** np.arange(4, 24)])
    even = np.linspace(0.0, 1.0, cells + 1)
    rules = []
    for edges in (np.unique(np.concatenate([even, thin[thin > 0.0]])), even):
        sizes = np.diff(edges)[:, None]
        rules.append(((edges[:-1, None] + sizes * (s + 1.0) / 2.0).ravel(), (sizes * w / 2.0).ravel()))
    (x, wx), (y, wy) = rules
    return np.stack(np.meshgrid(x, y, indexing="ij")).reshape(2, -1), np.multiply.outer(wx, wy).ravel()


def values_at(space: BrokenSpace, u: Array, x: Array, cells: Array) -> Array:
    """u at points (2, n) in given triangles."""
    mesh = space.mesh
    inverse = mesh.cell_map(mesh.reference.vertices).inverse
    origin = mesh.points(np.zeros((2, 1)))[:, 0]
    reference = np.einsum("ijn,jn->in", inverse[:, :, 0, cells], x - origin[:, cells])
    return np.einsum("nk,kn->n", space.basis.values(reference), u[0][:, cells])


def failures(rows: list[dict[str, Any]], series: dict[str, Any]) -> list[str]:
    """Targets that the rows of one series miss."""
    missed = [f"{described(row)}: a bound below the error" for row in rows if not sound(row)]
    for degree, eps in dict.fromkeys((row["degree"], row["eps"]) for row in rows):
        group = [row for row in rows if (row["degree"], row["eps"]) == (degree, eps)]
        grids = sorted({row["cells"] for row in group})
        where = f"q={degree} eps={eps:g} n={grids[-1]}"
        for n in grids if series["on every grid"] else grids[-1:]:
            best = min(row["ratio"] / row.get("growth", 1.0) for row in group if row["cells"] == n)
            if best > series["largest B/e_h"]:
                place = f"q={degree} eps={eps:g} n={n}"
                missed.append(f"{place}: B/e_h {best:.2f} of the best, target {series['largest B/e_h']:g}")
        for row in group:
            local = (row["series"], row["reconstruction"]) == ("wave", "patches")
            if local and row["ratio"] > LARGEST_LOCAL:
                missed.append(f"{described(row)}: B/e_h {row['ratio']:.1f}, target {LARGEST_LOCAL:g}")
        order = order_of_best(group, grids)
        if row["series"] == "wave" and order is not None and eps <= 1e-4 and order < degree + 0.7:
            missed.append(f"{where}: order {order:.2f}, target {degree + 0.7:.1f}")
        if eps in ENERGY_EPS:
            finest = [row for row in group if row["cells"] == grids[-1]]
            energy = min(row["effectivity_energy"] / row.get("growth", 1.0) for row in finest)
            if energy > LARGEST_ENERGY:
                missed.append(f"{where}: energy norm {energy:.2f} of the best, target {LARGEST_ENERGY:g}")
    return missed


def sound(row: dict[str, Any]) -> bool:
    """No bound below an error."""
    return bool(row["enclosed"]) and all(
        row[key] is None or row[key] >= 1.0 for key in ("effectivity", "effectivity_energy")
    )


def order_of_best(group: list[dict[str, Any]], grids: list[int]) -> float | None:
    """Order of the smaller bound of the sharp reconstructions on the two finest grids."""
    best = [
        min(
            (row["bound"] for row in group if row["cells"] == n and row["reconstruction"] in SHARP),
            default=math.nan,
        )
        for n in grids[-2:]
    ]
    return math.log(best[0] / best[1]) / math.log(grids[-1] / grids[-2]) if len(best) == 2 else None


def orders(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per degree and two grids, one column per diffusion."""
    lines = []
    for degree in dict.fromkeys(row["degree"] for row in rows):
        own = [row for row in rows if row["degree"] == degree]
        grids = sorted({row["cells"] for row in own})
        for pair in pairwise(grids):
            line: dict[str, Any] = {"q": degree, "n": f"{pair[0]} → {pair[1]}"}
            for eps in dict.fromkeys(row["eps"] for row in own):
                order = order_of_best([row for row in own if row["eps"] == eps], list(pair))
                line[f"ε = {eps:g}"] = f"{order:.2f}"
            lines.append(line)
    return lines


def described(row: dict[str, Any]) -> str:
    """Which run it was."""
    return f"{row['reconstruction']} q={row['degree']} eps={row['eps']:g} n={row['cells']}"


def tables(rows: list[dict[str, Any]]) -> str:
    """B/e_h per series against the diffusion, and what misses its target."""
    lines = []
    for name in dict.fromkeys(row["series"] for row in rows):
        own = [row for row in rows if row["series"] == name]
        lines += [f"*{SERIES[name].title}*", "", records.markdown(table(own, RULES, ENERGY_EPS)), ""]
        found = orders(own)
        if name == "wave" and found:
            lines += ["Order of the smaller bound of two-stage and mixed:", "", records.markdown(found), ""]
        missed = failures(own, SERIES[name].parameters())
        lines += [f"{len(own)} runs, {len(missed)} miss a target{':' if missed else '.'}", ""]
        lines += [*(f"- {sentence}" for sentence in missed), *([""] if missed else [])]
    return "\n".join(lines)


def table(
    rows: list[dict[str, Any]], rules: Iterable[str], energy_eps: Container[float]
) -> list[dict[str, Any]]:
    """One line per reconstruction, degree and grid: B/e_h, and the effectivity in the energy norm.

    In the order of ``rules``; the latter for some ε, where it is known.
    """
    order = list(rules)
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (order.index(row["reconstruction"]), row["degree"])):
        key = (row["reconstruction"], row["degree"], row["cells"])
        line = found.setdefault(key, dict(zip(("reconstruction", "q", "n"), key, strict=True)))
        line[f"ε = {row['eps']:g}"] = f"{row['ratio']:.2f}"
        if row["eps"] in energy_eps and row["effectivity_energy"] is not None:
            line[f"energy, ε = {row['eps']:g}"] = f"{row['effectivity_energy']:.2f}"
    heads = list(dict.fromkeys(head for line in found.values() for head in line))
    heads.sort(key=lambda head: head.startswith("energy"))
    return [{head: line.get(head) for head in heads} for line in found.values()]


def line(row: dict[str, Any]) -> str:
    """A run on the terminal."""
    return (
        f"{row['series']:6} {described(row):38} B/e_h {row['ratio']:7.3f} "
        f"energy {row['effectivity_energy'] or math.nan:6.3f} "
        f"solve {row['seconds_solve']:.2f} s rest {row['seconds_estimate_and_errors']:.2f} s"
    )


def main() -> None:
    """Run what the command line asks for."""
    records.run_series("unstructured", __doc__.splitlines()[0], SERIES, runs, line, tables)


if __name__ == "__main__":
    main()
