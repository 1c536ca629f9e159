"""Geometry of unstructured meshes: measures, normals, who meets whom, periodic sides, faulty meshes."""

import numpy as np
import pytest
import skfem
from mesh_cases import KINDS, box_mesh

from stfem.meshes import from_skfem
from stfem.meshes.quadrature import cube_rule, simplex_rule
from stfem.meshes.reference import TETRAHEDRON

ALL = pytest.mark.parametrize("kind", list(KINDS))


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("order", [1, 3, 4, 7, 8, 21])
def test_rules_are_exact_and_positive(dim, order):
    for rule, measure in ((cube_rule, 1.0), (simplex_rule, 1.0 / np.prod(np.arange(1, dim + 1)))):
        points, weights = rule(dim, order)
        assert weights.min() > 0.0
        assert weights.sum() == pytest.approx(measure, rel=1e-14)
        # ∫ x_1^order over the simplex: order! / (order + d)!
        exact = 1.0 / (order + 1.0)
        if rule is simplex_rule:
            exact = 1.0 / np.prod(order + 1.0 + np.arange(dim))
        assert weights @ points[0] ** order == pytest.approx(exact, rel=1e-13)
        assert abs(weights @ points[0] ** (2 * order + 4) / exact - 1.0) > 1e-13  # and not of any degree


@pytest.mark.parametrize("order", [1, 3, 7, 19, 20, 24])
def test_facets_see_the_same_points_in_all_orders(order):
    points, weights = TETRAHEDRON.on_facet.quadrature(order)
    for orientation in range(6):
        places = TETRAHEDRON.turned_points(points, orientation)
        np.testing.assert_array_equal(np.sort(places), np.arange(len(weights)))
        np.testing.assert_allclose(weights[places], weights)
    with pytest.raises(ValueError, match="points with the symmetries of the facet"):
        TETRAHEDRON.turned_points(points * 0.9, 2)
    with pytest.raises(ValueError, match="different points"):
        TETRAHEDRON.turned_points(np.repeat(points, 2, axis=1), 1)


@ALL
@pytest.mark.parametrize("turned", [False, True])
def test_gauss_theorem_on_every_cell(kind, turned):
    mesh = from_skfem(box_mesh(kind, 2, 0.25, turned))
    dim = mesh.dim
    assert mesh.cell_measures.sum() == pytest.approx(1.0, rel=1e-13)
    # ∫_{∂K} n = 0 and ∫_{∂K} x·n = d |K|, with the normals out of the minus cells
    parameters, weights = mesh.reference.on_facet.quadrature(4)
    normals, density = mesh.facet_normals(parameters)
    x = mesh.facet_points(parameters)
    total = np.einsum("q,iqf,qf->if", weights, normals + 0.0 * x, np.broadcast_to(density, x.shape[1:]))
    fluxes = np.einsum("q,iqf,iqf,qf->f", weights, x, normals + 0 * x, np.broadcast_to(density, x.shape[1:]))
    facets = mesh.facets
    for values, expected in ((total, np.zeros((dim, mesh.size))), (fluxes[None], dim * mesh.cell_measures)):
        sums = np.zeros((len(values), mesh.size))
        np.add.at(sums, (slice(None), facets.cells[0]), values)
        inner = slice(0, facets.interior)
        np.subtract.at(sums, (slice(None), facets.cells[1, inner]), values[:, inner])
        np.testing.assert_allclose(sums, np.broadcast_to(expected, sums.shape), atol=1e-13)


@ALL
@pytest.mark.parametrize("periodic", [False, True])
def test_both_sides_of_a_facet_see_the_same_points(kind, periodic):
    mesh = from_skfem(box_mesh(kind, 3, 0.2, turned=True), range(KINDS[kind][1]) if periodic else ())
    facets, reference = mesh.facets, mesh.reference
    # every way in which two neighbours can see their facet is there
    assert len(np.unique(facets.orientation)) == {"line": 1, "tetrahedron": 6, "hexahedron": 8}.get(kind, 2)
    if periodic:
        assert facets.count == facets.interior
    parameters = reference.on_facet.quadrature(3)[0]
    here = mesh.facet_points(parameters, np.arange(facets.interior))
    for local, turned, where in mesh.facet_groups(1, np.arange(facets.interior)):
        points = reference.facet_points(local, parameters, turned)
        there = mesh.points(points, facets.cells[1, where]) - facets.shift[:, None, where]
        np.testing.assert_allclose(there, here[:, :, where], atol=1e-13)
        order = reference.turned_points(parameters, turned)
        np.testing.assert_allclose(points, reference.facet_points(local, parameters)[:, order], atol=1e-14)


def test_facets_keep_their_names_and_know_their_cells():
    mesh = from_skfem(box_mesh("triangle", 3))
    for name, (i, end) in {"left": (0, 0.0), "top": (1, 1.0)}.items():
        middle = np.full((1, 1), 0.5)
        points = mesh.facet_points(middle, mesh.facets.names[name])
        assert points.shape[2] == 3
        np.testing.assert_allclose(points[i], end)
    of_cells = mesh.facets.of_cells(mesh.size, 3)
    for side in (0, 1):
        here = np.flatnonzero(mesh.facets.cells[side] >= 0)
        found = of_cells[mesh.facets.local[side, here], mesh.facets.cells[side, here]]
        np.testing.assert_array_equal(found, here)


def test_annulus_has_outward_normals_on_both_circles():
    angle, radius = np.meshgrid(
        np.linspace(0.0, 2.0 * np.pi, 41)[:-1], np.linspace(1.0, 2.0, 5), indexing="ij"
    )
    index = np.arange(200).reshape(40, 5)
    ahead = np.take(index, np.arange(1, 41), axis=0, mode="wrap")
    quads = np.stack([index[:, :-1], index[:, 1:], ahead[:, 1:], ahead[:, :-1]]).reshape(4, -1)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)]).reshape(2, -1)
    mesh = from_skfem(skfem.MeshQuad(points, quads))
    parameters, weights = mesh.reference.on_facet.quadrature(2)
    normals, density = mesh.facet_normals(parameters, mesh.facets.boundary)
    x = mesh.facet_points(parameters, mesh.facets.boundary)
    through = weights @ ((x * normals).sum(axis=0) * density)
    outer = np.hypot(*x).mean(axis=0) > 1.5
    area = 20.0 * np.sin(2.0 * np.pi / 40.0)  # of the regular polygon of radius 1
    assert through[outer].sum() == pytest.approx(2.0 * 4.0 * area, rel=1e-12)
    assert through[~outer].sum() == pytest.approx(-2.0 * area, rel=1e-12)


def test_faulty_meshes_are_refused():
    with pytest.raises(TypeError, match=r"expected one of scikit-fem's MeshLine1.*got MeshTri2"):
        from_skfem(skfem.MeshTri2.init_circle(1))
    flat = skfem.MeshTri(np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]), np.array([[0], [1], [2]]))
    with pytest.raises(ValueError, match="positive volume, got 1 with no volume"):
        from_skfem(flat)
    with pytest.raises(ValueError, match="finite coordinates"):
        from_skfem(skfem.MeshLine(np.array([[0.0, np.nan]]), np.array([[0], [1]])))
    three = skfem.MeshTri(
        np.array([[0.0, 1.0, 0.0, 1.0, -1.0], [0.0, 0.0, 1.0, 1.0, 1.0]]),
        np.array([[0, 0, 0], [1, 1, 1], [2, 3, 4]]),
    )
    with pytest.raises(ValueError, match="at most two cells at every facet, got 3"):
        from_skfem(three)


def test_periodic_sides_must_match():
    mesh = box_mesh("triangle", 3)
    moved = mesh.p.copy()
    moved[1, (moved[0] == 1.0) & (np.abs(moved[1] - 0.4) < 0.1)] = 0.4
    spoiled = skfem.MeshTri(moved, mesh.t)
    with pytest.raises(ValueError, match=r"match after a translation.*got 3 without a partner"):
        from_skfem(spoiled, (0,))
    with pytest.raises(ValueError, match=r"directions from 0 to 1, got 2"):
        from_skfem(mesh, (2,))
    with pytest.raises(ValueError, match="got 'nowhere'"):
        from_skfem(mesh, (("left", "nowhere"),))
    assert from_skfem(mesh, (("left", "right"),)).facets.count == from_skfem(mesh, (0,)).facets.count
    with pytest.raises(ValueError, match="have two cells already"):
        from_skfem(mesh, (0, ("left", "right")))


def test_a_mesh_that_folds_over_itself_is_refused():
    """A vertex moved across its patch: every triangle alone is fine."""
    mesh = skfem.MeshTri().refined(2)
    vertices = mesh.p.copy()
    vertices[:, mesh.interior_nodes()[0]] += [0.4, 0.3]
    with pytest.raises(ValueError, match="both cells on one side"):
        from_skfem(skfem.MeshTri(vertices, mesh.t))
    from_skfem(skfem.MeshTri(mesh.p, mesh.t[[1, 0, 2]]))  # another order of the vertices is no fold
