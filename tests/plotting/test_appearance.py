"""What all pictures have in common: labels with units, text that can be read, and no need for a display."""

import os
import subprocess
import sys
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
import skfem
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text

import stfem
from stfem import Siac
from stfem.plotting import (
    PaperFigure,
    plot_bound,
    plot_cells,
    plot_convergence,
    plot_demo,
    plot_effectivity,
    plot_growth,
    plot_indicators,
    plot_residual,
    plot_shares,
    plot_solution,
    plot_study,
)
from stfem.plotting.style import CURVE_COLOURS, LINE_STYLES
from stfem.problems import diffusive_p_system


def rows():
    for eps in (1e-1, 1e-5, 0.0):
        for degree in (1, 2, 3):
            for cells in (8, 16, 32, 64):
                error = (1.0 + 10.0 * eps) * (1.0 / cells) ** (2 * degree + 1)
                case = {"eps": eps, "degree": degree, "cells": cells, "h": 1.0 / cells}
                yield case | {"error": error, "bound": 1.1 * error, "effectivity": 1.1}


def study(axis):
    return SimpleNamespace(rows=tuple(rows()), varied=("eps", "degree", "cells"), axis=axis)


def system(dim):
    return stfem.solve(diffusive_p_system(dim, 1e-2, 0.01), cells=4, degree=1)


def demo_rows():
    return [
        {"eps": e, "effectivity": 1.1, "effectivity_unsplit": e**-0.5 if e else np.inf}
        for e in (1.0, 1e-2, 1e-4, 0.0)
    ]


def panels(results):
    """Pictures drawn into axes of one figure."""
    figure = PaperFigure(10.5, 5.8)
    axes = figure.subplots(2, 3)
    plot_bound(results[2], axes=axes[0, 0])
    plot_shares(results[2], axes=axes[0, 1])
    plot_growth(results[2], axes=axes[0, 2])
    plot_indicators(results[2], axes=axes[1, 2])
    plot_convergence(study("cells").rows, study("cells").varied, axes=axes[1, 0])
    plot_effectivity(study("eps").rows, study("eps").varied, axes=axes[1, 1])
    figure.unify()
    return figure


PICTURES = {
    "estimate": lambda r: r[2].plot(),
    "bound": lambda r: plot_bound(r[2]),
    "residual": lambda r: plot_residual(r[2]),
    "growth": lambda r: plot_growth(r[1]),
    "shares": lambda r: plot_shares(r[1]),
    "solution 1": lambda r: r[1].solution.plot(reconstruction=Siac()),
    "solution 2": lambda r: r[2].solution.plot(),
    "both 2": lambda r: plot_solution(r[2].solution, reconstruction=Siac()),
    "lines 2": lambda r: plot_solution(r[2].solution, slices=[(0, 0.25), (1, 0.75)]),
    "solution 3": lambda r: plot_solution(r[3].solution, reconstruction=Siac()),
    "system 1": lambda r: plot_solution(system(1), reconstruction=Siac()),
    "system 2": lambda r: plot_solution(system(2)),
    "indicators 1": lambda r: plot_indicators(r[1]),
    "indicators 2": lambda r: plot_indicators(r[2]),
    "indicators 3": lambda r: plot_indicators(r[3]),
    "mesh": lambda r: plot_cells(np.arange(8.0), skfem.MeshTri().refined(1), label="value (dimensionless)"),
    "convergence": lambda r: plot_study(study("cells")),
    "sweep": lambda r: plot_study(study("eps")),
    "degrees": lambda r: plot_study(study("degree")),
    "panels": panels,
    "demo": lambda r: plot_demo(demo_rows(), -0.5),
}


@pytest.fixture(scope="module", params=PICTURES)
def picture(request, results):
    return PICTURES[request.param](results)


def texts(figure):
    """All visible text and where it stands."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    ticks = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.majorTicks, *axis.minorTicks)
        for label in (tick.label1, tick.label2)
    }  # some are left over, and not drawn
    found = {
        text: text.get_window_extent(renderer)
        for text in figure.findobj(Text)
        if id(text) not in ticks and text.get_visible() and text.get_text().strip()
    }
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                label = tick.label1
                place = tick.get_loc()
                if label.get_visible() and label.get_text() and low <= place <= high:
                    found[label] = label.get_window_extent(renderer)
    return found


@pytest.fixture(scope="module")
def placed(picture):
    return texts(picture)


def overlaps(placed):
    return [
        (one.get_text(), other.get_text())
        for (one, first), (other, second) in combinations(placed.items(), 2)
        if min(first.x1, second.x1) - max(first.x0, second.x0) > 1.0
        and min(first.y1, second.y1) - max(first.y0, second.y0) > 1.0
    ]


def test_axes_say_what_they_show_and_in_which_unit(picture):
    for axes in picture.axes:
        labels = [axes.get_ylabel()]
        if axes.get_label() != "<colorbar>" and axes.xaxis.get_tick_params()["labelbottom"]:
            labels.append(axes.get_xlabel())
        for label in labels:
            assert label.endswith(")"), label


def test_text_stands_within_the_picture_and_does_not_overlap(picture, placed):
    width, height = picture.bbox.width, picture.bbox.height
    for text, box in placed.items():
        assert box.x0 >= -1.0, text
        assert box.y0 >= -1.0, text
        assert box.x1 <= width + 1.0, text
        assert box.y1 <= height + 1.0, text
    assert overlaps(placed) == []


def test_legends_hide_nothing(picture, placed):
    """Those beside one picture, and those of panels, which lie below their axes."""
    outlines = [legend.get_window_extent() for legend in picture.findobj(Legend)]
    if picture.get_layout_engine() is not None and len(picture.axes) != 1:
        assert not any(outline.overlaps(axes.bbox) for outline in outlines for axes in picture.axes)


def test_figures_take_properties_like_others():
    figure = PaperFigure(3.0, 2.0)
    figure.set(figheight=2.5, facecolor="none")
    assert figure.get_size_inches().tolist() == [3.0, 2.5]
    with pytest.raises(AttributeError, match="nothing"):
        figure.set(nothing=1)


def test_overlaps_are_noticed():
    figure = PaperFigure()
    axes = figure.subplots()
    axes.set_xticks([0.5, 0.501], ["here", "there"])
    assert overlaps(texts(figure)) == [("here", "there")]


def test_text_of_a_picture_has_one_size(placed):
    assert {text.get_fontsize() for text in placed} == {8.0}


def test_pictures_belong_to_no_window(picture):
    assert isinstance(picture, Figure)
    assert picture.canvas.manager is None


def simulated(colour, missing):
    """A colour as seen without red or green cones: the lost response is taken from the other two.

    Linear RGB to cones after Hunt, Pointer and Estevez; white and blue are seen as they are.
    """
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    to_cones = np.array([[0.4002, 0.7076, -0.0808], [-0.2263, 1.1653, 0.0457], [0.0, 0.0, 0.9182]])
    cones = to_cones @ to_xyz
    others = [i for i in range(3) if i != missing]
    white, blue = cones @ np.ones(3), cones @ np.array([0.0, 0.0, 1.0])
    share = np.linalg.solve(np.array([white[others], blue[others]]), [white[missing], blue[missing]])
    seen = cones @ linear
    seen[missing] = share @ seen[others]
    return np.clip(np.linalg.solve(cones, seen), 0.0, 1.0) ** (1 / 2.4)


@pytest.mark.parametrize("missing", [0, 1], ids=["protanopia", "deuteranopia"])
def test_colour_blind_readers_tell_curves_apart(missing):
    """Vermillion and an olive green, which they confuse, are the control."""
    seen = [simulated(colour, missing) for colour in CURVE_COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 0.15
    control = {0: ("#D55E00", "#6B6B00"), 1: ("#D55E00", "#8F8200")}[missing]
    far = np.linalg.norm(np.subtract(*(to_rgb(c) for c in control)))
    near = np.linalg.norm(np.subtract(*(simulated(c, missing) for c in control)))
    assert near < 0.5 * far


def test_every_colour_has_a_line_style_of_its_own():
    assert len(CURVE_COLOURS) == len(LINE_STYLES) == len(set(map(str, LINE_STYLES)))


def test_pictures_are_made_without_a_display(tmp_path):
    """In a fresh process without a display or a backend, and without pyplot, which would look for one."""
    script = (
        "import sys, stfem\n"
        "from stfem.problems import linear_advection_diffusion\n"
        "result = stfem.certify(linear_advection_diffusion(1, 1e-3, 0.02), cells=4, degree=1)\n"
        "assert 'matplotlib' not in sys.modules\n"
        "result.plot('bound.pdf')\n"
        "result.solution.plot('solution.png')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "bound.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "solution.png").read_bytes().startswith(b"\x89PNG")
