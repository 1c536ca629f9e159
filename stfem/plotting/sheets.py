"""What is drawn of a field: the whole of it or a slice, as curves with gaps or as coloured cells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product
from typing import Literal, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.tri import Triangulation
from numpy.typing import NDArray

from stfem.checks import checked_list, checked_number, described, whole_number
from stfem.meshes.grid import TensorGrid
from stfem.meshes.reference import ReferenceCell
from stfem.plotting.style import COLOUR_MAP
from stfem.spaces.field import Field
from stfem.spaces.mesh_field import MeshField
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import point_coordinates, values_at

#: A plane (or, of a field in two dimensions, a line): direction, counted from 0, and position.
Slice = tuple[int, float]
#: Points per cell and direction, and per direction in all, unless the user wants others.
_POINTS, _ALL_POINTS = 24, 1024
#: Pixels per direction of a slice of a mesh, and by how much it lies to the right of its position, relative
#: to the size of the domain: a face belongs to the cells there.
_PIXELS, _RIGHT = 400, 1e-9


class Sheet(Protocol):
    """One field, or its values on a slice.

    Attributes
    ----------
    name, plane
        Name of the field, and the equation of the slice.
    labels
        Of the directions that are drawn.
    components
        Number of components.
    """

    name: str
    plane: str
    labels: list[str]
    components: int

    @property
    def extent(self) -> Array:
        """Least and greatest coordinates ``(2, directions)``."""

    def curve(self, component: int, points: int | None) -> tuple[Array, Array]:
        """A line with a gap at every face, so that none crosses a jump."""

    def draw(self, axes: Axes, component: int, points: int | None) -> ScalarMappable:
        """Cells in colours that are not interpolated across faces."""


def sheet(name: str, field: Field | MeshField, cut: Slice | None) -> Sheet:
    """The sheet of a field."""
    return GridSheet(name, field, cut) if isinstance(field, Field) else MeshSheet(name, field, cut)


class GridSheet:
    """On a uniform grid."""

    def __init__(self, name: str, field: Field, cut: Slice | None) -> None:
        self.name, self.plane = name, slice_name(cut, field.grid)
        self.labels, self.components = remaining(field.grid.dim, cut), field.components
        self.field = field if cut is None else field.cut(*cut)

    @property
    def extent(self) -> Array:
        return np.array([np.zeros(self.field.grid.dim), self.field.grid.lengths])

    def curve(self, component: int, points: int | None) -> tuple[Array, Array]:
        reference = np.linspace(0.0, 1.0, max(2, self._points(points)))
        x = point_coordinates(self.field.grid, [reference])[0]
        return _with_gaps(x, self._values(reference)[component])

    def draw(self, axes: Axes, component: int, points: int | None) -> ScalarMappable:
        """Every cell as its own pixels, with the values at their centres."""
        count = self._points(points)
        values = self._values((np.arange(count) + 0.5) / count)[component]
        pixels = values.transpose(2, 0, 3, 1).reshape(values.shape[2] * count, values.shape[3] * count)
        return _image(axes, pixels, self.extent)

    def _points(self, wanted: int | None) -> int:
        """Points per cell and direction."""
        return _chosen(wanted, max(self.field.grid.cells))

    def _values(self, reference: Array) -> Array:
        return values_at(self.field.values, self.field.degree, reference, self.field.grid.dim)


class MeshSheet:
    """On an unstructured mesh."""

    def __init__(self, name: str, field: MeshField, cut: Slice | None) -> None:
        self.name, self.plane = name, slice_name(cut)
        self.labels, self.components = remaining(field.mesh.dim, cut), field.components
        self.field, self._cut = field, cut
        kept = [i for i in range(field.mesh.dim) if cut is None or i != cut[0]]
        self._kept, self._box = (
            kept,
            np.array([field.mesh.vertices.min(axis=1), field.mesh.vertices.max(axis=1)]),
        )

    @property
    def extent(self) -> Array:
        return np.asarray(self._box[:, self._kept])

    def curve(self, component: int, points: int | None) -> tuple[Array, Array]:
        if self._cut is not None:
            count = self._pixels(points)
            (x,), cells, values = self._sliced(component, count)
            place = np.flatnonzero(np.diff(cells)) + 1
            return np.insert(x, place, np.nan), np.insert(values, place, np.nan)
        reference = np.linspace(0.0, 1.0, max(2, self._points(points)))[None]
        x, y = self.field.mesh.points(reference)[0], self.field.at(reference)[component]
        order = np.argsort(x.mean(axis=0))
        return _with_gaps(x[:, order], y[:, order])

    def draw(self, axes: Axes, component: int, points: int | None) -> ScalarMappable:
        """Every cell as triangles of its own with the values at their centres; slices as pixels."""
        if self._cut is not None:
            count = self._pixels(points)
            _, _, values = self._sliced(component, count)
            return _image(axes, values.reshape(count, count), self.extent)
        nodes, triangles = _triangles(self.field.mesh.reference, self._points(points))
        x, y = (self.field.mesh.points(nodes)[i].T.ravel() for i in (0, 1))
        values = self.field.at(nodes[:, triangles].mean(axis=2))[component].T.ravel()
        starts = nodes.shape[1] * np.arange(self.field.mesh.size)
        corners = (triangles + starts[:, None, None]).reshape(-1, 3)
        low, high = self.extent
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect=_aspect(self.extent))
        return axes.tripcolor(
            Triangulation(x, y, corners), facecolors=values, cmap=COLOUR_MAP, rasterized=True
        )

    def _points(self, wanted: int | None) -> int:
        """Pieces of every edge."""
        return _chosen(wanted, self._across)

    @cached_property
    def _across(self) -> int:
        """Cells per direction, about."""
        return int(np.ceil(self.field.mesh.size ** (1.0 / self.field.mesh.dim)))

    def _pixels(self, wanted: int | None) -> int:
        return _PIXELS if wanted is None else wanted * self._across

    def _sliced(self, component: int, count: int) -> tuple[list[Array], NDArray[np.intp], Array]:
        """Centres of pixels in every direction of the slice; cells there and values, NaN outside."""
        low, high = self._box
        direction, position = self._cut or (0, 0.0)
        shift = _RIGHT * (high[direction] - low[direction])
        inner = min(position + shift, high[direction] - shift)
        centres = [low[i] + (high[i] - low[i]) * (np.arange(count) + 0.5) / count for i in self._kept]
        places = np.meshgrid(*centres, indexing="ij")
        x = np.insert(np.stack([place.ravel() for place in places]), direction, inner, axis=0)
        found = self.field.mesh.find(x)
        values = np.full(x.shape[1], np.nan)
        inside = found.cells >= 0
        values[inside] = self.field.in_cells(found.cells[inside], found.points[:, inside])[component]
        return centres, found.cells, values


def slice_name(cut: Slice | None, grid: TensorGrid | None = None) -> str:
    """The equation of a plane; 0.5⁺ where it lies in faces of a grid, and the cells to their right are shown.

    A position that round-off has put to the left of such a face is 0.5⁻.
    """
    if cut is None:
        return ""
    direction, position = cut
    side = ""
    if grid is not None:
        scaled = position / grid.spacing[direction]
        if abs(scaled - round(scaled)) <= 1e-9 * max(1.0, scaled):
            side = "$^+$" if scaled >= round(scaled) else "$^-$"
    return f"$x_{direction + 1}$ = {position:g}{side}"


def remaining(dim: int, cut: Slice | None) -> list[str]:
    """Labels of the directions that a slice leaves."""
    return [f"$x_{i + 1}$ (length)" for i in range(dim) if cut is None or i != cut[0]]


def check_slices(
    slices: Sequence[Slice] | None, low: Sequence[float] | Array, high: Sequence[float] | Array
) -> list[Slice | None]:
    """The slices to draw, through the middle by default in three dimensions; [None] for the whole domain.

    ``low`` and ``high`` are the least and the greatest coordinates of the domain.
    """
    dim = len(low)
    if slices is None:
        return [None] if dim < 3 else [(i, 0.5 * (low[i] + high[i])) for i in reversed(range(dim))]
    cuts = checked_list("slices", slices)
    if not cuts:
        raise ValueError("slices: expected at least one, got none")
    chosen: list[Slice | None] = []
    for cut in cuts:
        pair = list(cut) if isinstance(cut, (tuple, list)) else []
        if len(pair) != 2:
            raise ValueError(f"slices: expected pairs (direction, position), got {described(cut)}")
        direction, position = whole_number("slices", pair[0]), checked_number("slices", pair[1])
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


def _chosen(wanted: int | None, cells: int) -> int:
    return wanted if wanted is not None else max(2, min(_POINTS, _ALL_POINTS // cells))


def _with_gaps(x: Array, y: Array) -> tuple[Array, Array]:
    """Lines of cells, from arrays ``(points, cells)``, one after the other with NaN between them."""
    gap = np.full((1, x.shape[1]), np.nan)
    return np.vstack([x, x[-1:]]).T.ravel(), np.vstack([y, gap]).T.ravel()


def _image(axes: Axes, pixels: Array, extent: Array) -> ScalarMappable:
    """Pixels ``(x, y)``; those that are NaN stay empty."""
    (left, bottom), (right, top) = extent
    return axes.imshow(
        pixels.T,
        origin="lower",
        extent=(left, right, bottom, top),
        interpolation="nearest",
        cmap=COLOUR_MAP,
        aspect=_aspect(extent),
    )


def _aspect(extent: Array) -> Literal["equal", "auto"]:
    across, up = extent[1] - extent[0]
    return "equal" if 0.2 <= up / across <= 5.0 else "auto"


def _triangles(cell: ReferenceCell, pieces: int) -> tuple[Array, NDArray[np.intp]]:
    """Points ``(2, n)`` of a plane reference cell and the triangles ``(triangles, 3)`` between them."""
    places = [(i, j) for i, j in product(range(pieces + 1), repeat=2) if not cell.simplex or i + j <= pieces]
    number = {place: n for n, place in enumerate(places)}
    halves = [((i, j), (i + 1, j), (i, j + 1)) for i, j in places]
    halves += [((i + 1, j + 1), (i, j + 1), (i + 1, j)) for i, j in places]
    corners = [[number[p] for p in half] for half in halves if all(p in number for p in half)]
    return np.array(places, dtype=float).T / pieces, np.array(corners, dtype=np.intp)
