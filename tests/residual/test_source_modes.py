"""Modes of the source on meshes: separated sources agree with quadrature at every time."""

import numpy as np
import pytest
from sample_meshes import irregular

from stfem.data import CallableData, Polynomial, Slab, cosine, sine
from stfem.residual.source import SourceModes
from stfem.spaces.broken import BrokenSpace

SOURCES = [
    sine((2.0, 3.0), -1.5, 0.3) * cosine((1.0, 0.5), 4.0) + 0.7,
    cosine((30.0, 1.0)),
    Polynomial(np.random.default_rng(0).normal(size=(3, 5, 3))),
]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("degree", [1, 2])
def test_separated_sources_agree_with_those_at_points(source, degree):
    space, time = BrokenSpace(irregular("triangles", 3), degree), Slab(0.2, 0.9, 2)
    plain = SourceModes(CallableData(lambda x, t: source(x, t), 2), space, 8, 2)
    modes, left, means = plain.of(time)
    fast = SourceModes(source, space, 8, 2).of(time)
    np.testing.assert_allclose(fast[0], modes, atol=1e-13 * np.abs(modes).max())
    np.testing.assert_allclose(fast[1], left, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(fast[2], means, rtol=1e-9, atol=1e-13)
    assert left.max() > 1e-6


def test_what_is_left_out_is_never_understated():
    """Where terms cancel, the slack is above the round-off of their products."""
    source = cosine((3.0, 1.0), 1.0)  # cos and sin of k·x with factors that add up to a moving wave
    space = BrokenSpace(irregular("triangles", 4), 3)
    for start in np.linspace(0.0, 6.0, 13):
        time = Slab(start, start + 1e-3, 1)
        exact = SourceModes(CallableData(lambda x, t: source(x, t), 2), space, 12, 2).of(time)[1]
        assert np.all(SourceModes(source, space, 12, 2).of(time)[1] >= exact * (1.0 - 1e-9) - 1e-32)


@pytest.mark.parametrize("source", SOURCES)
def test_separated_data_are_the_same(source):
    x = np.random.default_rng(1).uniform(size=(2, 9))
    parts = source.separated()
    for t in (0.0, 0.8):
        values = parts.factors(t) @ np.stack([field(x) for field in parts.fields])
        np.testing.assert_allclose(values, source(x, t), atol=1e-12)
    assert CallableData(lambda x, t: t * x[0], 2).separated() is None
    assert CallableData(lambda x: x[0], 2, with_time=False).separated() is not None
