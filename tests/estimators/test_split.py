"""The split estimator as a whole: indicators, invariances, continuity in ε, enclosure, orders, options."""

import json
import math

import numpy as np
import pytest

import stfem
from stfem import Hermite, Problem, Siac, SplitEstimator, Torus, certify, equations
from stfem.data import Approximated, Trigonometric, cosine, sine
from stfem.estimators.split import poincare_rate
from stfem.problems import linear_advection_diffusion, sheared_pulse, viscous_burgers

PI2 = 2.0 * math.pi


@pytest.mark.parametrize("order", [None, 3])
@pytest.mark.parametrize("eps", [0.0, 1e-2, 1.0])
def test_indicators_sum_to_the_squared_total(eps, order):
    result = certify(
        linear_advection_diffusion(2, eps, 0.05),
        cells=(6, 4),
        degree=1,
        estimator=SplitEstimator(Siac(order)),
    )
    alpha, beta = result.history["alpha"].sum(), result.history["beta"].sum()
    assert result.indicators_sq.shape == (6, 4)
    assert result.indicators_sq.min() >= 0.0
    assert result.indicators_sq.sum() == pytest.approx(alpha**2 + beta, rel=1e-12)
    assert result.parts["hyperbolic"] == pytest.approx(alpha, rel=1e-12)
    assert result.parts["parabolic"] ** 2 == pytest.approx(beta, rel=1e-12)
    assert result.indicators_sq.sum() != pytest.approx((result.history["alpha"] ** 2).sum() + beta, rel=1e-3)


def test_indicators_see_where_the_error_is():
    hat = 0.5 + cosine(PI2, phase=-math.pi, amplitude=0.5)
    problem = Problem(equations.AdvectionDiffusion((0.01,)), Torus(1.0), hat**12, 0.1)
    indicators = certify(problem, cells=16, degree=1).indicators_sq
    assert indicators[6:10].sum() > 0.8 * indicators.sum()


def lifted(problem, dim):
    """The same solution, constant in the further directions of length 1."""
    (start,), (source,) = problem.initial, problem.source
    equation = problem.equation

    def widened(f):
        if f.is_zero:
            return 0.0
        k = np.zeros((len(f.wavevectors), dim))
        k[:, 0] = f.wavevectors[:, 0]
        return Trigonometric(k, f.frequencies, f.amplitudes)

    if isinstance(equation, equations.Burgers):
        # ∂_y(u²/2) vanishes for u(x, t)
        new = equations.Burgers(dim, equation.diffusion[0, 0])
    else:
        velocity = (equation.velocity[0].value, *(0.5, -0.3)[: dim - 1])
        new = equations.AdvectionDiffusion(velocity, equation.diffusion[0, 0])
    return Problem(
        new,
        Torus((1.0,) * dim),
        widened(start),
        problem.final_time,
        source=widened(source),
        exact=lambda x, t: problem.exact(x[:1], t)[0],
        exact_gradient=lambda x, t: np.stack(
            [problem.exact_gradient(x[:1], t)[0, 0], *(0.0 * x[0] for _ in range(1, dim))]
        ),
    )


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("factory", [linear_advection_diffusion, viscous_burgers])
@pytest.mark.parametrize("order", [None, 3])
def test_lifted_solution_has_the_same_estimate(dim, factory, order):
    problem = factory(1, 1e-2, 0.02)
    # errors that vary in more directions may grow faster: rates lowered by diffusion depend on the dimension
    estimator = SplitEstimator(Siac(order), spacing=1, spectral=factory is linear_advection_diffusion)
    options = {"degree": 1, "dt": 0.002, "estimator": estimator}
    line = certify(problem, cells=6, **options)
    wide = certify(lifted(problem, dim), cells=(6, *(2, 1)[: dim - 1]), **options)
    for name in ("error", "error_dg", "error_energy"):
        assert getattr(wide, name) == pytest.approx(getattr(line, name), rel=1e-8), name
    # the constants in the bound of what interpolation in time leaves grow with the dimension
    temporal = wide.parts["temporal"]
    assert temporal < 2e-3
    for name in ("bound", "bound_final", "bound_energy", "bound_l1"):
        assert getattr(wide, name) == pytest.approx(getattr(line, name), rel=1e-8 + temporal), name
    assert wide.enclosure == pytest.approx(line.enclosure, rel=1e-8 + temporal)
    sums = wide.indicators_sq.sum(axis=tuple(range(1, dim)))
    np.testing.assert_allclose(sums, line.indicators_sq, rtol=1e-7 + 2.0 * temporal)


@pytest.mark.parametrize("eps", [0.0, 1e-3, 0.5])
def test_units_of_length_and_time(eps):
    """x → Lx, t → τt: velocities times L/τ, D times L²/τ, L² norms times √L; amplitudes scale all bounds."""
    length, time, size = 8.0, 0.25, 5.0

    def problem(x, t, amplitude):
        k, w = PI2 / x, 1.0 / t
        u = sine(k, w, 0.3, amplitude) + 0.2 * amplitude
        b, d, c = 1.5 * x / t, eps * x * x / t, 0.4 / t
        source = u.time_derivative() + b * u.derivative(0) + c * u - d * u.derivative(0).derivative(0)
        start = Trigonometric(u.wavevectors, 0.0 * u.frequencies, u.amplitudes)
        return Problem(equations.AdvectionDiffusion((b,), d, c), Torus(x), start, 0.05 * t, source=source)

    # T2.0b contains the number 1 as a time, hence no initial correction
    options = {"cells": 6, "degree": 2, "initial_correction": False}
    plain = certify(problem(1.0, 1.0, 1.0), dt=1e-3, **options)
    other = certify(problem(length, time, size), dt=1e-3 * time, **options)
    factor = size * math.sqrt(length)
    for name in ("bound", "bound_final", "bound_energy"):
        assert getattr(other, name) == pytest.approx(factor * getattr(plain, name), rel=1e-7), name
    assert other.bound_l1 == pytest.approx(size * length * plain.bound_l1, rel=1e-7)
    np.testing.assert_allclose(other.indicators_sq, factor**2 * plain.indicators_sq, rtol=1e-6)


def test_shift_by_whole_cells_shifts_the_indicators():
    def problem(shift):
        u = sine(PI2, phase=-PI2 * shift) + cosine(2 * PI2, phase=-2 * PI2 * shift)
        return Problem(equations.AdvectionDiffusion((0.1,), 1e-3), Torus(1.0), u, 0.1)

    first, second = (certify(problem(s), cells=8, degree=1) for s in (0.0, 0.375))
    np.testing.assert_allclose(np.roll(first.indicators_sq, 3), second.indicators_sq, rtol=1e-8)
    assert second.bound == pytest.approx(first.bound, rel=1e-10)


@pytest.mark.parametrize("degree", [1, 2])
def test_enclosure_contains_the_error_of_the_dg_solution(degree):
    widths = []
    for cells in (8, 16):
        result = certify(linear_advection_diffusion(1, 1e-4, 0.5), cells=cells, degree=degree)
        low, high = result.enclosure
        assert low <= result.error_dg <= high
        widths.append((high - low) / result.error_dg)
    assert widths[1] < 0.7 * widths[0]  # asymptotically exact


@pytest.mark.parametrize("degree", [1, 2])
def test_order_of_the_bound(degree):
    bounds = [
        certify(linear_advection_diffusion(1, 1e-4, 0.5), cells=n, degree=degree).bound for n in (8, 16)
    ]
    assert 2 * degree + 0.7 < math.log2(bounds[0] / bounds[1]) < 2 * degree + 2.5


def test_energy_jumps_by_at_most_the_root_of_three_halves():
    zero, tiny = (certify(linear_advection_diffusion(1, eps, 0.2), cells=8, degree=1) for eps in (0.0, 1e-14))
    assert tiny.bound == pytest.approx(zero.bound, rel=1e-8)
    assert zero.bound_energy / tiny.bound_energy < math.sqrt(1.5) * (1.0 + 1e-8)
    assert tiny.bound_energy / zero.bound_energy < math.sqrt(1.5) * (1.0 + 1e-8)


def test_members_of_the_family():
    problem = linear_advection_diffusion(1, 0.1, 0.2)
    family = certify(problem, cells=8, degree=2)
    for member in (0.0, 1.0):
        estimator = SplitEstimator(members=(member,), spectral=False)
        single = certify(problem, cells=8, degree=2, estimator=estimator)
        assert single.error <= single.bound
        assert family.bound <= single.bound * (1.0 + 1e-9)
        assert set(single.history["member"]) == {member}
        assert (single.parts["parabolic"] > 1e-6) is (member == 0.0)  # what is left at 1 is that of the mean


def test_spacing_changes_the_cost_and_hardly_the_bound():
    problem = linear_advection_diffusion(1, 1e-3, 1.0)
    every = certify(problem, cells=16, degree=2, cfl=0.1, estimator=SplitEstimator(spacing=1))
    chosen = certify(problem, cells=16, degree=2, cfl=0.1)
    assert chosen.facts["slabs"] < 0.4 * every.facts["slabs"]
    assert chosen.facts["steps"] == every.facts["steps"]
    assert chosen.bound == pytest.approx(every.bound, rel=0.05)
    assert chosen.parts["temporal"] < 0.1
    rough = certify(problem, cells=16, degree=2, estimator=SplitEstimator(spacing=40, interpolant=Hermite(3)))
    assert rough.parts["temporal"] > 0.3
    assert rough.error <= rough.bound


def test_approximated_data_enter_the_bound():
    u, nothing = sine(PI2), Trigonometric.number(0.0, 1)
    equation = equations.AdvectionDiffusion((1.0,))
    exact = certify(Problem(equation, Torus(1.0), u, 0.5), cells=8, degree=1)
    initial = certify(Problem(equation, Torus(1.0), Approximated(u, 0.01), 0.5), cells=8, degree=1)
    assert initial.guaranteed
    assert exact.bound + 0.0095 < initial.bound < exact.bound + 0.0101
    none, forced = (  # both without derivatives in time, so that all slabs are measured the same way
        certify(
            Problem(equation, Torus(1.0), u, 0.5, source=Approximated(nothing, size)),
            cells=8,
            degree=1,
            estimator=SplitEstimator(spacing=1),
        )
        for size in (0.0, 0.01)
    )
    assert forced.bound == pytest.approx(none.bound + 0.5 * 0.01, rel=1e-3)


def test_poincare_rate():
    assert poincare_rate(np.diag([2.0, 0.1]), (1.0, 0.5)) == pytest.approx(
        min(2.0 * PI2**2, 0.1 * (2 * PI2) ** 2)
    )
    assert poincare_rate(np.diag([1.0, 0.0]), (1.0, 1.0)) == 0.0
    assert poincare_rate(np.zeros((1, 1)), (1.0,)) == 0.0
    matrix, lengths = np.array([[1.0, 0.4], [0.4, 0.5]]), (1.0, 0.7)
    waves = [
        np.array([a / lengths[0], b / lengths[1]]) * PI2 for a in range(-4, 5) for b in range(-4, 5) if a or b
    ]
    truth = min(float(k @ matrix @ k) for k in waves)
    assert 0.3 * truth < poincare_rate(matrix, lengths) <= truth


def test_final_bound_decays_with_diffusion_and_keeps_a_mean():
    result = certify(linear_advection_diffusion(1, 0.2, 0.5), cells=8, degree=1)
    assert result.error_final <= result.bound_final < 0.25 * result.bound
    shifted = Problem(
        equations.AdvectionDiffusion((1.0,), 0.2), Torus(1.0), Approximated(sine(PI2), 0.01), 0.5
    )
    assert certify(shifted, cells=8, degree=1).bound_final > 0.009  # a constant 0.01 never decays


def test_result_as_text_and_numbers(tmp_path):
    result = certify(sheared_pulse(2, 1e-2, 0.02), cells=4, degree=1)
    path = tmp_path / "estimate.json"
    result.to_json(path)
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored["bound"] == result.bound
    assert stored["guaranteed"] is True
    assert stored["effectivity"] == result.bound / result.error
    assert len(stored["history"]["time"]) == result.facts["slabs"]
    assert "guaranteed" in str(result)
    assert f"{result.bound:.4e}" in str(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"members": ()}, "members"),
        ({"members": (0.0, 1.5)}, "members"),
        ({"spacing": 0}, "spacing"),
        ({"temporal_share": 0.0}, "temporal_share"),
    ],
)
def test_wrong_options(arguments, message):
    with pytest.raises(ValueError, match=message):
        SplitEstimator(**arguments)


def test_one_node_is_not_a_run():
    solution = stfem.solve(linear_advection_diffusion(1, 0.0, 0.1), cells=4, degree=1)
    with pytest.raises(ValueError, match="at least two time nodes"):
        SplitEstimator().run(solution.semidiscretization, [next(solution.nodes())], 4)
