"""Solutions and reconstructions: cell by cell, so that jumps are seen and nothing is drawn across a face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from stfem.plotting.style import (
    BLACK,
    COLOUR_MAP,
    COLUMN,
    PAGE,
    SKY,
    VERMILLION,
    PaperFigure,
    check_picture,
    colour_bar,
    figure_of,
    finished,
    map_panels,
)
from stfem.reconstruction import Reconstruction
from stfem.solution import Solution
from stfem.spaces.field import Field
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import point_coordinates, values_at

#: A plane (or, of a field in two dimensions, a line): direction, counted from 0, and position.
Slice = tuple[int, float]
#: Points per cell and direction, and per direction in all, unless the user wants others.
_POINTS, _ALL_POINTS = 24, 1024
#: How the curves of a picture differ: the first is broad and light, those upon it are thin.
_LINES = ((SKY, "-", 2.6), (BLACK, "-", 0.8), (VERMILLION, "--", 0.8))


def plot_solution(
    solution: Solution,
    path: str | Path | None = None,
    points: int | None = None,
    *,
    reconstruction: Reconstruction | None = None,
    slices: Sequence[Slice] | None = None,
) -> Figure:
    """u_h(T) cell by cell with its jumps, and û(T) with it where a reconstruction is given.

    In one dimension û is the thin line upon u_h, in two both stand side by side, in three on slices.

    Parameters
    ----------
    solution
        What to draw.
    path
        Where to write the picture.
    points
        Points per cell and direction; by default 24, fewer on fine grids.
    reconstruction
        Such as `Siac()`, or that of the estimator.
    slices
        Pairs (direction, position), directions counted from 0; in three dimensions the planes through the
        middle by default.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        As `plot_fields`.
    """
    fields = {"$u_h$": solution.field}
    if reconstruction is not None:
        fields[r"$\hat{u}$"] = solution.reconstruct(reconstruction)
    return plot_fields(fields, path, points, slices=slices, title=f"$t$ = {solution.time:g}")


def plot_fields(
    fields: Mapping[str, Field],
    path: str | Path | None = None,
    points: int | None = None,
    *,
    slices: Sequence[Slice] | None = None,
    title: str = "",
) -> Figure:
    """Piecewise polynomials by name: curves upon each other, or maps side by side with the same colours.

    One row of panels per component and, in three dimensions, per field.

    Parameters
    ----------
    fields
        At least one, and at most three in one dimension; on the same domain, with as many components.
    path
        Where to write the picture.
    points
        Points per cell and direction; by default 24, fewer on fine grids.
    slices
        Pairs (direction, position), directions counted from 0: what is drawn then is the field on these
        planes or, in two dimensions, on these lines.
    title
        Such as the time.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        For no fields, fields that do not go together, a number of points below 1, or a slice outside of the
        domain.
    """
    check_picture(path)
    first = _checked(fields, points)
    cuts = check_slices(slices, [0.0] * first.grid.dim, first.grid.lengths)
    sheets = [[_Sheet(name, field, cut) for cut in cuts] for name, field in fields.items()]
    if sheets[0][0].field.grid.dim == 1:
        return finished(_curves(sheets, points, title), path)
    components = range(first.components)
    if cuts != [None]:  # columns are slices
        table = [[(sheet, c) for sheet in row] for c in components for row in sheets]
    elif len(sheets) > 1:  # columns are fields
        table = [[(sheet, c) for (sheet,) in sheets] for c in components]
    else:
        table = [[(sheets[0][0], c) for c in components]]
    return finished(_maps(table, points, title), path)


def check_slices(
    slices: Sequence[Slice] | None, low: Sequence[float], high: Sequence[float]
) -> list[Slice | None]:
    """The slices to draw, through the middle by default in three dimensions; [None] for the whole domain.

    ``low`` and ``high`` are the least and the greatest coordinates of the domain.
    """
    dim = len(low)
    if slices is None:
        return [None] if dim < 3 else [(i, 0.5 * (low[i] + high[i])) for i in reversed(range(dim))]
    if len(slices) == 0:
        raise ValueError("slices: expected at least one, got none")
    chosen: list[Slice | None] = []
    for cut in slices:
        if np.shape(cut) != (2,):
            raise ValueError(f"slices: expected pairs (direction, position), got {cut!r}")
        direction, position = cut
        if dim == 1 or direction not in range(dim):
            wanted = f"a direction in 0 … {dim - 1}" if dim > 1 else "None in one dimension"
            raise ValueError(f"slices: expected {wanted}, got {direction}")
        if not low[direction] <= position <= high[direction]:
            raise ValueError(
                f"slices: expected a position in [{low[direction]:g}, {high[direction]:g}] "
                f"in direction {direction}, got {position}"
            )
        chosen.append((int(direction), float(position)))
    return chosen


def slice_name(cut: Slice | None) -> str:
    """The equation of a plane."""
    return "" if cut is None else f"$x_{cut[0] + 1}$ = {cut[1]:g}"


def remaining(dim: int, cut: Slice | None) -> list[str]:
    """Labels of the directions that a slice leaves."""
    return [f"$x_{i + 1}$ (length)" for i in range(dim) if cut is None or i != cut[0]]


class _Sheet:
    """One field, or its values on a slice."""

    def __init__(self, name: str, field: Field, cut: Slice | None) -> None:
        self.name, self.cut = name, cut
        self.labels = remaining(field.grid.dim, cut)
        self.field = field if cut is None else field.cut(*cut)

    def points(self, wanted: int | None) -> int:
        """Points per cell and direction."""
        most = max(self.field.grid.cells)
        return wanted if wanted is not None else max(2, min(_POINTS, _ALL_POINTS // most))

    def values(self, reference: Array) -> Array:
        return values_at(self.field.values, self.field.degree, reference, self.field.grid.dim)


def _checked(fields: Mapping[str, Field], points: int | None) -> Field:
    if not fields:
        raise ValueError("fields: expected at least one field, got none")
    first = next(iter(fields.values()))
    for name, field in fields.items():
        domain, wanted = ((f.grid.lengths, f.components) for f in (field, first))
        if domain != wanted:
            raise ValueError(
                f"fields: expected lengths and number of components {wanted} for all, got {domain} for {name}"
            )
    if first.grid.dim == 1 and len(fields) > len(_LINES):
        raise ValueError(f"fields: expected at most {len(_LINES)} curves in one picture, got {len(fields)}")
    if points is not None and points < 1:
        raise ValueError(f"points: expected at least 1 per cell, got {points}")
    return first


def _curves(sheets: list[list[_Sheet]], points: int | None, title: str) -> Figure:
    """Rows are components, columns are slices."""
    rows, columns = sheets[0][0].field.components, len(sheets[0])
    figure = PaperFigure(COLUMN if columns == 1 else PAGE, 0.5 + 1.9 * rows)
    panels = figure.subplots(rows, columns, squeeze=False, sharex="col")
    for column in range(columns):
        here = [row[column] for row in sheets]
        for component in range(rows):
            axes = panels[component, column]
            for sheet, (colour, style, width) in zip(here, _LINES, strict=False):
                _curve(axes, sheet, component, points, color=colour, ls=style, lw=width)
            axes.set_ylabel(_quantity(component, rows))
            axes.set_xlim(0.0, here[0].field.grid.lengths[0])
        panels[-1, column].set_xlabel(here[0].labels[0])
        panels[0, column].set_title(", ".join(filter(None, (title, slice_name(here[0].cut)))))
    if len(sheets) > 1:
        handles = panels[0, 0].lines
        figure.legend(handles=handles, loc="outside lower center", frameon=False, ncols=len(handles))
    return figure


def _curve(axes: Axes, sheet: _Sheet, component: int, points: int | None, **style: Any) -> None:
    """One line with a gap at every face, so that none crosses a jump."""
    reference = np.linspace(0.0, 1.0, max(2, sheet.points(points)))
    x = point_coordinates(sheet.field.grid, [reference])[0]
    y = sheet.values(reference)[component]
    gap = np.full((1, x.shape[1]), np.nan)
    axes.plot(np.vstack([x, x[-1:]]).T.ravel(), np.vstack([y, gap]).T.ravel(), label=sheet.name, **style)


def _maps(table: list[list[tuple[_Sheet, int]]], points: int | None, title: str) -> Figure:
    """A table of panels, each for a component of a sheet; panels of one component share their colours."""
    rows, columns = len(table), len(table[0])
    across, up = table[0][0][0].field.grid.lengths
    panels = map_panels(rows, columns, up / across)
    figure = figure_of(panels[0, 0])
    components = 1 + max(component for row in table for _, component in row)
    for component in range(components):
        places = [(r, c) for r in range(rows) for c in range(columns) if table[r][c][1] == component]
        drawn = [_map(panels[place], table[place[0]][place[1]][0], component, points) for place in places]
        limits = [image.get_clim() for image in drawn]
        for image in drawn:
            image.set_clim(min(low for low, _ in limits), max(high for _, high in limits))
        colour_bar(drawn[0], [panels[place] for place in places], _quantity(component, components))
    if rows * columns == 1:
        panels[0, 0].set_title(", ".join(filter(None, (panels[0, 0].get_title(), title))))
    elif title:
        figure.suptitle(title)
    return figure


def _map(axes: Axes, sheet: _Sheet, component: int, points: int | None) -> AxesImage:
    """Every cell as its own pixels, with the values at their centres: no interpolation across faces."""
    count = sheet.points(points)
    values = sheet.values((np.arange(count) + 0.5) / count)[component]
    pixels = values.transpose(2, 0, 3, 1).reshape(values.shape[2] * count, values.shape[3] * count)
    across, up = sheet.field.grid.lengths
    image = axes.imshow(
        pixels.T,
        origin="lower",
        extent=(0.0, across, 0.0, up),
        interpolation="nearest",
        cmap=COLOUR_MAP,
        aspect="equal" if 0.2 <= up / across <= 5.0 else "auto",
    )
    axes.set(xlabel=sheet.labels[0], ylabel=sheet.labels[1])
    axes.set_title(", ".join(filter(None, (sheet.name, slice_name(sheet.cut)))))
    return image


def _quantity(component: int, components: int) -> str:
    name = "$u$ " if components == 1 else f"component {component}\n"
    return f"{name}(units of the problem)"
