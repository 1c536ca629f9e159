import math

import numpy as np
import pytest
from scipy.integrate import quad

from stfem.data import sine
from stfem.equations import AdvectionDiffusion, Burgers, DiffusivePSystem, ScalarConservationLaw
from stfem.fluxes import flux_engquist_osher, flux_rusanov, flux_upwind

QUARTIC = ScalarConservationLaw((0.0, 0.2, -1.0, 0.1, 0.7))
SINE = ScalarConservationLaw(np.sin, np.cos, lambda u: -np.sin(u))
SHEAR = AdvectionDiffusion((sine((0.0, 2.0 * math.pi)), 0.3))
LINEAR = AdvectionDiffusion((1.0, -0.5))


def traces(equation, n=50, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(equation.dim, n))
    minus, plus = equation.probe_states(rng, n), equation.probe_states(rng, n)
    return (minus, plus, x) if equation.components > 1 else (3.0 * minus - 2.0, 3.0 * plus - 2.0, x)


@pytest.mark.parametrize("equation", [LINEAR, SHEAR, Burgers(2), QUARTIC, SINE, DiffusivePSystem(0.1, 3)])
@pytest.mark.parametrize("flux", [flux_rusanov, flux_engquist_osher, flux_upwind])
def test_consistency(equation, flux) -> None:
    if (flux is flux_upwind and not equation.linear) or (
        flux is flux_engquist_osher and equation.components > 1
    ):
        pytest.skip("not offered")
    u, other, x = traces(equation)
    for i in range(equation.dim):
        expected = equation.flux(u, x, 0.2, i)
        assert flux(equation, u, u, x, 0.2, i) == pytest.approx(expected, abs=1e-14)
        changes = [
            np.max(np.abs(flux(equation, *pair, x, 0.2, i) - expected)) for pair in ((u, other), (other, u))
        ]
        assert max(changes) > 1e-3  # it depends on the traces


@pytest.mark.parametrize("equation", [LINEAR, SHEAR, Burgers(2), QUARTIC])
def test_monotone(equation) -> None:
    """Nondecreasing in u⁻ and nonincreasing in u⁺."""
    u, v, x = traces(equation)
    step = 1e-4
    for i in range(equation.dim):
        base = flux_engquist_osher(equation, u, v, x, 0.0, i)
        slack = 1e-14 * np.max(np.abs(base))
        assert np.all(flux_engquist_osher(equation, u + step, v, x, 0.0, i) >= base - slack)
        assert np.all(flux_engquist_osher(equation, u, v + step, x, 0.0, i) <= base + slack)
        moved = flux_engquist_osher(equation, u + step, v - step, x, 0.0, i)
        assert np.any(moved > base + 1e-6)


def test_linear_fluxes_are_upwind() -> None:
    for equation in (LINEAR, SHEAR):
        u, v, x = traces(equation)
        for i in range(2):
            speed = equation.velocity[i](x, 0.0)
            expected = np.maximum(speed, 0.0) * u + np.minimum(speed, 0.0) * v
            for flux in (flux_upwind, flux_rusanov, flux_engquist_osher):
                assert flux(equation, u, v, x, 0.0, i) == pytest.approx(expected, abs=1e-15)


def test_dissipation_uses_the_normal_speed() -> None:
    # R4.10: velocity (1, 0), normal (0, 1), states 0 and 1
    equation, x = AdvectionDiffusion((1.0, 0.0)), np.zeros((2, 1))
    zero, one = np.zeros((1, 1)), np.ones((1, 1))
    for flux in (flux_upwind, flux_rusanov, flux_engquist_osher):
        assert flux(equation, zero, one, x, 0.0, 1)[0, 0] == 0.0
    assert flux_rusanov(equation, zero, one, x, 0.0, 0)[0, 0] == 0.0
    assert flux_rusanov(equation, one, zero, x, 0.0, 0)[0, 0] == 1.0


def test_rusanov_of_the_p_system() -> None:
    equation, x = DiffusivePSystem(0.0, 2), np.zeros((2, 1))
    minus, plus = np.array([[1.0], [0.2], [0.5]]), np.array([[2.0], [0.4], [0.1]])
    speed = math.sqrt(2.0)  # of the side with the smaller volume
    expected = [-0.3 - 0.5 * speed, 0.5 * (1.0 + 0.25) - 0.5 * speed * 0.2, 0.5 * speed * 0.4]
    assert flux_rusanov(equation, minus, plus, x, 0.0, 0)[:, 0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("minus", "plus", "expected"), [(-1.0, 2.0, 0.0), (2.0, -1.0, 2.5), (1.0, 2.0, 0.5), (-1.0, -2.0, 2.0)]
)
def test_engquist_osher_for_burgers(minus, plus, expected) -> None:
    a, b = np.array([[minus]]), np.array([[plus]])
    assert flux_engquist_osher(Burgers(1), a, b, np.zeros((1, 1)), 0.0, 0)[0, 0] == pytest.approx(expected)


@pytest.mark.parametrize(("equation", "tolerance"), [(QUARTIC, 1e-12), (SINE, 1e-2)])
def test_engquist_osher_against_integration(equation, tolerance) -> None:
    for minus, plus in [(-1.3, 1.4), (1.9, -0.2), (-1.0, 0.4), (0.3, 0.2), (-2.5, 2.5)]:
        a, b, x = np.array([[minus]]), np.array([[plus]]), np.zeros((1, 1))

        def speed(s, x=x):
            return float(equation.wave_speed(np.array([[s]]), x, 0.0, 0)[0])

        kinks = [
            p
            for p in (*np.pi * np.array([-0.5, 0.5]), *(QUARTIC.sonic_points(0) or ()))
            if min(a, b) < p < max(a, b)
        ]
        integral = quad(speed, minus, plus, points=kinks or None, epsabs=1e-13, epsrel=1e-13)[0]
        mean = 0.5 * (equation.flux(a, x, 0.0, 0) + equation.flux(b, x, 0.0, 0))[0, 0]
        got = flux_engquist_osher(equation, a, b, x, 0.0, 0)[0, 0]
        assert got == pytest.approx(mean - 0.5 * integral, abs=tolerance * (1.0 + abs(minus - plus) ** 2))


def test_given_sonic_points_make_it_exact() -> None:
    known = ScalarConservationLaw(
        np.sin, np.cos, lambda u: -np.sin(u), sonic_points=(-0.5 * np.pi, 0.5 * np.pi)
    )
    a, b, x = np.array([[-2.0]]), np.array([[2.5]]), np.zeros((1, 1))
    variation = (1.0 - math.sin(2.0)) + 2.0 + (1.0 - math.sin(2.5))
    expected = 0.5 * (math.sin(-2.0) + math.sin(2.5) - variation)
    assert flux_engquist_osher(known, a, b, x, 0.0, 0)[0, 0] == pytest.approx(expected, abs=1e-15)
    assert flux_engquist_osher(SINE, a, b, x, 0.0, 0)[0, 0] != pytest.approx(expected, abs=1e-6)


def test_refusals() -> None:
    u, x = np.ones((1, 1)), np.zeros((1, 1))
    with pytest.raises(TypeError, match="linear"):
        flux_upwind(Burgers(1), u, u, x, 0.0, 0)
    with pytest.raises(TypeError, match="scalar"):
        flux_engquist_osher(DiffusivePSystem(0.0, 1), np.ones((2, 1)), np.ones((2, 1)), x, 0.0, 0)
