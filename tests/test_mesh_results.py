"""Results on boxes and meshes as functions of points: u_h, and the û that the bounds are about."""

import numpy as np
import pytest
import skfem
from mesh_cases import KINDS, box_mesh

import stfem
from stfem import Box, Dirichlet, Domain, MeshEstimator, Outflow, Problem, Siac
from stfem.data import Polynomial
from stfem.equations import AdvectionDiffusion
from stfem.problems import transient_wave
from stfem.reconstruction import Averaging, TwoStage, VertexPatches
from stfem.spaces.mesh_field import MeshField


def wave(kind="triangle", n=3, final_time=0.05, **options):
    dim = KINDS[kind][1]
    problem = transient_wave(dim, 1e-2, final_time, mesh=box_mesh(kind, n, 0.15))
    return stfem.certify(problem, degree=1, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_in_the_cells(kind):
    solution = wave(kind, 2).solution
    mesh, space = solution.semidiscretization.mesh, solution.semidiscretization.space
    points = mesh.reference.quadrature(3)[0]
    expected = space.values(solution.values, points)[0]
    assert solution(mesh.points(points)) == pytest.approx(expected, abs=1e-13)
    assert solution.field.at(points)[0] == pytest.approx(expected, abs=1e-13)
    assert isinstance(solution.field, MeshField)


@pytest.mark.parametrize("rule", [VertexPatches(), Averaging(), TwoStage()], ids=repr)
def test_the_reconstruction_is_that_of_the_estimate(rule):
    """Its distance from u is the true error of the estimate, which was measured otherwise."""
    result = wave(estimator=MeshEstimator((rule,)))
    smooth = result.solution.reconstruct(rule)
    mesh = smooth.mesh
    points, weights = mesh.reference.quadrature(14)
    x = mesh.points(points)
    difference = smooth(x) - result.solution.problem.exact(x, result.solution.time)[0]
    square = (weights[:, None] * mesh.cell_map(points).determinant * difference**2).sum()
    assert np.sqrt(square) == pytest.approx(result.error_final, rel=1e-6)
    gap = smooth(x) - result.solution(x)
    square = (weights[:, None] * mesh.cell_map(points).determinant * gap**2).sum()
    assert np.mean(result.enclosure) == pytest.approx(np.sqrt(square), rel=1e-6) or result.enclosure[0] == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_the_reconstruction_has_no_jumps(kind):
    solution = wave(kind, 2).solution
    mesh = solution.semidiscretization.mesh
    parameters, inner = mesh.reference.on_facet.quadrature(3)[0], np.arange(mesh.facets.interior)
    jumps = []
    for field in (solution.reconstruct(), solution.field):
        sides = [field.space.traces(field.values, side, parameters, inner) for side in (0, 1)]
        # the same points in another order on the plus side
        jumps.append(np.abs(sides[0].sum(axis=1) - sides[1].sum(axis=1)).max())
    assert jumps[0] < 1e-12 < 1e-6 < jumps[1]


def test_points_in_any_arrangement_and_points_that_are_refused():
    solution = wave().solution
    x = np.random.default_rng(0).uniform(0.0, 1.0, (2, 4, 5))
    for field in (solution, solution.reconstruct()):
        assert field(x).shape == (4, 5)
        assert field(x)[1, 2] == field(x[:, 1, 2])
        assert field([[0, 1], [1, 1]]).shape == (2,)
        with pytest.raises(ValueError, match=r"x: expected points inside .* the first is \[2\.0, 0\.5\]"):
            field([[0.5, 2.0], [0.5, 0.5]])
        with pytest.raises(ValueError, match=r"x: expected shape \(2, ...\), got \(3,\)"):
            field([0.1, 0.2, 0.3])
        with pytest.raises(ValueError, match="x: expected finite numbers, got nan"):
            field([np.nan, 0.2])
        with pytest.raises(TypeError, match="x: expected real numbers"):
            field(["a", "b"])


def test_rules_belong_to_domains():
    on_mesh, on_torus = (
        wave().solution,
        stfem.solve(
            stfem.problems.linear_advection_diffusion(dim=1, eps=1e-2, final_time=0.01), cells=4, degree=1
        ),
    )
    on_a_domain = r"one such as VertexPatches\(\) for a problem on a Domain, got Siac"
    with pytest.raises(stfem.UnsupportedDomainError, match=on_a_domain):
        on_mesh.reconstruct(Siac())
    with pytest.raises(stfem.UnsupportedDomainError, match=r"Siac\(.*\) for .* a Torus, got TwoStage"):
        on_torus.reconstruct(TwoStage())
    for solution in (on_mesh, on_torus):
        with pytest.raises(TypeError, match="reconstruction: expected one such as"):
            solution.reconstruct("smooth")


def test_a_box_and_periodic_sides():
    """Values given at one end, outflow at the other; glued sides have the same û on both."""
    bump = Polynomial([0.0, 0.0, 16.0, -32.0, 16.0], dim=1)
    ends = Box(0.0, 1.0, {"left": Dirichlet(0.0), "right": Outflow()})
    channel = Problem(AdvectionDiffusion(1.0, 1e-3), ends, bump, 0.1)
    solution = stfem.solve(channel, cells=8, degree=2)
    assert solution.reconstruct()([[0.0]]) == pytest.approx(0.0, abs=1e-14)
    mesh = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, 4)] * 2)
    start = stfem.data.sine((2.0 * np.pi, 0.0))
    ring = Problem(AdvectionDiffusion((1.0, 0.5), 1e-3), Domain(mesh, periodic=(0, 1)), start, 0.1)
    smooth = stfem.solve(ring, degree=2).reconstruct()
    y = np.linspace(0.0, 1.0, 7)
    assert smooth(np.stack([0.0 * y, y])) == pytest.approx(smooth(np.stack([0.0 * y + 1.0, y])), abs=1e-12)
