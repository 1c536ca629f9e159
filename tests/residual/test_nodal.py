"""Slabs put together from residuals at their nodes, against residuals evaluated point by point (T3, T4.6)."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
from brute import Brute
from scipy.interpolate import KroghInterpolator

from stfem import Problem, Siac, Torus, equations
from stfem.data import Polynomial, cosine, sine
from stfem.reconstruction import Hermite, reconstructed_slabs
from stfem.residual import ResidualSplit
from stfem.residual.interpolation import InterpolationError, TimeDefect
from stfem.residual.quadratic import renumbered
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.legendre import gauss
from stfem.timestepping import Node

PI2 = 2.0 * math.pi
UNEQUAL = (0.0, 0.011, 0.016, 0.03, 0.035)
MEMBERS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: A bound so high that errors of interpolation in time are always accepted.
HIGH = 1e15


def linear(dim=1, source=0.0, diffusion=0.02, reaction=-0.7):
    equation = equations.AdvectionDiffusion((1.0, -0.5, 0.3)[:dim], diffusion, reaction=reaction)
    return Problem(equation, Torus((1.0, 1.3, 0.8)[:dim]), 0.3, 1.0, source=source)


def burgers(dim=1, diffusion=0.02, source=0.0):
    return Problem(equations.Burgers(dim, diffusion), Torus((1.0, 1.3, 0.8)[:dim]), 0.3, 1.0, source=source)


def curved():
    """Another curvature in every direction."""
    fluxes = [np.polynomial.Polynomial(c) for c in ((0.1, 0.3, 0.5), (0.0, -1.0, -0.2))]
    equation = equations.ScalarConservationLaw(fluxes, diffusion=0.02)
    return Problem(equation, Torus((1.0, 1.3)), 0.3, 1.0)


FULL = np.array([[0.05, 0.02], [0.02, 0.04]])
DEGENERATE = np.outer([0.2, 0.1], [0.2, 0.1])
IN_TIME = Polynomial(np.array([0.3, -0.5, 2.0, 1.0]).reshape(1, 4), 1)
CASES = {
    "linear": (linear(source=0.4), 6, 2, None),
    "linear, half cells": (linear(), 5, 1, 3),
    "linear, q = 0": (linear(reaction=0.0), 7, 0, None),
    "linear, q = 3": (linear(diffusion=0.3), 4, 3, None),
    "linear, one cell": (linear(), 1, 2, None),
    "linear, no diffusion": (linear(diffusion=0.0), 6, 1, None),
    "linear, source": (linear(source=sine(PI2, 3.0)), 12, 2, None),
    "linear, polynomial in time": (linear(source=IN_TIME), 5, 1, None),
    "linear 2D, full matrix": (linear(2, diffusion=FULL), (4, 3), 1, 3),
    "linear 2D, degenerate matrix": (linear(2, diffusion=DEGENERATE), (4, 3), 1, None),
    "linear 3D": (linear(3), (2, 3, 2), 1, 2),
    "Burgers": (burgers(), 6, 2, None),
    "Burgers, half cells": (burgers(), 5, 1, 3),
    "Burgers, source": (burgers(source=cosine(PI2, 2.0)), 12, 1, None),
    "Burgers 2D": (burgers(2), (4, 3), 1, 2),
    "quadratic flux": (
        Problem(equations.ScalarConservationLaw((0.1, 0.3, 0.5), diffusion=1e-3), Torus(1.0), 0.3, 1.0),
        6,
        2,
        2,
    ),
    "quadratic fluxes 2D": (curved(), (3, 4), 1, 2),
}


def smooth_nodes(semi, times, rng, degree, scale=0.2):
    """Rough in space, polynomials of the given degree in time, so that interpolation in time leaves no τ."""
    terms = [rng.normal(size=semi.shape) / math.factorial(n) for n in range(degree + 1)]
    for t in times:
        z = t / scale
        yield Node(
            t,
            sum(c * z**n for n, c in enumerate(terms)),
            sum(n * c * z ** (n - 1) for n, c in enumerate(terms) if n > 0) / scale,
            sum(n * (n - 1) * c * z ** (n - 2) for n, c in enumerate(terms) if n > 1) / scale**2,
        )


def rough_nodes(semi, times, rng):
    """Values, rates and accelerations that have nothing to do with each other."""
    for t in times:
        yield Node(t, *(rng.normal(size=semi.shape) * size for size in (0.1, 0.5, 5.0)))


def slab_of(case, nodes, times=UNEQUAL, which=2, seed=0, **options):
    problem, cells, degree, order = case
    semi = Semidiscretization(problem, cells, degree)
    bound = Siac(order).bind(semi)
    stream = (bound.at_node(node) for node in nodes(semi, times, np.random.default_rng(seed), **options))
    slab = list(reconstructed_slabs(stream, Hermite(2 * len(times) - 1)))[which]
    return semi, bound, slab, ResidualSplit(semi, bound)


def brute_of(semi, bound, slab):
    exact = 2 * bound.degree + 1 if bound.grid.dim > 1 else 2 * bound.degree + 6
    return Brute(semi, bound, slab, exact, 2 * slab.time.degree + 3)


def defect_of(semi, bound, slab):
    """What interpolation in time leaves."""
    return TimeDefect(slab, semi.grid, bound)


@pytest.mark.parametrize("name", CASES)
def test_norms_of_smooth_slabs(name):
    """Above those evaluated point by point for every λ, by no more than what is left to bounds."""
    case = CASES[name]
    semi, bound, slab, split = slab_of(case, smooth_nodes, degree=2)
    norms, brute = split.norms(slab, level=HIGH), brute_of(semi, bound, slab)
    assert norms.temporal > 0.0  # the way through the nodes was taken
    allowance = norms.remainder / math.sqrt(norms.duration)
    for member in MEMBERS:
        exact = math.sqrt(brute.integral(brute.hyperbolic(member) ** 2))
        found = norms.size(member)
        assert exact <= found + allowance + 1e-11 * exact
        assert found <= 1.01 * exact + allowance
        assert allowance <= 0.02 * exact
    inverse = np.linalg.pinv(split.equation.diffusion, hermitian=True)
    potential = brute.potential(0.0) if brute.flux else []
    flux_sq = sum(
        inverse[i, j] * brute.integral(first * second)
        for i, first in enumerate(potential)
        for j, second in enumerate(potential)
    )
    assert norms.flux_total(0.0) >= flux_sq * (1.0 - 1e-10)
    assert norms.flux_total(0.0) <= 1.05 * flux_sq


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["linear", "linear 2D, full matrix", "Burgers", "quadratic fluxes 2D"])
def test_norms_of_rough_slabs(name, seed):
    """Whatever the node data are, cheap and filtered remainders cover what interpolation in time leaves."""
    semi, bound, slab, split = slab_of(CASES[name], rough_nodes, which=seed, seed=seed)
    brute = brute_of(semi, bound, slab)
    without = split._quadratic.norms(slab, 0.0, 0.0, 1, True, False)
    exact = [
        math.sqrt(norms_sq)
        for norms_sq in (brute.integral(brute.hyperbolic(member) ** 2) for member in MEMBERS)
    ]
    cheap, sharp = (
        split._quadratic.temporal(slab, defect_of(semi, bound, slab), allowed) for allowed in (HIGH, 0.0)
    )
    assert sharp[0] < cheap[0]
    for temporal, mean in (cheap, sharp):
        norms = without.with_temporal(temporal, mean)
        for member, value in zip(MEMBERS, exact, strict=True):
            assert norms.alpha(member) >= math.sqrt(norms.duration) * value
    # they are needed: the residuals at the nodes alone tell too little
    assert any(
        without.size(member) < 0.99 * value for member, value in zip(MEMBERS, exact, strict=True)
    ) or name.startswith("quadratic")


def test_any_acceleration_gives_a_bound_and_only_the_right_one_a_sharp_one():
    case = CASES["linear"]
    semi, bound, slab, split = slab_of(case, smooth_nodes, degree=2)
    exact = brute_of(semi, bound, slab)
    truth = math.sqrt(slab.time.duration * exact.integral(exact.hyperbolic(1.0) ** 2))
    assert split.norms(slab, level=HIGH).alpha(1.0) == pytest.approx(truth, rel=0.01)

    def wrong(semi, times, rng, degree):
        for node in smooth_nodes(semi, times, rng, degree):
            yield replace(node, acceleration=3.0 * node.acceleration + 100.0 * node.values)

    *_, slab, split = slab_of(case, wrong, degree=2)
    assert split.norms(slab, level=HIGH).alpha(1.0) > 1.2 * truth


def test_slabs_that_interpolation_does_not_know_are_measured_themselves():
    semi, bound, slab, split = slab_of(CASES["Burgers"], rough_nodes)
    norms, brute = split.norms(slab, level=0.0), brute_of(semi, bound, slab)
    exact = math.sqrt(brute.integral(brute.hyperbolic(0.5) ** 2))
    assert norms.pieces is None
    assert norms.size(0.5) == pytest.approx(exact, rel=1e-9)
    assert norms.temporal > exact


@pytest.mark.parametrize("name", ["linear", "linear 2D, degenerate matrix", "Burgers", "quadratic fluxes 2D"])
@pytest.mark.parametrize("pieces", [1, 3, 8])
def test_norms_on_pieces(name, pieces):
    semi, bound, slab, split = slab_of(CASES[name], smooth_nodes, degree=3, scale=0.02)
    norms = split._quadratic.norms(slab, 0.0, 0.0, pieces, True, False)
    temporal, mean = split._quadratic.temporal(slab, defect_of(semi, bound, slab), 0.0)
    norms, brute = norms.with_temporal(temporal, mean), brute_of(semi, bound, slab)
    alphas, fluxes = norms.piecewise(MEMBERS)
    assert alphas.shape == (pieces, len(MEMBERS))
    step, inverse = norms.duration / pieces, np.linalg.pinv(split.equation.diffusion, hermitian=True)
    for number in range(pieces):
        piece = brute.on_piece(number, pieces)
        exact = [math.sqrt(step * piece.integral(piece.hyperbolic(member) ** 2)) for member in MEMBERS]
        assert np.all(alphas[number] + norms.remainder >= np.array(exact) * (1.0 - 1e-11))
        assert np.all(alphas[number] <= 1.02 * np.array(exact) + norms.remainder)
        difference = piece.hyperbolic(1.0) - piece.hyperbolic(0.0)
        assert norms.pieces[2, number] <= piece.integral(difference**2) * (1.0 + 1e-10)  # it is subtracted
        potential = piece.potential(0.0)
        flux_sq = sum(
            inverse[i, j] * piece.integral(first * second)
            for i, first in enumerate(potential)
            for j, second in enumerate(potential)
        )
        assert flux_sq * (1.0 - 1e-10) <= fluxes[number, 0] <= 1.05 * flux_sq
    # the pieces differ: shares of the whole would not do
    assert pieces == 1 or np.ptp(alphas[:, 0]) > 0.01 * alphas[:, 0].mean()


@pytest.mark.parametrize("name", ["linear", "linear, source", "Burgers, source", "linear 2D, full matrix"])
def test_mean_of_the_residual(name):
    """∫_slab |∫_Ω R| ≤ mean, also where τ and the source have a mean."""
    for nodes, options in ((smooth_nodes, {"degree": 2}), (rough_nodes, {})):
        semi, bound, slab, split = slab_of(CASES[name], nodes, **options)
        brute = brute_of(semi, bound, slab)
        values = brute.residual() * brute.weights[:, None]
        truth = float(np.abs(values.sum(axis=tuple(range(1, values.ndim)))).sum())
        norms = split.norms(slab, level=HIGH)
        assert norms.mean >= truth > 0.0
        if nodes is smooth_nodes:
            allowance = math.sqrt(semi.grid.measure) * norms.remainder
            assert norms.mean <= 1.2 * truth + allowance + math.sqrt(norms.duration) * norms.temporal


@pytest.mark.parametrize("name", ["linear", "Burgers", "linear 2D, degenerate matrix"])
def test_integral_of_the_residual_over_cells(name):
    """Σ_K (|K| Δt ∫∫_K R²)^{1/2} is bounded although part of the norm belongs to no cell."""
    semi, bound, slab, split = slab_of(CASES[name], smooth_nodes, degree=2)
    norms, brute = split.norms(slab, level=HIGH), brute_of(semi, bound, slab)
    squares = (brute.residual() ** 2 * brute.weights[:, None]).sum(axis=tuple(range(2 + brute.dim)))
    truth = float(np.sqrt(bound.grid.cell_measure * norms.duration * squares).sum())
    found = norms.integral_l1(bound.grid.measure)
    assert truth <= found <= 1.02 * truth + 2.0 * math.sqrt(bound.grid.measure) * norms.remainder


def test_what_is_spread_evenly_is_bounded_wherever_it_belongs():
    *_, slab, split = slab_of(CASES["linear"], smooth_nodes, degree=2)
    norms = split.norms(slab, level=HIGH)
    for uneven in (0.0, 1e-4, 0.1, 1.0):
        kept = np.array([1.0, uneven, 0.3 * uneven, 1.0])
        for share in (1e-8, 1e-4, 1e-2):
            spread = np.full(4, 0.25 * share)
            zero = np.zeros(4)
            made = replace(
                norms,
                residual_sq=kept + spread,
                cross=zero,
                difference_sq=zero,
                remainder=0.0,
                rounding_sq=0.0,
                spread_sq=share,
            )
            scale = math.sqrt(norms.duration / 4.0)
            placements = np.concatenate([share * np.eye(4), 0.5 * share * (np.eye(4) + np.eye(4)[::-1])])
            worst = max(float(np.sqrt(kept + place).sum()) for place in placements) * scale
            assert made.integral_l1(1.0) >= worst
            if uneven in (0.0, 1e-4):
                assert scale * float(np.sqrt(kept + spread).sum()) < worst  # evenly is no bound


def test_points_of_products_when_nodes_disagree():
    """One node constant in space, one all oscillation: this ends, with the points that the latter needs."""

    def mixed(semi, times, rng):
        for n, t in enumerate(times):
            size = 1.0 if n == 1 else 0.0
            value = np.zeros(semi.shape)
            value[(0,) * (1 + semi.grid.dim)] = 0.3
            value += size * rng.normal(size=semi.shape)
            rate = np.zeros(semi.shape)
            yield Node(t, value, rate, rate)

    case = (burgers(diffusion=0.0), 5, 0, 2)
    semi, bound, slab, split = slab_of(case, mixed)
    norms, brute = split.norms(slab, level=HIGH), brute_of(semi, bound, slab)
    for member in MEMBERS:
        exact = math.sqrt(norms.duration * brute.integral(brute.hyperbolic(member) ** 2))
        assert norms.alpha(member) >= exact
    evaluator = split._quadratic._evaluator
    assert evaluator.points == evaluator.convection.most_points
    assert not any(fact.left_out.any() for fact in split._quadratic.facts(slab.nodes))


@pytest.mark.parametrize(("before", "now"), [(3, 5), (5, 3)])
def test_modes_keep_their_meaning_when_their_number_changes(before, now):
    field = np.random.default_rng(3).normal(size=(before,) * 2)
    other = np.zeros((max(before, now),) * 2)
    other[:before, :before] = field
    other = other[:now, :now].ravel()
    modes = np.array([0, 2, before + 1, before * before - 1])
    again = renumbered(modes, before, now, 2)
    assert again[0] == 0
    assert len(again) == (4 if now > before else 3)
    np.testing.assert_array_equal(other[again], field.ravel()[modes[: len(again)]])


def test_points_of_products_are_few_for_smooth_states_and_all_for_rough_ones():
    problem = Problem(equations.Burgers(1, 0.01), Torus(1.0), 0.3 + sine(PI2), 1.0)

    def wave(semi, times, rng):
        start = semi.project(problem.initial)
        for t in times:
            rate = semi.rhs(t, start)
            yield Node(t, start + t * rate, rate, np.zeros_like(rate))

    *_, slab, split = slab_of((problem, 32, 2, None), wave)
    split.norms(slab, level=HIGH)
    evaluator = split._quadratic._evaluator
    assert evaluator.degree < evaluator.points < evaluator.convection.most_points
    *_, slab, split = slab_of((problem, 3, 0, None), rough_nodes)
    split.norms(slab, level=HIGH)
    evaluator = split._quadratic._evaluator
    assert evaluator.points == evaluator.convection.most_points


@pytest.mark.parametrize("factor", [1e-18, 1e18])
def test_units_of_time(factor):
    """t → τt and u → u/τ in Burgers' equation: R → R/τ², for any τ, without loss of digits."""
    norms = []
    for tau in (1.0, factor):
        equation = equations.ScalarConservationLaw((0.0, 0.7 / tau, 0.5), diffusion=0.02 / tau)
        problem = Problem(equation, Torus(1.0), 0.3 / tau, tau)

        def scaled(semi, times, rng, tau=tau):
            for node in smooth_nodes(semi, times, rng, 2):
                yield Node(node.time * tau, node.values / tau, node.rate / tau**2, node.acceleration / tau**3)

        *_, slab, split = slab_of((problem, 6, 1, None), scaled)
        norms.append(split.norms(slab, level=HIGH))
    for member in MEMBERS:
        assert factor * norms[1].alpha(member) == pytest.approx(norms[0].alpha(member), rel=1e-9)


@pytest.mark.parametrize("case", [(1, 2, None), (1, 1, 3), (2, 1, 2)])
@pytest.mark.parametrize("step", [1e-8, 1e-3])
def test_round_off_is_covered(case, step):
    """States that differ in their last digits: ∂_tû in extended precision lies below the bound, not far."""

    def still(semi, times, rng):
        state = rng.normal(size=semi.shape)
        for t in times:
            last = 1.0 + 2.0**-52 * rng.integers(-1, 2, size=semi.shape)
            yield Node(t, state * last, np.zeros(semi.shape), np.zeros(semi.shape))

    dim, degree, order = case
    problem = Problem(equations.AdvectionDiffusion((0.0,) * dim), Torus((1.0,) * dim), 0.3, 1.0)
    times = [step * n for n in range(5)]
    _, bound, slab, split = slab_of((problem, 5, degree, order), still, times)
    norms = split.norms(slab, level=HIGH)
    k = np.arange(slab.time.degree + 1)
    slope = np.where((k > k[:, None]) & ((k - k[:, None]) % 2 == 1), 2.0, 0.0).astype(np.longdouble)
    slope *= np.sqrt(np.outer(*(2 * k.astype(np.longdouble) + 1,) * 2))
    rates = slope @ slab.value_modes.astype(np.longdouble) / np.longdouble(norms.duration)
    states = np.concatenate([node.state for node in slab.nodes]).astype(np.longdouble)
    squares = float((np.tensordot(rates, states, 1) ** 2).sum())
    exact = norms.duration * math.sqrt(bound.grid.cell_measure * squares)
    assert 0.0 < exact <= norms.alpha(1.0) <= 200.0 * exact


def test_only_equations_that_it_knows():
    """Systems, cubic fluxes, variable coefficients and sources without derivative are measured directly."""

    def bare(x, t):
        return np.sin(PI2 * x[0]) + t

    known = ResidualSplit(*_bound(linear(source=sine(PI2, 3.0))))
    assert known.from_nodes
    cubic = equations.ScalarConservationLaw((0.0, 0.3, 0.0, 0.2))
    variable = equations.AdvectionDiffusion((1.0 + sine(PI2, amplitude=0.4),))
    for problem in (
        Problem(cubic, Torus(1.0), 0.3, 1.0),
        Problem(variable, Torus(1.0), 0.3, 1.0),
        linear(source=bare),
        Problem(equations.AdvectionDiffusion((1.0,), reaction=cosine(PI2)), Torus(1.0), 0.3, 1.0),
    ):
        assert not ResidualSplit(*_bound(problem)).from_nodes


def _bound(problem):
    semi = Semidiscretization(problem, 4, 1)
    return semi, Siac().bind(semi)


def hermite(brute, function, step=1e-5):
    """Interpolant at the times of a slab of a function of t, through values and differences at its nodes."""
    times = [node.time for node in brute.slab.nodes]
    data = []
    for t in times:
        slope = function(t + step) - function(t - step)
        slope = (8.0 * slope - function(t + 2 * step) + function(t - 2 * step)) / (12.0 * step)
        data += [function(t), slope]
    shape = data[0].shape
    interpolant = KroghInterpolator(np.repeat(times, 2), np.stack(data).reshape(len(data), -1))
    return interpolant(brute.t).reshape(len(brute.t), *shape)


@pytest.mark.parametrize("name", ["Burgers", "Burgers, half cells", "quadratic fluxes 2D"])
@pytest.mark.parametrize("which", [0, 2])
def test_errors_of_interpolating_products(name, which):
    """N(û) − I N(û) alone: node data that are polynomials in time leave no τ."""
    semi, bound, slab, split = slab_of(CASES[name], smooth_nodes, which=which, degree=9, scale=0.01)
    brute = brute_of(semi, bound, slab)
    defect = defect_of(semi, bound, slab)
    assert defect.rate < 1e-9 * defect.rates[0]

    def convection(t):
        at = copy.copy(brute)
        at.t = np.array([t])
        return at.convection()[0]

    gap = brute.convection() - hermite(brute, convection)
    exact = math.sqrt(brute.integral(gap**2))
    allowed = (HIGH, 1e3 * exact, 0.0)
    cheap, between, sharp = (
        split._quadratic.temporal(slab, defect_of(semi, bound, slab), most)[0] for most in allowed
    )
    # sums over all unknowns bound suprema: for white noise too large by the root of their number
    assert exact <= sharp <= 20.0 * math.sqrt(np.prod(semi.shape)) * exact
    assert sharp <= between <= cheap <= 20.0 * sharp
    assert sharp < cheap


@pytest.mark.parametrize("name", ["Burgers", "quadratic fluxes 2D"])
def test_bounds_of_products_of_modes_in_time(name):
    """sup|C_a| ‖∂_iC_b‖ from filtered modes, or from plain ones with the norms of the filter."""
    semi, bound, slab, split = slab_of(CASES[name], rough_nodes)
    times = np.array([node.time for node in slab.nodes])
    errors = InterpolationError(slab.time, times, slab.value_modes).products
    curvature = np.array(split._quadratic._evaluator.convection.curvature)
    coarse, close = defect_of(semi, bound, slab), defect_of(semi, bound, slab)
    close.measure(range(len(errors)))
    rates = (bound.norms.mean_square * coarse.rate, close.filtered_rate)
    for defect, rate, allowed in zip((coarse, close), rates, (HIGH, 0.0), strict=True):
        products = errors * np.outer(defect.modes.sups, defect.modes.slopes @ curvature)
        expected = rate + math.sqrt(slab.time.duration) * products.sum()
        found, _ = split._quadratic.temporal(slab, defect_of(semi, bound, slab), allowed)
        assert found == pytest.approx(expected, rel=1e-12)


FAST = 2.0 * cosine(0.0, 90.0) + sine(PI2, 60.0)
#: ∂_t^6 grows with t: its supremum over a first short slab is far below that over the stencil.
POWER = Polynomial([[*[0.0] * 7, 0.03**-7]])


@pytest.mark.parametrize(
    ("source", "times", "which"), [(FAST, UNEQUAL, 0), (FAST, UNEQUAL, 2), (POWER, (0.0, 0.001, 0.03), 0)]
)
def test_errors_of_interpolating_a_source(source, times, which):
    """I g − g alone, with a mean: û = 0."""

    def nothing(semi, times, rng):
        for t in times:
            yield Node(t, *(np.zeros(semi.shape) for _ in range(3)))

    case = (linear(source=source), 12, 2, None)
    semi, bound, slab, split = slab_of(case, nothing, times, which)
    brute = brute_of(semi, bound, slab)
    gap = brute.field(source) - hermite(brute, lambda t: source(brute.x, t))
    exact = math.sqrt(brute.integral(gap[:, None] ** 2))
    total, mean = split._quadratic.temporal(slab, defect_of(semi, bound, slab), 0.0)
    assert exact <= total <= 300.0 * exact
    moments = (gap * brute.weights).sum(axis=(1, 2))
    by_cauchy = math.sqrt(float((moments**2 / (slab.time.duration * gauss(len(brute.t))[1])).sum()))
    assert by_cauchy <= mean <= 300.0 * by_cauchy


def test_what_the_chosen_points_leave_out_is_told():
    """Residuals on few points differ from those on all by less than the facts say, for value and rate."""
    _, bound, slab, split = slab_of(CASES["Burgers"], smooth_nodes, degree=2)
    evaluator, node = split._quadratic._evaluator, slab.nodes[1]
    evaluator.points = most = evaluator.convection.most_points
    ([whole], all_points), scale = evaluator.evaluate(node, [np.arange(most)]), bound.grid.cell_measure
    for points in range(evaluator.degree + 1, most):
        evaluator.points = points
        [few], facts = evaluator.evaluate(node, [np.arange(points)])
        gap = whole.values.copy()
        gap[:, :points] -= few.values
        missed = np.sqrt(scale * (gap**2).sum(axis=(1, 2)))
        assert np.all(missed <= facts.left_out)
        # on a line ∂û_b has a degree less: one point fewer than said is enough
        assert np.all(missed > 1e-3 * facts.left_out) or points == most - 1
    assert not all_points.left_out.any()


@pytest.mark.parametrize("name", ["Burgers", "quadratic fluxes 2D"])
def test_slopes_of_the_modes_left_out(name):
    """Row n bounds sup|∂_iû| of the modes in time beyond n."""
    semi, bound, slab, split = slab_of(CASES[name], rough_nodes)
    tails = split._quadratic.slope_tails(defect_of(semi, bound, slab))
    assert tails.shape == (len(slab.value_modes), semi.grid.dim)
    assert np.all(tails[-1] == 0.0)
    brute = brute_of(semi, bound, slab)
    interpolant, shape = brute.u
    s = (brute.t - slab.time.start) / slab.time.duration
    basis = np.polynomial.legendre.legvander(2.0 * s - 1.0, len(tails) - 1)
    weights = gauss(len(s))[1]
    modes = (2.0 * np.arange(len(tails)) + 1.0)[:, None] * (basis.T * weights) @ interpolant(brute.t)
    for n in range(len(tails) - 1):
        rest = (basis[:, n + 1 :] @ modes[n + 1 :]).reshape(len(s), *shape)
        brute.u = (lambda t, rest=rest: rest), shape
        for i in range(semi.grid.dim):
            slope = float(np.abs(brute.at(brute.u, (i,))).max())
            assert slope <= tails[n, i] <= 1e4 * slope
    modes = defect_of(semi, bound, slab)
    last = math.sqrt(2.0 * len(tails) - 1.0) * modes.modes.sup_slopes[-1]
    np.testing.assert_allclose(tails[-2], last, rtol=1e-13)
    modes.measure([1])
    first = math.sqrt(3.0) * modes.modes.sup_slopes[1]
    np.testing.assert_allclose(tails[0] - tails[1], first, rtol=1e-10)


def test_growth_without_the_fast_modes_is_an_upper_bound():
    """2μ from the slow modes of û and a bound for the others, against sup −∂û point by point."""
    semi, bound, slab, split = slab_of(CASES["Burgers"], smooth_nodes, degree=3)
    brute = brute_of(semi, bound, slab)
    norms = split.norms(slab, level=HIGH)
    assert norms.growth >= -float(brute.at(brute.u, (0,)).min())
    modes, beyond = split._slow_modes(split._quadratic, slab, defect_of(semi, bound, slab))
    assert beyond is not None
    assert all(len(block) < len(slab.value_modes) for block in modes())


def test_gain_of_the_family_is_not_underestimated():
    """What one node says is above what the members gain on slabs that are steady enough."""
    for diffusion in (1e-6, 0.02, 1.0):
        case = (linear(diffusion=diffusion), 8, 2, None)
        *_, slab, split = slab_of(case, smooth_nodes, degree=2, scale=100.0)
        norms = split.norms(slab, level=HIGH)
        for level in (0.0, 0.01, 1.0):
            alone = norms.alpha(1.0)
            costs = [
                norms.alpha(m) + math.hypot(level, math.sqrt(0.5 * norms.flux_total(m))) - level
                for m in MEMBERS
            ]
            assert split.family_gain(slab, level) >= 1.0 - min(costs) / alone - 1e-3
