"""Boundary values that û misses are paid for, so that the bound stays one."""

import numpy as np
import pytest
from sample_meshes import moved

import stfem
from stfem.data import Polynomial
from stfem.estimators.unstructured import mesh_estimate
from stfem.problems import Problem
from stfem.reconstruction import Hermite, Lagrange
from stfem.reconstruction.unstructured import LocalReconstruction, mesh_slabs, vertex_patches
from stfem.reconstruction.unstructured.oscillation import BoundaryOscillation
from stfem.residual.unstructured import MeshResidual
from stfem.spaces.broken import BrokenSpace
from stfem.timestepping import Node

# harmonic functions, x and x² − y², and their norms on the unit line and square
SQUARES = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])[..., None]
CASES = {
    "line": (np.array([[0.0], [1.0]]), np.sqrt(1.0 / 3.0)),
    "triangles": (SQUARES, np.sqrt(8.0 / 45.0)),
    "quadrilaterals": (SQUARES, np.sqrt(8.0 / 45.0)),
}


def at_rest(shape, n, final_time=3.0):
    """U grows from 0 to a harmonic function with the given boundary values; û = 0 all the time."""
    coefficients, norm = CASES[shape]
    domain = stfem.Domain(moved(shape, n, 0.2), stfem.Dirichlet(Polynomial(coefficients)))
    problem = Problem(stfem.equations.AdvectionDiffusion((0.0,) * domain.dim, 1.0), domain, 0.0, final_time)
    space = BrokenSpace(domain.mesh(), 1)
    zero = np.zeros((1, space.modes, space.mesh.size))
    nodes = [Node(t, zero, zero) for t in np.linspace(0.0, final_time, 4)]
    rule = vertex_patches(space)
    return problem, LocalReconstruction(rule, problem.equation.diffusion), nodes, norm


@pytest.mark.parametrize("shape", CASES)
@pytest.mark.parametrize("n", [1, 3])
def test_a_reconstruction_that_knows_nothing_of_the_boundary(shape, n):
    problem, reconstruction, nodes, norm = at_rest(shape, n)
    estimate = mesh_estimate(problem, reconstruction, Hermite(3), nodes)
    assert norm * (1 - 1e-9) <= estimate.bound_final <= 15.0 * norm  # u(3) = u(∞) up to e^{−3π²}
    assert estimate.guaranteed == reconstruction.target.mesh.affine


def test_nothing_would_be_seen_otherwise(monkeypatch):
    problem, reconstruction, nodes, norm = at_rest("triangles", 3)
    residual = MeshResidual(problem, reconstruction)
    assert residual.boundary.oscillation is not None
    monkeypatch.setattr("stfem.residual.boundary.BoundaryOscillation", lambda *_: None)
    # the maximum principle, which stands in for it in three dimensions, sees the gap as well
    assert mesh_estimate(problem, reconstruction, Hermite(3), nodes).bound_final > norm
    monkeypatch.setattr("stfem.residual.boundary.BoundaryCheck.look", lambda *_: None)
    assert mesh_estimate(problem, reconstruction, Hermite(3), nodes).bound_final < 1e-3 * norm


@pytest.mark.parametrize("kind", ["line", "triangles", "quadrilaterals"])
@pytest.mark.parametrize("eps", [1.0, 1e-3, 0.0])
def test_values_that_change_in_space_and_time(kind, eps):
    dim = 1 if kind == "line" else 2
    k, velocity = np.array([2.0, 3.0])[:dim], (1.0, 0.5)[:dim]

    def exact(x, t=0.0):
        return np.sin(np.tensordot(k, x, 1) - 4.0 * t)

    def source(x, t):
        slope = (k @ np.array(velocity) - 4.0) * np.cos(np.tensordot(k, x, 1) - 4.0 * t)
        return slope + eps * k @ k * exact(x, t)

    domain = stfem.Domain(moved(kind, 3), stfem.Dirichlet(exact))
    equation = stfem.equations.AdvectionDiffusion(velocity, eps)
    problem = Problem(equation, domain, exact, 0.4, source, exact)
    for degree in (1, 2):
        estimate = stfem.certify(problem, degree=degree, dt=0.02)
        assert estimate.error <= estimate.bound
        assert estimate.enclosure[0] <= estimate.error_dg <= estimate.enclosure[1]
        assert any("boundary data interpolated on every facet" in sentence for sentence in estimate.unproved)


def test_size_falls_with_the_mesh():
    """‖z‖ is of order q + 2 and half an order more, for it lives at the boundary."""

    def exact(x, t=0.0):
        return np.sin(5.0 * x[0] - 3.0 * x[1] - t)

    sizes = []
    for n in (4, 8):
        domain = stfem.Domain(moved("triangles", n), stfem.Dirichlet(exact))
        problem = Problem(stfem.equations.AdvectionDiffusion((1.0, 0.5), 0.1), domain, exact, 0.1)
        solution = stfem.solve(problem, degree=1, history=True, dt=0.05)
        bound = stfem.reconstruction.VertexPatches().bind(solution.semidiscretization)
        residual = MeshResidual(problem, bound)
        slab = next(mesh_slabs(map(bound.at_node, solution.nodes()), Lagrange(2)))
        sizes.append(residual.boundary.oscillation.sizes(slab)[0])
    assert 3.2 < np.log2(sizes[0] / sizes[1]) < 4.3


def test_data_that_jump_are_named():
    sides = {"left": 1.0, "right": 1.0, "bottom": 0.0, "top": 0.0}
    domain = stfem.Domain(
        moved("triangles", 3).with_defaults(), {name: stfem.Dirichlet(g) for name, g in sides.items()}
    )
    problem = Problem(stfem.equations.AdvectionDiffusion((1.0, 0.5), 0.1), domain, 0.0, 0.1)
    estimate = stfem.certify(problem, degree=1, dt=0.05)
    assert any("boundary data jump from facet to facet by up to 5.0e-01" in s for s in estimate.unproved)


def test_three_dimensions_are_refused():
    domain = stfem.Domain(moved("tetrahedra", 1), stfem.Dirichlet(0.0))
    problem = Problem(stfem.equations.AdvectionDiffusion((1.0, 0.5, 0.0), 0.1), domain, 0.0, 0.1)
    bound = stfem.reconstruction.VertexPatches().bind(
        stfem.solve(problem, degree=1, dt=0.1).semidiscretization
    )
    with pytest.raises(ValueError, match="expected one or two dimensions, got 3"):
        BoundaryOscillation(problem.equation, bound.target, bound.boundary, bound.diffusion)
