"""Trigonometric polynomials: algebra against pointwise values, projections against quadrature."""

from operator import add, mul, sub

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stfem.data import Approximated, Constant, Slab, Trigonometric, cosine, sine
from stfem.data.modes import Tails, factors, tails
from stfem.data.sampling import Rule, project_sampled
from stfem.meshes import TensorGrid
from stfem.spaces.legendre import gauss, legendre_values

PI2 = 2.0 * np.pi


def random_field(rng, dim, terms=3, scale=5.0):
    """A few waves, half of the time periodic on the unit torus, so that some coincide."""
    wavevectors = (
        PI2 * rng.integers(-2, 3, (terms, dim)) if rng.random() < 0.5 else rng.normal(0, scale, (terms, dim))
    )
    amplitudes = rng.normal(size=terms) + 1j * rng.normal(size=terms)
    return Trigonometric(wavevectors, rng.integers(-2, 3, terms) * scale / 3, amplitudes)


def by_quadrature(field, grid, degree, time, points):
    """Projection and true remainders by Gauss rules with many points."""
    space = Rule.gauss(points, degree)
    if isinstance(time, Slab):
        rules = (space, Rule.gauss(20, time.degree))
        return project_sampled(field, grid, rules, rules, time.start, time.duration)
    result = project_sampled(field, grid, (space, Rule.moment()), (space, Rule.moment()), time, 0.0)
    return type(result)(result.coefficients[0], result.remainder_l2, result.remainder_sup)


def test_sine_and_cosine_are_what_they_say():
    x = np.random.default_rng(0).normal(size=(2, 5, 4))
    f = sine((1.3, -2.0), frequency=0.7, phase=0.4, amplitude=3.0)
    np.testing.assert_allclose(f(x, 1.1), 3.0 * np.sin(1.3 * x[0] - 2.0 * x[1] + 0.7 * 1.1 + 0.4), atol=1e-13)
    g = cosine((1.3, -2.0), frequency=0.7, phase=0.4, amplitude=3.0)
    np.testing.assert_allclose(g(x, 1.1), 3.0 * np.cos(1.3 * x[0] - 2.0 * x[1] + 0.7 * 1.1 + 0.4), atol=1e-13)
    assert f(x, 1.1).shape == (5, 4)
    assert f(np.zeros(2)).shape == ()


def test_product_of_the_paper_has_two_waves():
    """sin 2pi(x-t) cos 2pi(y-t/2): T1 problem of R2."""
    f = sine((PI2, 0.0), -PI2) * cosine((0.0, PI2), -np.pi)
    x = np.random.default_rng(1).random((2, 50))
    expected = np.sin(PI2 * (x[0] - 0.3)) * np.cos(PI2 * (x[1] - 0.15))
    np.testing.assert_allclose(f(x, 0.3), expected, atol=1e-14)
    assert len(f.amplitudes) == 2
    assert f.sup(0.0, 1.0, (1.0, 1.0)) == pytest.approx(1.0, rel=1e-14)


@given(seed=st.integers(0, 10**6), dim=st.integers(1, 3), t=st.floats(-2.0, 2.0))
@settings(max_examples=30)
def test_algebra_acts_pointwise(seed, dim, t):
    rng = np.random.default_rng(seed)
    f, g, x = random_field(rng, dim), random_field(rng, dim), rng.normal(size=(dim, 7))
    for operation in (add, sub, mul):
        np.testing.assert_allclose(operation(f, g)(x, t), operation(f(x, t), g(x, t)), atol=1e-11)
        for number in (2.5, np.float64(-1.5), Constant(0.5, dim)):
            value = number.value if isinstance(number, Constant) else number
            np.testing.assert_allclose(operation(f, number)(x, t), operation(f(x, t), value), atol=1e-11)
            np.testing.assert_allclose(operation(number, f)(x, t), operation(value, f(x, t)), atol=1e-11)
    np.testing.assert_allclose((f**3)(x, t), f(x, t) ** 3, atol=1e-10)
    np.testing.assert_allclose((f**0)(x, t), 1.0)
    assert np.abs(f(x, t)).max() <= f.sup(t, t, (1.0,) * dim)


@given(seed=st.integers(0, 10**6), dim=st.integers(1, 3))
@settings(max_examples=20)
def test_derivatives_match_difference_quotients(seed, dim):
    rng = np.random.default_rng(seed)
    f, x, step = random_field(rng, dim), rng.normal(size=(dim, 5)), 1e-5
    for i in range(dim):
        shift = step * np.eye(dim)[:, i : i + 1]
        quotient = (f(x + shift, 0.2) - f(x - shift, 0.2)) / (2 * step)
        np.testing.assert_allclose(f.derivative(i)(x, 0.2), quotient, atol=2e-5)
    quotient = (f(x, 0.2 + step) - f(x, 0.2 - step)) / (2 * step)
    np.testing.assert_allclose(f.time_derivative()(x, 0.2), quotient, atol=2e-5)


def test_what_cancels_vanishes_exactly():
    f = sine((PI2, 2 * PI2), 0.3) * cosine((PI2, 0.1))
    assert (f - f).is_zero
    assert (sine(0.7) ** 2 + cosine(0.7) ** 2).constant
    assert (0.1 * f + 0.2 * f - 0.3 * f).is_zero
    rotation = (-sine((PI2, 0.0)) * cosine((0.0, PI2)), cosine((PI2, 0.0)) * sine((0.0, PI2)))
    assert (rotation[0].derivative(0) + rotation[1].derivative(1)).is_zero
    assert not (rotation[0].derivative(0) - rotation[1].derivative(1)).is_zero
    assert not (f - 1.0000001 * f).is_zero


def test_close_but_different_frequencies_stay_apart():
    f = sine(1.0) + sine(1.0 + 1e-12)
    assert len(f.amplitudes) == 2
    assert sine(1e-9).wavevectors[0, 0] == 1e-9
    assert (sine(1e6) + sine(1e-10)).wavevectors.min() == 1e-10


def test_facts():
    assert sine(1.0).time_dependent is False
    assert sine(1.0, 2.0).time_dependent is True
    assert (sine(1.0) - sine(1.0) + 3.0).constant
    assert not sine(1.0).constant
    assert sine(1.0).assumption is None


@pytest.mark.parametrize("kappa", [0.0, 1e-320, 1e-8, 1e-3, 0.3, -0.3, 2.0, -7.0, 30.0])
def test_factors_against_quadrature(kappa):
    s, w = gauss(80)
    values = legendre_values(14, s)
    reference = (w * np.exp(1j * kappa * (2 * s - 1))) @ values
    np.testing.assert_allclose(factors(np.array([2.0 * kappa]), 1.0, 14)[0], reference, atol=2e-14)


@pytest.mark.parametrize("j", [1, 3, 8, 14])
def test_factors_keep_relative_accuracy_where_they_are_tiny(j):
    double_factorial = np.prod(np.arange(1.0, 2 * j + 2, 2))
    got = abs(factors(np.array([2e-4]), 1.0, 14)[0, j]) / np.sqrt(2 * j + 1)
    leading = 1e-4**j / double_factorial
    assert got == pytest.approx(leading * (1 - 1e-8 / (2 * (2 * j + 3))), rel=1e-12)


@pytest.mark.parametrize("degree", [0, 1, 4, 9])
@pytest.mark.parametrize("kappa", [1e-320, 1e-3, 0.1, 1.0, 5.0, 12.0, 40.0])
def test_tails_bound_the_rest_closely(kappa, degree):
    s, w = gauss(150)
    wave = np.exp(1j * kappa * (2 * s - 1))
    values = legendre_values(degree, s)
    kept = values @ ((w * wave) @ values)
    bound = tails(np.array([2.0 * kappa]), 1.0, degree)
    energy = w @ np.abs(wave - kept) ** 2
    assert energy**0.5 <= bound.energy[0] ** 0.5 + 1e-12
    assert bound.energy[0] ** 0.5 <= 1.0001 * energy**0.5 + 1e-12
    rest = np.abs(wave - kept).max()
    assert rest <= bound.rest[0] + 1e-12
    assert bound.rest[0] <= 5.0 * rest + 1e-12
    assert np.abs(kept).max() <= bound.size[0] + 1e-12


@pytest.mark.parametrize("seed", range(60))
def test_projection_and_remainders_against_quadrature(seed):
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 4))
    grid = TensorGrid(tuple(rng.uniform(0.5, 2.0, dim)), tuple(int(n) for n in rng.integers(1, 6 - dim, dim)))
    field = random_field(rng, dim, terms=4, scale=10 ** rng.uniform(-3.0, 0.4))
    degree, points = int(rng.integers(0, 5)), {1: 40, 2: 26, 3: 18}[dim]
    size = np.abs(field.amplitudes).sum()
    for time in (0.7, Slab(0.3, 0.3 + 10 ** rng.uniform(-2.0, 0.0), int(rng.integers(0, 4)))):
        got = field.project(grid, degree, time)
        true = by_quadrature(field, grid, degree, time, points)
        np.testing.assert_allclose(got.coefficients, true.coefficients, atol=1e-10 * size)
        assert got.remainder_l2 >= true.remainder_l2 - 1e-11 * size
        assert got.remainder_sup >= true.remainder_sup - 1e-11 * size


def test_remainder_of_periodic_waves_is_sharp():
    """Waves of different length do not add up in norm; half of the bound would be wrong."""
    field = sine((PI2, 0.0)) + cosine((0.0, 2 * PI2)) + 0.5 * sine((PI2, -PI2))
    grid = TensorGrid((1.0, 1.0), (8, 8))
    bound = field.project(grid, 2, 0.0).remainder_l2
    true = by_quadrature(field, grid, 2, 0.0, 20).remainder_l2
    assert true <= bound <= 1.0001 * true


def test_aliases_are_not_taken_for_orthogonal():
    """On n cells the waves 1 and 1 + n look alike from cell to cell."""
    field = sine(PI2) - sine(PI2 * 5)
    grid = TensorGrid((1.0,), 4)
    bound, true = field.project(grid, 1, 0.0), by_quadrature(field, grid, 1, 0.0, 60)
    separate = [f.project(grid, 1, 0.0).remainder_l2 for f in (sine(PI2), sine(PI2 * 5))]
    assert true.remainder_l2 > 1.05 * np.hypot(*separate)
    assert bound.remainder_l2 >= true.remainder_l2


def test_huge_wavenumbers_stay_bounded():
    result = sine(1e5).project(TensorGrid((1.0,), 4), 3, 0.0)
    assert 0.7 <= result.remainder_l2 <= 1.0001
    assert 1.0 <= result.remainder_sup < 3.0


def test_zero_field_and_fixed_time_of_a_standing_wave():
    zero = sine(1.0) - sine(1.0)
    result = zero.project(TensorGrid((1.0,), 3), 2, Slab(0.0, 1.0, 1))
    assert result.coefficients.shape == (2, 3, 3)
    assert not result.coefficients.any()
    assert (result.remainder_l2, result.remainder_sup) == (0.0, 0.0)
    assert zero(np.ones((1, 4))).tolist() == [0.0] * 4


def test_nothing_is_left_out_of_a_constant():
    result = Trigonometric.number(2.0, 2).project(TensorGrid((1.0, 1.0), 2), 0, Slab(0.0, 1.0, 0))
    assert (result.remainder_l2, result.remainder_sup) == (0.0, 0.0)
    assert Tails.none(2).energy.tolist() == [0.0, 0.0]


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"\(n, dim\)"):
        Trigonometric([1.0], [1.0], [1.0])
    with pytest.raises(ValueError, match="finite"):
        sine(np.inf)
    with pytest.raises(ValueError, match="dimension 1, got 2"):
        sine(1.0) + sine((1.0, 2.0))
    with pytest.raises(ValueError, match=r"direction: expected 0 to 0, got 1"):
        sine(1.0).derivative(1)
    with pytest.raises(ValueError, match="dimension 1, got 2"):
        sine(1.0).project(TensorGrid((1.0, 1.0), 2), 1, 0.0)
    with pytest.raises(ValueError, match="whole number"):
        sine(1.0) ** -1
    with pytest.raises(TypeError):
        sine(1.0) + "x"
    with pytest.raises(ValueError, match="start < stop"):
        Slab(1.0, 1.0, 2)


@pytest.mark.parametrize("time", [0.3, Slab(0.1, 0.4, 2)])
def test_projection_on_some_rows_of_cells(time):
    grid = TensorGrid((1.0, 2.0), (5, 3))
    wave = sine([2.0 * np.pi, np.pi], 1.0, 0.2) * cosine([0.0, 2.0 * np.pi], 0.3)
    for datum in (wave, Approximated(wave, 0.1), Constant(2.0, 2)):
        whole, by_rows = datum.project(grid, 2, time), datum.project_rows(grid, 2, time)
        parts = [by_rows.on(slice(start, stop)) for start, stop in ((0, 2), (2, 3), (3, 5))]
        np.testing.assert_allclose(np.concatenate(parts, axis=-2), whole.coefficients, atol=1e-15)
        assert (by_rows.remainder_l2, by_rows.remainder_sup) == (whole.remainder_l2, whole.remainder_sup)
