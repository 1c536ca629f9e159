from itertools import pairwise

import numpy as np
import pytest

import stfem
from stfem import Siac
from stfem.meshes.grid import TensorGrid
from stfem.plotting import plot_fields, plot_solution
from stfem.problems import diffusive_p_system, linear_advection_diffusion
from stfem.spaces.field import Field
from stfem.spaces.legendre import legendre_values


def sawtooth(cells=4):
    """2i + ξ on cell i, ξ in [0, 1]: it jumps by one at every face."""
    basis = legendre_values(1, np.array([0.0, 1.0]))
    nodal = np.stack([2.0 * np.arange(cells), 2.0 * np.arange(cells) + 1.0])
    return Field(TensorGrid((2.0,), cells), 1, np.linalg.solve(basis, nodal)[None])


def pieces(line):
    """Parts of a line between its gaps: x and y."""
    x, y = line.get_data()
    ends = np.flatnonzero(np.isnan(y))
    return [(x[a:b], y[a:b]) for a, b in zip([0, *ends[:-1] + 1], ends, strict=True)]


def pixels(axes):
    """Values of an image and the coordinates of their centres."""
    (image,) = axes.images
    values = np.asarray(image.get_array())
    left, right, bottom, top = image.get_extent()
    up, across = values.shape
    x = left + (np.arange(across) + 0.5) / across * (right - left)
    y = bottom + (np.arange(up) + 0.5) / up * (top - bottom)
    return values, np.stack(np.meshgrid(x, y))


def maps(figure):
    return [axes for axes in figure.axes if axes.images]


@pytest.mark.parametrize("points", [None, 2, 7])
def test_a_curve_reaches_both_limits_at_every_face(points):
    (axes,) = plot_fields({"$u_h$": sawtooth()}, points=points).axes
    drawn = pieces(axes.lines[0])
    assert len(drawn) == 4
    for i, (x, y) in enumerate(drawn):
        assert (x[0], x[-1]) == pytest.approx((0.5 * i, 0.5 * i + 0.5), abs=1e-15)
        np.testing.assert_allclose(y, 2.0 * i + (x - x[0]) / 0.5, atol=1e-13)


def test_curves_have_the_values_of_the_solution(results):
    solution = results[1].solution
    (axes,) = plot_solution(solution).axes
    drawn = pieces(axes.lines[0])
    assert len(drawn) == 3
    jumps = [after[1][0] - before[1][-1] for before, after in pairwise(drawn)]
    assert np.abs(jumps).min() > 1e-3  # the data of this test jump, and so does the picture
    for x, y in drawn:
        assert len(x) == 24
        np.testing.assert_allclose(y[:-1], solution(x[None, :-1]), atol=1e-12)  # the end is the next cell's


def test_the_reconstruction_is_drawn_upon_the_solution(results):
    solution = results[1].solution
    figure = plot_solution(solution, reconstruction=Siac())
    rough, smooth = figure.axes[0].lines
    np.testing.assert_array_equal(rough.get_ydata(), solution.plot().axes[0].lines[0].get_ydata())
    field = solution.reconstruct(Siac())
    for x, y in pieces(smooth):
        np.testing.assert_allclose(y, field(x[None]), atol=1e-12)  # continuous: the ends too
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["$u_h$", r"$\hat{u}$"]
    assert rough.get_linewidth() > 2.0 * smooth.get_linewidth()
    assert figure.axes[0].get_title() == "$t$ = 0.05"


def test_odd_splines_live_on_half_cells(results):
    odd = plot_solution(results[1].solution, reconstruction=Siac(3)).axes[0].lines[1]
    assert len(pieces(odd)) == 6


def test_maps_have_the_values_of_each_cell(results):
    solution = results[2].solution
    figure = plot_solution(solution, points=4)
    (axes,) = maps(figure)
    values, x = pixels(axes)
    assert values.shape == (12, 12)
    np.testing.assert_allclose(values, solution(x), atol=1e-12)
    assert axes.images[0].get_interpolation() == "nearest"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("$x_1$ (length)", "$x_2$ (length)")


def test_maps_of_unequal_sides_are_not_transposed():
    grid = TensorGrid((3.0, 1.0), (5, 2))
    field = Field(grid, 1, np.random.default_rng(1).normal(size=(1, 2, 2, 5, 2)))
    (axes,) = maps(plot_fields({"u": field}, points=3))
    values, x = pixels(axes)
    assert values.shape == (6, 15)
    np.testing.assert_allclose(values, field(x), atol=1e-12)


def test_solution_and_reconstruction_share_their_colours(results):
    solution = results[2].solution
    left, right = maps(plot_solution(solution, reconstruction=Siac()))
    assert left.images[0].get_clim() == right.images[0].get_clim()
    shown = [np.asarray(axes.images[0].get_array()) for axes in (left, right)]
    assert left.images[0].get_clim() == (min(s.min() for s in shown), max(s.max() for s in shown))
    values, x = pixels(right)
    np.testing.assert_allclose(values, solution.reconstruct(Siac())(x), atol=1e-12)


def test_slices_of_a_plane_are_curves(results):
    solution = results[2].solution
    figure = plot_solution(solution, slices=[(0, 0.3), (1, 0.7)])
    for axes, direction, position in zip(figure.axes, (0, 1), (0.3, 0.7), strict=True):
        assert axes.get_xlabel() == f"$x_{2 - direction}$ (length)"
        assert f"$x_{direction + 1}$ = {position}" in axes.get_title()
        for x, y in pieces(axes.lines[0]):
            whole = np.insert(x[None, :-1], direction, position, axis=0)
            np.testing.assert_allclose(y[:-1], solution(whole), atol=1e-12)


def test_three_dimensions_are_shown_on_slices(results):
    solution = results[3].solution
    panels = maps(plot_solution(solution, points=3))
    assert [axes.get_title() for axes in panels] == [f"$u_h$, $x_{i}$ = 0.5" for i in (3, 2, 1)]
    for axes, direction in zip(panels, (2, 1, 0), strict=True):
        values, x = pixels(axes)
        np.testing.assert_allclose(values, solution(np.insert(x, direction, 0.5, axis=0)), atol=1e-12)
    assert len({axes.images[0].get_clim() for axes in panels}) == 1
    (one,) = maps(plot_solution(solution, slices=[(2, 0.1)]))
    values, x = pixels(one)
    np.testing.assert_allclose(values, solution(np.insert(x, 2, 0.1, axis=0)), atol=1e-12)
    assert "$t$ = 0.05" in one.get_title()


def test_planes_in_faces_say_which_side_is_shown():
    """On an even number of cells the one through the middle does."""
    solution = stfem.solve(linear_advection_diffusion(3, 1e-2, 0.01), cells=(4, 3, 10), degree=0)
    figure = plot_solution(solution)
    assert [axes.get_title() for axes in maps(figure)] == [
        "$u_h$, $x_3$ = 0.5$^+$",
        "$u_h$, $x_2$ = 0.5",
        "$u_h$, $x_1$ = 0.5$^+$",
    ]
    values, x = pixels(maps(figure)[2])
    np.testing.assert_allclose(values, solution(np.insert(x, 0, 0.5 + 1e-9, axis=0)), atol=1e-12)
    assert np.abs(values - solution(np.insert(x, 0, 0.5 - 1e-9, axis=0))).max() > 1e-3
    below = 3 * (0.1 - 1e-17) - 1e-16  # less than three cells by round-off
    (one,) = maps(plot_solution(solution, slices=[(2, below)]))
    values, x = pixels(one)
    assert one.get_title().startswith("$u_h$, $x_3$ = 0.3$^-$")
    np.testing.assert_allclose(values, solution(np.insert(x, 2, 0.3 - 1e-9, axis=0)), atol=1e-12)


def test_solutions_draw_themselves_with_all_choices(results, tmp_path):
    solution = results[2].solution
    figure = solution.plot(tmp_path / "u.png", 3, slices=[(0, 0.4)])
    assert len(pieces(figure.axes[0].lines[0])[0][0]) == 3
    assert (tmp_path / "u.png").exists()


@pytest.mark.parametrize(("dim", "components"), [(1, 2), (2, 3)])
def test_systems_have_one_panel_per_component(dim, components):
    solution = stfem.solve(diffusive_p_system(dim, 1e-2, 0.01), cells=4, degree=1)
    figure = plot_solution(solution)
    if dim == 1:
        for component, axes in enumerate(figure.axes):
            assert axes.get_ylabel() == f"$u_{component + 1}$ (units of the problem)"  # as in VTK files
            for x, y in pieces(axes.lines[0]):
                np.testing.assert_allclose(y[:-1], solution(x[None, :-1])[component], atol=1e-12)
        assert len(figure.axes) == components
    else:
        panels = maps(figure)
        assert len(panels) == components
        for component, axes in enumerate(panels):
            values, x = pixels(axes)
            np.testing.assert_allclose(values, solution(x)[component], atol=1e-12)


def test_fine_grids_get_fewer_points():
    cells = 600
    field = Field(TensorGrid((1.0,), cells), 1, np.zeros((1, 2, cells)))
    assert len(pieces(plot_fields({"u": field}).axes[0].lines[0])[0][0]) == 2


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        ([(2, 0.5)], r"slices: expected a direction in 0 … 1, got 2"),
        ([(0, 1.5)], r"slices: expected a position in \[0, 1\] in direction 0, got 1.5"),
        ([(0, np.nan)], r"slices: expected a number from .*, got nan"),
        ([], "slices: expected at least one, got none"),
        ((0, 0.5), r"slices: expected pairs \(direction, position\), got 0"),
    ],
)
def test_slices_that_there_are_not(results, slices, message):
    with pytest.raises(ValueError, match=message):
        plot_solution(results[2].solution, slices=slices)


def test_other_refusals(results, tmp_path):
    field = sawtooth()
    with pytest.raises(ValueError, match="slices: expected None in one dimension, got 0"):
        plot_fields({"u": field}, slices=[(0, 0.5)])
    with pytest.raises(ValueError, match="fields: expected at least one field, got none"):
        plot_fields({})
    with pytest.raises(ValueError, match="fields: expected at most 3 curves in one picture, got 4"):
        plot_fields(dict.fromkeys("abcd", field))
    with pytest.raises(ValueError, match=r"fields: .* got \(\(1.0, 1.0\), 1\) for b"):
        plot_fields({"a": field, "b": results[2].solution.field})
    with pytest.raises(ValueError, match="points: expected at least 1 per cell, got 0"):
        plot_solution(results[2].solution, points=0)
    for points in (1.5, "a", True):
        with pytest.raises(TypeError, match=f"points: expected a whole number .*, got {points!r}"):
            plot_solution(results[2].solution, points=points)
    with pytest.raises(TypeError, match="solution: expected a solution, got a Certificate"):
        plot_solution(results[2])
    with pytest.raises(TypeError, match=r"fields\['a'\]: expected a field, .*, got a int"):
        plot_fields({"a": 3})
    with pytest.raises(TypeError, match=r"fields: expected fields by name, \{name: field\}, got a Field"):
        plot_fields(field)
    with pytest.raises(ValueError, match="path: expected a file that ends in one of"):
        plot_solution(results[2].solution, tmp_path / "a.docx")
