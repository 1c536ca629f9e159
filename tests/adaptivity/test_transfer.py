"""Functions on meshes that change: kept by refinement, projected by coarsening, mass kept by both."""

from dataclasses import replace

import numpy as np
import pytest
from adapted_meshes import CELLS, named_domain, periodic_domain, refined_at_random

from stfem.adaptivity import coarsen, refine, transfer
from stfem.spaces.broken import BrokenSpace

SHAPES = pytest.mark.parametrize("shape", list(CELLS))
DEGREES = pytest.mark.parametrize("degree", [0, 1, 3])
CYCLES = 50


def random_function(domain, degree, components=2, seed=1):
    space = BrokenSpace(domain.mesh(), degree)
    return space, np.random.default_rng(seed).normal(size=(components, space.modes, space.mesh.size))


def coarsened(shape):
    """A change in which some cells go back to their parents and some stay."""
    domain = refined_at_random(named_domain(shape), 3, part=2)
    change = coarsen(domain, np.flatnonzero(domain.mesh().centroids[0] < 0.6))
    sizes = np.bincount(change.new)
    assert 1 in sizes
    assert 2 in sizes
    return change


@SHAPES
@DEGREES
def test_refinement_keeps_the_function(shape, degree):
    change = refine(refined_at_random(named_domain(shape), 1), [0, 3, 5])
    before, u = random_function(change.before, degree)
    after = BrokenSpace(change.domain.mesh(), degree)
    points = after.mesh.reference.quadrature(4)[0]
    found = after.values(transfer(change, u, degree), points)
    x = after.mesh.points(points)
    for cell, parent in zip(change.new, change.old, strict=True):
        maps = before.mesh.cell_map(points, np.array([parent]))
        origin = before.mesh.points(np.zeros((before.mesh.dim, 1)), np.array([parent]))[:, 0]
        inside = maps.inverse[:, :, 0, 0] @ (x[:, :, cell] - origin)
        expected = before.basis.values(inside) @ u[:, :, parent, None]
        np.testing.assert_allclose(found[:, :, cell], expected[..., 0], atol=1e-11)


@SHAPES
@DEGREES
def test_coarsening_projects(shape, degree):
    change = coarsened(shape)
    fine, u = random_function(change.before, degree)
    coarse = BrokenSpace(change.domain.mesh(), degree)
    points, weights = fine.mesh.reference.quadrature(2 * degree)
    x, values = fine.mesh.points(points), fine.values(u, points)
    moments = np.zeros((2, coarse.modes, coarse.mesh.size))
    for cell, parent in enumerate(change.new):
        maps = coarse.mesh.cell_map(points, np.array([parent]))
        origin = coarse.mesh.points(np.zeros((coarse.mesh.dim, 1)), np.array([parent]))[:, 0]
        table = coarse.basis.values(maps.inverse[:, :, 0, 0] @ (x[:, :, cell] - origin))
        part = fine.mesh.cell_measures[cell] / coarse.mesh.cell_measures[parent]
        moments[:, :, parent] += part * (values[:, :, cell] * weights / weights.sum()) @ table
    np.testing.assert_allclose(transfer(change, u, degree), moments, atol=1e-11)


@SHAPES
@DEGREES
def test_coarsening_undoes_refinement(shape, degree):
    domain = named_domain(shape)
    space, u = random_function(domain, degree)
    finer = refine(domain, [2])
    kept = transfer(finer, u, degree)
    domain = finer.domain
    while domain.mesh().size > space.mesh.size:
        change = coarsen(domain, np.arange(domain.mesh().size))
        kept, domain = transfer(change, kept, degree), change.domain
    np.testing.assert_allclose(kept, u, atol=1e-12)


@SHAPES
def test_coarsening_does_not_enlarge_the_norm(shape):
    change = coarsened(shape)
    fine, u = random_function(change.before, 2)
    coarse = BrokenSpace(change.domain.mesh(), 2)
    before, after = fine.norm_l2(u), coarse.norm_l2(transfer(change, u, 2))
    assert after < before * (1.0 - 1e-3)


def cycles(domain, degree, spoil=lambda change: change):
    """Largest relative change of the mass of a component while the strip that is refined jumps."""
    space, u = random_function(domain, degree)
    u[:, 0] += 1.0
    start, least = u[:, 0] @ space.mesh.cell_measures, space.mesh.cell_measures.min() / 16.0
    drift, sizes = 0.0, [space.mesh.size]
    for cycle in range(CYCLES):
        for change_mesh in (refine, coarsen):
            mesh = domain.mesh()
            inside = np.abs(mesh.centroids[0] - cycle * 0.37 % 1.0) < 0.2
            chosen = inside & (mesh.cell_measures > 1.5 * least) if change_mesh is refine else ~inside
            change = change_mesh(domain, np.flatnonzero(chosen))
            u, domain = transfer(spoil(change), u, degree), change.domain
            drift = max(drift, np.abs(u[:, 0] @ domain.mesh().cell_measures / start - 1.0).max())
            sizes.append(domain.mesh().size)
    assert np.count_nonzero(np.diff(sizes) > 0) > CYCLES / 2
    assert np.count_nonzero(np.diff(sizes) < 0) > CYCLES / 2
    assert sizes[-1] < max(sizes)
    return drift


@pytest.mark.parametrize(
    ("shape", "n", "periodic"), [("line", 8, (0,)), ("triangles", 4, (0, 1)), ("tetrahedra", 2, (0,))]
)
def test_mass_is_kept_through_many_cycles(shape, n, periodic):
    assert cycles(periodic_domain(shape, n, periodic), 2) < 1e-12


def test_a_wrong_share_is_noticed():
    def spoiled(change):
        other = replace(change)
        other.__dict__["shares"] = change.shares * (1.0 + 1e-9 * (change.shares < 1.0))
        return other

    assert cycles(periodic_domain("line", 8, (0,)), 2, spoiled) > 1e-11


@pytest.mark.parametrize("shape", [(3, 7), (1, 3, 8), (1, 2, 18)])
def test_wrong_coefficients_are_refused(shape):
    change = refine(named_domain("triangles"), [0])
    with pytest.raises(ValueError, match=r"u: expected coefficients \(m, 3, 18\), got"):
        transfer(change, np.zeros(shape), 1)
