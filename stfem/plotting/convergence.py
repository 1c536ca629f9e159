"""Errors and bounds against the mesh size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stfem.plotting.curves import Curve, CurveFamily, Row, known, quantity
from stfem.plotting.style import check_picture, figure_of, finished, legend, panel
from stfem.plotting.triangles import draw_triangles


def plot_convergence(
    rows: Sequence[Row],
    varied: Sequence[str] = ("cells",),
    path: str | Path | None = None,
    *,
    orders: Sequence[float] | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Bounds (filled) and true errors (hollow) against the mesh size h, with triangles that show orders.

    One curve per combination of the varied parameters other than the cells. The sloping side of a triangle
    with the number p is parallel to h^p.

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
    axes
        Where to draw; a new figure one column wide by default.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        For rows without "h", without anything to draw, or without one of the parameters.
    """
    check_picture(path)
    family = CurveFamily(rows, [name for name in varied if name != "cells"], "h", logarithmic=True)
    drawn = [name for name in ("bound", "error") if known(rows, name)]
    if not drawn:
        raise ValueError(f"rows: expected entries 'bound' or 'error', got {', '.join(rows[0])}")
    axes = panel(axes, 3.2)
    axes.set_yscale("log")
    family.axis.prepare(axes)
    axes.set_ylabel("$L^2$ norm (units of $u$)")
    for curve in family.curves:
        x, _ = family.positions(curve)
        for name in drawn:
            first = name == drawn[0]
            curve.draw(axes, x, _positive(curve, name), filled=name == "bound", joined=first)
    axes.autoscale_view()
    measured = [_finite(family, curve, drawn[0]) for curve in family.curves]
    draw_triangles(axes, [columns for columns in measured if len(columns[0])], orders)
    names = {"bound": "bound", "error": "true error"}
    keys = [quantity(names[name], name == "bound", name == drawn[0]) for name in drawn]
    handles, columns = family.key(keys)
    legend(axes, handles, columns)
    return finished(figure_of(axes), path)


def _positive(curve: Curve, name: str) -> np.ndarray:
    values = curve.column(name)
    return np.where(values > 0.0, values, np.nan)


def _finite(family: CurveFamily, curve: Curve, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, _ = family.positions(curve)
    values = _positive(curve, name)
    shown = np.isfinite(values)
    return x[shown], x[shown], values[shown]
