"""Bound, true error, residuals and growth over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stfem.estimators import Estimate
from stfem.plotting.checks import check_history, dimension_of
from stfem.plotting.parameter import is_spread
from stfem.plotting.style import (
    BLACK,
    BLUE,
    LINE_STYLES,
    VERMILLION,
    PaperFigure,
    check_picture,
    colours,
    figure_of,
    finished,
    legend,
    norm_label,
    panel,
    time_axis,
)
from stfem.spaces.stencil import Array


def plot_bound(
    estimates: Estimate | Mapping[str, Estimate],
    path: str | Path | None = None,
    *,
    axes: Axes | None = None,
) -> Figure:
    """Bound of ‖u − û‖ over time, and the true error where it is known.

    Logarithmic where values spread over more than a decade.

    Parameters
    ----------
    estimates
        An estimate with its history, or several of them by name, such as those of different estimators.
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
        For no estimates.
    TypeError
        For what are none.
    """
    check_picture(path)
    named = estimates if isinstance(estimates, Mapping) else {r"bound of $\|u-\hat{u}\|$": estimates}
    if not named:
        raise ValueError("estimates: expected an estimate, or some of them by name, got none")
    for name, given in named.items():
        by_name = isinstance(estimates, Mapping)
        check_history(given, f"estimates[{name!r}]" if by_name else "estimates (one, or {name: estimate})")
    columns = 2 if axes is None else 1
    axes = panel(axes)
    handles: list[Artist] = []
    levels = []
    errors: list[tuple[str, tuple[Array, Array]]] = []
    for i, (name, colour) in enumerate(zip(named, colours(len(named)), strict=True)):
        estimate = named[name]
        time, bound = bound_history(estimate)
        known = true_errors(estimate)
        dashes = LINE_STYLES[i % len(LINE_STYLES)]
        handles += axes.plot(time, bound, color=colour, ls=dashes, lw=1.3, label=name)
        levels.append(bound[np.isfinite(bound)])
        if known is not None and not any(_same(known, other) for _, other in errors):
            errors.append((colour, known))
            levels.append(known[1])
    style: dict[str, Any] = {"ls": "none", "marker": "o", "ms": 3.0, "mfc": "none", "mew": 0.7}
    style |= {"clip_on": False, "zorder": 3.0}  # the one at T, often the only one, stands on the frame
    for colour, known in errors:  # of one reconstruction or of several
        axes.plot(*known, color=colour if len(errors) > 1 else BLACK, **style)
    if errors:
        handles.append(Line2D([], [], color=BLACK, label=r"true error $\|u-\hat{u}\|$", **style))
    if is_spread(np.concatenate(levels)):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0.0)
        axes.ticklabel_format(axis="y", scilimits=(-3, 3), useMathText=True)
    dims = {dimension_of(estimate) for estimate in named.values()}
    axes.set_ylabel(norm_label(dim=dims.pop() if len(dims) == 1 else None))
    time_axis(axes, max(float(estimate.history["time"][-1]) for estimate in named.values()))
    if not isinstance(estimates, Mapping):
        mark_infinite(axes, estimates)
    legend(axes, handles, min(columns, len(handles)))
    return finished(figure_of(axes), path)


def plot_residual(estimate: Estimate, path: str | Path | None = None) -> Figure:
    """The two parts of the residual over time, as rates per slab: α_n/Δt_n above and β_n/Δt_n below (T4.2).

    α_n bounds ∫‖R_H‖, β_n is ∫p²/(2θε), a square. A part that is zero all along is said to vanish.

    Parameters
    ----------
    estimate
        With its history.
    path
        Where to write the picture.

    Returns
    -------
    matplotlib.figure.Figure
    """
    check_picture(path)
    check_history(estimate)
    history = estimate.history
    edges = np.concatenate([[0.0], history["time"]])
    figure = PaperFigure(height=3.6)
    panels = figure.subplots(2, 1, sharex=True)
    rows = (
        ("alpha", BLUE, "hyperbolic part, $L^2$", r"$\alpha_n/\Delta t_n$", 1),
        ("beta", VERMILLION, "parabolic part, dual norm squared", r"$\beta_n/\Delta t_n$", 2),
    )
    for axes, (name, colour, title, symbol, power) in zip(panels, rows, strict=True):
        rate = history[name] / np.diff(edges)
        finite = np.isfinite(rate)
        axes.stairs(np.where(finite, rate, np.nan), edges, color=colour, lw=1.1, baseline=None)
        axes.set_title(title, loc="right")  # a power of ten may stand at the left
        axes.set_ylabel(norm_label(f"{symbol}\n", dimension_of(estimate), power, "/time"))
        if not rate[finite].any():
            axes.set_yticks([0.0])
            axes.text(0.5, 0.6, "vanishes", transform=axes.transAxes, ha="center")
        elif is_spread(rate[finite]):
            axes.set_yscale("log")
        else:
            axes.set_ylim(0.0, 1.1 * rate[finite].max())
            axes.ticklabel_format(axis="y", scilimits=(-3, 3), useMathText=True)
    time_axis(panels[1], float(edges[-1]))
    return finished(figure, path)


def plot_growth(estimate: Estimate, path: str | Path | None = None, *, axes: Axes | None = None) -> Figure:
    """Growth factor exp(∫μ_+) over time (T4.2): by how much an early residual has been multiplied.

    Parameters
    ----------
    estimate
        With the rate 2μ in its history.
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
        For an estimator that keeps no rates per slab, which is so on every mesh.
    """
    check_picture(path)
    check_history(estimate)
    factor = growth_factor(estimate)
    axes = panel(axes)
    time = np.concatenate([[0.0], estimate.history["time"]])
    finite = np.isfinite(factor)
    axes.plot(time[finite], factor[finite], color=BLUE, lw=1.3)
    if is_spread(factor[finite]):
        axes.set_yscale("log")
    else:
        axes.set_ylim(0.0, 1.1 * factor[finite].max())
    axes.set_ylabel("growth factor $\\exp\\int\\mu_+$\n(dimensionless)")
    time_axis(axes, float(time[-1]))
    if not finite.all():
        axes.set_title(f"the factor is beyond all numbers after t = {time[finite][-1]:g}")
    return finished(figure_of(axes), path)


def growth_factor(estimate: Estimate) -> Array:
    """exp(∫μ_+) at 0 and at the ends of slabs (T4.2)."""
    if "growth" not in estimate.history and "mesh" in estimate.facts:
        raise ValueError(
            "estimate: expected one of a problem on a Torus, whose slabs have a rate of growth each, got one "
            "on a mesh; parts['growth'] is its factor up to the final time"
        )
    if "growth" not in estimate.history:
        raise ValueError(
            "estimate: expected one with the rate 'growth' in its history, as SplitEstimator gives it, "
            f"got {', '.join(estimate.history)}"
        )
    duration = np.diff(estimate.history["time"], prepend=0.0)
    exponent = np.cumsum(0.5 * np.maximum(estimate.history["growth"], 0.0) * duration)
    with np.errstate(over="ignore"):
        return np.concatenate([[1.0], np.exp(exponent)])


def bound_history(estimate: Estimate) -> tuple[Array, Array]:
    """Times and bounds, at 0 and at the ends of slabs; NaN where a bound is infinite."""
    factor = float(estimate.facts.get("error_factor", 1.0))
    time = np.concatenate([[0.0], estimate.history["time"]])
    bound = np.concatenate([[factor * estimate.parts["initial"]], estimate.history["bound"]])
    return time, np.where(np.isfinite(bound), bound, np.nan)


def true_errors(estimate: Estimate) -> tuple[Array, Array] | None:
    """Times and true errors at the ends of slabs, where they are known."""
    if "error" not in estimate.history:
        return None
    return estimate.history["time"], estimate.history["error"]


def _same(first: tuple[Array, Array], second: tuple[Array, Array]) -> bool:
    """Whether two estimates measured the same errors at the same times."""
    return first[0].shape == second[0].shape and np.allclose(first, second, rtol=1e-6, atol=0.0)


def finite_slabs(estimate: Estimate) -> int:
    """Number of slabs before the bound is infinite."""
    return int(np.isfinite(estimate.history["bound"]).cumprod().sum())


def mark_infinite(axes: Axes, estimate: Estimate) -> None:
    """Say from when on the bound is infinite."""
    slabs = finite_slabs(estimate)
    if slabs < len(estimate.history["time"]):
        last = float(estimate.history["time"][slabs - 1]) if slabs else 0.0
        axes.set_title(f"the bound is infinite after t = {last:g}")
