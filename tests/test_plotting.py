import numpy as np
import pytest

import stfem
from stfem.plotting import plot_demo, plot_estimate, plot_indicators, plot_solution
from stfem.problems import diffusive_p_system, linear_advection_diffusion


@pytest.fixture(scope="module")
def results():
    return {d: stfem.certify(linear_advection_diffusion(d, 1e-3, 0.05), cells=3, degree=1) for d in (1, 2, 3)}


@pytest.mark.parametrize("dim", [1, 2])
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


def test_no_line_crosses_a_jump(results):
    x, y = results[1].solution.plot().axes[0].lines[0].get_data()
    gaps = np.isnan(y)
    assert gaps.sum() == 3
    assert np.all(np.diff(x[~gaps]) >= 0.0)


def test_two_dimensions_show_the_values_of_each_cell(results):
    solution = results[2].solution
    patches = plot_solution(solution, points=4).axes[0].collections[0]
    corners = np.array([path.vertices[0] for path in patches.get_paths()])
    centres = (corners + np.array([1.0, 1.0]) / (3 * 4 * 2)).T
    assert np.asarray(patches.get_array()) == pytest.approx(np.asarray(solution(centres)), abs=1e-12)


def test_systems_have_one_panel_per_component():
    solution = stfem.solve(diffusive_p_system(1, 1e-2, 0.01), cells=4, degree=1)
    assert len(plot_solution(solution).axes) == 2


@pytest.mark.parametrize("draw", [lambda r: plot_solution(r.solution), plot_indicators])
def test_three_dimensions_are_refused(results, draw):
    with pytest.raises(ValueError, match="expected one or two dimensions, got 3"):
        draw(results[3])


def test_demo_draws_positive_diffusions_only():
    rows = [{"eps": e, "effectivity": 1.0, "effectivity_unsplit": e**-0.5} for e in (1e-2, 1e-4)]
    rows.append({"eps": 0.0, "effectivity": 1.0, "effectivity_unsplit": np.inf})
    axes = plot_demo(rows, -0.5).axes[0]
    assert [len(line.get_xdata()) for line in axes.lines[:2]] == [2, 2]
