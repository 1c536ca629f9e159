"""Functions of x alone are steady coefficients: assembled once, with the same result."""

import numpy as np
import pytest
from sample_meshes import moved

import stfem
from stfem.equations import AdvectionDiffusion
from stfem.problems import Problem


def turning(x):
    return np.stack([1.0 + 0.5 * x[1], 0.3 - x[0]])


def problem(velocity, reaction, value):
    domain = stfem.Domain(moved("triangles", 4).with_defaults(), stfem.Dirichlet(value))
    equation = AdvectionDiffusion(velocity, 1e-2, reaction, dim=2, divergence=0.0)
    return Problem(equation, domain, lambda x: x[0] + x[1], 0.1)


def test_steady_functions_give_the_same_and_are_known_to_be_steady():
    steady = problem(turning, lambda x: x[0], lambda x: x[0] + x[1])
    moving = problem(lambda x, t: turning(x), lambda x, t: x[0], lambda x, t: x[0] + x[1])
    solutions = [stfem.solve(given, degree=1, dt=0.02) for given in (steady, moving)]
    assert [solution.semidiscretization.linear for solution in solutions] == [True, False]
    u, v = (list(solution.nodes())[-1].values for solution in solutions)
    np.testing.assert_allclose(u, v, atol=1e-11)
    assert not any(b.time_dependent for b in steady.equation.velocity)
    assert all(b.time_dependent for b in moving.equation.velocity)


def test_the_default_value_of_a_time_is_a_time():
    equation = AdvectionDiffusion(lambda x, t=0.0: turning(x), dim=2, divergence=0.0)
    assert all(b.time_dependent for b in equation.velocity)


def test_other_numbers_of_arguments_are_refused():
    with pytest.raises(TypeError, match=r"velocity: expected a function of \(x, t\), got one of \(x, t, s\)"):
        AdvectionDiffusion(lambda x, t, s: x, dim=2, divergence=0.0)
    with pytest.raises(TypeError, match=r"reaction: expected a function of \(x, t\), got one of \(\)"):
        AdvectionDiffusion(1.0, reaction=lambda: 1.0)
