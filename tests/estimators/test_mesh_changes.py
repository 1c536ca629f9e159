"""Bounds over changes of the mesh: the jump of û is paid for, and nothing of the past is lost (T4.8)."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import skfem

import stfem
from stfem.adaptivity import coarsen, refine
from stfem.adaptivity.composition import overlap_of
from stfem.adaptivity.windows import slab_nodes
from stfem.estimators import mesh_pass, unstructured
from stfem.problems import moving_front
from stfem.reconstruction import Lagrange
from stfem.reconstruction.unstructured import Averaging, VertexPatches
from stfem.spaces.mesh_field import MeshField
from stfem.spaces.overlap import MeshOverlap

TIMES = np.linspace(0.0, 0.3, 4)
SLABS = 7
PATCHES = (VertexPatches(),)


def problem_on(dim, eps, cells=8):
    axis = np.linspace(0.0, 1.0, cells + 1)
    kinds = {1: skfem.MeshLine, 2: skfem.MeshTri.init_tensor, 3: skfem.MeshTet.init_tensor}
    mesh = kinds[dim](*[axis] * dim)
    return moving_front(dim, eps, 0.15 if dim < 3 else 0.4, TIMES[-1], mesh)


def nothing(domain):
    return []


def finer(domain):
    return [refine(domain, np.flatnonzero(domain.mesh().centroids[0] < 0.6))]


def coarser(domain):
    change = coarsen(domain, np.arange(domain.mesh().size))
    return [change] if change.domain.mesh().size < domain.mesh().size else finer(domain)


def both(domain):
    first = refine(domain, np.flatnonzero(domain.mesh().centroids[0] > 0.5))
    return [first, coarsen(first.domain, np.flatnonzero(first.domain.mesh().centroids[0] < 0.4))]


def windows(problem, degree, change, rules=PATCHES, times=TIMES, seen=None):
    """A run whose mesh changes between windows; every window so far."""
    estimator = stfem.MeshEstimator(rules, spacing=1)
    result, overlap, values, changes = [], None, None, None
    for start, stop in pairwise(times):
        solution = stfem.solve(problem, degree=degree, dt=(stop - start) / (4 * SLABS))
        semi, stepper = solution.semidiscretization, solution.stepper
        if result:
            best = result[-1].best
            first = overlap.project(best.reconstruction.space, values, semi.space) if changes else values
        else:
            first = solution.initial
        nodes = list(slab_nodes(semi, stepper, first, np.linspace(start, stop, SLABS + 1), [4] * SLABS))
        result.append(estimator.window(semi, nodes, stepper.order, result[-1] if result else None, overlap))
        values = nodes[-1].values
        if seen is not None:
            seen.append(problem.domain)
        changes = change(problem.domain)
        overlap = overlap_of(problem.domain, changes)
        if changes:
            problem = replace(problem, domain=changes[-1].domain)
    return result


@pytest.mark.parametrize("change", [finer, coarser, both])
@pytest.mark.parametrize(
    ("dim", "degree", "eps"),
    [(1, 1, 1e-2), (1, 2, 1e-6), (2, 1, 1e-4), (2, 2, 1e-2), (1, 1, 0.0), (3, 1, 1e-2)],
)
def test_bounds_hold_over_changes(dim, degree, eps, change):
    parts = windows(problem_on(dim, eps, {1: 16, 2: 6, 3: 2}[dim]), degree, change)
    result = parts[-1].result()
    assert result.facts["changes"] == len(TIMES) - 2
    assert 0.0 < result.error <= result.bound < 50.0 * result.error + 0.1
    assert result.error_final <= result.bound_final <= result.bound
    assert result.error_energy <= result.bound_energy
    assert result.error_l1 <= result.bound_l1
    assert result.enclosure[0] <= result.error_dg <= result.enclosure[1]
    total = result.history["alpha"].sum() ** 2 + result.history["beta"].sum()
    assert result.parts["hyperbolic"] == pytest.approx(result.history["alpha"].sum(), rel=1e-12)
    assert result.indicators_sq.shape == (result.facts["cells"],)
    assert result.indicators_sq.sum() == pytest.approx(total, rel=1e-10)
    assert np.all(result.indicators_sq >= -1e-15 * total)
    assert len(result.history["time"]) == SLABS * (len(TIMES) - 1)
    assert result.history["time"][-1] == TIMES[-1]
    # sums of squares and suprema do not shrink from mesh to mesh
    sizes = [part.result() for part in parts]
    for name in ("bound", "error", "bound_energy", "error_energy"):
        assert np.all(np.diff([getattr(entry, name) for entry in sizes]) >= 0.0)


@pytest.mark.parametrize("dim", [1, 2])
def test_jump_by_brute_force(dim, monkeypatch):
    calls, seen, exact = [], [], MeshOverlap.difference_sq

    def watched(self, *given):
        calls.append((given, exact(self, *given)))
        return calls[-1][1]

    monkeypatch.setattr(MeshOverlap, "difference_sq", watched)
    first, second = windows(problem_on(dim, 1e-3), 2, both, times=TIMES[:3], seen=seen)
    ((before, u, after, v), squares) = calls[0]
    assert len(calls) == 1
    np.testing.assert_array_equal(u, first.best.final_state)
    assert after is second.best.reconstruction.target
    finest = both(seen[0])[0].domain.mesh()
    points, weights = finest.reference.quadrature(12)
    density = weights[:, None] * finest.cell_map(points).determinant
    x = finest.points(points)
    brute = (density * (MeshField(before, u)(x) - MeshField(after, v)(x)) ** 2).sum()
    assert squares.sum() == pytest.approx(brute, rel=1e-9)
    assert brute > 1e-12
    # what the first slab adds holds it
    alphas = np.array(second.best.rows)[:, 2]
    assert alphas[SLABS] > np.sqrt(brute)
    assert second.best.state.hyperbolic == pytest.approx(alphas.sum(), rel=1e-12)


def test_the_jump_is_paid_for(monkeypatch):
    """Without it the bound would be smaller."""
    paid = windows(problem_on(1, 1e-4), 1, both)[-1].result()
    monkeypatch.setattr(MeshOverlap, "difference_sq", lambda self, *given: np.zeros(len(self.old)))
    free = windows(problem_on(1, 1e-4), 1, both)[-1].result()
    assert free.bound < (1.0 - 1e-3) * paid.bound
    assert free.bound_l1 <= paid.bound_l1


def test_an_unchanged_mesh_changes_nothing(monkeypatch):
    """Windows on one mesh give the bound of one run, where the interpolation in time is that of each slab."""
    monkeypatch.setattr(unstructured, "interpolant_of", lambda reconstruction, order: Lagrange(1))
    problem = problem_on(2, 1e-3, 5)
    apart = windows(problem, 1, nothing)[-1].result()
    together = windows(problem, 1, nothing, times=np.array([0.0, TIMES[-1]]))
    # the same slabs in one window
    solution = stfem.solve(problem, degree=1, dt=0.1 / (4 * SLABS))
    semi, stepper = solution.semidiscretization, solution.stepper
    times = np.concatenate([np.linspace(a, b, SLABS + 1)[:-1] for a, b in pairwise(TIMES)] + [TIMES[-1:]])
    nodes = slab_nodes(semi, stepper, solution.initial, times, [4] * (len(times) - 1))
    whole = stfem.MeshEstimator(spacing=1).run(semi, nodes, stepper.order)
    assert together[-1].result().facts["changes"] == 0
    assert apart.facts["changes"] == 2
    for name in ("bound", "bound_final", "bound_energy", "bound_l1", "error", "error_energy", "error_dg"):
        assert getattr(apart, name) == pytest.approx(getattr(whole, name), rel=1e-12)
    np.testing.assert_allclose(apart.indicators_sq, whole.indicators_sq, rtol=1e-9)


def test_several_reconstructions_switch_on_every_mesh():
    rules = (VertexPatches(), Averaging())
    result = windows(problem_on(2, 1e-1, 5), 1, both, rules)[-1]
    estimate = result.result()
    assert estimate.error <= estimate.bound
    alone = [windows(problem_on(2, 1e-1, 5), 1, both, (rule,))[-1].result().bound for rule in rules]
    assert estimate.bound <= min(alone) * (1.0 + 1e-12)
    assert all(len(one.rows) == SLABS * 3 for one in result.passes)


def test_what_was_not_proved_stays_unproved():
    first, *_, last = windows(problem_on(2, 1e-3), 1, finer)
    assert set(first.best.unproved) <= set(last.best.unproved)
    assert any("initial value" in sentence for sentence in last.result().unproved)


def test_windows_before_stay_as_they_are():
    """A window may be repeated: what it starts from is not touched."""
    problem = problem_on(1, 1e-3)
    parts = windows(problem, 1, both)
    before = [part.result().bound for part in parts]
    again = windows(problem, 1, both)
    assert [part.result().bound for part in again] == before
    assert [part.result().bound for part in parts] == before


def test_layers_that_are_lifted_do_not_move():
    problem = problem_on(2, 1e-3, 4)
    parts = windows(problem, 1, nothing, times=TIMES[:2])
    semi = stfem.solve(problem, degree=1, dt=0.01).semidiscretization
    lift = object()
    old = parts[-1].best
    with pytest.raises(ValueError, match="lifted: expected no layers on a mesh that changes, got some"):
        mesh_pass.MeshPass(problem, old.residual, lift, None, semi.rhs, old, overlap_of(problem.domain, ()))
