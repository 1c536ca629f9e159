import math

import numpy as np
import pytest

from stfem.data import Interval
from stfem.equations import CellStates, DiffusivePSystem

LOWER, UPPER = 0.7, 1.6


def system(dim=2, fully_diffusive=False):
    return DiffusivePSystem(0.1, dim, LOWER, UPPER, fully_diffusive)


def pairs(dim, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    equation = system(dim)
    return equation.probe_states(rng, n), equation.probe_states(rng, n)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_consistency(dim, full) -> None:
    system(dim, full).check()
    assert system(dim, full).diffused == (float(full), *(1.0,) * dim)


def test_wave_speed_at_unit_volume() -> None:
    state = np.array([[1.0], [0.3], [-0.2]])
    for i in range(2):  # R4.10
        assert system().wave_speed(state, np.zeros((2, 1)), 0.0, i)[0] == pytest.approx(
            math.sqrt(2.0), rel=1e-15
        )


def test_no_wave_speed_outside_the_physical_states() -> None:
    state = np.array([[-1.0], [0.0], [0.0]])
    assert np.isnan(system().wave_speed(state, np.zeros((2, 1)), 0.0, 0)[0])


def test_relative_entropy_and_pressure() -> None:
    u, v = pairs(2)
    tau, hat = u[0], v[0]
    e = tau - hat
    entropy = 1.0 / tau - 1.0 / hat + e / hat**2
    pressure = tau**-2 - hat**-2 + 2.0 * e / hat**3
    assert system().entropy.relative(u, v) == pytest.approx(
        2.0 * entropy + ((u - v)[1:] ** 2).sum(axis=0), abs=1e-13
    )
    assert pressure == pytest.approx((2.0 / hat + 1.0 / tau) * entropy, abs=1e-13)
    assert np.all(pressure <= 3.0 / LOWER * entropy + 1e-14)
    assert not np.all(pressure <= 2.9 / UPPER * entropy)  # the inequality says something


def test_constants_of_the_inequality() -> None:
    entropy = system().entropy
    u, v = pairs(2)
    e = u - v
    density = entropy.relative(u, v)
    assert np.all((e**2).sum(axis=0) <= entropy.error_factor**2 * density * (1 + 1e-12))
    bounds = np.einsum("iin->in", entropy.initial_weight(Interval(v, v)))
    assert np.all(density <= (bounds * e**2).sum(axis=0) * (1 + 1e-12))
    weights = np.einsum("iin->in", entropy.residual_weight(Interval(v, v)))
    assert weights[0] == pytest.approx(2.0 * UPPER / v[0] ** 4)
    residual = np.random.default_rng(3).normal(size=u.shape)
    second = np.array([2.0 / v[0] ** 3, np.ones_like(v[0]), np.ones_like(v[0])])
    work = np.abs((second * e * residual).sum(axis=0))
    bound = np.sqrt((weights * residual**2).sum(axis=0) * density)
    assert np.all(work <= bound * (1 + 1e-12))
    weights[0] *= 0.5
    assert not np.all(work <= np.sqrt((weights * residual**2).sum(axis=0) * density))
    plain = second[0] ** 2 / (2.0 / UPPER**3)  # the weight W''(v)^2 / min W'' of T4
    assert np.all(2.0 * weights[0] <= plain * (1 + 1e-12))


def test_sharp_error_factor_for_large_volumes() -> None:
    entropy = system().entropy
    u, v = np.array([[UPPER], [0.0], [0.0]]), np.array([[UPPER - 1e-6], [0.0], [0.0]])
    ratio = 1e-12 / entropy.relative(u, v)[0]
    assert ratio == pytest.approx(entropy.error_factor**2, rel=1e-4)


def test_growth_bounds_the_pressure_term() -> None:
    u, v = pairs(2)
    rng = np.random.default_rng(5)
    slopes, source = rng.normal(size=(3, 2)), rng.normal(size=3)
    (form,) = system().entropy.forms
    expansion = float((form.gradient * slopes).sum() + form.source @ source)
    assert expansion == pytest.approx(slopes[1, 0] + slopes[2, 1] + source[0])
    hat, tau = v[0], u[0]
    entropy = 1.0 / tau - 1.0 / hat + (tau - hat) / hat**2
    pressure = tau**-2 - hat**-2 + 2.0 * (tau - hat) / hat**3
    rates = []
    for sign in (1.0, -1.0):
        forms = np.full((1, len(tau)), sign * expansion)
        rate = system().entropy.rate(CellStates(Interval(v, v), Interval(forms, forms)))
        assert np.all(-2.0 * sign * expansion * pressure <= rate * 2.0 * entropy + 1e-13)
        rates.append(rate)
    assert np.all(np.minimum(*rates) == 0.0)  # one-sided: compression grows, expansion does not
    assert np.all(np.maximum(*rates) > 0.0)


def test_state_set_and_assumption() -> None:
    states = system().entropy.states
    assert (states.lower[0], states.upper[0]) == (LOWER, UPPER)
    assert np.isinf(states.lower[1:]).all()
    assert np.isinf(states.upper[1:]).all()
    assert system().stability.assumptions == (
        f"the specific volume of the solution stays in [{LOWER:g}, {UPPER:g}]",
    )


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (1.0, 1.0), (0.5, math.inf), (math.nan, 1.0)])
def test_wrong_state_set(lower, upper) -> None:
    with pytest.raises(ValueError, match="state set"):
        DiffusivePSystem(0.0, 2, lower, upper)
