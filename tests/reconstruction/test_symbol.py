"""Norms of filtered fields from Fourier coefficients, against the filtered fields themselves."""

import math

import numpy as np
import pytest

from stfem import Problem, Siac, Torus, equations
from stfem.data import Constant, cosine
from stfem.reconstruction import symbol
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.legendre import legendre_values

CASES = [
    (1, 2, None, (7,)),
    (1, 1, 3, (6,)),
    (1, 0, 2, (5,)),
    (1, 2, 4, (1,)),
    (2, 1, 3, (5, 4)),
    (2, 2, None, (3, 2)),
    (3, 1, 2, (3, 4, 5)),
]


def bound_of(dim, degree, order, cells):
    equation = equations.AdvectionDiffusion((1.0, 0.3, 0.1)[:dim], 0.01)
    semi = Semidiscretization(Problem(equation, Torus((1.0, 1.3, 0.7)[:dim]), 0.0, 1.0), cells, degree)
    return semi, Siac(order).bind(semi)


def exactly(field, grid, direction):
    """‖·‖ by Gauss points and the largest value on a fine lattice of a field or of one of its derivatives."""
    points, weights = np.polynomial.legendre.leggauss(field.shape[1] + 1)
    values, fine = field, field
    for i, h in enumerate(grid.spacing):
        order = int(i == direction)
        for s, name in ((0.5 * (points + 1.0), "values"), (np.linspace(0.0, 1.0, 17), "fine")):
            table = legendre_values(field.shape[1 + i] - 1, s, order) / h**order
            if name == "values":
                table = np.sqrt(0.5 * weights)[:, None] * table
                values = np.moveaxis(np.tensordot(table, values, axes=(1, 1 + i)), 0, 1 + i)
            else:
                fine = np.moveaxis(np.tensordot(table, fine, axes=(1, 1 + i)), 0, 1 + i)
    return math.sqrt(grid.cell_measure) * float(np.linalg.norm(values)), float(np.abs(fine).max())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("dim", "degree", "order", "cells"), CASES)
def test_norms_are_exact_and_suprema_bounded(dim, degree, order, cells, seed):
    semi, bound = bound_of(dim, degree, order, cells)
    field = np.random.default_rng(seed).normal(size=semi.shape)
    directions = (None, *range(dim))
    sizes, sups = bound.symbol.measure(field, directions)
    filtered = bound.field(field)
    for direction, size, sup in zip(directions, sizes, sups, strict=True):
        norm, largest = exactly(filtered, bound.grid, direction)
        # splines as wide as the torus have no slope at all but for round-off
        assert norm * (1.0 - 1e-12) - 1e-15 <= size <= norm * (1.0 + 1e-9) + 1e-10
        assert sup >= largest


@pytest.mark.parametrize(("dim", "order"), [(1, None), (1, 3), (2, None)])
def test_supremum_of_a_wave_is_close(dim, order):
    """One frequency, whose cells hold little but their means: û is at its crest what the bound says."""
    semi, bound = bound_of(dim, 2, order, (64,) * dim)
    wave = 0.7 + cosine(2.0 * np.pi / np.array(semi.grid.lengths))
    field = semi.project([wave])
    _, sups = bound.symbol.measure(field)
    assert 1.7 * (1.0 - 1e-6) <= sups[0] <= 1.7 * 1.4


def test_a_constant_and_zero():
    semi, bound = bound_of(2, 1, None, (4, 3))
    sizes, sups = bound.symbol.measure(np.zeros(semi.shape), (None, 0, 1))
    assert not sizes.any()
    assert not sups.any()
    sizes, sups = bound.symbol.measure(semi.project([Constant(2.0, 2)]), (None, 0, 1))
    np.testing.assert_allclose(sizes, [2.0 * math.sqrt(semi.grid.measure), 0.0, 0.0], atol=1e-10)
    np.testing.assert_allclose(sups, [2.0, 0.0, 0.0], atol=1e-9)
    assert sizes[0] >= 2.0 * math.sqrt(semi.grid.measure)
    assert sups[0] >= 2.0


@pytest.mark.parametrize(("dim", "degree", "order", "cells"), CASES)
def test_blocks_of_frequencies_change_nothing(dim, degree, order, cells, monkeypatch):
    semi, bound = bound_of(dim, degree, order, cells)
    field = np.random.default_rng(2).normal(size=semi.shape)
    directions = (None, *range(dim))
    expected = bound.symbol.measure(field, directions)
    monkeypatch.setattr(symbol, "_BLOCK_VALUES", 1)
    np.testing.assert_allclose(bound.symbol.measure(field, directions), expected, rtol=1e-12, atol=1e-14)
