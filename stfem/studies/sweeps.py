"""convergence and sweep: the two verbs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from stfem import provenance
from stfem.checks import checked_flag
from stfem.problems import Problem
from stfem.studies.cases import (
    DEFAULTS,
    Case,
    Parameter,
    Unbuilt,
    cases_of,
    name_of,
    read_parameters,
    refined_by,
)
from stfem.studies.columns import CELLS, with_orders
from stfem.studies.execution import Executor, Outcome, failed, outcomes
from stfem.studies.fingerprint import fingerprint
from stfem.studies.labels import listed
from stfem.studies.store import Store
from stfem.studies.study import Study

Source = Problem | Callable[..., Problem]
#: Cases that an error message names for one and the same failure.
_SHOWN = 4


class StudyError(RuntimeError):
    """Some cases of a study failed.

    Attributes
    ----------
    study
        The study without them; ``study.failures`` has their parameters and what was raised.
    """

    def __init__(self, message: str, study: Study) -> None:
        super().__init__(message)
        self.study = study


def convergence(
    problem: Source,
    *,
    axis: str | None = None,
    progress: bool = False,
    workers: int = 1,
    executor: Executor | None = None,
    store: str | Path | None = None,
    raise_failures: bool = True,
    **parameters: Any,
) -> Study:
    """Certify a problem on finer and finer meshes, for all combinations with others: orders of convergence.

    Parameters
    ----------
    problem
        A `Problem`, or a function that makes one, as in `sweep`.
    axis
        The parameter that makes the mesh finer. Default: ``cells``; where the problem brings its mesh,
        ``mesh``, or else the only parameter of the problem that varies.
    progress, workers, executor, store, raise_failures
        As in `sweep`.
    **parameters
        As in `sweep`; that of the axis is a list.

    Returns
    -------
    Study
        With this ``axis``.

    Raises
    ------
    ValueError, TypeError, StudyError
        As `sweep`; also where no parameter is known to make the mesh finer, or does not vary.

    Examples
    --------
    >>> from stfem.problems import linear_advection_diffusion
    >>> problem = linear_advection_diffusion(dim=1, eps=1e-6, final_time=0.1)
    >>> study = convergence(problem, cells=[8, 16], degree=[1, 2])
    >>> print(study.to_text(["degree", "cells", "bound", "eoc_bound", "effectivity"], digits=2))
      degree    cells    bound    eoc_bound    effectivity
    --------  -------  -------  -----------  -------------
           1        8  2.4e-03            –            1.0
           1       16  3.4e-04         2.84            1.0
           2        8  1.6e-05            –            1.0
           2       16  5.4e-07         4.91            1.0
    """
    read = read_parameters(problem, parameters)
    refined = axis if axis is not None else refined_by(read)
    if refined is None:
        raise TypeError(
            "convergence: expected cells=[…], or axis= with the name of the parameter that makes the mesh "
            f"finer, got neither with {', '.join(parameters)}"
        )
    return _study(problem, read, refined, refined, progress, workers, executor, store, raise_failures)


def sweep(
    factory: Source,
    *,
    axis: str | None = None,
    progress: bool = False,
    workers: int = 1,
    executor: Executor | None = None,
    store: str | Path | None = None,
    raise_failures: bool = True,
    **parameters: Any,
) -> Study:
    """Certify a problem for all combinations of parameters.

    Parameters
    ----------
    factory
        Function that makes the problem from keyword arguments, or a `Problem`.
    axis
        The parameter that a picture has on its axis. Default: the first that varies and has numbers.
    progress
        Show a progress bar.
    workers
        Number of processes. Problems and options are sent to them, so that their functions belong into
        modules; a script does its work below ``if __name__ == "__main__":``.
    executor
        Instead of processes of its own, anything with the ``submit`` of `concurrent.futures`: a client of
        dask, an executor of MPI processes.
    store
        Folder that keeps every finished case at once, for one problem. The same call goes on where the last
        one was interrupted, or killed; more alternatives may be added. A case counts as the same when its
        problem, its options and the code of stfem are.
    raise_failures
        Whether failed cases raise a `StudyError` in the end, and what a factory raises passes before anything
        runs; otherwise they are in `Study.failures` only.
    **parameters
        Arguments of the factory (for a `Problem`, ``final_time``) and of `stfem.certify`, told apart by their
        names; ``reconstruction`` is put into the estimator. A list, range or array with one axis holds
        alternatives, a dict alternatives under names of their own; all combinations are run. A tuple is one
        value (``cells=(16, 8)`` is one grid), except for options of `certify` that never are tuples.

    Returns
    -------
    Study

    Raises
    ------
    TypeError
        For a name that neither the factory nor `certify` knows; for a reconstruction beside an estimator with
        one of its own; for functions that cannot be sent to another process, or whose fingerprint cannot be
        taken, naming them.
    ValueError
        Where nothing varies, for an alternative that comes twice, and for a store that is no folder, belongs
        to another problem, or holds something else in the place of a case.
    StudyError
        In the end, when cases have failed. Its ``study`` holds all the others.

    Examples
    --------
    >>> from stfem.problems import viscous_burgers
    >>> study = sweep(viscous_burgers, dim=1, eps=[1e-2, 1e-6, 0], cells=16, degree=2)
    >>> study.axis, [row["guaranteed"] for row in study.rows]
    ('eps', [True, True, True])
    """
    read = read_parameters(factory, parameters)
    refined = refined_by(read) or CELLS
    return _study(factory, read, refined, axis, progress, workers, executor, store, raise_failures)


def _study(
    source: Source,
    parameters: tuple[Parameter, ...],
    refined: str,
    axis: str | None,
    progress: bool,
    workers: int,
    executor: Executor | None,
    store: str | Path | None,
    raise_failures: bool,
) -> Study:
    _check(workers, executor)
    checked_flag("raise_failures", raise_failures)
    checked_flag("progress", progress)
    chosen = _axis(parameters, axis)
    cases = cases_of(source, parameters, refined)
    unbuilt = {n: case for n, case in enumerate(cases) if isinstance(case, Unbuilt)}
    if unbuilt and (raise_failures or len(unbuilt) == len(cases)):  # before anything runs in vain
        raise next(iter(unbuilt.values())).error
    runs = {n: case for n, case in enumerate(cases) if isinstance(case, Case)}
    problem = name_of(source)
    kept = None if store is None else Store(store, problem)
    versions = provenance.versions() | {"stfem": provenance.version()}
    # before anything runs that may change its parts
    keys = {} if kept is None else {n: _key(case) for n, case in runs.items()}
    done = {} if kept is None else {n: Outcome(old) for n, key in keys.items() if (old := kept.read(key))}
    reused = len(done)
    missing = [number for number in runs if number not in done]
    done |= {number: failed(case.error) for number, case in unbuilt.items()}
    with tqdm(total=len(cases), initial=len(done), unit="case", leave=False, disable=not progress) as bar:
        for position, outcome in outcomes([runs[number] for number in missing], workers, executor):
            number = missing[position]
            done[number] = outcome
            if kept is not None and outcome.results is not None:
                about = {"problem": problem, "parameters": cases[number].labels, "provenance": versions}
                _keep(kept, keys[number], outcome.results, about)
            bar.update()
    study = Study(
        rows=with_orders([{**c.labels, **r} for n, c in enumerate(cases) if (r := done[n].results)], refined),
        varied=tuple(parameter.name for parameter in parameters if parameter.varied),
        axis=chosen,
        refined=refined,
        problem=problem,
        parameters={parameter.name: parameter.labels for parameter in parameters},
        provenance=versions,
        failures=tuple(
            {"parameters": c.labels, "error": done[n].error, "traceback": done[n].traceback}
            for n, c in enumerate(cases)
            if done[n].results is None
        ),
        reused=reused,
    )
    if raise_failures and study.failures:
        raise StudyError(_told(study), study)
    return study


def _key(case: Case) -> str:
    """What a case depends on; options that are not given count with their defaults."""
    return fingerprint(case.problem, {**DEFAULTS, **case.options})


def _keep(store: Store, key: str, results: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    try:
        store.write(key, results, about)
    except OSError as error:  # a full disk: the study itself loses nothing
        warnings.warn(f"store: a case is not kept: {error}", RuntimeWarning, stacklevel=4)


def _told(study: Study) -> str:
    count = len(study.failures)
    lines = [f"{count} of {count + len(study.rows)} cases failed; the study of the others is in .study"]
    for error in dict.fromkeys(failure["error"] for failure in study.failures):
        cases = [listed(failure["parameters"]) for failure in study.failures if failure["error"] == error]
        more = f"; and {len(cases) - _SHOWN} more" if len(cases) > _SHOWN else ""
        lines.append(f"  {error}\n    in {'; '.join(cases[:_SHOWN])}{more}")
    return "\n".join(lines)


def _check(workers: object, executor: object) -> None:
    if isinstance(workers, bool) or not isinstance(workers, int):
        raise TypeError(f"workers: expected a number of processes, got {workers!r}")
    if workers < 1:
        raise ValueError(f"workers: expected at least 1, got {workers}")
    if executor is None:
        return
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor: expected an object with submit, got {type(executor).__name__}")
    if workers != 1:
        raise TypeError("expected either workers or executor, got both")


def _axis(parameters: Sequence[Parameter], axis: str | None) -> str:
    """The given one, or the first with numbers that vary, or else the first that varies."""
    varied = [parameter for parameter in parameters if parameter.varied]
    names = [parameter.name for parameter in varied]
    if not varied:
        single = [p.name for p in parameters if isinstance(p.values[0], (tuple, np.ndarray))]
        hint = f" ({single[0]}: a tuple or table is one value; alternatives are a list)" if single else ""
        raise ValueError(f"expected at least one parameter with a list of alternatives, got none{hint}")
    if axis is None:
        numeric = [p.name for p in varied if all(type(entry) in (int, float) for entry in p.labels)]
        return (numeric or names)[0]
    if axis not in names:
        raise ValueError(f"{axis}: expected a list, as for {', '.join(names)}, got one value")
    return axis
