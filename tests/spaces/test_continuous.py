"""Continuous spaces: numbers of nodes, continuity across facets and seams, interpolation."""

import numpy as np
import pytest
from sample_meshes import SHAPES, irregular

from stfem.spaces.continuous import ContinuousSpace

DIM = {"line": 1, "triangles": 2, "quadrilaterals": 2, "tetrahedra": 3, "hexahedra": 3}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_number_of_nodes(shape, degree):
    """Nodes of these meshes form a lattice of n·k + 1 points per direction, n·k when periodic."""
    n, d = 2, DIM[shape]
    assert ContinuousSpace(irregular(shape, n), degree).size == (n * degree + 1) ** d
    assert ContinuousSpace(irregular(shape, 3, range(d)), degree).size == (3 * degree) ** d
    assert ContinuousSpace(irregular(shape, 1, range(d)), degree).size == degree**d
    boundary = ContinuousSpace(irregular(shape, n), degree)
    on_it = boundary.nodes_on(boundary.mesh.facets.boundary)
    assert len(on_it) == (n * degree + 1) ** d - (n * degree - 1) ** d


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize("periodic", [False, True])
def test_functions_are_continuous(shape, degree, periodic):
    mesh = irregular(shape, 3, range(DIM[shape]) if periodic else ())
    space = ContinuousSpace(mesh, degree)
    values = np.random.default_rng(0).normal(size=(2, space.size))
    u, inner = space.to_broken(values), np.arange(mesh.facets.interior)
    s = mesh.reference.on_facet.quadrature(degree + 2)[0]
    minus, plus = (space.broken.traces(u, side, s, inner) for side in (0, 1))
    np.testing.assert_allclose(minus, plus, atol=1e-11)
    u[0, :, 0] += 1.0  # seen if one cell is off
    minus, plus = (space.broken.traces(u, side, s, inner) for side in (0, 1))
    assert np.abs(minus - plus).max() > 0.1


@pytest.mark.parametrize("shape", SHAPES)
def test_interpolation_and_gradients(shape):
    degree = 3
    mesh = irregular(shape, 2, amount=0.0 if shape in ("quadrilaterals", "hexahedra") else 0.3)
    space, a = ContinuousSpace(mesh, degree), np.array([0.7, -0.4, 1.1])[: DIM[shape]]
    values = (np.tensordot(a, space.points, 1) ** degree)[None]
    points = mesh.reference.quadrature(4)[0]
    x = mesh.points(points)
    exact = np.tensordot(a, x, 1)
    np.testing.assert_allclose(
        space.broken.values(space.to_broken(values), points)[0], exact**degree, atol=1e-12
    )
    direct = np.einsum("qn,nc->qc", space.lagrange(points), values[0][space.nodes])
    np.testing.assert_allclose(direct, exact**degree, atol=1e-12)
    slopes = np.einsum("iqnc,nc->iqc", space.lagrange_gradients(points), values[0][space.nodes])
    np.testing.assert_allclose(slopes, a[:, None, None] * degree * exact ** (degree - 1), atol=1e-11)


def test_assembly_gives_integrals():
    mesh = irregular("triangles", 3, (0,))
    space = ContinuousSpace(mesh, 2)
    points, weights = mesh.reference.quadrature(4)
    table, density = space.lagrange(points), mesh.cell_map(points).determinant * weights[:, None]
    mass = space.assemble(np.einsum("qi,qj,qc->ijc", table, table, density))
    load = space.assemble_load(np.einsum("qi,qc->ic", table, density)[None])
    assert mass.sum() == pytest.approx(1.0, rel=1e-13)
    np.testing.assert_allclose(mass.sum(axis=1), load[0], atol=1e-15)


def test_degree_below_one_is_refused():
    with pytest.raises(ValueError, match="expected at least 1, got 0"):
        ContinuousSpace(irregular("line", 2), 0)
