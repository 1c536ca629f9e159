"""Inputs that a user will bring: items 1–14 and 28–30 of the list of reference cases, one test each."""

import math
import warnings

import numpy as np
import pytest

from stfem import (
    Hermite,
    NonFiniteError,
    Problem,
    Siac,
    SplitEstimator,
    Torus,
    certify,
    equations,
    solve,
)
from stfem.data import Polynomial, Trigonometric, cosine, sine
from stfem.estimators.errors import distance
from stfem.fluxes import flux_engquist_osher, flux_rusanov, flux_upwind
from stfem.meshes import TensorGrid
from stfem.problems import linear_advection_diffusion, viscous_burgers
from stfem.reconstruction import initial_projection
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.legendre import gauss, legendre_values
from stfem.timestepping import (
    ARK324L2SA,
    ARK548L2SA,
    RK4,
    SSPRK33,
    ExplicitRungeKutta,
    ImplicitExplicitRungeKutta,
)

PI2 = 2.0 * math.pi


def advection(u, final_time=1.0, eps=0.0, velocity=1.0, reaction=0.0, source=None, exact=None):
    equation = equations.AdvectionDiffusion((velocity,), eps, reaction)
    return Problem(equation, Torus(1.0), u, final_time, source=source, exact=exact)


def test_01_periodic_seam():
    """sin 2πx and its shift by half a period have one and the same error; mass is kept."""
    errors = []
    for phase in (0.0, math.pi):
        problem = advection(sine(PI2, phase=phase), exact=lambda x, t, p=phase: np.sin(PI2 * (x[0] - t) + p))
        solution = solve(problem, cells=20, degree=1, initial_correction=False)
        errors.append(distance(problem, solution.semidiscretization.grid, 1, solution.values, 1.0))
        assert solution.values[0, 0].mean() == pytest.approx(0.0, abs=1e-13)
    assert errors[0] == pytest.approx(errors[1], abs=1e-12)
    assert errors[0] > 1e-4
    # a jump that crosses the seam moves like one in the middle
    ends = []
    for shift in (0.0, 0.5):
        problem = advection(lambda x, s=shift: np.where((x[0] + s) % 1.0 < 0.3, 1.0, 0.0))
        values = solve(problem, cells=20, degree=1, initial_correction=False).values
        assert values[0, 0].mean() == pytest.approx(0.3, abs=1e-13)
        ends.append(np.roll(values, int(20 * shift), axis=2))
    np.testing.assert_allclose(*ends, atol=1e-12)


@pytest.mark.parametrize("degree", [1, 2])
def test_02_kernel_wider_than_the_domain(degree):
    for cells in (2, 3, 4):
        constant = certify(
            advection(Trigonometric.number(2.5, 1), exact=lambda x, t: 2.5 + 0.0 * x[0]),
            cells=cells,
            degree=degree,
        )
        assert constant.error < 1e-13
        assert constant.bound < 1e-11
        wave = certify(linear_advection_diffusion(1, 0.01, 0.3), cells=cells, degree=degree)
        assert wave.error <= wave.bound
    if degree == 1:
        steps = math.ceil(1.0 / (0.1 / 3.0 * 0.25))
        result = certify(
            linear_advection_diffusion(2, 0.01),
            cells=4,
            degree=1,
            dt=1.0 / steps,
            initial_correction=False,
            stepper=ImplicitExplicitRungeKutta(ARK324L2SA),
            estimator=SplitEstimator(Siac(2), Hermite(3), spacing=1),
        )
        assert result.error_energy == pytest.approx(0.14167, rel=0.02)


def test_03_vanishing_diffusion():
    """Finite, without a warning, continuous in eps; the dual-norm part is exactly 0 at eps = 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = {
            eps: certify(linear_advection_diffusion(1, eps), cells=16, degree=1)
            for eps in (0.0, 5e-324, 1e-310, 1e-300, 1e-14)
        }
        plane = {
            eps: certify(linear_advection_diffusion(2, eps, 0.1), cells=8, degree=1) for eps in (0.0, 1e-300)
        }
    zero = results[0.0]
    assert zero.parts["parabolic"] == 0.0
    for result in results.values():
        assert np.isfinite([result.bound, result.bound_final, result.bound_energy, result.bound_l1]).all()
        assert result.bound == pytest.approx(zero.bound, rel=1e-7)
        assert 1.0 / math.sqrt(1.5) - 1e-7 < result.bound_energy / zero.bound_energy < math.sqrt(1.5) + 1e-7
    assert plane[1e-300].bound == pytest.approx(plane[0.0].bound, rel=1e-9)
    assert certify(linear_advection_diffusion(1, 1e-2), cells=16, degree=1).bound != pytest.approx(
        zero.bound, rel=1e-3
    )


def test_04_zero_velocity():
    decayed = solve(advection(sine(PI2), 1.0, 0.01, 0.0), cells=16, degree=3)
    x = np.linspace(0.0, 1.0, 401)[None]
    assert np.abs(decayed(x)).max() == pytest.approx(0.673825, rel=1e-5)
    still = solve(advection(sine(PI2), 1.0, 0.0, 0.0), cells=16, degree=2, initial_correction=False)
    np.testing.assert_allclose(still.values, still.initial, atol=1e-15)
    assert 1 <= still.steps < 1000
    bound = certify(
        advection(sine(PI2), 1.0, 0.0, 0.0, exact=lambda x, t: np.sin(PI2 * x[0])), cells=16, degree=2
    )
    assert bound.error <= bound.bound < 1e-3


@pytest.mark.parametrize(
    ("final_time", "dt", "steps"), [(1, 0.1, 10), (2, 0.005, 400), (0.3, 0.1, 3), (1, 0.3, 4), (1, 2, 1)]
)
def test_05_final_time_is_hit(final_time, dt, steps):
    problem = advection(sine(PI2), final_time, velocity=1e-3)
    solution = solve(problem, cells=4, degree=0, dt=dt, history=True)
    assert solution.steps == steps == len(solution.stored) - 1
    assert solution.stored[-1].time == final_time
    result = certify(problem, cells=4, degree=0, dt=dt)
    assert result.history["time"][-1] == final_time
    assert result.facts["steps"] == steps


def test_06_source_at_stage_times():
    def end(source, reaction, stepper, dt, eps=0.0):
        problem = advection(0.0, 1.0, eps, 0.0, reaction, source)
        return float(solve(problem, cells=2, degree=0, dt=dt, stepper=stepper).values[0, 0, 0])

    time = Polynomial([[0.0, 1.0]])
    one_step = solve(
        advection(0.0, 0.5, 0.0, 0.0, 0.0, time),
        cells=2,
        degree=0,
        dt=0.5,
        stepper=ExplicitRungeKutta(SSPRK33),
    )
    np.testing.assert_allclose(one_step.values, 0.125, rtol=1e-14)
    cos = cosine(0.0, 1.0)
    steppers = [ExplicitRungeKutta(SSPRK33), ExplicitRungeKutta(RK4)]
    steppers += [ImplicitExplicitRungeKutta(tableau) for tableau in (ARK324L2SA, ARK548L2SA)]
    for stepper in steppers:
        for source, reaction, exact in ((time, 1.0, math.exp(-1.0)), (cos, 0.0, math.sin(1.0))):
            for eps in (
                0.0,
                0.1,
            ):  # diffusion of a constant: both parts of the pair run, the solution is the same
                errors = [abs(end(source, reaction, stepper, dt, eps) - exact) for dt in (0.25, 0.125)]
                assert math.log2(errors[0] / errors[1]) > stepper.order - 0.35


def test_07_time_step_with_diffusion():
    """Explicit steps obey h²/eps, implicit diffusion does not shorten them."""

    def steps(eps, stepper, cells=64):
        return solve(linear_advection_diffusion(1, eps, 0.02), cells=cells, degree=1, stepper=stepper).steps

    explicit = ExplicitRungeKutta(SSPRK33)
    assert 3.0 < steps(0.1, explicit) / steps(0.1, explicit, 32) < 4.5
    assert np.isfinite(
        solve(linear_advection_diffusion(1, 0.1, 0.02), cells=64, degree=1, stepper=explicit).values
    ).all()
    assert steps(0.1, explicit) > 10 * steps(0.0, explicit)
    implicit = ImplicitExplicitRungeKutta(ARK324L2SA)
    assert steps(1e-3, implicit) == steps(0.1, implicit) == steps(10.0, implicit)


def test_08_run_that_blows_up():
    problem = viscous_burgers(1, 0.0, 2.0)
    with pytest.raises(NonFiniteError, match=r"time .* \(step \d+\)") as caught:
        solve(problem, cells=32, degree=2, cfl=10.0)
    assert caught.value.step >= 1
    assert 0.0 < caught.value.time < 2.0
    with pytest.raises(NonFiniteError):
        certify(problem, cells=32, degree=2, cfl=10.0)


@pytest.mark.parametrize("problem", [linear_advection_diffusion(1, 1.0, 0.15), viscous_burgers(1, 1.0, 0.15)])
@pytest.mark.parametrize("dt", [2e-3, 1.4e-3, 1e-3])
def test_08_run_whose_squares_overflow(problem, dt):
    """Diffusion beyond the stability limit: the squares of finite values are not finite."""
    with pytest.raises(NonFiniteError, match=r"time .* \(step \d+\)"):
        certify(problem, cells=8, degree=1, dt=dt, stepper=ExplicitRungeKutta(RK4))


def test_09_shapes_of_callables():
    x = np.linspace(0.0, 1.0, 33)[None]
    for value in (
        lambda x: 1,
        lambda x: 1.0,
        lambda x: x[0] * 0 + 1,
        lambda x: np.ones(x.shape[1:]),
        lambda x: x * 0 + 1,
    ):
        solution = solve(advection(value, 0.1), cells=4, degree=1)
        np.testing.assert_allclose(solution(x), 1.0, atol=1e-13)
    with pytest.raises(ValueError, match=r"expected .*got"):
        advection(lambda x: np.ones(7))
    system = equations.DiffusivePSystem(0.0, dim=1)
    two = Problem(system, Torus(1.0), lambda x: np.stack([1.0 + 0 * x[0], 0 * x[0]]), 0.1)
    np.testing.assert_allclose(solve(two, cells=4, degree=1)(x)[0], 1.0, atol=1e-13)
    with pytest.raises(ValueError, match=r"expected .*got"):
        Problem(system, Torus(1.0), lambda x: np.ones((3, *x.shape[1:])), 0.1)


def test_10_dissipation_uses_the_normal_speed():
    equation = equations.AdvectionDiffusion((1.0, 0.0))
    minus, plus, x = np.zeros((1, 1)), np.ones((1, 1)), np.zeros((2, 1))
    for flux in (flux_rusanov, flux_upwind, flux_engquist_osher):
        assert flux(equation, minus, plus, x, 0.0, 1)[0, 0] == 0.0
    assert flux_rusanov(equation, minus, plus, x, 0.0, 0)[0, 0] == 0.0  # upwind value b u⁻
    assert flux_rusanov(equation, plus, minus, x, 0.0, 0)[0, 0] == 1.0
    system = equations.DiffusivePSystem(0.0)
    assert system.wave_speed(np.array([[1.0], [9.0], [-7.0]]), x, 0.0, 1)[0] == pytest.approx(math.sqrt(2.0))


def test_11_discontinuous_data():
    """1_{x > ½} on 9 cells, P1: the L² projection has end values −0.25 and 1.25 in the middle cell."""
    semi = Semidiscretization(advection(lambda x: np.where(x[0] > 0.5, 1.0, 0.0)), 9, 1)
    modes = initial_projection(semi)
    ends = legendre_values(1, np.array([0.0, 1.0])) @ modes[0, :, 4]
    np.testing.assert_allclose(ends, [-0.25, 1.25], atol=1e-12)
    assert modes[0, 0].sum() / 9 == pytest.approx(0.5, abs=1e-13)


def test_12_initial_error_belongs_to_the_bound():
    result = certify(
        linear_advection_diffusion(2, 0.0, 1e-6),
        cells=8,
        degree=1,
        initial_correction=False,
        estimator=SplitEstimator(Siac(2)),
    )
    assert result.parts["initial"] == pytest.approx(4.5151e-3, rel=1e-3)
    assert 4.51e-3 <= result.bound <= 4.6e-3
    corrected = certify(
        linear_advection_diffusion(2, 0.0, 1e-6), cells=8, degree=1, estimator=SplitEstimator(Siac(2))
    )
    assert corrected.bound < 0.5 * result.bound


def test_13_supremum_includes_the_ends_of_every_slab():
    decaying = certify(
        linear_advection_diffusion(1, 1.0, 0.02),
        cells=6,
        degree=1,
        initial_correction=False,
        estimator=SplitEstimator(Siac(2)),
    )
    # the error is largest at the start, and at T where it grows
    assert decaying.error >= decaying.parts["initial"] * (1.0 - 1e-9)
    assert decaying.bound >= decaying.parts["initial"]
    growing = certify(linear_advection_diffusion(1, 0.0, 0.5), cells=8, degree=1)
    assert growing.error == growing.error_final
    assert growing.bound == growing.bound_final


def test_14_projections_use_enough_quadrature():
    """The Q1 projection of sin 6x on 4 cells, as a callable or exactly, against 40 Gauss points."""
    s, w = gauss(40)
    x = (np.arange(4)[:, None] + s) / 4
    basis = legendre_values(1, s)
    modes = (np.sin(6.0 * x) * w) @ basis
    truth = math.sqrt((w * (np.sin(6.0 * x) - modes @ basis.T) ** 2).sum() / 4)
    grid = TensorGrid((1.0, 1.0), 4)
    for datum in (lambda x: np.sin(6.0 * x[0]), sine([6.0, 0.0])):
        problem = Problem(equations.AdvectionDiffusion((1.0, 0.0)), Torus((1.0, 1.0)), datum, 1.0)
        projection = problem.initial[0].project(grid, 1, 0.0)
        np.testing.assert_allclose(projection.coefficients[:, 0, :, 0], modes.T, atol=1e-10)
        squared = 0.5 - math.sin(12.0) / 24.0 - float((projection.coefficients**2).sum()) / 16
        assert math.sqrt(squared) == pytest.approx(truth, rel=1e-6)
        assert projection.remainder_l2 == pytest.approx(truth, rel=0.05)
    assert truth > 0.04


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_28_burgers_has_order_q_plus_one_for_odd_and_even_degrees(degree):
    problem, errors = viscous_burgers(1, 0.0, 0.05), []
    for cells in (10, 20):
        solution = solve(problem, cells=cells, degree=degree, initial_correction=False)
        errors.append(distance(problem, solution.semidiscretization.grid, degree, solution.values, 0.05))
    assert degree + 0.75 < math.log2(errors[0] / errors[1]) < degree + 1.6


def test_29_non_uniform_grids_are_refused():
    problem = linear_advection_diffusion(1, 0.0)
    with pytest.raises(ValueError, match="one per direction"):
        certify(problem, cells=(0.0, 0.1, 0.4, 1.0), degree=1)
    with pytest.raises(TypeError, match="whole numbers"):
        certify(problem, cells=np.array([0.25]), degree=1)


def test_30_one_step_with_quintic_hermite():
    """T shorter than a step: the cubic interpolant takes the place of the quintic one, the bound holds."""
    problem = linear_advection_diffusion(1, 0.0, 1e-4)
    result = certify(problem, cells=8, degree=2, estimator=SplitEstimator(interpolant=Hermite(5)))
    assert result.facts["steps"] == result.facts["slabs"] == 1
    assert result.error <= result.bound < 1.5 * result.error
    two = certify(
        problem, cells=8, degree=2, dt=0.5e-4, estimator=SplitEstimator(interpolant=Hermite(7), spacing=1)
    )
    assert two.facts["slabs"] == 2
    assert two.error <= two.bound


def test_tiny_amplitudes_keep_the_bound():
    """Squares of numbers below 1e-154 vanish; the bound must not vanish with them."""
    for amplitude in (1e-140, 1e-155, 1e-160):
        problem = advection(sine(PI2, amplitude=amplitude), 0.3, 0.01)
        result = certify(problem, cells=16, degree=2)
        assert result.bound >= 2.6e-6 * amplitude
        assert result.bound_energy >= result.bound
        assert result.bound_l1 > 0.0


def test_automatic_step_resolves_the_reaction():
    for velocity, reaction in ((0.0, 50.0), (1.0, 50.0)):
        exact = lambda x, t, b=velocity, c=reaction: math.exp(-c * t) * np.sin(PI2 * (x[0] - b * t))  # noqa: E731
        problem = advection(sine(PI2), velocity=velocity, reaction=reaction, exact=exact)
        result = certify(problem, cells=8, degree=2)
        assert result.solution.steps >= 15
        assert result.error <= result.bound < 2.0


def test_exact_solution_that_is_not_finite():
    problem = advection(sine(PI2), exact=lambda x, t: np.sin(PI2 * x[0]) * (np.nan if t > 0.0 else 1.0))
    with pytest.raises(ValueError, match="exact: expected finite values"):
        certify(problem, cells=8, degree=1)


@pytest.mark.parametrize("initial", [lambda x: 1e160 * np.sin(PI2 * x[0]), sine(PI2, amplitude=1e160)])
def test_data_with_squares_that_are_not_finite(initial):
    """No warning on the way, and the message does not blame the time step alone."""
    problem = advection(initial, 0.1, 1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NonFiniteError, match="so large"):
            certify(problem, cells=6, degree=1)
        assert 1e159 < np.abs(solve(problem, cells=6, degree=1).values).max() < 1e161
