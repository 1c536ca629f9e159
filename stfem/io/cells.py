"""Cells with values at nodes of their own: what a program that draws fields needs to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from stfem.checks import checked_instance, checked_whole, real_array
from stfem.spaces.stencil import Array

__all__ = [
    "HEXAHEDRON",
    "LINE",
    "MESH_SHAPES",
    "QUADRILATERAL",
    "SHAPES",
    "TETRAHEDRON",
    "TRIANGLE",
    "Cells",
    "Shape",
]

#: VTK interpolates no higher ones.
MAX_DEGREE = 10


@dataclass(frozen=True)
class Shape:
    """Reference cell and the numbers of its nodes.

    Attributes
    ----------
    dim
        Dimension d.
    linear, lagrange
        What meshio calls cells of degree 1 and of higher degrees.
    numbering
        Gives for a degree p ≥ 1 the places of all nodes times p, whole numbers ``(nodes, d)``, as VTK orders
        them.
    """

    dim: int
    linear: str
    lagrange: str
    numbering: Callable[[int], NDArray[np.intp]]


def _tensor_nodes(parts: str, degree: int) -> NDArray[np.intp]:
    """Nodes of the parts of a cube, one after the other; the first direction counts fastest within each.

    A part has one character per direction: 0 and 1 are the ends, - is all in between.
    """
    ends = {"0": [0], "1": [degree], "-": range(1, degree)}
    nodes = [node[::-1] for part in parts.split() for node in product(*(ends[c] for c in part[::-1]))]
    return np.array(nodes, dtype=np.intp)


#: Vertices, edges, faces and interior of simplices, by their number of vertices.
_SIMPLICES = {
    1: ("0",),
    3: ("0", "1", "2", "01", "12", "20", "012"),
    4: ("0", "1", "2", "3", "01", "12", "20", "03", "13", "23", "013", "231", "032", "021", "0123"),
}


def _simplex_nodes(vertices: int, degree: int) -> NDArray[np.intp]:
    """Nodes of the parts of a simplex, one after the other."""
    return np.array([node[1:] for node in _barycentric(vertices, degree)], dtype=np.intp)


def _barycentric(vertices: int, degree: int) -> list[list[int]]:
    """Barycentric coordinates of all nodes, times the degree.

    In an edge they follow each other; the nodes inside triangles and tetrahedra are those of a smaller one.
    """
    if degree < 1:
        return [[0] * vertices] * (degree == 0)
    if vertices == 2:
        return [[degree - i, i] for i in range(degree + 1)]
    nodes = []
    for part in _SIMPLICES[vertices]:
        for inner in _barycentric(len(part), degree - len(part)):
            node = [0] * vertices
            for vertex, coordinate in zip(map(int, part), inner, strict=True):
                node[vertex] = coordinate + 1
            nodes.append(node)
    return nodes


#: Interval.
LINE = Shape(1, "line", "VTK_LAGRANGE_CURVE", partial(_tensor_nodes, "0 1 -"))
#: Quadrilateral.
QUADRILATERAL = Shape(
    2, "quad", "VTK_LAGRANGE_QUADRILATERAL", partial(_tensor_nodes, "00 10 11 01 -0 1- -1 0- --")
)
# The order of the upright edges, 00- 10- 01- 11-, is that of VTK 8. Files of the version that meshio writes
# (0.1) are defined by it: VTK 9 has exchanged the last two, and exchanges them when it reads such files.
#: Hexahedron.
HEXAHEDRON = Shape(
    3,
    "hexahedron",
    "VTK_LAGRANGE_HEXAHEDRON",
    partial(
        _tensor_nodes,
        "000 100 110 010 001 101 111 011 "
        "-00 1-0 -10 0-0 -01 1-1 -11 0-1 00- 10- 01- 11- "
        "0-- 1-- -0- -1- --0 --1 ---",
    ),
)
#: Triangle.
TRIANGLE = Shape(2, "triangle", "VTK_LAGRANGE_TRIANGLE", partial(_simplex_nodes, 3))
#: Tetrahedron.
TETRAHEDRON = Shape(3, "tetra", "VTK_LAGRANGE_TETRAHEDRON", partial(_simplex_nodes, 4))
#: Cells of tensor grids by dimension.
SHAPES = {shape.dim: shape for shape in (LINE, QUADRILATERAL, HEXAHEDRON)}
#: Cells of meshes by the names of their reference cells.
MESH_SHAPES = {
    "line": LINE,
    "triangle": TRIANGLE,
    "quadrilateral": QUADRILATERAL,
    "tetrahedron": TETRAHEDRON,
    "hexahedron": HEXAHEDRON,
}


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of one shape and degree that share no nodes, so that nothing is averaged where they meet.

    Attributes
    ----------
    shape, degree
        Shape and degree p ≥ 1 of the interpolation in every cell.
    points
        Places of the nodes, ``(cells, nodes, d)``, nodes as in ``shape.numbering(degree)``.
    point_data
        Values at the nodes by name, each ``(cells, nodes)``.
    cell_data
        Values of the cells by name, each ``(cells,)``.

    Raises
    ------
    ValueError
        For arrays of another shape, a degree beyond 10, and names that a file cannot hold.
    """

    shape: Shape
    degree: int
    points: Array
    point_data: Mapping[str, Array] = field(default_factory=dict)
    cell_data: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_instance("shape", self.shape, Shape, "a Shape such as stfem.io.LINE")
        object.__setattr__(self, "degree", checked_whole("degree", self.degree, 1, MAX_DEGREE))
        object.__setattr__(self, "points", real_array(self.points, "points"))
        if self.points.ndim != 3:
            raise ValueError(f"points: expected an array of shape (cells, nodes, d), got {self.points.shape}")
        for label in ("point_data", "cell_data"):
            given = checked_instance(label, getattr(self, label), Mapping, "arrays by name")
            named = {str(name): real_array(values, str(name)) for name, values in given.items()}
            object.__setattr__(self, label, named)
        count, nodes = len(self.points), len(self.shape.numbering(self.degree))
        expected: list[tuple[str, Array, tuple[int, ...]]]
        expected = [("points", self.points, (count, nodes, self.shape.dim))]
        expected += [(name, values, (count, nodes)) for name, values in self.point_data.items()]
        expected += [(name, values, (count,)) for name, values in self.cell_data.items()]
        for name, values, shape in expected:
            if values.shape != shape:
                raise ValueError(f"{name}: expected an array of shape {shape}, got {values.shape}")
            if not (name.isascii() and name.isprintable() and name) or set(name) & set('"<>&'):
                raise ValueError(f'names: expected ASCII characters other than " < > &, got {name!r}')
