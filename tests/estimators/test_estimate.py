"""What an estimate says of itself when it is printed."""

import math
import re
from dataclasses import replace

import pytest

from stfem import Problem, Torus, certify, equations
from stfem.data import sine
from stfem.estimators import PaperEstimator
from stfem.problems import diffusive_p_system, linear_advection_diffusion

CONTRADICTION = "effectivity below 1: exact is not a solution of this problem, or the bound is wrong"


@pytest.fixture(scope="module")
def linear():
    return certify(linear_advection_diffusion(1, 1e-3, 0.1), cells=8, degree=1).estimate


def test_parts_are_told_apart_from_the_share(linear):
    lines = str(linear).splitlines()
    parts = next(line for line in lines if line.startswith("parts"))
    assert parts.split()[1::2] == ["initial", "hyperbolic", "parabolic", "growth"]
    share = re.search(r"interpolation in time (\S+) % of the hyperbolic part", str(linear))
    assert float(share[1]) == pytest.approx(100.0 * linear.parts["temporal"], abs=0.005)
    assert linear.parts["temporal"] > 0.0
    for share in (7.0, math.inf):
        beyond = replace(linear, parts={**linear.parts, "temporal": share})
        assert "interpolation in time 100.00 % of" in str(beyond)
    assert CONTRADICTION not in str(linear)


def test_an_estimator_without_a_temporal_part():
    result = certify(linear_advection_diffusion(1, 1e-3, 0.1), cells=8, degree=1, estimator=PaperEstimator())
    assert "hyperbolic" in str(result)
    assert "interpolation in time" not in str(result)


@pytest.mark.parametrize("name", ["error", "error_final", "error_energy"])
def test_an_error_above_its_bound_is_reported(linear, name):
    bound = getattr(linear, name.replace("error", "bound"))
    assert CONTRADICTION in str(replace(linear, **{name: 1.001 * bound}))
    assert CONTRADICTION not in str(replace(linear, **{name: (1.0 + 1e-9) * bound}))
    assert CONTRADICTION not in str(replace(linear, **{name: None}))


def test_a_wrong_exact_solution_is_reported():
    """It starts at the initial value, but moves the other way."""
    wave, back = (sine(2.0 * math.pi, frequency) for frequency in (0.0, 2.0 * math.pi))
    problem = Problem(equations.AdvectionDiffusion(1.0), Torus(1.0), wave, 0.2, exact=back)
    result = certify(problem, cells=8, degree=2)
    assert result.effectivity < 0.1
    assert CONTRADICTION in str(result)


def test_assumptions_are_one_sentence():
    result = certify(diffusive_p_system(1, 0.01, 0.01), cells=4, degree=1)
    last = str(result).splitlines()[-1]
    assert re.fullmatch(r"assuming that the specific volume of the solution stays in \[\S+, \S+\]", last)
