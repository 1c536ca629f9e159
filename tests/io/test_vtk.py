"""VTK itself reads the files and finds the field of every cell between the nodes too, jumps included."""

import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from stfem import Estimate, Problem, Siac, Torus, certify, equations, estimate, solve
from stfem.io import (
    HEXAHEDRON,
    LINE,
    QUADRILATERAL,
    TETRAHEDRON,
    TRIANGLE,
    Cells,
    write_cells,
    write_vtk,
    write_vtk_series,
)
from stfem.problems import diffusive_p_system, linear_advection_diffusion
from stfem.reconstruction import prolong
from stfem.spaces.legendre import legendre_values
from stfem.spaces.stencil import apply_everywhere

meshio = pytest.importorskip("meshio")
pytest.importorskip("vtk")
from vtkmodules.util.numpy_support import vtk_to_numpy  # noqa: E402  (optional)
from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader  # noqa: E402

POINTS = np.array([0.13, 0.5, 0.71])  # off the nodes of all degrees but even ones


def rough(dim, cells, degree, problem=None):
    """A solution with large jumps everywhere."""
    problem = problem or linear_advection_diffusion(dim, 1e-3, 1e-4)
    solution = solve(problem, cells=cells, degree=degree)
    return replace(solution, values=np.random.default_rng(5).normal(size=solution.values.shape))


def grid_of(path):
    reader = vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput()


def in_cell(grid, number, reference, name):
    """Place and value at reference coordinates of a cell, as VTK interpolates."""
    cell = grid.GetCell(number)
    place, weights = [0.0] * 3, [0.0] * cell.GetNumberOfPoints()
    parameters = [*reference, *[0.0] * (3 - len(reference))]
    cell.EvaluateLocation(vtk_reference(0), parameters, place, weights)
    values = grid.GetPointData().GetArray(name)
    nodes = [cell.GetPointId(i) for i in range(len(weights))]
    return np.array(place), np.dot(weights, [values.GetValue(i) for i in nodes])


def vtk_reference(value):
    from vtkmodules.vtkCommonCore import mutable

    return mutable(value)


def assert_field(path, name, modes, degree, lengths):
    """Every cell of the file, compared with the polynomial of that cell (of one component)."""
    grid = grid_of(path)
    cells = modes.shape[len(lengths) :]
    assert grid.GetNumberOfCells() == np.prod(cells)
    table = legendre_values(degree, POINTS)
    expected = apply_everywhere(table, modes[None], len(lengths))[0]
    spacing = np.array(lengths) / cells
    for number, index in enumerate(np.ndindex(cells)):
        for point in np.ndindex((len(POINTS),) * len(cells)):
            place, value = in_cell(grid, number, POINTS[list(point)], name)
            there = (np.array(index) + POINTS[list(point)]) * spacing
            assert place == pytest.approx([*there, *[0.0] * (3 - len(there))], abs=1e-13)
            assert value == pytest.approx(expected[point + index], rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    ("dim", "cells", "degree"),
    [
        *[(1, 5, 0), (1, 4, 1), (1, 3, 5), (2, (3, 2), 1), (2, (2, 3), 2), (2, 2, 5)],
        *[(3, (2, 1, 2), 1), (3, 2, 2), (3, (1, 2, 1), 3), (3, 1, 4)],
    ],
)
def test_vtk_finds_the_field_of_every_cell(tmp_path, dim, cells, degree, compressed):
    solution = rough(dim, cells, degree)
    path = write_vtk(tmp_path / "u.vtu", solution, compressed=compressed)
    assert path == tmp_path / "u.vtu"
    assert_field(path, "u_h", solution.values[0], degree, solution.problem.domain.lengths)
    assert list(tmp_path.iterdir()) == [path]


def test_the_comparison_notices_exchanged_nodes(tmp_path):
    solution = rough(3, 1, 3)
    path = write_vtk(tmp_path / "u.vtu", solution)
    mesh = meshio.read(path)
    nodes = HEXAHEDRON.numbering(3)
    edges = np.flatnonzero(((nodes > 0) & (nodes < 3)).sum(axis=1) == 1)[-4:]  # of the last two upright edges
    values = mesh.point_data["u_h"]
    values[edges] = values[edges[[2, 3, 0, 1]]]
    mesh.write(path)
    with pytest.raises(AssertionError):
        assert_field(path, "u_h", solution.values[0], 3, (1.0, 1.0, 1.0))


def test_a_square_is_a_quarter_at_the_middle_of_an_edge(tmp_path):
    """R4 item 26: x² as data of degree 2, on one cell and on several."""
    problem = Problem(equations.AdvectionDiffusion((0.0, 0.0), 0.0), Torus((1.0, 1.0)), 0.0, 1.0)
    for cells in (1, 4):
        solution = solve(problem, cells=cells, degree=2)
        x = np.array([0.0, 0.5, 1.0])[:, None]
        nodes = (x + np.arange(cells)) / cells  # (3, N): x² at the nodes of a cell determines its modes
        line = np.linalg.solve(legendre_values(2, x[:, 0]), nodes**2)
        values = np.zeros(solution.values.shape)
        values[0, :, 0] = line[:, :, None]
        path = write_vtk(tmp_path / "u.vtu", replace(solution, values=values))
        read = meshio.read(path)
        assert read.point_data["u_h"] == pytest.approx(read.points[:, 0] ** 2, abs=1e-15)
        grid = grid_of(path)
        for number in range(cells**2):
            for s in (0.25, 0.5, 0.9):
                for side in (0.0, 1.0):
                    place, value = in_cell(grid, number, (s, side), "u_h")
                    assert value == pytest.approx(place[0] ** 2, abs=1e-14)
        if cells == 1:
            assert in_cell(grid, 0, (0.5, 0.0), "u_h")[1] == pytest.approx(0.25, abs=1e-15)


def test_no_cell_reaches_across_the_domain(tmp_path):
    """R4 item 26: a periodic mesh is not drawn across the whole domain."""
    solution = rough(2, (4, 5), 2, linear_advection_diffusion(2, 0.0, 1e-4))
    read = meshio.read(write_vtk(tmp_path / "u.vtu", solution))
    (block,) = read.cells
    assert block.type == "VTK_LAGRANGE_QUADRILATERAL"
    assert len(np.unique(block.data)) == len(read.points) == 20 * 9  # nothing is shared
    corners = read.points[block.data]
    assert np.ptp(corners, axis=1) == pytest.approx(np.tile([1 / 4, 1 / 5, 0.0], (20, 1)))


def test_pyvista_samples_the_field(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    solution = rough(2, (3, 4), 2)
    grid = pyvista.read(write_vtk(tmp_path / "u.vtu", solution))
    x = np.random.default_rng(2).uniform(0.0, 1.0, (2, 40))
    sampled = pyvista.PolyData(np.vstack([x, np.zeros(40)]).T).sample(grid)
    assert sampled["vtkValidPointMask"].all()
    assert np.asarray(sampled["u_h"]) == pytest.approx(solution(x), abs=1e-10)


def test_indicators_are_cell_data(tmp_path):
    result = certify(linear_advection_diffusion(2, 1e-2, 0.02), cells=(3, 5), degree=1)
    path = write_vtk(tmp_path / "u.vtu", result.solution, result)
    data = grid_of(path).GetCellData()
    squares = vtk_to_numpy(data.GetArray("eta_sq"))
    assert np.array_equal(squares, result.indicators_sq.ravel())
    assert np.array_equal(vtk_to_numpy(data.GetArray("eta")), np.sqrt(squares))
    centres = vtk_to_numpy(grid_of(path).GetPoints().GetData()).reshape(15, 4, 3).mean(axis=1)
    cells = np.floor(centres[:, :2] * [3, 5]).astype(int)
    assert np.array_equal(squares, result.indicators_sq[tuple(cells.T)])


def test_both_components_of_a_system(tmp_path):
    solution = rough(1, 3, 2, diffusive_p_system(1, 1e-2, 1e-4))
    lengths = solution.problem.domain.lengths
    path = write_vtk(tmp_path / "u.vtu", solution)
    assert set(meshio.read(path).point_data) == {"u_1_h", "u_2_h"}
    for component, name in enumerate(["u_1_h", "u_2_h"]):
        assert_field(path, name, solution.values[component], 2, lengths)
    write_vtk(path, solution, names=("strain", "velocity"))
    assert set(meshio.read(path).point_data) == {"strain_h", "velocity_h"}


@pytest.mark.parametrize(("dim", "degree"), [(1, 2), (2, 1)])
def test_the_reconstruction_beside_the_solution(tmp_path, dim, degree):
    result = certify(linear_advection_diffusion(dim, 1e-2, 0.02), cells=6, degree=degree)
    solution = result.solution
    bound = Siac().bind(solution.semidiscretization)
    path = write_vtk(tmp_path / "u.vtu", solution, result, reconstruction=Siac())
    values = solution.values
    lengths = solution.problem.domain.lengths
    assert_field(path, "u_hat", bound.field(values)[0], bound.degree, lengths)
    whole = prolong(values, solution.semidiscretization.grid.cells, degree, bound)
    assert_field(path, "u_h", whole[0], degree, lengths)
    pieces = bound.grid.size // solution.semidiscretization.grid.size
    read = meshio.read(path)
    assert read.cell_data["eta_sq"][0].sum() == pytest.approx(pieces * result.indicators_sq.sum())


def test_a_lower_degree_is_the_interpolant(tmp_path):
    solution = rough(1, 3, 4)
    read = meshio.read(write_vtk(tmp_path / "u.vtu", solution, degree=1))
    assert read.cells[0].type == "line"
    ends = legendre_values(4, np.array([0.0, 1.0])) @ solution.values[0]
    assert read.point_data["u_h"] == pytest.approx(ends.T.ravel())


def series(path):
    """Times and files of a collection."""
    collection = ElementTree.parse(path).getroot()
    assert collection.get("type") == "Collection"
    entries = collection.findall("Collection/DataSet")
    return [float(entry.get("timestep")) for entry in entries], [entry.get("file") for entry in entries]


@pytest.mark.parametrize("history", [True, False])
def test_a_series_has_the_nodes_of_the_run(tmp_path, history):
    problem = linear_advection_diffusion(1, 1e-3, 0.1)
    solution = solve(problem, cells=6, degree=2, dt=0.01, history=history)
    path = write_vtk_series(tmp_path / "two words.pvd", solution, every=3)
    times, files = series(path)
    nodes = list(solution.nodes())
    assert times == [nodes[step].time for step in (0, 3, 6, 9, 10)]
    assert {file.name for file in tmp_path.iterdir()} == {"two words.pvd", "two words"}
    assert sorted(file.name for file in (tmp_path / "two words").iterdir()) == [Path(f).name for f in files]
    for step, file in zip((0, 3, 6, 9, 10), files, strict=True):
        assert_field(tmp_path / file, "u_h", nodes[step].values[0], 2, (1.0,))


def test_pyvista_plays_a_series(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    solution = solve(linear_advection_diffusion(2, 1e-3, 0.1), cells=3, degree=1, dt=0.01)
    reader = pyvista.get_reader(write_vtk_series(tmp_path / "u.pvd", solution, times=[0.0, 0.051, 0.1]))
    assert reader.time_values == [0.0, 0.05, 0.1]
    reader.set_active_time_point(2)
    (block,) = reader.read()
    x = np.array(block.cell_centers().points)[:, :2].T
    assert np.asarray(block.point_data_to_cell_data()["u_h"]) == pytest.approx(solution(x), abs=1e-12)


def test_about_fifty_files(tmp_path):
    solution = solve(linear_advection_diffusion(1, 0.0, 0.1), cells=4, degree=0, dt=0.1 / 120)
    times, _ = series(write_vtk_series(tmp_path / "u.pvd", solution))
    assert len(times) == 41
    assert times[-1] == 0.1


def test_an_interrupted_series_is_a_shorter_one(tmp_path, monkeypatch):
    solution = solve(linear_advection_diffusion(1, 0.0, 0.1), cells=4, degree=1, dt=0.01)
    nodes = list(solution.nodes())

    def interrupted(self):
        yield from nodes[:3]
        raise KeyboardInterrupt

    monkeypatch.setattr(type(solution), "nodes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_vtk_series(tmp_path / "u.pvd", solution, every=1)
    times, files = series(tmp_path / "u.pvd")
    assert times == [node.time for node in nodes[:3]]
    assert all((tmp_path / file).exists() for file in files)


def files_in(folder):
    return sorted(file.name for file in folder.iterdir())


def test_files_of_the_older_collection_go(tmp_path):
    solution = solve(linear_advection_diffusion(1, 0.0, 0.1), cells=4, degree=1, dt=0.01)
    path = write_vtk_series(tmp_path / "u.pvd", solution, every=2)
    own = tmp_path / "u" / "u_9.vtu"
    own.write_text("of the user")
    assert len(files_in(tmp_path / "u")) == 7
    write_vtk_series(path, solution, times=[0.0, 0.1])
    assert files_in(tmp_path / "u") == ["u_0000.vtu", "u_0001.vtu", "u_9.vtu"]
    assert series(path) == ([0.0, 0.1], ["u/u_0000.vtu", "u/u_0001.vtu"])
    assert own.read_text() == "of the user"


def test_a_file_of_another_origin_is_not_replaced(tmp_path):
    solution = solve(linear_advection_diffusion(1, 0.0, 0.1), cells=4, degree=1, dt=0.05)
    foreign = tmp_path / "u" / "u_0001.vtu"
    foreign.parent.mkdir()
    foreign.write_text("foreign")
    for collection in (None, "no XML", "<VTKFile/>", '<DataSet file="u/u_0001.vtu"/>'):
        if collection is not None:
            (tmp_path / "u.pvd").write_text(collection)
        with pytest.raises(FileExistsError, match=r"expected no file of another origin .*u_0001\.vtu"):
            write_vtk_series(tmp_path / "u.pvd", solution)
        assert foreign.read_text() == "foreign"
    assert files_in(foreign.parent) == ["u_0001.vtu"]
    write_vtk_series(tmp_path / "u.pvd", solution, times=[0.0])  # which does not touch it
    assert files_in(foreign.parent) == ["u_0000.vtu", "u_0001.vtu"]


def test_times_with_one_nearest_node_are_told(tmp_path):
    solution = solve(linear_advection_diffusion(1, 0.0, 0.1), cells=4, degree=1, dt=0.02)
    with pytest.warns(
        UserWarning, match="times: expected each .*, got 3 times for 2 nodes of a run with 5 steps"
    ):
        path = write_vtk_series(tmp_path / "u.pvd", solution, times=[0.0, 0.019, 0.021])
    assert series(path)[0] == [0.0, 0.02]
    write_vtk_series(path, solution, times=[0.0, 0.019, 0.0])  # one and the same time twice is no surprise


def test_the_estimate_has_to_be_that_of_the_solution(tmp_path):
    """Indicators of another run on the same grid would lie on the wrong solution."""
    path = tmp_path / "u.vtu"
    result = certify(linear_advection_diffusion(2, 0.0, 0.02), cells=4, degree=2)
    mine = result.solution
    others = [
        certify(linear_advection_diffusion(2, 1.0, 0.01), cells=4, degree=1),
        certify(linear_advection_diffusion(2, 1e-6, 0.02), cells=4, degree=2),
        certify(linear_advection_diffusion(2, 0.0, 0.02), cells=4, degree=2, cfl=0.4),
    ]
    for other in (*others, others[0].estimate):
        with pytest.raises(ValueError, match="estimate: expected one of the solution, got that of another"):
            write_vtk(path, mine, other)
        with pytest.raises(ValueError, match="estimate: expected one of the solution"):
            write_vtk_series(path.with_suffix(".pvd"), mine, other)
    assert list(tmp_path.iterdir()) == []
    mine.save(tmp_path / "run.npz")
    result.save(tmp_path / "estimate.npz")
    loaded = type(mine).load(tmp_path / "run.npz")
    for same in (result, result.estimate, estimate(loaded), Estimate.load(tmp_path / "estimate.npz")):
        for solution in (mine, loaded):
            write_vtk(path, solution, same)


def test_a_name_is_one_name(tmp_path):
    path = tmp_path / "u.vtu"
    assert set(meshio.read(write_vtk(path, rough(1, 3, 1), names="ab")).point_data) == {"ab_h"}
    system = rough(1, 3, 1, diffusive_p_system(1, 1e-2, 1e-4))
    with pytest.raises(ValueError, match="names: expected 2 different ones, got 'ab'"):
        write_vtk(path, system, names="ab")


def test_arguments_that_do_not_fit(tmp_path):
    problem = linear_advection_diffusion(1, 1e-2, 0.02)
    result = certify(problem, cells=4, degree=1)
    solution = result.solution
    path = tmp_path / "u.vtu"
    refused = [
        (ValueError, r"ends in \.vtu", lambda: write_vtk(tmp_path / "u.vtk", solution)),
        (
            TypeError,
            "expected a Solution, got Certificate; of a certificate",
            lambda: write_vtk(path, result),
        ),
        (TypeError, "expected an Estimate", lambda: write_vtk(path, solution, solution)),
        (TypeError, r"such as Siac\(\)", lambda: write_vtk(path, solution, reconstruction="siac")),
        (ValueError, "names: expected 1 different", lambda: write_vtk(path, solution, names=("a", "b"))),
        (ValueError, "names: expected ASCII", lambda: write_vtk(path, solution, names="ü")),
        (TypeError, "names: expected strings", lambda: write_vtk(path, solution, names=[1])),
        (TypeError, "degree: expected a whole", lambda: write_vtk(path, solution, degree=1.5)),
        (ValueError, "degree: expected 1 to 10", lambda: write_vtk(path, solution, degree=11)),
        (
            ValueError,
            r"expected indicators of \(8,\) cells",
            lambda: write_vtk(path, solve(problem, cells=8, degree=1), result),
        ),
        (FileNotFoundError, r"missing/u\.vtu", lambda: write_vtk(tmp_path / "missing" / "u.vtu", solution)),
        (ValueError, r"ends in \.pvd", lambda: write_vtk_series(path, solution)),
        (TypeError, "either", lambda: write_vtk_series(tmp_path / "u.pvd", solution, every=1, times=[0.0])),
        (ValueError, "from 0 to", lambda: write_vtk_series(tmp_path / "u.pvd", solution, times=[0.03])),
        (
            ValueError,
            "at least one, got none",
            lambda: write_vtk_series(tmp_path / "u.pvd", solution, times=[]),
        ),
        (
            TypeError,
            "times: expected real",
            lambda: write_vtk_series(tmp_path / "u.pvd", solution, times="0"),
        ),
        (ValueError, "at least 1", lambda: write_vtk_series(tmp_path / "u.pvd", solution, every=0)),
        (TypeError, "a whole number", lambda: write_vtk_series(tmp_path / "u.pvd", solution, every=0.5)),
    ]
    for error, sentence, call in refused:
        with pytest.raises(error, match=sentence):
            call()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 7, 10])
@pytest.mark.parametrize("shape", [LINE, TRIANGLE, QUADRILATERAL, TETRAHEDRON, HEXAHEDRON])
def test_vtk_knows_the_nodes_of_every_shape(tmp_path, shape, degree):
    """Polynomials of the degree, in two cells of which one is an affine image."""
    rng = np.random.default_rng(degree)
    nodes = shape.numbering(degree)
    assert len(np.unique(nodes, axis=0)) == len(nodes)
    matrix = np.eye(shape.dim) + 0.3 * rng.normal(size=(shape.dim, shape.dim))
    points = np.stack([nodes / degree, nodes / degree @ matrix.T + 2.0])
    slope = rng.normal(size=shape.dim)

    def function(x):
        return (0.2 + x @ slope) ** degree

    cells = Cells(shape, degree, points, {"v": function(points)})
    grid = grid_of(write_cells(tmp_path / "c.vtu", cells))
    for reference in (np.array([0.2, 0.3, 0.1]), np.array([0.1, 0.15, 0.6])):
        reference = reference[: shape.dim]
        for number, there in enumerate((reference, matrix @ reference + 2.0)):
            place, value = in_cell(grid, number, reference, "v")
            assert place[: shape.dim] == pytest.approx(there, abs=1e-12)
            assert value == pytest.approx(function(there), rel=1e-9, abs=1e-11)


def test_cells_of_other_programs(tmp_path):
    """Cells that lie anywhere, with data of their own."""
    nodes = QUADRILATERAL.numbering(2) / 2.0
    bent = np.stack([nodes, nodes])
    bent[1] += (1.0, 0.0) + 0.1 * np.sin(nodes[:, ::-1])
    cells = Cells(QUADRILATERAL, 2, bent, {"v": bent[..., 0] ** 2}, {"mark": np.array([3.0, 4.0])})
    read = meshio.read(write_cells(tmp_path / "c.vtu", cells))
    assert read.points[:, :2] == pytest.approx(bent.reshape(-1, 2))
    assert read.cell_data["mark"][0].tolist() == [3.0, 4.0]
    for changes in (
        {"points": bent[:, :8]},
        {"point_data": {"v": np.zeros((2, 8))}},
        {"cell_data": {"mark": np.zeros(3)}},
    ):
        with pytest.raises(ValueError, match="expected an array of shape"):
            replace(cells, **changes)
    with pytest.raises(ValueError, match="degree: expected 1 to 10, got 11"):
        Cells(LINE, 11, np.zeros((1, 12, 1)))


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    solution = rough(1, 3, 1)
    path = write_vtk(tmp_path / "u.vtu", solution)
    before = path.read_bytes()

    def full_disk(self, path, **options):
        Path(path).write_text("<VTKFile")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(meshio.Mesh, "write", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_vtk(path, solution)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_without_meshio(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "meshio", None)
    with pytest.raises(ImportError, match=r"pip install 'stfem\[io\]'"):
        write_vtk(tmp_path / "u.vtu", rough(1, 2, 1))
    assert list(tmp_path.iterdir()) == []


def test_evaluation_and_files_agree_on_a_point(tmp_path):
    """The same number from `Solution.__call__`, which takes another way."""
    solution = rough(2, 3, 3)
    path = write_vtk(tmp_path / "u.vtu", solution)
    place, value = in_cell(grid_of(path), 5, (0.3, 0.8), "u_h")
    there = solution.field(place[:2])
    assert value == pytest.approx(there, abs=1e-12)
