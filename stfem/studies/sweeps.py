"""convergence and sweep: the two verbs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tqdm import tqdm

from stfem import provenance
from stfem.problems import Problem
from stfem.studies.cases import Parameter, cases_of, name_of, read_parameters
from stfem.studies.columns import CELLS, run_case, with_orders
from stfem.studies.study import Study


def convergence(
    problem: Problem | Callable[..., Problem], *, progress: bool = False, **parameters: Any
) -> Study:
    """Certify a problem on several grids; `sweep` says what the parameters are.

    Raises
    ------
    ValueError
        Where the cells do not vary.
    """
    return _study(problem, parameters, CELLS, progress)


def sweep(
    factory: Callable[..., Problem] | Problem,
    *,
    axis: str | None = None,
    progress: bool = False,
    **parameters: Any,
) -> Study:
    """Certify a problem for all combinations of parameters."""
    return _study(factory, parameters, axis, progress)


def _study(
    source: Problem | Callable[..., Problem], given: dict[str, Any], axis: str | None, progress: bool
) -> Study:
    read = read_parameters(source, given)
    varied = tuple(parameter.name for parameter in read if parameter.varied)
    chosen = _axis(read, axis)
    cases = cases_of(source, read)
    versions = provenance.versions() | {"stfem": provenance.version()}
    rows = [
        {**case.labels, **run_case(case.problem, case.options)}
        for case in tqdm(cases, unit="case", leave=False, disable=not progress)
    ]
    return Study(
        rows=with_orders(rows),
        varied=varied,
        axis=chosen,
        problem=name_of(source),
        parameters={parameter.name: parameter.labels for parameter in read},
        provenance=versions,
    )


def _axis(parameters: tuple[Parameter, ...], axis: str | None) -> str:
    """The given one, or the first with numbers that vary, or else the first that varies."""
    varied = [parameter for parameter in parameters if parameter.varied]
    if not varied:
        raise ValueError("study: expected at least one parameter with a list of alternatives, got none")
    if axis is None:
        numeric = [p for p in varied if all(type(entry) in (int, float) for entry in p.labels)]
        return (numeric or varied)[0].name
    if axis not in [parameter.name for parameter in varied]:
        names = ", ".join(parameter.name for parameter in varied)
        raise ValueError(f"axis: expected a parameter that varies ({names}), got {axis!r}")
    return axis
