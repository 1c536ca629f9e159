"""The integration loop: step counts, times, rates, read-only nodes, non-finite runs, user steppers."""

from math import inf, nan

import numpy as np
import pytest

from stfem.timestepping import RK4, ExplicitRungeKutta, NonFiniteError, integrate, number_of_steps


class Growth:
    """u' = u^power, without diffusion, or with P = −u."""

    def __init__(self, power=1, has_diffusion=False):
        self.power = power
        self.has_diffusion = has_diffusion

    def rhs_hyperbolic(self, t, u):
        return u**self.power

    def rhs_parabolic(self, t, u):
        return -u

    def solve_parabolic(self, rhs, shift):
        return rhs / (1 + shift)


RUNGE_KUTTA = ExplicitRungeKutta(RK4)


@pytest.mark.parametrize(
    ("final_time", "dt", "steps"),
    [
        (1, 0.1, 10),
        (2, 0.005, 400),
        (0.3, 0.1, 3),
        (1, 0.3, 4),
        (1, 2, 1),
        (1, inf, 1),
        (1, 1 / 49, 49),
        (1, np.nextafter(1 / 3, 0), 3),
        (1, 1 / 3 - 1e-8, 4),
    ],
)
def test_number_of_steps(final_time, dt, steps):
    assert number_of_steps(final_time, dt) == steps
    *_, last = nodes = list(integrate(Growth(), RUNGE_KUTTA, np.ones(1), final_time, dt))
    assert len(nodes) == steps + 1
    assert last.time == final_time
    np.testing.assert_allclose(
        [node.time for node in nodes], np.linspace(0, final_time, steps + 1), rtol=1e-15
    )


@pytest.mark.parametrize(
    "arguments", [(0.0, 0.1), (-1.0, 0.1), (inf, 0.1), (nan, 1.0), (1.0, 0.0), (1.0, -1.0), (1.0, nan)]
)
def test_wrong_times_are_refused_at_the_call(arguments):
    with pytest.raises(ValueError, match="expected a positive"):
        integrate(Growth(), RUNGE_KUTTA, np.ones(1), *arguments)


def test_absurd_number_of_steps_is_refused():
    with pytest.raises(ValueError, match="at most 1e12 steps"):
        number_of_steps(1.0, 1e-300)


@pytest.mark.parametrize("final_time", [0.1, 0.7, 1 / 3, 1.1, 2.3])
def test_last_time_is_exact_and_times_do_not_drift(final_time):
    times = [node.time for node in integrate(Growth(), RUNGE_KUTTA, np.ones(1), final_time, final_time / 997)]
    assert times[0] == 0.0
    assert times[-1] == final_time
    exact = [n * final_time / 997 for n in range(998)]
    assert np.abs(np.subtract(times, exact)).max() <= np.spacing(final_time)


def test_every_node_carries_its_own_rate():
    initial = np.array([[0.5, 1.0, 0.25]])
    for node in integrate(Growth(2, has_diffusion=True), RUNGE_KUTTA, initial, 0.4, 0.1):
        np.testing.assert_allclose(node.rate, node.values**2 - node.values, rtol=1e-14, atol=1e-15)


def test_nodes_are_read_only_and_keep_their_values():
    initial = np.ones(2)
    nodes = list(integrate(Growth(), RUNGE_KUTTA, initial, 1.0, 0.25))
    initial[:] = 7.0
    np.testing.assert_allclose(
        [node.values[0] for node in nodes], np.exp([0, 0.25, 0.5, 0.75, 1.0]), rtol=1e-4
    )
    for array in (nodes[2].values, nodes[2].rate):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_nodes_stream():
    stream = integrate(Growth(), RUNGE_KUTTA, np.ones(1), 1.0, 1e-9)
    assert [next(stream).time for _ in range(3)] == pytest.approx([0.0, 1e-9, 2e-9])


def test_progress_is_called_once_per_node():
    calls = []
    list(
        integrate(
            Growth(), RUNGE_KUTTA, np.ones(1), 1.0, 0.25, progress=lambda n, total: calls.append((n, total))
        )
    )
    assert calls == [(n, 4) for n in range(5)]


def test_blow_up_stops_with_time_and_step():
    """u' = u³ from 1 blows up at t = 1/2; warnings are errors in this suite, so that none may leak."""
    nodes = []
    with pytest.raises(NonFiniteError) as caught:
        nodes.extend(integrate(Growth(3), RUNGE_KUTTA, np.ones(4), 2.0, 0.05))
    step = len(nodes)  # list.extend keeps what came before the error
    assert 10 < step < 40
    assert caught.value.step == step
    assert caught.value.time == pytest.approx(0.05 * step)
    assert f"time {caught.value.time:.17g} (step {step})" in str(caught.value)
    assert isinstance(caught.value, FloatingPointError)
    assert all(np.isfinite(node.values).all() and np.isfinite(node.rate).all() for node in nodes)


@pytest.mark.parametrize("bad", [nan, inf])
def test_non_finite_initial_value_is_step_zero(bad):
    with pytest.raises(NonFiniteError, match=r"solution is not finite at time 0 \(step 0\)"):
        next(integrate(Growth(), RUNGE_KUTTA, np.array([1.0, bad]), 1.0, 0.1))


def test_non_finite_rate_is_found_at_its_node():
    class LateFault(Growth):
        def rhs_hyperbolic(self, t, u):
            return u * (nan if t == 1.0 else 1.0)

    class Identity:
        order, implicit = 1, False

        def step(self, ode, t, u, dt, rate):
            return u + dt * rate

    with pytest.raises(NonFiniteError, match=r"rate of change of the solution .* time 1 \(step 4\)"):
        list(integrate(LateFault(), Identity(), np.ones(1), 1.0, 0.25))


def test_huge_but_finite_values_pass():
    class Rest(Growth):
        def rhs_hyperbolic(self, t, u):
            return 0 * u

    *_, node = integrate(Rest(), RUNGE_KUTTA, np.full(4, 1e308), 1.0, 0.5)
    np.testing.assert_array_equal(node.values, 1e308)


def test_error_state_of_the_caller_is_untouched():
    with np.errstate(over="raise", invalid="raise"):
        before = np.geterr()
        for _ in integrate(Growth(), RUNGE_KUTTA, np.ones(1), 1.0, 0.25):
            assert np.geterr() == before
