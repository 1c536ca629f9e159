"""Raviart–Thomas spaces: dual moments, normal continuity, divergence, on every shape and across seams."""

import numpy as np
import pytest
from sample_meshes import SHAPES, irregular

from stfem.meshes import reference as shapes
from stfem.reconstruction.unstructured.checks import normal_jump
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.raviart_thomas import RaviartThomasSpace, reference_fluxes

CELLS = (shapes.LINE, shapes.TRIANGLE, shapes.QUADRILATERAL, shapes.TETRAHEDRON, shapes.HEXAHEDRON)
DIMENSIONS = {  # of RT_0, RT_1, RT_2
    "line": (2, 3, 4),
    "triangle": (3, 8, 15),
    "quadrilateral": (4, 12, 24),
    "tetrahedron": (4, 15, 36),
    "hexahedron": (6, 36, 108),
}


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_dimensions_are_those_of_the_literature(cell):
    assert tuple(reference_fluxes(cell, q).modes for q in range(3)) == DIMENSIONS[cell.name]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
@pytest.mark.parametrize("q", [0, 1, 3])
def test_divergence_belongs_to_values(cell, q):
    space = reference_fluxes(cell, q)
    x = cell.quadrature(3)[0]
    step = 1e-5
    shifted = [
        (space.values(x + step * e[:, None])[i] - space.values(x - step * e[:, None])[i]) / (2 * step)
        for i, e in enumerate(np.eye(cell.dim))
    ]
    np.testing.assert_allclose(sum(shifted), space.divergences(x), atol=1e-7 * space.modes)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("q", [0, 1, 2])
def test_polynomials_are_interpolated_exactly(shape, q):
    mesh = irregular(shape, 2, amount=0.0 if shape in ("quadrilaterals", "hexahedra") else 0.3)
    space, d = RaviartThomasSpace(mesh, q), mesh.dim
    rng = np.random.default_rng(1)
    a, c, r = rng.normal(size=d), rng.normal(size=d), rng.normal()

    def field(x):  # [P_q]^d and, of lowest order, what RT adds
        return (a[:, None, None] * (np.tensordot(c, x, 1) ** q) + (r * x if q == 0 else 0.0))[:, None]

    def divergence(x):
        return (q * a @ c * np.tensordot(c, x, 1) ** max(q - 1, 0) + (d * r if q == 0 else 0.0))[None]

    order = 2 * q + 2
    s = mesh.reference.on_facet.quadrature(order)[0]
    normals, density = mesh.facet_normals(s)
    along = np.einsum("iqf,imqf->mqf", normals, field(mesh.facet_points(s))) * density
    cells = field(mesh.points(mesh.reference.quadrature(order)[0]))
    v = space.join(space.facet_moments(along, order), space.inner_moments(cells, order))
    assert v.shape == (1, space.size)
    points = mesh.reference.quadrature(3)[0]
    local = space.local(v)
    np.testing.assert_allclose(space.values(local, points), field(mesh.points(points)), atol=2e-12)
    np.testing.assert_allclose(space.divergence(local, points), divergence(mesh.points(points)), atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("q", [0, 1, 2, 3])
@pytest.mark.parametrize("periodic", [False, True])
def test_normal_components_fit(shape, q, periodic):
    dim = {"line": 1, "triangles": 2, "quadrilaterals": 2}.get(shape, 3)
    mesh = irregular(shape, 3, range(dim) if periodic else ())
    space = RaviartThomasSpace(mesh, q)
    local = space.local(np.random.default_rng(q).normal(size=(2, space.size)))
    assert normal_jump(space, local, 2 * q + 1) < 1e-11
    spoiled = local.copy()
    spoiled[:, 0] += np.arange(1.0, mesh.size + 1.0)
    assert normal_jump(space, spoiled, 2 * q + 1) > 1e-4


@pytest.mark.parametrize("shape", SHAPES)
def test_gauss_theorem_with_test_functions(shape):
    """(∇·v, φ)_K = ∮ v·n φ − (v, ∇φ)_K on general cells, with the divergence as moments."""
    q = 1
    mesh = irregular(shape, 2, amount=0.3)
    space, scheme = RaviartThomasSpace(mesh, q), BrokenSpace(mesh, q)
    v = np.random.default_rng(3).normal(size=(1, space.size))
    local = space.local(v)
    moments = space.divergence_moments(local, scheme) * mesh.cell_measures
    order = 4 * q + 4
    points, weights = mesh.reference.quadrature(order)
    determinant = mesh.cell_map(points).determinant
    s, w = mesh.reference.on_facet.quadrature(order)
    normals, density = mesh.facet_normals(s)
    for mode in range(scheme.modes):
        unit = np.zeros((1, scheme.modes, mesh.size))
        unit[:, mode] = 1.0
        inside = np.einsum("imqc,imqc->mqc", space.values(local, points), scheme.gradients(unit, points))
        expected = -(weights @ (inside * determinant)[0])
        for side, facets in ((0, np.arange(mesh.facets.count)), (1, np.arange(mesh.facets.interior))):
            n, rho = normals[..., facets], density[..., facets]
            flux = np.einsum("iqf,imqf->mqf", n, space.traces(local, side, s, facets)) * rho
            flux = (-1) ** side * w @ (flux * scheme.traces(unit, side, s, facets))[0]
            expected += np.bincount(mesh.facets.cells[side, facets], flux, minlength=mesh.size)
        np.testing.assert_allclose(moments[0, mode], expected, atol=1e-11)
