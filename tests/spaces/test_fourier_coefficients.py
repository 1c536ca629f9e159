"""Fourier coefficients of piecewise polynomials against sums over points."""

import numpy as np
import pytest

from stfem.meshes.grid import TensorGrid
from stfem.spaces.fourier import fourier_coefficients, frequencies
from stfem.spaces.legendre import gauss, legendre_values

GRIDS = [TensorGrid((1.3,), 5), TensorGrid((1.0, 2.0), (3, 4)), TensorGrid((1.0, 0.7, 1.1), (2, 1, 3))]


def modes_of(grid, degree):
    shape = (degree + 1,) * grid.dim
    return np.array(np.unravel_index(np.arange((degree + 1) ** grid.dim), shape))


def by_quadrature(field, grid, degree, numbers):
    """|Ω|^{-1/2} ∫ f exp(−ik·x) with so many points that the exponential is resolved."""
    points, weights = gauss(24)
    table = legendre_values(degree, points)
    total = field.reshape((degree + 1,) * grid.dim + grid.cells).astype(complex)
    for i, (h, cells, n) in enumerate(zip(grid.spacing, grid.cells, numbers, strict=True)):
        x = (np.arange(cells)[:, None] + points) * h
        wave = np.exp(-2j * np.pi * n * x / grid.lengths[i]) * weights * h
        moments = np.einsum("cq,qp->pc", wave, table)
        # the axes of this direction come first: those before are summed up already
        left = grid.dim - i
        total = np.tensordot(moments, total, axes=((0, 1), (0, left)))
    return complex(total) / np.sqrt(grid.measure)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("degree", [0, 2])
def test_coefficients(grid, degree):
    rng = np.random.default_rng(1)
    modes, highest = modes_of(grid, degree), (5, 3, 2)[: grid.dim]
    fields = rng.normal(size=(2, modes.shape[1], grid.size))
    found = fourier_coefficients(fields, modes, grid, highest)
    ranges = [frequencies(n, last=i == grid.dim - 1) for i, n in enumerate(highest)]
    assert found.shape == (2, *(len(r) for r in ranges))
    for _ in range(6):
        place = tuple(int(rng.integers(len(r))) for r in ranges)
        numbers = [r[k] for r, k in zip(ranges, place, strict=True)]
        for field, coefficients in zip(fields, found, strict=True):
            exact = by_quadrature(field, grid, degree, numbers)
            assert coefficients[place] == pytest.approx(exact, rel=1e-11, abs=1e-13)


def test_parseval():
    """The sum of squares approaches the norm from below, and reaches it for a smooth function."""
    grid = TensorGrid((2.0,), 40)
    points, weights = gauss(8)
    x = (np.arange(40)[:, None] + points) * grid.spacing[0]
    wave = np.sin(3.0 * np.pi * x) + 0.5
    field = np.einsum("cq,q,qp->pc", wave, weights, legendre_values(6, points))
    norm_sq = grid.cell_measure * float((field**2).sum())
    sums = []
    for highest in (2, 3, 30):
        found = np.abs(fourier_coefficients(field, modes_of(grid, 6), grid, (highest,))) ** 2
        sums.append(found[0] + 2.0 * found[1:].sum())
    assert sums == sorted(sums)
    assert sums[0] == pytest.approx(0.5, rel=1e-9)
    assert sums[1] == pytest.approx(norm_sq, rel=1e-9)
    assert sums[2] <= norm_sq * (1.0 + 1e-12)
    assert norm_sq == pytest.approx(1.5, rel=1e-9)
