"""Streaming of slabs: they cover [0, T] once, û is continuous across them, few nodes are alive."""

import gc
import weakref
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from stfem import Hermite
from stfem.reconstruction import combine, reconstructed_slabs
from stfem.reconstruction.checks import time_continuity_defect
from stfem.spaces.legendre import legendre_values


@dataclass(eq=False)
class FakeNode:
    time: float
    state: np.ndarray


def stream(times, function=np.sin, rate=np.cos):
    for t in times:
        yield FakeNode(t, np.array([function(t), rate(t)]).reshape(2, 1, 1, 1))


def unequal(count, seed=1):
    steps = np.random.default_rng(seed).uniform(0.02, 0.3, count)
    return np.concatenate([[0.0], np.cumsum(steps)])


@pytest.mark.parametrize("degree", [3, 5, 7, 9])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_slabs_cover_the_interval_once(degree, count):
    times = unequal(count)
    slabs = list(reconstructed_slabs(stream(times), Hermite(degree)))
    assert [slab.time.start for slab in slabs] == times[:-1].tolist()
    assert [slab.time.stop for slab in slabs] == times[1:].tolist()
    for slab in slabs:
        nodes = [node.time for node in slab.nodes]
        assert slab.start in slab.nodes
        assert slab.stop in slab.nodes
        assert nodes == sorted(set(nodes))
        assert len(nodes) == min(Hermite(degree).nodes, count + 1)
        assert slab.time.degree == 2 * len(nodes) - 1
        whole = np.searchsorted(times, nodes)
        assert np.all(np.diff(whole) == 1)  # neighbours, none left out


@pytest.mark.parametrize("degree", [3, 5, 7])
def test_values_and_rates_meet_the_nodes(degree):
    slabs = list(reconstructed_slabs(stream(unequal(6)), Hermite(degree)))
    for slab in slabs:
        data = [node.state[j] for node in slab.nodes for j in range(2)]
        for end, node in ((0.0, slab.start), (1.0, slab.stop)):
            basis = legendre_values(slab.time.degree, np.array([end]))
            np.testing.assert_allclose(combine(basis @ slab.value_modes, data)[0], node.state[0], atol=1e-12)
            np.testing.assert_allclose(combine(basis @ slab.rate_modes, data)[0], node.state[1], atol=1e-9)
    for before, after in pairwise(slabs):
        assert time_continuity_defect(before, after) < 1e-12
    assert time_continuity_defect(slabs[0], slabs[2]) > 1e-3  # a slab left out is a jump


def test_start_takes_nodes_to_the_right_and_the_end_nodes_to_the_left():
    times = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    stencils = [[n.time for n in slab.nodes] for slab in reconstructed_slabs(stream(times), Hermite(7))]
    assert stencils == [times[0:4], times[0:4], times[1:5], times[2:6], times[2:6]]


@pytest.mark.parametrize("degree", [3, 5, 9])
def test_a_known_end_lets_the_oldest_node_go_early(degree):
    """The stencils are the same; while a node is computed one less than a stencil of them is alive."""
    times, alive, most = np.linspace(0.0, 1.0, 30), weakref.WeakSet(), []

    def watched():
        for n, node in enumerate(stream(times)):
            alive.add(node)
            yield node
            del node
            gc.collect(0)
            if Hermite(degree).nodes < n < 29:
                most.append(len(alive))

    known = []
    slabs = reconstructed_slabs(watched(), Hermite(degree), 1.0)
    while (slab := next(slabs, None)) is not None:
        known.append([node.time for node in slab.nodes])
        del slab
    assert known == [
        [n.time for n in slab.nodes] for slab in reconstructed_slabs(stream(times), Hermite(degree))
    ]
    assert max(most) == Hermite(degree).nodes - 1


def test_a_stream_that_ends_before_its_time_lowers_the_degree():
    slabs = list(reconstructed_slabs(stream(np.linspace(0.0, 0.5, 10)), Hermite(9), 1.0))
    assert [len(slab.nodes) for slab in slabs] == [5] * 8 + [4]


def test_no_nodes_no_slabs():
    assert list(reconstructed_slabs(iter(()), Hermite(5))) == []
    assert list(reconstructed_slabs(stream([0.0]), Hermite(5))) == []


@pytest.mark.parametrize("degree", [3, 5, 9])
def test_few_nodes_are_alive(degree):
    alive = weakref.WeakSet()

    def watched():
        for node in stream(np.linspace(0.0, 1.0, 200)):
            alive.add(node)
            yield node

    most = 0
    for _ in reconstructed_slabs(watched(), Hermite(degree)):
        gc.collect(0)
        most = max(most, len(alive))
    assert most <= Hermite(degree).nodes + 3
    slabs = list(reconstructed_slabs(watched(), Hermite(degree)))
    assert len(alive) >= 200  # the count sees what is kept
    assert len(slabs) == 199


def test_combine_is_a_linear_combination():
    rng = np.random.default_rng(2)
    weights, arrays = rng.normal(size=(3, 2)), list(rng.normal(size=(2, 4, 5)))
    np.testing.assert_allclose(
        combine(weights, arrays), np.einsum("rk,kab->rab", weights, arrays), atol=1e-14
    )
