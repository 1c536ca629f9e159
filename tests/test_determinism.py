"""Same input, same bits: whatever the number of threads, in threads, in processes, and after a pickle."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import stfem
from stfem import problems
from stfem.determinism import one_thread_per_product

PRINT = """
import hashlib
import stfem

# large enough for BLAS to use several threads where it may
torus = stfem.certify(stfem.problems.viscous_burgers(dim=2, eps=1e-3), cells=24, degree=2)
mesh = stfem.certify(stfem.problems.leaving_pulse(dim=2, eps=1e-3), cells=8, degree=2)
for result in (torus, mesh):
    print(result.bound.hex(), result.bound_energy.hex(), *(end.hex() for end in result.enclosure))
    print(hashlib.sha256(result.solution.values.tobytes() + result.indicators_sq.tobytes()).hexdigest())
"""


def test_the_number_of_threads_changes_nothing():
    printed = {}
    for threads in ("1", "2"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        run = subprocess.run(
            [sys.executable, "-c", PRINT], env=environment, capture_output=True, text=True, check=True
        )
        printed[threads] = run.stdout
    assert printed["1"] == printed["2"]
    assert len(printed["1"].split()) == 10


def test_threads_are_given_back():
    before = threadpool_info()
    with one_thread_per_product(), one_thread_per_product():
        assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {
            1
        }
    assert threadpool_info() == before


def facts(result):
    return result.bound, result.bound_energy, result.enclosure, result.solution.values.tobytes()


def certified(eps):
    return facts(stfem.certify(problems.viscous_burgers(dim=1, eps=eps), cells=16, degree=2))


def test_in_threads():
    diffusions = [1e-2, 1e-3, 1e-4, 0.0]
    alone = [certified(eps) for eps in diffusions]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(certified, diffusions)) == alone


CATALOGUES = {**problems.CATALOGUE, **problems.BOUNDED, **problems.STATIONARY}


@pytest.mark.parametrize("name", CATALOGUES)
def test_problems_survive_a_pickle(name):
    problem = CATALOGUES[name](eps=0.1)
    again = pickle.loads(pickle.dumps(problem))
    x = problem.domain.sample(np.random.default_rng(3), 16)
    if problem.exact is not None:
        args = (x, 0.05) if isinstance(problem, stfem.Problem) else (x,)
        np.testing.assert_array_equal(again.exact(*args), problem.exact(*args))


@pytest.mark.parametrize(
    ("problem", "cells"),
    [
        (problems.linear_advection_diffusion(dim=2, eps=1e-3), 6),
        (problems.diffusive_p_system(eps=1e-3), 6),
        (problems.leaving_pulse(dim=2, eps=1e-3), 4),
        (problems.rotating_pulse(eps=1e-2, refinements=1, final_time=0.2), None),
    ],
    ids=["linear", "system", "mesh", "domain"],
)
def test_results_survive_a_pickle(problem, cells):
    result = stfem.certify(problem, cells=cells, degree=1)
    again = pickle.loads(pickle.dumps(result))
    assert facts(again) == facts(result)
    assert stfem.estimate(again.solution).bound == stfem.estimate(result.solution).bound
