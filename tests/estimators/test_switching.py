"""Estimates that go on from another reconstruction: sharper than each alone where the better one changes."""

from dataclasses import dataclass

import numpy as np
import pytest

import stfem
from stfem.estimators import switching
from stfem.problems import transient_wave
from stfem.reconstruction.unstructured import LocalReconstruction, MeshNode, VertexPatches


class Spoiled(LocalReconstruction):
    """Nodes inside moved at random, more for a while, which leaves û continuous."""

    def __init__(self, first, start, stop, always):
        vars(self).update(vars(first))
        self.start, self.stop, self.always = start, stop, always

    def at_node(self, node):
        result = super().at_node(node)
        scale = 0.2 if self.start <= node.time <= self.stop else self.always
        nodal = np.random.default_rng(0).normal(scale=scale, size=(1, self.nodal.target.size))
        nodal[:, self.nodal.fixed] = 0.0
        state = result.state.copy()
        state[0] += self.nodal.target.to_broken(nodal)
        return MeshNode(node, state, result.diffusive, result.convective)


@dataclass(frozen=True)
class SpoiledRule:
    start: float
    stop: float
    always: float = 0.0

    def bind(self, semidiscretization, lifted=()):
        return Spoiled(VertexPatches().local(semidiscretization, lifted), self.start, self.stop, self.always)


@pytest.fixture(scope="module")
def solution():
    problem = transient_wave(2, 1e-3, 0.4)
    return stfem.solve(problem, cells=4, degree=1, dt=0.04, history=True)


EARLY, LATE = SpoiledRule(0.0, 0.1), SpoiledRule(0.3, 0.4, 0.005)


def estimate(solution, *rules):
    return stfem.estimate(solution, stfem.MeshEstimator(rules))


def test_the_better_one_of_each_time_is_taken(solution):
    both = estimate(solution, EARLY, LATE)
    alone = [estimate(solution, rule) for rule in (EARLY, LATE)]
    assert both.facts["switches"] == 1
    assert all(one.facts["switches"] == 0 for one in alone)
    assert both.bound < 0.9 * min(one.bound for one in alone)
    assert both.error <= both.bound
    assert both.error_energy <= both.bound_energy
    assert both.enclosure[0] <= both.error_dg <= both.enclosure[1]
    total = both.history["alpha"].sum() ** 2 + both.history["beta"].sum()
    assert both.indicators_sq.sum() == pytest.approx(total, rel=1e-10)


def test_the_distance_counts(solution, monkeypatch):
    """Without it the bound would be smaller: the switch is paid for."""
    paid = estimate(solution, EARLY, LATE)
    monkeypatch.setattr(switching, "_distance", lambda one, other: 0.0)
    free = estimate(solution, EARLY, LATE)
    assert free.facts["switches"] >= 1
    assert free.bound < paid.bound - 1e-3


def test_distance_is_the_norm_of_the_difference(solution, monkeypatch):
    seen = []
    true = switching._distance

    def watched(one, other):
        seen.append((true(one, other), one, other))
        return seen[-1][0]

    monkeypatch.setattr(switching, "_distance", watched)
    estimate(solution, EARLY, LATE)
    distance, one, other = seen[-1]
    target = one.reconstruction.target
    ends = [entry.last.at(1.0, entry.last.state) for entry in (one, other)]
    assert distance == pytest.approx(target.norm_l2(ends[0] - ends[1]), rel=1e-12)
    assert distance > 0.0


def test_a_spoiled_companion_changes_nothing(solution):
    alone = estimate(solution, VertexPatches())
    both = estimate(solution, SpoiledRule(0.0, 1.0), VertexPatches())
    assert both.bound == alone.bound
    assert both.facts["switches"] == 0
