"""Pictures; the only module that imports matplotlib. Figures are built without a display."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from stfem.estimators import Estimate
from stfem.semidiscretization import on_torus
from stfem.solution import Solution
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import point_coordinates, values_at

#: Colours of Okabe and Ito, told apart by colour-blind readers and in grey print.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
#: Parts of the bound and their colours, which differ in lightness as well.
PARTS = {
    "initial error": "#888888",
    "hyperbolic residual, L² norm": "#56B4E9",
    "parabolic residual, dual norm": "#F0E442",
}
#: Endings of pictures that can be written; what TeX would have to set is left out.
PICTURE_ENDINGS = tuple(
    f".{name}" for name in sorted(FigureCanvasBase.get_supported_filetypes()) if name != "pgf"
)


def plot_estimate(estimate: Estimate, path: str | Path | None = None) -> Figure:
    """Where the bound comes from: its parts over time, in units of u and in per cent.

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
    """
    history = estimate.history
    parts = bound_parts(estimate)
    bound = parts.sum(axis=0)
    time = np.concatenate([[0.0], history["time"]])[: len(bound)]
    percent = 100.0 * np.divide(parts, bound, out=np.zeros_like(parts), where=bound > 0.0)
    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    lines = upper.plot(time, bound, color="black", label="bound of ‖u − û‖ at time t")
    if "error" in history:
        known = history["time"], history["error"]
        lines += upper.plot(*known, ".--", color=ORANGE, ms=4, clip_on=False, label="true ‖u − û‖ at time t")
    upper.stackplot(time, parts, colors=PARTS.values(), lw=0)
    upper.set_ylabel("L² norm (units of u)")
    upper.set_ylim(bottom=0.0)
    upper.ticklabel_format(axis="y", scilimits=(-3, 3))
    areas = lower.stackplot(time, percent, colors=PARTS.values(), lw=0)
    for area, name, share in zip(areas, PARTS, percent[:, -1], strict=True):
        area.set_label(f"{name}: {share:.1f} % at t = {time[-1]:g}")
    lower.set(xlabel="time t (units of the problem)", ylabel="share of the bound (%)", ylim=(0.0, 100.0))
    lower.set_xlim(0.0, history["time"][-1])
    if len(bound) <= len(history["time"]):
        upper.set_title(f"the bound is infinite after t = {time[-1]:g}", fontsize=10)
    figure.legend(handles=[*lines, *reversed(areas)], loc="outside lower center", frameon=False)
    return _written(figure, path)


def bound_parts(estimate: Estimate) -> Array:
    """Initial, hyperbolic and parabolic part of the bound at 0 and at the ends of slabs, ``(3, 1 + slabs)``.

    A slab adds α to the second and √(z² + β) − z to the third, z the bound at its start; growth and decay
    multiply all parts alike (T4.2), so that they sum to the bound at its end. Nothing follows an
    infinite one.
    """
    history = estimate.history
    alpha, beta, bound = history["alpha"], history["beta"], history["bound"]
    current = np.array([estimate.parts["initial"], 0.0, 0.0])
    rows = [current]
    for n in range(int(np.isfinite(bound).cumprod().sum())):
        start = current.sum()
        current = current + np.array([0.0, alpha[n], np.hypot(start, np.sqrt(beta[n])) - start])
        end = current.sum()
        current = current * (bound[n] / end if end > 0.0 else 0.0)
        rows.append(current)
    return np.array(rows).T


def plot_solution(solution: Solution, path: str | Path | None = None, points: int = 8) -> Figure:
    """u_h(T) cell by cell with its jumps, in one or two dimensions; one panel per component.

    Parameters
    ----------
    solution
        In one or two dimensions.
    path
        Where to write the picture.
    points
        Points per cell and direction.

    Raises
    ------
    ValueError
        For three dimensions.
    """
    grid = on_torus(solution.semidiscretization, "plot").grid
    if grid.dim > 2:
        raise ValueError(f"plot_solution: expected one or two dimensions, got {grid.dim}")
    components = solution.problem.equation.components
    figure = Figure(figsize=(5.0 * components if grid.dim == 2 else 6.4, 4.2), layout="constrained")
    panels = figure.subplots(1, components, squeeze=False)[0]
    reference = np.linspace(0.0, 1.0, points)
    for component, axes in enumerate(panels):
        field = solution.values[component : component + 1]
        if grid.dim == 1:
            x = point_coordinates(grid, [reference])[0]
            values = values_at(field, solution.semidiscretization.degree, reference, 1)[0]
            gap = np.full((1, grid.cells[0]), np.nan)  # no line across a jump
            axes.plot(np.vstack([x, gap]).T.ravel(), np.vstack([values, gap]).T.ravel(), color=BLUE)
            axes.set_ylabel(f"u_h, component {component}" if components > 1 else "u_h")
        else:
            image = _cell_image(axes, solution, field, points)
            figure.colorbar(image, ax=axes, label=f"u_h, component {component}" if components > 1 else "u_h")
            axes.set_ylabel("x₂ (length)")
        axes.set_xlabel("x₁ (length)")
        axes.set_title(f"t = {solution.time:g}", fontsize=10)
    return _written(figure, path)


def plot_indicators(estimate: Estimate, path: str | Path | None = None) -> Figure:
    """Local indicators η_K of T4.7: bars in one dimension, a map of cells in two.

    Raises
    ------
    ValueError
        For three dimensions.
    """
    indicators = np.sqrt(estimate.indicators_sq)
    if indicators.ndim > 2:
        raise ValueError(f"plot_indicators: expected one or two dimensions, got {indicators.ndim}")
    figure = Figure(figsize=(5.4, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel("cell index, direction 1 (dimensionless)")
    if indicators.ndim == 1:
        axes.bar(np.arange(len(indicators)), indicators, width=1.0, color=BLUE, edgecolor="white", lw=0.3)
        axes.set_ylabel("indicator η_K (units of u)")
    else:
        image = axes.imshow(indicators.T, origin="lower", cmap="cividis")
        figure.colorbar(image, ax=axes, label="indicator η_K (units of u)")
        axes.set_ylabel("cell index, direction 2 (dimensionless)")
    return _written(figure, path)


def plot_demo(rows: Sequence[dict[str, Any]], slope: float, path: str | Path | None = None) -> Figure:
    """Bound over true error against ε, split and unsplit, with the fitted slope of the unsplit one."""
    positive = [row for row in rows if row["eps"] > 0.0]
    eps = np.array([row["eps"] for row in positive])
    unsplit = np.array([row["effectivity_unsplit"] for row in positive])
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.loglog(
        eps,
        unsplit,
        "s-",
        color=ORANGE,
        label=rf"unsplit, dual norm: grows like $\varepsilon^{{{slope:.2f}}}$",
    )
    axes.loglog(eps, [row["effectivity"] for row in positive], "o-", color=BLUE, label="split (stfem)")
    # half a decade below the unsplit curve, through its value at the least ε
    reference = unsplit[-1] / math.sqrt(10.0) * np.sqrt(eps[-1] / eps)
    shown = reference >= 1.0
    axes.loglog(eps[shown], reference[shown], "--", color=GREY, lw=1.2, label=r"slope $-1/2$, for comparison")
    axes.axhline(1.0, color=GREY, lw=0.8, ls=":", label="the true error")
    without = [row for row in rows if row["eps"] == 0.0]
    if without:
        axes.annotate(
            f"ε = 0: split {without[0]['effectivity']:.2f}, unsplit infinite",
            (0.02, 0.13),
            xycoords="axes fraction",
            fontsize=9,
            color=GREY,
        )
    axes.set_xlabel("diffusion ε (length²/time)")
    axes.set_ylabel("bound / true error (dimensionless)")
    axes.set_ylim(bottom=0.5)
    axes.legend(frameon=False)
    return _written(figure, path)


def _cell_image(axes: Axes, solution: Solution, field: Array, points: int) -> PolyCollection:
    """Every cell drawn as its own small patches: no interpolation across faces."""
    grid = on_torus(solution.semidiscretization, "plot").grid
    centres = (np.arange(points) + 0.5) / points
    values = values_at(field, solution.semidiscretization.degree, centres, 2)[0]
    corner = point_coordinates(grid, [np.arange(points) / points] * 2).reshape(2, -1).T
    size = np.array(grid.spacing) / points
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]) * size
    patches = PolyCollection(
        list(corner[:, None, :] + square), array=values.ravel(), cmap="cividis", edgecolors="face", lw=0.1
    )
    patches.set_rasterized(True)
    axes.add_collection(patches)
    axes.set(xlim=(0.0, grid.lengths[0]), ylim=(0.0, grid.lengths[1]), aspect="equal")
    return patches


def _written(figure: Figure, path: str | Path | None) -> Figure:
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
