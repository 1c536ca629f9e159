"""Two-stage reconstructions: their equations hold, boundary data stand, they are sharper than the first."""

import numpy as np
import pytest
from transient_wave import wave

from stfem.estimators.unstructured import mesh_estimate
from stfem.reconstruction import Hermite, Lagrange
from stfem.reconstruction.unstructured import (
    BoundTwoStage,
    BoundTwoStageMixed,
    LocalReconstruction,
    vertex_patches,
)

BOTH = (BoundTwoStage, BoundTwoStageMixed)


def set_up(eps, n=4, q=1, steps=8):
    problem, dg, nodes = wave(eps, n, q, 0.1 if eps == 1.0 else 0.4, steps)
    rule = vertex_patches(dg.space, dirichlet=dg.space.mesh.facets.boundary)
    return problem, LocalReconstruction(rule, problem.equation.diffusion, dg), list(nodes)


def functional(stage, first, problem, t, v, flux=None):
    """T5.2 of nodal values v and a flux, or what T5.1 minimises (its gradient there is the equation)."""
    mesh, D = stage.space.mesh, problem.equation.diffusion
    points, weights = mesh.reference.quadrature(2 * stage.target.degree + 4)
    w, x = weights[:, None] * mesh.cell_map(points).determinant, mesh.points(points)
    field = stage.continuous.to_broken(v[None])
    values, slopes = stage.target.values(field, points)[0], stage.target.gradients(field, points)[:, 0]
    u1, rate = (stage.first.target.values(u, points)[0] for u in first.state)
    along = slopes[0] + 0.5 * slopes[1]
    kappa, T = (5.0 / problem.final_time) ** 2, problem.final_time
    if flux is None:
        space, local = stage.first.diffusive_spaces[-1], first.diffusive[-1][0]
        d, divergence = space.values(local, points)[:, 0], space.divergence(local, points)[0]
        residual = along + rate - problem.source[0](x, t) - divergence
        slack = np.einsum("iqc,ij,jqc->qc", slopes, D, slopes) - 2 * np.einsum("iqc,iqc->qc", d, slopes)
        return (w * (residual**2 + kappa * (values - u1) ** 2 + slack)).sum()
    space = stage.diffusive_spaces[-1]
    residual = rate + along - space.divergence(flux, points)[0] - problem.source[0](x, t)
    defect = space.values(flux, points)[:, 0] - np.einsum("ij,jqc->iqc", D, slopes)
    energy = np.einsum("iqc,ij,jqc->qc", defect, np.linalg.inv(D), defect)
    return (w * (T * residual**2 + T * kappa * (values - u1) ** 2 + energy)).sum()


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("eps", [1.0, 1e-3])
def test_solutions_minimise_their_functionals(kind, eps):
    problem, start, nodes = set_up(eps)
    stage, node = kind(start, problem), nodes[2]
    first, result = start.at_node(node), stage.at_node(node)
    nodal = np.empty(stage.continuous.size)
    table = stage.target.basis.values(stage.continuous.lattice)
    nodal[stage.continuous.nodes] = (table @ result.state[0])[0]
    boundary = stage.continuous.nodes_on(stage.space.mesh.facets.boundary)
    np.testing.assert_allclose(nodal[boundary], 0.0, atol=1e-12)
    mixed = kind is BoundTwoStageMixed
    flux = result.diffusive[-1][0] if mixed else None
    rng = np.random.default_rng(0)
    least = functional(stage, first, problem, node.time, nodal, flux)
    for _ in range(5):
        move = rng.normal(size=nodal.shape)
        move[boundary] = 0.0
        turn = rng.normal(size=(1, stage.diffusive_spaces[-1].size)) if mixed else None
        for step in (1e-3, -1e-3):
            other = flux + step * stage.diffusive_spaces[-1].local(turn) if mixed else None
            value = functional(stage, first, problem, node.time, nodal + step * move, other)
            assert value > least
            # a stationary point: what is linear in the step is missing
            half = flux + 0.5 * step * stage.diffusive_spaces[-1].local(turn) if mixed else None
            near = functional(stage, first, problem, node.time, nodal + 0.5 * step * move, half)
            assert (value - least) / (near - least) == pytest.approx(4.0, rel=1e-3)


@pytest.mark.parametrize("eps", [1.0, 1e-2, 1e-4, 0.0])
def test_bounds_hold_and_are_sharper(eps):
    """B/e_h ≤ 2.5 with the better of both (T5), and the bounds of each are bounds."""
    problem, first, nodes = set_up(eps, 8, 1, 20)
    local = mesh_estimate(problem, first, Hermite(5), nodes)
    kinds = BOTH if eps > 0.0 else (BoundTwoStage,)
    estimates = [mesh_estimate(problem, kind(first, problem), Lagrange(4), nodes) for kind in kinds]
    for estimate in estimates:
        assert estimate.error <= estimate.bound
        assert estimate.error_energy <= estimate.bound_energy
        assert estimate.enclosure[0] <= estimate.error_dg <= estimate.enclosure[1]
    best = min(estimate.bound for estimate in estimates)
    assert best <= 2.5 * local.error_dg
    assert best <= 0.7 * local.bound


def test_wrong_arguments():
    problem, first, _ = set_up(0.0)
    with pytest.raises(ValueError, match="expected positive definite, got smallest eigenvalue 0"):
        BoundTwoStageMixed(first, problem)
    with pytest.raises(ValueError, match="expected κ > 0, got -1"):
        BoundTwoStage(first, problem, memory=-1.0)
