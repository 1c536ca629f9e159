"""Solutions and estimates in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from stfem.checks import checked_instance
from stfem.estimators import Estimate
from stfem.estimators.estimate import attributes
from stfem.fluxes import ConvectiveFlux, InteriorPenalty
from stfem.io import container
from stfem.io.checks import check_estimate, check_levels
from stfem.io.scheme import RECIPES, describe_flux, describe_penalty, describe_stepper
from stfem.problems import Box, Domain, Problem
from stfem.problems import recipes as problems
from stfem.problems.recipes import Recipe, describe_problem, difference, functions_in, rebuild
from stfem.semidiscretization import Semidiscretization, semidiscretize
from stfem.solution import Solution
from stfem.spaces.stencil import Array
from stfem.timestepping import Node, Stepper, times_of

__all__ = [
    "check_entries",
    "chosen_part",
    "describe_scheme",
    "load_estimate",
    "load_solution",
    "save_estimate",
    "save_solution",
]

T = TypeVar("T")
_SOLUTION = {
    *("problem", "cells", "degree", "flux", "penalty"),
    *("stepper", "dt", "initial", "values", "stored"),
}
#: Entries that files of runs with equal steps, and on meshes that no search has made, need not have.
_LATER = {"sizes", "remeshed"}


def save_solution(solution: Solution, path: str | Path) -> Path:
    """Write a solution, how it was computed, and its history if it is stored; see `Solution.save`."""
    checked_instance("solution", solution, Solution, "a Solution")
    content = {
        **describe_scheme(solution),
        "initial": solution.initial,
        "values": solution.values,
        "stored": None if solution.stored is None else [vars(node) for node in solution.stored],
        "sizes": solution.sizes,
    }
    if _adapted(solution.problem):
        content["remeshed"] = True
    return container.write(path, "solution", content)


def _adapted(problem: Problem) -> bool:
    """Whether a search has made the mesh, and not the user."""
    return isinstance(problem.domain, Domain) and type(problem.domain) is not Domain


def _on_saved_mesh(description: dict[str, Any], problem: Problem) -> Problem:
    """The problem on the mesh of the file: that which a search ended with is not made again otherwise."""
    domain = problem.domain
    if not isinstance(domain, Domain):
        return problem
    mesh = rebuild(description["domain"]["mesh"], problems.RECIPES)
    return replace(problem, domain=Domain(mesh, domain.boundary, domain.periodic))


def describe_scheme(solution: Solution) -> dict[str, Any]:
    """Problem, grid, fluxes and time stepping of a solution."""
    semi, problem, cells = solution.semidiscretization, solution.problem, _cells(solution)
    penalty = semi.penalty if isinstance(semi, Semidiscretization) else semi.diffusion.penalty
    return {
        "problem": describe_problem(problem),
        "cells": cells,
        "degree": semi.degree,
        "flux": describe_flux(semi.flux, problem.equation),
        "penalty": describe_penalty(penalty, problem, cells, semi.degree),
        "stepper": describe_stepper(solution.stepper),
        "dt": solution.dt,
    }


def load_solution(
    path: str | Path,
    problem: Problem | None = None,
    *,
    flux: ConvectiveFlux | None = None,
    penalty: InteriorPenalty | None = None,
    stepper: Stepper | None = None,
) -> Solution:
    """Read what `save_solution` has written; see `Solution.load`."""
    if problem is not None and not isinstance(problem, Problem):
        raise TypeError(f"problem: expected a Problem, got {problem!r}")
    saved = container.read(path, "solution")
    check_entries(path, saved, _SOLUTION, _SOLUTION | _LATER)
    cells, degree = saved["cells"], saved["degree"]
    chosen = partial(chosen_part, path, saved)
    if problem is not None and saved.get("remeshed") is True:
        problem = _on_saved_mesh(saved["problem"], problem)
    problem = chosen("problem", problem, describe_problem, problems.RECIPES)
    case = problem
    flux = chosen("flux", flux, lambda given: describe_flux(given, case.equation), RECIPES)
    penalty = chosen("penalty", penalty, lambda given: describe_penalty(given, case, cells, degree), RECIPES)
    stepper = chosen("stepper", stepper, describe_stepper, RECIPES)
    semidiscretization = semidiscretize(problem, cells, degree, flux, penalty)
    initial, values, stored = saved["initial"], saved["values"], saved["stored"]
    check_levels(path, saved, semidiscretization.shape)
    if stored is not None and not _is_history(stored, initial, values, problem.final_time):
        raise ValueError(
            f"{path}: expected a history from the initial values at 0 to the last ones at "
            f"{problem.final_time:g}, got another"
        )
    sizes = _sizes(path, saved.get("sizes"), problem.final_time)
    nodes = None if stored is None else tuple(map(_node, stored))
    return Solution(problem, semidiscretization, stepper, saved["dt"], initial, values, nodes, sizes)


def _sizes(path: str | Path, sizes: object, final: float) -> Array | None:
    """Steps of different sizes, if they lead to the final time."""
    if sizes is None:
        return None
    steps = np.asarray(sizes)
    if steps.dtype != np.float64 or steps.ndim != 1 or steps.size == 0 or not np.all(steps > 0.0):
        raise ValueError(f"{path}: expected a list of positive steps as sizes, got another")
    if times_of(final, steps)[-1] != final:
        raise ValueError(f"{path}: expected steps that sum to {final:g}, got {steps.sum():g}")
    return steps


def _cells(solution: Solution) -> tuple[int, ...] | None:
    """Cells per direction, None where the domain has its mesh."""
    semi, domain = solution.semidiscretization, solution.problem.domain
    if isinstance(semi, Semidiscretization):
        return semi.grid.cells
    return tuple(len(np.unique(x)) - 1 for x in semi.mesh.vertices) if isinstance(domain, Box) else None


def _is_history(stored: Sequence[Mapping[str, Any]], initial: Array, values: Array, final: float) -> bool:
    """Whether stored nodes belong to the first and the last values that are saved beside them."""
    times = [node["time"] for node in stored]
    return (
        len(times) >= 2
        and (times[0], times[-1]) == (0.0, final)
        and all(before < after for before, after in pairwise(times))
        and np.array_equal(stored[0]["values"], initial)
        and np.array_equal(stored[-1]["values"], values)
    )


def chosen_part(
    path: str | Path,
    saved: Mapping[str, Any],
    name: str,
    given: T | None,
    described: Callable[[T], Any],
    recipes: Mapping[str, Recipe],
) -> T:
    """A part that was given, if it is what was saved; made again from its description if none was given."""
    description = saved[name]
    if given is not None:
        misfit = difference(description, described(given), name)
        if misfit is not None:
            raise ValueError(f"{path}: the solution was computed with something else: {misfit}")
        return given
    functions = list(functions_in(description, name, recipes))
    if functions:
        raise ValueError(
            f"{path}: expected load(path, {name}=…), got no {name}: files hold no functions and classes "
            f"of your own, here {', '.join(functions)}"
        )
    try:
        made: T = rebuild(description, recipes)
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: expected a description of the {name}, got another ({error!r})") from error
    return made


def check_entries(path: str | Path, saved: Mapping[str, Any], needed: set[str], known: set[str]) -> None:
    """Raise ValueError unless a file has all entries that are needed, and none that is not known."""
    if not needed <= saved.keys() <= known:
        raise ValueError(f"{path}: expected the entries {', '.join(sorted(known))}, got {', '.join(saved)}")


def _node(saved: Mapping[str, Any]) -> Node:
    for name in ("values", "rate"):
        saved[name].flags.writeable = False
    return Node(**saved)


def save_estimate(estimate: Estimate, path: str | Path) -> Path:
    """Write all fields of an estimate; see `Estimate.save`."""
    checked_instance("estimate", estimate, Estimate, "an Estimate")
    return container.write(path, "estimate", attributes(estimate, Estimate))


def load_estimate(path: str | Path) -> Estimate:
    """Read what `save_estimate` has written; see `Estimate.load`."""
    saved = container.read(path, "estimate")
    known = {entry.name: entry for entry in fields(Estimate)}
    needed = {
        name for name, entry in known.items() if entry.default is MISSING and entry.default_factory is MISSING
    }
    check_entries(path, saved, needed, {*known})
    try:
        check_estimate(path, saved)
    except TypeError as error:  # the file is what is wrong, whoever gave its name
        raise ValueError(str(error)) from None
    return Estimate(**saved)
