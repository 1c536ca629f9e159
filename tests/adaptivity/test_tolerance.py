"""Searches for a tolerance: they reach it without much more than it takes, or say why not."""

import math
from dataclasses import replace

import numpy as np
import pytest
import skfem

import stfem
from stfem import Box, Dirichlet, Outflow, Problem, ToleranceError, Torus, UnsupportedDomainError
from stfem.adaptivity.attempts import Attempt
from stfem.adaptivity.prediction import Prediction, Scheme
from stfem.data import sine
from stfem.equations import AdvectionDiffusion, Burgers
from stfem.problems import (
    burgers_cole_hopf,
    diffusive_p_system,
    linear_advection_diffusion,
    moving_front,
    viscous_burgers,
)
from stfem.problems.manufactured import along, initial_value


def forced(velocity, eps, frequency):
    """A wave that moves faster than the flow, for which a source pays."""
    u = sine(along(1, 0), frequency)
    source = u.time_derivative() + velocity * u.derivative(0) - eps * u.derivative(0).derivative(0)
    return Problem(AdvectionDiffusion(velocity, eps), Torus(1.0), initial_value(u), 1.0, source, exact=u)


def check(result, bound, error):
    """Reached, not with far too much, by a certificate that holds."""
    search = result.search
    assert search.attempts[-1].bound == bound
    assert error <= bound <= search.tol
    assert bound >= search.tol / 20.0
    assert all(attempt.bound > search.tol for attempt in search.attempts[:-1])
    assert len(search.attempts) <= 4


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize(
    "problem",
    [
        linear_advection_diffusion(1, 1e-3),
        linear_advection_diffusion(1, 0.0),
        linear_advection_diffusion(2, 1e-3),
        viscous_burgers(1, 1e-3),
        viscous_burgers(1, 1e-1),
    ],
    ids=["linear", "hyperbolic", "two-dimensional", "Burgers", "diffusive"],
)
def test_bound_is_within_a_factor_of_the_tolerance(problem, tol):
    result = stfem.certify(problem, tol=tol)
    assert result.guaranteed
    check(result, result.bound, result.error)


@pytest.mark.parametrize(("norm", "name"), [("energy", "energy"), ("l1", "l1")])
def test_other_norms(norm, name):
    result = stfem.certify(viscous_burgers(1, 1e-2), tol=1e-5, norm=norm)
    check(result, getattr(result, f"bound_{name}"), result.error_energy if norm == "energy" else 0.0)


def test_certificate_is_that_of_its_grid():
    """The search adds nothing to a run: the same grid and time step give the same numbers."""
    problem = viscous_burgers(1, 1e-3)
    found = stfem.certify(problem, tol=1e-5)
    last = found.search.attempts[-1]
    again = stfem.certify(problem, cells=last.cells, degree=last.degree)
    assert found.bound == again.bound
    assert np.array_equal(found.solution.values, again.solution.values)
    assert (last.dofs, last.steps) == (again.solution.values.size, again.solution.steps)
    assert last.slabs == again.facts["slabs"]


def test_a_system():
    result = stfem.certify(diffusive_p_system(1, 1e-3), tol=1e-3)
    check(result, result.bound, result.error)


def test_bounds_that_are_not_guaranteed():
    """On a box whose data are functions, and on a torus with such an initial value."""
    bump = Problem(AdvectionDiffusion(1.0, 1e-2), Torus(1.0), lambda x: np.exp(np.sin(2 * np.pi * x[0])), 0.1)
    for problem in (moving_front(dim=1), bump):
        with pytest.raises(
            ToleranceError, match=r"no grid makes the bound guaranteed.*unproved=True"
        ) as info:
            stfem.certify(problem, tol=1e-3)
        assert len(info.value.search.attempts) == 1
        result = stfem.certify(problem, tol=1e-3, unproved=True)
        assert not result.guaranteed
        check(result, result.bound, result.error or 0.0)


def test_time_step_shrinks_where_it_limits_the_bound():
    """Diffusion is implicit and nothing is transported: 80 steps, whatever the grid."""
    result = stfem.certify(forced(0.0, 1e-2, 60.0), tol=1e-5)
    before, last = result.search.attempts[-2:]
    check(result, result.bound, result.error)
    assert (before.cells, before.degree) == (last.cells, last.degree)
    assert before.temporal > 0.5
    assert last.dt < 0.5 * before.dt


def test_time_step_shrinks_where_stability_sets_no_limit():
    result = stfem.certify(forced(0.0, 0.0, 20.0), tol=1e-4)
    assert result.error <= result.bound <= 1e-4
    assert [attempt.steps for attempt in result.search.attempts[:2]] == [1, 1]


def test_growing_gradients():
    """The order of coarse grids says little about fine ones."""
    result = stfem.certify(burgers_cole_hopf(eps=0.02), tol=1e-2)
    assert result.error <= result.bound <= 1e-2


def test_rounding_ends_a_search():
    with pytest.raises(ToleranceError, match="size of rounding errors") as info:
        stfem.certify(linear_advection_diffusion(1, 1e-3), tol=1e-14)
    assert info.value.certificate.bound < 1e-11
    assert len(info.value.search.attempts) <= 4


def test_a_shock_ends_a_search():
    """Without diffusion the growth of the bound is exponential in the number of cells."""
    problem = Problem(Burgers(1, 0.0), Torus(1.0), sine(along(1, 0)), 0.5)
    with pytest.raises(ToleranceError, match="16 times as fine hardly lower the bound") as info:
        stfem.certify(problem, tol=1e-3)
    best = min(info.value.search.attempts, key=lambda attempt: attempt.bound)
    assert info.value.certificate.bound == best.bound
    assert str(info.value).startswith(f"tol: expected a bound of at most 0.001, got {best.bound:.3g} with")


def test_slow_convergence_ends_at_the_limit():
    """The bound of a kink falls like h; that is told before the grids are there."""
    kink = Problem(AdvectionDiffusion(1.0, 0.0), Torus(1.0), lambda x: np.abs(np.sin(np.pi * x[0])), 0.1)
    with pytest.raises(ToleranceError, match=r"so slowly that about .* cells per direction") as info:
        stfem.certify(kink, tol=1e-6, unproved=True, max_dofs=10_000)
    assert all(attempt.dofs < 1000 for attempt in info.value.search.attempts)


def test_limits():
    problem = linear_advection_diffusion(2, 1e-3)
    with pytest.raises(ToleranceError, match="max_dofs=1000") as info:
        stfem.certify(problem, tol=1e-8, max_dofs=1000)
    assert all(0 < attempt.dofs <= 1000 for attempt in info.value.search.attempts)
    assert info.value.certificate.bound == min(a.bound for a in info.value.search.attempts)
    with pytest.raises(ToleranceError, match=r"got none: the next grid.*max_dofs=10") as info:
        stfem.certify(problem, tol=1e-8, max_dofs=10)
    assert info.value.certificate is None


def test_a_run_is_stopped_when_its_time_is_over():
    with pytest.raises(ToleranceError, match=r"max_seconds=0.02 are over") as info:
        stfem.certify(linear_advection_diffusion(2, 1e-3), tol=1e-8, max_seconds=0.02)
    assert "stopped at t = " in info.value.search.attempts[-1].failure
    assert info.value.certificate is None


def test_a_run_that_will_not_be_done_is_not_started():
    problem = linear_advection_diffusion(3, 1e-3)
    with pytest.raises(ToleranceError, match=r"takes about|are over") as info:
        stfem.certify(problem, tol=1e-10, max_seconds=2.0)
    assert info.value.search.seconds < 4.0


def test_callback_sees_every_run_and_may_stop():
    seen = []
    result = stfem.certify(linear_advection_diffusion(1, 1e-3), tol=1e-5, callback=seen.append)
    assert tuple(seen) == result.search.attempts
    with pytest.raises(ToleranceError, match="the callback asked for it") as info:
        stfem.certify(linear_advection_diffusion(1, 1e-3), tol=1e-5, callback=lambda attempt: True)
    assert len(info.value.search.attempts) == 1


def test_progress(capsys):
    stfem.certify(linear_advection_diffusion(1, 1e-3), tol=1e-3, progress=True)
    assert "tol 0.001" in capsys.readouterr().err


def test_record():
    result = stfem.certify(linear_advection_diffusion(1, 1e-3), tol=1e-3)
    lines = str(result.search).splitlines()
    assert lines[-1] == "the bound is at most 0.001"
    assert len(lines) == len(result.search.attempts) + 3
    assert result.search.seconds == sum(attempt.seconds for attempt in result.search.attempts)
    assert result.search.norm == "l2"


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({}, TypeError, "expected either cells and degree or tol, got neither"),
        ({"cells": 8}, TypeError, "expected either cells and degree or tol, got neither"),
        ({"tol": 1e-3, "cells": 8}, TypeError, "expected cells only without tol"),
        ({"tol": 1e-3, "degree": 1, "dt": 0.1}, TypeError, "expected degree, dt only without tol"),
        ({"cells": 8, "degree": 1, "norm": "l2"}, TypeError, "expected norm only without degree, with tol"),
        ({"cells": 8, "degree": 1, "max_dofs": 9}, TypeError, "expected max_dofs only without degree"),
        ({"tol": 0.0}, ValueError, "tol: expected a positive finite number, got 0.0"),
        ({"tol": math.nan}, ValueError, "tol: expected a positive finite number, got nan"),
        ({"tol": "1"}, TypeError, "tol: expected a number, got '1'"),
        ({"tol": 1e-3, "norm": "max"}, ValueError, "norm: expected one of l2, energy, l1, got 'max'"),
        ({"tol": 1e-3, "max_dofs": 0}, ValueError, "max_dofs: expected a positive finite number"),
        ({"tol": 1e-3, "max_seconds": -1}, ValueError, "max_seconds: expected a positive finite number"),
        ({"tol": 1e-3, "callback": 3}, TypeError, "callback: expected a function of an Attempt, got a int"),
        ({"tol": 1e-3, "estimator": stfem.SplitEstimator}, TypeError, "estimator: expected an estimator"),
    ],
)
def test_arguments(options, kind, message):
    with pytest.raises(kind, match=message):
        stfem.certify(linear_advection_diffusion(1), **options)


def test_problems_without_a_choice_of_grids():
    quadrilaterals = moving_front(2, mesh=skfem.MeshQuad().refined(1).with_defaults())
    with pytest.raises(UnsupportedDomainError, match="tol: expected a Domain of lines, triangles or tetra"):
        stfem.certify(quadrilaterals, tol=1e-2)
    with pytest.raises(TypeError, match="problem: expected a Problem, got a int"):
        stfem.certify(3, tol=1e-2)
    with pytest.raises(ValueError, match="norm: expected 'l2' or 'energy' for a system"):
        stfem.certify(diffusive_p_system(1), tol=1e-2, norm="l1")


def test_nothing_to_find():
    """Data that grids hold exactly, and none at all."""
    still = Problem(AdvectionDiffusion(1.0, 1e-2), Torus(1.0), 0.0, 0.1)
    assert stfem.certify(still, tol=1e-6).bound == 0.0
    level = Problem(
        AdvectionDiffusion(1.0, 0.1), Box(0.0, 1.0, {"left": Dirichlet(0.0), "right": Outflow()}), 0.0, 0.1
    )
    assert stfem.certify(level, tol=1e-6).bound == 0.0


RUN = Attempt(cells=4, degree=2, cfl=0.8, bound=1.0, seconds=0.1, seconds_solve=0.02)


def test_prediction_follows_the_order_of_the_runs():
    """Of two runs with the order 4 the third one is chosen as if it went on."""
    runs = [RUN, replace(RUN, cells=8, bound=2.0**-4)]
    prediction = Prediction(Scheme(1, 1, 2, True), 1e-4, runs, 5)
    (plan,) = prediction.grids()
    assert prediction.order == pytest.approx(4.0)
    assert plan.needed == pytest.approx(4.0 * (1.0 / 0.6e-4) ** 0.25, rel=0.05)
    assert plan.cells == 32  # no more than four times as fine
    assert plan.bound == pytest.approx(4.0**-4 * 2.0**-4)
    # the initial error is known by itself, and falls faster
    held = [replace(RUN, initial=0.9), replace(RUN, cells=8, bound=0.1 * 2.0**-4)]
    assert Prediction(Scheme(1, 1, 2, True), 1e-4, held, 5).order == pytest.approx(4.0)


def test_prediction_doubts_the_time_step_only_where_the_order_is_missed():
    scheme = Scheme(1, 1, 5, True)
    slow = [replace(RUN, temporal=0.9), replace(RUN, cells=8, bound=0.5, temporal=0.9)]
    plan = Prediction(scheme, 1e-4, slow, 4).smaller_step()
    assert plan is not None
    assert (plan.cells, plan.degree) == (8, 2)
    assert plan.cfl < 0.4
    assert Prediction(scheme, 1e-4, [replace(run, temporal=0.01) for run in slow], 4).smaller_step() is None
    fast = [slow[0], replace(slow[1], bound=2.0**-5)]
    assert Prediction(scheme, 1e-4, fast, 4).smaller_step() is None
    # no help: the time step goes back
    tried = [*slow, replace(slow[1], cfl=0.1, bound=0.45)]
    prediction = Prediction(scheme, 1e-4, tried, 4)
    assert prediction.smaller_step() is None
    assert all(plan.cfl == 0.8 for plan in prediction.grids() if plan.degree == 2)


def test_prediction_goes_on_after_runs_without_an_end():
    plan = Prediction(Scheme(1, 1, 5, True), 1e-4, [replace(RUN, bound=math.inf)], 4).grids()[0]
    assert (plan.cells, plan.degree) == (8, 2)
