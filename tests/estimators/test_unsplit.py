import numpy as np
import pytest

import stfem
from stfem.estimators import AllDualEstimator, AllL2Estimator
from stfem.estimators.unsplit import _means_dual_sq
from stfem.meshes import TensorGrid
from stfem.problems import diffusive_p_system, linear_advection_diffusion, sheared_pulse, viscous_burgers


def solution(eps: float, cells: int = 8) -> stfem.Solution:
    return stfem.solve(linear_advection_diffusion(1, eps, 0.1), cells=cells, degree=1, history=True)


@pytest.mark.parametrize("estimator", [AllDualEstimator(), AllL2Estimator()])
@pytest.mark.parametrize(
    "problem",
    [linear_advection_diffusion(2, 1e-2, 0.1), viscous_burgers(1, 1e-2), sheared_pulse(2, 1e-1, 0.1)],
)
def test_unsplit_bounds_are_bounds(problem, estimator):
    estimate = stfem.estimate(stfem.solve(problem, cells=8, degree=1), estimator)
    assert estimate.effectivity >= 1.0
    assert estimate.effectivity_energy >= 1.0
    assert estimate.guaranteed


def test_the_dual_norm_blows_up_and_the_split_does_not():
    eps = np.array([1e-4, 1e-6, 1e-8])
    runs = [solution(e) for e in eps]
    dual = [stfem.estimate(run, AllDualEstimator()).effectivity for run in runs]
    split = [stfem.estimate(run).effectivity for run in runs]
    assert np.diff(np.log(dual)) / np.diff(np.log(eps)) == pytest.approx([-0.5, -0.5], abs=0.05)
    assert max(split) < 1.1


def test_without_diffusion_the_dual_norm_says_nothing():
    estimate = stfem.estimate(solution(0.0), AllDualEstimator())
    assert estimate.bound == np.inf
    assert estimate.bound_l1 is None
    assert estimate.shares["dual"] == 1.0
    assert "dual norm" in estimate.explanation


def test_diffusion_too_small_for_its_reciprocal():
    """The flux of the cell means was no number there, and the bound far below the error."""
    for eps in (5e-324, 1e-310, 1e-300):
        estimate = stfem.estimate(solution(eps), AllDualEstimator())
        assert estimate.bound > 1e100
        assert estimate.bound_final > 1e100


def test_l2_is_never_sharper_than_the_family():
    run = solution(1e-1)
    assert stfem.estimate(run, AllL2Estimator()).bound >= stfem.estimate(run).bound * (1.0 - 1e-12)


def test_systems_are_refused():
    run = stfem.solve(diffusive_p_system(1, 1e-2), cells=4, degree=1)
    with pytest.raises(ValueError, match="expected a scalar equation, got 2"):
        stfem.estimate(run, AllDualEstimator())


def test_flux_of_the_cell_means_is_the_dual_norm_of_a_smooth_mode():
    # means of cos 2πx: p² → ‖cos‖²/(D (2π)²) as the grid is refined
    class Norms:
        cell_means: np.ndarray

    errors = []
    for cells in (16, 32):
        grid = TensorGrid((1.0,), cells)
        ends = np.sin(2 * np.pi * np.arange(cells + 1) / cells) / (2 * np.pi)
        norms = Norms()
        norms.cell_means = (np.diff(ends) * cells)[None]
        value = _means_dual_sq(norms, grid, np.array([0.3]))
        errors.append(abs(value - 0.5 / (0.3 * (2 * np.pi) ** 2)))
    assert errors[1] < 0.3 * errors[0] < 0.01
