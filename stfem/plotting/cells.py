"""One number per cell of a mesh: bars, maps, and slices of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from stfem.checks import real_array
from stfem.estimators import Estimate
from stfem.meshes.arrays import mesh_from_arrays
from stfem.meshes.grid import TensorGrid
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.plotting.checks import check_estimate
from stfem.plotting.shapes import Mesh, Shapes, box, cell_count, dimension, drawable, shapes
from stfem.plotting.sheets import Slice, check_slices, remaining, slice_name
from stfem.plotting.style import (
    BLUE,
    COLOUR_MAP,
    COLUMN,
    PAGE,
    PaperFigure,
    check_picture,
    colour_bar,
    figure_of,
    finished,
    map_panels,
    norm_label,
)
from stfem.spaces.stencil import Array

#: Ratio of the largest to the least value from which on the scale is logarithmic.
_LOGARITHMIC = 100.0
#: Cells up to which their edges are drawn.
_WITH_EDGES = 2500


def plot_indicators(
    estimate: Estimate,
    path: str | Path | None = None,
    *,
    mesh: Mesh | UnstructuredMesh | None = None,
    slices: Sequence[Slice] | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Local indicators η_K of T4.7 on the mesh, in its coordinates.

    Parameters
    ----------
    estimate
        With ``indicators_sq``.
    path
        Where to write the picture.
    mesh
        By default that which the estimate was computed on.
    slices, axes
        As for `plot_cells`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        Where the estimate does not know its grid and none is given; else as `plot_cells`.
    TypeError
        For what is no estimate.
    """
    check_estimate(estimate)
    if mesh is None:
        if "mesh" in estimate.facts:
            mesh = mesh_from_arrays(**estimate.facts["mesh"])
        elif "lengths" in estimate.facts:
            mesh = TensorGrid(estimate.facts["lengths"], estimate.indicators_sq.shape)
        else:
            raise ValueError("mesh: expected one, since the estimate does not say what its own was, got None")
    mesh = drawable(mesh)
    label = norm_label(r"indicator $\eta_K$", dimension(mesh))
    return plot_cells(estimate.indicators_sq, mesh, path, label=label, slices=slices, axes=axes)


def plot_cells(
    values_sq: ArrayLike,
    mesh: Mesh | UnstructuredMesh,
    path: str | Path | None = None,
    *,
    label: str = "value per cell",
    slices: Sequence[Slice] | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Square roots of numbers per cell: bars in one dimension, a map in two, slices in three.

    Logarithmic where the largest is more than a hundred times the least positive one.

    Parameters
    ----------
    values_sq
        Squares, one per cell, such as ``estimate.indicators_sq``; for a grid ``(N_1, …, N_d)``.
    mesh
        A `TensorGrid`, a mesh of scikit-fem (lines, triangles, quadrilaterals, tetrahedra, hexahedra), or
        that of a solution.
    path
        Where to write the picture.
    label
        What the numbers are.
    slices
        Pairs (direction, position), directions counted from 0; in three dimensions the planes through the
        middle by default. Slices of a plane are bars along a line.
    axes
        Where to draw, for one panel only; a new figure by default.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError
        For what is no mesh.
    ValueError
        For numbers that are negative or not finite, or not one per cell; for a slice outside of the mesh, or
        several of them for given axes.
    """
    check_picture(path)
    mesh = drawable(mesh)
    dim = dimension(mesh)
    low, high = box(mesh)
    cuts = check_slices(slices, low, high)
    parts = [shapes(mesh, cut) for cut in cuts]
    values = _roots(values_sq, mesh)
    panels = _panels(axes, [np.delete(high - low, [] if cut is None else cut[0]) for cut in cuts])
    scale = _scale(values)
    for here, cut, part in zip(panels, cuts, parts, strict=True):
        names = remaining(dim, cut)
        plane = slice_name(cut, mesh if isinstance(mesh, TensorGrid) else None)
        here.set(xlabel=names[0], ylabel=names[1] if len(names) > 1 else label, title=plane)
        drawn = (_draw_map if len(names) > 1 else _draw_bars)(here, part, values[part.cells], scale)
    if len(names) > 1:
        colour_bar(drawn, panels, label)
    return finished(figure_of(panels[0]), path)


def _roots(values_sq: ArrayLike, mesh: Mesh) -> Array:
    """Square roots, in the order of the cells."""
    squares = real_array(values_sq, "values_sq")
    count = cell_count(mesh)
    if isinstance(mesh, TensorGrid) and squares.ndim > 1 and squares.shape != mesh.cells:
        raise ValueError(f"values_sq: expected shape {mesh.cells}, got {squares.shape}")
    if squares.size != count:
        raise ValueError(f"values_sq: expected {count} numbers, one per cell, got {squares.size}")
    if not np.all(np.isfinite(squares)) or squares.min() < 0.0:
        raise ValueError("values_sq: expected finite numbers ≥ 0, got others among them")
    return np.asarray(np.sqrt(squares.ravel()))


def _scale(values: Array) -> Normalize:
    """The same for all slices, so that they can be compared."""
    positive = values[values > 0.0]
    if len(positive) and positive.max() > _LOGARITHMIC * positive.min():
        return LogNorm(positive.min(), positive.max())
    return Normalize(0.0 if len(positive) == 0 else values.min(), values.max() or 1.0)


def _panels(axes: Axes | None, extents: Sequence[Array]) -> list[Axes]:
    """One panel per slice: the given one, or those of a new figure with room for their proportions."""
    count = len(extents)
    if axes is not None:
        if count > 1:
            raise ValueError(f"axes: expected None for {count} slices, which need as many panels, got one")
        return [axes]
    if len(extents[0]) == 2:
        return list(map_panels(1, count, max(up / across for across, up in extents))[0])
    return list(PaperFigure(COLUMN if count == 1 else PAGE, 2.4).subplots(1, count, squeeze=False)[0])


def _draw_bars(axes: Axes, part: Shapes, values: Array, scale: Normalize) -> PolyCollection:
    """Bars as wide as their cells."""
    logarithmic = isinstance(scale, LogNorm)
    foot = 0.5 * float(scale.vmin or 0.0) if logarithmic else 0.0
    ends = np.array(part.corners)[:, :, 0]
    heights = np.maximum(values, foot)
    level = np.full_like(heights, foot)
    bars = np.stack([ends[:, [0, 1, 1, 0]], np.stack([level, level, heights, heights], axis=1)], axis=2)
    drawn = PolyCollection(list(bars), facecolor=BLUE, **_edges(len(bars)))
    axes.add_collection(drawn)
    axes.set_xlim(ends.min(), ends.max())
    if logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(foot, 1.3 * float(scale.vmax or 1.0))
    else:
        axes.set_ylim(0.0, 1.08 * float(scale.vmax or 1.0))
        axes.ticklabel_format(axis="y", scilimits=(-3, 3), useMathText=True)
    return drawn


def _draw_map(axes: Axes, part: Shapes, values: Array, scale: Normalize) -> PolyCollection:
    """Every cell in one colour; zero, which a logarithmic scale does not have, is white."""
    drawn = PolyCollection(
        list(part.corners), array=values, cmap=COLOUR_MAP, norm=scale, **_edges(len(values))
    )
    drawn.set_rasterized(len(values) > _WITH_EDGES)
    axes.add_collection(drawn)
    corners = np.concatenate(list(part.corners)) if len(part.corners) else np.zeros((1, 2))
    low, high = corners.min(axis=0), corners.max(axis=0)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    return drawn


def _edges(count: int) -> dict[str, Any]:
    """Thin lines between cells, where there is room for them."""
    return {"edgecolors": "white", "lw": 0.25} if count <= _WITH_EDGES else {"edgecolors": "face", "lw": 0.1}
