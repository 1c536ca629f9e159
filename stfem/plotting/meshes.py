"""Meshes with their boundaries: where which condition holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from stfem.meshes.unstructured import UnstructuredMesh
from stfem.plotting.style import (
    BLACK,
    CURVE_COLOURS,
    GREY,
    LINE_STYLES,
    check_picture,
    figure_of,
    finished,
    legend,
    map_panels,
    panel,
)
from stfem.problems import Box, Domain
from stfem.problems.bounded import boundary_parts
from stfem.problems.conditions import Condition
from stfem.semidiscretization import UnstructuredSemidiscretization
from stfem.solution import Solution
from stfem.spaces.stencil import Array
from stfem.stationary import StationarySolution

__all__ = ["plot_mesh"]


def plot_mesh(
    given: Solution | StationarySolution | Domain | Box,
    path: str | Path | None = None,
    *,
    cells: int | Sequence[int] | None = None,
    axes: Axes | None = None,
) -> Figure:
    """The mesh, and its boundaries in colours with their names and conditions; glued sides are dotted.

    In one dimension cells are between ticks on a line, in two they have outlines.

    Parameters
    ----------
    given
        A solution, or a domain.
    path
        Where to write the picture.
    cells
        Those of a `Box` that is given alone.
    axes
        Where to draw; a new figure one column wide by default.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError
        For something else, such as a solution on a torus, and for cells that do not fit.
    ValueError
        In three dimensions.
    """
    check_picture(path)
    domain, mesh = _of(given, cells)
    if mesh.dim == 3:
        raise ValueError(
            "expected a mesh in one or two dimensions, got one in 3: stfem.io.write_vtk gives it to ParaView"
        )
    if axes is None:
        across, up = np.ptp(mesh.vertices, axis=1) if mesh.dim == 2 else (1.0, 0.0)
        axes = map_panels(1, 1, up / across)[0, 0] if mesh.dim == 2 else panel(None, 1.4)
    _draw_cells(axes, mesh)
    handles = [
        _draw_facets(axes, _ends(mesh, part.facets), number, f"{part.name}: {_said(part.condition)}")
        for number, part in enumerate(boundary_parts(mesh, domain.boundary))
        if len(part.facets)
    ]
    glued = np.flatnonzero(np.any(mesh.facets.shift != 0.0, axis=0))
    if len(glued):
        near = _ends(mesh, glued)
        both = np.concatenate([near, near + mesh.facets.shift[:, glued].T[:, None]])
        handles.append(_draw_facets(axes, both, None, "periodic"))
    if handles:
        legend(axes, handles, 2 if mesh.dim == 2 else 1)
    return finished(figure_of(axes), path)


def _of(
    given: Solution | StationarySolution | Domain | Box, cells: int | Sequence[int] | None
) -> tuple[Domain | Box, UnstructuredMesh]:
    if isinstance(given, (Box, Domain)):
        return given, given.mesh(cells)
    if isinstance(given, (Solution, StationarySolution)):
        domain, semi = given.problem.domain, given.semidiscretization
        if isinstance(domain, (Box, Domain)) and isinstance(semi, UnstructuredSemidiscretization):
            return domain, semi.mesh
    solved = isinstance(given, (Solution, StationarySolution))
    got = type(given.problem.domain if solved else given).__name__
    raise TypeError(f"expected a Box or Domain, or a solution on one, got {got}")


def _draw_cells(axes: Axes, mesh: UnstructuredMesh) -> None:
    if mesh.dim == 1:
        x = np.unique(mesh.vertices)
        axes.plot(x, np.zeros_like(x), "|-", color=GREY, ms=7.0, lw=0.7)
        axes.set(xlabel="$x_1$ (length)", ylim=(-1.0, 1.0), yticks=[])
        return
    lines = _ends(mesh, np.arange(mesh.facets.interior))
    axes.add_collection(LineCollection(list(lines), colors=GREY, linewidths=0.4))
    (left, bottom), (right, top) = mesh.vertices.min(axis=1), mesh.vertices.max(axis=1)
    rim = 0.03 * max(right - left, top - bottom)  # for the lines on the boundary
    axes.set(xlim=(left - rim, right + rim), ylim=(bottom - rim, top + rim), aspect="equal")
    axes.set(xlabel="$x_1$ (length)", ylabel="$x_2$ (length)")


def _draw_facets(axes: Axes, ends: Array, number: int | None, name: str) -> Artist:
    """Facets ``(F, ends, d)`` in one colour; returns what stands for them in a legend."""
    places = len(CURVE_COLOURS)
    style: dict[str, Any] = {"color": BLACK, "ls": ":"}
    if number is not None:
        style = {
            "color": CURVE_COLOURS[number % places],
            "ls": LINE_STYLES[number // places % len(LINE_STYLES)],
        }
    if ends.shape[2] == 1:
        (handle,) = axes.plot(
            ends.ravel(), np.zeros(ends.size), "o", color=style["color"], ms=5.0, label=name
        )
        return handle
    gaps = np.full((len(ends), 1, 2), np.nan)
    line = np.concatenate([ends, gaps], axis=1).reshape(-1, 2)
    (handle,) = axes.plot(*line.T, lw=2.2, solid_capstyle="butt", label=name, **style)
    return handle


def _ends(mesh: UnstructuredMesh, facets: np.ndarray) -> Array:
    """Vertices of facets ``(F, vertices, d)``."""
    return mesh.facet_points(mesh.reference.on_facet.vertices, facets).T


def _said(condition: Condition) -> str:
    """A condition with its number; data that vary are g."""
    kind = type(condition).__name__
    if condition.outflow_only:
        return kind
    return f"{kind}({condition.g:g})" if isinstance(condition.g, (int, float)) else f"{kind}($g$)"
