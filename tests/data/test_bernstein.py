"""Proved ranges: they enclose what is sampled, and not much more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stfem.data import PolynomialRange, Slab, cosine, polynomial_range, sine
from stfem.data.bernstein import apply_along
from stfem.meshes import TensorGrid
from stfem.spaces.legendre import legendre_values


def random_modes(rng, sizes, cells, decay):
    modes = rng.normal(size=(*sizes, *cells))
    for axis, size in enumerate(sizes):
        modes = modes * (decay ** np.arange(size)).reshape((-1,) + (1,) * (modes.ndim - axis - 1))
    return modes


def sampled(modes, axes, count=41):
    values, s = modes.reshape(*modes.shape[:axes], -1), np.linspace(0.0, 1.0, count)
    for axis in range(axes):
        values = apply_along(legendre_values(modes.shape[axis] - 1, s), values, axis)
    return float(values.min()), float(values.max())


@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    decay=st.sampled_from([0.1, 0.5, 1.0]),
)
@settings(max_examples=60)
def test_range_encloses_samples_within_one_percent(seed, sizes, decay):
    modes = random_modes(np.random.default_rng(seed), sizes, (3, 2), decay)
    lower, upper = polynomial_range(modes, len(sizes))
    smallest, largest = sampled(modes, len(sizes))
    assert lower <= smallest
    assert largest <= upper
    width = largest - smallest
    # the samples themselves miss up to about (degree / samples)^2
    assert upper - largest <= 0.01 * width + 0.02 * width + 1e-12
    assert smallest - lower <= 0.03 * width + 1e-12


def test_smaller_tolerance_is_sharper_and_no_subdivision_is_coarse():
    modes = random_modes(np.random.default_rng(3), (7, 7), (4, 4), 0.9)
    coarse = polynomial_range(modes, 2, max_subdivisions=0)[1]
    fine = polynomial_range(modes, 2, rtol=1e-6, max_subdivisions=12)[1]
    largest = sampled(modes, 2, 201)[1]
    assert coarse > 1.1 * largest
    assert largest <= fine <= (1 + 1e-3) * largest
    assert fine < coarse


def test_values_at_gauss_points_would_not_be_a_bound():
    """4 s (1 - s) peaks between the points 0 and 1; the range must not miss it."""
    modes = np.array([2 / 3, 0.0, -2 / (3 * np.sqrt(5.0))])[:, None]
    lower, upper = polynomial_range(modes, 1, rtol=1e-4)
    assert 1.0 <= upper <= 1.001
    assert -1e-3 <= lower <= 0.0


def test_constant_and_linear_fields_are_exact():
    modes = np.zeros((3, 3, 2, 2))
    modes[0, 0] = 2.0
    lower, upper = polynomial_range(modes, 2)
    assert lower <= 2.0 <= upper
    assert upper - lower < 1e-11
    assert polynomial_range(np.zeros((3, 4)), 1) == (0.0, 0.0)
    slope = np.array([[1.0], [1.0 / np.sqrt(3.0)]])  # 2 s
    np.testing.assert_allclose(polynomial_range(slope, 1), (0.0, 2.0), atol=1e-13)


def test_range_on_slabs_contains_every_time_including_both_ends():
    field = sine((2 * np.pi, 0.0), -2 * np.pi) * cosine((0.0, 2 * np.pi)) + 3.0 * sine((0.0, 0.0), 1.0)
    grid, slab = TensorGrid((1.0, 1.0), 4), Slab(0.2, 0.5, 5)
    projection = field.project(grid, 6, slab)
    lower, upper = polynomial_range(projection.coefficients, 3)
    x = np.stack(np.meshgrid(np.linspace(0, 1, 60), np.linspace(0, 1, 60)))
    for t in np.linspace(0.2, 0.5, 7):
        assert lower - projection.remainder_sup <= field(x, t).min()
        assert field(x, t).max() <= upper + projection.remainder_sup
    assert field(x, 0.5).max() > upper - 0.05 * (upper - lower)  # the largest value is at the end of the slab


def test_high_degree_with_large_modes_stays_proved():
    modes = random_modes(np.random.default_rng(5), (15, 15), (2,), 1.0)
    lower, upper = polynomial_range(modes, 2)
    smallest, largest = sampled(modes, 2, 301)
    assert lower <= smallest
    assert upper >= largest
    assert upper < 1.2 * largest


def test_non_finite_or_misshapen_fields_are_refused():
    with pytest.raises(ValueError, match="finite"):
        polynomial_range(np.array([[np.nan], [0.0]]), 1)
    with pytest.raises(ValueError, match="polynomial axes"):
        polynomial_range(np.zeros((2, 2)), 3)


def test_blocks_of_cells_give_the_same_range():
    rng = np.random.default_rng(4)
    modes = rng.uniform(-1.0, 1.0, (4, 3, 60)) * 0.3 ** np.indices((4, 3)).sum(axis=0)[..., None]
    for steps in (1, 7, 60):
        found = PolynomialRange(2, rtol=1e-4)
        for start in range(0, 60, steps):
            found.take(modes[..., start : start + steps])
        assert found.value() == polynomial_range(modes, 2, rtol=1e-4)
    with pytest.raises(ValueError, match="at least one block"):
        PolynomialRange(2).value()
