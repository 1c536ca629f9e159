"""A residual by scales: every part is what it says, and its flux has it as divergence (N10)."""

import math

import numpy as np
import pytest

from stfem.meshes.grid import TensorGrid
from stfem.residual.levels import diagonal_bound, flux_squares, residual_levels, two_point_flux

GRIDS = [TensorGrid((1.3,), 12), TensorGrid((1.0, 2.0), (6, 5)), TensorGrid((1.0, 0.7, 1.1), (3, 2, 4))]


@pytest.mark.parametrize("grid", GRIDS)
def test_flux_has_the_means_as_divergence(grid):
    means = np.random.default_rng(0).normal(size=(2, *grid.cells))
    weights = np.array([0.3, 0.1, 0.7])[: grid.dim]
    total = np.zeros_like(means)
    for i, (flux, h) in enumerate(zip(two_point_flux(means, grid, weights), grid.spacing, strict=True)):
        total += (np.roll(flux, -1, axis=1 + i) - flux) / h
    axes = tuple(range(1, 1 + grid.dim))
    np.testing.assert_allclose(total, means - means.mean(axis=axes, keepdims=True), atol=1e-12)


def test_squares_of_linear_fluxes():
    flux = np.array([[1.0, 3.0]])
    # from 1 to 3 and back: the mean of a square of a linear function
    assert flux_squares([flux], np.array([2.0])) == pytest.approx(np.array([13.0, 13.0]) / 3.0 / 2.0)


def levels_of(means, grid, within=0.0, diffusion=0.1, duration=0.5):
    squares = within + duration * grid.cell_measure * (means**2).sum(axis=0)
    return residual_levels(squares, means, grid, diffusion * np.eye(grid.dim), duration)


@pytest.mark.parametrize("grid", GRIDS)
def test_without_a_dual_norm_nothing_is_gained(grid):
    means = np.random.default_rng(1).normal(size=(1, *grid.cells))
    levels = levels_of(means, grid, within=0.02)
    plain = 0.5 * grid.cell_measure * np.abs(means).sum()
    inside = math.sqrt(0.5 * grid.cell_measure * 0.02) * grid.size
    assert levels.cost(1e12) == pytest.approx(plain + inside)
    assert levels.cost(0.0) <= 0.5 * grid.measure * abs(means.mean()) * (1.0 + 1e-9)
    costs = [levels.cost(slope) for slope in (0.0, 0.1, 1.0, 10.0)]
    assert costs == sorted(costs)


def test_oscillations_cost_little_and_a_mean_its_size():
    grid = TensorGrid((1.0,), 54)
    cells = np.arange(54)
    wave = ((-1.0) ** cells)[None]
    steady = np.ones((1, 54))
    assert levels_of(wave, grid).cost(1.0) < 0.05 * levels_of(wave, grid).cost(1e12)
    assert levels_of(steady, grid).cost(1.0) == pytest.approx(0.5)
    # a sum of both costs about the mean's size
    assert levels_of(wave + steady, grid).cost(1.0) == pytest.approx(0.5, rel=0.1)


def test_duality_for_smooth_functions():
    """|∫Rz| ≤ cost for z of size 1 and known slope, R constant on cells."""
    grid, diffusion = TensorGrid((1.0,), 40), 0.07
    rng = np.random.default_rng(4)
    x = (np.arange(4000) + 0.5) / 4000
    for _ in range(20):
        means = rng.normal(size=(1, 40)) * (rng.random(40) < 0.3)
        levels = levels_of(means, grid, diffusion=diffusion, duration=1.0)
        n, phase = rng.integers(1, 12), rng.uniform(0.0, 6.0)
        z = np.sin(2.0 * np.pi * n * x + phase)
        integral = abs(np.mean(np.repeat(means[0], 100) * z))
        assert integral <= levels.cost(math.sqrt(diffusion) * 2.0 * np.pi * n) * (1.0 + 1e-6)


def test_bound_of_a_full_matrix():
    full = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert diagonal_bound(full) == pytest.approx([1.0, 1.0])
    assert diagonal_bound(np.diag([2.0, 3.0])) == pytest.approx([2.0, 3.0])
