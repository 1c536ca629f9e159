"""Stationary solutions in files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from stfem.checks import checked_instance, checked_number, checked_whole
from stfem.fluxes import ConvectiveFlux, InteriorPenalty
from stfem.io import container
from stfem.io.saving import check_entries, chosen_part
from stfem.io.scheme import RECIPES, describe_flux, describe_penalty
from stfem.problems import Box, Domain, ExactData, StationaryProblem
from stfem.problems import recipes as problems
from stfem.problems.recipes import Recipe, describe, rebuild
from stfem.semidiscretization import UnstructuredSemidiscretization
from stfem.spaces.stencil import Array
from stfem.stationary import StationarySolution, memory_time

__all__ = ["load_stationary", "save_stationary"]

_ENTRIES = {"problem", "cells", "degree", "flux", "penalty", "values", "residual", "iterations"}


def _given_gradient(problem: StationaryProblem) -> object:
    """∇u where it was given, not derived from u."""
    return None if isinstance(problem.exact_gradient, ExactData) else problem.exact_gradient


_PROBLEMS = {
    **problems.RECIPES,
    "stationary problem": Recipe(
        StationaryProblem,
        {
            **{name: attrgetter(name) for name in ("equation", "domain", "source", "exact", "mean")},
            "exact_gradient": _given_gradient,
        },
    ),
}


def _described(problem: StationaryProblem) -> dict[str, Any]:
    """Exact for numbers, `Data` and shipped equations, samples at points of the domain of all else."""
    x = problem.domain.spread()

    def sampled(function: Callable[..., Array]) -> Array:
        return np.asarray(function(x, 0.0))

    result: dict[str, Any] = describe(problem, _PROBLEMS, sampled)
    return result


def _on_saved_mesh(description: dict[str, Any], problem: StationaryProblem) -> StationaryProblem:
    """The problem on the mesh of the file: that which a search ended with is not made again otherwise."""
    domain = description["domain"]
    if domain["is"] != "domain":
        return problem
    mesh = rebuild(domain["mesh"], _PROBLEMS)
    return problem.on(Domain(mesh, problem.domain.boundary, problem.domain.periodic))


def save_stationary(solution: StationarySolution, path: str | Path) -> Path:
    """Write a stationary solution, and how it was computed; see `StationarySolution.save`."""
    checked_instance("solution", solution, StationarySolution, "a StationarySolution")
    semi, problem = solution.semidiscretization, solution.problem
    on_box = isinstance(problem.domain, Box)
    cells = tuple(len(np.unique(x)) - 1 for x in semi.mesh.vertices) if on_box else None
    content = {
        "problem": _described(problem),
        "cells": cells,
        "degree": semi.degree,
        "flux": describe_flux(semi.flux, problem.equation),
        "penalty": describe_penalty(semi.diffusion.penalty, semi.problem, cells, semi.degree),
        "values": solution.values,
        "residual": solution.residual,
        "iterations": solution.iterations,
    }
    return container.write(path, "stationary solution", content)


def load_stationary(
    path: str | Path,
    problem: StationaryProblem | None = None,
    *,
    flux: ConvectiveFlux | None = None,
    penalty: InteriorPenalty | None = None,
) -> StationarySolution:
    """Read what `save_stationary` has written; see `StationarySolution.load`."""
    if problem is not None and not isinstance(problem, StationaryProblem):
        raise TypeError(f"problem: expected a StationaryProblem, got {problem!r}")
    saved = container.read(path, "stationary solution")
    check_entries(path, saved, _ENTRIES, _ENTRIES)
    cells, degree, values = saved["cells"], saved["degree"], saved["values"]
    chosen = partial(chosen_part, path, saved)
    if problem is not None:
        problem = _on_saved_mesh(saved["problem"], problem)
    problem = chosen("problem", problem, _described, _PROBLEMS)
    resting = problem.in_time(memory_time(problem))
    flux = chosen("flux", flux, lambda given: describe_flux(given, resting.equation), RECIPES)
    penalty = chosen(
        "penalty", penalty, lambda given: describe_penalty(given, resting, cells, degree), RECIPES
    )
    semi = UnstructuredSemidiscretization(resting, cells, degree, flux, penalty)
    checked_number(f"{path}, residual", saved["residual"], "a residual", 0.0)
    checked_whole(f"{path}, iterations", saved["iterations"], 0)
    checked_instance(f"{path}, values", values, np.ndarray, "coefficients")
    if np.shape(values) != semi.shape:
        raise ValueError(f"{path}: expected coefficients of shape {semi.shape}, got {np.shape(values)}")
    if not np.all(np.isfinite(values)):
        raise ValueError(f"{path}: expected finite coefficients, got others")
    return StationarySolution(problem, semi, values, saved["residual"], saved["iterations"])
