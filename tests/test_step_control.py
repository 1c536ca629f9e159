"""Controlled steps through solve, certify, estimate and files: guarantee, tolerance, unequal steps."""

from dataclasses import replace

import numpy as np
import pytest
import skfem

import stfem
from stfem.data import cosine, sine
from stfem.equations import AdvectionDiffusion
from stfem.estimators import PaperEstimator
from stfem.problems import ExactData, viscous_burgers
from stfem.problems.manufactured import balance, initial_value
from stfem.reconstruction import TwoStage, TwoStageMixed, VertexPatches
from stfem.timestepping import (
    RADAU5,
    RK4,
    ExplicitRungeKutta,
    ImplicitRungeKutta,
    StepControl,
    StepSizeError,
)

TURN = 2 * np.pi


def pulse(dim, power=8, least=0.01):
    """cos^{2n} of time around T/2 = ½, and a little at all times, for amplitudes in `dim` dimensions."""
    zero = 0.0 if dim == 1 else (0.0,) * dim
    return (0.5 + 0.5 * cosine(zero, frequency=TURN, phase=-np.pi)) ** power + least


def on_torus(dim, eps, velocity=0.2, final_time=1.0):
    wave = sine(TURN if dim == 1 else (TURN, *(0.0,) * (dim - 1)), frequency=-TURN * velocity)
    if dim > 1:
        wave = wave * cosine((0.0, TURN))
    exact = pulse(dim) * wave
    equation = AdvectionDiffusion((velocity, *(0.0,) * (dim - 1)), eps)
    return stfem.Problem(
        equation,
        stfem.Torus((1.0,) * dim),
        initial_value(exact),
        final_time,
        source=balance(equation, exact),
        exact=ExactData([exact]),
    )


def on_mesh(domain, dim, eps):
    exact = pulse(dim) * sine(TURN if dim == 1 else (TURN,) + (0.0,) * (dim - 1), phase=0.3)
    equation = AdvectionDiffusion((0.2, *(0.1,) * (dim - 1)), eps)
    return stfem.Problem(
        equation,
        domain(stfem.Dirichlet(exact)),
        initial_value(exact),
        1.0,
        source=balance(equation, exact),
        exact=exact,
    )


def box(dim):
    return lambda condition: stfem.Box((0.0,) * dim, (1.0,) * dim, condition)


def triangles(condition):
    return stfem.Domain(skfem.MeshTri().refined(2), condition)


def check(result):
    """The guarantee, and that its times are those of unequal steps."""
    assert result.bound >= result.error
    assert result.bound_final >= result.error_final
    assert result.enclosure[0] <= result.error_dg <= result.enclosure[1]
    solution = result.solution
    assert solution.steps == len(solution.sizes) == len(solution.times) - 1
    assert solution.times[-1] == solution.time
    assert solution.sizes.max() > 1.5 * solution.sizes.min()


@pytest.mark.parametrize("eps", [0.0, 1e-4, 1e-1])
@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_guarantee_on_a_torus(eps, degree, tol):
    result = stfem.certify(on_torus(1, eps), cells=12, degree=degree, step_control=StepControl(tol))
    check(result)
    assert result.guaranteed
    assert result.effectivity < 12.0


def test_guarantee_in_two_dimensions():
    result = stfem.certify(on_torus(2, 1e-2), cells=8, degree=2, step_control=StepControl(1e-4))
    check(result)
    assert result.guaranteed


def test_guarantee_of_a_nonlinear_problem():
    problem = viscous_burgers(dim=1, eps=1e-2, final_time=0.3)
    result = stfem.certify(problem, cells=24, degree=2, step_control=StepControl(1e-6))
    assert result.bound >= result.error
    assert result.guaranteed


@pytest.mark.parametrize(
    ("domain", "dim", "cells"),
    [(box(1), 1, 16), (box(2), 2, 5), (triangles, 2, None)],
    ids=["line", "box", "domain"],
)
@pytest.mark.parametrize(
    ("eps", "stepper"), [(1e-3, None), (1e-3, ImplicitRungeKutta(RADAU5)), (1e-1, ImplicitRungeKutta(RADAU5))]
)
def test_guarantee_on_meshes(domain, dim, cells, eps, stepper):
    result = stfem.certify(
        on_mesh(domain, dim, eps), cells=cells, degree=2, stepper=stepper, step_control=StepControl(3e-2)
    )
    assert result.bound >= result.error
    assert result.bound_final >= result.error_final
    assert result.enclosure[0] <= result.error_dg <= result.enclosure[1]
    assert result.solution.times[-1] == 1.0


@pytest.mark.parametrize(
    "rule", [VertexPatches(), TwoStage(), TwoStageMixed()], ids=lambda rule: type(rule).__name__
)
@pytest.mark.parametrize("spacing", [None, 1, 3])
def test_reconstructions_take_unequal_steps(rule, spacing):
    problem = on_mesh(triangles, 2, 1e-2)
    solution = stfem.solve(
        problem, degree=1, stepper=ImplicitRungeKutta(RADAU5), step_control=StepControl(3e-2)
    )
    assert solution.sizes.max() > 1.5 * solution.sizes.min()
    result = stfem.estimate(solution, stfem.MeshEstimator((rule,), spacing=spacing))
    assert result.bound >= result.error
    assert result.bound_final >= result.error_final


@pytest.mark.parametrize(
    "estimator",
    [
        PaperEstimator(),
        stfem.SplitEstimator(spacing=1),
        stfem.SplitEstimator(spacing=4),
        stfem.SplitEstimator(interpolant=stfem.Hermite(15)),
        stfem.SplitEstimator(spectral=False, members=(0.0,)),
    ],
    ids=repr,
)
def test_estimators_take_unequal_steps(estimator):
    result = stfem.certify(
        on_torus(1, 1e-3), cells=16, degree=2, estimator=estimator, step_control=StepControl(1e-7)
    )
    check(result)


@pytest.mark.parametrize("degree", [1, 2])
def test_time_stepping_adds_what_was_asked_for(degree):
    """With a slab per step, the temporal part that the estimator sees follows the tolerance."""
    estimator = stfem.SplitEstimator(spacing=1)
    for tol in (1e-2, 1e-4, 1e-6):
        result = stfem.certify(
            on_torus(1, 1e-3), cells=16, degree=degree, estimator=estimator, step_control=StepControl(tol)
        )
        temporal = float((result.history["temporal"] * result.history["alpha"]).sum())
        assert temporal <= tol


def test_fewer_steps_than_equal_ones_of_the_smallest_size():
    result = stfem.certify(on_torus(1, 1e-3), cells=16, degree=2, step_control=StepControl(1e-7))
    assert result.solution.steps < 0.7 / result.solution.sizes.min()
    assert result.facts["rejected_steps"] >= 1
    assert result.facts["steps"] == result.solution.steps


def test_a_tolerance_that_is_not_felt_gives_the_equal_steps():
    problem = on_torus(1, 1e-4, velocity=1.0)
    free = stfem.solve(problem, cells=16, degree=1, step_control=StepControl(1e3))
    equal = stfem.solve(problem, cells=16, degree=1)
    assert equal.steps <= free.steps <= equal.steps + 1
    assert free.sizes.max() <= equal.dt
    largest = stfem.solve(problem, cells=16, degree=1, dt=0.002, step_control=StepControl(1e3))
    assert largest.dt == 0.002
    assert largest.sizes.max() <= 0.002


def test_implicit_steps_have_no_limit_but_the_tolerance():
    problem = on_mesh(box(1), 1, 1e-1)
    solution = stfem.solve(
        problem, cells=8, degree=1, stepper=ImplicitRungeKutta(RADAU5), step_control=StepControl(1e2)
    )
    assert solution.steps < 20


def test_runs_repeat_bit_for_bit_and_estimates_agree(tmp_path):
    problem = on_torus(1, 1e-3)
    control = StepControl(1e-5)
    first = stfem.solve(problem, cells=12, degree=2, step_control=control, history=True)
    again = stfem.solve(problem, cells=12, degree=2, step_control=control)
    certified = stfem.certify(problem, cells=12, degree=2, step_control=control)
    np.testing.assert_array_equal(first.sizes, again.sizes)
    np.testing.assert_array_equal(first.values, again.values)
    np.testing.assert_array_equal(first.sizes, certified.solution.sizes)
    for a, b in zip(first.stored, again.nodes(), strict=True):
        assert a.time == b.time
        np.testing.assert_array_equal(a.values, b.values)
    bounds = {stfem.estimate(first).bound, stfem.estimate(again).bound, certified.bound}
    assert len(bounds) == 1
    assert f"steps={len(first.sizes)}" in repr(again)
    np.testing.assert_array_equal(again.times, [node.time for node in first.stored])

    for number, solution in enumerate((first, again)):
        loaded = stfem.solution.Solution.load(solution.save(tmp_path / f"{number}.npz"))
        assert loaded.steps == first.steps
        np.testing.assert_array_equal(loaded.sizes, first.sizes)
        assert stfem.estimate(loaded).bound == certified.bound


def test_files_with_equal_steps_stay_as_they_are(tmp_path):
    solution = stfem.solve(on_torus(1, 1e-3), cells=8, degree=1)
    loaded = stfem.solution.Solution.load(solution.save(tmp_path / "equal.npz"))
    assert loaded.sizes is None
    assert loaded.steps == solution.steps
    np.testing.assert_array_equal(loaded.times, [node.time for node in solution.nodes()])


@pytest.mark.parametrize("spoiled", [lambda s: -s, lambda s: s[:-1], lambda s: s[:, None], lambda s: s[:0]])
def test_files_with_other_steps_are_refused(tmp_path, spoiled):
    solution = stfem.solve(on_torus(1, 1e-3), cells=8, degree=1, step_control=StepControl(1e-3))
    path = replace(solution, sizes=spoiled(solution.sizes)).save(tmp_path / "spoiled.npz")
    with pytest.raises(ValueError, match=r"expected .*steps"):
        stfem.solution.Solution.load(path)


def test_steps_that_are_not_those_of_the_run_are_noticed():
    solution = stfem.solve(on_torus(1, 1e-3), cells=8, degree=1, step_control=StepControl(1e-3))
    other = stfem.solve(on_torus(1, 1e-3), cells=8, degree=1, step_control=StepControl(1e-5))
    with pytest.raises(ValueError, match="values: expected those at which the time stepping"):
        stfem.estimate(replace(solution, sizes=other.sizes))


def test_series_of_files_take_the_nearest_node(tmp_path):
    pytest.importorskip("meshio")
    solution = stfem.solve(on_torus(1, 1e-3), cells=8, degree=1, step_control=StepControl(1e-4))
    path = stfem.io.write_vtk_series(tmp_path / "run.pvd", solution, times=[0.0, 0.4, 1.0])
    written = [float(part.split('"')[1]) for part in path.read_text().split("timestep=")[1:]]
    nearest = [solution.times[np.abs(solution.times - t).argmin()] for t in (0.0, 0.4, 1.0)]
    np.testing.assert_allclose(written, nearest, rtol=1e-12)


def test_progress_bars_do_not_know_the_end(capsys):
    stfem.solve(on_torus(1, 1e-3), cells=8, degree=1, step_control=StepControl(1e-3), progress=True)
    assert "node" in capsys.readouterr().err


@pytest.mark.parametrize("given", [1e-3, StepControl, "1e-3"])
def test_what_is_no_control_is_refused(given):
    with pytest.raises(TypeError, match="step_control: expected a StepControl"):
        stfem.solve(on_torus(1, 1e-3), cells=8, degree=1, step_control=given)


def test_not_together_with_a_tolerance_of_the_bound_or_two_limits():
    with pytest.raises(TypeError, match="expected step_control only without tol"):
        stfem.certify(on_torus(1, 1e-3), tol=1e-2, step_control=StepControl(1e-3))
    with pytest.raises(TypeError, match="either dt or cfl"):
        stfem.solve(on_torus(1, 1e-3), cells=8, degree=1, dt=0.1, cfl=0.5, step_control=StepControl(1e-3))


def test_a_stepper_without_a_known_limit_needs_a_largest_step():
    class Own:
        order, implicit = 4, False

        def step(self, ode, t, u, dt, rate):
            return ExplicitRungeKutta(RK4).step(ode, t, u, dt, rate)

    problem = on_torus(1, 1e-3)
    with pytest.raises(ValueError, match="dt: expected a time step"):
        stfem.solve(problem, cells=8, degree=1, stepper=Own(), step_control=StepControl(1e-3))
    solution = stfem.solve(problem, cells=8, degree=1, stepper=Own(), dt=0.05, step_control=StepControl(1e-3))
    assert stfem.estimate(solution).bound >= stfem.estimate(solution).error


def test_an_unreachable_tolerance_is_an_error():
    with pytest.raises(StepSizeError, match="tolerance 1e-30"):
        stfem.solve(on_torus(1, 1e-3), cells=8, degree=1, step_control=StepControl(1e-30))


def test_unstable_steps_are_shortened():
    """A step beyond the stability limit shows in the residual before the run is lost."""
    problem = on_torus(1, 1e-4, velocity=1.0)
    result = stfem.certify(
        problem, cells=16, degree=1, stepper=ExplicitRungeKutta(RK4), dt=0.1, step_control=StepControl(1e-3)
    )
    assert result.bound >= result.error
    assert result.bound < 0.1
    assert result.solution.sizes.max() < 0.1


def burst(x, t):
    """A source that cannot be integrated: no step meets a tolerance at t = 0.6."""
    return np.sin(TURN * x[0]) / np.abs(t - 0.6) ** 1.5


@pytest.mark.filterwarnings("ignore:divide by zero")  # of the source, a function of the user
def test_a_run_that_fails_keeps_what_it_reached():
    problem = stfem.Problem(AdvectionDiffusion(0.2, 1e-3), stfem.Torus(1.0), sine(TURN), 1.0, source=burst)
    with pytest.raises(stfem.SolverError) as found:
        stfem.certify(problem, cells=8, degree=1, step_control=StepControl(1e-3))
    reached, certificate = found.value.solution, found.value.certificate
    assert 0.5 < reached.time <= 0.6
    assert found.value.time >= reached.time
    assert reached.times[-1] == reached.time
    assert len(reached.sizes) == reached.steps > 20
    assert certificate.solution.times[-1] == certificate.solution.time <= reached.time
    *_, last = reached.nodes()  # the same run again, compared at its end
    np.testing.assert_array_equal(last.values, reached.values)
    assert stfem.estimate(reached).bound >= 0.0
