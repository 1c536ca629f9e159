"""Pictures of results on meshes: jumps are kept, cells stay in their places, boundaries have their names."""

from dataclasses import replace

import numpy as np
import pytest
import skfem
from mesh_cases import KINDS, box_mesh

import stfem
from stfem import Box, Dirichlet, Domain, Estimate, Neumann, Outflow, Problem
from stfem.equations import AdvectionDiffusion
from stfem.plotting import plot_bound, plot_indicators, plot_mesh, plot_residual, plot_solution
from stfem.problems import transient_wave
from stfem.reconstruction import VertexPatches


@pytest.fixture(scope="module")
def results_on_meshes():
    meshes = {kind: box_mesh(kind, 3 if dim < 3 else 2, 0.2) for kind, (_, dim) in KINDS.items()}
    return {
        kind: stfem.certify(transient_wave(KINDS[kind][1], 1e-2, 0.01, mesh=mesh), degree=1)
        for kind, mesh in meshes.items()
    }


def maps(figure):
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


def numbered(solution):
    """Every cell has its number as value."""
    values = np.zeros(solution.values.shape)
    values[0, 0] = np.arange(values.shape[2])
    return replace(solution, values=values)


@pytest.mark.parametrize("kind", ["triangle", "quadrilateral"])
def test_every_piece_has_the_value_of_its_own_cell(results_on_meshes, kind):
    solution = numbered(results_on_meshes[kind].solution)
    (axes,) = maps(solution.plot(points=3))
    (drawn,) = axes.collections
    centres = np.array([path.vertices[:3].mean(axis=0) for path in drawn.get_paths()]).T
    values = np.asarray(drawn.get_array())
    mesh = solution.semidiscretization.mesh
    pieces = 9 if kind == "triangle" else 18
    assert len(values) == pieces * mesh.size
    assert np.array_equal(mesh.locate(centres).cells, np.rint(values).astype(int))


def test_pieces_have_the_values_at_their_centres(results_on_meshes):
    solution = results_on_meshes["triangle"].solution
    figure = solution.plot(reconstruction=VertexPatches(), points=4)
    for axes, field in zip(maps(figure), (solution, solution.reconstruct()), strict=True):
        (drawn,) = axes.collections
        centres = np.array([path.vertices[:3].mean(axis=0) for path in drawn.get_paths()]).T
        assert np.asarray(drawn.get_array()) == pytest.approx(field(centres), abs=1e-12)
    assert [axes.get_title() for axes in maps(figure)] == ["$u_h$", r"$\hat{u}$"]


def test_no_line_crosses_a_face(results_on_meshes):
    solution = numbered(results_on_meshes["line"].solution)
    (line,) = plot_solution(solution).axes[0].lines
    x, y = line.get_data()
    pieces = [piece[np.isfinite(piece)] for piece in np.split(y, np.flatnonzero(np.isnan(y)))]
    assert [set(piece.tolist()) for piece in pieces if len(piece)] == [{0.0}, {1.0}, {2.0}]
    assert np.nanmin(x) == 0.0
    assert np.nanmax(x) == 1.0


def test_a_line_through_a_mesh(results_on_meshes):
    solution = results_on_meshes["quadrilateral"].solution
    (line,) = plot_solution(solution, slices=[(0, 0.3)]).axes[0].lines
    x, y = line.get_data()
    known = np.isfinite(y)
    assert y[known] == pytest.approx(solution(np.stack([0.3 + 0.0 * x[known], x[known]])), abs=1e-6)
    cells = solution.semidiscretization.mesh.locate(np.stack([0.3 + 0.0 * x[known], x[known]])).cells
    assert np.count_nonzero(~known) == np.count_nonzero(np.diff(cells))


@pytest.mark.parametrize("kind", ["tetrahedron", "hexahedron"])
def test_slices_of_meshes(results_on_meshes, kind):
    solution = results_on_meshes[kind].solution
    panels = maps(solution.plot(points=4))
    assert [axes.get_title() for axes in panels] == [f"$u_h$, $x_{i}$ = 0.5" for i in (3, 2, 1)]
    pixels = np.asarray(panels[0].images[0].get_array())
    side = (np.arange(len(pixels)) + 0.5) / len(pixels)
    x = np.stack([*np.meshgrid(side, side), np.full(pixels.shape, 0.5 + 1e-9)])
    assert pixels == pytest.approx(solution(x), abs=1e-9)


def test_outside_of_the_domain_there_is_nothing():
    mesh = skfem.MeshTri.init_lshaped().refined(1)
    problem = Problem(AdvectionDiffusion((1.0, 0.0)), Domain(mesh, Dirichlet(1.0)), 1.0, 0.01)
    solution = stfem.solve(problem, degree=1)
    (line,) = solution.plot(slices=[(1, 0.5)]).axes[0].lines
    x, y = line.get_data()
    width = np.diff(x[np.isfinite(y)][[0, -1]])[0]
    assert width == pytest.approx(1.0, abs=0.01)  # of two


@pytest.mark.parametrize("kind", KINDS)
def test_indicators_know_their_mesh(results_on_meshes, kind, tmp_path):
    result = results_on_meshes[kind]
    result.save(tmp_path / "estimate.npz")
    for estimate in (result, Estimate.load(tmp_path / "estimate.npz")):
        figure = plot_indicators(estimate, tmp_path / "picture.png")
        assert len(maps(figure)) == (3 if KINDS[kind][1] == 3 else 1)
    drawn = maps(figure)[0].collections[0]
    if KINDS[kind][1] == 2:
        centres = np.array([path.vertices[:-1].mean(axis=0) for path in drawn.get_paths()]).T
        cells = result.solution.semidiscretization.mesh.locate(centres).cells
        assert np.asarray(drawn.get_array()) == pytest.approx(np.sqrt(result.indicators_sq[cells]))
    direct = plot_indicators(result, mesh=result.solution.semidiscretization.mesh)
    assert len(direct.axes) == len(figure.axes)


def test_units_are_those_of_the_dimension(results_on_meshes):
    for kind, power in (("line", "{1/2}"), ("triangle", ""), ("tetrahedron", "{3/2}")):
        expected = f"length$^{power}$)" if power else "· length)"
        for figure in (results_on_meshes[kind].plot(), plot_bound(results_on_meshes[kind])):
            assert figure.axes[0].get_ylabel().endswith(expected)
    assert "length$^2$/time" not in plot_residual(results_on_meshes["line"]).axes[0].get_ylabel()


def test_boundaries_have_names_and_conditions(tmp_path):
    moving = Dirichlet(lambda x, t: t)
    sides = {"left": Dirichlet(1.0), "right": Outflow(), "bottom": Neumann(0.0), "top": moving}
    domain = Domain(box_mesh("triangle", 3, 0.2), sides)
    (axes,) = plot_mesh(domain, tmp_path / "mesh.png").axes
    lines = {line.get_label(): line.get_xydata() for line in axes.lines}
    assert set(lines) == {"left: Dirichlet(1)", "right: Outflow", "bottom: Neumann(0)", "top: Dirichlet($g$)"}
    for name, (axis, place) in {"left: Dirichlet(1)": (0, 0.0), "top: Dirichlet($g$)": (1, 1.0)}.items():
        points = lines[name][np.isfinite(lines[name][:, 0])]
        assert points[:, axis] == pytest.approx(place)
        assert np.ptp(points[:, 1 - axis]) == pytest.approx(1.0)
    inner = axes.collections[0].get_segments()
    assert len(inner) == domain.mesh().facets.interior


def test_glued_sides_boxes_and_lines():
    ring = Domain(box_mesh("quadrilateral", 2), {"left": Dirichlet(0.0), "right": Outflow()}, periodic=(1,))
    glued = next(line for line in plot_mesh(ring).axes[0].lines if line.get_label() == "periodic")
    heights = glued.get_xydata()[:, 1]
    assert set(heights[np.isfinite(heights)].tolist()) == {0.0, 1.0}
    box = Box(-1.0, 1.0, {"left": Dirichlet(0.5), "right": Outflow()})
    ticks, *ends = plot_mesh(box, cells=4).axes[0].lines
    assert ticks.get_xdata().tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert [end.get_xdata().tolist() for end in ends] == [[-1.0], [1.0]]


def test_what_cannot_be_drawn(results_on_meshes, results):
    with pytest.raises(ValueError, match="expected a mesh in one or two dimensions, got one in 3"):
        plot_mesh(results_on_meshes["tetrahedron"].solution)
    with pytest.raises(TypeError, match="expected a Box or Domain, or a solution on one, got Torus"):
        plot_mesh(results[2].solution)
    with pytest.raises(TypeError, match="cells: expected the number of cells"):
        plot_mesh(Box(0.0, 1.0, Dirichlet(0.0)))
    with pytest.raises(ValueError, match="expected a position in"):
        results_on_meshes["triangle"].solution.plot(slices=[(0, 1.5)])
