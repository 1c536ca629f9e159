"""How many steps a slab spans, and when the whole flux family is measured."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import spherical_jn

from stfem import Hermite
from stfem.data import Slab
from stfem.estimators.optional import FAMILY_GAIN, PAUSE, RISE, OptionalWork
from stfem.estimators.spacing import FIRST, FIRST_PART, GROWTH, LARGEST, SAFETY, NodeSelector, defect_factor
from stfem.residual import SlabNorms
from stfem.timestepping import Node

EMPTY = np.zeros(0)


def nodes(count, dt=0.01):
    return (Node(n * dt, EMPTY, EMPTY) for n in range(count + 1))


def selector(count, spacing=None, target=0.003, degree=7, dt=0.01):
    return NodeSelector(nodes(count, dt), spacing, target, Hermite(degree), count * dt)


def taken(chosen, dt=0.01):
    return [round(node.time / dt) for node in chosen]


def wave(phase):
    """Sizes of the first modes in time of exp(iωt) on a slab with ωΔt = phase."""
    return np.array([math.sqrt(2 * a + 1) * abs(spherical_jn(a, 0.5 * phase)) for a in range(3)])


@pytest.mark.parametrize("count", [1, 2, 7, 10, 11, 12, 100])
@pytest.mark.parametrize("spacing", [1, 3, 10])
def test_fixed_spacing(count, spacing):
    found = taken(selector(count, spacing))
    assert found == [*range(0, count, spacing), count]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 17, 64, 1000])
def test_before_anything_is_known(count):
    """Small at first, growing to FIRST or a part of the run; first and last node are always there."""
    found = taken(selector(count))
    assert found[0] == 0
    assert found[1] == 1
    assert found[-1] == count
    gaps = np.diff(found)
    assert gaps.min() >= 1
    assert gaps.max() <= max(1, min(FIRST, FIRST_PART * count))
    if count == 1000:
        assert gaps[:9].tolist() == [1, 2, 3, 4, 6, 8, 8, 8, 8]


@pytest.mark.parametrize("seed", range(20))
def test_spacing_never_changes_too_much_and_hits_the_end(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 500))
    chosen, found = selector(count), []
    for node in chosen:
        found.append(round(node.time / 0.01))
        chosen.wanted = int(rng.integers(1, 60) ** rng.choice([0.2, 1.0, 1.5]))
    assert found[0] == 0
    assert found[-1] == count
    assert chosen.steps == count
    gaps = np.diff(found)
    assert gaps.min() >= 1
    for before, after in pairwise(gaps):
        assert after <= max(before + 1, GROWTH * before)
        assert after >= int(before / GROWTH)


@pytest.mark.parametrize("count", [61, 63, 65, 70, 77])
def test_the_rest_is_cut_evenly(count):
    chosen, found = selector(count), []
    for node in chosen:
        found.append(round(node.time / 0.01))
        chosen.wanted = 10
    gaps = np.diff(found)
    assert sum(gaps) == count
    assert gaps[-3:].max() - gaps[-3:].min() <= 3
    assert gaps.max() == 10


@pytest.mark.parametrize("degree", [5, 7, 9])
@pytest.mark.parametrize("phase", [0.05, 0.4])
def test_spacing_that_a_wave_asks_for(degree, phase):
    """The share of a wave in the residual is κ(ωΔt)^r ‖∂_tU‖/‖R‖; K makes it the target."""
    chosen = selector(1000, degree=degree)
    stream, passed = iter(chosen), []
    for _ in range(6):
        passed.append(next(stream).time)
    steps, rates = round((passed[-1] - passed[-2]) / 0.01), wave(phase)
    residual = 1e-4
    share = defect_factor(Hermite(degree)) * phase**degree * float(np.linalg.norm(rates)) / residual
    chosen.update(Slab(passed[-2], passed[-1], degree), share, residual, rates)
    factor = min(LARGEST, SAFETY * (0.003 / share) ** (1.0 / degree))
    assert abs(chosen.wanted - max(1, int(steps * factor))) <= 0.02 * chosen.wanted + 1.0


def first_slabs(chosen, count=6):
    stream = iter(chosen)
    times = [next(stream).time for _ in range(count)]
    return [Slab(a, b, 7) for a, b in pairwise(times)]


def test_what_is_no_wave_and_small_does_not_set_the_pace():
    """A share far above what the wave explains: tolerated up to a limit, and the spacing follows the wave."""

    def wanted(share):
        chosen = selector(1000)
        chosen.update(first_slabs(chosen)[-1], share, 1.0, wave(1e-3))
        return chosen.wanted

    assert wanted(1e-6) == wanted(0.003) > 100


def test_what_is_no_wave_and_large_is_tried_out():
    """Round-off and noise of single steps: the spacing grows from 1 as long as that helps."""
    chosen = selector(1000)
    slabs = first_slabs(chosen, 12)
    by_steps = {round((s.stop - s.start) / 0.01): s for s in slabs}
    chosen.wanted = 1
    chosen.update(by_steps[1], 0.5, 1.0, wave(1e-3))
    assert chosen.wanted == 2
    chosen.update(by_steps[2], 0.2, 1.0, wave(1e-3))
    assert chosen.wanted == 3
    chosen.update(by_steps[3], 0.3, 1.0, wave(1e-3))  # worse
    assert chosen.wanted == 2


@pytest.mark.parametrize("share", [1e-5, 0.004, 0.3])
def test_share_alone_counts_where_no_rates_are_known(share):
    chosen = selector(1000)
    stream = iter(chosen)
    times = [next(stream).time for _ in range(8)]
    steps = round((times[-1] - times[-2]) / 0.01)
    chosen.update(Slab(times[-2], times[-1], 7), share, 1.0, np.zeros(3))
    assert chosen.wanted == max(1, int(steps * SAFETY * (0.003 / share) ** (1.0 / 7.0)))


def test_still_slabs():
    chosen = selector(1000)
    stream = iter(chosen)
    times = [next(stream).time for _ in range(3)]
    chosen.update(Slab(times[-2], times[-1], 7), 0.0, 0.0, np.zeros(3))
    assert chosen.wanted == LARGEST * round((times[-1] - times[-2]) / 0.01)
    fixed = selector(100, 4)
    times = [node.time for node, _ in zip(fixed, range(3), strict=False)]
    fixed.update(Slab(times[-2], times[-1], 7), 0.9, 1.0, wave(0.1))
    assert fixed.wanted == fixed.spacing == 4


def slab_norms(whole, flux=0.0, cross=0.0, difference=0.0):
    fields = (np.array([value]) for value in (whole, cross, difference, flux))
    return SlabNorms(0.0, 1.0, *fields, np.zeros((1, 1)), 0.0, 0.0, 0.0)


def test_family_rests_where_it_cannot_gain():
    use, asked = OptionalWork(FAMILY_GAIN), []

    def gain(value):
        return lambda: asked.append(value) or value

    assert not use.due(1.0, gain(0.5 * FAMILY_GAIN))
    for _ in range(PAUSE):
        assert not use.due(1.0, gain(1.0))
    assert len(asked) == 1
    assert use.due(1.0, gain(1.0))
    assert use.due(1.0, gain(1.0))  # as long as nothing is learnt
    assert len(asked) == 3


def test_family_is_tried_again_when_the_bound_has_risen():
    use = OptionalWork(FAMILY_GAIN)
    assert not use.due(1.0, lambda: 0.0)
    assert not use.due(RISE, lambda: 1.0)
    assert use.due(1.01 * RISE, lambda: 1.0)


def test_family_learns_from_slabs():
    for norms, gains in (
        (slab_norms(0.01, difference=0.15), True),
        (slab_norms(0.16, difference=0.15, flux=100.0), False),
    ):
        use = OptionalWork(FAMILY_GAIN)
        use.learn(norms.gains(0.5)[0], 0.5)
        assert use.due(0.5, lambda: 1.0) is gains


def test_family_without_its_last_member_is_always_measured():
    use = OptionalWork(FAMILY_GAIN, optional=False)
    assert use.due(1.0, lambda: 0.0)
    use.learn(0.0, 0.5)
    assert use.due(1.0, lambda: 0.0)
