"""Pictures; the only module that imports matplotlib. Figures are built without a display."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from stfem.estimators import Estimate
from stfem.solution import Solution
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import point_coordinates, values_at

#: Colours of Okabe and Ito, told apart by colour-blind readers and in grey print.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"


def plot_estimate(estimate: Estimate, path: str | Path | None = None) -> Figure:
    """Bound over time, and the shares of the residual parts added on every slab.

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
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    time = history["time"]
    upper.plot(time, history["bound"], color=BLUE, label="bound of ‖u − û‖ at t")
    if "error" in history:
        upper.plot(time, history["error"], color=ORANGE, ls="--", label="true ‖u − û‖ at t")
    upper.set_ylabel("L² norm (units of u)")
    upper.set_ylim(bottom=0.0)
    upper.legend(frameon=False)
    lower.fill_between(
        time, 0.0, np.cumsum(history["alpha"]), color=BLUE, alpha=0.5, lw=0, label="hyperbolic, Σα"
    )
    lower.plot(time, np.sqrt(np.cumsum(history["beta"])), color=ORANGE, label="parabolic, √Σβ")
    lower.set_xlabel("time t (units of the problem)")
    lower.set_ylabel("residual parts (units of u)")
    lower.legend(frameon=False)
    return _written(figure, path)


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
    grid = solution.semidiscretization.grid
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
    grid = solution.semidiscretization.grid
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
