"""Bounds against a parameter: effectivity, and bound and true error themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stfem.plotting.curves import CurveFamily, Row, known, quantity
from stfem.plotting.parameter import is_spread
from stfem.plotting.style import GREY, PaperFigure, check_picture, figure_of, finished, legend, panel

#: Effectivities above this ratio of the largest to the least are drawn on a logarithmic axis.
_LOGARITHMIC = 8.0


def plot_effectivity(
    rows: Sequence[Row],
    varied: Sequence[str] = ("eps",),
    axis: str = "eps",
    path: str | Path | None = None,
    *,
    axes: Axes | None = None,
) -> Figure:
    """Bound over true error against a parameter, ε by default; one curve per combination of the others.

    ε = 0 stands beyond a break of the axis at its left end. An infinite effectivity stands at the upper edge,
    with the sign ∞.

    Parameters
    ----------
    rows
        One mapping per run with "effectivity" and the parameters.
    varied
        Names of the parameters that differ between the rows.
    axis
        The one on the x-axis; logarithmic where its values are spread.
    path
        Where to write the picture.
    axes
        Where to draw; a new figure one column wide by default.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        For rows without any effectivity, or without one of the parameters.
    """
    check_picture(path)
    family = CurveFamily(rows, varied, axis)
    axes = panel(axes)
    _draw_effectivity(axes, rows, family)
    handles, columns = family.key()
    if handles:
        legend(axes, handles, columns)
    return finished(figure_of(axes), path)


def plot_sweep(
    rows: Sequence[Row], varied: Sequence[str], axis: str, path: str | Path | None = None
) -> Figure:
    """Bound (filled) and true error (hollow) against a parameter, and below them the effectivity.

    Without true errors the bounds stand alone. Parameters and errors as for `plot_effectivity`; rows have
    "bound" and, where they are known, "error" and "effectivity".
    """
    check_picture(path)
    family = CurveFamily(rows, varied, axis)
    drawn = [name for name in ("bound", "error") if known(rows, name)]
    if not drawn:
        raise ValueError(f"rows: expected entries 'bound' or 'error', got {', '.join(rows[0])}")
    both = known(rows, "effectivity")
    figure = PaperFigure(height=4.4 if both else 3.0)
    panels = figure.subplots(1 + both, 1, sharex=True, squeeze=False)[:, 0]
    family.axis.prepare(panels[0])
    values = np.concatenate([curve.column(name) for curve in family.curves for name in drawn])
    finite = values[np.isfinite(values)]
    if is_spread(finite):
        panels[0].set_yscale("log")
    else:
        panels[0].set_ylim(0.0, 1.15 * finite.max(initial=0.0) or 1.0)
        panels[0].ticklabel_format(axis="y", scilimits=(-3, 3), useMathText=True)
    panels[0].set_ylabel("$L^2$ norm (units of $u$)")
    for name in drawn:
        _draw(panels[0], family, name, filled=name == "bound", joined=name == drawn[0])
    if both:
        panels[0].set_xlabel("")
        panels[0].tick_params(labelbottom=False)
        _draw_effectivity(panels[1], rows, family)
    names = {"bound": "bound", "error": "true error"}
    handles, columns = family.key([quantity(names[n], n == "bound", n == drawn[0]) for n in drawn])
    figure.legend(handles=handles, loc="outside lower center", frameon=False, ncols=columns)
    return finished(figure, path)


def _draw_effectivity(axes: Axes, rows: Sequence[Row], family: CurveFamily) -> None:
    if not known(rows, "effectivity"):
        raise ValueError(
            "rows: expected entries 'effectivity', which need the exact solution, got none; "
            "bounds alone are drawn by plot_sweep"
        )
    family.axis.prepare(axes)
    axes.set_ylabel("bound / true error\n(dimensionless)")
    _draw(axes, family, "effectivity", filled=True, joined=True)
    finite = np.concatenate([curve.column("effectivity") for curve in family.curves])
    finite = finite[np.isfinite(finite) & (finite > 0.0)]
    axes.axhline(1.0, color=GREY, lw=0.8, zorder=1)
    if len(finite) and max(finite.max(), 1.0) > _LOGARITHMIC * finite.min():
        axes.set_yscale("log")
    elif len(finite):
        low, high = min(finite.min(), 1.0), max(finite.max(), 1.0)
        room = max(0.08 * (high - low), 0.01)
        axes.set_ylim(low - room, high + room)
    _mark_infinite(axes, family)


def _draw(axes: Axes, family: CurveFamily, name: str, *, filled: bool, joined: bool) -> None:
    """Every curve, with the points that no line reaches beside it."""
    for curve in family.curves:
        x, inside = family.positions(curve)
        y = curve.column(name)
        for part, with_line in ((inside, joined), (np.logical_not(inside), False)):
            if part.any():
                curve.draw(axes, x[part], y[part], filled=filled, joined=with_line)


def _mark_infinite(axes: Axes, family: CurveFamily) -> None:
    """Infinite values at the upper edge, beside the sign ∞."""
    for curve in family.curves:
        x, _ = family.positions(curve)
        infinite = [_is_infinite(row.get("effectivity")) for row in curve.rows]
        for place in x[infinite]:
            axes.add_line(
                Line2D(
                    [place],
                    [0.95],
                    transform=axes.get_xaxis_transform(),
                    marker=curve.marker,
                    ms=3.6,
                    color=curve.colour,
                    ls="none",
                )
            )
            axes.annotate(
                "$\\infty$",
                (place, 0.95),
                xycoords=axes.get_xaxis_transform(),
                xytext=(0, -3),
                textcoords="offset points",
                ha="center",
                va="top",
            )


def _is_infinite(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and math.isinf(value)
