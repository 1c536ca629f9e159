"""Observed order, stage times and the sharing of work of the explicit and the implicit-explicit steppers."""

import numpy as np
import pytest

from stfem.timestepping import (
    ARK324L2SA,
    ARK548L2SA,
    DORMAND_PRINCE5,
    FEHLBERG7,
    RK4,
    SSPRK22,
    SSPRK33,
    ExplicitRungeKutta,
    ImplicitExplicitRungeKutta,
    default_stepper,
    integrate,
)

EXPLICIT = [ExplicitRungeKutta(t) for t in (SSPRK22, SSPRK33, RK4, DORMAND_PRINCE5, FEHLBERG7)]
IMEX = [ImplicitExplicitRungeKutta(t) for t in (ARK324L2SA, ARK548L2SA)]


class Scalars:
    """u' = H(t,u) + rate·u for a small vector u; counts its evaluations."""

    def __init__(self, hyperbolic, decay=0.0):
        self.hyperbolic = hyperbolic
        self.decay = decay
        self.has_diffusion = decay != 0
        self.calls = {"hyperbolic": 0, "parabolic": 0, "solve": 0}
        self.shifts = set()

    def rhs_hyperbolic(self, t, u):
        self.calls["hyperbolic"] += 1
        return np.broadcast_to(self.hyperbolic(t, u), u.shape) + 0.0

    def rhs_parabolic(self, t, u):
        self.calls["parabolic"] += 1
        return -self.decay * u

    def solve_parabolic(self, rhs, shift):
        self.calls["solve"] += 1
        self.shifts.add(shift)
        return rhs / (1 + shift * self.decay)


# name: (H, decay of P, initial, exact solution)
PROBLEMS = {
    "u' = -u + t": (lambda t, u: -u + t, 0.0, 1.0, lambda t: t - 1 + 2 * np.exp(-t)),
    "u' = cos 3t": (lambda t, u: np.cos(3 * t), 0.0, 0.0, lambda t: np.sin(3 * t) / 3),
    "u' = (1 + u²)/2": (lambda t, u: (1 + u**2) / 2, 0.0, 0.0, lambda t: np.tan(t / 2)),
    "decay explicit": (lambda t, u: t + 0 * u, 1.0, 1.0, lambda t: t - 1 + 2 * np.exp(-t)),
    "both parts": (lambda t, u: (1 + u**2) / 2 + u, 1.0, 0.0, lambda t: np.tan(t / 2)),
    "source and decay": (
        lambda t, u: np.cos(2 * t),
        1.0,
        1.0,
        lambda t: (np.cos(2 * t) + 2 * np.sin(2 * t) + 4 * np.exp(-t)) / 5,
    ),
}


def largest_error(stepper, problem, steps):
    """Over all nodes: the error at one time may change its sign between two steps."""
    hyperbolic, decay, initial, exact = PROBLEMS[problem]
    nodes = integrate(Scalars(hyperbolic, decay), stepper, np.full((1, 2), initial), 1.0, 1.0 / steps)
    return max(np.abs(node.values - exact(node.time)).max() for node in nodes)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("stepper", [*EXPLICIT, *IMEX], ids=repr)
def test_observed_order(stepper, problem):
    coarse = {2: 64, 3: 64, 4: 32, 5: 16, 7: 4}[stepper.order]
    errors = [largest_error(stepper, problem, steps) for steps in (coarse, 2 * coarse)]
    assert errors[1] > 2e-15, "at the level of rounding: the order cannot be seen"
    observed = np.log2(errors[0] / errors[1])
    # Quadrature may gain an order by the symmetry of the nodes; the leading error of Fehlberg's method is so
    # small on the tangent that the next one shows.
    gain = 1.0 if problem == "u' = cos 3t" or stepper.order == 7 else 0.5
    assert stepper.order - 0.25 < observed < stepper.order + gain + 0.1


def test_order_needs_the_stage_times():
    """Negative control: freezing the source at the start of the step costs the order."""

    class Frozen(Scalars):
        start = 0.0

        def rhs_hyperbolic(self, t, u):
            return super().rhs_hyperbolic(np.floor(t * self.steps + 1e-9) / self.steps, u)

    errors = []
    for steps in (32, 64):
        ode = Frozen(lambda t, u: -u + t)
        ode.steps = steps
        *_, node = integrate(ode, EXPLICIT[2], np.ones(1), 1.0, 1 / steps)
        errors.append(abs(node.values[0] - 2 * np.exp(-1)))
    assert np.log2(errors[0] / errors[1]) < 2


def test_one_step_of_ssprk3_with_a_source():
    ode = Scalars(lambda t, u: t)
    for dt in (0.5, 0.1):
        new = ExplicitRungeKutta(SSPRK33).step(ode, 0.0, np.zeros(3), dt, np.zeros(3))
        np.testing.assert_allclose(new, dt**2 / 2, rtol=1e-15)


@pytest.mark.parametrize("stepper", EXPLICIT, ids=repr)
def test_explicit_work(stepper):
    """The rate serves as first stage, and a stage without weight is skipped."""
    ode = Scalars(lambda t, u: -u, 1.0)
    u = np.arange(6.0).reshape(1, 2, 3)
    u.flags.writeable = False
    new = stepper.step(ode, 0.0, u, 0.1, -2 * u)
    evaluations = {2: 1, 3: 2, 4: 3, 5: 5, 7: 10}[stepper.order]
    assert ode.calls == {"hyperbolic": evaluations, "parabolic": evaluations, "solve": 0}
    assert new.shape == u.shape
    assert not np.shares_memory(new, u)
    again = stepper.step(ode, 0.0, u, 0.1, -2 * u)
    assert not np.shares_memory(new, again)
    np.testing.assert_array_equal(new, again)


@pytest.mark.parametrize("stepper", IMEX, ids=repr)
def test_implicit_explicit_work(stepper):
    ode = Scalars(lambda t, u: -u, 1.0)
    stages = stepper.tableau.stages
    for t in (0.0, 0.1):
        stepper.step(ode, t, np.ones(2), 0.1, -2 * np.ones(2))
    assert ode.calls == {"hyperbolic": 2 * (stages - 1), "parabolic": 2, "solve": 2 * (stages - 1)}
    assert len(ode.shifts) == 1


@pytest.mark.parametrize("stepper", IMEX, ids=repr)
def test_without_diffusion_the_explicit_part_steps(stepper):
    ode = Scalars(lambda t, u: u**2)
    u = np.array([0.3, -0.7])
    new = stepper.step(ode, 0.0, u, 0.1, u**2)
    expected = ExplicitRungeKutta(stepper.tableau.explicit).step(ode, 0.0, u, 0.1, u**2)
    np.testing.assert_array_equal(new, expected)
    assert ode.calls["solve"] == ode.calls["parabolic"] == 0
    # ... and a vanishing diffusion changes nothing but rounding.
    tiny = Scalars(lambda t, u: u**2, 1e-300)
    np.testing.assert_allclose(stepper.step(tiny, 0.0, u, 0.1, u**2), new, rtol=1e-14)


@pytest.mark.parametrize("decay", [1e5, 1e8, 1e11])
@pytest.mark.parametrize("stepper", IMEX, ids=repr)
def test_stiff_decay_is_damped_without_step_limit(stepper, decay):
    """u' = cos t − decay·u: all stages vanish like 1/decay; what is left of a step is dt sum (b − aE_s) H."""
    ode = Scalars(lambda t, u: np.cos(t), decay)
    *_, node = integrate(ode, stepper, np.ones(1), 1.0, 0.05)
    explicit = stepper.tableau.explicit
    a, b, c = (np.array(x, dtype=float) for x in (explicit.a, explicit.b, explicit.c))
    left = 0.05 * (b - a[-1]) @ np.cos(0.95 + 0.05 * c)
    assert abs(left) < 1e-3
    assert node.values[0] == pytest.approx(left, abs=20 / decay + 1e-10)


@pytest.mark.parametrize("stepper", IMEX, ids=repr)
def test_explicit_step_is_limited_where_implicit_is_not(stepper):
    ode = Scalars(lambda t, u: 0.0, 1e4)
    *_, implicit = integrate(ode, stepper, np.ones(1), 1.0, 0.1)
    assert abs(implicit.values[0]) < 1e-3
    *_, explicit = integrate(ode, EXPLICIT[2], np.ones(1), 0.5, 0.1)
    assert abs(explicit.values[0]) > 1e6


def test_implicit_tableau_is_refused_by_the_explicit_stepper():
    with pytest.raises(ValueError, match="expected an explicit tableau, got"):
        ExplicitRungeKutta(ARK324L2SA.implicit)


@pytest.mark.parametrize(
    ("degree", "limits", "tableau"),
    [
        (0, False, SSPRK22),
        (1, False, RK4),
        (2, False, DORMAND_PRINCE5),
        (3, False, FEHLBERG7),
        (5, False, FEHLBERG7),
        (0, True, ARK324L2SA),
        (1, True, ARK324L2SA),
        (2, True, ARK548L2SA),
        (4, True, ARK548L2SA),
    ],
)
def test_default_stepper(degree, limits, tableau):
    stepper = default_stepper(degree, limits)
    assert stepper.tableau is tableau
    assert stepper.implicit is limits
    if not limits and degree <= 3:
        assert stepper.order >= 2 * degree + 1


def test_default_stepper_refuses_other_degrees():
    with pytest.raises(ValueError, match="at least 0, got -1"):
        default_stepper(-1, False)
    for degree in (1.0, True, "2"):
        with pytest.raises(TypeError, match="degree: expected a whole number, got"):
            default_stepper(degree, False)


class InPlace(Scalars):
    """The same, writing to given arrays."""

    takes_out = True

    def rhs(self, t, u, out=None):
        out[...] = super().rhs_hyperbolic(t, u)
        if self.has_diffusion:
            out += super().rhs_parabolic(t, u)
        return out

    def rhs_hyperbolic(self, t, u, out=None):
        return np.copyto(out, super().rhs_hyperbolic(t, u))

    def rhs_parabolic(self, t, u, out=None):
        return np.copyto(out, super().rhs_parabolic(t, u))

    def solve_parabolic(self, rhs, shift, out=None):
        return np.copyto(out, super().solve_parabolic(rhs, shift))


@pytest.mark.parametrize("stepper", [*EXPLICIT, *IMEX], ids=str)
@pytest.mark.parametrize("decay", [0.0, 2.0])
def test_in_place_or_not_is_the_same_and_nodes_stay(stepper, decay):
    def hyperbolic(t, u):
        return np.cos(t) - u**2

    plain, in_place = (kind(hyperbolic, decay) for kind in (Scalars, InPlace))
    initial = np.array([0.3, 0.5])
    nodes = list(integrate(in_place, stepper, initial, 1.0, 0.25))
    copies = [node.values.copy() for node in integrate(in_place, stepper, initial, 1.0, 0.25)]
    for node, copy, expected in zip(
        nodes, copies, integrate(plain, stepper, initial, 1.0, 0.25), strict=True
    ):
        np.testing.assert_array_equal(node.values, expected.values)
        np.testing.assert_array_equal(node.rate, expected.rate)
        np.testing.assert_array_equal(node.values, copy)
    assert in_place.calls == {kind: 2 * count for kind, count in plain.calls.items()}
