"""The tensor grid checks its arguments."""

import numpy as np
import pytest

from stfem.meshes import TensorGrid


def test_measures():
    grid = TensorGrid((1.0, 3.0), (4, 6))
    assert (grid.dim, grid.spacing, grid.cell_measure, grid.measure) == (2, (0.25, 0.5), 0.125, 3.0)
    assert TensorGrid((1.0, 3.0), 5).cells == (5, 5)
    assert TensorGrid([1, 3], np.array([2, 3])).cells == (2, 3)
    assert hash(grid) == hash(TensorGrid([1.0, 3.0], [4, 6]))


@pytest.mark.parametrize(
    ("lengths", "cells", "error", "message"),
    [
        ((), 1, ValueError, "positive"),
        ((0.0,), 1, ValueError, "positive"),
        ((np.inf,), 1, ValueError, "finite"),
        ((1.0,), 0, ValueError, "at least 1"),
        ((1.0, 1.0), (2,), ValueError, "expected 2 numbers .* got 1"),
        ((1.0,), 2.5, TypeError, "whole numbers"),
        ((1.0,), "2", TypeError, "whole numbers"),
    ],
)
def test_wrong_arguments(lengths, cells, error, message):
    with pytest.raises(error, match=message):
        TensorGrid(lengths, cells)
