"""Processes and executors yield what a run one after the other does."""

import multiprocessing
import os
import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import stfem
from stfem.fluxes import flux_upwind
from stfem.problems import linear_advection_diffusion
from stfem.studies import StudyError, convergence, execution, sweep

PROBLEM = linear_advection_diffusion(1, 1e-3, 0.05)
GIVEN = {"dim": 1, "final_time": 0.05, "eps": [1e-2, 0.0], "cells": [4, 8], "degree": 1}


def numbers(study):
    """Rows without the times."""
    return [
        {name: value for name, value in row.items() if not name.startswith("seconds")} for row in study.rows
    ]


@pytest.fixture(scope="module")
def serial():
    return numbers(sweep(linear_advection_diffusion, **GIVEN))


class Heavy(stfem.SplitEstimator):
    """Takes so much memory on the finer grid that the operating system ends the process."""

    def run(self, semidiscretization, *given):
        if semidiscretization.grid.cells == (8,):
            os._exit(9)
        return super().run(semidiscretization, *given)


class Deadly:
    """Initial values that end the process of a worker, whoever evaluates them there."""

    def __call__(self, x):
        if multiprocessing.parent_process() is not None:
            os._exit(9)
        return np.sin(2.0 * np.pi * x[0])


def with_a_deadly_one(case):
    initial = Deadly() if case == 1 else stfem.data.sine(2.0 * np.pi)
    return stfem.Problem(stfem.equations.AdvectionDiffusion(1.0), stfem.Torus(1.0), initial, 0.05)


class Crowded(stfem.SplitEstimator):
    """The first run of all takes too much memory, as its folder tells the others."""

    def run(self, *given):
        try:
            Path(os.environ["STFEM_TEST_CROWD"]).mkdir()
        except FileExistsError:
            return super().run(*given)
        os._exit(9)


def never_starts():
    os._exit(3)


class Inline(Executor):
    """Runs at once; has no callbacks to tell."""

    class Done:
        def __init__(self, value):
            self.value = value

        def result(self):
            return self.value

    def submit(self, function, /, *arguments):
        return self.Done(function(*arguments))


class Cancelling(Executor):
    """Runs the first call only; the others wait for ever."""

    def __init__(self):
        self.futures = []

    def submit(self, function, /, *arguments):
        future = Future()
        if not self.futures:
            future.set_result(function(*arguments))
        self.futures.append(future)
        return future


def test_processes(serial, tmp_path):
    study = sweep(linear_advection_diffusion, workers=2, store=tmp_path, **GIVEN)
    assert numbers(study) == serial
    assert sweep(linear_advection_diffusion, workers=2, store=tmp_path, **GIVEN).rows == study.rows
    assert sweep(linear_advection_diffusion, store=tmp_path, **GIVEN).reused == 4


def test_more_workers_than_cases_and_failures():
    study = convergence(PROBLEM, cells=[4], degree=[1, 99], workers=3, raise_failures=False)
    assert numbers(study) == numbers(convergence(PROBLEM, cells=[4], degree=1))
    assert study.failures[0]["error"].startswith("ValueError: degree")
    assert "Traceback" in study.failures[0]["traceback"]


def test_worker_that_is_killed(tmp_path):
    """The study says so, and what was finished before is kept."""
    given = {"cells": [4, 8], "degree": 1, "estimator": Heavy(), "store": tmp_path}
    convergence(PROBLEM, **{**given, "cells": [4]})
    with pytest.raises(StudyError, match=r"1 of 2 cases failed.*\n.*A worker was killed") as caught:
        convergence(PROBLEM, workers=2, **given)
    assert [row["cells"] for row in caught.value.study.rows] == [4]


def test_a_killed_worker_takes_no_other_case_with_it(tmp_path):
    """The one case is named; the others run on in new processes."""
    given = {"case": [*range(4)], "cells": 4, "degree": 1, "workers": 2, "raise_failures": False}
    study = sweep(with_a_deadly_one, store=tmp_path, **given)
    assert [row["case"] for row in study.rows] == [0, 2, 3]
    (failure,) = study.failures
    assert failure["parameters"]["case"] == 1
    assert "A worker was killed" in failure["error"]
    again = sweep(with_a_deadly_one, store=tmp_path, **given)
    assert (again.reused, len(again.failures)) == (3, 1)


def test_cases_that_succeed_alone(monkeypatch, tmp_path):
    """As where two of them together have too little memory."""
    monkeypatch.setenv("STFEM_TEST_CROWD", str(tmp_path / "crowd"))
    study = convergence(PROBLEM, cells=[4, 5], degree=1, estimator=Crowded(), workers=2)
    assert [row["cells"] for row in study.rows] == [4, 5]


def test_workers_that_cannot_start(monkeypatch):
    """All cases say so, after one attempt and not one each."""
    made = []

    def counted(*given):
        made.append(given)
        return processes(*given)

    processes = execution._processes
    monkeypatch.setattr(execution, "_processes", counted)
    monkeypatch.setattr(execution, "_end_with_parent", never_starts)
    study = convergence(PROBLEM, cells=[4, 5, 6, 7, 8], degree=1, workers=2, raise_failures=False)
    assert {failure["error"].partition(":")[0] for failure in study.failures} == {"no worker could start"}
    assert (len(study.rows), len(study.failures), len(made)) == (0, 5, 2)


@pytest.mark.parametrize("make", [lambda: ThreadPoolExecutor(2), Inline])
def test_executors(serial, make):
    with make() as executor:
        assert numbers(sweep(linear_advection_diffusion, executor=executor, **GIVEN)) == serial
        assert executor.submit(abs, -1).result() == 1  # it is the user's, and still open


def test_what_has_not_begun_is_cancelled(tmp_path, monkeypatch):
    from stfem.studies import sweeps

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sweeps, "_keep", interrupted)
    executor = Cancelling()
    with pytest.raises(KeyboardInterrupt):
        sweep(linear_advection_diffusion, executor=executor, store=tmp_path, **GIVEN)
    assert [future.cancelled() for future in executor.futures] == [False, True, True, True]


def test_functions_that_cannot_be_sent():
    def factory(eps):
        return linear_advection_diffusion(1, eps, 0.05)

    study = sweep(factory, eps=[1e-2, 0.0], cells=4, degree=1, executor=Inline())  # the problems can be
    assert len(study.rows) == 2
    with pytest.raises(
        TypeError, match=r"expected what can be sent to other processes .*, got flux: .*lambda"
    ):
        convergence(PROBLEM, cells=[4], degree=1, flux=lambda *given: flux_upwind(*given), workers=2)


def test_functions_that_a_worker_cannot_find(monkeypatch):
    """As from an interactive session: sent by a name that means nothing elsewhere."""

    def flux_local(*given):
        return flux_upwind(*given)

    flux_local.__qualname__ = "flux_local"
    monkeypatch.setattr(sys.modules[__name__], "flux_local", flux_local, raising=False)
    study = convergence(PROBLEM, cells=[4], degree=1, flux=flux_local, workers=2, raise_failures=False)
    assert "TypeError: expected functions and classes from modules that a worker can import" in str(study)


def test_either_workers_or_executor():
    with pytest.raises(TypeError, match="expected either workers or executor, got both"):
        convergence(PROBLEM, cells=[4], degree=1, workers=2, executor=Inline())


@pytest.mark.filterwarnings("default")  # of the cluster, when it closes
def test_dask(serial):
    distributed = pytest.importorskip("distributed")
    quiet = {"dashboard_address": None, "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert numbers(sweep(linear_advection_diffusion, executor=client, **GIVEN)) == serial
        failing = convergence(PROBLEM, cells=[4], degree=[1, 99], executor=client, raise_failures=False)
        assert failing.failures[0]["error"].startswith("ValueError: degree")
