from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.patches import Polygon

from stfem.plotting import PaperFigure, plot_convergence, plot_effectivity, plot_study, plot_sweep
from stfem.plotting.parameter import ParameterAxis, shown
from stfem.plotting.triangles import observed_order


def table(eps=(1e-2, 1e-4), degree=(1, 2), cells=(8, 16, 32), factor=1.5):
    """Rows with bounds factor · h^(2q+1) · (1 + ε), and errors that much smaller."""
    rows = []
    for e in eps:
        for q in degree:
            for n in cells:
                error = (1.0 / n) ** (2 * q + 1) * (1.0 + e)
                parameters = {"eps": e, "degree": q, "cells": n, "h": 1.0 / n}
                rows.append(parameters | {"error": error, "bound": factor * error, "effectivity": factor})
    return tuple(rows)


def lines_with(axes, linestyle):
    return [line for line in axes.lines if (line.get_linestyle() != "None") == linestyle]


def slopes(axes):
    """Orders of the triangles' sloping sides, from their corners."""
    found = []
    for patch in axes.patches:
        assert isinstance(patch, Polygon)
        corners = np.log(patch.get_xy()[:3])
        found.append((corners[2, 1] - corners[0, 1]) / (corners[2, 0] - corners[0, 0]))
    return sorted(found)


def test_one_curve_per_combination_of_the_other_parameters():
    rows = table()
    axes = plot_study(SimpleNamespace(rows=rows, varied=("cells", "degree", "eps"), axis="cells")).axes[0]
    bounds, errors = lines_with(axes, True), lines_with(axes, False)
    assert len(bounds) == len(errors) == 4
    for line, error in zip(bounds, errors, strict=True):
        assert line.get_xdata() == pytest.approx([1 / 32, 1 / 16, 1 / 8])
        assert line.get_ydata() == pytest.approx(1.5 * error.get_ydata())
    looks = {(line.get_color(), line.get_marker()) for line in bounds}
    assert len(looks) == 4
    assert len({line.get_color() for line in bounds}) == len({line.get_marker() for line in bounds}) == 2
    # grey print: what has another colour has another line style or marker
    assert len({(str(line.get_linestyle()), line.get_marker()) for line in bounds}) == 4


def test_triangles_have_the_observed_orders():
    axes = plot_convergence(table(), ("cells", "degree", "eps")).axes[0]
    assert slopes(axes) == pytest.approx([3.0, 5.0], rel=1e-10)
    assert {text.get_text() for text in axes.texts} == {"3", "5"}
    low, high = axes.get_ylim()
    for patch in axes.patches:
        assert np.all((patch.get_xy()[:, 1] > low) & (patch.get_xy()[:, 1] < high))


def test_triangles_of_given_orders():
    axes = plot_convergence(table(), ("cells", "degree", "eps"), orders=(2.5,)).axes[0]
    assert slopes(axes) == pytest.approx([2.5], rel=1e-10)
    assert not plot_convergence(table(), ("cells", "degree", "eps"), orders=()).axes[0].patches


def test_triangles_meet_no_curve():
    axes = plot_convergence(table(eps=(1e-2, 50.0)), ("cells", "degree", "eps")).axes[0]
    for patch in axes.patches:
        outline = patch.get_path()
        for line in lines_with(axes, True):
            x, y = np.log(line.get_xdata()), np.log(line.get_ydata())
            fine = np.linspace(x[0], x[-1], 500)
            assert not outline.contains_points(np.exp(np.stack([fine, np.interp(fine, x, y)], 1))).any()


def test_order_of_a_curve_leaves_out_round_off_and_a_coarse_start():
    size = np.array([1 / 64, 1 / 32, 1 / 16, 1 / 8])
    assert observed_order(size, size**3) == pytest.approx(3.0)
    assert observed_order(size, np.maximum(size**3, (1 / 40) ** 3)) == pytest.approx(3.0)
    assert observed_order(size[::-1], np.array([2.0, 16.0**-3, 32.0**-3, 64.0**-3])) == pytest.approx(3.0)
    assert np.isnan(observed_order(size[:1], size[:1]))


def test_errors_without_bounds_are_joined():
    rows = [{"h": h, "error": h**2} for h in (0.1, 0.05)]
    axes = plot_convergence(rows).axes[0]
    assert len(lines_with(axes, True)) == 1
    assert slopes(axes) == pytest.approx([2.0])


def test_a_single_grid_has_no_triangle():
    assert not plot_convergence(table(cells=(8,)), ("cells", "degree", "eps")).axes[0].patches


def test_missing_results_are_left_out():
    rows = [*table(eps=(0.0,), degree=(1,))]
    rows[1] = rows[1] | {"bound": np.inf, "error": None}
    bound, error = plot_convergence(rows).axes[0].lines
    assert np.isnan(bound.get_ydata()).tolist() == [False, True, False]
    assert np.isnan(error.get_ydata()).tolist() == [False, True, False]


def test_zero_stands_beyond_a_break():
    rows = table(eps=(0.0, 1e-6, 1e-4, 1e-2), degree=(1,), cells=(8,))
    axes = plot_effectivity(rows).axes[0]
    drawn = [line for line in axes.lines if line.get_transform() == axes.transData]
    joined = next(line for line in drawn if len(line.get_xdata()) == 3)
    assert list(joined.get_xdata()) == [1e-6, 1e-4, 1e-2]
    (alone,) = [line for line in drawn if len(line.get_xdata()) == 1]
    place = alone.get_xdata()[0]
    assert 0.0 < place < 1e-6
    axes.figure.canvas.draw()
    ticks = dict(zip(axes.get_xticks(), (text.get_text() for text in axes.get_xticklabels()), strict=True))
    assert ticks[place] == "0"
    assert place > axes.get_xlim()[0]
    marks = [line for line in axes.lines if line.get_transform() == axes.get_xaxis_transform()]
    assert marks  # of the break
    assert all(place < line.get_xdata()[0] < 1e-6 for line in marks)


def test_without_zero_there_is_no_break():
    axes = plot_effectivity(table(eps=(1e-6, 1e-2), degree=(1,), cells=(8,))).axes[0]
    assert axes.get_xscale() == "log"
    assert all(line.get_transform() != axes.get_xaxis_transform() for line in axes.lines[:1])
    assert not ParameterAxis("eps", [1e-6, 1e-2]).broken


def test_infinite_effectivity_is_marked():
    rows = [{"eps": e, "effectivity": v} for e, v in ((0.0, np.inf), (1e-4, 70.0), (1e-2, 7.0))]
    axes = plot_effectivity(rows).axes[0]
    assert [text.get_text() for text in axes.texts] == [r"$\infty$"]
    assert axes.get_yscale() == "log"


def test_sweeps_show_errors_and_effectivity():
    rows = table(cells=(8,))
    figure = plot_study(SimpleNamespace(rows=rows, varied=("eps", "degree"), axis="eps"))
    upper, lower = figure.axes
    assert [line.get_ydata().tolist() for line in lower.lines[:2]] == [[1.5, 1.5], [1.5, 1.5]]
    assert len([line for line in upper.lines if len(line.get_xdata()) == 2]) == 4
    assert lower.get_xlabel() == r"diffusion $\varepsilon$ (length²/time)"
    without = [{**row, "error": None, "effectivity": None} for row in rows]
    assert len(plot_sweep(without, ("eps", "degree"), "eps").axes) == 1


@pytest.mark.parametrize(("size", "scale"), [(1.0, "linear"), (100.0, "log")])
def test_norms_that_differ_little_start_at_zero(size, scale):
    rows = [{"eps": e, "bound": (1.0 + e * size) * 1e-7, "error": 1e-7} for e in (0.0, 0.5)]
    axes = plot_sweep(rows, ("eps",), "eps").axes[0]
    low, high = axes.get_ylim()
    assert axes.get_yscale() == scale
    assert (low == 0.0) == (scale == "linear")
    assert high > 1.05 * rows[1]["bound"]


def test_a_sweep_without_a_finite_bound():
    axes = plot_sweep([{"eps": e, "bound": np.inf} for e in (0.0, 0.5)], ("eps",), "eps").axes[0]
    assert axes.get_ylim() == (0.0, 1.0)


def test_names_stand_in_a_row():
    rows = [{"flux": f, "degree": q, "bound": 1.0 + q} for f in (len, abs) for q in (1, 2)]
    axes = plot_sweep(rows, ("flux", "degree"), "flux").axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["len", "abs"]
    first, second = axes.lines[:2]
    assert first.get_linestyle() == second.get_linestyle() == "None"
    assert np.all(np.abs(first.get_xdata() - [0, 1]) < 0.5)
    assert np.all(first.get_xdata() < second.get_xdata())  # beside each other


def test_legend_has_all_values_once():
    figure = plot_study(SimpleNamespace(rows=table(), varied=("cells", "degree", "eps"), axis="cells"))
    texts = [text.get_text() for text in figure.legends[0].get_texts() if text.get_text().strip()]
    names = ["$q$ = 1", "$q$ = 2", r"$\varepsilon$ = 0.01", r"$\varepsilon$ = $10^{-4}$"]
    assert texts == [*names, "bound", "true error"]


def test_many_curves_have_many_colours():
    rows = [{"h": h, "run": n, "bound": h * n} for n in range(1, 13) for h in (0.1, 0.2)]
    axes = plot_convergence(rows, ("cells", "run")).axes[0]
    assert len({line.get_color() for line in axes.lines}) == 12


def test_drawing_into_given_axes():
    figure = PaperFigure(7.0, 3.0)
    left, right = figure.subplots(1, 2)
    assert plot_convergence(table(), ("cells", "degree", "eps"), axes=left) is figure
    assert plot_effectivity(table(), ("eps", "degree", "cells"), axes=right) is figure
    assert left.get_legend() is not None
    assert left.lines
    assert right.lines


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (0.0, "0"),
        (1e-4, "$10^{-4}$"),
        (2.5e-7, r"$2.5 \cdot 10^{-7}$"),
        (64, "64"),
        (len, "len"),
    ],
)
def test_values_in_legends(value, text):
    assert shown(value) == text


@pytest.mark.parametrize(
    ("rows", "varied", "message"),
    [
        ((), ("cells",), "expected at least one row, got none"),
        (({"h": 0.1},), ("cells",), "expected entries 'bound' or 'error', got h"),
        (({"bound": 0.1},), ("cells",), r"rows\[0\]: expected an entry 'h', got bound"),
        (({"h": 0.1, "bound": 1.0},), ("cells", "eps"), r"rows\[0\]: expected an entry 'eps'"),
    ],
)
def test_rows_that_do_not_fit(rows, varied, message):
    with pytest.raises(ValueError, match=message):
        plot_convergence(rows, varied)


def test_other_refusals(tmp_path):
    with pytest.raises(TypeError, match=r"rows\[0\]: expected a mapping from names to values, got a list"):
        plot_convergence([[1, 2]])
    with pytest.raises(ValueError, match="need the exact solution"):
        plot_effectivity([{"eps": 0.1, "bound": 1.0, "effectivity": None}])
    with pytest.raises(
        ValueError, match=r"path: expected a file that ends in one of .*\.pdf, .*got '.*a\.xyz'"
    ):
        plot_convergence(table(), path=tmp_path / "a.xyz")
    with pytest.raises(ValueError, match="path: expected a file in an existing folder"):
        plot_convergence(table(), path=tmp_path / "none" / "a.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_pictures_are_written(tmp_path, ending):
    study = SimpleNamespace(rows=table(), varied=("cells", "degree", "eps"), axis="cells")
    plot_study(study, tmp_path / f"a.{ending}")
    assert (tmp_path / f"a.{ending}").stat().st_size > 5000
