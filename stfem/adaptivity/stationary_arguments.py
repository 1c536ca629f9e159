"""certify for problems without time: which arguments go together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stfem.adaptivity.stationary import certify_on_meshes, certify_stationary
from stfem.problems import StationaryProblem
from stfem.problems.arguments import checked_number
from stfem.stationary import StationaryCertificate

__all__ = ["certify_without_time"]

#: Smallest tolerance and limit: any positive number.
_LEAST = math.ulp(0.0)


def certify_without_time(
    problem: StationaryProblem,
    tol: object,
    of_time: Mapping[str, object],
    *,
    degree: Any,
    cells: int | tuple[int, ...] | None,
    estimator: Any,
    limits: Mapping[str, Any],
    progress: bool,
    options: Mapping[str, Any],
) -> StationaryCertificate:
    """`stfem.certify` of a problem without time; checks which arguments were given.

    Parameters
    ----------
    problem, tol, degree, cells, estimator, progress, options
        As for `certify_on_meshes`; without ``tol`` one mesh is used.
    of_time
        Arguments that only problems in time have.
    limits
        Arguments that only a search has; None where they were not given.
    """
    given = [name for name, value in of_time.items() if value is not None]
    if given:
        raise TypeError(f"certify: expected {', '.join(given)} with a problem in time only, got none in time")
    chosen = {name: value for name, value in limits.items() if value is not None}
    if tol is None:
        if chosen:
            raise TypeError(f"certify: expected {', '.join(chosen)} with tol only, got no tol")
        if degree is None:
            raise TypeError("certify: expected a degree for a problem without time, got none")
        return certify_stationary(problem, degree=degree, cells=cells, estimator=estimator, options=options)
    for name in ("max_dofs", "max_seconds"):
        if name in chosen:
            chosen[name] = checked_number(name, chosen[name], "a limit", _LEAST)
    return certify_on_meshes(
        problem,
        checked_number("tol", tol, "a tolerance", _LEAST),
        degree=degree,
        cells=cells,
        estimator=estimator,
        progress=progress,
        options=options,
        **chosen,
    )
