import math

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from stfem.equations import Burgers, Growth, ScalarConservationLaw

CUBIC = (0.0, 0.3, 0.0, 1.0 / 3.0)


def forms(equation, lower, upper):
    return equation.stability.growth(np.array([lower]), np.array([upper])).forms


def bound(equation, lower, upper, gradient):
    return max(float(np.sum(form.gradient * gradient)) for form in forms(equation, lower, upper))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_burgers(dim) -> None:
    equation = Burgers(dim, 1e-3)
    equation.check()
    (form,) = forms(equation, -np.inf, np.inf)
    assert np.array_equal(form.gradient, -np.ones((1, dim)))
    assert not equation.stability.needs_range
    assert equation.flux_degree == 2
    u = np.array([[3.0, -2.0]])
    general = ScalarConservationLaw((0.0, 0.0, 0.5), dim=dim)
    for method in ("flux", "wave_speed"):
        assert np.array_equal(
            getattr(equation, method)(u, None, 0.0, 0), getattr(general, method)(u, None, 0.0, 0)
        )


@pytest.mark.parametrize(
    "equation",
    [
        ScalarConservationLaw(CUBIC, dim=2),
        ScalarConservationLaw([CUBIC, (0.0, 0.0, 0.5)]),
        ScalarConservationLaw([Polynomial([0, 0, 0, 1, -0.3]), Polynomial([1, 2, 3])]),
        ScalarConservationLaw(
            (np.sin, np.cos), (np.cos, lambda u: -np.sin(u)), (lambda u: -np.sin(u), lambda u: -np.cos(u))
        ),
    ],
)
def test_rate_bounds_every_state_and_is_sharp(equation) -> None:
    equation.check()
    assert equation.stability.needs_range
    rng = np.random.default_rng(1)
    states = np.linspace(-0.8, 1.3, 2001)
    second = np.array([second(states) for second in equation._second])
    for gradient in rng.normal(size=(20, 1, equation.dim)):
        exact = float(np.max(-gradient[0] @ second))
        assert bound(equation, -0.8, 1.3, gradient) >= exact
        size = float(np.sum(np.abs(gradient)) * np.max(np.abs(second)))
        assert bound(equation, -0.8, 1.3, gradient) <= exact + 0.35 * size


def test_rate_uses_the_range() -> None:
    equation = ScalarConservationLaw(CUBIC)  # f'' = 2u
    assert bound(equation, 1.0, 2.0, [[-1.0]]) == pytest.approx(4.0)
    assert bound(equation, 1.0, 2.0, [[1.0]]) == pytest.approx(-2.0)
    assert bound(equation, 1.0, 3.0, [[-1.0]]) == pytest.approx(6.0)
    with pytest.raises(ValueError, match="finite range"):
        forms(equation, -np.inf, 1.0)


def test_only_polynomials_are_proved() -> None:
    callable_law = ScalarConservationLaw(np.sin, np.cos, lambda u: -np.sin(u))
    low, high = np.array([0.0]), np.array([1.0])
    assert "not proved" in (callable_law.stability.growth(low, high).assumption or "")
    assert ScalarConservationLaw(CUBIC).stability.growth(low, high).assumption is None


def test_polynomials_with_other_domain() -> None:
    shifted = Polynomial([0.0, 0.0, 1.0], domain=[0.0, 2.0])  # (u - 1)^2
    equation = ScalarConservationLaw(shifted)
    assert equation.flux(np.array([[3.0]]), np.zeros((1, 1)), 0.0, 0)[0, 0] == pytest.approx(4.0)
    assert equation.sonic_points(0) == pytest.approx((1.0,))
    equation.check()


@pytest.mark.parametrize(
    ("derivative", "second", "message"),
    [
        (lambda u: 1.01 * np.cos(u), lambda u: -np.sin(u), "jacobian_product"),
        (np.cos, np.sin, "second_derivative"),
        (np.cos, lambda u: 0.0, "second_derivative.*shape"),
        (lambda u: 1.0, lambda u: -np.sin(u), "wave_speed.*shape|jacobian_product"),
    ],
)
def test_inconsistent_derivatives_are_found(derivative, second, message) -> None:
    ScalarConservationLaw(np.sin, np.cos, lambda u: -np.sin(u)).check()
    with pytest.raises(ValueError, match=message):
        ScalarConservationLaw(np.sin, derivative, second).check()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.sin,), ValueError, "expected derivative="),
        ((CUBIC, np.cos), ValueError, "beside polynomial"),
        (([CUBIC, CUBIC], None, None, 3), ValueError, "expected 1 or 3 functions"),
        ((3.0,), TypeError, "flux: expected a callable"),
        (((),), ValueError, "dim|flux"),
    ],
)
def test_wrong_arguments(arguments, error, message) -> None:
    with pytest.raises(error, match=message):
        ScalarConservationLaw(*arguments)


def test_zero_flux_is_legal() -> None:
    equation = ScalarConservationLaw((0.0,), dim=1, diffusion=0.1)
    equation.check()
    assert bound(equation, -math.inf, math.inf, [[5.0]]) == 0.0


def test_growth_without_forms_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        Growth(forms=())
