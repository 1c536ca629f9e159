"""How pictures look in print: sizes, colours, and figures that need no display."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.cm import ScalarMappable
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator, ScalarFormatter
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from stfem.checks import checked_flag, checked_instance, checked_number, checked_path

#: Widths of one column and of both columns of a page (inches), and the size of all text in it (points).
COLUMN, PAGE, FONT = 3.4, 7.0, 8.0

# Colours that colour-blind readers tell apart: Okabe and Ito (2008), Color Universal Design; also
# Wong (2011), Nature Methods 8, 441, doi:10.1038/nmeth.1618.
BLACK, BLUE, VERMILLION, GREEN = "#000000", "#0072B2", "#D55E00", "#009E73"
PURPLE, SKY, ORANGE, YELLOW = "#CC79A7", "#56B4E9", "#E69F00", "#F0E442"
GREY = "#666666"

#: For curves, in this order; yellow is too light for a thin line.
CURVE_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
#: They go along with the colours, so that grey print tells curves apart as well.
LINE_STYLES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1, 1)),
    "-.",
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (8, 2)),
    ":",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
#: Perceptually uniform, for colour-blind readers too: Nuñez, Anderton, Renslow (2018), PLoS ONE 13, e0199239.
COLOUR_MAP = "cividis"

#: Endings of pictures that can be written; what TeX would have to set is left out.
PICTURE_ENDINGS = tuple(
    f".{name}" for name in sorted(FigureCanvasBase.get_supported_filetypes()) if name != "pgf"
)
RESOLUTION = 300.0  # dots per inch, of pixel formats and of parts that vector formats hold as pixels

#: Height of tick labels and the label of an axis, in points.
_LABELS = 28.0


def norm_label(name: str = "$L^2$ norm", dim: int | None = None, power: int = 1, per: str = "") -> str:
    """Label of an axis for an L² norm over the domain, or a power of it, which has the unit u · length^{d/2}.

    >>> norm_label(dim=3), norm_label("square", dim=1, power=2, per="/time")
    ('$L^2$ norm (units of $u$ · length$^{3/2}$)', 'square (units of $u^2$ · length/time)')
    """
    half = f"{power}d/2".removeprefix("1") if dim is None else f"{Fraction(power * dim, 2)}"
    length = "length" if half == "1" else f"length$^{{{half}}}$"
    space = "" if name.endswith("\n") else " "
    return f"{name}{space}(units of $u{'' if power == 1 else f'^{power}'}$ · {length}{per})"


class PaperFigure(Figure):
    """A figure as wide as a column or a page, with text of one size; it belongs to no window.

    Parameters
    ----------
    width, height
        In inches.
    fixed
        Whether panels keep the proportions of a domain: they then stand close, and colour bars are as high.
    """

    def __init__(self, width: float = COLUMN, height: float = 2.6, *, fixed: bool = False) -> None:
        size = (
            checked_number("width", width, "inches", 0.1, 100.0),
            checked_number("height", height, "inches", 0.1, 100.0),
        )
        super().__init__(figsize=size, layout="compressed" if checked_flag("fixed", fixed) else "constrained")

    def set(self, **properties: Any) -> Any:
        """Set properties by name; without this, matplotlib generates one with links into its own pages."""
        return super().set(**properties)

    def unify(self) -> None:
        """Give all text the same size, later tick labels included."""
        for axes in self.findobj(Axes):
            axes.tick_params(which="both", labelsize=FONT)
        for text in self.findobj(Text):
            text.set_fontsize(FONT)


def panel(axes: Axes | None, height: float = 2.6) -> Axes:
    """The given axes, or those of a new figure one column wide."""
    if axes is None:
        return PaperFigure(COLUMN, height).subplots()
    return checked_instance("axes", axes, Axes, "axes of matplotlib")


def map_panels(rows: int, columns: int, proportion: float) -> NDArray[Any]:
    """Panels ``(rows, columns)`` of a new figure for maps whose height is so many times their width."""
    width = COLUMN if columns == 1 else PAGE
    across = (width - 0.8) / columns - 0.6  # the rest is for the colour bar, and for labels
    up = min(max(across * proportion, 0.8), 5.0)
    figure = PaperFigure(width, 0.25 + (up + 0.6) * rows, fixed=True)
    return np.asarray(figure.subplots(rows, columns, squeeze=False))


def finished(figure: Figure, path: str | Path | None) -> Figure:
    """The figure, written where a path is given."""
    if isinstance(figure, PaperFigure):
        figure.unify()
    if path is not None:
        figure.savefig(path, dpi=RESOLUTION)
    return figure


def figure_of(axes: Axes) -> Figure:
    """The whole figure that axes belong to, also when they lie in a part of it."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise ValueError("axes: expected axes of a figure, got removed ones")
    return figure


def check_picture(path: str | Path | None) -> None:
    """Raise ValueError unless a picture can be written there: better before drawing than after.

    Raises
    ------
    ValueError
        For an ending that tells no format, and for a folder that does not exist.
    """
    if path is None:
        return
    file = checked_path("path", path)
    if file.suffix.lower() not in PICTURE_ENDINGS:
        endings = ", ".join(PICTURE_ENDINGS)
        raise ValueError(f"path: expected a file that ends in one of {endings}, got {os.fspath(path)!r}")
    if not file.parent.is_dir():
        raise ValueError(f"path: expected a file in an existing folder, got {os.fspath(path)!r}")


def legend(axes: Axes, handles: Sequence[Artist], columns: int = 1) -> None:
    """Names of curves: below the figure where it is ours alone, below the axes where a layout makes room.

    Otherwise inside the axes, where there is room.
    """
    figure = figure_of(axes)
    if isinstance(figure, PaperFigure) and len(figure.axes) == 1:
        figure.legend(handles=handles, loc="outside lower center", frameon=False, ncols=columns)
        return
    style: dict[str, Any] = {"frameon": False, "handlelength": 1.8, "columnspacing": 1.2}
    if figure.get_layout_engine() is not None:
        below = axes.transAxes + ScaledTranslation(0.0, -_LABELS / 72.0, figure.dpi_scale_trans)
        style |= {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": below}
    axes.legend(handles=handles, ncols=columns, **style)


def time_axis(axes: Axes, end: float) -> None:
    """Time from 0 to the end, with as many ticks as fit."""
    axes.set_xlabel("time $t$ (units of the problem)")
    axes.set_xlim(0.0, end)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def colour_bar(drawn: ScalarMappable, panels: Sequence[Axes], label: str) -> None:
    """What the colours mean, beside some panels."""
    bar = figure_of(panels[0]).colorbar(drawn, ax=list(panels), label=label)
    if isinstance(bar.formatter, ScalarFormatter):
        bar.formatter.set_useMathText(True)
        bar.formatter.set_powerlimits((-3, 3))


def colours(count: int) -> list[str]:
    """Colours for some curves: those of Okabe and Ito, or a sequence where they do not suffice."""
    if count <= len(CURVE_COLOURS):
        return list(CURVE_COLOURS[:count])
    return [to_hex(colour) for colour in colormaps[COLOUR_MAP](np.linspace(0.0, 0.9, count))]
