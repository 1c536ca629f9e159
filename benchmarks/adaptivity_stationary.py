"""The stationary part of adaptivity.py: layers, refined where the indicators say so and everywhere.

For every problem, ε and q the loop of `stfem.certify` runs on meshes that it refines, and with all cells
marked. Rows hold, mesh by mesh, unknowns, seconds since the start (true errors aside), bounds and errors.
Slopes against unknowns are fitted to the meshes that resolve the layer: of which a quarter of the cells is no
larger than it is wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import records

import stfem
from stfem.adaptivity import StationaryAttempt, mark_dorfler, sharp_estimator
from stfem.problems import (
    StationaryProblem,
    circular_layer,
    hemker_channel,
    interior_layer,
    rotating_corner,
    stationary_corner,
    stationary_layer,
)

#: Part of the cells that are to be as small as the layer, and least unknowns relative to the last mesh, where
#: slopes are fitted.
RESOLVED, LAST = 0.25, 0.1
#: How much less than optimal a slope may be; the target of the unknowns at equal bound, and its ε.
ALLOWED, SAVED, SAVED_EPS = 0.2, 10.0, 1e-4
#: A tolerance that no search meets.
_NEVER = 1e-10


@dataclass(frozen=True)
class Case:
    """A problem, the width of its layer, and the diffusions."""

    title: str
    problem: Callable[[float], StationaryProblem]
    width: Callable[[float], float]
    eps: tuple[float, ...]


def _on_square(factory: Callable[..., StationaryProblem], **arguments: Any) -> Callable[..., Any]:
    """A problem of the catalogue on 32 triangles."""
    mesh = stfem.adaptivity.meshing.first_domain(stfem.Box((0.0, 0.0), (1.0, 1.0), stfem.Neumann(0.0)))
    return lambda eps: factory(eps, mesh=mesh.mesh().source, **arguments)


CASES = {
    "inflow step": Case(
        "internal layer from a step at the inflow",
        _on_square(interior_layer),
        math.sqrt,
        (1e-2, 1e-4, 1e-6),
    ),
    "smooth step": Case(
        "internal layer from a smooth step at the inflow",
        _on_square(interior_layer, upstream=0.25),
        math.sqrt,
        (1e-4,),
    ),
    "circle": Case("layer on a circle", _on_square(circular_layer), math.sqrt, (1e-4, 1e-6)),
    "outflow": Case("layer at the outflow", _on_square(stationary_layer), float, (1e-2, 1e-4)),
    "corner": Case("layers in a corner", _on_square(stationary_corner, reaction=1.0), float, (1e-2,)),
    "re-entrant": Case(
        "re-entrant corner", lambda eps: rotating_corner(eps, refinements=1), lambda eps: 1.0, (1e-4,)
    ),
    "cylinder": Case("Hemker's channel", partial(hemker_channel, cells=1), float, (1e-1, 1e-2)),
}


@dataclass(frozen=True)
class Layers:
    """Problems, degrees, and the largest number of unknowns per degree and way of refinement."""

    names: tuple[str, ...] = tuple(CASES)
    limits: tuple[tuple[int, int, int], ...] = ((1, 8_000, 25_000), (2, 12_000, 25_000))

    def quick(self) -> Layers:
        """Two problems on small meshes."""
        return replace(self, names=("smooth step", "cylinder"), limits=((1, 1500, 800),))

    def parameters(self) -> dict[str, Any]:
        """What the record says of it."""
        return {
            "limits (degree, adaptive, uniform)": self.limits,
            "problems": {name: {"title": CASES[name].title, "eps": CASES[name].eps} for name in self.names},
            "slopes": f"{RESOLVED:g} of the cells as small as the layer, at least {LAST:g} of all unknowns",
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Two per problem, ε and degree: adaptive and uniform."""
        for name in self.names:
            for eps in CASES[name].eps:
                for degree, *limits in self.limits:
                    problem = CASES[name].problem(eps)
                    for kind, limit in zip(("adaptive", "uniform"), limits, strict=True):
                        head = {"series": "stationary", "problem": name, "eps": eps, "degree": degree}
                        yield head | {"meshes": kind} | searched(problem, degree, limit, kind == "uniform")


class _Watch:
    """A callback that keeps numbers of every mesh and, without an exact solution, û."""

    def __init__(self, problem: StationaryProblem) -> None:
        self._rule = sharp_estimator(problem).reconstructions[0]
        self._compared = problem.exact is None
        self.columns: list[dict[str, Any]] = []
        self.fields: list[Any] = []
        self.seconds = 0.0

    def __call__(self, attempt: StationaryAttempt) -> None:
        found = attempt.certificate
        if found is None:
            return
        self.seconds += attempt.seconds
        mesh = found.solution.semidiscretization.mesh
        if self._compared:
            self.fields.append(found.solution.reconstruct(self._rule))
        self.columns.append(
            {
                "dofs": attempt.dofs,
                "size": float(np.quantile(np.sqrt(mesh.cell_measures), RESOLVED)),
                "seconds": self.seconds,
                "bound": found.bound,
                "bound_energy": found.bound_energy,
                "upper": found.enclosure[1],
                "error": found.error,
                "error_energy": found.error_energy,
                "error_dg": found.error_dg,
            }
        )

    def compare(self) -> None:
        """Errors of û as what is proved of them: at least the distance to the last û less its bound."""
        last, known = self.fields[-1], self.columns[-1]["bound"]
        points, weights = last.mesh.reference.quadrature(2 * last.degree)
        weights = weights[:, None] * last.mesh.cell_map(points).determinant
        x, values = last.mesh.points(points), last.at(points)[0]
        for column, field in zip(self.columns[:-1], self.fields[:-1], strict=True):
            distance = math.sqrt(float((weights * (field(x) - values) ** 2).sum()))
            column["error"] = max(0.0, distance - known)


def searched(problem: StationaryProblem, degree: int, limit: int, everywhere: bool) -> dict[str, Any]:
    """Columns of one loop, as long as meshes have at most so many unknowns."""
    watch = _Watch(problem)
    marking = partial(mark_dorfler, theta=1.0) if everywhere else None
    try:
        stfem.certify(
            problem,
            tol=_NEVER,
            degree=degree,
            unproved=True,
            max_dofs=limit,
            marking=marking,
            callback=watch,
        )
    except stfem.ToleranceError as error:
        reason = error.search.reason
    else:
        reason = "the tolerance is met"
    if problem.exact is None:
        watch.compare()
    columns = {key: [rounded(column[key]) for column in watch.columns] for key in watch.columns[0]}
    return columns | {"reason": reason}


def rounded(value: Any) -> Any:
    """Five digits; whole numbers and None as they are."""
    return float(f"{value:.5g}") if isinstance(value, float) else value


def sound(row: dict[str, Any]) -> bool:
    """No bound below an error, on any mesh."""
    pairs = (("bound", "error"), ("bound_energy", "error_energy"), ("upper", "error_dg"))
    return all(
        error is None or bound >= error * (1.0 - 1e-4)
        for of_bound, of_error in pairs
        for bound, error in zip(row[of_bound], row[of_error], strict=True)
    )


def slope(row: dict[str, Any], name: str) -> float | None:
    """Of a column against unknowns, where the layer is resolved; None where that is not yet so."""
    dofs = np.array(row["dofs"], dtype=float)
    width = CASES[row["problem"]].width(row["eps"])
    chosen = (np.array(row["size"]) <= width) & (dofs >= LAST * dofs[-1])
    values = [value for value, wanted in zip(row[name], chosen, strict=True) if wanted]
    if chosen.sum() < 3 or any(not value for value in values) or dofs[chosen].max() < 2 * dofs[chosen].min():
        return None
    return float(np.polyfit(np.log(dofs[chosen]), np.log(values), 1)[0])


def saving(adaptive: dict[str, Any], uniform: dict[str, Any], cost: str = "dofs") -> float | None:
    """What uniform meshes cost over what adaptive ones do for the smallest bound that both have."""
    wanted = max(min(adaptive["bound"]), min(uniform["bound"]))
    needed = []
    for row in (adaptive, uniform):
        best = np.minimum.accumulate(row["bound"])
        n = int(np.argmax(best <= wanted * (1.0 + 1e-9)))
        if n == 0:
            return None
        share = (math.log(wanted) - math.log(best[n - 1])) / (math.log(best[n]) - math.log(best[n - 1]))
        needed.append((1.0 - share) * math.log(row[cost][n - 1]) + share * math.log(row[cost][n]))
    return math.exp(needed[1] - needed[0])


def pairs(rows: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Adaptive and uniform meshes of the same problem."""
    for row in rows:
        if row["meshes"] == "adaptive":
            keys = ("problem", "eps", "degree")
            yield row, next(r for r in rows if r["meshes"] == "uniform" and all(r[k] == row[k] for k in keys))


def failures(rows: list[dict[str, Any]]) -> list[str]:
    """What misses a target."""
    missed = []
    for row in rows:
        name = f"{row['problem']}, ε = {row['eps']:g}, q = {row['degree']}"
        if not sound(row):
            missed.append(f"{name}, {row['meshes']}: a bound below the error")
        if row["meshes"] == "adaptive":
            q = row["degree"]
            for column, optimal in (("bound", (q + 1) / 2), ("bound_energy", q / 2)):
                found = slope(row, column)
                if found is not None and found > ALLOWED - optimal:
                    missed.append(f"{name}: slope {found:.2f} of {column}, optimal {-optimal:g}")
    for adaptive, uniform in pairs(rows):
        saved = saving(adaptive, uniform)
        layered = CASES[adaptive["problem"]].width(SAVED_EPS) < 1.0
        if layered and adaptive["eps"] == SAVED_EPS and saved is not None and saved < SAVED:
            q = adaptive["degree"]
            missed.append(f"{adaptive['problem']}, ε = {SAVED_EPS:g}, q = {q}: 1/{saved:.1f} of the unknowns")
    return missed


def table(rows: list[dict[str, Any]]) -> str:
    """One line per problem, ε and degree."""

    def number(value: float | None, digits: str) -> str:
        return "–" if value is None else format(value, digits)

    lines = []
    for adaptive, uniform in pairs(rows):
        n = int(np.argmin(adaptive["bound"]))
        error = adaptive["error_dg"][n]
        lines.append(
            {
                "problem": adaptive["problem"],
                "ε": f"{adaptive['eps']:g}",
                "q": adaptive["degree"],
                "unknowns": adaptive["dofs"][n],
                "bound": f"{adaptive['bound'][n]:.1e}",
                "B/e_h": number(adaptive["bound"][n] / error if error else None, ".2f"),
                "slope": number(slope(adaptive, "bound"), ".2f"),
                "of e_h": number(slope(adaptive, "error_dg"), ".2f"),
                "energy": number(slope(adaptive, "bound_energy"), ".2f"),
                "uniform": number(slope(uniform, "bound"), ".2f"),
                "fewer unknowns": number(saving(adaptive, uniform), ".1f"),
                "less time": number(saving(adaptive, uniform, "seconds"), ".1f"),
            }
        )
    return records.markdown(lines)


def line(row: dict[str, Any]) -> str:
    """A run on the terminal."""
    return (
        f"{row['problem']:12} ε = {row['eps']:<7g} q = {row['degree']} {row['meshes']:9} "
        f"{len(row['dofs']):3} meshes {row['dofs'][-1]:6} unknowns bound {min(row['bound']):.2e} "
        f"{row['seconds'][-1]:6.2f} s {'' if sound(row) else 'BOUND BELOW ERROR'}"
    )
