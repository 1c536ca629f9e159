"""True errors: by modes, by points and by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from stfem import Hermite, Problem, Torus, certify, equations
from stfem.data import Approximated, Constant, Polynomial, Trigonometric, cosine, sine
from stfem.estimators import errors
from stfem.estimators.errors import TrueError, distance
from stfem.meshes.grid import TensorGrid
from stfem.problems import CATALOGUE, ExactData, linear_advection_diffusion
from stfem.reconstruction import reconstructed_slabs

PI2 = 2.0 * math.pi
CASES = [
    (factory, dim)
    for name, factory in CATALOGUE.items()
    for dim in (1, 2, 3)
    if name != "burgers_cole_hopf" and (name, dim) not in (("sheared_pulse", 1), ("shallow_water", 3))
]


def at_points(problem):
    """The same problem, its exact solution known by values only."""
    return Problem(
        problem.equation,
        problem.domain,
        problem.initial,
        problem.final_time,
        problem.source,
        exact=lambda x, t: problem.exact(x, t),
        exact_gradient=lambda x, t: problem.exact_gradient(x, t),
    )


def near(problem, grid, degree, time, size=1e-3):
    """A random field near u(t)."""
    modes = [problem.exact.project((c,), grid, degree, time)[0] for c in range(problem.equation.components)]
    return np.stack(modes) + size * np.random.default_rng(7).normal(size=(len(modes), *modes[0].shape))


@pytest.mark.parametrize(("factory", "dim"), CASES)
def test_modes_and_points_agree(factory, dim):
    problem, degree, time = factory(dim=dim, eps=0.3), 5, 0.02
    grid = TensorGrid((1.0,) * dim, (4, 5, 3)[:dim])
    field = near(problem, grid, degree, time)
    modes, points = TrueError(problem, grid, degree), TrueError(at_points(problem), grid, degree, 5)
    assert modes.distance(field, time) == pytest.approx(points.distance(field, time), rel=1e-7)
    assert modes._dissipation(field, time) == pytest.approx(points._dissipation(field, time), rel=1e-7)
    assert modes.distance(field, 1.1 * time) != pytest.approx(points.distance(field, time), rel=1e-5)


@pytest.mark.parametrize("cells", [(1, 1), (2, 1), (2, 3)])
@pytest.mark.parametrize("waves", [1, 3, 5])
@pytest.mark.parametrize("degree", [0, 1, 4])
def test_waves_that_the_grid_does_not_resolve(cells, waves, degree):
    """What the modes of u leave out is bounded and added: never less than the error, exact once resolved."""
    u = sine((waves * PI2, PI2)) + cosine((PI2, -PI2), phase=0.4, amplitude=0.7)
    grid, field = TensorGrid((1.0, 1.0), cells), np.ones((1, degree + 1, degree + 1, *cells))
    problem = Problem(equations.AdvectionDiffusion((1.0, 0.0)), Torus((1.0, 1.0)), u, 1.0, exact=u)
    fine = distance(at_points(problem), grid, degree, field, 0.0, 40)
    value = distance(problem, grid, degree, field, 0.0)
    half_phase = math.pi * waves / cells[0]  # modes up to half the phase of a cell say little
    assert fine * (1.0 - 1e-12) <= value <= fine * (1.0 + (1e-6 if half_phase < degree + 4 else 0.15))


@pytest.mark.parametrize("known_by", ["data", "values"])
def test_norms_by_hand(known_by, monkeypatch):
    """u = sin 2π(x + y), v = 0: ‖u‖² = |Ω|/2 and ‖D^{1/2}∇u‖² = 4π² Σ D_ij |Ω|/2, also of rank one."""
    monkeypatch.setattr(errors, "_BLOCK", 100)
    u = sine((PI2, PI2))
    for matrix in ([[2.0, 0.5], [0.5, 1.0]], [[4.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]], 0.0):
        equation = equations.AdvectionDiffusion((0.0, 0.0), matrix)
        problem = Problem(equation, Torus((1.0, 2.0)), u, 1.0, exact=u)
        measure = TrueError(
            problem if known_by == "data" else at_points(problem), TensorGrid((1.0, 2.0), 4), 7
        )
        zero = np.zeros((1, 8, 8, 4, 4))
        assert measure.distance(zero, 0.0) == pytest.approx(1.0, rel=1e-9)
        expected = PI2**2 * float(equation.diffusion.sum())
        assert measure._dissipation(zero, 0.0) == pytest.approx(expected, rel=1e-9)


def test_only_diffusing_components_dissipate():
    """The p-system: v_1 and v_2 diffuse, τ does not."""
    problem, grid = CATALOGUE["diffusive_p_system"](dim=2, eps=0.5), TensorGrid((1.0, 1.0), 4)
    field = near(problem, grid, 3, 0.0)
    before = TrueError(problem, grid, 3)._dissipation(field, 0.0)
    field[0] += 1.0 + np.random.default_rng(1).normal(size=field[0].shape)
    assert TrueError(problem, grid, 3)._dissipation(field, 0.0) == before
    field[1] += np.random.default_rng(1).normal(size=field[0].shape)
    assert TrueError(problem, grid, 3)._dissipation(field, 0.0) > 2.0 * before


@pytest.mark.parametrize("block", [1, 300, 10**6])
def test_blocks_of_cells_change_nothing(block, monkeypatch):
    problem, grid = linear_advection_diffusion(3, 0.1), TensorGrid((1.0,) * 3, (5, 2, 3))
    field = near(problem, grid, 2, 0.1)
    measure = TrueError(at_points(problem), grid, 2)
    monkeypatch.setattr(errors, "_BLOCK", 10**9)
    whole = measure.distance(field, 0.1), measure._dissipation(field, 0.1)
    monkeypatch.setattr(errors, "_BLOCK", block)
    assert (measure.distance(field, 0.1), measure._dissipation(field, 0.1)) == pytest.approx(whole, rel=1e-13)


@pytest.mark.parametrize("name", ["linear_advection_diffusion", "diffusive_p_system"])
def test_whole_runs_agree(name):
    problem = CATALOGUE[name](dim=2, eps=0.01, final_time=0.02)
    options = {"cells": 6, "degree": 1, "dt": 0.004}
    modes, points = certify(problem, **options), certify(at_points(problem), **options)
    for attribute in ("error", "error_final", "error_energy", "error_dg"):
        assert getattr(modes, attribute) == pytest.approx(getattr(points, attribute), rel=1e-7), attribute
    np.testing.assert_allclose(modes.history["error"], points.history["error"], rtol=1e-7)
    assert modes.bound == points.bound


def test_every_time_is_measured_once():
    """Ends of all slabs, of which neighbours share one, and the midpoints."""
    problem, times = linear_advection_diffusion(1, 0.01, 0.1), []
    watched = at_points(problem)
    exact = watched.exact
    object.__setattr__(watched, "exact", lambda x, t: times.append(t) or exact(x, t))
    result = certify(watched, cells=6, degree=1)
    slabs = result.facts["slabs"]
    assert len(times) == 2 * slabs + 1 + 1  # the last one for the error of the numerical solution
    assert times[:-1] == sorted(set(times))
    assert np.array_equal(times[2:-1:2], result.history["time"])


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize(
    ("peak", "supremum", "final"),
    [(0.0, 1.0, 0.0), (0.5, 1.0, 0.75), (1.0, 1.0, 1.0), (0.3, 1.0, 0.51), (0.8, 1.0, 0.96)],
)
def test_supremum_holds_ends_and_tops(peak, supremum, final, times):
    """Against u = 0, û = 1 − (t − peak)² in one slab [0, 1]; the first case decays, the last one grows."""
    problem = Problem(equations.AdvectionDiffusion(1.0, 0.5), Torus(1.0), 0.0, 1.0, exact=Constant(0.0, 1))
    states = {t: [1.0 - (t - peak) ** 2, -2.0 * (t - peak)] for t in (0.0, 1.0)}
    nodes = [SimpleNamespace(time=t, state=np.reshape(state, (2, 1, 1, 1))) for t, state in states.items()]
    measure = TrueError(problem, TensorGrid((1.0,), 1), 0, times=times)
    for slab in reconstructed_slabs(nodes, Hermite(3)):
        measure.take(slab)
    assert (measure.supremum, measure.final) == pytest.approx((supremum, final), abs=1e-14)


def test_the_supremum_of_a_longer_run_is_not_smaller():
    """Near its largest value the error is measured where a parabola has its top, however long the slabs."""
    problems = [CATALOGUE["burgers_cole_hopf"](eps=0.1, final_time=time) for time in (0.1, 0.2, 0.4)]
    found = [certify(problem, cells=16, degree=2, dt=1e-3).error for problem in problems]
    assert found[1:] == pytest.approx([found[0]] * 2, rel=5e-4)


def test_derivatives_of_data_are_the_default_gradient():
    wave, x = sine((PI2, 0.0), frequency=-PI2), np.random.default_rng(2).uniform(size=(2, 9))
    equation, square = equations.AdvectionDiffusion((1.0, 0.0), 0.2), Torus((1.0, 1.0))
    problem = Problem(equation, square, sine((PI2, 0.0)), 1.0, exact=ExactData([wave], decay=3.0))
    slope = math.exp(-0.3) * PI2 * np.cos(PI2 * (x[0] - 0.1))
    assert problem.exact_gradient(x, 0.1) == pytest.approx(np.stack([slope, 0.0 * slope])[:, None], abs=1e-13)
    unknown = Problem(equation, square, sine((PI2, 0.0)), 1.0, exact=Approximated(wave, 0.0))
    assert unknown.exact_gradient is None
    assert TrueError(unknown, TensorGrid((1.0, 1.0), 2), 1).energy is None
    own = Problem(equation, square, sine((PI2, 0.0)), 1.0, exact=wave, exact_gradient=lambda x, t: 0.0 * x)
    assert not own.exact_gradient(x, 0.1).any()


def test_polynomials_are_exact_data():
    """u = x(1 − x)(1 + y), v = 0 on three by two cells."""
    u = Polynomial([[0.0, 0.0], [1.0, 1.0], [-1.0, -1.0]], dim=2)
    problem = Problem(equations.AdvectionDiffusion((0.0, 0.0)), Torus((1.0, 1.0)), u, 1.0, exact=u)
    zero = np.zeros((1, 2, 2, 3, 2))
    assert distance(problem, TensorGrid((1.0, 1.0), (3, 2)), 1, zero, 0.3) == pytest.approx(
        math.sqrt(7.0 / 90.0), rel=1e-12
    )


@pytest.mark.parametrize(
    ("exact", "error", "message"),
    [
        ((sine(PI2), sine(PI2)), ValueError, r"exact: expected data of shape \(1,\) and dimension 1"),
        (sine((PI2, 0.0)), ValueError, "exact: expected data of shape"),
        ((lambda x, t: x[0],), TypeError, "exact: expected Data in every entry, got function"),
        ((), ValueError, "exact: expected entries of one dimension"),
        (cosine(PI2), ValueError, "exact: expected the initial value"),
    ],
)
def test_wrong_exact_data(exact, error, message):
    with pytest.raises(error, match=message):
        Problem(equations.AdvectionDiffusion(1.0), Torus(1.0), sine(PI2), 1.0, exact=exact)


def test_wrong_entries():
    with pytest.raises(ValueError, match=r"one dimension, got \[1, 2\]"):
        ExactData([Constant(1.0, 1), Constant(1.0, 2)])
    with pytest.raises(ValueError, match=r"decay: expected a finite number from .*, got nan"):
        ExactData([Trigonometric.number(1.0, 1)], math.nan)


def test_an_exact_solution_is_needed():
    problem = Problem(equations.AdvectionDiffusion(1.0), Torus(1.0), 1.0, 1.0)
    with pytest.raises(ValueError, match="exact: expected a problem with an exact solution"):
        TrueError(problem, TensorGrid((1.0,), 2), 1)
