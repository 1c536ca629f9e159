"""The same case has the same fingerprint in every process, and nothing else has it."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import stfem
from stfem import equations
from stfem.data import sine
from stfem.fluxes import InteriorPenalty, flux_rusanov, flux_upwind
from stfem.problems import diffusive_p_system, linear_advection_diffusion, viscous_burgers
from stfem.studies.fingerprint import digest, fingerprint
from stfem.timestepping import RK4, SSPRK33, ExplicitRungeKutta

ROOT = Path(__file__).parents[2]
PROBLEM = linear_advection_diffusion(1, 1e-3, 0.05)
AMPLITUDE = 1.0


def scaled(factor):
    return lambda x: factor * np.sin(2 * np.pi * x[0])


def helper(x):
    return np.sin(2 * np.pi * x[0])


def calls_helper(x):
    return AMPLITUDE * helper(x)


def problem(initial):
    equation = equations.AdvectionDiffusion(1.0, 1e-3)
    return stfem.Problem(equation, stfem.Torus(1.0), initial=initial, final_time=0.1)


def made(source, **names):
    """The function f that some source code defines."""
    scope = {"np": np, "__name__": "experiment", **names}
    exec(source, scope)
    return scope["f"]


PROGRAM = """
import numpy as np
import stfem
from stfem.fluxes import flux_upwind
from stfem.problems import viscous_burgers
from stfem.studies.fingerprint import digest, fingerprint
from stfem.timestepping import RK4, ExplicitRungeKutta
words = {"one", "two", "three"}
def wave(x):
    return len(words) * np.sin(2 * np.pi * x[0]) * (x.dtype.name in {"float32", "float64", "int64"})
problem = stfem.Problem(stfem.equations.Burgers(1, 1e-3), stfem.Torus(1.0), initial=wave, final_time=0.1)
options = {"cells": 8, "flux": flux_upwind, "stepper": ExplicitRungeKutta(RK4), "estimator": None}
print(fingerprint(problem, options), digest(words), fingerprint(viscous_burgers(2, 1e-3), options))
"""


def test_same_in_every_process():
    found = set()
    for seed in "123":  # the order of sets and the addresses differ
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
        program = [sys.executable, "-W", "ignore", "-c", PROGRAM]
        run = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
        found.add(run.stdout)
    assert len(found) == 1
    assert len(set(found.pop().split())) == 3


@pytest.mark.parametrize(
    "factory",
    [
        lambda: linear_advection_diffusion(2, 1e-2, 0.01),
        lambda: viscous_burgers(1, 1e-2, 0.01),
        lambda: diffusive_p_system(1, 1e-2, final_time=0.01),
    ],
)
def test_a_run_changes_nothing(factory):
    """Stepping and estimating fill caches and workspaces of the objects they are given."""
    given = {"cells": 4, "degree": 1, "stepper": ExplicitRungeKutta(RK4), "estimator": stfem.SplitEstimator()}
    one = factory()
    before = fingerprint(one, given)
    stfem.certify(one, **given)
    assert fingerprint(one, given) == before
    assert fingerprint(factory(), {**given, "stepper": ExplicitRungeKutta(RK4)}) == before


@pytest.mark.parametrize(
    "other",
    [
        linear_advection_diffusion(1, 2e-3, 0.05),
        linear_advection_diffusion(1, 1e-3, 0.06),
        linear_advection_diffusion(2, 1e-3, 0.05),
        viscous_burgers(1, 1e-3, 0.05),
        replace(PROBLEM, exact=None),
        replace(PROBLEM, initial=sine(2 * np.pi)),
        replace(PROBLEM, source=sine(2 * np.pi)),
    ],
)
def test_another_problem(other):
    assert fingerprint(PROBLEM, {}) != fingerprint(other, {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"cells": 8}, {"cells": 9}),
        ({"cells": 8}, {"cells": (8,)}),
        ({"dt": 0.1}, {"cfl": 0.1}),
        ({"flux": flux_upwind}, {"flux": flux_rusanov}),
        ({"penalty": InteriorPenalty()}, {"penalty": InteriorPenalty(30.0)}),
        ({"stepper": ExplicitRungeKutta(RK4)}, {"stepper": ExplicitRungeKutta(SSPRK33)}),
        ({"estimator": stfem.SplitEstimator()}, {"estimator": stfem.SplitEstimator(spacing=1)}),
        ({"initial_correction": True}, {"initial_correction": False}),
    ],
)
def test_other_options(one, other):
    assert fingerprint(PROBLEM, one) != fingerprint(PROBLEM, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (scaled(1.0), scaled(2.0)),  # closure
        (made("def f(x): return x + 1"), made("def f(x): return x + 2")),  # constant
        (made("def f(x): return np.sin(x)"), made("def f(x): return np.cos(x)")),  # name
        (made("def f(x, a=1): return a"), made("def f(x, a=2): return a")),  # default
        (made("def f(x, *, a=1): return a"), made("def f(x, *, a=2): return a")),
        (
            made("f = lambda x: [a * x for _ in x]", a=1),
            made("f = lambda x: [a * x for _ in x]", a=2),
        ),  # global
        (made("def f(x): return m.a", m=ModuleType("m")), made("def f(x): return m.b", m=ModuleType("m"))),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
        (np.array([1.0, 2.0]), np.array([[1.0, 2.0]])),
        ([1, [2]], [1, 2]),
        ({"a": 1}, {"b": 1}),
        (0.0, -0.0),
        (1, True),
    ],
)
def test_another_structure(one, other):
    assert digest(one) == digest(one)
    assert digest(one) != digest(other)


def test_what_a_module_of_the_experiment_holds():
    settings = ModuleType("settings")
    settings.width = 1.0
    function = made("def f(x): return settings.width * x", settings=settings)
    before = digest(function)
    settings.width = 2.0
    assert digest(function) != before


def test_functions_that_a_function_calls(monkeypatch):
    before = fingerprint(problem(calls_helper), {})
    assert fingerprint(problem(calls_helper), {}) == before
    monkeypatch.setitem(globals(), "helper", lambda x: np.cos(2 * np.pi * x[0]))
    assert fingerprint(problem(calls_helper), {}) != before


def test_methods_of_a_class_and_its_state():
    source = "class f:\n def __init__(self, a): self.a = a\n def __call__(self, x): return self.a {} x"
    plus, minus = (made(source.format(sign)) for sign in "+-")
    assert digest(plus(1)) == digest(made(source.format("+"))(1))
    assert len({digest(plus(1)), digest(plus(2)), digest(minus(1))}) == 3


def test_names_of_variables_and_the_place_in_a_file_do_not_matter():
    assert digest(made("def f(x):\n  y = 2 * x\n  return y")) == digest(
        made("# a comment\n\ndef f(x):\n\n  z = 2 * x\n  return z")
    )


def test_numbers_that_a_function_reads_from_a_file(tmp_path):
    """No code shows them, values do."""
    path = tmp_path / "amplitude.txt"

    def wave(x):
        return float(path.read_text()) * np.sin(2 * np.pi * x[0])

    path.write_text("1.0")
    before = fingerprint(problem(wave), {})
    path.write_text("1.5")
    assert fingerprint(problem(wave), {}) != before


def test_graphs_with_cycles():
    one, other = [], []
    one.append(one)
    other.append([other])
    assert digest(one) != digest(other)


def test_what_cannot_be_taken_apart(tmp_path):
    with (
        (tmp_path / "a").open("w") as file,
        pytest.raises(TypeError, match="store: expected a problem and opt"),
    ):
        digest(lambda: file)
