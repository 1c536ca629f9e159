"""Every exact solution solves its equation with its source, by differences of the solution alone."""

import inspect
import math
import re

import numpy as np
import pytest

from stfem.data import sine
from stfem.problems import (
    CATALOGUE,
    burgers_cole_hopf,
    diffusive_p_system,
    linear_advection_diffusion,
    shallow_water,
    sheared_pulse,
    viscous_burgers,
)
from stfem.problems.manufactured import power_series

CASES = [
    (factory, dim)
    for name, factory in CATALOGUE.items()
    for dim in (1, 2, 3)
    if name != "burgers_cole_hopf" and (factory, dim) not in ((sheared_pulse, 1), (shallow_water, 3))
]
STEP = 1e-3
FIRST = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}  # weights of fourth order
SECOND = {-2: -1 / 12, -1: 4 / 3, 0: -5 / 2, 1: 4 / 3, 2: -1 / 12}
PI2 = 2.0 * math.pi


def points(dim, n=40):
    return np.random.default_rng(dim).uniform(size=(dim, n))


def along(dim, i, step):
    shift = np.zeros((dim, 1))
    shift[i] = step
    return shift


def residual(problem, x, t, step=STEP):
    """∂_t u + ∇·f(u) + c u − ε Δu − g."""
    equation, u, d = problem.equation, problem.exact, problem.domain.dim
    total = sum(w * u(x, t + k * step) for k, w in FIRST.items()) / step
    for i in range(d):
        for k, w in FIRST.items():
            y = x + along(d, i, k * step)
            total = total + w * equation.flux(u(y, t), y, t, i) / step
        diffused = np.array(equation.diffused)[:, None] * equation.diffusion[i, i]
        total = (
            total - diffused * sum(w * u(x + along(d, i, k * step), t) for k, w in SECOND.items()) / step**2
        )
    return total + equation.reaction(x, t) * u(x, t) - np.stack([g(x, t) for g in problem.source])


def gradient_defect(problem, x, t, step=STEP):
    d = problem.domain.dim
    slopes = [
        sum(w * problem.exact(x + along(d, i, k * step), t) for k, w in FIRST.items()) / step
        for i in range(d)
    ]
    return float(np.max(np.abs(problem.exact_gradient(x, t) - np.stack(slopes))))


@pytest.mark.parametrize(("factory", "dim"), CASES)
@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_exact_solution_solves_the_equation(factory, dim, eps) -> None:
    problem = factory(dim=dim, eps=eps)
    x, t = points(dim), 0.31 * problem.final_time
    assert np.max(np.abs(residual(problem, x, t))) < 1e-6
    assert gradient_defect(problem, x, t) < 1e-7
    start = np.stack([u(x) for u in problem.initial])
    assert problem.exact(x, 0.0) == pytest.approx(start, abs=1e-13)
    assert all(datum.assumption is None for datum in (*problem.initial, *problem.source))
    assert not any(datum.time_dependent for datum in problem.initial)


@pytest.mark.parametrize(("factory", "dim"), CASES)
def test_residual_sees_a_wrong_diffusion(factory, dim) -> None:
    problem, other = factory(dim=dim, eps=0.1), factory(dim=dim, eps=0.101)
    x, t = points(dim), 0.31 * problem.final_time
    object.__setattr__(problem, "equation", other.equation)
    assert np.max(np.abs(residual(problem, x, t))) > 1e-4


def test_paper_problems_are_those_of_the_paper() -> None:
    x, y = points(2)
    t, eps = 0.04, 0.01
    linear = np.exp(-8 * eps * np.pi**2 * t) * np.sin(PI2 * (x - t)) * np.cos(PI2 * (y - t / 2))
    assert linear_advection_diffusion(2, eps).exact(points(2), t)[0] == pytest.approx(linear, abs=1e-13)
    burgers = 2 + 0.2 * np.sin(PI2 * (x - 0.7 * t)) * np.cos(PI2 * (y + 0.4 * t))
    assert viscous_burgers(2, eps).exact(points(2), t)[0] == pytest.approx(burgers, abs=1e-13)
    a, b = PI2 * (x - 0.3 * t), PI2 * (y + 0.2 * t)
    system = [1 + 0.1 * np.sin(a) * np.cos(b), 0.2 * np.cos(a) * np.cos(b), -0.15 * np.sin(a) * np.sin(b)]
    assert diffusive_p_system(2, eps).exact(points(2), t) == pytest.approx(np.array(system), abs=1e-13)
    times = [f().final_time for f in (linear_advection_diffusion, viscous_burgers, diffusive_p_system)]
    assert times == [1.0, 0.1, 0.05]


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_source_of_the_p_system_has_a_proved_remainder(dim) -> None:
    problem, eps, x, t = diffusive_p_system(dim, 0.02), 0.02, points(dim, 400), 0.03
    u, slopes = problem.exact(x, t), problem.exact_gradient(x, t)
    assert np.max(np.abs(u[0] - 1.0)) <= 0.1
    for i in range(dim):
        datum, pressure = problem.source[1 + i], -2.0 * slopes[i, 0] / u[0] ** 3
        assert 0.0 < datum.error_sup < 2e-15
        wave = dim * PI2**2 * eps * u[1 + i]  # -eps times the Laplacian
        step = 1e-3
        rate = sum(w * problem.exact(x, t + k * step)[1 + i] for k, w in FIRST.items()) / step
        assert datum(x, t) == pytest.approx(rate + pressure + wave, abs=1e-9)
    still = diffusive_p_system(dim, 0.0)
    assert np.max(np.abs(still.source[1](x, t) - problem.source[1](x, t))) > 1e-3


def test_pressure_series() -> None:
    s = sine(PI2, amplitude=0.1)
    series, remainder = power_series(s, -2.0, 0.1, PI2 * 0.1)
    x = np.linspace(0.0, 1.0, 2001)[None]
    exact = -2.0 * s.derivative(0)(x) / (1.0 + s(x)) ** 3
    assert remainder < 1e-15
    assert series.derivative(0)(x) == pytest.approx(exact, abs=1e-14)
    assert series(x) == pytest.approx((1.0 + s(x)) ** -2, abs=2e-15)


@pytest.mark.parametrize("exponent", [-2.5, 0.5, 1.4, 2.0, 3.5])
def test_power_series(exponent) -> None:
    """The remainder is proved: above what is left out, also where that is not tiny."""
    x = np.linspace(0.0, 1.0, 2001)[None]
    for size in (0.1, 0.25):
        s = sine(PI2, amplitude=size)
        series, remainder = power_series(s, exponent, size, PI2 * size)
        slope = exponent * s.derivative(0)(x) * (1.0 + s(x)) ** (exponent - 1.0)
        missed = float(np.max(np.abs(series.derivative(0)(x) - slope)))
        assert missed <= remainder + 5e-14
        assert remainder <= 30.0 * missed + 5e-14
        if size == 0.25 and exponent < 0.0:
            assert missed > 1e-10  # the test sees what is left out
    assert power_series(s, 2.0, 0.25, PI2)[1] == 0.0


@pytest.mark.parametrize("name", ["shallow_water", "isothermal_euler", "isentropic_euler"])
def test_gases_stay_in_their_state_sets(name) -> None:
    problem = CATALOGUE[name](2, 0.02)
    for t in (0.0, problem.final_time):
        states = problem.exact(points(2, 2000), t)
        assert problem.equation.entropy.states.contains(states).all()
    assert np.ptp(states[0]) > 0.15


def test_sheared_velocity_is_divergence_free_and_not_constant() -> None:
    for dim in (2, 3):
        equation = sheared_pulse(dim).equation
        assert equation.velocity_divergence == ()
        assert not any(b.constant for b in equation.velocity)


@pytest.mark.parametrize("eps", [0.02, 1e-3])
@pytest.mark.parametrize("t", [0.02, 0.1, 0.3])
def test_cole_hopf_solves_burgers(eps, t) -> None:
    problem = burgers_cole_hopf(eps)
    x, step = points(1, 200), min(STEP, 0.05 * eps)
    size = np.max(np.abs(problem.exact_gradient(x, t)))
    assert np.max(np.abs(residual(problem, x, t, step))) < 1e-6 * (1.0 + size) ** 2
    assert gradient_defect(problem, x, t, step) < 1e-6 * (1.0 + size)
    object.__setattr__(problem, "equation", burgers_cole_hopf(1.01 * eps).equation)
    assert np.max(np.abs(residual(problem, x, t, step))) > 1e-6 * (1.0 + size) ** 2


@pytest.mark.parametrize("t", [0.1, 2.0, 16.0, 1024.0])
def test_cole_hopf_against_the_heat_kernel_series(t) -> None:
    eps = 0.02
    n = np.arange(-120, 121)
    nodes = np.arange(1024) / 1024
    start = np.exp(-(np.sin(np.pi * nodes) ** 2) / (2 * np.pi * eps))
    modes = np.array([np.mean(start * np.exp(-1j * PI2 * k * nodes)) for k in n]) * np.exp(
        -eps * (PI2 * n) ** 2 * t
    )
    x = points(1, 50)
    waves = np.exp(1j * PI2 * n[:, None] * x[0])
    phi, slope = (modes @ waves).real, ((1j * PI2 * n * modes) @ waves).real
    assert burgers_cole_hopf(eps).exact(x, t)[0] == pytest.approx(-2.0 * eps * slope / phi, abs=1e-11)


@pytest.mark.parametrize("eps", [1.0, 10.0])
@pytest.mark.parametrize("t", [4.0, 16.0, 100.0])
def test_cole_hopf_decays(eps, t) -> None:
    """Below exp(−4π²εt) < 1e-60: a rule that meets the same phase of every wave would return u_0 instead."""
    assert np.max(np.abs(burgers_cole_hopf(eps).exact(points(1), t))) < 1e-12


@pytest.mark.parametrize("eps", [100.0, 1.0, 0.02, 1e-3, 1e-4, 1e-5])
def test_cole_hopf_everywhere(eps) -> None:
    problem = burgers_cole_hopf(eps, 0.5)
    x = np.linspace(0.0, 1.0, 101)[None]
    for t in (0.0, 1e-8, 0.1, 0.5):
        u = problem.exact(x, t)
        assert np.all(np.abs(u) <= 1.0 + 1e-14)
        assert u[0] == pytest.approx(-u[0, ::-1], abs=max(1e-12, 1e-16 / eps))  # slopes reach 0.1/eps
    assert problem.exact(x.reshape(1, 101, 1), 0.1).shape == (1, 101, 1)


def test_catalogue() -> None:
    assert set(CATALOGUE) == {
        "linear_advection_diffusion",
        "viscous_burgers",
        "diffusive_p_system",
        "burgers_cole_hopf",
        "sheared_pulse",
        "viscous_p_system",
        "shallow_water",
        "isothermal_euler",
        "isentropic_euler",
        "acoustics",
    }
    for factory in CATALOGUE.values():
        problem = factory(eps=0.05, final_time=0.02)
        assert problem.final_time == 0.02
        assert problem.equation.diffusion[0, 0] == 0.05
        assert problem.exact is not None
        assert problem.exact_gradient is not None


@pytest.mark.parametrize("factory", CATALOGUE.values())
@pytest.mark.parametrize(
    ("argument", "wrong", "of_another_type"),
    [
        ("eps", (math.nan, math.inf, -math.inf, -1.0, -5e-324, 1e308), ("1", None, True, 1j, [0.1])),
        ("final_time", (math.nan, math.inf, -1.0, 0.0, 5e-324, 1e-300, 1e308), ("1", None, True, [0.1])),
        ("dim", (-1, 0, 4), (2.0, math.nan, "2", None, True, (1, 2))),
    ],
)
def test_wrong_arguments(factory, argument, wrong, of_another_type) -> None:
    """One clear error; that no warning comes before it is watched by the test configuration."""
    if argument not in inspect.signature(factory).parameters:
        return
    for value in wrong:
        with pytest.raises(ValueError, match=f"^{argument}: expected .*got {re.escape(str(value))}$"):
            factory(**{argument: value})
    for value in of_another_type:
        with pytest.raises(TypeError, match=f"^{argument}: expected .*got {re.escape(repr(value))}$"):
            factory(**{argument: value})


@pytest.mark.parametrize("factory", CATALOGUE.values())
def test_extreme_arguments(factory) -> None:
    """The ends of what is accepted give finite solutions, and numpy's numbers are numbers."""
    cole_hopf = factory is burgers_cole_hopf
    for eps in (1e-5, 100.0) if cole_hopf else (0.0, 5e-324, np.float32(0.5), np.int64(1), 1e100):
        for final_time in (1e-100, 0.02) if cole_hopf else (1e-100, np.float64(0.02), 1, 1e100):
            problem = factory(eps=eps, final_time=final_time)
            x = points(problem.domain.dim)
            assert np.isfinite(problem.exact(x, problem.final_time)).all()
            assert np.isfinite([g(x, 0.0) for g in problem.source]).all()


def test_single_precision_does_not_spoil_the_solution() -> None:
    given, exact = (linear_advection_diffusion(1, eps) for eps in (np.float32(0.1), float(np.float32(0.1))))
    assert np.array_equal(given.exact(points(1), 0.7), exact.exact(points(1), 0.7))


def test_cole_hopf_needs_diffusion() -> None:
    with pytest.raises(ValueError, match="eps: expected positive"):
        burgers_cole_hopf(0.0)


def test_cole_hopf_that_cannot_be_evaluated_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"expected a smaller .*got t = 1e\+90, eps = 0.02"):
        burgers_cole_hopf(0.02, 1e90)
