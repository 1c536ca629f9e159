"""The estimated growth of small errors against closed forms and against perturbed runs."""

import math

import numpy as np
import pytest
from scipy.special import i0e

from stfem import Box, Dirichlet, Problem, Torus, equations, solve, stability_factor
from stfem.data import sine
from stfem.problems import burgers_cole_hopf, diffusive_p_system, linear_advection_diffusion
from stfem.semidiscretization.linearised import linearised, mass_root
from stfem.timestepping import integrate

PI2 = 2.0 * math.pi


def advection(reaction, diffusion=0.01, dim=1, final_time=0.5):
    equation = equations.AdvectionDiffusion((1.0,) * dim, diffusion=diffusion, reaction=reaction)
    return Problem(equation, Torus((1.0,) * dim), sine((PI2,) * dim), final_time)


@pytest.mark.parametrize("reaction", [-1.5, 0.0, 2.0])
@pytest.mark.parametrize(("dim", "cells"), [(1, 7), (2, 4)])
def test_constant_reaction(reaction, dim, cells):
    """Constants are carried unchanged but for exp(−ct), and nothing decays less."""
    result = stability_factor(solve(advection(reaction, dim=dim), cells=cells, degree=1), starts=4)
    np.testing.assert_allclose(result.factors, np.exp(-reaction * (0.5 - result.times)), rtol=1e-4)
    assert result.factor == result.factors.max()
    assert result.times[0] == 0.0
    assert result.times[-1] == 0.5
    assert result.factors[-1] == 1.0


def later(solution, values):
    """U(T) of the scheme from other initial values."""
    problem = solution.problem
    semi = solution.semidiscretization
    *_, last = integrate(semi, solution.stepper, values, problem.final_time, solution.dt)
    return last.values


def size(solution, values):
    return float(np.linalg.norm(mass_root(solution.semidiscretization) * values))


def check_by_perturbation(solution, result, tolerance=0.01):
    """The vector that should grow most does so in the scheme itself, and others grow less."""
    rng = np.random.default_rng(1)
    cells = solution.values.shape[-1]
    wave = np.zeros(solution.values.shape)
    wave[:, 0] = np.cos(PI2 * np.arange(cells) / cells)
    candidates = [result.perturbation, wave, rng.standard_normal(solution.values.shape)]
    grown = []
    for candidate in candidates:
        change = 1e-5 * candidate / size(solution, candidate)
        moved = [later(solution, solution.initial + sign * change) for sign in (1.0, -1.0)]
        grown.append(size(solution, moved[0] - moved[1]) / 2e-5)
    assert size(solution, result.perturbation) == pytest.approx(1.0)
    assert result.factors[0] == pytest.approx(grown[0], rel=tolerance)
    assert max(grown[1:]) < grown[0]


@pytest.mark.parametrize("degree", [1, 2])
def test_burgers_through_its_shock(degree):
    solution = solve(burgers_cole_hopf(0.02, 0.5), cells=32, degree=degree)
    result = stability_factor(solution)
    assert 1.5 < result.factor < 2.5
    assert np.all(np.diff(result.factors) < 0.0)
    check_by_perturbation(solution, result)


def test_a_system():
    solution = solve(diffusive_p_system(1, 1e-3, 0.2), cells=16, degree=1)
    result = stability_factor(solution, starts=1)
    assert result.perturbation.shape == solution.values.shape
    check_by_perturbation(solution, result)


@pytest.mark.parametrize("eps", [0.05, 0.02])
def test_stationary_shock(eps):
    """u = sin 2πx with the source that keeps it: v_t + (uv)_x = εv_xx has the steady state exp(∫u/ε).

    Its projection from constants gives ‖Φ(∞)‖ = √I_0(2κ)/I_0(κ) with κ = 1/(2πε), beside what has decayed.
    """
    u = sine(PI2)
    source = sine(2.0 * PI2, amplitude=math.pi) - eps * u.derivative(0).derivative(0)
    problem = Problem(equations.Burgers(1, eps), Torus(1.0), u, 4.0, source=source)
    result = stability_factor(solve(problem, cells=32, degree=2), starts=1, intervals=256)
    kappa = 1.0 / (PI2 * eps)
    assert result.factor == pytest.approx(math.sqrt(i0e(2.0 * kappa)) / i0e(kappa), rel=1e-3)


def test_viscous_shock_between_boundaries():
    """u = −tanh(x/2ε) on (−1, 1): ‖Φ‖ is that of the projection to sech²(x/2ε), which decays by exp(−λT).

    In the dual problem εz'' + uz' = −λz it is z = 1 − cosh(x/ε)/cosh(1/ε), λ = 1/(ε cosh(1/ε)), but for
    terms of the size λ; so ‖Φ‖ = ‖z‖ ‖sech²‖ / ∫sech² = √((2 − 3ε)/(6ε)).
    """
    eps, final_time = 0.1, 3.0
    profile = lambda x: -np.tanh(x[0] / (2.0 * eps))  # noqa: E731
    given = Dirichlet(lambda x, t: profile(x))
    domain = Box((-1.0,), (1.0,), boundary={"left": given, "right": given})
    problem = Problem(equations.Burgers(1, eps), domain, profile, final_time)
    solution = solve(problem, cells=32, degree=2)
    result = stability_factor(solution, starts=1)
    decay = math.exp(-final_time / (eps * math.cosh(1.0 / eps)))
    assert result.factor == pytest.approx(decay * math.sqrt((2.0 - 3.0 * eps) / (6.0 * eps)), rel=2e-3)
    check_by_perturbation(solution, result)


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 5, 8, 9])
def test_differences_of_many_cells_at_once(cells):
    """The matrix acts as the right-hand side does, of a linear scheme."""
    semi = solve(linear_advection_diffusion(1, 0.1, 0.01), cells=cells, degree=1).semidiscretization
    matrix = linearised(semi, 0.0, np.zeros(semi.shape))
    u = np.random.default_rng(0).standard_normal(semi.shape)
    np.testing.assert_allclose((matrix @ u.ravel()).reshape(u.shape), semi.rhs(0.0, u), rtol=1e-8, atol=1e-8)


def test_cross_terms_of_diffusion():
    equation = equations.AdvectionDiffusion((1.0, 0.5), diffusion=np.array([[0.05, 0.02], [0.02, 0.04]]))
    problem = Problem(equation, Torus((1.0, 1.0)), sine((PI2, PI2)), 0.01)
    semi = solve(problem, cells=(4, 5), degree=1).semidiscretization
    u = np.random.default_rng(0).standard_normal(semi.shape)
    product = linearised(semi, 0.0, np.zeros(semi.shape)) @ u.ravel()
    np.testing.assert_allclose(product.reshape(u.shape), semi.rhs(0.0, u), rtol=1e-8, atol=1e-8)


def test_text():
    result = stability_factor(solve(advection(-1.5), cells=6, degree=1), starts=2)
    assert not result.guaranteed
    assert "grow by a factor of 2.117" in str(result)
    assert "not guaranteed" in str(result)
    assert repr(result) == "StabilityFactor(factor=2.117, guaranteed=False)"


def test_arguments():
    solution = solve(advection(0.0), cells=4, degree=1)
    for wrong in ({"starts": 0}, {"starts": 9, "intervals": 8}):
        with pytest.raises(ValueError, match="expected 1 ≤ starts ≤ intervals, got"):
            stability_factor(solution, **wrong)
    with pytest.raises(TypeError, match="expected a Solution, got a int"):
        stability_factor(3)
