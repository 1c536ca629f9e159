"""Meshes of the domains of the catalogue that are no boxes."""

from __future__ import annotations

import numpy as np
import skfem

from stfem.checks import checked_whole
from stfem.meshes.facets import Index
from stfem.problems.arguments import checked_number

__all__ = ["l_shape", "mesh_around_disc"]

_HALF, _LENGTH = 3.0, 9.0


def l_shape(refinements: int) -> skfem.MeshTri:
    """Triangles of (−1, 1)² without [0, 1) × (−1, 0]: six, refined as often as asked for."""
    checked_whole("refinements", refinements, 0, 12)
    mesh = skfem.MeshTri.init_lshaped()  # without the quadrant x, y > 0: turned by a quarter
    x, y = mesh.p
    return skfem.MeshTri(np.ascontiguousarray(np.stack([y, -x])), mesh.t).refined(refinements)


def mesh_around_disc(cells: int = 8, named: bool = False) -> skfem.MeshTri:
    """Triangles of (−3, 9) × (−3, 3) without the unit disc, whose circle becomes a polygon.

    Rays from the circle to the square (−3, 3)², and rectangles behind it; 42 cells² triangles.

    Parameters
    ----------
    cells : int
        Cells between the circle and the square, at least 1.
    named : bool
        Whether the boundaries are called ``left``, ``right``, ``bottom``, ``top`` and ``cylinder``.

    Raises
    ------
    ValueError, TypeError
        For less, and for another type.
    """
    n = int(checked_number("cells", cells, "a number of cells", 1.0, 1e4))
    side = np.linspace(-_HALF, _HALF, 3 * n + 1)
    end = np.full(3 * n, _HALF)
    # once around the square, against the clock, from its lower right corner
    x = np.concatenate([end, side[:0:-1], -end, side[:-1]])
    y = np.concatenate([side[:-1], end, side[:0:-1], -end])
    outer = np.stack([x, y])
    inner = outer / np.hypot(x, y)
    s = np.linspace(0.0, 1.0, n + 1)[:, None, None]
    rings = (1.0 - s) * inner + s * outer  # (rays, 2, around)
    around = _triangles(np.arange((n + 1) * 12 * n).reshape(n + 1, 12 * n), closed=True)
    columns = np.linspace(_HALF, _LENGTH, 3 * n + 1)
    tail = np.stack(np.meshgrid(columns, side, indexing="ij"), axis=1)  # (columns, 2, rows)
    behind = _triangles(np.arange((3 * n + 1) ** 2).reshape(3 * n + 1, -1), closed=False)
    points = np.concatenate([np.moveaxis(part, 1, 0).reshape(2, -1) for part in (rings, tail)], axis=1)
    cells_of_both = np.concatenate([around, behind + rings.shape[0] * rings.shape[2]], axis=1)
    _, first, number = np.unique(np.round(points, 9), axis=1, return_index=True, return_inverse=True)
    vertices = np.ascontiguousarray(points[:, first])
    mesh = skfem.MeshTri(vertices, np.ascontiguousarray(number.reshape(-1)[cells_of_both]))
    return _named(mesh) if named else mesh


def _named(mesh: skfem.MeshTri) -> skfem.MeshTri:
    """With the names of its sides, and of the polygon around the origin."""
    facets = mesh.boundary_facets()
    x, y = mesh.p[:, mesh.facets[:, facets]].mean(axis=1)
    ends = {"left": x + _HALF, "right": x - _LENGTH, "bottom": y + _HALF, "top": y - _HALF}
    sides = {name: np.abs(distance) < 1e-9 for name, distance in ends.items()}
    sides["cylinder"] = np.hypot(x, y) < 1.5
    return mesh.with_boundaries({name: facets[chosen] for name, chosen in sides.items()})


def _triangles(numbers: Index, closed: bool) -> Index:
    """Two triangles for every quadrilateral of a table of vertices ``(rows, columns)``."""
    if closed:
        numbers = np.concatenate([numbers, numbers[:, :1]], axis=1)
    here, following = numbers[:, :-1], numbers[:, 1:]
    a, b, c, d = (part.ravel() for part in (here[:-1], here[1:], following[1:], following[:-1]))
    return np.concatenate([np.stack([a, b, c]), np.stack([a, c, d])], axis=1)
