"""What interpolation in time leaves, against interpolants that are evaluated (T2, T4.6)."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.interpolate import KroghInterpolator

from stfem import Problem, Siac, Torus, equations
from stfem.data import Slab, sine
from stfem.reconstruction import Hermite, reconstructed_slabs
from stfem.residual.interpolation import InterpolationError, TimeDefect
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.legendre import gauss, legendre_values
from stfem.timestepping import Node

TIMES = (0.1, 0.15, 0.27, 0.31)


def slab_of(dim, degree, order, smooth=False):
    problem = Problem(equations.AdvectionDiffusion((1.0, 0.3)[:dim], 0.01), Torus((1.0, 1.3)[:dim]), 0.0, 1.0)
    semi = Semidiscretization(problem, (5, 4)[:dim], degree)
    bound, rng = Siac(order).bind(semi), np.random.default_rng(2)
    start = semi.project([sine([2.0 * math.pi] * dim)])

    def node(t):
        if smooth:
            return Node(t, math.cos(t) * start, -math.sin(t) * start, -math.cos(t) * start)
        return Node(t, *(0.3 + rng.normal(size=semi.shape) for _ in range(3)))

    nodes = (bound.at_node(node(t)) for t in TIMES)
    return semi, bound, list(reconstructed_slabs(nodes, Hermite(7)))[1]


def in_time(slab, values, slopes, t, derivative=False):
    """Hermite interpolant by divided differences."""
    knots = np.repeat([e.time for e in slab.nodes], 2)
    shape = values[0].shape
    data = np.stack([f for pair in zip(values, slopes, strict=True) for f in pair]).reshape(len(knots), -1)
    interpolant = KroghInterpolator(knots, data)
    found = interpolant.derivative(t) if derivative else interpolant(t)
    return found.reshape(len(t), *shape)


@pytest.mark.parametrize(("dim", "degree", "order"), [(1, 2, None), (1, 1, 3), (2, 1, 2), (1, 0, 2)])
def test_defect_of_the_rate(dim, degree, order):
    """τ = dU^t/dt − I(F, A) point by point in time; the filtered one is that of filtered data."""
    semi, bound, slab = slab_of(dim, degree, order)
    points, weights = gauss(12)
    t = slab.time.start + slab.time.duration * points
    values, rates, accelerations = (
        [getattr(e.node, name) for e in slab.nodes] for name in ("values", "rate", "acceleration")
    )
    tau = in_time(slab, values, rates, t, derivative=True) - in_time(slab, rates, accelerations, t)

    def size(field, grid):
        squares = (field**2).reshape(len(t), -1).sum(axis=1)
        return math.sqrt(slab.time.duration * grid.cell_measure * float(weights @ squares))

    defect = TimeDefect(slab, semi.grid, bound)
    assert defect.rate == pytest.approx(size(tau, semi.grid), rel=1e-9)
    assert defect.filtered_rate == pytest.approx(size(bound.field(tau), bound.grid), rel=1e-9)
    assert defect.filtered_rate <= bound.norms.mean_square * defect.rate
    moments = tau.reshape(len(t), -1, *semi.grid.cells)[:, 0].reshape(len(t), -1).sum(axis=1)
    mean = math.sqrt(slab.time.duration * float(weights @ moments**2)) * semi.grid.cell_measure
    assert defect.mean == pytest.approx(mean, rel=1e-9)
    slopes = in_time(slab, values, rates, t, derivative=True).reshape(len(t), -1)
    modes = (legendre_values(2, points).T * weights) @ slopes
    expected = np.linalg.norm(modes, axis=1) * math.sqrt(slab.time.duration * semi.grid.cell_measure)
    np.testing.assert_allclose(defect.rates, expected, rtol=1e-9)


@pytest.mark.parametrize(("dim", "degree", "order"), [(1, 2, None), (1, 1, 3), (2, 1, 2)])
def test_modes_in_time_of_the_state(dim, degree, order):
    """Bounds of suprema and slopes of C_a = S c_a: coarse ones, and close ones that are asked for."""
    semi, bound, slab = slab_of(dim, degree, order)
    data = [array for e in slab.nodes for array in (e.node.values, e.node.rate)]
    fields = bound.field(np.tensordot(slab.value_modes, np.stack(data), 1))
    sups, slopes, sup_slopes = sizes_of(fields, bound.grid)
    defect = TimeDefect(slab, semi.grid, bound)
    close = [1, 4]
    coarse = {name: getattr(defect.modes, name).copy() for name in ("sups", "slopes", "sup_slopes")}
    defect.measure(close)
    defect.measure(close[:1])
    np.testing.assert_allclose(defect.modes.slopes[close], slopes[close], rtol=1e-10)
    for name, exact in (("sups", sups), ("slopes", slopes), ("sup_slopes", sup_slopes)):
        found = getattr(defect.modes, name)
        assert np.all(exact <= found * (1.0 + 1e-10))
        others = np.delete(np.arange(len(found)), close)
        np.testing.assert_array_equal(found[others], coarse[name][others])
        assert np.all(found <= coarse[name])


def sizes_of(fields, grid):
    """Sampled suprema, exact ‖∂_i·‖ and sampled suprema of ∂_i of every field."""
    sups, steep = sampled(fields, grid), []
    slopes = np.empty((len(fields), grid.dim))
    points, weights = gauss(fields.shape[2] + 1)
    for i, h in enumerate(grid.spacing):
        table = legendre_values(fields.shape[2] - 1, points, 1) / h
        squares = np.moveaxis(np.tensordot(table, fields, axes=(1, 2 + i)), 0, 2 + i) ** 2
        total = np.tensordot(weights, squares, axes=(0, 2 + i)).reshape(len(fields), -1).sum(axis=1)
        slopes[:, i] = np.sqrt(grid.cell_measure * total)
        steep.append(sampled(fields, grid, i))
    return sups, slopes, np.array(steep).T


def sampled(fields, grid, direction=None):
    """Largest values on a fine lattice of every field, or of one of its derivatives."""
    for i, h in enumerate(grid.spacing):
        order = int(i == direction)
        table = legendre_values(fields.shape[2 + i] - 1, np.linspace(0.0, 1.0, 33), order) / h**order
        fields = np.moveaxis(np.tensordot(table, fields, axes=(1, 2 + i)), 0, 2 + i)
    return np.abs(fields).reshape(len(fields), -1).max(axis=1)


def test_without_a_filter_nothing_filtered_is_known():
    semi, _, slab = slab_of(1, 1, 2)
    defect = TimeDefect(slab, semi.grid)
    assert defect.rate > 0.0
    with pytest.raises(ValueError, match="filter: expected a reconstruction, got None"):
        _ = defect.filtered_rate


def test_smooth_data_leave_little_and_blocks_do_not_matter(monkeypatch):
    semi, bound, slab = slab_of(2, 1, 2, smooth=True)
    smooth = TimeDefect(slab, semi.grid, bound)
    assert smooth.rate < 1e-8 * smooth.rates[0]
    *_, slab = slab_of(2, 1, 2)
    rough = TimeDefect(slab, semi.grid, bound)
    assert rough.rate > rough.rates[0]
    found = rough.rate, rough.filtered_rate, rough.rates, rough.modes
    monkeypatch.setattr("stfem.residual.interpolation._CELLS", 3)
    monkeypatch.setattr("stfem.residual.interpolation._VALUES", 7)
    blocks = TimeDefect(slab, semi.grid, bound)
    for value, again in zip(found[:3], (blocks.rate, blocks.filtered_rate, blocks.rates), strict=True):
        np.testing.assert_allclose(again, value, rtol=1e-13)
    for name in ("sups", "slopes", "sup_slopes"):
        np.testing.assert_allclose(getattr(blocks.modes, name), getattr(found[3], name), rtol=1e-13)


STENCILS = [
    ((0.0, 0.2), 0),
    ((0.0, 0.2, 0.25), 1),
    ((0.0, 1.0, 1.1, 4.0, 4.01), 1),
    ((0.0, 1.0, 1.1, 4.0, 4.01), 2),
    (tuple(0.3 + 0.01 * n for n in range(5)), 2),
]


def error_of(times, which):
    start, stop = times[which], times[which + 1]
    values, _ = Hermite(max(3, 2 * len(times) - 1)).modes(times, start, stop)
    return InterpolationError(Slab(start, stop, 2 * len(times) - 1), np.array(times), values)


def multiplied(p, q):
    result = [Fraction(0)] * (len(p) + len(q) - 1)
    for (i, a), (j, b) in product(enumerate(p), enumerate(q)):
        result[i + j] += a * b
    return result


def exact_products(times, which):
    """‖(id − I)(L_aL_b)‖ in L²(0, 1) by division of polynomials, in rational numbers."""
    exact = [Fraction(t) for t in times]
    nodes = [(t - exact[which]) / (exact[which + 1] - exact[which]) for t in exact]
    count, square = 2 * len(nodes), [Fraction(1)]
    for node in nodes:
        square = multiplied(multiplied(square, [-node, Fraction(1)]), [-node, Fraction(1)])
    basis = [
        [Fraction((-1) ** (n + i) * math.comb(n, i) * math.comb(n + i, i)) for i in range(n + 1)]
        for n in range(count)
    ]
    result = np.zeros((count, count))
    for a, b in product(range(count), repeat=2):
        rest = multiplied(basis[a], basis[b])
        # the interpolant is what remains of a division by Π(s − s_n)²
        quotient = [Fraction(0)] * max(1, len(rest) - count)
        for n in reversed(range(len(rest) - count)):
            quotient[n] = rest[n + count]
            for m, c in enumerate(square):
                rest[n + m] -= quotient[n] * c
        gap = multiplied(quotient, square)
        total = sum(c / (n + 1) for n, c in enumerate(multiplied(gap, gap)))
        result[a, b] = math.sqrt(total * (2 * a + 1) * (2 * b + 1))
    return result


@pytest.mark.parametrize(("times", "which"), STENCILS)
def test_products_of_modes_in_time(times, which):
    found, expected = error_of(times, which).products, exact_products(times, which)
    a, b = np.indices(found.shape)
    inside = a + b < 2 * len(times)
    assert not found[inside].any()
    np.testing.assert_allclose(found[~inside], expected[~inside], rtol=1e-6)


@pytest.mark.parametrize(("times", "which"), STENCILS)
def test_smooth_functions(times, which):
    """|f − If| ≤ C sup|f^{(2k)}|, and closely for a polynomial of degree 2k."""
    error = error_of(times, which)
    start, stop = error.time.start, error.time.stop
    count, t = 2 * len(times), np.linspace(start, stop, 201)
    missed = np.prod([(t - node) ** 2 for node in times], axis=0)  # of t^{2k}, whose derivative is (2k)!
    assert missed.max() <= error.smooth * math.factorial(count) <= 40.0 * missed.max()
    frequency = 3.0 / (stop - start)
    data = np.array(
        [f for s in times for f in (math.sin(frequency * s), frequency * math.cos(frequency * s))]
    )
    values = legendre_values(count - 1, (t - start) / (stop - start)) @ (error.value_modes @ data)
    gap = np.abs(values - np.sin(frequency * t)).max()
    assert gap <= error.smooth * frequency**count + 1e-13 * np.abs(error.value_modes).max()
