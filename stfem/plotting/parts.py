"""Where a bound comes from: its parts over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from stfem.estimators import Estimate
from stfem.plotting.checks import check_history, dimension_of
from stfem.plotting.history import finite_slabs, mark_infinite, true_errors
from stfem.plotting.style import (
    BLACK,
    SKY,
    YELLOW,
    PaperFigure,
    check_picture,
    figure_of,
    finished,
    legend,
    norm_label,
    panel,
    time_axis,
)
from stfem.spaces.stencil import Array

#: Parts of the bound and their colours, which differ in lightness as well.
PARTS = {
    "initial error": "#777777",
    "hyperbolic residual, $L^2$ norm": SKY,
    "parabolic residual, dual norm": YELLOW,
}


def plot_estimate(estimate: Estimate, path: str | Path | None = None) -> Figure:
    """Where the bound comes from: its parts over time, as a norm and in per cent.

    The initial error, the hyperbolic residual (L²) and the parabolic residual (dual norm) are stacked and add
    up to the bound at every time; the true error, where it is known, is the dashed line below.

    Parameters
    ----------
    estimate
        With its history.
    path
        Where to write the picture; the ending tells the format.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        For a path that no picture can be written to.
    """
    check_picture(path)
    check_history(estimate)
    time, parts = _times(estimate), bound_parts(estimate)
    figure = PaperFigure(height=4.6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    lines: list[Artist] = [
        *upper.plot(
            time, parts.sum(axis=0), color=BLACK, lw=1.1, label=r"bound of $\|u-\hat{u}\|$ at time $t$"
        )
    ]
    known = true_errors(estimate)
    if known is not None:
        style = {"color": BLACK, "lw": 1.1, "ms": 3.0, "mew": 0.7, "mfc": "white", "clip_on": False}
        lines += upper.plot(*known, "o--", label=r"true $\|u-\hat{u}\|$ at time $t$", **style)
    upper.stackplot(time, parts, colors=PARTS.values(), lw=0)
    upper.set_ylabel(norm_label(dim=dimension_of(estimate)))
    upper.set_ylim(bottom=0.0)
    upper.ticklabel_format(axis="y", scilimits=(-3, 3), useMathText=True)
    areas = _draw_shares(lower, estimate)
    mark_infinite(upper, estimate)
    figure.legend(handles=[*lines, *reversed(areas)], loc="outside lower center", frameon=False)
    return finished(figure, path)


def plot_shares(estimate: Estimate, path: str | Path | None = None, *, axes: Axes | None = None) -> Figure:
    """Shares of the parts in the bound over time, stacked, in per cent.

    Parameters
    ----------
    estimate
        With its history.
    path
        Where to write the picture.
    axes
        Where to draw; a new figure one column wide by default.

    Returns
    -------
    matplotlib.figure.Figure
    """
    check_picture(path)
    check_history(estimate)
    axes = panel(axes)
    areas = _draw_shares(axes, estimate)
    legend(axes, areas[::-1])
    return finished(figure_of(axes), path)


def bound_parts(estimate: Estimate) -> Array:
    """Initial, hyperbolic and parabolic part of the bound at 0 and at the ends of slabs, ``(3, 1 + slabs)``.

    A slab adds α to the second and √(z² + β) − z to the third, z the bound at its start; growth and decay
    multiply all parts alike (T4.2), so that they sum to the bound at its end. Nothing follows an
    infinite one. Parts of systems, whose α, β and z are norms of the entropy, come in L² like the bound.
    """
    check_history(estimate)
    history = estimate.history
    factor = float(estimate.facts.get("error_factor", 1.0))
    alpha, beta, bound = factor * history["alpha"], factor**2 * history["beta"], history["bound"]
    current = np.array([factor * estimate.parts["initial"], 0.0, 0.0])
    rows = [current]
    for n in range(finite_slabs(estimate)):
        start = current.sum()
        current = current + np.array([0.0, alpha[n], np.hypot(start, np.sqrt(beta[n])) - start])
        end = current.sum()
        current = current * (bound[n] / end if end > 0.0 else 0.0)
        rows.append(current)
    return np.array(rows).T


def _times(estimate: Estimate) -> Array:
    """0 and the ends of the slabs with a finite bound."""
    return np.concatenate([[0.0], estimate.history["time"][: finite_slabs(estimate)]])


def _draw_shares(axes: Axes, estimate: Estimate) -> list[PolyCollection]:
    time, parts = _times(estimate), bound_parts(estimate)
    bound = parts.sum(axis=0)
    percent = 100.0 * np.divide(parts, bound, out=np.zeros_like(parts), where=bound > 0.0)
    areas: list[PolyCollection] = axes.stackplot(time, percent, colors=PARTS.values(), lw=0)
    for area, name, share in zip(areas, PARTS, percent[:, -1], strict=True):
        area.set_label(f"{name}: {share:.1f} % at $t$ = {time[-1]:g}")
    axes.set(ylabel="share of the bound (%)", ylim=(0.0, 100.0))
    time_axis(axes, float(estimate.history["time"][-1]))
    return areas
