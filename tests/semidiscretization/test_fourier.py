"""Direct solution of (I − s P) x = r, exact for every number of cells."""

import numpy as np
import pytest

from stfem import Problem, Torus, equations
from stfem.fluxes import InteriorPenalty
from stfem.meshes import TensorGrid
from stfem.semidiscretization import Diffusion, Semidiscretization
from stfem.semidiscretization.fourier import BlockSolver, SeparableSolver
from stfem.spaces.interval import transport

MATRICES = {
    1: [np.eye(1)],
    2: [np.diag([1.0, 0.01]), np.diag([0.0, 1.0]), np.array([[1.0, 0.4], [0.4, 0.5]]), np.ones((2, 2))],
    3: [np.eye(3), np.eye(3) + 0.3 * (np.ones((3, 3)) - np.eye(3))],
}
CASES = [
    (dim, number, cells)
    for dim, choices in {
        1: [(1,), (2,), (5,), (8,)],
        2: [(1, 1), (2, 1), (1, 2), (4, 3), (3, 4), (5, 2)],
        3: [(2, 3, 1), (1, 2, 4)],
    }.items()
    for cells in choices
    for number in range(len(MATRICES[dim]))
]


@pytest.mark.parametrize(("dim", "number", "cells"), CASES)
@pytest.mark.parametrize("degree", [1, 2])
def test_inverse(dim, number, cells, degree):
    diffusion = Diffusion(TensorGrid((1.3,) * dim, cells), degree, MATRICES[dim][number], InteriorPenalty())
    expected = SeparableSolver if diffusion.diagonal else BlockSolver
    assert isinstance(diffusion._solver, expected)
    rhs = np.random.default_rng(1).normal(size=(*(degree + 1,) * dim, *cells))
    for shift in (0.0, 1e-3, 0.4, 1e4):
        x = diffusion.solve(rhs, shift)
        residual = x - shift * diffusion.apply(x) - rhs
        condition = 1.0 + shift * diffusion.spectral_radius
        assert np.abs(residual).max() <= 1e-15 * 100.0 * condition
        if shift >= 0.4:  # another shift is not an inverse
            assert np.abs(x - 0.9 * shift * diffusion.apply(x) - rhs).max() > 1e-3 or np.prod(cells) == 1


@pytest.mark.parametrize("dim", [1, 2])
def test_spectral_radius(dim):
    for matrix in MATRICES[dim]:
        grid = TensorGrid((1.0,) * dim, 4)
        diffusion = Diffusion(grid, 1, matrix, InteriorPenalty())
        shape = (*(2,) * dim, *grid.cells)
        size = int(np.prod(shape))
        dense = diffusion.apply(np.eye(size).reshape(size, *shape)).reshape(size, size)
        largest = np.abs(np.linalg.eigvalsh(dense)).max()
        assert diffusion.spectral_radius == pytest.approx(largest, rel=1e-12)


def test_components_without_diffusion_pass_unchanged():
    problem = Problem(equations.DiffusivePSystem(0.1, dim=1), Torus(1.0), (1.0, 0.0), 1.0)
    semi = Semidiscretization(problem, 5, 1)
    rhs = np.random.default_rng(2).normal(size=semi.shape)
    x = semi.solve_parabolic(rhs, 0.3)
    np.testing.assert_array_equal(x[0], rhs[0])
    np.testing.assert_allclose(x - 0.3 * semi.rhs_parabolic(0.0, x), rhs, atol=1e-12)
    assert np.abs(x[1] - rhs[1]).max() > 0.1


def test_stencil_without_reflection_is_refused():
    upwind = transport(2, 1.0, 0.0)
    with pytest.raises(ValueError, match="commutes with reflection"):
        SeparableSolver([upwind], (5,))


@pytest.mark.parametrize("matrix", [np.eye(2), np.diag([0.0, 1.0]), np.ones((2, 2))])
def test_solutions_do_not_remember(matrix):
    """Arrays kept from solve to solve: shifts in turn, and a result that stays when the next one is made."""
    grid = TensorGrid((1.0, 2.0), (6, 5))
    diffusion = Diffusion(grid, 2, matrix, InteriorPenalty())
    first, second = np.random.default_rng(8).normal(size=(2, 3, 3, *grid.cells))
    x = diffusion.solve(first, 0.1)
    kept = x.copy()
    diffusion.solve(second, 0.7)
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(diffusion.solve(first, 0.1), kept)
    fresh = Diffusion(grid, 2, matrix, InteriorPenalty())
    np.testing.assert_allclose(fresh.solve(second, 0.7), diffusion.solve(second, 0.7), atol=1e-14)


@pytest.mark.parametrize("cells", [(7,), (6, 5), (3, 4, 5)])
def test_blocks_of_frequencies(cells, monkeypatch):
    dim = len(cells)
    rhs = np.random.default_rng(9).normal(size=(*(2,) * dim, *cells))
    expected = Diffusion(TensorGrid((1.0,) * dim, cells), 1, np.eye(dim), InteriorPenalty()).solve(rhs, 0.2)
    monkeypatch.setattr("stfem.spaces.blocks.CACHE", 1)
    other = Diffusion(TensorGrid((1.0,) * dim, cells), 1, np.eye(dim), InteriorPenalty())
    np.testing.assert_allclose(other.solve(rhs, 0.2), expected, atol=1e-14)
    assert len(other._solver._tables) == other._solver._spectral[0] > 1
