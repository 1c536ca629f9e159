"""Nonlinear cases on bounded domains: solutions solve the equation, states stay in the proved range."""

import numpy as np
import pytest
from sample_meshes import moved

from stfem import Box, Dirichlet, Problem, problems
from stfem.data import Polynomial
from stfem.equations import Burgers
from stfem.meshes.unstructured import from_skfem
from stfem.problems.states import state_range

STEP = 1e-3
FIRST = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
CASES = {
    **{f"wave {d}D^{p}": (problems.nonlinear_wave, d, {"power": p}) for d in (1, 2, 3) for p in (2, 3, 4)},
    **{f"front {d}D": (problems.burgers_front, d, {}) for d in (1, 2, 3)},
}


def difference(f, x, i):
    shift = np.zeros((len(x), 1))
    shift[i] = STEP
    return sum(w * f(x + k * shift) for k, w in FIRST.items()) / STEP


def residual(problem, x, t):
    """∂_t u + ∇·(f(u) − D∇u) − g."""

    def flux(y, i):
        convective = problem.equation.flux(problem.exact(y, t).reshape(1, -1), y, t, i)[0]
        slope = np.reshape(problem.exact_gradient(y, t), (len(y), -1))
        return convective - problem.equation.diffusion[i] @ slope

    rate = sum(w * problem.exact(x, t + k * STEP).reshape(-1) for k, w in FIRST.items()) / STEP
    divergence = sum(difference(lambda y, i=i: flux(y, i), x, i) for i in range(len(x)))
    return rate + divergence - problem.source[0](x, t)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("eps", [0.02, 0.2])
def test_solution_solves_the_equation(name, eps):
    make, dim, options = CASES[name]
    problem, other = make(dim, eps, **options), make(dim, 1.1 * eps, **options)
    x = np.random.default_rng(0).uniform(0.02, 0.98, (dim, 40))
    for t in (0.1, 0.4):
        assert np.max(np.abs(residual(problem, x, t))) < 1e-4
    assert problem.exact(x, 0.0).reshape(-1) == pytest.approx(problem.initial[0](x), abs=1e-14)
    object.__setattr__(problem, "equation", other.equation)
    assert np.max(np.abs(residual(problem, x, 0.1))) > 1e-3  # another diffusion is noticed


@pytest.mark.parametrize("power", [2, 3])
def test_states_stay_in_their_range(power):
    problem = problems.nonlinear_wave(2, 0.01, power)
    known = state_range(problem, from_skfem(moved("triangles", 6)))
    x = np.random.default_rng(0).uniform(0.0, 1.0, (2, 2000))
    assert known.unproved == ()
    assert 0.7 < known.lower <= problem.initial[0](x).min()
    for t in (0.0, 0.2, 0.5):
        low, high = known.until(t)
        assert low <= problem.exact(x, t).min() <= problem.exact(x, t).max() <= high


def test_range_takes_the_boundary_into_account():
    given = Polynomial([[0.0, 3.0]])
    problem = Problem(Burgers(1), Box(-1.0, 1.0, Dirichlet(given)), Polynomial([0.0, 1.0], dim=1), 2.0)
    known = state_range(problem, problem.domain.mesh(4))
    assert (known.lower, known.upper) == pytest.approx((-1.0, 6.0))
    assert known.until(2.0) == (known.lower, known.upper)
    bare = Problem(Burgers(1), Box(0.0, 1.0, Dirichlet(0.0)), lambda x: np.sin(x[0]), 1.0)
    assert "not proved" in state_range(bare, bare.domain.mesh(4)).unproved[0]


def test_arguments():
    with pytest.raises(ValueError, match="power: expected 2, 3 or 4, got 5"):
        problems.nonlinear_wave(power=5)
    with pytest.raises(ValueError, match="eps"):
        problems.burgers_front(eps=0.0)
