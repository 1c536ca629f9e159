"""Runs that come to no end: what is raised, what it says, and what it has of the results up to then."""

import pickle
import signal
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import skfem

import stfem
from stfem.timestepping import RK4, ExplicitRungeKutta, Node

TRANSPORT = stfem.problems.linear_advection_diffusion(dim=1, eps=1e-3)


class Stumbling:
    """RK4 that does something in one of its steps."""

    order, implicit = 4, False

    def __init__(self, step, deed):
        self.inner, self.numbers, self.when, self.deed = ExplicitRungeKutta(RK4), count(1), step, deed

    def step(self, ode, t, u, dt, rate):
        result = self.inner.step(ode, t, u, dt, rate)
        return result if next(self.numbers) != self.when else self.deed(result)


def broken(values):
    return np.full_like(values, np.nan)


def interrupt(values):
    signal.raise_signal(signal.SIGINT)
    return values


def unsolved(values):
    raise stfem.SolveError("linear system", 0.5)


def certify(problem=TRANSPORT, **options):
    return stfem.certify(problem, cells=16, degree=2, dt=0.01, **options)


def solve(**options):
    return stfem.solve(TRANSPORT, cells=16, degree=2, dt=0.01, **options)


def undefined(values):
    raise ValueError("source: expected finite values, got nan")


@pytest.mark.parametrize(
    ("deed", "kind"),
    [(broken, stfem.NonFiniteError), (unsolved, stfem.SolveError), (undefined, stfem.DataError)],
)
def test_a_failed_run_keeps_what_it_has_certified(deed, kind):
    with pytest.raises(kind) as caught:
        certify(stepper=Stumbling(31, deed))
    error, partial = caught.value, caught.value.certificate
    assert isinstance(error, stfem.SolverError)
    assert error.step == 31
    assert partial.solution.time == error.solution.time == partial.history["time"][-1]
    assert partial.error <= partial.bound < 2.0 * partial.error
    whole = certify(replace(TRANSPORT, final_time=partial.solution.time), stepper=ExplicitRungeKutta(RK4))
    assert partial.solution.steps == whole.solution.steps == 30
    np.testing.assert_allclose(partial.solution.values, whole.solution.values, rtol=0.0, atol=1e-13)
    assert partial.bound == pytest.approx(whole.bound, rel=1e-2)  # slabs at the end may differ


def test_the_partial_solution_can_be_estimated_again():
    with pytest.raises(stfem.NonFiniteError) as caught:
        stfem.solve(TRANSPORT, cells=16, degree=2, dt=0.01, stepper=Stumbling(31, broken))
    solution = replace(caught.value.solution, stepper=ExplicitRungeKutta(RK4))
    assert caught.value.certificate is None
    estimate = stfem.estimate(solution)
    assert estimate.error <= estimate.bound
    assert estimate.history["time"][-1] == solution.time


def test_on_a_mesh():
    problem = stfem.problems.leaving_pulse(dim=1, eps=1e-3)
    with pytest.raises(stfem.NonFiniteError) as caught:
        stfem.certify(problem, cells=16, degree=1, dt=0.005, stepper=Stumbling(21, broken))
    partial = caught.value.certificate
    assert partial.error <= partial.bound < np.inf
    assert partial.solution.steps == 20


def test_nothing_is_certified_before_the_first_step():
    with pytest.raises(stfem.NonFiniteError) as caught:
        certify(stepper=Stumbling(1, broken))
    assert caught.value.certificate is None
    assert caught.value.solution is None


@pytest.mark.parametrize("history", [False, True])
def test_an_interrupted_run_ends_after_its_step(history):
    with pytest.raises(stfem.InterruptedRunError, match="interrupted at time") as caught:
        stfem.solve(TRANSPORT, cells=16, degree=2, dt=0.01, stepper=Stumbling(31, interrupt), history=history)
    assert isinstance(caught.value, KeyboardInterrupt)
    assert caught.value.solution.steps == 31
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupted_run_keeps_its_certificate():
    with pytest.raises(stfem.InterruptedRunError) as caught:
        certify(stepper=Stumbling(31, interrupt))
    partial = caught.value.certificate
    assert caught.value.time == partial.solution.time
    assert partial.error <= partial.bound < 2.0 * partial.error


@pytest.mark.parametrize(
    "error",
    [RuntimeError("pump"), MemoryError(), TypeError("complex"), KeyError(3), StopIteration()],
    ids=repr,
)
def test_whatever_is_raised_keeps_what_was_reached(error):
    """The very exception of the user's function, with what there is up to the last step."""

    def fails(values):
        raise error

    plain = ExplicitRungeKutta(RK4)
    for call in (certify, solve):
        with pytest.raises(RuntimeError if isinstance(error, StopIteration) else type(error)) as caught:
            call(stepper=Stumbling(31, fails))
        found = caught.value
        assert found is error or found.__cause__ is error  # generators never pass on a StopIteration
        assert found.solution.steps == 30
        if call is certify:
            partial = found.certificate
            assert partial.solution.time == found.solution.time == partial.history["time"][-1]
            assert partial.error <= partial.bound < 2.0 * partial.error
            whole = certify(replace(TRANSPORT, final_time=partial.solution.time), stepper=plain)
            assert partial.bound == pytest.approx(whole.bound, rel=1e-2)
        else:
            assert found.certificate is None
        kept = "solution and certificate" if call is certify else "solution"
        assert f"this exception has its {kept} up to then" in found.__notes__[-1]
        assert f"had reached time {found.solution.time:.17g}" in found.__notes__[-1]


def test_the_cause_of_a_users_error_stays():
    def fails(values):
        try:
            raise KeyError("pump")
        except KeyError as error:
            raise RuntimeError("no pump") from error

    for step in (1, 31):
        with pytest.raises(RuntimeError, match="no pump") as caught:
            certify(stepper=Stumbling(step, fails))
        assert isinstance(caught.value.__cause__, KeyError)
        assert (caught.value.certificate is None) == (step == 1)
        assert hasattr(caught.value, "__notes__") == (step != 1)


def test_a_source_that_raises():
    """It is asked by the time stepping and by the estimate, which may be the first to ask."""

    def source(x, t):
        if t > 0.105:
            raise RuntimeError("the pump is empty")
        return 0.0 * x[0]

    with pytest.raises(RuntimeError, match="the pump is empty") as caught:
        certify(replace(TRANSPORT, source=source, exact=None))
    assert 0.09 < caught.value.solution.time <= 0.11
    assert 0.0 < caught.value.certificate.bound < np.inf
    assert caught.value.certificate.solution.time == caught.value.solution.time


def test_an_estimate_that_raises_leaves_the_solution():
    class Failing:
        def run(self, semidiscretization, nodes, order):
            for _ in zip(range(20), nodes, strict=False):
                pass
            raise RuntimeError("no estimate")

    with pytest.raises(RuntimeError, match="no estimate") as caught:
        certify(estimator=Failing())
    assert caught.value.solution.steps == 19
    assert caught.value.certificate is None
    with pytest.raises(stfem.SolveError) as caught:  # the first error is the one that tells
        certify(estimator=Failing(), stepper=Stumbling(11, unsolved))
    assert "the estimate up to there came to no end: RuntimeError('no estimate')" in caught.value.__notes__
    assert caught.value.solution.steps == 10


ENDS = {"left": lambda x: x[0] == 0.0, "right": lambda x: x[0] == 1.0}
LINE = skfem.MeshLine(np.linspace(0.0, 1.0, 9)).with_boundaries(ENDS)
SEARCHED = {
    "torus": (TRANSPORT, 1e-9),
    "domain": (stfem.problems.leaving_pulse(dim=1, eps=1e-2, final_time=0.1, mesh=LINE), 1e-4),
    "stationary": (stfem.problems.stationary_layer(eps=0.1), 1e-9),
}


@pytest.mark.parametrize(("problem", "tol"), SEARCHED.values(), ids=SEARCHED)
def test_an_interrupted_search_keeps_its_best_certificate(problem, tol):
    def interrupts(attempt):
        # the second run of a search, or the window after the first that was good enough
        if next(numbers) > 1 and getattr(attempt, "accepted", True):
            signal.raise_signal(signal.SIGINT)

    numbers = count(1)

    with pytest.raises(stfem.InterruptedRunError) as caught:
        stfem.certify(problem, tol=tol, callback=interrupts, unproved=True)
    best = caught.value.certificate
    assert best.error <= best.bound
    assert "interrupted" in best.search.reason
    assert caught.value.solution is best.solution


def test_a_second_interruption_is_immediate():
    def twice(values):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return values

    with pytest.raises(KeyboardInterrupt) as caught:
        certify(stepper=Stumbling(5, twice))
    assert not isinstance(caught.value, stfem.InterruptedRunError)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_listener_of_the_user_is_left_alone():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        certify(stepper=Stumbling(5, interrupt))
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


def test_steps_beyond_the_stability_limit():
    problem = stfem.problems.viscous_burgers(dim=1, eps=1e-3)
    with pytest.raises(stfem.CflError, match="times the stability limit") as caught:
        stfem.solve(problem, cells=256, degree=2, dt=2e-3, stepper=ExplicitRungeKutta(RK4))
    error = caught.value
    assert isinstance(error, stfem.NonFiniteError)
    assert error.limit < 1e-3 < error.dt <= 2e-3
    assert f"use dt ≤ {error.limit:.4g}" in error.advice
    stfem.solve(problem, cells=256, degree=2, dt=error.limit, stepper=ExplicitRungeKutta(RK4))


def shallow(depth, speed=0.0):
    def initial(x):
        left = np.abs(x[0] - 0.5) < 0.25
        return np.stack([np.where(left, 1.0, depth), np.where(left, speed, 0.0)])

    equation = stfem.equations.ShallowWater(lower=0.005, upper=2.0, speed=4.0)
    return stfem.Problem(equation, stfem.Torus((1.0,)), initial, final_time=0.3)


def test_a_depth_that_turns_negative():
    with pytest.raises(stfem.InadmissibleStateError, match="has no wave speeds there") as caught:
        stfem.solve(shallow(0.01), cells=40, degree=1, initial_correction=False)
    error = caught.value
    assert error.values[0] <= 0.0
    assert (error.step, len(error.cell)) == (1, 1)
    # drained next to the dam
    assert min(abs((error.cell[0] + 0.5) / 40 - edge) for edge in (0.25, 0.75)) < 0.05


def test_initial_values_that_the_correction_drains():
    with pytest.raises(stfem.InadmissibleStateError, match="initial_correction=False") as caught:
        stfem.solve(shallow(0.01), cells=40, degree=1)
    assert (caught.value.time, caught.value.step) == (0.0, 0)
    assert caught.value.values[0] <= 0.0


def test_errors_survive_a_pickle():
    with pytest.raises(stfem.InadmissibleStateError) as caught:
        stfem.solve(shallow(0.01), cells=40, degree=1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is stfem.InadmissibleStateError
    assert str(again) == str(caught.value)
    assert (again.step, again.cell, list(again.values)) == (0, caught.value.cell, list(caught.value.values))
    node = Node(0.0, np.zeros(1), np.zeros(1))
    interrupted = pickle.loads(pickle.dumps(stfem.InterruptedRunError(0.5, None, node.time)))
    assert (interrupted.time, interrupted.certificate) == (0.5, 0.0)
