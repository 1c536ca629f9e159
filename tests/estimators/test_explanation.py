"""Every estimate says what dominates it: runs with a different dominant part each."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sample_meshes import moved

from stfem import (
    Box,
    Dirichlet,
    Domain,
    MeshEstimator,
    Problem,
    SplitEstimator,
    StationaryProblem,
    Torus,
    certify,
    equations,
    estimate,
    solve_stationary,
)
from stfem.data import Polynomial, Trigonometric, sine
from stfem.estimators import AllDualEstimator, AllL2Estimator, PaperEstimator
from stfem.estimators.explanation import NAMES, contributions
from stfem.problems import burgers_cole_hopf, diffusive_p_system, linear_advection_diffusion

PI2 = 2.0 * math.pi


def linear(eps=1e-4, final_time=0.5):
    return linear_advection_diffusion(1, eps, final_time)


def unresolved():
    """30 waves on 8 cells."""
    return Problem(equations.AdvectionDiffusion(1.0, 1e-4), Torus(1.0), sine(30.0 * PI2), 0.01)


RUNS = {
    "space": lambda: certify(linear(), cells=16, degree=2),
    "time": lambda: certify(linear(), cells=8, degree=3, estimator=SplitEstimator(spacing=60)),
    "initial": lambda: certify(unresolved(), cells=8, degree=1),
    "dual": lambda: certify(burgers_cole_hopf(0.05, 0.1), cells=16, degree=1, estimator=AllDualEstimator()),
    "growth": lambda: certify(
        burgers_cole_hopf(0.02, 0.4), cells=24, degree=2, estimator=SplitEstimator(spectral=False)
    ),
}


@pytest.mark.parametrize("dominant", RUNS)
def test_dominant_parts(dominant):
    result = RUNS[dominant]()
    shares = result.shares
    assert list(shares) == list(NAMES)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert min(shares.values()) >= 0.0
    assert max(shares, key=shares.get) == dominant
    assert shares[dominant] > 0.6
    percent = f"{100.0 * shares[dominant]:.0f} %"
    assert result.explanation.startswith(f"{percent} {NAMES[dominant]}")
    assert f"mostly  {result.explanation}" in str(result).splitlines()


def test_advice():
    growth, time, space = (RUNS[name]().explanation for name in ("growth", "time", "space"))
    assert "stability_factor(solution)" in growth
    assert "bound_l1" in growth
    assert time.endswith("take a smaller spacing of nodes, or dt")
    every = certify(linear(), cells=8, degree=3, dt=0.1, estimator=SplitEstimator(spacing=1))
    assert every.explanation.endswith("take smaller steps (dt)")
    assert space.endswith("refine or raise the degree")


def test_contributions_by_hand():
    """z = 1, then α = 1 (a quarter of it in time), β = 3.75, doubled; then halved by decay."""
    history = {
        "alpha": np.array([1.0, 0.0]),
        "beta": np.array([1.25, 0.0]),
        "temporal": np.array([0.25, math.inf]),
        "bound": np.array([5.0, 2.5]),
    }
    found = contributions({"initial": 1.0}, history, 1.0)
    np.testing.assert_allclose(found[:, 0], [1.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(found[:, 1], [1.0, 0.75, 0.25, 0.5, 2.5])
    np.testing.assert_allclose(found[:, 2], found[:, 1] / 2.0)
    np.testing.assert_allclose(contributions({"initial": 0.5}, history, 2.0)[0], [1.0, 1.0, 0.5])


@pytest.mark.parametrize(
    "estimator", [None, AllL2Estimator(), SplitEstimator(members=(0.0,)), PaperEstimator()]
)
def test_other_estimators_and_systems(estimator):
    for problem in (linear(1e-2), diffusive_p_system(1, 1e-3, 0.02)):
        result = certify(problem, cells=8, degree=2, estimator=estimator)
        assert sum(result.shares.values()) == pytest.approx(1.0)
        assert "%" in result.explanation
    assert "constants" in result.explanation or not isinstance(estimator, PaperEstimator)


def test_constants_of_a_comparator():
    """Where nothing grows, what the published bound has beyond its parts are constants."""
    result = certify(linear(1e-2), cells=16, degree=1, estimator=PaperEstimator())
    assert result.shares["growth"] > 0.2
    assert "constants of the stability estimate" in result.explanation
    assert NAMES["growth"] not in result.explanation


def test_decay_has_a_sentence_of_its_own():
    result = certify(linear(0.1, 1.0), cells=8, degree=2)
    assert result.bound_final < 0.5 * result.bound
    assert ". At T " in result.explanation
    assert ". At T " not in RUNS["space"]().explanation


def test_no_history_an_infinite_bound_and_none():
    result = RUNS["space"]().estimate
    shares = replace(result, history={}).shares
    assert max(shares, key=shares.get) == "space"
    for field in ("bound", "bound_final"):
        result = replace(result, **{field: math.inf})
    assert result.shares["growth"] == 1.0
    assert result.explanation.startswith("100 % growth factor; stability_factor")
    still = Problem(equations.AdvectionDiffusion(1.0, 0.1), Torus(1.0), Trigonometric.number(0.0, 1), 0.1)
    nothing = certify(still, cells=4, degree=1)
    assert nothing.shares == {} or sum(nothing.shares.values()) == pytest.approx(1.0)
    assert replace(nothing, bound=0.0, bound_final=0.0, parts={}, history={}).explanation == (
        "nothing contributes: the bound is 0"
    )


def test_meshes():
    problem = Problem(
        equations.AdvectionDiffusion((1.0,), 0.05), Box((0.0,), (1.0,), Dirichlet(0.0)), sine(0.5 * PI2), 0.2
    )
    result = certify(problem, cells=12, degree=1, estimator=MeshEstimator())
    assert sum(result.shares.values()) == pytest.approx(1.0)
    assert result.shares["boundary"] == 0.0
    assert "lifted" in result.explanation


@pytest.mark.parametrize("eps", [1.0, 0.0])
def test_without_time(eps):
    """T5.3, with a, p, κ and θ as the estimate has them."""
    wave = sine((0.5 * PI2, 0.0)) * sine((0.0, 0.5 * PI2))
    domain = Domain(moved("triangles", 6, 0.2), Dirichlet(0.0))
    equation = equations.AdvectionDiffusion((0.0, 0.0), eps, 1.0)
    result = estimate(solve_stationary(StationaryProblem(equation, domain, wave), degree=1))
    shares, parts, kappa = result.shares, result.parts, result.facts["kappa"]
    assert list(shares) == list(NAMES)
    assert sum(shares.values()) == pytest.approx(1.0)
    space = (shares["space"] + shares["algebraic"]) * result.bound
    assert space == pytest.approx(parts["hyperbolic"] / kappa)
    assert shares["growth"] == 0.0
    assert (shares["dual"] > 0.0) == (eps > 0.0)
    unsolved = replace(result, parts={**parts, "algebraic": 0.9 * parts["hyperbolic"]})
    if eps == 0.0:
        assert unsolved.explanation.startswith("90 % algebraic error of the solver")
        assert unsolved.explanation.endswith("solve more exactly (solver)")


def test_changes_of_the_reconstruction():
    """Where the bound goes on from another û, nothing has grown."""
    result = RUNS["space"]().estimate
    history = {**result.history, "bound": result.history["bound"] + 0.5 * result.bound}
    facts = {**result.facts, "switches": 1}
    moved_on = replace(
        result, history=history, bound=1.5 * result.bound, bound_final=1.5 * result.bound, facts=facts
    )
    assert "33 % changes of the reconstruction" in moved_on.explanation
    assert "growth" not in moved_on.explanation


def test_oscillation_of_boundary_data():
    """x⁴ on the boundary, which û of degree 2 misses."""
    power = Polynomial(np.eye(5)[4][:, None, None])
    domain = Domain(moved("triangles", 3, 0.2), Dirichlet(power))
    problem = Problem(equations.AdvectionDiffusion((0.0, 0.0), 1e-6), domain, power, 0.01)
    result = certify(problem, cells=None, degree=1)
    assert sum(result.shares.values()) == pytest.approx(1.0)
    assert result.shares["boundary"] > 0.0
