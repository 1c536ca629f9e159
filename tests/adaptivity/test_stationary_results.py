"""What stationary solutions and certificates have of what those in time have: pictures and files."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import skfem

import stfem
from stfem import Box, Dirichlet, Estimate, MeshEstimator, StationaryProblem, StationarySolution
from stfem.data import Trigonometric
from stfem.equations import AdvectionDiffusion
from stfem.fluxes import flux_upwind
from stfem.io import container, write_vtk, write_vtk_series
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


CONSTANT = StationaryProblem(
    AdvectionDiffusion((1.0, 0.5), 1e-2, 1.0), Box((0.0, 0.0), (1.0, 1.0), Dirichlet(0.0)), source=1.0
)
SMOOTH = StationaryProblem(
    AdvectionDiffusion((0.0,), 1.0),
    Box(-0.5 * np.pi, 0.5 * np.pi, Dirichlet(0.0)),
    source=Trigonometric([[1.0]], [0.0], [1.0]),
    exact=Trigonometric([[1.0]], [0.0], [1.0]),
)


def assert_the_same(again, solution):
    assert isinstance(again, StationarySolution)
    assert np.array_equal(again.values, solution.values)
    assert (again.residual, again.iterations) == (solution.residual, solution.iterations)
    assert stfem.estimate(again).bound == stfem.estimate(solution).bound


@pytest.mark.parametrize("problem", [CONSTANT, SMOOTH], ids=["constant", "modes"])
def test_solutions_are_read_again(problem, tmp_path):
    solution = stfem.solve_stationary(problem, cells=3, degree=2)
    again = StationarySolution.load(solution.save(tmp_path / "box.npz"))
    assert_the_same(again, solution)
    assert stfem.estimate(again).error == stfem.estimate(solution).error
    refined = stfem.certify(problem, tol=3e-2, degree=1, cells=2, unproved=True).solution
    assert_the_same(StationarySolution.load(refined.save(tmp_path / "refined.npz")), refined)


def test_functions_have_to_be_given_again_but_no_mesh(found, tmp_path):
    path = found.solution.save(tmp_path / "layer.npz")
    with pytest.raises(ValueError, match=r"expected load\(path, problem=…\)"):
        StationarySolution.load(path)
    assert_the_same(StationarySolution.load(path, interior_layer(1e-2)), found.solution)
    with pytest.raises(ValueError, match="computed with something else: problem"):
        StationarySolution.load(path, interior_layer(2e-2))
    with pytest.raises(ValueError, match="computed with something else: flux"):
        StationarySolution.load(path, interior_layer(1e-2), flux=flux_upwind)
    with pytest.raises(TypeError, match="problem: expected a StationaryProblem"):
        StationarySolution.load(path, 3)
    with pytest.raises(ValueError, match="expected a saved solution, got a saved stationary solution"):
        stfem.Solution.load(path)


def test_files_that_are_damaged(found, tmp_path):
    path = found.solution.save(tmp_path / "layer.npz")
    content = container.read(path, "stationary solution")
    wrong = {
        "shape": {"values": found.solution.values[:, :, 1:]},
        "finite coefficients": {"values": np.full_like(found.solution.values, np.nan)},
        "entries": {"more": 1},
    }
    for match, changes in wrong.items():
        container.write(path, "stationary solution", content | changes)
        with pytest.raises(ValueError, match=match):
            StationarySolution.load(path, interior_layer(1e-2))
