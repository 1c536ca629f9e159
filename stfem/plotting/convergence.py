"""Errors and bounds against the mesh size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stfem.checks import checked_instance, checked_list
from stfem.plotting.curves import Curve, CurveFamily, Row, known, quantity
from stfem.plotting.style import check_picture, figure_of, finished, legend, norm_label, panel
from stfem.plotting.triangles import draw_triangles
from stfem.spaces.stencil import Array


def plot_convergence(
    rows: Sequence[Row],
    varied: Sequence[str] = ("cells",),
    path: str | Path | None = None,
    *,
    orders: Sequence[float] | None = None,
    refined: str = "cells",
    axes: Axes | None = None,
) -> Figure:
    """Bounds (filled) and true errors (hollow) against the mesh size h, with triangles that show orders.

    One curve per combination of the varied parameters other than the cells. The sloping side of a triangle
    with the number p is parallel to h^p. No line joins grids with the same h, the largest spacing or diameter
    of a cell, as (8, 8) and (16, 8): between them there is no order.

    Parameters
    ----------
    rows
        One mapping per run with "h" and "bound" or "error" or both, and the varied parameters.
    varied
        Names of the parameters that differ between the rows.
    path
        Where to write the picture.
    orders
        Orders of the triangles. Default: the median EOC of every curve, rounded to whole numbers; of the
        bounds, or of the errors where there are no bounds.
    refined
        The varied parameter that makes the mesh finer, in place of the cells.
    axes
        Where to draw; a new figure one column wide by default.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        For rows without "h", without anything to draw, or without one of the parameters; for rows of one
        curve that differ in neither "h" nor "cells".
    """
    check_picture(path)
    axes = panel(axes, 3.2)
    legend(axes, *draw_convergence(axes, rows, varied, orders, refined=refined))
    return finished(figure_of(axes), path)


def draw_convergence(
    axes: Axes,
    rows: Sequence[Row],
    varied: Sequence[str],
    orders: Sequence[float] | None = None,
    like: Sequence[Row] | None = None,
    refined: str = "cells",
) -> tuple[list[Artist], int]:
    """What `plot_convergence` draws; returns the handles of a legend and its number of columns.

    ``like`` are the rows of all panels of a figure, which then look alike.
    """
    checked_instance("refined", refined, str, "a name")
    for name in checked_list("varied", varied):
        checked_instance("varied", name, str, "names")
    others = [name for name in varied if name != refined]
    family = CurveFamily(rows, others, "h", logarithmic=True, like=like, behind=refined)
    drawn = [name for name in ("bound", "error") if known(family.like, name)]
    if not drawn:
        raise ValueError(f"rows: expected entries 'bound' or 'error', got {', '.join(rows[0])}")
    axes.set_yscale("log")
    family.axis.prepare(axes)
    axes.set_ylabel(norm_label())
    for curve in family.curves:
        x, _ = family.positions(curve)
        for name in drawn:
            first = name == drawn[0]
            curve.draw(axes, *_apart(x, _positive(curve, name)), filled=name == "bound", joined=first)
    axes.autoscale_view()
    measured = [_finite(family, curve, drawn[0]) for curve in family.curves]
    draw_triangles(axes, [columns for columns in measured if len(columns[0])], orders)
    names = {"bound": "bound", "error": "true error"}
    return family.key([quantity(names[name], name == "bound", name == drawn[0]) for name in drawn])


def _apart(x: Array, y: Array) -> tuple[Array, Array]:
    """A curve with a gap between points of the same x."""
    gaps = np.flatnonzero(np.diff(x) == 0.0) + 1
    return np.insert(x, gaps, np.nan), np.insert(y, gaps, np.nan)


def _positive(curve: Curve, name: str) -> Array:
    values = curve.column(name)
    return np.where(values > 0.0, values, np.nan)


def _finite(family: CurveFamily, curve: Curve, name: str) -> tuple[Array, Array, Array]:
    x, _ = family.positions(curve)
    values = _positive(curve, name)
    shown = np.isfinite(values)
    return x[shown], x[shown], values[shown]
