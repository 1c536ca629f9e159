import dataclasses

import numpy as np
import pytest
import skfem
from matplotlib.colors import LogNorm

from stfem.meshes.grid import TensorGrid
from stfem.plotting import PaperFigure, plot_cells, plot_indicators
from stfem.plotting.shapes import shapes


def polygons(axes):
    """Corners of what is drawn, without the closing one, and the values."""
    (drawn,) = axes.collections
    values = drawn.get_array()
    return [path.vertices[:-1] for path in drawn.get_paths()], None if values is None else np.asarray(values)


def area(corners):
    x, y = np.asarray(corners).T
    return 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def maps(figure):
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


def middles(mesh):
    return mesh.p[:, mesh.t].mean(axis=1)


def test_bars_stand_on_their_cells(results):
    estimate = results[1]
    (axes,) = plot_indicators(estimate).axes
    bars, _ = polygons(axes)
    for i, bar in enumerate(bars):
        assert (bar[:, 0].min(), bar[:, 0].max()) == pytest.approx((i / 3, (i + 1) / 3))
        assert bar[:, 1].max() == pytest.approx(np.sqrt(estimate.indicators_sq[i]), rel=1e-14)
        assert bar[:, 1].min() == 0.0
    assert axes.get_ylabel() == r"indicator $\eta_K$ (units of $u$)"
    assert axes.get_xlabel() == "$x_1$ (length)"


@pytest.mark.parametrize("flat", [False, True])
def test_maps_have_the_values_of_their_cells(flat):
    grid = TensorGrid((3.0, 1.0), (5, 2))
    squares = np.arange(1.0, 11.0).reshape(5, 2)
    axes = maps(plot_cells(squares.ravel() if flat else squares, grid))[0]
    corners, values = polygons(axes)
    for square, value in zip(corners, values, strict=True):
        i, j = (square.mean(axis=0) / grid.spacing).astype(int)
        assert value == pytest.approx(np.sqrt(squares[i, j]), rel=1e-15)
        np.testing.assert_allclose(np.ptp(square, axis=0), grid.spacing)
    assert len(values) == 10


def test_indicators_in_three_dimensions_are_shown_on_slices(results):
    estimate = results[3]
    panels = maps(plot_indicators(estimate))
    assert [axes.get_title() for axes in panels] == ["$x_3$ = 0.5", "$x_2$ = 0.5", "$x_1$ = 0.5"]
    for axes, direction in zip(panels, (2, 1, 0), strict=True):
        layer = np.take(np.sqrt(estimate.indicators_sq), 1, axis=direction)
        for square, value in zip(*polygons(axes), strict=True):
            assert value == layer[tuple((3 * square.mean(axis=0)).astype(int))]
    assert len({axes.collections[0].get_clim() for axes in panels}) == 1


@pytest.mark.parametrize(("position", "layer"), [(0.0, 0), (0.3, 1), (0.25, 1), (1.0, 0)])
def test_a_face_belongs_to_the_cell_to_its_right(position, layer):
    """As in the evaluation of fields; the torus ends where it begins."""
    part = shapes(TensorGrid((1.0, 1.0), (4, 3)), (0, position))
    assert part.cells.tolist() == [3 * layer, 3 * layer + 1, 3 * layer + 2]


@pytest.mark.parametrize(
    ("mesh", "total"),
    [
        (skfem.MeshTri().refined(2), 1.0),
        (skfem.MeshTri.init_lshaped().refined(1), 3.0),
        (skfem.MeshQuad.init_tensor(np.linspace(0, 1, 4) ** 2, np.linspace(0, 2, 3)), 2.0),
        (skfem.MeshTri2.init_circle(2), np.pi),
    ],
    ids=["triangles", "L", "quadrilaterals", "curved"],
)
def test_meshes_of_scikit_fem(mesh, total):
    squares = 2.0 + middles(mesh)[0] + 3.0 * middles(mesh)[1] ** 2
    axes = maps(plot_cells(squares, mesh))[0]
    corners, values = polygons(axes)
    np.testing.assert_allclose(values, np.sqrt(squares))
    curved = isinstance(mesh, skfem.MeshTri2)
    assert sum(area(polygon) for polygon in corners) == pytest.approx(total, rel=5e-3 if curved else 1e-12)
    if not curved:
        np.testing.assert_allclose([polygon.mean(axis=0) for polygon in corners], middles(mesh).T, atol=1e-14)


def test_lines_of_scikit_fem():
    mesh = skfem.MeshLine(np.linspace(0.0, 1.0, 6) ** 2)
    bars, _ = polygons(plot_cells(np.arange(1.0, 6.0) ** 2, mesh).axes[0])
    for cell, bar in enumerate(bars):
        ends = sorted(mesh.p[0, mesh.t[:, cell]])
        assert (bar[:, 0].min(), bar[:, 0].max()) == pytest.approx(tuple(ends), abs=1e-15)
        assert bar[:, 1].max() == pytest.approx(cell + 1.0)


@pytest.mark.parametrize("position", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("direction", [0, 1, 2])
@pytest.mark.parametrize("mesh", [skfem.MeshTet().refined(2), skfem.MeshHex().refined(2)], ids=["tet", "hex"])
def test_slices_of_meshes(mesh, direction, position):
    """What a plane cuts out of the cells tiles the square, and every piece lies in its cell."""
    part = shapes(mesh, (direction, position))
    assert sum(area(polygon) for polygon in part.corners) == pytest.approx(1.0, rel=1e-9)
    for polygon, cell in zip(part.corners, part.cells, strict=True):
        inside = np.insert(polygon.mean(axis=0), direction, position)
        corners = mesh.p[:, mesh.t[:, cell]]
        assert np.all(inside >= corners.min(axis=1) - 1e-9)
        assert np.all(inside <= corners.max(axis=1) + 1e-9)
        if mesh.t.shape[0] == 4:  # barycentric coordinates
            matrix = np.vstack([corners, np.ones(4)])
            assert np.linalg.solve(matrix, [*inside, 1.0]).min() >= -1e-9


def test_cells_of_a_periodic_mesh_stay_small():
    """Cells beside the seam have corners on its other side, but are not drawn across the domain."""
    plain = skfem.MeshTri().refined(2)
    right, left = (np.flatnonzero(plain.p[0] == side) for side in (1.0, 0.0))
    right, left = (ends[np.argsort(plain.p[1, ends])] for ends in (right, left))
    mesh = skfem.MeshTri1DG.periodic(plain, right, left)
    assert np.ptp(mesh.p[0, mesh.t], axis=0).max() == 1.0  # what a picture from its points would show
    corners, _ = polygons(maps(plot_cells(np.ones(mesh.t.shape[1]), mesh))[0])
    assert max(np.ptp(polygon, axis=0).max() for polygon in corners) == pytest.approx(0.25)
    assert sum(area(polygon) for polygon in corners) == pytest.approx(1.0)


def test_large_ratios_are_shown_on_a_logarithmic_scale():
    grid = TensorGrid((1.0, 1.0), (2, 2))
    drawn = maps(plot_cells([[1.0, 1e-6], [0.0, 4.0]], grid))[0].collections[0]
    assert isinstance(drawn.norm, LogNorm)
    assert drawn.get_clim() == pytest.approx((1e-3, 2.0))
    assert drawn.to_rgba(np.ma.masked_equal([0.0], 0.0))[0, 3] == 0.0  # zero is blank
    assert not isinstance(maps(plot_cells(np.full(4, 2.0), grid))[0].collections[0].norm, LogNorm)
    bars = plot_cells([1.0, 1e-6], TensorGrid((1.0,), 2)).axes[0]
    assert bars.get_yscale() == "log"


def test_nothing_but_zeros():
    for cells in ((3,), (2, 2)):
        figure = plot_cells(np.zeros(cells), TensorGrid((1.0,) * len(cells), cells))
        figure.canvas.draw()
        assert figure.axes


def test_drawing_into_given_axes(results):
    figure = PaperFigure(7.0, 3.0)
    left, right = figure.subplots(1, 2)
    assert plot_indicators(results[2], axes=left) is figure
    assert plot_indicators(results[2], slices=[(0, 0.4)], axes=right) is figure
    assert left.collections
    assert right.collections
    with pytest.raises(ValueError, match="axes: expected None for 3 slices"):
        plot_indicators(results[3], axes=left)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], "values_sq: expected 4 numbers, one per cell, got 2"),
        (np.ones((4, 1)), r"values_sq: expected shape \(2, 2\), got \(4, 1\)"),
        ([1.0, 2.0, -1.0, 0.0], "values_sq: expected finite numbers ≥ 0"),
        ([1.0, 2.0, np.nan, 0.0], "values_sq: expected finite numbers ≥ 0"),
        ([1.0, 2.0, np.inf, 0.0], "values_sq: expected finite numbers ≥ 0"),
    ],
)
def test_values_that_do_not_fit(values, message):
    with pytest.raises(ValueError, match=message):
        plot_cells(values, TensorGrid((1.0, 1.0), (2, 2)))


@pytest.mark.parametrize("mesh", [None, 3, skfem.MeshTri, np.zeros((2, 3))])
def test_what_is_no_mesh(mesh):
    with pytest.raises(TypeError, match=r"mesh: expected a TensorGrid or a mesh of scikit-fem, got a"):
        plot_cells([1.0], mesh)


def test_an_estimate_that_does_not_know_its_grid(results):
    bare = dataclasses.replace(results[2], facts={})
    with pytest.raises(ValueError, match="mesh: expected one, since the estimate does not say"):
        plot_indicators(bare)
    assert plot_indicators(bare, mesh=TensorGrid((2.0, 1.0), 3)).axes[0].get_xlim() == (0.0, 2.0)
