"""Quadratic forms of fields at nodes: kept modes per cell, the others through their norms."""

import tracemalloc

import numpy as np
import pytest

from stfem.reconstruction import Hermite
from stfem.residual import forms
from stfem.residual.forms import REST, TOO_MUCH, KeptModes, NodeForm
from stfem.residual.quadratic import _piece_grams
from stfem.spaces.legendre import gauss, legendre_values


class Key:
    """Something that a field belongs to."""


def fields(count, modes, cells, seed=0, fall=0.2):
    """Modes ``(2, M, C)`` that fall off like the given power."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(2, modes, cells)) * fall ** np.arange(modes)[:, None] for _ in range(count)]


def add(form, key, values):
    """Offer a field until the form takes it; a second time it has the modes it needs."""
    for _ in range(2):
        if key not in form:
            form.add(key, KeptModes(values[:, form.kept].copy(), (values**2).sum(axis=2)))


def grams(count, pieces=3, degree=2):
    """Positive semi-definite matrices, one for every piece."""
    rng = np.random.default_rng(5)
    factors = rng.normal(size=(pieces, degree + 1, 2 * count))
    return np.einsum("pac,pad->pcd", factors, factors)


def truth(matrices, values):
    """Per piece and cell, all modes."""
    stacked = np.concatenate(values)
    return np.einsum("pjl,jmc,lmc->pc", matrices, stacked, stacked)


@pytest.mark.parametrize("fall", [0.05, 0.3, 1.0])
def test_bounds_of_the_form(fall):
    count, values, form = 3, fields(3, 12, 7, fall=fall), NodeForm()
    keys = [Key() for _ in values]
    for _ in range(2):  # a later node may need more modes, and the others are forgotten then
        for key, value in zip(keys, values, strict=True):
            if key not in form:
                add(form, key, value)
    matrices = grams(count)
    found, exact = form(matrices, keys), truth(matrices, values)
    per_cell = exact.sum(axis=0)
    assert np.all(found.cells <= per_cell + 1e-12 * per_cell.max())
    assert found.cells.sum() <= per_cell.sum() * (1.0 + 1e-12)
    assert found.cells.sum() + found.rest >= per_cell.sum() * (1.0 - 1e-12)
    assert np.all(found.pieces >= exact.sum(axis=1) * (1.0 - 1e-12))
    assert np.all(found.kept_pieces <= exact.sum(axis=1) * (1.0 + 1e-12))
    assert found.kept_pieces.sum() == pytest.approx(found.cells.sum(), rel=1e-12)
    norms = np.array([np.linalg.norm(value[j]) for value in values for j in range(2)])
    assert found.size <= norms @ np.abs(matrices.sum(axis=0)) @ norms * (1.0 + 1e-12)
    assert found.size >= np.abs(per_cell).sum() * (1.0 - TOO_MUCH)
    if fall == 1.0:
        assert found.rest == 0.0  # every mode matters
        np.testing.assert_allclose(found.cells, per_cell, rtol=1e-12)
    else:
        assert 0.0 < found.rest <= 1e-3 * per_cell.sum()
        assert found.cells.sum() < per_cell.sum()  # without the rest it is no bound


def test_modes_that_matter_are_kept_and_the_first_always():
    value = fields(1, 12, 7, fall=0.05)[0]
    value[:, 0] = 0.0
    form, key = NodeForm(), Key()
    add(form, key, value)
    np.testing.assert_array_equal(form.means([key]), value[:, 0])
    assert form.size(key) == pytest.approx(np.linalg.norm(value[0]), rel=1e-14)
    kept = form._entries[key].values.shape[1]
    assert 1 < kept < 5
    outside = form._entries[key].rest / np.linalg.norm(value, axis=(1, 2))
    assert np.all(outside <= REST)


def test_a_node_with_other_modes_makes_all_start_anew():
    values, form = fields(2, 12, 7, fall=0.05), NodeForm()
    values[1] = values[1][:, ::-1].copy()
    keys = [Key(), Key()]
    add(form, keys[0], values[0])
    add(form, keys[1], values[1])
    assert keys[0] not in form
    assert keys[1] in form
    add(form, keys[0], values[0])
    assert keys[0] in form
    assert keys[1] in form
    matrices = grams(2)
    found, exact = form(matrices, keys), truth(matrices, values)
    assert found.cells.sum() + found.rest >= exact.sum() * (1.0 - 1e-12)
    form.restart(np.zeros(1, dtype=np.intp))
    assert keys[0] not in form


def test_only_the_kept_modes_are_held(monkeypatch):
    """Nothing else that has as many entries as there are cells, and blocks of cells change nothing."""
    cells, form, keys = 5000, NodeForm(), [Key(), Key(), Key()]
    matrices = grams(3)
    tracemalloc.start()
    for key, value in zip(keys, fields(3, 4, cells, fall=1.0), strict=True):
        add(form, key, value)
    del value
    before = tracemalloc.get_traced_memory()[0]
    found = form(matrices, keys)
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert held < 1.5 * found.cells.nbytes
    monkeypatch.setattr(forms, "BLOCK_VALUES", 1)
    np.testing.assert_allclose(form(matrices, keys).cells, found.cells, rtol=1e-12)


def test_zero_fields():
    form, key = NodeForm(), Key()
    add(form, key, np.zeros((2, 5, 3)))
    found = form(grams(1), [key])
    assert found.rest == found.size == 0.0
    assert not found.cells.any()
    assert not found.pieces.any()


@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_gram_matrices_of_pieces(pieces):
    """Against integrals of products of the interpolated basis."""
    times = (0.0, 0.3, 0.4, 1.0)
    modes, _ = Hermite(7).modes(times, 0.3, 0.4)
    found = modes.T @ _piece_grams(7, pieces) @ modes
    points, weights = gauss(12)
    for number in range(pieces):
        values = legendre_values(7, (number + points) / pieces) @ modes
        expected = (values.T * weights) @ values / pieces
        np.testing.assert_allclose(found[number], expected, rtol=1e-10, atol=1e-14 * np.abs(expected).max())
    np.testing.assert_allclose(found.sum(axis=0), modes.T @ modes, atol=1e-12 * np.abs(modes).max() ** 2)
