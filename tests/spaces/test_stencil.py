"""Stencils on periodic rows of cells: wrapping, folding, composition, Fourier symbols."""

import numpy as np
import pytest

from stfem.meshes import TensorGrid
from stfem.spaces.stencil import Stencil, TermRows, apply_along, apply_term
from stfem.spaces.tensor import norm_l2_sq, point_coordinates, refined, values_at, weighted_gauss


def random_stencil(seed, shifts, rows=3, columns=2, pieces=1):
    rng = np.random.default_rng(seed)
    return Stencil(tuple(shifts), rng.normal(size=(len(shifts), pieces * rows, columns)), pieces)


def by_loops(stencil, field):
    """The definition, cell by cell: field (modes, cells)."""
    cells = field.shape[1]
    rows = stencil.matrices.shape[1] // stencil.pieces
    out = np.zeros((rows, cells * stencil.pieces))
    for c in range(cells):
        value = sum(
            m @ field[:, (c + s) % cells] for s, m in zip(stencil.shifts, stencil.matrices, strict=True)
        )
        for piece in range(stencil.pieces):
            out[:, c * stencil.pieces + piece] = value[piece * rows : (piece + 1) * rows]
    return out


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("pieces", [1, 2])
def test_apply_is_the_definition(cells, pieces):
    stencil = random_stencil(1, range(-2, 3), pieces=pieces)
    field = np.random.default_rng(2).normal(size=(2, cells))
    np.testing.assert_allclose(stencil.apply(field, 0, 1), by_loops(stencil, field), atol=1e-13)
    mirrored = Stencil(stencil.shifts, stencil.matrices[::-1].copy(), pieces)
    if cells > 2:  # the comparison notices exchanged neighbours
        assert np.abs(mirrored.apply(field, 0, 1) - by_loops(stencil, field)).max() > 0.1


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_folding_equals_the_repeated_domain(cells):
    stencil = random_stencil(3, range(-4, 5))
    field = np.random.default_rng(4).normal(size=(2, cells))
    repeated = stencil.apply(np.tile(field, (1, 12 // cells)), 0, 1)
    assert len(stencil.folded(cells).shifts) == cells
    assert stencil.folded(20) is stencil
    np.testing.assert_allclose(stencil.apply(field, 0, 1), repeated[:, :cells], atol=1e-13)
    cut = Stencil(stencil.shifts[2:-2], stencil.matrices[2:-2])  # dropping what wraps round is not the same
    assert np.abs(cut.apply(field, 0, 1) - repeated[:, :cells]).max() > 0.1


def test_directions_do_not_mix():
    rng = np.random.default_rng(5)
    stencil = random_stencil(6, (-1, 0, 1), 2, 2)
    field = rng.normal(size=(2, 2, 3, 4, 5))[:, :, None].reshape(2, 2, 1, 3, 4, 5)
    line = stencil.apply(field[:, :, :, 1, :, 2].transpose(0, 2, 1, 3)[0, 0], 0, 1)
    whole = stencil.apply(field, 1, 3)
    np.testing.assert_allclose(whole[0, :, 0, 1, :, 2], line, atol=1e-13)
    other = random_stencil(7, (0, 1), 2, 2)
    term = ((0, stencil), (1, other))
    np.testing.assert_allclose(
        apply_term(term, field, 3), stencil.apply(other.apply(field, 1, 3), 0, 3), atol=1e-12
    )
    np.testing.assert_allclose(
        apply_term(term, field, 3), other.apply(stencil.apply(field, 0, 3), 1, 3), atol=1e-12
    )


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("directions", [(0,), (1,), (0, 1), (0, 1, 2)])
def test_rows_after_rows_are_the_whole(directions, pieces):
    """In order with kept neighbours, over the end of the torus, backwards, again, and with gaps."""
    field = np.random.default_rng(14).normal(size=(3, 2, 2, 2, 7, 3, 2))
    term = tuple((i, random_stencil(15 + i, (-2, 0, 1), 2, 2, pieces)) for i in directions)
    whole = field
    for i, stencil in reversed(term):
        whole = stencil.apply(whole, i, 3)
    first = pieces if 0 in directions else 1
    applied = TermRows(term, field, 3)
    for start, stop in ((0, 2), (2, 5), (5, 7), (6, 7), (0, 7), (1, 2), (1, 2), (4, 6), (3, 5)):
        expected = whole[..., start * first : stop * first, :, :]
        np.testing.assert_allclose(applied(slice(start, stop)), expected, atol=1e-12)


def test_composition_and_scaling():
    inner, outer = random_stencil(8, (-1, 0, 1), 3, 2), random_stencil(9, (0, 1, 2), 4, 3)
    field = np.random.default_rng(10).normal(size=(2, 7))
    expected = outer.apply(inner.apply(field, 0, 1), 0, 1)
    np.testing.assert_allclose(outer.after(inner).apply(field, 0, 1), expected, atol=1e-13)
    np.testing.assert_allclose(
        outer.scaled(-2.5).apply(field[:1].repeat(3, 0), 0, 1),
        -2.5 * outer.apply(field[:1].repeat(3, 0), 0, 1),
        atol=1e-13,
    )


def test_symbol_diagonalises():
    stencil = random_stencil(11, (-1, 0, 1), 2, 2)
    field = np.random.default_rng(12).normal(size=(2, 6))
    spectrum = np.einsum("kij,jk->ik", stencil.symbol(6), np.fft.fft(field, axis=1))
    np.testing.assert_allclose(np.fft.ifft(spectrum, axis=1), stencil.apply(field, 0, 1), atol=1e-13)


def test_apply_along_is_einsum():
    field = np.random.default_rng(13).normal(size=(3, 4, 5))
    matrix = np.random.default_rng(14).normal(size=(2, 4))
    np.testing.assert_allclose(
        apply_along(matrix, field, 1), np.einsum("ij,ajb->aib", matrix, field), atol=1e-14
    )


def test_points_and_norms_of_a_grid():
    grid = TensorGrid((2.0, 3.0), (4, 5))
    s, weights = weighted_gauss(4, 2)
    x = point_coordinates(grid, [s, s])
    assert x.shape == (2, 4, 4, 4, 5)
    assert x[0, 1, 0, 2, 0] == pytest.approx((2 + s[1]) * 0.5)
    modes = np.random.default_rng(15).normal(size=(1, 3, 3, 4, 5))
    integral = (values_at(modes, 2, s, 2) ** 2 * weights).sum() * grid.cell_measure
    assert norm_l2_sq(modes, grid) == pytest.approx(integral, rel=1e-13)
    integral_of_x = (x[1] * weights).sum() * grid.cell_measure
    assert integral_of_x == pytest.approx(2.0 * 4.5, rel=1e-13)
    assert refined(grid, 2) == TensorGrid((2.0, 3.0), (8, 10))
