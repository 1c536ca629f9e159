"""What stationary solutions and certificates have of what those in time have: pictures and files."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import skfem

import stfem
from stfem import Estimate, MeshEstimator
from stfem.io import write_vtk, write_vtk_series
from stfem.plotting import plot_indicators, plot_mesh, plot_solution
from stfem.problems import interior_layer
from stfem.reconstruction import Siac, TwoStageMixed


@pytest.fixture(scope="module")
def found():
    mesh = skfem.MeshTri().refined(1).with_defaults()
    return stfem.certify(interior_layer(1e-2, mesh=mesh), tol=3e-2, degree=1, unproved=True)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_reconstruction_is_that_of_the_bound(found):
    """‖u − û‖ of the function is the true error of the certificate."""
    field = found.solution.reconstruct(TwoStageMixed())
    mesh = field.mesh
    points, weights = mesh.reference.quadrature(16)
    weights = weights[:, None] * mesh.cell_map(points).determinant
    difference = found.solution.problem.exact(mesh.points(points), 0.0)[0] - field.at(points)[0]
    assert np.sqrt((weights * difference**2).sum()) == pytest.approx(found.error, rel=1e-2)
    alone = stfem.estimate(found.solution, MeshEstimator((TwoStageMixed(),)))
    assert alone.bound == pytest.approx(found.bound)
    with pytest.raises(stfem.UnsupportedDomainError):
        found.solution.reconstruct(Siac())


def test_pictures(found, tmp_path):
    for number, figure in enumerate(
        (
            found.solution.plot(),
            plot_solution(found.solution, reconstruction=TwoStageMixed(), slices=[(0, 0.5)]),
            plot_mesh(found.solution),
        )
    ):
        figure.savefig(tmp_path / f"{number}.png")
        assert "$t$" not in "".join(axes.get_title() for axes in figure.axes)
    axes = plot_indicators(found, tmp_path / "indicators.png").axes[0]
    (drawn,) = axes.collections
    assert np.allclose(drawn.get_array(), np.sqrt(found.indicators_sq))
    assert (tmp_path / "indicators.png").stat().st_size > 1000


def test_estimates_are_read_again_with_their_mesh(found, tmp_path):
    again = Estimate.load(found.save(tmp_path / "estimate.npz"))
    assert again.bound == found.bound
    assert found.solution.has_signature(again.facts["signature"])
    plot_indicators(again)


def test_files_for_paraview(found, tmp_path):
    meshio = pytest.importorskip("meshio")
    path = write_vtk(tmp_path / "layer.vtu", found.solution, found, reconstruction=TwoStageMixed())
    read = meshio.read(path)
    assert np.array_equal(read.cell_data["eta_sq"][0], found.indicators_sq)
    field = found.solution.reconstruct(TwoStageMixed())
    inner = read.point_data["u_hat"].reshape(field.mesh.size, -1)[:, -1]  # a cubic has one node in a cell
    assert inner == pytest.approx(field.at(np.full((2, 1), 1.0 / 3.0))[0, 0])
    other = stfem.solve_stationary(interior_layer(2e-2, mesh=skfem.MeshTri()), degree=1)
    with pytest.raises(ValueError, match="estimate: expected"):
        write_vtk(tmp_path / "other.vtu", other, found)
    with pytest.raises(TypeError, match="expected one in time, got a StationarySolution"):
        write_vtk_series(tmp_path / "layer.pvd", found.solution)
