import numpy as np
import pytest
from matplotlib.colors import to_rgb

import stfem
from stfem.estimators import AllDualEstimator
from stfem.plotting import bound_parts, plot_demo, plot_estimate, plot_indicators, plot_solution
from stfem.plotting.parts import PARTS
from stfem.problems import linear_advection_diffusion, viscous_burgers


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_pictures_are_written_with_labelled_axes(results, dim, tmp_path):
    result = results[dim]
    pictures = {
        "bound": plot_estimate(result, tmp_path / "bound.png"),
        "solution": plot_solution(result.solution, tmp_path / "solution.png"),
        "indicators": plot_indicators(result, tmp_path / "indicators.png"),
    }
    for name, figure in pictures.items():
        assert (tmp_path / f"{name}.png").stat().st_size > 1000
        panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
        assert all(axes.get_ylabel() for axes in panels)
        assert panels[-1].get_xlabel()


def test_bound_over_time_ends_at_the_final_bound(results):
    line = results[1].plot().axes[0].lines[0]
    assert line.get_ydata()[-1] == pytest.approx(results[1].bound_final, rel=1e-14)
    assert line.get_xdata()[-1] == results[1].solution.time


@pytest.mark.parametrize(
    ("problem", "degree"),
    [
        (linear_advection_diffusion(1, 1e-2, 0.2), 1),  # all three parts
        (linear_advection_diffusion(1, 1.0, 0.1), 1),  # decays
        (viscous_burgers(1, 1e-2, 0.1), 1),  # grows
        (linear_advection_diffusion(1, 0.0, 0.01), 1),  # one slab
    ],
)
def test_parts_sum_to_the_bound(problem, degree):
    result = stfem.certify(problem, cells=8, degree=degree, initial_correction=False)
    parts = bound_parts(result)
    assert parts.shape == (3, 1 + len(result.history["time"]))
    assert np.all(parts >= 0.0)
    assert parts[:, 0] == pytest.approx([result.parts["initial"], 0.0, 0.0])
    assert parts.sum(axis=0)[1:] == pytest.approx(result.history["bound"], rel=1e-13)
    # a part is there exactly where its residual is
    assert (parts[1, -1] > 0.0) == (result.parts["hyperbolic"] > 0.0)
    assert (parts[2, -1] > 0.0) == (result.parts["parabolic"] > 0.0)


def made_up(**history):
    """An estimate of which only the history and the initial error matter."""
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


def test_parts_by_hand():
    """z = 3, then √(9 + 16) + 1 = 6, which a growth of 2 makes 12; an infinite bound ends the picture."""
    estimate = made_up(time=[1.0, 2.0], bound=[12.0, np.inf], alpha=[1.0, 1.0], beta=[16.0, np.inf])
    np.testing.assert_allclose(bound_parts(estimate).T, [[3.0, 0.0, 0.0], [6.0, 2.0, 4.0]], rtol=1e-14)
    upper, lower = plot_estimate(estimate).axes
    assert upper.get_title() == "the bound is infinite after t = 1"
    assert upper.get_xlim() == (0.0, 2.0) == lower.get_xlim()
    vanished = made_up(time=[1.0], bound=[0.0], alpha=[0.0], beta=[0.0])
    vanished.parts["initial"] = 0.0
    assert not bound_parts(vanished).any()
    assert plot_estimate(vanished).axes


def test_shares_of_the_parts_are_written_beside_their_names(results):
    figure = results[1].plot()
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts[:2] == [r"bound of $\|u-\hat{u}\|$ at time $t$", r"true $\|u-\hat{u}\|$ at time $t$"]
    assert [text.split(":")[0] for text in texts[2:]] == list(reversed(PARTS))
    shares = [float(text.split(":")[1].split("%")[0]) for text in texts[2:]]
    parts = bound_parts(results[1])[::-1, -1]
    assert shares == pytest.approx(100.0 * parts / results[1].bound_final, abs=0.051)
    assert figure.axes[1].get_ylim() == (0.0, 100.0)


def test_parts_differ_in_lightness():
    """By a tenth of the way from black to white: grey print and colour-blind readers tell them apart."""
    luma = sorted(np.array(to_rgb(colour)) @ [0.2126, 0.7152, 0.0722] for colour in PARTS.values())
    assert np.diff(luma).min() > 0.1


def test_infinite_bound_is_drawn():
    problem = linear_advection_diffusion(1, 0.0, 0.02)
    result = stfem.certify(problem, cells=4, degree=1, estimator=AllDualEstimator())
    assert np.isinf(result.bound)
    assert "infinite" in plot_estimate(result).axes[0].get_title()


def test_demo_draws_positive_diffusions_only():
    rows = [{"eps": e, "effectivity": 1.0, "effectivity_unsplit": e**-0.5} for e in (1e-2, 1e-4)]
    rows.append({"eps": 0.0, "effectivity": 1.0, "effectivity_unsplit": np.inf})
    axes = plot_demo(rows, -0.5).axes[0]
    assert [len(line.get_xdata()) for line in axes.lines[:2]] == [2, 2]


def test_demo_has_a_line_of_slope_one_half():
    """Parallel to a curve that grows like ε^{-1/2}, below it, dashed and named."""
    eps = [1.0, 1e-2, 1e-4, 1e-6, 1e-8]
    rows = [{"eps": e, "effectivity": 1.0, "effectivity_unsplit": max(1.5, 0.3 * e**-0.5)} for e in eps]
    axes = plot_demo(rows, -0.5).axes[0]
    (line,) = [line for line in axes.lines if "slope" in str(line.get_label())]
    x, y = line.get_data()
    assert np.diff(np.log(y)) / np.diff(np.log(x)) == pytest.approx(-0.5, rel=1e-12)
    assert len(x) >= 3
    assert np.all(y < np.interp(x, eps[::-1], [row["effectivity_unsplit"] for row in rows[::-1]]))
    assert line.get_linestyle() == "--"
    assert line.get_label() in [text.get_text() for text in axes.get_legend().get_texts()]
