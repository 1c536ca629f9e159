import dataclasses

import numpy as np
import pytest

import stfem
from stfem import Siac, SplitEstimator
from stfem.equations import DiffusivePSystem
from stfem.estimators import AllDualEstimator, PaperEstimator
from stfem.plotting import (
    bound_parts,
    plot_bound,
    plot_estimate,
    plot_growth,
    plot_indicators,
    plot_residual,
    plot_shares,
)
from stfem.problems import diffusive_p_system, linear_advection_diffusion, viscous_burgers


@pytest.fixture(scope="module")
def growing():
    estimator = SplitEstimator(spectral=False)  # the pointwise rate
    return stfem.certify(viscous_burgers(1, 2e-3, 0.1), cells=8, degree=1, estimator=estimator)


@pytest.fixture(scope="module")
def system():
    problem = diffusive_p_system(1, 1e-2, 0.02)
    equation = DiffusivePSystem(1e-2, dim=1, lower=0.85, upper=2.0)
    wide = dataclasses.replace(problem, equation=equation)
    return stfem.certify(wide, cells=8, degree=1, initial_correction=False)


def stairs(axes):
    (drawn,) = axes.patches
    return drawn.get_data().values, drawn.get_data().edges


def test_bound_and_true_error_over_time(results):
    estimate = results[1]
    bound, error = plot_bound(estimate).axes[0].lines
    np.testing.assert_array_equal(bound.get_xdata(), [0.0, *estimate.history["time"]])
    np.testing.assert_array_equal(bound.get_ydata(), [estimate.parts["initial"], *estimate.history["bound"]])
    np.testing.assert_array_equal(error.get_xdata(), estimate.history["time"])
    np.testing.assert_array_equal(error.get_ydata(), estimate.history["error"])
    assert error.get_linestyle() == "None"
    assert bound.get_ydata()[-1] == estimate.bound_final


def test_without_an_exact_solution_there_is_the_bound_alone(results):
    problem = stfem.Problem(
        linear_advection_diffusion(1, 1e-3).equation,
        domain=stfem.Torus((1.0,)),
        initial=stfem.data.sine((2 * np.pi,)),
        final_time=0.02,
    )
    figure = plot_bound(stfem.certify(problem, cells=8, degree=1))
    assert len(figure.axes[0].lines) == 1
    assert len(figure.legends[0].get_texts()) == 1


def test_estimates_of_one_reconstruction_share_the_true_error():
    solution = stfem.solve(linear_advection_diffusion(1, 1e-3, 0.1), cells=8, degree=1)
    named = {"split": stfem.estimate(solution), "dual": stfem.estimate(solution, AllDualEstimator())}
    figure = plot_bound(named)
    split, dual, error = figure.axes[0].lines
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["split", "dual"]
    assert split.get_color() != dual.get_color()
    assert split.get_linestyle() != dual.get_linestyle()
    assert dual.get_ydata()[-1] == named["dual"].bound_final
    assert np.all(error.get_ydata() <= split.get_ydata()[1:])
    named["rough"] = stfem.estimate(solution, stfem.SplitEstimator(Siac(2)))
    lines = plot_bound(named).axes[0].lines
    assert len(lines) == 5
    assert [line.get_color() for line in lines[3:]] == [lines[0].get_color(), lines[2].get_color()]


def test_systems_are_shown_in_one_norm(system):
    """Parts of a system are norms of its entropy; in the picture all of them are in L²."""
    assert system.facts["error_factor"] == 2.0
    line = plot_bound(system).axes[0].lines[0]
    assert line.get_ydata()[0] == 2.0 * system.parts["initial"]
    np.testing.assert_allclose(bound_parts(system).sum(axis=0), line.get_ydata(), rtol=1e-13)
    # by hand: z = √(3² + 16) + 1 = 6 is 12 in L², without growth
    estimate = made_up(time=[1.0], bound=[12.0], alpha=[1.0], beta=[16.0])
    twice = dataclasses.replace(estimate, facts={"error_factor": 2.0})
    np.testing.assert_allclose(bound_parts(twice).T, [[6.0, 0.0, 0.0], [6.0, 2.0, 4.0]], rtol=1e-14)


def test_residuals_over_time_integrate_to_their_parts(results):
    estimate = results[1]
    upper, lower = plot_residual(estimate).axes
    rate, edges = stairs(upper)
    assert np.dot(rate, np.diff(edges)) == pytest.approx(estimate.parts["hyperbolic"], rel=1e-12)
    assert edges[-1] == estimate.history["time"][-1]
    rate, edges = stairs(lower)
    assert np.dot(rate, np.diff(edges)) == pytest.approx(estimate.parts["parabolic"] ** 2, rel=1e-12)


def test_a_residual_that_vanishes_is_said_to():
    estimate = stfem.certify(linear_advection_diffusion(1, 0.0, 0.05), cells=8, degree=1)
    upper, lower = plot_residual(estimate).axes
    assert [text.get_text() for text in lower.texts] == ["vanishes"]
    assert not upper.texts


def test_growth_over_time(growing):
    (line,) = plot_growth(growing).axes[0].lines
    assert line.get_ydata()[0] == 1.0
    assert line.get_ydata()[-1] == pytest.approx(growing.parts["growth"], rel=1e-12)
    assert line.get_ydata()[-1] > 1.01


def test_growth_beyond_all_numbers():
    history = {"time": [1.0, 2.0], "bound": [1.0, np.inf], "growth": [2.0, 4000.0]}
    axes = plot_growth(made_up(**history)).axes[0]
    assert axes.get_title() == "the factor is beyond all numbers after t = 1"
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [1.0, np.e])


def made_up(**history):
    return stfem.Estimate(
        bound=1.0,
        bound_final=1.0,
        bound_energy=None,
        bound_l1=None,
        enclosure=(0.0, 1.0),
        parts={"initial": 3.0},
        indicators_sq=np.ones(1),
        assumptions=(),
        unproved=(),
        history={name: np.array(values) for name, values in history.items()},
    )


def test_what_is_infinite_is_left_out():
    history = {"time": [1.0, 2.0], "bound": [12.0, np.inf], "alpha": [1.0, np.inf], "beta": [16.0, np.inf]}
    estimate = made_up(**history)
    axes = plot_bound(estimate).axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [3.0, 12.0, np.nan])
    assert axes.get_title() == "the bound is infinite after t = 1"
    for panel, rate in zip(plot_residual(estimate).axes, (1.0, 16.0), strict=True):
        np.testing.assert_array_equal(stairs(panel)[0], [rate, np.nan])


def test_shares_sum_to_all_of_the_bound(growing):
    figure = plot_shares(growing)
    assert len(figure.axes[0].collections) == 3
    top = figure.axes[0].collections[-1].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(100.0, rel=1e-12)
    lower = plot_estimate(growing).axes[1]
    for one, other in zip(figure.axes[0].collections, lower.collections, strict=True):
        np.testing.assert_array_equal(one.get_paths()[0].vertices, other.get_paths()[0].vertices)


def test_estimates_that_keep_less():
    estimate = stfem.certify(viscous_burgers(1, 1e-2, 0.02), cells=8, degree=1, estimator=PaperEstimator())
    for draw in (plot_bound, plot_residual):
        assert draw(estimate).axes
    with pytest.raises(ValueError, match="estimate: expected one with the rate 'growth'"):
        plot_growth(estimate)
    with pytest.raises(
        ValueError, match="estimates: expected an estimate, or some of them by name, got none"
    ):
        plot_bound({})


@pytest.mark.parametrize(
    "plot", [plot_bound, plot_estimate, plot_growth, plot_indicators, plot_residual, plot_shares]
)
def test_what_is_no_estimate(results, plot):
    for given in (results[1].solution, [results[1]]):
        with pytest.raises(
            TypeError, match=f"estimate.*: expected an estimate, got a {type(given).__name__}"
        ):
            plot(given)


def test_what_are_no_estimates(results):
    with pytest.raises(TypeError, match=r"estimates\['b'\]: expected an estimate, got a Solution"):
        plot_bound({"a": results[1], "b": results[1].solution})
    with pytest.raises(TypeError, match=r"\(one, or \{name: estimate\}\): expected an estimate, got a list"):
        plot_bound([results[1], results[1]])


def test_the_error_at_the_final_time_is_whole(results):
    """Its mark stands on the frame, which would cut it."""
    axes = plot_bound(results[1]).axes[0]
    (marks,) = [line for line in axes.lines if line.get_marker() == "o"]
    assert marks.get_xdata()[-1] == axes.get_xlim()[1]
    assert not marks.get_clip_on()
