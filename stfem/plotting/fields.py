"""Solutions and reconstructions: cell by cell, so that jumps are seen and nothing is drawn across a face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from stfem.checks import checked_instance
from stfem.plotting.checks import check_fields, check_points, check_solution
from stfem.plotting.sheets import Sheet, Slice, check_slices, sheet
from stfem.plotting.style import (
    BLACK,
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
from stfem.reconstruction import AnyRule
from stfem.solution import Solution
from stfem.spaces.field import Field
from stfem.spaces.mesh_field import MeshField
from stfem.stationary import StationarySolution

#: How the curves of a picture differ: the first is broad and light, those upon it are thin.
_LINES = ((SKY, "-", 2.6), (BLACK, "-", 0.8), (VERMILLION, "--", 0.8))


def plot_solution(
    solution: Solution | StationarySolution,
    path: str | Path | None = None,
    points: int | None = None,
    *,
    reconstruction: AnyRule | None = None,
    slices: Sequence[Slice] | None = None,
) -> Figure:
    """u_h(T) cell by cell with its jumps, and û(T) with it where a reconstruction is given.

    Of a stationary solution its only state.

    In one dimension û is the thin line upon u_h, in two both stand side by side, in three on slices.

    Parameters
    ----------
    solution
        What to draw.
    path
        Where to write the picture.
    points
        Points per cell and direction; by default 24, fewer on fine grids, 400 in all on slices of meshes.
    reconstruction
        Such as `Siac()`, on meshes `VertexPatches()`, or that of the estimator.
    slices
        Pairs (direction, position), directions counted from 0; in three dimensions the planes through the
        middle by default.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError, TypeError
        As `plot_fields`.
    """
    check_solution(solution)
    fields = {"$u_h$": solution.field}
    title = f"$t$ = {solution.time:g}" if isinstance(solution, Solution) else ""
    if reconstruction is not None:
        fields[r"$\hat{u}$"] = solution.reconstruct(reconstruction)
    return plot_fields(fields, path, points, slices=slices, title=title)


def plot_fields(
    fields: Mapping[str, Field | MeshField],
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
        Points per cell and direction; by default 24, fewer on fine grids, 400 in all on slices of meshes.
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
    TypeError
        For what are no fields, and a number of points that is not whole.
    """
    checked_instance("title", title, str, "text")
    check_picture(path)
    first = _checked(fields, points)
    cuts = check_slices(slices, *sheet("", first, None).extent)
    sheets = [[sheet(name, field, cut) for cut in cuts] for name, field in fields.items()]
    if len(sheets[0][0].labels) == 1:
        return finished(_curves(sheets, points, title), path)
    components = range(first.components)
    if cuts != [None]:  # columns are slices
        table = [[(sheet, c) for sheet in row] for c in components for row in sheets]
    elif len(sheets) > 1:  # columns are fields
        table = [[(sheet, c) for (sheet,) in sheets] for c in components]
    else:
        table = [[(sheets[0][0], c) for c in components]]
    return finished(_maps(table, points, title), path)


def _checked(fields: Mapping[str, Field | MeshField], points: int | None) -> Field | MeshField:
    check_fields(fields)
    check_points(points)
    if not fields:
        raise ValueError("fields: expected at least one field, got none")
    first = next(iter(fields.values()))
    for name, field in fields.items():
        domain, wanted = (_domain(f) for f in (field, first))
        if domain != wanted:
            raise ValueError(
                f"fields: expected lengths and number of components {wanted} for all, got {domain} for {name}"
            )
    if len(_domain(first)[0]) == 1 and len(fields) > len(_LINES):
        raise ValueError(f"fields: expected at most {len(_LINES)} curves in one picture, got {len(fields)}")
    return first


def _domain(field: Field | MeshField) -> tuple[tuple[float, ...], int]:
    """Lengths of the domain and number of components."""
    if isinstance(field, Field):
        return field.grid.lengths, field.components
    return tuple(np.ptp(field.mesh.vertices, axis=1).tolist()), field.components


def _curves(sheets: list[list[Sheet]], points: int | None, title: str) -> Figure:
    """Rows are components, columns are slices."""
    rows, columns = sheets[0][0].components, len(sheets[0])
    figure = PaperFigure(COLUMN if columns == 1 else PAGE, 0.5 + 1.9 * rows)
    panels = figure.subplots(rows, columns, squeeze=False, sharex="col")
    for column in range(columns):
        here = [row[column] for row in sheets]
        for component in range(rows):
            axes = panels[component, column]
            for line, (colour, style, width) in zip(here, _LINES, strict=False):
                axes.plot(*line.curve(component, points), color=colour, ls=style, lw=width, label=line.name)
            axes.set_ylabel(_quantity(component, rows))
            axes.set_xlim(*here[0].extent[:, 0])
        panels[-1, column].set_xlabel(here[0].labels[0])
        panels[0, column].set_title(", ".join(filter(None, (title, here[0].plane))))
    if len(sheets) > 1:
        handles = panels[0, 0].lines
        figure.legend(handles=handles, loc="outside lower center", frameon=False, ncols=len(handles))
    return figure


def _maps(table: list[list[tuple[Sheet, int]]], points: int | None, title: str) -> Figure:
    """A table of panels, each for a component of a sheet; panels of one component share their colours."""
    rows, columns = len(table), len(table[0])
    across, up = np.diff(table[0][0][0].extent, axis=0)[0]
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


def _map(axes: Axes, sheet: Sheet, component: int, points: int | None) -> ScalarMappable:
    drawn = sheet.draw(axes, component, points)
    axes.set(xlabel=sheet.labels[0], ylabel=sheet.labels[1])
    axes.set_title(", ".join(filter(None, (sheet.name, sheet.plane))))
    return drawn


def _quantity(component: int, components: int) -> str:
    name = "$u$" if components == 1 else f"$u_{component + 1}$"
    return f"{name} (units of the problem)"
