"""What is drawn is what it is said to be: one sentence before anything of it is used."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stfem.estimators import Estimate
from stfem.solution import Solution
from stfem.spaces.field import Field
from stfem.spaces.mesh_field import MeshField
from stfem.stationary import StationarySolution


def check_estimate(given: object, name: str = "estimate") -> None:
    """Raise TypeError for what is no estimate."""
    if not isinstance(given, Estimate):
        raise TypeError(f"{name}: expected an estimate, got a {type(given).__name__}")


def check_history(given: object, name: str = "estimate") -> None:
    """Raise TypeError for what is no estimate, ValueError for one without time."""
    check_estimate(given, name)
    if isinstance(given, Estimate) and "time" not in given.history:
        raise ValueError(
            f"{name}: expected one of a problem in time, got one without history, as stationary problems "
            "have; plot_indicators shows where its parts are"
        )


def check_solution(given: object) -> None:
    """Raise TypeError for what is no solution."""
    if not isinstance(given, (Solution, StationarySolution)):
        raise TypeError(f"solution: expected a solution, got a {type(given).__name__}")


def check_fields(given: object) -> None:
    """Raise TypeError unless it is a mapping from names to fields."""
    if not isinstance(given, Mapping):
        raise TypeError(f"fields: expected fields by name, {{name: field}}, got a {type(given).__name__}")
    for name, field in given.items():
        if not isinstance(field, (Field, MeshField)):
            raise TypeError(
                f"fields[{name!r}]: expected a field, such as solution.field or solution.reconstruct(), "
                f"got a {type(field).__name__}"
            )


def check_points(given: object) -> None:
    """Raise unless it is None or a whole number from 1 on."""
    if given is None:
        return
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
        raise TypeError(f"points: expected a whole number per cell and direction, got {given!r}")
    if given < 1:
        raise ValueError(f"points: expected at least 1 per cell, got {given}")


def dimension_of(estimate: Estimate) -> int | None:
    """Space dimension that an estimate was computed in; None where it does not know."""
    if "mesh" in estimate.facts:
        return len(estimate.facts["mesh"]["vertices"])
    on_grid = "lengths" in estimate.facts or estimate.indicators_sq.ndim > 1
    return estimate.indicators_sq.ndim if on_grid else None
