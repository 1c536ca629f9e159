"""One-dimensional DG operators on unit cells against their defining integrals."""

import numpy as np
import pytest

from stfem.spaces.interval import (
    averaged_flux,
    broken_derivative,
    central_derivative,
    end_values,
    interior_penalty,
    moment_flux,
    scheme_flux,
    transport,
)
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values

CELLS = 5
DEGREES = [0, 1, 2, 3, 5]


def random_field(degree, seed):
    return np.random.default_rng(seed).normal(size=(degree + 1, CELLS))


class Line:
    """Traces and cell integrals of a broken polynomial, by quadrature."""

    def __init__(self, modes):
        degree = len(modes) - 1
        s, self.weights = gauss(degree + 3)
        self.values = legendre_values(degree, s) @ modes
        self.slopes = legendre_values(degree, s, 1) @ modes
        ends = legendre_values(degree, np.array([0.0, 1.0])) @ modes
        end_slopes = legendre_values(degree, np.array([0.0, 1.0]), 1) @ modes
        self.minus, self.plus = ends[1], np.concatenate([ends[0, 1:], ends[0, :1]])  # face behind cell c
        self.slope_minus, self.slope_plus = (
            end_slopes[1],
            np.concatenate([end_slopes[0, 1:], end_slopes[0, :1]]),
        )
        self.jump, self.mean = self.minus - self.plus, 0.5 * (self.minus + self.plus)
        self.mean_slope = 0.5 * (self.slope_minus + self.slope_plus)

    def integral(self, values):
        return float((self.weights[:, None] * values).sum())


def pairing(stencil, u, v):
    return float((stencil.apply(u, 0, 1) * v).sum())


@pytest.mark.parametrize("degree", DEGREES)
def test_transport_is_the_dg_form(degree):
    u, v = random_field(degree, 1), random_field(degree, 2)
    for minus, plus in ((1.3, 0.0), (0.0, -0.7), (0.9, 0.4)):
        a, b = Line(u), Line(v)
        expected = (
            a.integral((minus + plus) * a.values * b.slopes)
            - ((minus * a.minus + plus * a.plus) * b.jump).sum()
        )
        assert pairing(transport(degree, minus, plus), u, v) == pytest.approx(expected, abs=1e-12)
        assert pairing(transport(degree, plus, minus), u, v) != pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("degree", DEGREES)
def test_upwind_dissipates_and_conserves(degree):
    u = random_field(degree, 3)
    line, stencil = Line(u), transport(degree, 1.0, 0.0)
    assert pairing(stencil, u, u) == pytest.approx(-0.5 * (line.jump**2).sum(), abs=1e-12)
    assert stencil.apply(u, 0, 1)[0].sum() == pytest.approx(0.0, abs=1e-12)
    assert pairing(transport(degree, 0.0, 1.0), u, u) > 0.0  # downwind: energy grows


@pytest.mark.parametrize("degree", DEGREES)
def test_central_and_broken_derivative(degree):
    u, v = random_field(degree, 4), random_field(degree, 5)
    a, b = Line(u), Line(v)
    broken = a.integral(a.slopes * b.values)
    assert pairing(broken_derivative(degree), u, v) == pytest.approx(broken, abs=1e-12)
    central = broken - (a.jump * b.mean).sum()
    assert pairing(central_derivative(degree), u, v) == pytest.approx(central, abs=1e-12)
    assert abs(central - broken) > 1e-3


@pytest.mark.parametrize("degree", DEGREES)
def test_interior_penalty_is_its_bilinear_form(degree):
    penalty = 2.0 * (degree + 1) ** 2
    u, v = random_field(degree, 6), random_field(degree, 7)
    a, b = Line(u), Line(v)
    expected = -a.integral(a.slopes * b.slopes)
    expected += (a.mean_slope * b.jump + b.mean_slope * a.jump - penalty * a.jump * b.jump).sum()
    found = pairing(interior_penalty(degree, penalty), u, v)
    assert found == pytest.approx(expected, abs=1e-10)
    assert found == pytest.approx(pairing(interior_penalty(degree, penalty), v, u), abs=1e-10)
    assert found != pytest.approx(pairing(interior_penalty(degree, 1.01 * penalty), u, v), abs=1e-4)


def test_lowest_degree_is_finite_differences():
    u = random_field(0, 8)
    second = np.roll(u, -1, axis=1) - 2.0 * u + np.roll(u, 1, axis=1)
    np.testing.assert_allclose(interior_penalty(0, 1.0).apply(u, 0, 1), second, atol=1e-14)
    assert np.abs(interior_penalty(0, 2.0).apply(u, 0, 1) - second).max() > 0.1  # doubles the diffusion


@pytest.mark.parametrize("degree", DEGREES)
def test_scheme_flux(degree):
    """End values are the numerical flux, continuous over faces; the derivative is the SIPG form of u''."""
    penalty = 2.0 * (degree + 1) ** 2 if degree else 1.0
    u = random_field(degree, 9)
    line, flux = Line(u), scheme_flux(degree, penalty).apply(u, 0, 1)
    assert flux.shape == (degree + 2, CELLS)
    left, right = end_values(degree + 1)
    numerical = line.mean_slope - penalty * line.jump
    np.testing.assert_allclose(right @ flux, numerical, atol=1e-11)
    np.testing.assert_allclose(np.roll(left @ flux, -1), numerical, atol=1e-11)
    divergence = (derivative_matrix(degree + 1) @ flux)[: degree + 1]
    np.testing.assert_allclose(divergence, interior_penalty(degree, penalty).apply(u, 0, 1), atol=1e-10)
    other = scheme_flux(degree, 1.1 * penalty).apply(u, 0, 1)
    assert np.abs((derivative_matrix(degree + 1) @ other)[: degree + 1] - divergence).max() > 1e-3


@pytest.mark.parametrize("degree", DEGREES)
def test_parts_of_cross_fluxes(degree):
    u = random_field(degree, 10)
    line, left, right = Line(u), *end_values(degree + 1)
    averaged, moments = averaged_flux(degree).apply(u, 0, 1), moment_flux(degree).apply(u, 0, 1)
    np.testing.assert_allclose(right @ averaged, line.mean, atol=1e-12)
    np.testing.assert_allclose(np.roll(left @ averaged, -1), line.mean, atol=1e-12)
    np.testing.assert_allclose(averaged[:degree], 0.0, atol=1e-13)
    np.testing.assert_allclose(moments[:degree], u[:degree], atol=1e-12)
    np.testing.assert_allclose(np.stack([left @ moments, right @ moments]), 0.0, atol=1e-12)
    assert np.abs(line.minus - line.plus).max() > 0.1  # a one-sided trace would have been seen
