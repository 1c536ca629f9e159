"""Files of fields on meshes: VTK finds the polynomial of every cell, at nodes and between them."""

from dataclasses import replace

import numpy as np
import pytest
import skfem
from mesh_cases import KINDS, box_mesh

import stfem
from stfem import Domain, Problem
from stfem.equations import AdvectionDiffusion
from stfem.io import write_vtk, write_vtk_series
from stfem.problems import transient_wave
from stfem.reconstruction import TwoStage, VertexPatches

meshio = pytest.importorskip("meshio")
pytest.importorskip("vtk")
from vtkmodules.util.numpy_support import vtk_to_numpy  # noqa: E402  (optional)
from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader  # noqa: E402


def rough(mesh, degree):
    """A solution with large jumps everywhere."""
    dim = mesh.p.shape[0]
    eps = 0.0 if degree == 0 else 1e-3
    solution = stfem.solve(transient_wave(dim, eps, 1e-6, mesh=mesh), degree=degree)
    return replace(solution, values=np.random.default_rng(5).normal(size=solution.values.shape))


def grid_of(path):
    reader = vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput()


def in_cell(grid, number, reference, name):
    """Place and value at reference coordinates of a cell, as VTK interpolates."""
    from vtkmodules.vtkCommonCore import mutable

    cell = grid.GetCell(number)
    place, weights = [0.0] * 3, [0.0] * cell.GetNumberOfPoints()
    cell.EvaluateLocation(mutable(0), [*reference, *[0.0] * (3 - len(reference))], place, weights)
    values = grid.GetPointData().GetArray(name)
    return np.array(place), np.dot(
        weights, [values.GetValue(cell.GetPointId(i)) for i in range(len(weights))]
    )


def assert_field(path, name, field):
    """In every cell, at points that are no nodes."""
    grid, mesh = grid_of(path), field.mesh
    assert grid.GetNumberOfCells() == mesh.size
    points = mesh.reference.quadrature(4)[0][:, ::2]
    places, values = mesh.points(points), field.at(points)[0]
    for cell in range(mesh.size):
        for q, point in enumerate(points.T):
            place, value = in_cell(grid, cell, point, name)
            assert place[: mesh.dim] == pytest.approx(places[:, q, cell], abs=1e-13)
            assert value == pytest.approx(values[q, cell], rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("degree", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_vtk_finds_the_field_of_every_cell(tmp_path, kind, degree):
    n = 1 if KINDS[kind][1] == 3 else 3
    solution = rough(box_mesh(kind, n, 0.2, turned=True), degree)
    path = write_vtk(tmp_path / "u.vtu", solution)
    assert_field(path, "u_h", solution.field)
    assert list(tmp_path.iterdir()) == [path]


def test_the_comparison_notices_another_cell(tmp_path):
    solution = rough(box_mesh("triangle", 2), 2)
    path = write_vtk(tmp_path / "u.vtu", solution)
    other = replace(solution, values=solution.values[:, :, ::-1])
    with pytest.raises(AssertionError):
        assert_field(path, "u_h", other.field)


@pytest.mark.parametrize(
    "mesh", [skfem.MeshTri(), skfem.MeshQuad(), skfem.MeshTet()], ids=lambda m: type(m).__name__
)
def test_a_square_is_a_quarter_at_the_middle_of_an_edge(tmp_path, mesh):
    """x² as a field of degree 2 on the fewest cells: 0.25 in the middle of an edge along x."""
    solution = rough(mesh, 2)
    space = solution.semidiscretization.space
    square = replace(solution, values=space.project([lambda x, t: x[0] ** 2]))
    path = write_vtk(tmp_path / "u.vtu", square)
    read = meshio.read(path)
    assert read.point_data["u_h"] == pytest.approx(read.points[:, 0] ** 2, abs=1e-12)
    middle = np.flatnonzero(np.all(read.points == [0.5, 0.0, 0.0], axis=1))
    assert len(middle) >= 1
    assert read.point_data["u_h"][middle] == pytest.approx(0.25, abs=1e-12)
    assert_field(path, "u_h", square.field)


def test_jumps_stay_and_periodic_cells_stay_small(tmp_path):
    mesh = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, 5)] * 2)
    ring = Problem(AdvectionDiffusion((1.0, 0.5)), Domain(mesh, periodic=(0, 1)), 1.0, 1e-6)
    solution = stfem.solve(ring, degree=1)
    values = np.zeros(solution.values.shape)
    values[0, 0] = np.arange(32.0)  # a number for every cell
    read = meshio.read(write_vtk(tmp_path / "u.vtu", replace(solution, values=values)))
    (block,) = read.cells
    assert block.type == "triangle"
    assert len(np.unique(block.data)) == len(read.points) == 32 * 3  # nothing is shared, nothing averaged
    assert np.array_equal(read.point_data["u_h"][block.data], np.repeat(np.arange(32.0)[:, None], 3, axis=1))
    assert np.ptp(read.points[block.data], axis=1).max() == pytest.approx(0.25)


@pytest.mark.parametrize("rule", [VertexPatches(), TwoStage()], ids=repr)
def test_reconstruction_and_indicators(tmp_path, rule):
    problem = transient_wave(2, 1e-2, 0.02, mesh=box_mesh("triangle", 3, 0.2))
    result = stfem.certify(problem, degree=1, estimator=stfem.MeshEstimator((rule,)))
    path = write_vtk(tmp_path / "u.vtu", result.solution, result, reconstruction=rule)
    assert_field(path, "u_hat", result.solution.reconstruct(rule))
    assert_field(path, "u_h", result.solution.field)
    data = grid_of(path).GetCellData()
    squares = vtk_to_numpy(data.GetArray("eta_sq"))
    assert np.array_equal(squares, result.indicators_sq)
    assert np.array_equal(vtk_to_numpy(data.GetArray("eta")), np.sqrt(squares))
    other = stfem.certify(transient_wave(2, 1e-1, 0.02, mesh=box_mesh("triangle", 3, 0.2)), degree=1)
    with pytest.raises(ValueError, match="estimate: expected one of the solution, got that of another"):
        write_vtk(path, result.solution, other)
    coarse = stfem.certify(transient_wave(2, 1e-2, 0.02, mesh=box_mesh("triangle", 2)), degree=1)
    with pytest.raises(ValueError, match=r"estimate: expected indicators of \(18,\) cells, .* got \(8,\)"):
        write_vtk(path, result.solution, coarse)


def test_a_series_has_the_reconstruction_of_every_time(tmp_path):
    """û carries the boundary values of its time."""
    moving = stfem.problems.moving_front(dim=2, eps=1e-2, final_time=0.1, mesh=box_mesh("triangle", 3))
    solution = stfem.solve(moving, degree=1, dt=0.01)
    path = write_vtk_series(tmp_path / "u.pvd", solution, every=5, reconstruction=VertexPatches())
    frames = sorted((tmp_path / "u").iterdir())
    assert path.exists()
    for frame, t in zip(frames, (0.0, 0.05, 0.1), strict=True):
        read = meshio.read(frame)
        corners = np.flatnonzero(np.all((read.points[:, :2] == 0.0) | (read.points[:, :2] == 1.0), axis=1))
        exact = moving.exact(read.points[corners, :2].T, t)[0]
        assert read.point_data["u_hat"][corners] == pytest.approx(exact, abs=1e-12)


def test_pyvista_samples_the_field(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    solution = rough(box_mesh("quadrilateral", 3, 0.2), 2)
    grid = pyvista.read(write_vtk(tmp_path / "u.vtu", solution))
    x = np.random.default_rng(2).uniform(0.0, 1.0, (2, 40))
    sampled = pyvista.PolyData(np.vstack([x, np.zeros(40)]).T).sample(grid)
    assert sampled["vtkValidPointMask"].all()
    assert np.asarray(sampled["u_h"]) == pytest.approx(solution(x), abs=1e-6)
