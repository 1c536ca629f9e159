"""Recovered fluxes: their divergence is the scheme's form, they fit across facets and meet the data."""

import numpy as np
import pytest
from sample_meshes import irregular
from small_dg import SmallDG

from stfem.reconstruction.unstructured import FluxRecovery
from stfem.reconstruction.unstructured.checks import boundary_defect, divergence_defect, normal_jump
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.raviart_thomas import RaviartThomasSpace

DIFFUSION = np.array([[0.5, 0.2, 0.0], [0.2, 0.7, 0.1], [0.0, 0.1, 0.3]])
VELOCITY = np.array([1.0, -0.5, 0.25])
CASES = [
    *[(shape, q) for shape in ("line", "triangles", "quadrilaterals") for q in (1, 2, 3, 4)],
    ("tetrahedra", 1),
    ("tetrahedra", 2),
    ("hexahedra", 1),
]


def scheme_and_state(shape, q, periodic):
    dim = {"line": 1, "triangles": 2, "quadrilaterals": 2}.get(shape, 3)
    mesh = irregular(shape, 3, (0,) if periodic else ())
    space = BrokenSpace(mesh, q)
    dg = SmallDG(space, VELOCITY[:dim], DIFFUSION[:dim, :dim])
    rng = np.random.default_rng(q)
    u = rng.normal(size=(1, space.modes, mesh.size))
    data = rng.normal(size=(1, len(dg.w), len(mesh.facets.boundary)))
    return dg, u, data


def convective_flux(dg, u, data):
    space, mesh = dg.space, dg.space.mesh
    recovery = FluxRecovery(RaviartThomasSpace(mesh, space.degree))
    values = space.values(u, mesh.reference.quadrature(recovery.cell_order)[0])
    cells = dg.b[:, None, None, None] * values
    return recovery.interpolate(cells, dg.facet_data("convective", u, data) * dg.density)


def diffusive_flux(dg, u, data):
    space, mesh = dg.space, dg.space.mesh
    recovery = FluxRecovery(RaviartThomasSpace(mesh, space.degree))
    slopes = space.gradients(u, mesh.reference.quadrature(recovery.cell_order)[0])
    jumps = dg.facet_data("jumps", u, data)
    symmetry = recovery.symmetry_moments(jumps, jumps[..., dg.inner] * -1.0, dg.D[:, :, None])
    facets = dg.facet_data("diffusive", u, data) * dg.density
    return recovery.interpolate(np.einsum("ij,jmqc->imqc", dg.D, slopes), facets, symmetry)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize(("shape", "q"), CASES)
def test_divergence_is_the_form_of_the_scheme(shape, q, periodic):
    dg, u, data = scheme_and_state(shape, q, periodic)
    rt = RaviartThomasSpace(dg.space.mesh, q)
    h, d = rt.local(convective_flux(dg, u, data)), rt.local(diffusive_flux(dg, u, data))
    rates = dg.rates(u, data)
    assert divergence_defect(rt, d - h, dg.space, rates) < 1e-12
    assert normal_jump(rt, h, 2 * q + 1) < 1e-11
    assert normal_jump(rt, d, 2 * q + 1) < 1e-11
    boundary = dg.space.mesh.facets.boundary
    if dg.space.mesh.affine and len(boundary):  # data random at points: only the moments can be met
        moments = rt.facet_moments(dg.facet_data("convective", u, data) * dg.density, dg.order)
        density = np.broadcast_to(dg.density[:1], dg.density.shape)
        table = rt.local_space.facet_basis.values(dg.s)
        met = (table @ moments / density)[..., boundary]
        assert boundary_defect(rt, h, boundary, met, dg.order) < 1e-11
        assert boundary_defect(rt, h, boundary, met + 1.0, dg.order) > 1e-3
    spoiled = h.copy()
    spoiled[:, 0, 0] += 1.0
    assert divergence_defect(rt, d - spoiled, dg.space, rates) > 1e-6


def test_symmetry_term_is_needed():
    dg, u, data = scheme_and_state("triangles", 2, False)
    rt = RaviartThomasSpace(dg.space.mesh, 2)
    h, d = convective_flux(dg, u, data), diffusive_flux(dg, u, data)
    recovery = FluxRecovery(rt)
    slopes = dg.space.gradients(u, dg.space.mesh.reference.quadrature(recovery.cell_order)[0])
    plain = recovery.interpolate(
        np.einsum("ij,jmqc->imqc", dg.D, slopes), dg.facet_data("diffusive", u, data) * dg.density
    )
    rates = dg.rates(u, data)
    assert divergence_defect(rt, rt.local(d - h), dg.space, rates) < 1e-12
    assert divergence_defect(rt, rt.local(plain - h), dg.space, rates) > 1e-3


@pytest.mark.parametrize("shape", ["line", "triangles", "quadrilaterals", "tetrahedra", "hexahedra"])
def test_averaged_gradient_of_a_smooth_function_is_its_gradient(shape):
    mesh = irregular(shape, 2, amount=0.0 if shape in ("quadrilaterals", "hexahedra") else 0.3)
    space = BrokenSpace(mesh, 3)
    a = VELOCITY[: mesh.dim]
    u = space.project([lambda x, t: np.tensordot(a, x, 1) ** 3])
    D = DIFFUSION[: mesh.dim, : mesh.dim, None]
    rt = RaviartThomasSpace(mesh, 2)
    d = rt.local(FluxRecovery(rt).averaged(space, u, D))
    points = mesh.reference.quadrature(4)[0]
    expected = np.einsum("ijc,jmqc->imqc", D, space.gradients(u, points))
    np.testing.assert_allclose(rt.values(d, points), expected, atol=1e-10)


def test_given_normal_fluxes_replace_the_trace():
    mesh = irregular("triangles", 3)
    space, rt = BrokenSpace(mesh, 2), RaviartThomasSpace(mesh, 1)
    u = space.project([lambda x, t: x[0] ** 2])
    recovery = FluxRecovery(rt)
    s = mesh.reference.on_facet.quadrature(recovery.facet_order)[0]
    given = np.full((1, s.shape[1], mesh.facets.count), np.nan)
    boundary = mesh.facets.boundary
    given[..., boundary] = 3.0 * mesh.facet_normals(s, boundary)[1]
    D = np.eye(2)[:, :, None]
    local = rt.local(recovery.averaged(space, u, D, given))
    expected = np.full((1, s.shape[1], len(boundary)), 3.0)
    assert boundary_defect(rt, local, boundary, expected, recovery.facet_order) < 1e-12
    assert boundary_defect(rt, rt.local(recovery.averaged(space, u, D)), boundary, expected, 4) > 0.1
