"""Kronecker products on fields, however their factors are grouped."""

from functools import reduce

import numpy as np
import pytest

from stfem.meshes.periodic import move, neighbour
from stfem.spaces import tensor_product
from stfem.spaces.blocks import blocks
from stfem.spaces.tensor_product import TensorProduct

SHAPES = {1: [(5, 3)], 2: [(4, 2), (1, 3)], 3: [(2, 3), (4, 2), (3, 3)]}


@pytest.mark.parametrize("dim", SHAPES)
@pytest.mark.parametrize("moved", [0, 12, 10_000])
def test_equals_the_dense_matrix(dim, moved, monkeypatch):
    monkeypatch.setattr(tensor_product, "MOVE", moved)
    rng = np.random.default_rng(0)
    factors = [rng.normal(size=shape) for shape in SHAPES[dim]]
    product = TensorProduct(factors)
    field = rng.normal(size=(2, product.columns, 7))
    out, buffers = np.empty((2, product.rows, 7)), product.buffers(2, 7)
    product.apply(field, out, buffers)
    np.testing.assert_allclose(out, reduce(np.kron, factors) @ field, atol=1e-13)
    assert sum(b.size for b in buffers) == 2 * 7 * product.intermediate
    if moved == 10_000:
        assert product.intermediate == 0  # one pass where moving is dear


def test_cheapest_grouping():
    many = TensorProduct([np.ones((6, 3))] * 3)
    assert many.intermediate > 0  # one matrix of 216 times 27 costs more
    assert many.cost < TensorProduct([np.ones((216, 27))]).cost


@pytest.mark.parametrize("shift", [1, -1])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(3, 4, 2), (1, 1, 1)])
def test_move(shift, axis, shape):
    field = np.random.default_rng(1).normal(size=shape)
    target = np.empty(shape)
    move(target, field, shift, axis)
    np.testing.assert_array_equal(target, neighbour(field, shift, axis))
    beyond = np.full_like(np.take(field, [0], axis), 9.0)
    move(target, field, shift, axis, beyond)
    np.testing.assert_array_equal(np.take(target, -1 if shift == 1 else 0, axis), np.squeeze(beyond, axis))


def test_blocks_cover_the_rows_once():
    for rows in (1, 2, 7, 1000):
        for values in (1, 50, 10**9):
            parts = blocks((rows, 30), values)
            assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
            assert (parts[0].start, parts[-1].stop) == (0, rows)
            assert all(part.below == (part.start - 1) % rows for part in parts)
            assert all(part.above == part.stop % rows for part in parts)
    assert len(blocks((7, 30), 10**9)) == 7


def test_blocks_are_of_one_size_where_that_costs_little():
    sizes = {part.stop - part.start for part in blocks((256, 256), 90)}
    assert len(sizes) == 1
