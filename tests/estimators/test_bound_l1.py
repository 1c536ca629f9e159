"""The bound in L¹ by duality (N10), where the pointwise size of the residual is far too much."""

import math

import numpy as np
import pytest

from stfem import Problem, Torus, certify, equations, solve
from stfem.data import sine
from stfem.estimators.bound_l1 import SlabL1, dual_bound
from stfem.problems import burgers_cole_hopf, linear_advection_diffusion
from stfem.residual.levels import ResidualLevels

PI2 = 2.0 * math.pi


def levels(size, flux):
    return ResidualLevels(0.0, 1.0, np.array([size, 0.0]), np.array([0.0, flux]))


def slabs(count, expansion, size=1.0, flux=0.01, remainder=0.0):
    return [
        SlabL1(1.0 / count, size / count, remainder, levels(size / count, flux / count), expansion)
    ] * count


def test_without_expansion():
    """∫_0^1 0.01/√(2τ) dτ = 0.01 √2, the last part in L¹ itself."""
    assert dual_bound(0.0, slabs(4000, 0.0)) == pytest.approx(0.01 * math.sqrt(2.0), rel=0.02)
    assert dual_bound(0.3, []) == 0.3


@pytest.mark.parametrize("expansion", [0.5, 3.0])
def test_with_expansion(expansion):
    """α = (1 − exp(−2Lτ))/L."""
    tau = (np.arange(200000) + 0.5) / 200000
    exact = 0.01 * np.mean(np.sqrt(expansion / -np.expm1(-2.0 * expansion * tau)))
    assert dual_bound(0.0, slabs(4000, expansion)) == pytest.approx(exact, rel=0.02)
    assert dual_bound(0.0, slabs(4000, expansion)) >= exact * (1.0 - 1e-3)


def test_unknown_expansion_leaves_the_plain_bound():
    assert dual_bound(0.1, slabs(10, np.inf, size=2.0)) == pytest.approx(2.1)
    known, unknown = slabs(2, 0.0, size=2.0), slabs(2, np.inf, size=2.0)
    # before an unknown slab α starts from zero again
    assert dual_bound(0.0, known + unknown) > 2.0 + dual_bound(0.0, known) * 0.99


def l1_error(problem, certificate):
    x = (np.arange(40000) + 0.5) / 40000
    field, t = certificate.solution.reconstruct(), problem.final_time
    return float(np.mean(np.abs(field(x[None]) - problem.exact(x[None], t))))


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize(("final_time", "most"), [(0.1, 2.5), (0.2, 5.0), (0.5, 25.0)])
def test_through_a_viscous_shock(degree, final_time, most):
    """The shock forms at 0.16; plain sums of ∫|R| give 20 to 90 at T = 0.5."""
    problem = burgers_cole_hopf(0.02, final_time)
    result = certify(problem, cells=32, degree=degree)
    error = l1_error(problem, result)
    assert error <= result.bound_l1 <= most * error


@pytest.mark.parametrize("eps", [1e-3, 0.1])
def test_linear(eps):
    problem = linear_advection_diffusion(1, eps, 0.5)
    result = certify(problem, cells=16, degree=2)
    error = l1_error(problem, result)
    assert error <= result.bound_l1 <= 2.0 * error


def test_a_source_enters_the_expansion():
    """Manufactured: u = sin(2π(x − t)) of Burgers with the source that makes it exact."""
    u = sine(PI2, PI2)
    half = sine(2.0 * PI2, 2.0 * PI2, amplitude=0.5 * PI2)  # u ∂_xu = π sin(4π(x − t))
    source = u.time_derivative() + half - 0.01 * u.derivative(0).derivative(0)
    exact = lambda x, t: u(x, t)  # noqa: E731
    problem = Problem(equations.Burgers(1, 0.01), Torus(1.0), sine(PI2), 0.1, source=source, exact=exact)
    result = certify(problem, cells=24, degree=2)
    assert l1_error(problem, result) <= result.bound_l1
    assert result.effectivity >= 1.0


def test_there_is_none_beside_an_entropy():
    """Norms are then those of the entropy, also of one component: |e| is another one."""
    equation = equations.SymmetricSystem([[[1.0]]], symmetrizer=[[0.01]])
    result = certify(Problem(equation, Torus(1.0), sine(PI2), 0.1), cells=4, degree=1)
    assert result.bound_l1 is None
    assert result.bound > 0.0


def buckley_leverett(ratio=0.5):
    """u²/(u² + ratio·(1 − u)²) with its derivatives."""
    above = np.polynomial.Polynomial([0.0, 0.0, 1.0])
    below = above + ratio * np.polynomial.Polynomial([1.0, -1.0]) ** 2
    first = above.deriv() * below - above * below.deriv()
    second = first.deriv() * below - 2.0 * first * below.deriv()
    return equations.ScalarConservationLaw(
        lambda u: above(u) / below(u),
        lambda u: first(u) / below(u) ** 2,
        lambda u: second(u) / below(u) ** 3,
        dim=1,
        diffusion=0.02,
    )


def test_buckley_leverett():
    """A flux with an inflection, through its shock: the bound in L² has grown a thousandfold, in L¹ not."""
    problem = Problem(buckley_leverett(), Torus(1.0), 0.5 + sine(PI2, amplitude=0.4), 0.3)
    x = (np.arange(20000) + 0.5)[None] / 20000
    fine = solve(problem, cells=128, degree=3)(x)
    result = certify(problem, cells=32, degree=1)
    difference = result.solution.reconstruct()(x) - fine
    error, in_l2 = np.abs(difference).mean(), math.sqrt((difference**2).mean())
    assert error <= result.bound_l1 <= 40.0 * error
    assert result.bound_final > 200.0 * in_l2
