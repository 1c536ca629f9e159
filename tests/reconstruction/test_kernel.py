"""SIAC kernel: exact coefficients, moments, reproduction, convolution (T2)."""

from fractions import Fraction
from itertools import pairwise
from math import comb, factorial

import numpy as np
import pytest
from scipy.interpolate import BSpline

from stfem.reconstruction.checks import moment_defect, reproduction_defect
from stfem.reconstruction.kernel import bspline_moments, filter_stencil, kernel_coefficients
from stfem.spaces.legendre import gauss, legendre_values

# From the outer node to the centre, orders q + 1, q + 2, q + 3.
REFERENCE = {
    1: ["-1/12 7/6", "-1/8 5/4", "-1/6 4/3"],
    2: ["37/1920 -97/480 437/320", "7/240 -17/60 181/120", "47/1152 -107/288 319/192"],
    3: [
        "-41/7560 311/5040 -919/2520 12223/7560",
        "-1571/193536 2887/32256 -31823/64512 88243/48384",
        "-139/12096 1241/10080 -12883/20160 31069/15120",
    ],
}
PAIRS = [(q, order) for q in range(6) for order in range(1, 9)]


def bspline(order: int, x: np.ndarray) -> np.ndarray:
    """Central B-spline ψ^{(ℓ)}: Σ_k (−1)^k C(ℓ,k) (x + ℓ/2 − k)_+^{ℓ−1} / (ℓ−1)!.

    Summed from the nearer end.
    """
    distance = 0.5 * order - np.abs(x)  # the spline is even
    values = np.zeros_like(distance)
    for k in range((order + 1) // 2 + 1):
        shifted = distance - k
        values += (
            (-1) ** k * comb(order, k) * np.where(shifted > 0.0, np.maximum(shifted, 0.0) ** (order - 1), 0.0)
        )
    return values / factorial(order - 1)


@pytest.mark.parametrize("degree", REFERENCE)
@pytest.mark.parametrize("extra", [1, 2, 3])
def test_coefficients_of_the_reference(degree, extra):
    half = [Fraction(text) for text in REFERENCE[degree][extra - 1].split()]
    found = kernel_coefficients(degree, degree + extra)
    assert list(found) == [*half, *reversed(half[:-1])]
    assert all(isinstance(c, Fraction) for c in found)
    assert found != kernel_coefficients(degree, degree + extra + 1)


@pytest.mark.parametrize(("degree", "order"), PAIRS)
def test_moments_vanish_exactly(degree, order):
    coefficients = kernel_coefficients(degree, order)
    assert moment_defect(coefficients, order) == 0
    assert moment_defect(coefficients, order + 1) > 0 or degree == 0  # another spline, another kernel
    assert moment_defect([c + Fraction(1, 10**9) for c in coefficients], order) > 0


@pytest.mark.parametrize("order", [1, 2, 3, 4, 7])
def test_bspline_against_scipy(order):
    knots = np.arange(order + 1) - order / 2
    reference = BSpline.basis_element(knots, extrapolate=False)
    x = np.linspace(-order / 2 - 1, order / 2 + 1, 203)
    np.testing.assert_allclose(bspline(order, x), np.nan_to_num(reference(x)), atol=1e-13)
    s, w = gauss(12)
    y = (knots[:-1, None] + s).ravel()
    for k, moment in enumerate(bspline_moments(order, 6)):
        integral = (np.tile(w, order) * bspline(order, y) * y**k).sum()
        assert integral == pytest.approx(float(moment), abs=1e-13)


@pytest.mark.parametrize(
    ("degree", "order"), [(0, 2), (1, 2), (1, 3), (2, 4), (2, 3), (3, 5), (4, 6), (5, 8)]
)
def test_polynomials_are_reproduced(degree, order):
    cells = 2 * degree + order + 5
    for power in range(degree + 1):
        assert reproduction_defect(degree, order, power, cells) < 1e-12
    if degree <= 3:  # in units of a cell; higher powers drown in the round-off of (x/N)^power
        assert reproduction_defect(degree, order, 2 * degree + 2, cells) * cells ** (2 * degree + 2) > 0.01


def test_reproduction_needs_room():
    with pytest.raises(ValueError, match="cells: expected more than"):
        reproduction_defect(2, 4, 1, cells=6)


def direct_convolution(modes, degree, order, x):
    """Σ_γ c_γ ∫ ψ(x − y − γ) u_h(y) dy with u_h periodic; Gauss on the pieces between all knots."""
    cells = modes.shape[1]
    s, w = gauss(order + degree + 2)
    values = np.zeros_like(x)
    for gamma, c in enumerate(kernel_coefficients(degree, order), start=-degree):
        reference = BSpline.basis_element(np.arange(order + 1) - order / 2, extrapolate=False)
        for n, point in enumerate(x):
            knots = point - gamma + np.arange(order + 1) - order / 2
            breaks = np.union1d(knots, np.arange(np.ceil(knots[0]), knots[-1]))
            for a, b in pairwise(breaks):
                y = a + (b - a) * s
                cell = int(np.floor(0.5 * (a + b)))
                u = legendre_values(len(modes) - 1, y - cell) @ modes[:, cell % cells]
                values[n] += float(c) * (b - a) * (w * u * np.nan_to_num(reference(point - gamma - y))).sum()
    return values


@pytest.mark.parametrize("cells", [1, 2, 3, 7])
@pytest.mark.parametrize(
    ("degree", "order", "extra"), [(1, 2, 0), (1, 3, 0), (2, 4, 0), (2, 3, 1), (0, 2, 0)]
)
def test_filter_against_direct_convolution(cells, degree, order, extra):
    modes = np.random.default_rng(1).normal(size=(degree + extra + 1, cells))
    stencil = filter_stencil(degree, order, degree + extra)
    filtered = stencil.apply(modes, 0, 1)
    s = np.array([0.0, 0.21, 0.5, 0.83])
    x = ((np.arange(cells * stencil.pieces) + s[:, None]) / stencil.pieces).ravel()
    found = (legendre_values(len(filtered) - 1, s) @ filtered).ravel()
    np.testing.assert_allclose(found, direct_convolution(modes, degree, order, x), atol=1e-11)
    if cells > 2:  # the mirrored field has another convolution
        assert np.abs(found - direct_convolution(modes[:, ::-1], degree, order, x)).max() > 1e-3


@pytest.mark.parametrize("cells", [1, 2, 3, 4])
@pytest.mark.parametrize("degree", [1, 2])
def test_wide_kernels_keep_constants_and_means(cells, degree):
    for order in (degree + 1, degree + 2, degree + 3):
        stencil = filter_stencil(degree, order, degree)
        assert len(stencil.shifts) > cells
        modes = np.zeros((degree + 1, cells))
        modes[0] = 1.0
        filtered = stencil.apply(modes, 0, 1)
        np.testing.assert_allclose(filtered[0], 1.0, atol=1e-14)
        np.testing.assert_allclose(filtered[1:], 0.0, atol=1e-14)
        noise = np.random.default_rng(2).normal(size=(degree + 1, cells))
        assert stencil.apply(noise, 0, 1)[0].mean() == pytest.approx(noise[0].mean(), abs=1e-14)


@pytest.mark.parametrize(("degree", "order"), [(-1, 2), (1, 0)])
def test_wrong_arguments(degree, order):
    with pytest.raises(ValueError, match="kernel: expected"):
        kernel_coefficients(degree, order)
