import numpy as np
import pytest

from stfem.meshes.grid import TensorGrid
from stfem.spaces.field import Field
from stfem.spaces.tensor import point_coordinates, values_at

GRIDS = {
    1: TensorGrid((2.0,), 5),
    2: TensorGrid((1.0, 3.0), (4, 3)),
    3: TensorGrid((1.0, 2.0, 0.5), (2, 3, 4)),
}


def anything(dim, degree=2, components=1):
    shape = (components, *(degree + 1,) * dim, *GRIDS[dim].cells)
    return Field(GRIDS[dim], degree, np.random.default_rng(dim).normal(size=shape))


@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_values_at_points_of_cells(dim, components):
    field = anything(dim, components=components)
    reference = np.array([0.1, 0.4, 0.95])
    x = point_coordinates(field.grid, [reference] * dim)
    wanted = values_at(field.values, field.degree, reference, dim)
    np.testing.assert_allclose(field(x), wanted if components > 1 else wanted[0], rtol=0.0, atol=1e-12)
    shift = np.reshape(field.grid.lengths, (dim, *(1,) * 2 * dim))
    np.testing.assert_allclose(field(x - 2.0 * shift), field(x), rtol=0.0, atol=1e-10)


def test_on_a_face_the_value_is_that_of_the_cell_to_its_right():
    """Piecewise constants 0, 1, 2, 3; the last face is the first one."""
    field = Field(TensorGrid((4.0,), 4), 0, np.arange(4.0).reshape(1, 1, 4))
    np.testing.assert_array_equal(field([[0.0, 0.5, 1.0, 2.0, 3.999, 4.0, -1.0]]), [0, 0, 1, 2, 3, 0, 3])
    assert field([1.5]) == 1.0
    assert repr(field) == "Field(cells=(4,), degree=0, components=1)"


@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize(("dim", "direction"), [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)])
def test_a_cut_has_the_values_of_the_whole(dim, direction, components):
    field = anything(dim, components=components)
    for position in (0.13, 0.25, field.grid.lengths[direction]):  # inside, perhaps on a face, and on the last
        cut = field.cut(direction, position)
        assert cut.grid.dim == dim - 1
        x = np.random.default_rng(0).uniform(-1.0, 2.0, (dim - 1, 7))
        whole = np.insert(x, direction, position, axis=0)
        np.testing.assert_allclose(cut(x), field(whole), rtol=0.0, atol=1e-11)


@pytest.mark.parametrize(
    ("dim", "arguments", "message"),
    [
        (1, (0, 0.5), "direction: expected a field in two or more dimensions"),
        (2, (2, 0.5), "direction: expected one of 0 … 1, got 2"),
        (2, (-1, 0.5), "direction: expected one of 0 … 1, got -1"),
        (2, (0, np.nan), "position: expected a finite number, got nan"),
    ],
)
def test_cuts_that_there_are_not(dim, arguments, message):
    with pytest.raises(ValueError, match=message):
        anything(dim).cut(*arguments)


def test_points_of_another_dimension():
    with pytest.raises(ValueError, match=r"x: expected shape \(2, ...\), got \(3, 4\)"):
        anything(2)(np.zeros((3, 4)))


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ("a", TypeError, "x: expected real numbers, got dtype <U1"),
        ([[0.3 + 1j]], TypeError, "x: expected real numbers, got dtype complex128"),
        (None, TypeError, "x: expected real numbers, got dtype object"),
        ([[0.1, np.nan]], ValueError, "x: expected finite numbers, got nan"),
        ([[0.1, -np.inf]], ValueError, "x: expected finite numbers, got -inf"),
        (0.3, ValueError, r"x: expected shape \(1, \.\.\.\), got \(\)"),
    ],
)
def test_what_is_no_point_is_refused(x, error, message):
    with pytest.raises(error, match=message):
        anything(1)(x)
