"""Reference cells: what is special about a shape, so that everything else is one code for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from stfem.meshes.quadrature import Array, cube_rule, simplex_rule

__all__ = ["HEXAHEDRON", "LINE", "POINT", "QUADRILATERAL", "TETRAHEDRON", "TRIANGLE", "ReferenceCell"]


#: Distance up to which quadrature points count as images of each other.
_SYMMETRIC = 1e-12


@dataclass(frozen=True, eq=False)
class ReferenceCell:
    """A reference cell K̂ with vertices at 0 and 1, numbered as in scikit-fem.

    A facet is parametrised by the reference cell of one dimension less: its parameter s is mapped with the
    shape functions of that cell to the vertices of the facet, in the order listed here or permuted.

    Attributes
    ----------
    name
        For messages.
    vertices
        Coordinates ``(d, V)``.
    facets
        Numbers of the vertices of every facet.
    facet_cell
        Reference cell of the facets, None for a point.
    simplex
        Whether the shape functions are barycentric coordinates (otherwise multilinear).
    """

    name: str
    vertices: Array
    facets: tuple[tuple[int, ...], ...]
    facet_cell: ReferenceCell | None
    simplex: bool

    @property
    def dim(self) -> int:
        """Space dimension d."""
        return int(self.vertices.shape[0])

    @cached_property
    def measure(self) -> float:
        """|K̂|."""
        return float(self.quadrature(0)[1].sum())

    def quadrature(self, order: int) -> tuple[Array, Array]:
        """Points ``(d, Q)`` and weights ``(Q,)``.

        Exact for total degree ``order`` on simplices, for degree ``order`` in each variable on cubes; weights
        are positive and sum to |K̂|.
        """
        return simplex_rule(self.dim, max(order, 1)) if self.simplex else cube_rule(self.dim, order)

    def shape_values(self, points: Array) -> Array:
        """Shape functions of the first order, ``(V, Q)``, at points ``(d, Q)``."""
        if self.simplex:
            values = np.concatenate([1.0 - points.sum(axis=0, keepdims=True), points])
            return np.asarray(values[self._corner_order])
        factors = np.where(self.vertices[:, :, None] == 1.0, points[:, None], 1.0 - points[:, None])
        return np.asarray(factors.prod(axis=0))

    def shape_gradients(self, points: Array) -> Array:
        """∇̂ of the shape functions, ``(d, V, Q)``."""
        count = points.shape[1]
        if self.simplex:
            slopes = np.concatenate([-np.ones((self.dim, 1)), np.eye(self.dim)], axis=1)
            return np.repeat(slopes[:, self._corner_order, None], count, axis=2)
        signs = 2.0 * self.vertices - 1.0
        factors = np.where(self.vertices[:, :, None] == 1.0, points[:, None], 1.0 - points[:, None])
        gradients = np.empty((self.dim, self.vertices.shape[1], count))
        for i in range(self.dim):
            others = [j for j in range(self.dim) if j != i]
            gradients[i] = signs[i, :, None] * factors[others].prod(axis=0)
        return gradients

    @cached_property
    def _corner_order(self) -> list[int]:
        """Position of every vertex in the list origin, e_1, …, e_d."""
        corners = np.concatenate([np.zeros((self.dim, 1)), np.eye(self.dim)], axis=1)
        return [int(np.argmin(np.abs(corners - vertex[:, None]).sum(axis=0))) for vertex in self.vertices.T]

    @property
    def on_facet(self) -> ReferenceCell:
        """Reference cell of the facets.

        Raises
        ------
        ValueError
            For a point, which has none.
        """
        if self.facet_cell is None:
            raise ValueError("on_facet: expected a cell with facets, got a point")
        return self.facet_cell

    @cached_property
    def facet_permutations(self) -> tuple[tuple[int, ...], ...]:
        """All orders of the vertices of a facet; the first is the listed one."""
        return tuple(permutations(range(len(self.facets[0]))))

    def facet_points(self, facet: int, parameters: Array, orientation: int = 0) -> Array:
        """Reference coordinates ``(d, Q)`` of parameters ``(d − 1, Q)`` on a facet.

        Vertex i of the parameter cell is mapped to vertex ``facet_permutations[orientation][i]`` of the
        facet.
        """
        order = self.facet_permutations[orientation]
        corners = self.vertices[:, [self.facets[facet][i] for i in order]]
        return np.asarray(corners @ self.on_facet.shape_values(parameters))

    def turned_points(self, parameters: Array, orientation: int) -> NDArray[np.intp]:
        """Numbers π ``(Q,)`` with facet_points(f, s, orientation) = facet_points(f, s[:, π]) on every facet.

        Raises
        ------
        ValueError
            For parameters that are not mapped to each other by the symmetries of the facet.
        """
        corners = self.on_facet.vertices[:, list(self.facet_permutations[orientation])]
        turned = corners @ self.on_facet.shape_values(parameters)
        distance = np.abs(turned[:, :, None] - parameters[:, None]).sum(axis=0)
        places = distance.argmin(axis=1)
        if np.any(distance.min(axis=1) > _SYMMETRIC) or len(np.unique(places)) < len(places):
            raise ValueError(
                "parameters: expected different points with the symmetries of the facet, got others"
            )
        return np.asarray(places)

    @cached_property
    def facet_normals(self) -> Array:
        """Outward normals ``(d, facets)`` scaled such that n̂ dŝ = facet_normals · d(parameter)."""
        centre = self.vertices.mean(axis=1)
        middle = self.on_facet.vertices.mean(axis=1, keepdims=True)
        gradients = self.on_facet.shape_gradients(middle)[:, :, 0]
        normals = []
        for facet in self.facets:
            corners = self.vertices[:, list(facet)]
            tangents = corners @ gradients.T
            # n · v = det[tangents, v] for every v
            normal = np.array([np.linalg.det(np.column_stack([tangents, e])) for e in np.eye(self.dim)])
            outward = normal @ (corners.mean(axis=1) - centre) > 0.0
            normals.append(normal if outward else -normal)
        return np.array(normals).T

    def __repr__(self) -> str:
        return f"ReferenceCell({self.name})"


def _cell(
    name: str, vertices: object, facets: tuple[tuple[int, ...], ...], sides: ReferenceCell, simplex: bool
) -> ReferenceCell:
    corners = np.array(vertices, dtype=np.float64).T
    corners.flags.writeable = False
    return ReferenceCell(name, corners, facets, sides, simplex)


POINT = ReferenceCell("point", np.zeros((0, 1)), (), None, True)
LINE = _cell("line", [[0], [1]], ((0,), (1,)), POINT, True)
TRIANGLE = _cell("triangle", [[0, 0], [1, 0], [0, 1]], ((0, 1), (1, 2), (0, 2)), LINE, True)
QUADRILATERAL = _cell(
    "quadrilateral", [[0, 0], [1, 0], [1, 1], [0, 1]], ((0, 1), (1, 2), (2, 3), (0, 3)), LINE, False
)
TETRAHEDRON = _cell(
    "tetrahedron",
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)),
    TRIANGLE,
    True,
)
HEXAHEDRON = _cell(
    "hexahedron",
    [[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]],
    ((0, 1, 4, 2), (0, 2, 6, 3), (0, 3, 5, 1), (2, 4, 7, 6), (1, 5, 7, 4), (3, 6, 7, 5)),
    QUADRILATERAL,
    False,
)
