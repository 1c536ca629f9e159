"""solve, estimate, certify: one run seen in three ways; options, errors, memory, long times."""

import gc
import math
import tracemalloc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import stfem
from stfem import Problem, Siac, SplitEstimator, Torus, certify, equations, estimate, solve
from stfem.data import sine
from stfem.fluxes import InteriorPenalty, flux_engquist_osher, flux_rusanov, flux_upwind
from stfem.problems import diffusive_p_system, linear_advection_diffusion, viscous_burgers
from stfem.timestepping import (
    ARK324L2SA,
    DORMAND_PRINCE5,
    RK4,
    ExplicitRungeKutta,
    ImplicitExplicitRungeKutta,
    Node,
)

PI2 = 2.0 * math.pi
NUMBERS = (
    "bound",
    "bound_final",
    "bound_energy",
    "bound_l1",
    "enclosure",
    "error",
    "error_dg",
    "error_energy",
)


@pytest.mark.parametrize("factory", [linear_advection_diffusion, viscous_burgers, diffusive_p_system])
@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_three_ways_to_one_result(factory, eps):
    problem = factory(1, eps, 0.02)
    together = certify(problem, cells=8, degree=1)
    for history in (False, True):
        solution = solve(problem, cells=8, degree=1, history=history)
        apart = estimate(solution)
        for name in NUMBERS:
            assert getattr(apart, name) == getattr(together, name), name
        np.testing.assert_array_equal(apart.indicators_sq, together.indicators_sq)
        np.testing.assert_array_equal(solution.values, together.solution.values)
    other = estimate(solve(problem, cells=8, degree=1, initial_correction=False))
    assert other.bound != together.bound


def test_correction_follows_the_reconstruction():
    problem = linear_advection_diffusion(1, 0.0, 0.1)
    estimator = SplitEstimator(Siac(3))
    result = certify(problem, cells=8, degree=1, estimator=estimator)
    apart = solve(problem, cells=8, degree=1, initial_correction=Siac(3))
    assert estimate(apart, estimator).bound == result.bound
    assert estimate(solve(problem, cells=8, degree=1), estimator).bound != result.bound


def test_values_of_a_solution():
    problem = linear_advection_diffusion(2, 0.0, 0.1)
    solution = solve(problem, cells=(8, 6), degree=3)
    x = np.random.default_rng(0).uniform(-1.0, 2.0, (2, 3, 5))
    np.testing.assert_allclose(solution(x), problem.exact(x, 0.1)[0], atol=5e-3)
    assert solution(x).shape == (3, 5)
    np.testing.assert_allclose(solution(x + np.reshape([1.0, 2.0], (2, 1, 1))), solution(x), atol=1e-11)
    assert solution.coefficients.shape == (1, 8, 6, 16)
    np.testing.assert_array_equal(
        solution.coefficients[0, 2, 3].reshape(4, 4), solution.values[0, :, :, 2, 3]
    )
    system = solve(diffusive_p_system(1, 0.0, 0.01), cells=8, degree=1)
    assert system(np.zeros((1, 4))).shape == (2, 4)
    with pytest.raises(ValueError, match=r"expected shape \(2, ...\)"):
        solution(np.zeros((3, 4)))
    assert "steps=" in repr(solution)


@pytest.mark.parametrize("flux", [flux_rusanov, flux_engquist_osher, flux_upwind])
def test_every_flux_runs_and_is_certified(flux):
    linear = certify(linear_advection_diffusion(1, 1e-3, 0.1), cells=8, degree=1, flux=flux)
    assert linear.error <= linear.bound < 1.2 * linear.error
    if flux is flux_upwind:
        with pytest.raises(TypeError, match="linear equation"):
            solve(viscous_burgers(1), cells=8, degree=1, flux=flux)
    else:
        burgers = certify(viscous_burgers(1, 1e-3, 0.05), cells=8, degree=1, flux=flux)
        assert burgers.error <= burgers.bound < 1.3 * burgers.error


def test_users_own_flux():
    def central(equation, minus, plus, x, t, direction):
        return 0.5 * (equation.flux(minus, x, t, direction) + equation.flux(plus, x, t, direction))

    result = certify(linear_advection_diffusion(1, 1e-2, 0.1), cells=8, degree=2, flux=central)
    assert result.error <= result.bound < 3.0 * result.error


def test_penalty_is_passed_on():
    problem = linear_advection_diffusion(1, 0.1, 0.1)
    plain, strong = (certify(problem, cells=8, degree=1, penalty=p) for p in (None, InteriorPenalty(40.0)))
    assert strong.error <= strong.bound
    assert strong.error_dg != plain.error_dg


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("factory", [linear_advection_diffusion, viscous_burgers])
@pytest.mark.parametrize("eps", [1e-3, 0.1])
def test_every_degree_in_two_dimensions(degree, factory, eps):
    result = certify(factory(2, eps, 0.02), cells=4, degree=degree)
    assert result.guaranteed
    assert result.error * (1.0 - 1e-9) <= result.bound <= 1.3 * result.error


@pytest.mark.parametrize("eps", [1e-3, 1.0])
@pytest.mark.parametrize("final_time", [1e-100, 1e-20])
def test_tiny_final_times(eps, final_time):
    """Nothing but the initial error is left of the bound."""
    result = certify(linear_advection_diffusion(1, eps, final_time), cells=6, degree=2)
    assert result.parts["initial"] * (1.0 - 1e-9) <= result.bound <= result.parts["initial"] * (1.0 + 1e-6)
    assert result.error * (1.0 - 1e-9) <= result.bound


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("eps", [0.0, 1e-3, 0.1])
def test_every_degree(degree, eps):
    """Degree 0 included: bounds hold, and are sharp."""
    result = certify(linear_advection_diffusion(1, eps, 0.05), cells=8 if degree < 4 else 4, degree=degree)
    assert result.error * (1.0 - 1e-9) <= result.bound <= 1.5 * result.error + 1e-12
    assert result.enclosure[0] <= result.error_dg * (1.0 + 1e-9) + 1e-14
    assert result.error_dg <= result.enclosure[1] * (1.0 + 1e-9)


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("dim", [1, 2])
def test_very_few_cells(cells, dim):
    for degree in (0, 1, 2):
        result = certify(linear_advection_diffusion(dim, 1e-2, 0.05), cells=cells, degree=degree)
        assert result.error <= result.bound * (1.0 + 1e-9)


@pytest.mark.parametrize("eps", [0.0, 1e-2])
def test_three_dimensions(eps):
    result = certify(linear_advection_diffusion(3, eps, 0.05), cells=(6, 5, 4), degree=1)
    assert result.error <= result.bound < 1.3 * result.error


def test_long_times():
    """Errors of a wave grow linearly over 20 periods, and so does the bound."""
    bounds = [certify(linear_advection_diffusion(1, 0.0, t), cells=8, degree=3) for t in (2.0, 20.0)]
    assert 8.0 < bounds[1].bound / bounds[0].bound < 12.0
    assert bounds[1].effectivity < 1.1
    decayed = certify(linear_advection_diffusion(1, 0.05, 5.0), cells=8, degree=2)
    assert decayed.error_final <= decayed.bound_final < 0.1 * decayed.bound


def test_memory_does_not_grow_with_the_number_of_steps():
    def peak(final_time):
        problem = linear_advection_diffusion(2, 0.0, final_time)
        gc.collect()
        tracemalloc.start()
        result = certify(problem, cells=32, degree=2, dt=0.004, estimator=SplitEstimator(spacing=1))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most, result.facts["slabs"]

    peak(0.02)  # caches of matrices
    short, long = peak(0.04), peak(0.16)
    assert long[1] == 4 * short[1]
    one_level = 32 * 32 * 9 * 8  # 74 kB; free lists of the interpreter and the history take as much
    assert long[0] - short[0] < 2 * one_level


def test_few_nodes_are_alive(monkeypatch):
    alive, most = weakref.WeakSet(), 0
    original = stfem.solving.integrate

    def watched(*arguments):
        nonlocal most
        for node in original(*arguments):
            alive.add(node)
            most = max(most, len(alive))
            yield node

    monkeypatch.setattr(stfem.solving, "integrate", watched)
    problem = linear_advection_diffusion(1, 0.0, 0.5)
    result = certify(problem, cells=8, degree=1, estimator=SplitEstimator(spacing=1))
    assert result.facts["steps"] > 10
    assert most <= 7
    solve(problem, cells=8, degree=1, history=True)
    assert most > 10  # the count sees a kept history


def test_users_own_stepper():
    class Heun:
        order, implicit = 2, False

        def step(self, ode, t, u, dt, rate):
            def f(t, u):
                return ode.rhs_hyperbolic(t, u) + (ode.rhs_parabolic(t, u) if ode.has_diffusion else 0.0)

            return u + 0.5 * dt * (rate + f(t + dt, u + dt * rate))

    problem = linear_advection_diffusion(1, 1e-3, 0.2)
    result = certify(problem, cells=8, degree=1, stepper=Heun(), dt=0.005)
    assert result.error <= result.bound < 1.2 * result.error
    with pytest.raises(ValueError, match="dt: expected a time step"):
        certify(problem, cells=8, degree=1, stepper=Heun())


def test_users_own_estimator():
    class Counting:
        def run(self, semidiscretization, nodes, order):
            return sum(isinstance(node, Node) for node in nodes), order

    solution = solve(linear_advection_diffusion(1, 0.0, 0.1), cells=8, degree=1)
    assert estimate(solution, Counting()) == (solution.steps + 1, 4)


def test_steppers_and_steps():
    problem = linear_advection_diffusion(1, 0.1, 0.1)
    assert isinstance(solve(problem, cells=16, degree=1).stepper, ImplicitExplicitRungeKutta)
    assert isinstance(
        solve(linear_advection_diffusion(1, 1e-6, 0.1), cells=16, degree=1).stepper, ExplicitRungeKutta
    )
    assert solve(problem, cells=8, degree=2, cfl=0.4, stepper=ExplicitRungeKutta(DORMAND_PRINCE5)).steps >= (
        2 * solve(problem, cells=8, degree=2, cfl=0.8, stepper=ExplicitRungeKutta(DORMAND_PRINCE5)).steps - 1
    )
    for stepper in (ExplicitRungeKutta(RK4), ImplicitExplicitRungeKutta(ARK324L2SA)):
        result = certify(problem, cells=8, degree=1, stepper=stepper)
        assert result.error <= result.bound < 1.6 * result.error


def test_progress(capsys):
    solve(linear_advection_diffusion(1, 0.0, 0.1), cells=4, degree=0, progress=True)
    assert "node" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dt": 0.1, "cfl": 0.5}, TypeError, "either dt or cfl"),
        ({"dt": 0.0}, ValueError, "dt"),
        ({"dt": math.nan}, ValueError, "dt"),
        ({"cfl": -1.0}, ValueError, "cfl"),
        ({"degree": -1}, ValueError, "degree: expected 0 to 5, got -1"),
        ({"degree": 9}, ValueError, "degree: expected 0 to 5, got 9"),
        ({"cells": 0}, ValueError, "cells"),
        ({"cells": 8.5}, TypeError, "cells: expected whole numbers, got 8.5"),
        ({"cells": math.inf}, TypeError, "cells: expected whole numbers, got inf"),
        ({"degree": 1.5}, TypeError, "degree: expected a whole number, got 1.5"),
        ({"degree": math.nan}, TypeError, "degree: expected a whole number, got nan"),
        ({"dt": "a"}, TypeError, "dt: expected a number, got 'a'"),
        ({"cfl": "a"}, TypeError, "cfl: expected a number, got 'a'"),
        ({"dt": True}, TypeError, "dt: expected a number, got True"),
        ({"flux": "upwind"}, TypeError, r"flux: expected a function such as .*flux_upwind, got 'upwind'"),
        ({"flux": InteriorPenalty}, TypeError, "flux: expected .*, got the class InteriorPenalty"),
        ({"penalty": 1.0}, TypeError, r"penalty: expected .* such as InteriorPenalty\(10.0\), got 1.0"),
        ({"initial_correction": "yes"}, TypeError, r"initial_correction: expected .*Siac\(\), got 'yes'"),
        ({"initial_correction": None}, TypeError, "initial_correction: expected .*, got None"),
        ({"initial_correction": Siac}, TypeError, "initial_correction: expected .*, got the class Siac"),
        ({"stepper": "RK4"}, TypeError, r"stepper: expected .* ExplicitRungeKutta\(RK4\), got 'RK4'"),
        ({"stepper": RK4}, TypeError, r"stepper: expected .*\(RK4\), got a ButcherTableau"),
        (
            {"stepper": ExplicitRungeKutta},
            TypeError,
            "stepper: expected .*, got the class ExplicitRungeKutta",
        ),
    ],
)
def test_wrong_options(options, error, message):
    for verb in (solve, certify):
        with pytest.raises(error, match=message):
            verb(linear_advection_diffusion(1, 0.0, 0.1), **{"cells": 4, "degree": 1, **options})


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (equations.Burgers(1), "a Burgers"),
        (SplitEstimator(), "a SplitEstimator"),
        (None, "None"),
        (linear_advection_diffusion, "a function"),
        (Problem, "the class Problem"),
    ],
)
def test_what_is_no_problem(given, named):
    for verb in (solve, certify):
        with pytest.raises(TypeError, match=f"problem: expected a Problem, got {named}$"):
            verb(given, cells=4, degree=1)


def test_what_is_no_solution_or_no_estimator():
    problem = linear_advection_diffusion(1, 0.0, 0.1)
    solution = solve(problem, cells=4, degree=1)
    for given, named in ((problem, "a Problem"), (SplitEstimator(), "a SplitEstimator"), (None, "None")):
        with pytest.raises(TypeError, match=rf"solution: expected a Solution.*, got {named}; certify"):
            estimate(given)
    with pytest.raises(TypeError, match="solution: expected a Solution"):
        estimate(SplitEstimator(), solution)
    for given, named in (
        ("split", "'split'"),
        (SplitEstimator, "the class SplitEstimator"),
        (Siac(), "a Siac"),
        (solution, "a Solution"),
    ):
        message = rf"estimator: expected an estimator such as SplitEstimator\(\), got {named}$"
        with pytest.raises(TypeError, match=message):
            estimate(solution, given)
        with pytest.raises(TypeError, match=message):
            certify(problem, cells=4, degree=1, estimator=given)


def test_whole_numbers_may_be_floats():
    problem = linear_advection_diffusion(1, 0.0, 0.1)
    plain = certify(problem, cells=8, degree=2)
    for cells, degree in ((8.0, 2.0), (np.int64(8), np.float64(2.0)), ((8.0,), 2)):
        assert certify(problem, cells=cells, degree=degree).bound == plain.bound


def test_certificate_is_an_estimate_with_its_solution():
    result = certify(linear_advection_diffusion(1, 0.0, 0.1), cells=8, degree=1)
    assert result.estimate.bound == result.bound
    assert result.solution.steps == result.facts["steps"]
    assert result.facts["seconds_estimate"] >= 0.0
    assert f"{result.bound:.4e}" in str(result)
    assert "bound=" in repr(result)


def test_zero_solution():
    problem = Problem(
        equations.AdvectionDiffusion((1.0,), 0.1), Torus(1.0), 0.0, 0.1, exact=lambda x, t: 0.0 * x[0]
    )
    result = certify(problem, cells=4, degree=1)
    assert result.bound == result.error == 0.0
    assert result.effectivity is None
    assert np.all(result.indicators_sq == 0.0)


def test_lengths_of_the_torus_matter():
    wide = Problem(
        equations.AdvectionDiffusion((1.0,)),
        Torus(2.0),
        sine(PI2),
        0.2,
        exact=lambda x, t: np.sin(PI2 * (x[0] - t)),
    )
    result, unit = (
        certify(wide, cells=16, degree=1),
        certify(linear_advection_diffusion(1, 0.0, 0.2), cells=8, degree=1),
    )
    assert result.bound == pytest.approx(math.sqrt(2.0) * unit.bound, rel=1e-8)


def test_estimates_of_one_solution_in_threads():
    """A scheme has one workspace: estimates that use it wait for each other."""
    solution = solve(linear_advection_diffusion(1, 1e-3), cells=16, degree=2)
    alone = stfem.estimate(solution).bound
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: stfem.estimate(solution).bound, range(4))) == {alone}
