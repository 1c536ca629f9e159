"""Operator norms of the SIAC filter are upper bounds, and hardly larger than what fields attain (T4.6)."""

import math

import numpy as np
import pytest

from stfem import Problem, Siac, Torus, equations
from stfem.data import sine
from stfem.reconstruction.kernel import kernel_coefficients
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.legendre import derivative_matrix, legendre_values
from stfem.spaces.stencil import apply_matrix

PI2 = 2.0 * math.pi
CASES = [(1, 0, 2, 6), (1, 1, None, 8), (1, 2, None, 3), (1, 2, 3, 7), (1, 3, 2, 1), (2, 1, 3, (4, 5))]


def setting(dim, degree, order, cells):
    problem = Problem(equations.AdvectionDiffusion((1.0,) * dim), Torus((1.0, 1.7)[:dim]), 0.0, 1.0)
    semi = Semidiscretization(problem, cells, degree)
    return semi, Siac(order).bind(semi)


def size(field, grid):
    return math.sqrt(grid.cell_measure * float(np.vdot(field, field)))


def slopes(field, bound):
    matrix = derivative_matrix(bound.degree)
    return [apply_matrix(matrix / h, field, i, bound.grid.dim) for i, h in enumerate(bound.grid.spacing)]


def sup(field, dim, points=41):
    """Largest value at points of every cell: below the supremum."""
    table = legendre_values(field.shape[-2 * dim] - 1, np.linspace(0.0, 1.0, points))
    for i in range(dim):
        field = apply_matrix(table, field, i, dim)
    return float(np.abs(field).max())


@pytest.mark.parametrize(("dim", "degree", "order", "cells"), CASES)
def test_upper_bounds_for_random_fields(dim, degree, order, cells):
    semi, bound = setting(dim, degree, order, cells)
    rng, norms = np.random.default_rng(4), bound.norms
    for smooth in (1.0, 0.3, 0.0):
        shape = semi.shape[1 : 1 + dim]
        decay = smooth ** np.indices(shape).sum(axis=0).reshape(*shape, *(1,) * dim)
        for _ in range(5):
            u = rng.normal(size=semi.shape) * decay
            after = bound.field(u)
            assert size(after, bound.grid) <= norms.mean_square * size(u, semi.grid)
            # slopes vanish at maxima inside: the supremum is above what is sampled by less than 1 %
            plain = sup(u, dim) * (1.0 if degree == 0 else 1.01)
            assert sup(after, dim) <= norms.sup * plain
            for i, slope in enumerate(slopes(after, bound)):
                assert size(slope, bound.grid) <= norms.slope[i] * size(u, semi.grid)
                assert sup(slope, dim) <= norms.sup_slope[i] * plain


@pytest.mark.parametrize(("dim", "degree", "order", "cells"), CASES)
def test_the_constant_field(dim, degree, order, cells):
    """S 1 = 1: no norm of S is below 1."""
    semi, bound = setting(dim, degree, order, cells)
    one = np.zeros(semi.shape)
    one[(0,) * (1 + dim)] = 1.0
    assert size(bound.field(one), bound.grid) == pytest.approx(size(one, semi.grid), rel=1e-12)
    assert bound.norms.mean_square >= 1.0
    assert bound.norms.sup >= 1.0


@pytest.mark.parametrize(("degree", "order"), [(0, 2), (1, 4), (2, 3), (3, 6)])
def test_closely_attained_in_mean_square(degree, order):
    """By power iteration: norms of S and ∂S restricted to piecewise polynomials are not far below."""
    semi, bound = setting(1, degree, order, 12)
    columns = np.eye(semi.dofs).reshape(semi.dofs, *semi.shape)
    scale = math.sqrt(bound.grid.cell_measure / semi.grid.cell_measure)
    filtered = np.stack([bound.field(column).ravel() for column in columns], axis=1)
    steep = np.stack([slopes(bound.field(column), bound)[0].ravel() for column in columns], axis=1)
    for matrix, norm in ((filtered, bound.norms.mean_square), (steep, bound.norms.slope[0])):
        attained = scale * float(np.linalg.norm(matrix, 2))
        assert attained <= norm <= 1.5 * attained


def test_trigonometric_functions_are_multiplied():
    """A resolved wave tells the multiplier: K̂(ξ) = Σ c_γ cos(γξ) (sin(ξ/2)/(ξ/2))^ℓ."""
    semi, bound = setting(1, 3, 4, 10)
    u = semi.project([sine([PI2])])
    xi = PI2 / 10.0
    coefficients = [float(c) for c in kernel_coefficients(3, 4)]
    symbol = sum(c * math.cos((n - 3) * xi) for n, c in enumerate(coefficients))
    symbol *= (math.sin(0.5 * xi) / (0.5 * xi)) ** 4
    assert size(bound.field(u), bound.grid) == pytest.approx(symbol * size(u, semi.grid), rel=1e-6)
    assert symbol <= bound.norms.mean_square


def test_units_and_directions():
    """Slopes count in 1/length of their own direction."""
    _, bound = setting(2, 1, None, (4, 4))
    for name in ("slope", "sup_slope"):
        first, second = getattr(bound.norms, name)
        assert first == pytest.approx(1.7 * second, rel=1e-12)
    _, line = setting(1, 1, None, 4)
    assert bound.norms.mean_square == pytest.approx(line.norms.mean_square**2, rel=1e-10)
    assert bound.norms.sup == pytest.approx(line.norms.sup**2, rel=1e-10)
