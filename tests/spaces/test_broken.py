"""Discontinuous spaces on unstructured meshes: bases, projections, traces, moments."""

import numpy as np
import pytest
from mesh_cases import KINDS, box_mesh

from stfem.meshes import from_skfem
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.cells import CellRule
from stfem.spaces.traces import FacetTraces

ALL = pytest.mark.parametrize("kind", list(KINDS))


def space_of(kind, degree, n=2, perturbation=0.2, periodic=()):
    return BrokenSpace(from_skfem(box_mesh(kind, n, perturbation, turned=True), periodic), degree)


def monomial(powers):
    return lambda x, t: np.prod([np.asarray(x)[i] ** p for i, p in enumerate(powers)], axis=0)


@ALL
@pytest.mark.parametrize("degree", [0, 1, 2, 4])
def test_basis_is_orthonormal_in_the_mean(kind, degree):
    space = space_of(kind, degree, n=1 if KINDS[kind][1] == 3 else 2)
    rule = CellRule(space, 2 * degree + 3)
    for j in range(space.modes):
        unit = np.zeros((1, space.modes, space.mesh.size))
        unit[0, j] = 1.0
        np.testing.assert_allclose(rule.moments(rule.values(unit)), unit, atol=2e-12)
        if j == 0:
            np.testing.assert_allclose(rule.values(unit), 1.0, rtol=1e-13)


@ALL
def test_polynomials_are_reproduced_with_their_gradients(kind):
    # P_2 on simplices; on cells that are not affine Q_2 still holds all of P_2 in x
    space = space_of(kind, 2)
    dim = space.mesh.dim
    points = space.mesh.reference.quadrature(3)[0]
    x = space.mesh.points(points)
    for powers in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 0, 1), (2, 0, 0))[: 5 if dim == 3 else 3]:
        f = monomial(powers[:dim])
        u = space.project([f])
        np.testing.assert_allclose(space.values(u, points)[0], f(x, 0.0), atol=1e-12)
        for i in range(dim):
            step = 1e-6 * np.eye(dim)[i][:, None, None]
            slope = (f(x + step, 0.0) - f(x - step, 0.0)) / 2e-6
            np.testing.assert_allclose(space.gradients(u, points)[i, 0], slope, atol=1e-8)
    cubic = space.project([monomial((3,))])  # negative control: outside of the space
    assert np.abs(space.values(cubic, points)[0] - x[0] ** 3).max() > 1e-4


def test_projection_of_data_outside_the_space_has_enough_points():
    mesh = from_skfem(box_mesh("triangle", 4))
    space = BrokenSpace(mesh, 1)
    u = space.project([lambda x, t: np.sin(6.0 * x[0])])
    # ‖f − P f‖² = ‖f‖² − ‖P f‖² holds for the exact projection only
    by_norms = 0.5 - np.sin(12.0) / 24.0 - space.norm_l2(u) ** 2
    points, weights = mesh.reference.quadrature(19)
    squares = weights @ (space.values(u, points)[0] - np.sin(6.0 * mesh.points(points)[0])) ** 2
    by_points = squares @ mesh.cell_measures / mesh.reference.measure
    assert by_norms == pytest.approx(by_points, rel=1e-7)
    poor = space.project([lambda x, t: np.sin(6.0 * x[0])], order=1)
    poor_squares = weights @ (space.values(poor, points)[0] - np.sin(6.0 * mesh.points(points)[0])) ** 2
    assert poor_squares.sum() > 1.001 * squares.sum()


@ALL
def test_traces_of_a_continuous_function_agree(kind):
    space = space_of(kind, 2, n=3)
    u = space.project([lambda x, t: 1.0 + x[0] * x[-1]])
    traces = FacetTraces(space, 4)
    sides = traces.all_sides(u)
    inner = slice(0, space.mesh.facets.interior)
    np.testing.assert_allclose(traces.minus(sides, inner), traces.plus(sides), atol=1e-12)
    x = space.mesh.facet_points(traces.parameters)
    np.testing.assert_allclose(traces.minus(sides)[0], 1.0 + x[0] * x[-1], atol=1e-12)
    own = space.traces(u, 1, traces.parameters, np.arange(space.mesh.facets.interior))
    np.testing.assert_allclose(own, traces.plus(sides), atol=1e-12)


@ALL
def test_moments_on_facets_are_adjoint_to_jumps(kind):
    """Σ_K |K| moments·v = Σ_F ∫ (v⁻ − v⁺) g for random v and g, across periodic seams as well."""
    space = space_of(kind, 2, n=3, periodic=(0,))
    rng = np.random.default_rng(1)
    traces, mesh = FacetTraces(space, 5), space.mesh
    v = rng.normal(size=(2, space.modes, mesh.size))
    g = rng.normal(size=(2, traces.count, mesh.facets.count))
    left = ((traces.jump_moments(g) * v).sum(axis=(0, 1)) * mesh.cell_measures).sum()
    sides = traces.all_sides(v)
    jump = traces.minus(sides)
    jump[:, :, : mesh.facets.interior] -= traces.plus(sides)
    right = np.einsum("q,mqf,mqf->", traces.weights, jump, g)
    assert left == pytest.approx(right, rel=1e-12)
