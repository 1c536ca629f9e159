"""Bounds where a pointwise rate explodes: shares of the dissipation, the joint dual norm, splits (T3, T4)."""

import math
from dataclasses import replace

import numpy as np
import pytest

from stfem import Problem, SplitEstimator, Torus, certify, equations
from stfem.data import sine
from stfem.estimators import BoundState
from stfem.problems import burgers_cole_hopf, linear_advection_diffusion, viscous_burgers
from stfem.residual import DissipativeRates, SlabNorms
from stfem.residual.joint import JointDual

PI2 = 2.0 * math.pi


def slab(residual=0.0, flux=0.0, growth=0.0, duration=0.5, dissipative=None, joint=None, mean=0.0):
    arrays = (np.array([value]) for value in (residual, 0.0, 0.0, flux))
    return SlabNorms(
        0.0, duration, *arrays, np.zeros((1, 1)), 0.0, mean, growth, dissipative=dissipative, joint=joint
    )


def rates(pointwise, half, whole, mean_free=True):
    ends = np.array([pointwise, half, whole])
    return DissipativeRates(np.array([0.0, 0.5, 1.0]), ends, ends, 4.0, pointwise, None, 0.0, mean_free)


def advanced(norms, initial=0.3, mean=0.0, members=(1.0,)):
    state = BoundState(initial, initial, mean, 0.0, 1.0, members)
    choice = state.advance(norms, 0.0)
    return state, choice


def test_all_dissipation_pays_for_growth_where_nothing_needs_the_dual_norm():
    norms = slab(residual=0.02, growth=6.0, dissipative=rates(6.0, 3.0, 1.0))
    state, choice = advanced(norms)
    assert state.final == pytest.approx(math.exp(0.25) * (math.sqrt(0.5 * 0.02) + 0.3))
    assert choice.exponent == pytest.approx(0.25)
    assert state.exponent == pytest.approx(0.25)


def test_shares_of_the_dissipation():
    """λ = 0 needs a share for its flux: the cheapest of the rest, rates convex in between."""
    norms = slab(flux=0.3, growth=6.0, dissipative=rates(6.0, 3.0, 1.0))
    state, choice = advanced(norms, members=(0.0,))
    found = [
        math.exp(0.25 * np.interp(theta, [0.0, 0.5, 1.0], [6.0, 3.0, 1.0]))
        * math.sqrt(0.09 + 0.3 / (2.0 * (1.0 - theta)))
        for theta in np.linspace(0.0, 0.9, 10)
    ]
    assert state.final == pytest.approx(min(found))
    assert choice.beta > 0.5 * 0.3
    assert 0 < int(np.argmin(found)) < 9


def test_decay_of_rates():
    norms = slab(residual=0.02, growth=1.0, dissipative=rates(1.0, -2.0, -5.0))
    state, choice = advanced(norms)
    assert state.final == pytest.approx(0.1 + 0.3 * math.exp(-1.25))
    assert choice.exponent == pytest.approx(-1.25)
    assert state.exponent == 0.0
    assert state.bound == pytest.approx(min(0.1 + 0.3, math.exp(0.25) * 0.4))


def test_the_mean_of_the_error_costs():
    """ē adds |ē|‖c − mean‖ to a, and ē²∫c_+ and what does not decay to r, unless errors need no mean zero."""
    plain, _ = advanced(slab(growth=1.0, dissipative=rates(1.0, -2.0, -5.0)))
    with_mean, _ = advanced(slab(growth=1.0, dissipative=rates(1.0, -2.0, -5.0)), mean=0.05)
    costs = 0.05 * 2.0 * 0.5, 0.05**2 * 0.5 * (1.0 + 5.0)
    expected = costs[0] + math.sqrt((0.3 * math.exp(-1.25)) ** 2 + costs[1])
    assert with_mean.final == pytest.approx(expected)
    assert with_mean.final > plain.final
    free = rates(1.0, -2.0, -5.0, mean_free=False)
    assert advanced(slab(growth=1.0, dissipative=free), mean=0.05)[0].final == pytest.approx(plain.final)


def test_joint_dual_norm():
    joint = JointDual(np.array([1.0, 4.0]), np.array([2.0, 4.0]), np.array([[0.04, 0.01]]), np.array([0.0]))
    norms = slab(residual=1.0, growth=6.0, dissipative=rates(6.0, 5.0, 4.0), joint=joint)
    state, choice = advanced(norms)
    ways = [math.exp(0.375) * math.sqrt(0.09 + 0.02), math.exp(1.0) * math.sqrt(0.09 + 0.005)]
    assert state.final == pytest.approx(min(ways))
    assert (choice.alpha, choice.beta) == (0.0, pytest.approx(0.02))
    # it is taken only where it is the cheapest
    cheap = slab(residual=1e-8, growth=0.0, joint=joint, dissipative=rates(0.0, 0.0, 0.0))
    state, choice = advanced(cheap)
    assert state.final == pytest.approx(0.3 + math.sqrt(0.5e-8))


def test_remainder_and_energy_where_the_joint_dual_norm_is_taken():
    """What acts at any time raises the supremum, and with it 2∫a√y of the split that the energy pays for."""
    joint = JointDual(np.array([0.0]), np.array([0.0]), np.array([[1e-6]]), np.array([0.0]))
    norms = replace(slab(residual=0.02, dissipative=rates(0.0, 0.0, 0.0), joint=joint), remainder=0.05)
    state, choice = advanced(norms)
    alpha, before = 0.1, math.sqrt(0.09 + 0.5e-6)
    assert choice.alpha == pytest.approx(0.05)
    assert state.final == pytest.approx(before + 0.05)
    work = 2.0 * (alpha * (0.3 + alpha) + 0.05 * (before + 0.05) + 0.05 * alpha)
    dissipated = 0.5 * (0.09 + work)
    by_share = min((0.3 + alpha + 0.05) ** 2 / (2.0 * share) for share in (0.9,))
    assert state.energy == pytest.approx(math.sqrt(state.bound**2 + min(by_share, dissipated)))


@pytest.mark.parametrize("weight", [0.2, 0.5])
def test_splits_for_the_energy_are_its_own(weight):
    """Where two splits cost the same in L², the energy takes what dissipates less, by (T4.3)."""
    member = 1.0 - math.sqrt(weight)
    norms = slab(residual=0.02, flux=0.05)
    both = advanced(norms, members=(member, 1.0))[0]
    alone = [advanced(norms, members=(m,))[0].energy for m in (member, 1.0)]
    assert both.energy <= min(alone) * (1.0 + 1e-12)


@pytest.mark.parametrize("flux", [0.0, 0.2])
def test_energy_bound_with_rates_is_not_larger(flux):
    norms = [slab(0.05, flux, 6.0, dissipative=d) for d in (None, rates(6.0, 3.0, 1.0))]
    energies = [advanced(entry, members=(0.0,))[0].energy for entry in norms]
    assert energies[1] < energies[0]


@pytest.mark.parametrize(("degree", "cells"), [(1, 32), (2, 32)])
def test_viscous_burgers_after_its_shock_has_formed(degree, cells):
    """A pointwise rate gives effectivities of 24 to 108 here."""
    result = certify(burgers_cole_hopf(0.02, 0.5), cells=cells, degree=degree)
    assert result.error <= result.bound
    assert result.error_final <= result.bound_final
    assert result.error_energy <= result.bound_energy
    assert result.effectivity <= 5.0
    assert result.parts["growth"] < 6.0


@pytest.mark.parametrize("eps", [0.05, 0.02])
@pytest.mark.parametrize("degree", [1, 2])
def test_viscous_burgers_before(eps, degree):
    result = certify(burgers_cole_hopf(eps, 0.1), cells=32, degree=degree)
    assert 1.0 <= result.effectivity <= 1.5
    assert result.error_energy <= result.bound_energy


@pytest.mark.parametrize("eps", [1.0, 0.1, 1e-2, 1e-3])
@pytest.mark.parametrize("cells", [8, 16])
@pytest.mark.parametrize("factory", [linear_advection_diffusion, viscous_burgers])
def test_splits_by_frequency_are_never_worse(factory, cells, eps):
    problem = factory(1, eps, 0.2)
    sharp = certify(problem, cells=cells, degree=2)
    assert sharp.effectivity >= 1.0
    plain = certify(problem, cells=cells, degree=2, estimator=SplitEstimator(spectral=False))
    assert sharp.bound <= plain.bound * (1.0 + 1e-3)
    assert sharp.bound_final <= plain.bound_final * (1.0 + 1e-3)
    assert sharp.bound_energy <= plain.bound_energy * (1.0 + 1e-3)


def test_two_dimensions():
    equation = equations.Burgers(2, np.array([[0.05, 0.02], [0.02, 0.04]]))
    problem = Problem(equation, Torus((1.0, 1.0)), sine((PI2, PI2)), 0.1)
    result = certify(problem, cells=12, degree=1)
    fine = certify(problem, cells=24, degree=2)
    assert result.guaranteed
    # errors differ by at most what both bounds allow
    assert result.enclosure[0] <= result.enclosure[1]
    assert fine.bound < 0.2 * result.bound


@pytest.mark.parametrize("wrong", ["no", 2, None])
def test_spectral_is_true_or_false(wrong):
    with pytest.raises(TypeError, match="spectral: expected True or False"):
        SplitEstimator(spectral=wrong)
