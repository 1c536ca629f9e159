"""Several changes of a mesh as one: common cells, differences by brute force, projections."""

import numpy as np
import pytest
from adapted_meshes import CELLS, named_domain, refined_at_random

from stfem.adaptivity import coarsen, refine, transfer
from stfem.adaptivity.composition import overlap_of
from stfem.adaptivity.trial import first_trial
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.mesh_field import MeshField

SHAPES = pytest.mark.parametrize("shape", list(CELLS))
RNG = np.random.default_rng(3)


def changed(shape):
    """A domain and two refinements and two coarsenings of it."""
    domain = refined_at_random(named_domain(shape), 3, part=2)
    changes, current = [], domain
    for cell in (0, 3):
        changes.append(refine(current, [cell, cell + 1, current.mesh().size - 1]))
        current = changes[-1].domain
    for _ in range(2):
        left = np.flatnonzero(current.mesh().centroids[0] < 0.7)
        changes.append(coarsen(current, left))
        current = changes[-1].domain
    sizes = [change.domain.mesh().size for change in changes]
    assert sizes[0] < sizes[1] > sizes[2]
    return domain, changes


def random_field(mesh, degree):
    space = BrokenSpace(mesh, degree)
    return space, RNG.normal(size=(2, space.modes, mesh.size))


def corners_of(mesh, cells, places):
    return np.einsum("dan,akn->dkn", mesh.vertices[:, mesh.cells[:, cells]], places)


@SHAPES
def test_common_cells_lie_in_both(shape):
    domain, changes = changed(shape)
    overlap = overlap_of(domain, changes)
    before = corners_of(overlap.before, overlap.old, overlap.in_old)
    after = corners_of(overlap.after, overlap.new, overlap.in_new)
    np.testing.assert_allclose(before, after, atol=1e-14)
    assert overlap.measures.sum() == pytest.approx(1.0, rel=1e-12)
    for cells, mesh in ((overlap.old, overlap.before), (overlap.new, overlap.after)):
        found = np.bincount(cells, overlap.measures, mesh.size)
        np.testing.assert_allclose(found, mesh.cell_measures, rtol=1e-12)


@SHAPES
def test_difference_by_brute_force(shape):
    """On the finest of all meshes, where both are polynomials, by evaluation at points."""
    domain, changes = changed(shape)
    overlap = overlap_of(domain, changes)
    (one, u), (other, v) = random_field(overlap.before, 3), random_field(overlap.after, 2)
    finest = changes[1].domain.mesh()
    points, weights = finest.reference.quadrature(8)
    x = finest.points(points)
    difference = MeshField(one, u)(x) - MeshField(other, v)(x)
    density = weights[:, None] * finest.cell_map(points).determinant
    brute = (density * (difference**2).sum(axis=0)).sum(axis=0)
    found = overlap.difference_sq(one, u, other, v)
    assert found.sum() == pytest.approx(brute.sum(), rel=1e-10)
    of_new = np.bincount(overlap.new, brute, overlap.after.size)  # common cells are those of the finest mesh
    np.testing.assert_allclose(overlap.gathered(found), of_new, rtol=1e-9)


@SHAPES
def test_projection_is_the_transfer_step_by_step(shape):
    domain, changes = changed(shape)
    space, u = random_field(domain.mesh(), 2)
    overlap, expected = overlap_of(domain, changes), u
    for change in changes:
        expected = transfer(change, expected, 2)
    target = BrokenSpace(overlap.after, 2)
    found = overlap.project(space, u, target)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    mass = [values[:, 0] @ s.mesh.cell_measures for s, values in ((space, u), (target, found))]
    np.testing.assert_allclose(mass[0], mass[1], rtol=1e-12, atol=1e-14)


@SHAPES
def test_carried_numbers_keep_their_sum(shape):
    domain, changes = changed(shape)
    overlap = overlap_of(domain, changes)
    values = RNG.uniform(size=overlap.before.size)
    carried = overlap.carried(values)
    assert carried.sum() == pytest.approx(values.sum(), rel=1e-12)
    sizes = overlap.carried(overlap.before.cell_measures)
    np.testing.assert_allclose(sizes, overlap.after.cell_measures, rtol=1e-12)


@SHAPES
def test_cells_that_stay(shape):
    domain, changes = changed(shape)
    overlap = overlap_of(domain, changes)
    assert 0 < np.count_nonzero(overlap.same) < len(overlap.same)
    untouched = np.flatnonzero(overlap.untouched)
    space, u = random_field(domain.mesh(), 1)
    found = overlap.project(space, u, BrokenSpace(overlap.after, 1))
    old = {tuple(x): k for k, x in enumerate(np.round(overlap.before.centroids.T, 12))}
    same = [old.get(tuple(x)) for x in np.round(overlap.after.centroids.T, 12)]
    # others were cut and put together again
    assert sum(k is not None for k in same) >= np.count_nonzero(overlap.same)
    assert len(untouched) > 0 or shape == "tetrahedra"
    for k in untouched:  # and so are those around
        around = np.isin(overlap.after.cells, overlap.after.cells[:, k]).any(axis=0)
        assert all(same[j] is not None for j in np.flatnonzero(around))
        assert found[0, 0, k] == pytest.approx(u[0, 0, same[k]], abs=1e-13)


def test_no_change_is_a_change_to_the_same_mesh():
    domain = named_domain("triangles")
    overlap = overlap_of(domain, ())
    space, u = random_field(domain.mesh(), 2)
    assert overlap.before is overlap.after
    assert np.all(overlap.difference_sq(space, u, space, u) == 0.0)
    np.testing.assert_allclose(overlap.project(space, u, space), u, atol=1e-13)


def test_order_of_changes():
    domain = refined_at_random(named_domain("triangles"), 2)
    first = coarsen(domain, np.arange(domain.mesh().size))
    with pytest.raises(ValueError, match="changes: expected refinements before coarsenings, got one after"):
        overlap_of(domain, [first, refine(first.domain, [0])])
    with pytest.raises(ValueError, match="changes: expected one of Domain"):
        overlap_of(domain, [refine(first.domain, [0])])


@SHAPES
def test_trials(shape):
    """What was coarsened too far comes back as it was; origins hold their cells."""
    domain = refined_at_random(named_domain(shape), 3, part=2)
    first = first_trial(domain)
    coarse = first.coarsened(np.full(domain.mesh().size, 2))
    assert coarse.domain.mesh().size < domain.mesh().size
    assert coarse.changes == coarse.coarsenings
    everything = np.arange(coarse.domain.mesh().size)
    finer, origins = coarse.refined(everything)
    mesh = finer.domain.mesh()
    assert mesh.size > coarse.domain.mesh().size
    sizes = np.bincount(origins, mesh.cell_measures, coarse.domain.mesh().size)
    np.testing.assert_allclose(sizes, coarse.domain.mesh().cell_measures, rtol=1e-12)
    assert np.all(np.bincount(origins, minlength=len(everything)) > 1)
    overlap = overlap_of(domain, finer.changes)
    assert overlap.measures.sum() == pytest.approx(1.0, rel=1e-12)
