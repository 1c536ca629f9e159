"""Averaging and vertex patches: polynomials, orders, seams, boundary values."""

import numpy as np
import pytest
from sample_meshes import SHAPES, irregular

from stfem.reconstruction.unstructured import averaging, vertex_patches
from stfem.spaces.broken import BrokenSpace

DIM = {"line": 1, "triangles": 2, "quadrilaterals": 2, "tetrahedra": 3, "hexahedra": 3}


def error_l2(space, u, exact):
    """‖u − exact‖ with plenty of points."""
    mesh = space.mesh
    points, weights = mesh.reference.quadrature(2 * space.degree + 8)
    difference = space.values(u, points) - exact(mesh.points(points))
    return np.sqrt(weights @ (difference**2 * mesh.cell_map(points).determinant).sum(axis=(0, 2)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("q", [0, 1, 2])
def test_patches_keep_polynomials_of_degree_q_plus_1(shape, q):
    mesh = irregular(shape, 4 if DIM[shape] < 3 else 3, amount=0.25 if DIM[shape] < 3 else 0.1)
    space, a = BrokenSpace(mesh, q), np.array([0.7, -0.4, 1.1])[: DIM[shape]]

    def exact(x):
        return (np.tensordot(a, x, 1) - 0.3) ** (q + 1)

    patches = vertex_patches(space)
    u = space.project([lambda x, t: exact(x)])
    assert patches.target.degree == q + 1
    if mesh.affine:  # elsewhere the powers of x are no nodal functions
        assert error_l2(patches.target.broken, patches.field(u), exact) < 1e-11
    np.testing.assert_allclose(patches.nodal(u)[0], exact(patches.target.points), atol=1e-11)


@pytest.mark.parametrize("make", [averaging, vertex_patches])
@pytest.mark.parametrize(("shape", "n"), [("line", 16), ("triangles", 8), ("quadrilaterals", 8)])
@pytest.mark.parametrize("q", [1, 2])
def test_order_across_seams(make, shape, n, q):
    """Order q + 1 of averages, q + 2 of patches, on irregular periodic meshes."""

    def exact(x):
        return np.prod(np.sin(2 * np.pi * (x + 0.1)), axis=0)

    errors = []
    for cells in (n, 2 * n):
        space = BrokenSpace(irregular(shape, cells, range(DIM[shape])), q)
        reconstruction = make(space)
        u = space.project([lambda x, t: exact(x)])
        errors.append(error_l2(reconstruction.target.broken, reconstruction.field(u), exact))
    order = np.log2(errors[0] / errors[1])
    expected = q + 2 if make is vertex_patches else q + 1
    assert expected - 0.4 < order < expected + 1.0


@pytest.mark.parametrize("make", [averaging, vertex_patches])
@pytest.mark.parametrize("shape", ["line", "triangles", "tetrahedra"])
def test_tiny_periodic_meshes(make, shape):
    """Patches that meet themselves across the seam, down to one cell per side; constants are kept."""
    for n in (1, 2, 3):
        space = BrokenSpace(irregular(shape, n, range(DIM[shape])), 1)
        u = np.zeros((1, space.modes, space.mesh.size))
        u[:, 0] = 3.0
        np.testing.assert_allclose(make(space).nodal(u), 3.0, atol=1e-9)


def test_seam_is_invisible():
    """The same function on the same mesh, cut elsewhere, has the same reconstruction."""
    import skfem

    from stfem.meshes.unstructured import from_skfem

    n, q = 4, 1
    base = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, n + 1)] * 2)

    def bent(x):  # a periodic deformation
        return x + 0.04 * np.sin(2 * np.pi * x) * np.cos(2 * np.pi * x[::-1])

    results = []
    for shift in (0.0, 0.5):
        p = base.p + np.array([[shift], [0.0]])
        space = BrokenSpace(from_skfem(skfem.MeshTri(bent(p), base.t), (0, 1)), q)
        patches = vertex_patches(space)
        values = patches.nodal(
            space.project([lambda x, t: np.sin(2 * np.pi * x[0]) * np.cos(4 * np.pi * x[1])])
        )
        x = np.round(patches.target.points % 1.0, 6) % 1.0
        results.append(values[0][np.lexsort(x)])
    np.testing.assert_allclose(*results, atol=1e-12)


def test_given_values_stand_at_the_boundary():
    mesh = irregular("triangles", 4)
    space = BrokenSpace(mesh, 1)
    patches = vertex_patches(space, dirichlet=mesh.facets.boundary)
    x = patches.target.points[:, patches.fixed]
    u = space.project([lambda x, t: x[0] * x[1]])
    field = patches.field(u, x[:1] ** 2)
    s = mesh.reference.on_facet.quadrature(4)[0]
    trace = patches.target.broken.traces(field, 0, s, mesh.facets.boundary)
    np.testing.assert_allclose(trace[0], mesh.facet_points(s, mesh.facets.boundary)[0] ** 2, atol=1e-12)
