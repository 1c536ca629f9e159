import math

import numpy as np
import pytest

from stfem.data import Approximated, Constant, Polynomial, cosine, sine
from stfem.equations import AdvectionDiffusion

PI2 = 2.0 * math.pi
ANYWHERE = (np.array([-np.inf]), np.array([np.inf]))


def rate_at(equation, x, t=0.0):
    """Values of the only form of the rate."""
    growth = equation.stability.growth(*ANYWHERE)
    (form,) = growth.forms
    assert not form.gradient.any()
    assert not form.source.any()
    return sum((factor * datum(x, t) for factor, datum in form.data), np.zeros(x.shape[1:]))


@pytest.mark.parametrize("velocity", [2.0, (2.0,), [2], np.array([2.0]), sine(PI2) + 3.0])
def test_one_dimensional_velocities(velocity) -> None:
    assert AdvectionDiffusion(velocity).dim == 1


def test_flux_and_wave_speed() -> None:
    equation = AdvectionDiffusion((1.0, -0.5), diffusion=0.1)
    u, x = np.array([[2.0, 3.0]]), np.zeros((2, 2))
    assert np.array_equal(equation.flux(u, x, 0.0, 1), -0.5 * u)
    assert np.array_equal(equation.wave_speed(u, x, 0.0, 1), [0.5, 0.5])
    assert np.array_equal(equation.diffusion, 0.1 * np.eye(2))
    equation.check()


def test_divergence_free_velocity_causes_no_growth() -> None:
    # stream function with amplitudes that are not dyadic: the two derivatives cancel up to round-off only
    psi = sine((PI2 * 3.0, PI2 / 0.7), 0.3, 0.2, 0.123) + cosine((PI2, -PI2 / 0.7), amplitude=1.7)
    equation = AdvectionDiffusion((psi.derivative(1), -psi.derivative(0)))
    equation.check()
    assert equation.velocity_divergence == ()
    assert equation.stability.growth(*ANYWHERE).forms[0].data == ()


def test_divergence_free_velocity_in_three_dimensions() -> None:
    # b = a sin(k.x) with a.k = 0 where the three addends are of very different size
    k = np.array([1.0, 2.0, 3e-3]) * PI2
    a = np.array([0.3, -0.15 - 1e-4, 0.0])
    a[2] = -(a[0] * k[0] + a[1] * k[1]) / k[2]
    assert AdvectionDiffusion(tuple(sine(k, amplitude=s) for s in a)).velocity_divergence == ()


def test_small_true_divergence_is_kept() -> None:
    b = (sine((PI2, PI2)), sine((PI2, PI2), amplitude=-1.0 + 1e-12))
    (divergence,) = AdvectionDiffusion(b).velocity_divergence
    assert divergence.sup(0.0, 1.0, (1.0, 1.0)) == pytest.approx(PI2 * 1e-12, rel=1e-3)


def test_rate_takes_divergence_and_reaction_jointly() -> None:
    b, c = (sine((PI2, 0.0)), Constant(0.5, 2)), cosine((PI2, 0.0), amplitude=-math.pi)
    equation = AdvectionDiffusion(b, reaction=c)
    x = np.random.default_rng(0).uniform(size=(2, 9))
    assert np.max(np.abs(rate_at(equation, x))) < 1e-13  # -div b - 2c = 0 although neither vanishes
    assert np.max(np.abs(equation.velocity_divergence[0](x))) > 1.0


def test_rate_of_callable_velocity_is_not_proved() -> None:
    def velocity(x, t):
        return np.stack([np.sin(PI2 * x[1]), 0.0 * x[0] + t])

    equation = AdvectionDiffusion(velocity, dim=2, divergence=0.0)
    equation.check()
    assert equation.stability.growth(*ANYWHERE).assumption is not None


def test_constant_velocity_is_proved() -> None:
    assert AdvectionDiffusion((1.0, 2.0)).stability.growth(*ANYWHERE).assumption is None


def test_declared_divergence_is_compared_with_differences() -> None:
    def velocity(x, t):
        return np.sin(PI2 * x)

    AdvectionDiffusion(velocity, dim=2, divergence=lambda x, t: PI2 * np.cos(PI2 * x).sum(axis=0)).check()
    with pytest.raises(ValueError, match="divergence: expected"):
        AdvectionDiffusion(velocity, dim=2, divergence=0.0).check()


@pytest.mark.parametrize("velocity", [lambda x, t: x, Approximated(sine(PI2), 1e-3)])
def test_unknown_divergence_is_refused(velocity) -> None:
    with pytest.raises(ValueError, match="expected divergence="):
        AdvectionDiffusion(velocity, dim=1)


def test_polynomial_velocity() -> None:
    b = Polynomial([0.0, 1.0, -1.0], dim=1)
    equation = AdvectionDiffusion(b)
    assert rate_at(equation, np.array([[0.25]]))[0] == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"velocity": lambda x, t: x}, ValueError, "expected dim="),
        ({"velocity": (1.0, 2.0), "dim": 3}, ValueError, "expected 3 components"),
        ({"velocity": (1.0, 2.0, 3.0, 4.0)}, ValueError, "dim: expected 1, 2 or 3"),
        ({"velocity": (1.0, math.nan)}, ValueError, "velocity"),
        ({"velocity": "east"}, (ValueError, TypeError), "velocity|dim"),
        ({"velocity": (1.0, 2.0), "diffusion": [[1.0, 0.0]]}, ValueError, r"\(2, 2\), got shape \(1, 2\)"),
        ({"velocity": (1.0, 2.0), "diffusion": [[1.0, 1.0], [0.0, 1.0]]}, ValueError, "symmetric"),
        ({"velocity": (1.0, 2.0), "diffusion": [[1.0, 2.0], [2.0, 1.0]]}, ValueError, "semi-definite"),
        ({"velocity": (1.0, 2.0), "diffusion": -1e-300}, ValueError, "semi-definite"),
        ({"velocity": (1.0, 2.0), "diffusion": math.inf}, ValueError, "finite"),
        ({"velocity": (1.0, 2.0), "diffusion": "small"}, TypeError, "diffusion"),
        ({"velocity": 1.0, "diffusion": "0.1"}, TypeError, "diffusion: expected a number .*, got '0.1'"),
        ({"velocity": 1.0, "diffusion": None}, TypeError, "diffusion: expected a number .*, got None"),
        (
            {"velocity": (1.0, 2.0), "diffusion": [[1.0], [0.0, 1.0]]},
            TypeError,
            "diffusion: expected a number",
        ),
    ],
)
def test_wrong_arguments(arguments, error, message) -> None:
    with pytest.raises(error, match=message):
        AdvectionDiffusion(**arguments)


@pytest.mark.parametrize("eps", [0.0, 1e-300, 1e-14, 1.0])
def test_any_scale_of_diffusion(eps) -> None:
    angle = 0.3
    rotation = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    matrix = eps * rotation @ np.diag([1.0, 0.0]) @ rotation.T  # degenerate, symmetric up to round-off
    diffusion = AdvectionDiffusion((0.0, 0.0), matrix).diffusion
    assert np.array_equal(diffusion, diffusion.T)
    assert diffusion == pytest.approx(matrix, rel=1e-12, abs=1e-16 * eps)
