"""Norms of the split residual against a residual that is evaluated point by point (T3.1–T3.5)."""

import math
from itertools import product

import numpy as np
import pytest
from brute import Brute

from stfem import Problem, Siac, Torus, equations
from stfem.data import Approximated, Trigonometric, cosine, sine
from stfem.problems import diffusive_p_system, viscous_burgers
from stfem.reconstruction import Hermite, reconstructed_slabs
from stfem.residual import ResidualSplit, measure
from stfem.residual.measure import SlabMeasure
from stfem.semidiscretization import Semidiscretization
from stfem.spaces import rows
from stfem.spaces.legendre import gauss
from stfem.timestepping import Node

PI2 = 2.0 * math.pi


def slab_of(problem, cells, degree, order=None, times=(0.0, 0.013, 0.02), interpolant=5, which=1):
    """Slab number `which` through node data that solve nothing: random values and rates."""
    semi = Semidiscretization(problem, cells, degree)
    bound = Siac(order).bind(semi)
    rng = np.random.default_rng(0)
    start = semi.project(problem.initial)
    decay = 0.3 ** np.indices(semi.shape[1 : 1 + semi.grid.dim]).sum(axis=0)
    decay = decay.reshape(*decay.shape, *(1,) * semi.grid.dim)

    def random():
        return rng.uniform(-1.0, 1.0, semi.shape) * decay

    nodes = (bound.at_node(Node(t, start + 0.01 * random(), random())) for t in times)
    slab = list(reconstructed_slabs(nodes, Hermite(interpolant)))[which]
    return semi, bound, slab, ResidualSplit(semi, bound)


def wave(dim, amplitude=1.0, speed=1.0):
    return 0.3 + sine([PI2 * (1 - i) for i in range(dim)], speed, 0.4, amplitude)


def linear_constant(dim=1):
    equation = equations.AdvectionDiffusion((1.0, -0.5, 0.3)[:dim], 0.02, reaction=-0.7)
    return Problem(equation, Torus((1.0, 1.3, 0.8)[:dim]), wave(dim, speed=0.0), 1.0, source=wave(dim, 0.5))


def linear_variable(dim=1):
    along = [0.0] * dim
    along[0] = PI2
    velocity = [1.0 + sine(along, 0.7, amplitude=0.4), cosine(along, -0.3)][:dim]
    equation = equations.AdvectionDiffusion(
        tuple(velocity), 0.03, reaction=0.2 + cosine(along, 0.5, 0.1, 0.6)
    )
    return Problem(equation, Torus((1.0, 1.3)[:dim]), wave(dim, speed=0.0), 1.0, source=wave(dim, 0.5))


def steady_variable():
    """Coefficients that do not depend on time beside a source that does."""
    equation = equations.AdvectionDiffusion((1.0 + sine(PI2, amplitude=0.4),), 0.03, reaction=cosine(PI2))
    return Problem(equation, Torus((1.0,)), wave(1, speed=0.0), 1.0, source=wave(1, 0.5, 300.0))


def full_matrix(degenerate=False):
    matrix = np.outer([0.2, 0.1], [0.2, 0.1]) if degenerate else np.array([[0.05, 0.02], [0.02, 0.04]])
    return Problem(
        equations.AdvectionDiffusion((1.0, 0.5), matrix), Torus((1.0, 1.3)), wave(2, speed=0.0), 1.0
    )


CASES = {
    "linear 1D": (linear_constant(1), 5, 2, None),
    "linear 1D, odd splines": (linear_constant(1), 5, 1, 3),
    "linear 2D": (linear_constant(2), (5, 4), 1, None),
    "linear 3D": (linear_constant(3), (3, 3, 3), 1, 2),
    "variable 1D": (linear_variable(1), 8, 1, None),
    "variable 1D, odd splines": (linear_variable(1), 7, 2, 3),
    "variable 2D": (linear_variable(2), (6, 5), 1, 3),
    "steady coefficients": (steady_variable(), 8, 1, None),
    "steady coefficients, high degree": (steady_variable(), 6, 4, None),
    "Burgers 1D": (viscous_burgers(1, 0.02), 6, 2, None),
    "Burgers 2D, odd splines": (viscous_burgers(2, 0.02), (5, 4), 1, 3),
    "cubic flux": (
        Problem(
            equations.ScalarConservationLaw((0.0, 0.3, 0.0, 0.2), diffusion=0.02),
            Torus(1.0),
            wave(1, speed=0.0),
            1.0,
            source=wave(1, 0.5),
        ),
        6,
        1,
        3,
    ),
    "p-system": (diffusive_p_system(1, 0.02), 8, 1, None),
    "p-system 2D": (diffusive_p_system(2, 0.02), 6, 1, 3),
    "full matrix": (full_matrix(), (5, 4), 1, None),
    "full matrix, odd splines": (full_matrix(), (4, 3), 2, 3),
    "degenerate matrix": (full_matrix(True), (5, 4), 1, None),
    "degenerate matrix, odd splines": (full_matrix(True), (4, 3), 2, 3),
}


def brute_of(semi, bound, slab):
    rich = (2 * bound.degree + 6, 2 * bound.degree + 3, bound.degree + 2)[bound.grid.dim - 1]
    return Brute(semi, bound, slab, rich, 2 * slab.time.degree + 3)


def weighted(brute, split, slab, residual):
    """The residual of a system times the roots of its weights, constant on cells."""
    if brute.equation.entropy is None:
        return residual
    roots = split.entropy_of(slab).roots
    roots = roots.reshape(*roots.shape[:2], *brute.grid.cells)
    cells = "xyz"[: brute.dim]
    return np.einsum(f"ij{cells},tj...{cells}->ti...{cells}", roots, residual)


@pytest.mark.parametrize("name", CASES)
def test_norms_against_brute_force(name):
    problem, cells, degree, order = CASES[name]
    semi, bound, slab, split = slab_of(problem, cells, degree, order)
    norms, brute = split.norms(slab), brute_of(semi, bound, slab)
    for member in (0.0, 0.3, 1.0):
        exact = math.sqrt(brute.integral(weighted(brute, split, slab, brute.hyperbolic(member)) ** 2))
        found = math.sqrt(norms.hyperbolic_sq(member).sum())
        allowance = norms.remainder / math.sqrt(norms.duration)
        assert abs(found - exact) <= allowance + 1e-10 * exact, (found, exact, allowance)
        assert allowance <= 1e-2 * exact
        assert abs(found - exact) <= 1e-6 * exact  # what the remainder stands for is orthogonal or tiny
    inverse = np.linalg.pinv(problem.equation.diffusion, hermitian=True)
    potential = brute.potential(0.0)
    flux_sq = sum(
        inverse[i, j] * brute.integral(potential[i] * potential[j])
        for i, j in product(range(brute.dim), repeat=2)
    )
    assert norms.flux_sq.sum() == pytest.approx(flux_sq, rel=1e-10)


@pytest.mark.parametrize(
    "name",
    ["linear 1D", "variable 2D", "Burgers 1D", "p-system", "full matrix", "degenerate matrix, odd splines"],
)
def test_parts_sum_to_the_residual(name):
    """∫∫R v = ∫∫R_H v − ∫∫Φ·∇v for smooth v: holds only because d̃ lies in H(div) and û in H² (T3.1–T3.3)."""
    problem, cells, degree, order = CASES[name]
    semi, bound, slab, _ = slab_of(problem, cells, degree, order)
    brute, dim = brute_of(semi, bound, slab), semi.grid.dim
    v = cosine([PI2 * (i + 1) / length for i, length in enumerate(semi.grid.lengths)], 3.0, 0.5)
    test = brute.field(v)[:, None]
    slopes = [brute.field(v.derivative(i))[:, None] for i in range(dim)]
    whole = brute.residual() * test
    scale = math.sqrt(brute.integral(brute.residual() ** 2))
    for member in (0.0, 0.25, 1.0):
        flux = brute.potential(member)
        parts = brute.hyperbolic(member) * test - sum(flux[i] * slopes[i] for i in range(dim))
        for c in range(whole.shape[1]):
            total, split = (float((f[:, c] * brute.weights).sum()) for f in (whole, parts))
            assert split == pytest.approx(total, abs=1e-9 * scale)
    half = brute.hyperbolic(0.0) * test - 0.5 * sum(
        f * s for f, s in zip(brute.potential(0.0), slopes, strict=True)
    )
    assert abs(brute.integral(half) - brute.integral(whole)) > 1e-8 * scale


def test_degenerate_flux_without_projection_would_not_be_bounded():
    """Φ lies in range(D), where |⟨R_P, v⟩| ≤ p‖D^{1/2}∇v‖ makes sense (T3.4)."""
    problem, cells, degree, order = CASES["degenerate matrix"]
    semi, bound, slab, _ = slab_of(problem, cells, degree, order)
    first, second = brute_of(semi, bound, slab).potential(0.0)
    across = 0.1 * first - 0.2 * second
    assert np.abs(across).max() < 1e-12 * np.abs(first).max()
    assert np.abs(first + second).max() > 0.1 * np.abs(first).max()


@pytest.mark.parametrize(
    "name", ["linear 1D", "variable 1D, odd splines", "Burgers 2D, odd splines", "variable 2D", "full matrix"]
)
def test_mean_of_the_residual(name):
    """∫_slab |∫_Ω R| ≤ mean, closely."""
    problem, cells, degree, order = CASES[name]
    semi, bound, slab, split = slab_of(problem, cells, degree, order)
    brute = brute_of(semi, bound, slab)
    values = brute.residual() - brute.field(problem.equation.reaction)[:, None] * 0.0
    moments = (values * brute.weights[:, None]).sum(axis=tuple(range(1, values.ndim)))
    time_weights = gauss(len(brute.t))[1] * slab.time.duration
    truth = float(np.abs(moments).sum())
    by_cauchy = math.sqrt(slab.time.duration * float((moments**2 / time_weights).sum()))
    norms = split.norms(slab)
    allowance = math.sqrt(semi.grid.measure) * norms.remainder
    assert truth <= norms.mean
    assert norms.mean == pytest.approx(by_cauchy + allowance, rel=1e-6, abs=1e-12)


def test_cells_are_told_apart():
    """Per-cell squares, also when the grid is measured in blocks of rows."""
    problem, cells, degree, order = CASES["Burgers 2D, odd splines"]
    semi, bound, slab, split = slab_of(problem, cells, degree, order)
    brute = brute_of(semi, bound, slab)
    expected = (brute.hyperbolic(0.0) ** 2 * brute.weights[:, None]).sum(axis=(0, 1, 2, 3))
    np.testing.assert_allclose(split.norms(slab).residual_sq, expected, rtol=1e-5)
    assert expected.std() > 0.01 * expected.mean()


def test_blocks_do_not_change_the_norms(monkeypatch):
    problem, cells, degree, order = CASES["variable 2D"]
    *_, slab, split = slab_of(problem, cells, degree, order)
    whole = split.norms(slab)
    monkeypatch.setattr("stfem.residual.measure.BLOCK_VALUES", 1)
    blocks = split.norms(slab)
    for name in ("residual_sq", "cross", "difference_sq", "flux_sq"):
        np.testing.assert_allclose(getattr(blocks, name), getattr(whole, name), rtol=1e-9)
    assert blocks.mean == pytest.approx(whole.mean, rel=1e-10)


@pytest.mark.parametrize("case", [steady_variable, linear_constant])
def test_source_outside_the_kept_degrees_is_covered(case):
    """A source far too fast for the slab is left to the remainder: still an upper bound (T4.6)."""
    base = case()
    for speed in (500.0, 2000.0, 5000.0):
        problem = Problem(
            base.equation, base.domain, base.initial, 1.0, source=cosine(PI2, speed, 0.3, 500.0)
        )
        semi, bound, slab, split = slab_of(problem, 8, 1)
        brute = Brute(semi, bound, slab, 2 * bound.degree + 6, 60)
        exact = math.sqrt(brute.integral(brute.hyperbolic(1.0) ** 2))
        norms = split.norms(slab)
        assert norms.alpha(1.0) >= math.sqrt(norms.duration) * exact
        if speed > 1000.0:
            assert norms.alpha(1.0) - norms.remainder < math.sqrt(norms.duration) * exact


@pytest.mark.parametrize("value", [3.0, 3e6])
def test_round_off_is_covered(value):
    """û nearly constant: R and R in extended precision differ by less than the remainder."""
    problem = Problem(equations.AdvectionDiffusion((1.0,), 0.1, 0.3), Torus(1.0), value, 1.0)
    semi = Semidiscretization(problem, 7, 2)
    bound = Siac().bind(semi)
    start = semi.project(problem.initial)
    nodes = (bound.at_node(Node(t, start, -0.3 * start)) for t in (0.0, 0.001, 0.002))
    slab = next(reconstructed_slabs(nodes, Hermite(5)))
    split = ResidualSplit(semi, bound)
    norms = split.norms(slab)

    def extended(array):
        return np.asarray(array, dtype=np.longdouble)

    def slope(degree):
        return extended(
            np.array(
                [
                    [2.0 if j > i and (j - i) % 2 else 0.0 for j in range(degree + 1)]
                    for i in range(degree + 1)
                ]
            )
        ) * np.sqrt(np.outer(*(2 * extended(np.arange(degree + 1)) + 1,) * 2))

    modes = extended(slab.value_modes)
    rates = slope(slab.time.degree) @ modes / extended(slab.time.duration)
    states = extended(np.concatenate([node.state for node in slab.nodes]))[:, 0]
    h, first = extended(bound.grid.spacing[0]), slope(bound.degree)
    rest = np.stack(
        [first @ u / h + extended(0.3) * u - extended(0.1) * first @ (first @ u) / h**2 for u in states]
    )
    residual = np.tensordot(rates, states, 1) + np.tensordot(modes, rest, 1)
    exact = float(np.sqrt((residual**2).sum() * h * slab.time.duration))
    found = math.sqrt(norms.hyperbolic_sq(1.0).sum())
    assert abs(found - exact) * math.sqrt(norms.duration) <= norms.remainder
    assert 0.0 < norms.remainder < 1e-11 * value


def test_round_off_of_a_velocity_that_vanishes_at_the_start():
    """b = sin t is zero at t = 0; the products b∂û round all the same."""
    b = Trigonometric([[0.0]], [PI2], [-1.0j])
    rounded = []
    for amplitude in (1e-8, 1.0):
        equation = equations.AdvectionDiffusion((amplitude * b,))
        problem = Problem(equation, Torus(1.0), wave(1, 1e6, 0.0), 1.0)
        *_, slab, split = slab_of(problem, 5, 1)
        measured = SlabMeasure(split, slab, False)
        measured.run()
        rounded.append(float(measured.magnitude.sum()))
    assert rounded[1] == pytest.approx(1e8 * rounded[0], rel=1e-10)


@pytest.mark.parametrize("make", [linear_constant, linear_variable, lambda dim: viscous_burgers(dim, 0.01)])
def test_blocks_of_rows_and_cells_change_nothing(make, monkeypatch):
    *_, slab, split = slab_of(make(2), (5, 4), 2)
    expected = split.norms(slab)
    monkeypatch.setattr(rows, "ROW_VALUES", 1)
    monkeypatch.setattr(measure, "BLOCK_VALUES", 1)
    found = split.norms(slab)
    for name in ("residual_sq", "cross", "difference_sq", "flux_sq", "cell_means"):
        scale = np.abs(getattr(expected, name)).max()
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12 * scale)
    for name in ("remainder", "mean", "growth"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)


def test_sentences_about_what_is_not_proved():
    def bare(x, t):
        return np.sin(PI2 * x[0]) + t

    assert slab_of(linear_constant(), 4, 1)[3].unproved == ()
    base = linear_constant()
    problem = Problem(base.equation, base.domain, base.initial, 1.0, source=bare)
    assert "source" in slab_of(problem, 4, 1)[3].unproved[0]
    assert slab_of(diffusive_p_system(1), 8, 1)[3].unproved == ()
    plain = equations.ScalarConservationLaw(np.sin, np.cos, lambda u: -np.sin(u))
    assert "not polynomial" in slab_of(Problem(plain, Torus(1.0), wave(1), 1.0), 8, 1)[3].unproved[0]


def test_weights_of_the_p_system():
    """At most 2 upper/τ̂⁴ in τ and 1 in v, constant on cells; remainders carry the largest root."""
    problem = diffusive_p_system(1, 0.0)
    semi, bound, slab, split = slab_of(problem, 8, 1)
    brute = brute_of(semi, bound, slab)
    weight = np.ones_like(brute.at(brute.u))
    weight[:, 0] = 2.0 * 1.15 / brute.at(brute.u)[:, 0] ** 4
    expected = brute.integral(weight * brute.hyperbolic(1.0) ** 2)
    assert expected <= split.norms(slab).residual_sq.sum() <= 1.1 * expected
    assert expected > 1.2 * brute.integral(brute.hyperbolic(1.0) ** 2)
    assert split.entropy_of(slab).root_weight <= math.sqrt(2.0 * 1.15 / 0.85**4)
    rough = Problem(
        problem.equation,
        problem.domain,
        problem.initial,
        1.0,
        source=(Approximated(Trigonometric.number(0.0, 1), 0.01), 0.0),
    )
    *_, slab, split = slab_of(rough, 8, 1)
    entropy = split.entropy_of(slab)
    interpolation = math.sqrt(slab.time.duration) * entropy.left_out
    assert split.norms(slab).remainder - interpolation == pytest.approx(
        0.01 * slab.time.duration * entropy.root_weight, rel=1e-6
    )
