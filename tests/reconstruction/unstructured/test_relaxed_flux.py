"""Relaxed fluxes: in H(div), near the minimiser of their functional after three sweeps, sharper bounds."""

import numpy as np
import pytest
from sample_meshes import irregular
from transient_wave import wave

import stfem
from stfem.estimators.unstructured import mesh_estimate
from stfem.reconstruction import Hermite
from stfem.reconstruction.unstructured import (
    FluxRelaxation,
    LocalReconstruction,
    RelaxedFlux,
    averaging,
    vertex_patches,
)
from stfem.reconstruction.unstructured.checks import normal_jump
from stfem.reconstruction.unstructured.relaxed import seen_by_cells
from stfem.spaces.continuous import ContinuousSpace
from stfem.spaces.raviart_thomas import RaviartThomasSpace

DIFFUSION = np.array([[0.5, 0.2, 0.0], [0.2, 0.7, 0.1], [0.0, 0.1, 0.3]])
CASES = [("line", 1), ("triangles", 0), ("triangles", 2), ("quadrilaterals", 1), ("tetrahedra", 1)]


def functional(relaxation, target, D, state, wanted, local):
    """What `FluxRelaxation` documents, by a rule of its own; ``wanted`` is a function of x."""
    rt, mesh = relaxation.space, relaxation.space.mesh
    points, weights = mesh.reference.quadrature(2 * target.degree + 7)
    w = weights[:, None] * mesh.cell_map(points).determinant
    slopes = target.gradients(state, points)[:, 0]
    defect = rt.values(local, points)[:, 0] - np.einsum("ij,jqc->iqc", D, slopes)
    energy = np.einsum("iqc,ij,jqc->qc", defect, np.linalg.inv(D), defect)
    rest = wanted(mesh.points(points)) - rt.divergence(local, points)[0]
    mean = (w * rest).sum(axis=0) / w.sum(axis=0)
    smallest, size = np.linalg.eigvalsh(D)[0], np.linalg.norm(np.ptp(mesh.vertices, axis=1))
    spread = (w * (rest - mean) ** 2).sum(axis=0) @ mesh.cell_diameters**2 + size**2 * (w @ mean**2).sum()
    return (w * energy).sum() + spread / (np.pi**2 * smallest)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize(("shape", "q"), CASES)
def test_sweeps_lead_to_the_minimiser(shape, q, periodic):
    mesh = irregular(shape, 3, (0,) if periodic else ())
    D = DIFFUSION[: mesh.dim, : mesh.dim]
    target = ContinuousSpace(mesh, q + 1).broken
    kept = mesh.facets.boundary[:2]
    relaxation = FluxRelaxation(RaviartThomasSpace(mesh, q), target, D[:, :, None], kept)
    rt, rng = relaxation.space, np.random.default_rng(q)
    state = rng.normal(size=(1, target.modes, mesh.size))
    start = rng.normal(size=(1, rt.facet_size))

    def wanted(x):
        return 1.0 + x[0] - 2.0 * x[-1]

    values = wanted(mesh.points(relaxation.points))[None]
    results = [relaxation(start, state, values, sweeps) for sweeps in (0, 1, 3, 400)]
    costs = [functional(relaxation, target, D, state, wanted, local) for local in results]
    assert costs[3] < costs[2] < costs[1] < costs[0]
    best = results[-1]
    for local in results:
        assert normal_jump(rt, local, 2 * q + 1) < 1e-11
        moments = relaxation.facet_moments(local).reshape(-1, mesh.facets.count)
        np.testing.assert_allclose(moments[:, kept], start.reshape(moments.shape)[:, kept], atol=1e-10)
    for _ in range(4):
        move = rng.normal(size=(1, rt.size))
        facets = move[:, : rt.facet_size].reshape(-1, mesh.facets.count)
        facets[:, kept] = 0.0
        turn = rt.local(move)
        ends = [
            functional(relaxation, target, D, state, wanted, best + s * turn) - costs[-1] for s in (1.0, -1.0)
        ]
        assert min(ends) > 0.0
        # a stationary point: what is linear in the step is missing
        assert ends[0] == pytest.approx(ends[1], rel=1e-6)


@pytest.mark.parametrize(
    ("eps", "make", "q", "gain"),
    [
        (1.0, vertex_patches, 1, 0.6),
        (1.0, vertex_patches, 2, 0.6),
        (1e-2, vertex_patches, 1, 0.8),
        (1e-2, averaging, 1, 0.9),
    ],
)
def test_bounds_hold_and_are_sharper(eps, make, q, gain):
    problem, dg, nodes = wave(eps, 8 if q == 1 else 6, q, 0.1 if eps == 1.0 else 0.4, 6)
    nodes = list(nodes)
    rule = make(dg.space, dirichlet=dg.space.mesh.facets.boundary)
    first = LocalReconstruction(rule, problem.equation.diffusion, dg)
    plain = mesh_estimate(problem, first, Hermite(5), nodes)
    relaxed = mesh_estimate(problem, RelaxedFlux(first, problem), Hermite(5), nodes)
    assert relaxed.error == plain.error <= relaxed.bound
    assert relaxed.error_energy <= relaxed.bound_energy
    assert relaxed.enclosure[0] <= relaxed.error_dg <= relaxed.enclosure[1]
    assert relaxed.bound <= gain * plain.bound
    assert relaxed.bound_energy <= gain * plain.bound_energy


def test_given_normal_fluxes_are_measured():
    """Outflow: what d_R·n misses of D∇u·n = 0 belongs to the bound."""
    problem = stfem.problems.leaving_pulse(dim=2, eps=0.05, final_time=0.05)
    result = stfem.certify(problem, cells=4, degree=1)
    assert result.error <= result.bound
    assert result.history["way"].max() >= 6.0  # d_R is taken


def test_relaxation_is_for_cells_that_see_diffusion():
    for eps, expected in ((1.0, True), (1e-2, True), (1e-4, False), (0.0, False)):
        equation = stfem.equations.AdvectionDiffusion((1.0, 0.5), eps)
        mesh = irregular("triangles", 6)
        assert seen_by_cells(mesh, equation, eps * np.eye(2)[:, :, None]) is expected


def test_wrong_arguments():
    problem, dg, _ = wave(1.0, 3, 1, 0.1, 2)
    rule = vertex_patches(dg.space, dirichlet=dg.space.mesh.facets.boundary)
    bare = LocalReconstruction(rule, problem.equation.diffusion)
    with pytest.raises(ValueError, match="expected the fluxes of a linear scheme, got none"):
        RelaxedFlux(bare, problem)
