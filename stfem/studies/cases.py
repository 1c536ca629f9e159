"""The cases of a study: which keyword belongs to the problem and which to `certify`, and all combinations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from stfem.problems import Domain, Problem
from stfem.solving import certify
from stfem.studies.columns import CELLS, ORDERS, RESULTS
from stfem.studies.labels import differs, label, listed

#: Keywords of `certify` that may be left out.
DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(certify).parameters.items()
    if parameter.default is not parameter.empty and name != "progress"
}
#: Keywords that `certify` takes; a reconstruction is put into the estimator.
OPTIONS = ("cells", "degree", *DEFAULTS, "reconstruction")


@dataclass(frozen=True)
class Parameter:
    """One keyword: its values with the labels that stand for them in a row."""

    name: str
    values: tuple[Any, ...]
    labels: tuple[Any, ...]
    varied: bool
    of_problem: bool


@dataclass(frozen=True)
class Case:
    """One combination of the parameters.

    Attributes
    ----------
    recipe
        Returns the problem.
    problem
        The problem itself.
    options
        Keyword arguments of `certify`, besides a reconstruction.
    labels
        All parameters as they appear in a row.
    """

    recipe: Callable[[], Problem]
    problem: Problem
    options: Mapping[str, Any]
    labels: dict[str, Any]


@dataclass(frozen=True)
class Unbuilt:
    """A combination for which the factory raised an error: there is no problem to solve."""

    labels: dict[str, Any]
    error: Exception


def read_parameters(
    source: Problem | Callable[..., Problem], given: Mapping[str, Any]
) -> tuple[Parameter, ...]:
    """Tell the keywords of a study apart by the signatures of the factory and of `certify`.

    Raises
    ------
    TypeError
        For a name that neither takes, or both; a missing one; a source that is not a problem or a factory; or
        a reconstruction beside an estimator that has none, or one of its own.
    ValueError
        For an empty list of alternatives, or one that holds a value twice.
    """
    signature = _signature(source)
    known = signature.parameters
    anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
    of_problem = [name for name, p in known.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for name in given:
        if name in OPTIONS and name in of_problem:
            raise TypeError(
                f"{name}: expected a name of its own, got one that both the factory and certify take; "
                f"wrap the factory: lambda …: {name_of(source)}(…, {name}=…)"
            )
        if name in RESULTS or name in ORDERS:
            raise TypeError(
                f"{name}: expected another name for a parameter, since a column of results is called so; "
                f"wrap the factory: lambda value: {name_of(source)}({name}=value)"
            )
        if name not in OPTIONS and name not in of_problem and not anything:
            close = get_close_matches(name, [*of_problem, *OPTIONS], 1)
            raise TypeError(
                f"{name}: expected a parameter of {name_of(source)} ({', '.join(of_problem) or 'none'}) "
                f"or of certify ({', '.join(OPTIONS)}), got neither{f'; is it {close[0]}?' if close else ''}"
            )
    own_mesh = not isinstance(source, Problem) or isinstance(source.domain, Domain)
    missing = [name for name in (CELLS, "degree") if name not in given and not (name == CELLS and own_mesh)]
    missing += [n for n in of_problem if known[n].default is inspect.Parameter.empty and n not in given]
    if missing:
        raise TypeError(
            f"study of {name_of(source)}: expected {' and '.join(f'{n}=' for n in missing)}, got none"
        )
    read = tuple(_parameter(name, value, name not in OPTIONS) for name, value in given.items())
    _check_reconstruction({parameter.name: parameter for parameter in read})
    return read


def cases_of(
    source: Problem | Callable[..., Problem], parameters: tuple[Parameter, ...], refined: str = CELLS
) -> list[Case | Unbuilt]:
    """All combinations, ``refined`` fastest and the others in their order; builds every problem once.

    What the factory raises is kept, with the parameters it was called with where it is a ValueError or a
    TypeError.

    Raises
    ------
    TypeError
        Where there are no cells, and a problem has no mesh of its own.
    """
    ordered = sorted(parameters, key=lambda parameter: parameter.name == refined)  # stable
    built: dict[tuple[int, ...], tuple[Callable[[], Problem], Problem] | Exception] = {}
    cases: list[Case | Unbuilt] = []
    for chosen in product(*(range(len(parameter.values)) for parameter in ordered)):
        picked = list(zip(ordered, chosen, strict=True))
        key = tuple(i for parameter, i in picked if parameter.of_problem)
        if key not in built:
            try:
                built[key] = _built(source, [(p, i) for p, i in picked if p.of_problem])
            except Exception as error:  # noqa: BLE001  (foreign code: the other cases do not need it)
                built[key] = error
        position = {parameter.name: i for parameter, i in picked}
        labels = {p.name: p.labels[position[p.name]] for p in parameters}
        options = {p.name: p.values[i] for p, i in picked if not p.of_problem}
        got = built[key]
        cases.append(Unbuilt(labels, got) if isinstance(got, Exception) else Case(*got, options, labels))
        if CELLS not in options and not isinstance(got, Exception) and not isinstance(got[1].domain, Domain):
            raise TypeError(
                f"study of {name_of(source)}: expected cells=, got none for {label(got[1].domain)}"
            )
    return cases


def refined_by(parameters: tuple[Parameter, ...]) -> str | None:
    """The parameter that makes meshes finer: the cells, else ``mesh``, else the only one of the problem."""
    if any(parameter.name == CELLS for parameter in parameters):
        return CELLS
    varied = [parameter.name for parameter in parameters if parameter.varied and parameter.of_problem]
    return "mesh" if "mesh" in varied else varied[0] if len(varied) == 1 else None


def name_of(source: Problem | Callable[..., Problem]) -> str:
    """What a study is about, for titles and records."""
    if isinstance(source, Problem):
        return f"{label(source.equation)} on {label(source.domain)}"
    return str(label(source))


def _signature(source: Problem | Callable[..., Problem]) -> inspect.Signature:
    if isinstance(source, Problem):
        return inspect.signature(partial(_until, source))
    if not callable(source):
        raise TypeError(
            f"problem: expected a Problem or a function that returns one, got {type(source).__name__}"
        )
    return inspect.signature(source)


def _until(problem: Problem, final_time: float | None = None) -> Problem:
    """The problem with another final time."""
    return problem if final_time is None else replace(problem, final_time=final_time)


def _built(
    source: Problem | Callable[..., Problem], picked: list[tuple[Parameter, int]]
) -> tuple[Callable[[], Problem], Problem]:
    factory = partial(_until, source) if isinstance(source, Problem) else source
    recipe = partial(factory, **{p.name: p.values[i] for p, i in picked})
    case = f"{name_of(source)}({listed({p.name: p.labels[i] for p, i in picked})})"
    try:
        problem = recipe()
    except (ValueError, TypeError) as error:
        tuples = [p.name for p, i in picked if isinstance(p.values[i], tuple)]
        hint = f" (a tuple is one value; alternatives are a list: {tuples[0]}=[…])" if tuples else ""
        raise type(error)(f"{case}: {error}{hint}") from error
    if not isinstance(problem, Problem):
        raise TypeError(f"{case}: expected a Problem, got {type(problem).__name__}")
    return recipe, problem


def _check_reconstruction(read: Mapping[str, Parameter]) -> None:
    """Rows name both, and what they say has to be what ran."""
    if "reconstruction" not in read or "estimator" not in read:
        return
    for estimator in read["estimator"].values:
        known = getattr(type(estimator), "__dataclass_fields__", {})
        own = [known[name] for name in ("reconstruction", "reconstructions") if name in known]
        if estimator is not None and not own:
            raise TypeError(
                f"reconstruction: expected an estimator that takes one, got {type(estimator).__name__}"
            )
        if estimator is not None and differs(estimator, own[0]):
            raise TypeError(
                f"reconstruction: expected estimators without one of their own beside reconstruction=, "
                f"got {label(estimator)}"
            )


def _parameter(name: str, given: object, of_problem: bool) -> Parameter:
    alternatives = _alternatives(name, given)
    if alternatives is None:
        value = given.item() if isinstance(given, np.generic) else given
        return Parameter(name, (value,), (label(value),), False, of_problem)
    labels, values = alternatives
    if not values:
        raise ValueError(f"{name}: expected at least one alternative, got none")
    for i, value in enumerate(values):
        if any(_same(value, earlier) for earlier in values[:i]):
            raise ValueError(f"{name}: expected alternatives that differ, got {label(value)} twice")
    return Parameter(name, tuple(values), _distinct(labels), True, of_problem)


def _alternatives(name: str, given: object) -> tuple[list[Any], list[Any]] | None:
    """Labels and values of what varies: a list, range, iterator or row of numbers, a dict of labels.

    A tuple is one value (cells=(16, 8) is one grid) unless the option never is a tuple.
    """
    if isinstance(given, Mapping):
        return [str(key) for key in given], list(given.values())
    rows = isinstance(given, np.ndarray) and given.ndim == 1
    options = isinstance(given, tuple) and name in OPTIONS and name != CELLS
    if not (rows or options or isinstance(given, (list, range, Iterator))):
        return None
    values = [value.item() if isinstance(value, np.generic) else value for value in given]  # type: ignore[attr-defined]
    return [label(value) for value in values], values


def _same(one: object, other: object) -> bool:
    try:
        return one is other or bool(one == other)
    except ValueError:  # arrays
        return False


def _distinct(labels: list[Any]) -> tuple[Any, ...]:
    """Rows are told apart by labels: a repeated one gets a number."""
    result: list[Any] = []
    for entry in labels:
        count = labels[: len(result)].count(entry)
        result.append(f"{entry} ({count + 1})" if count and isinstance(entry, str) else entry)
    return tuple(result)
