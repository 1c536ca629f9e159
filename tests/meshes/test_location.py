"""Points are found in their cells: on every shape, at facets, far from the origin, and quickly."""

import time

import numpy as np
import pytest
import skfem
from mesh_cases import KINDS, box_mesh
from sample_meshes import SHAPES, irregular

from stfem.meshes import from_skfem


def images(mesh, cells, points):
    return np.einsum(
        "ivq,vq->iq", mesh.vertices[:, mesh.cells[:, cells]], mesh.reference.shape_values(points)
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_points_are_found_where_they_were_put(shape):
    mesh = irregular(shape, 4, amount=0.15)
    rng = np.random.default_rng(2)
    cells = rng.integers(mesh.size, size=400)
    local = mesh.reference.vertices @ rng.dirichlet(np.ones(mesh.reference.vertices.shape[1]), 400).T
    found = mesh.locate(images(mesh, cells, local))
    assert np.array_equal(found.cells, cells)
    assert found.points == pytest.approx(local, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_vertices_do_not_matter(kind):
    mesh = from_skfem(box_mesh(kind, 3, 0.15, turned=True))
    x = np.random.default_rng(1).uniform(0.0, 1.0, (mesh.dim, 300))
    found = mesh.locate(x)
    assert images(mesh, *found) == pytest.approx(x, abs=1e-13)
    assert np.all(found.points >= -1e-9)
    assert np.all(found.points <= 1.0 + 1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_on_facets_and_vertices_it_is_the_first_of_the_cells(shape):
    """Also for other points in the same call, and in another order."""
    mesh = irregular(shape, 3, amount=0.1)
    inner = np.arange(mesh.facets.interior)
    middle = mesh.reference.on_facet.vertices.mean(axis=1, keepdims=True)
    x = mesh.facet_points(middle, inner)[:, 0]
    expected = mesh.facets.cells[:, inner].min(axis=0)
    assert np.array_equal(mesh.locate(x).cells, expected)
    shuffled = np.random.default_rng(0).permutation(len(inner))
    assert np.array_equal(mesh.locate(x[:, shuffled]).cells, expected[shuffled])
    at_vertices = [np.flatnonzero((mesh.cells == v).any(axis=0)).min() for v in range(mesh.vertices.shape[1])]
    assert np.array_equal(mesh.locate(mesh.vertices).cells, at_vertices)


@pytest.mark.parametrize("corner", [(0.502, 0.5), (0.95, 0.052), (20.0, 0.3), (30.0, 30.0)])
def test_cells_far_from_parallelograms(corner):
    """One corner of a square near the diagonal, or far away: Newton's method has to find every point."""
    corners = np.array([[0.0, 1.0, corner[0], 0.0], [0.0, 0.0, corner[1], 1.0]])
    for scale in (1.0, 1e-6, 1e6):
        mesh = from_skfem(skfem.MeshQuad(scale * corners, np.arange(4)[:, None]))
        local = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 41)] * 2)).reshape(2, -1)
        found = mesh.locate(images(mesh, np.zeros(local.shape[1], dtype=int), local))
        assert not found.cells.any()
        assert found.points == pytest.approx(local, abs=1e-9)


def test_graded_meshes_and_meshes_far_away():
    x = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, 400)])
    graded = from_skfem(skfem.MeshLine(x))
    inside = 0.3 * x[:-1] + 0.7 * x[1:]
    assert np.array_equal(graded.locate(inside[None]).cells, np.arange(400))
    moved = skfem.MeshTri().refined(3).scaled(1e-3).translated((1e5, -1e5))
    mesh = from_skfem(moved)
    points = mesh.points(np.array([[0.3], [0.3]]))[:, 0]
    assert np.array_equal(mesh.locate(points).cells, np.arange(mesh.size))
    assert mesh.locate(moved.p).cells.max() < mesh.size  # the boundary belongs to the mesh


def test_points_outside_are_named():
    mesh = irregular("triangles", 3)
    with pytest.raises(
        ValueError, match=r"expected points inside of the mesh, got 2 outside, the first is \[1\.2, 0\.5\]"
    ):
        mesh.locate(np.array([[0.5, 1.2, 0.1], [0.5, 0.5, -1e-6]]))
    lshape = from_skfem(skfem.MeshTri.init_lshaped())
    corners = np.array([[0.5, -0.5, 0.5, -0.5], [0.5, 0.5, -0.5, -0.5]])
    assert np.count_nonzero(lshape.find(corners).cells < 0) == 1


def test_no_points():
    found = irregular("tetrahedra", 2).locate(np.zeros((3, 0)))
    assert found.cells.shape == (0,)
    assert found.points.shape == (3, 0)


def test_the_time_for_a_point_hardly_depends_on_the_mesh():
    """A search through all cells would take 400 times as long on the finer mesh."""
    x = np.random.default_rng(3).uniform(0.0, 1.0, (2, 4000))
    seconds = []
    for n in (8, 160):
        mesh = irregular("triangles", n, amount=0.1)
        mesh.locate(x[:, :1])
        best = np.inf
        for _ in range(3):
            started = time.perf_counter()
            mesh.locate(x)
            best = min(best, time.perf_counter() - started)
        seconds.append(best)
    assert seconds[1] < 20.0 * seconds[0]
