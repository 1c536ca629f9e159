"""Analytic layers at outflow sides where values are given and the mesh does not resolve them (T5)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from stfem.equations import is_diagonal
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.problems import Problem
from stfem.problems.bounded import BoundaryPart
from stfem.reconstruction.unstructured.fluxes import gradient_traces
from stfem.reconstruction.unstructured.given import parts_of
from stfem.reconstruction.unstructured.slab import MeshSlab
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.legendre import gauss

__all__ = ["OutflowLift", "minkowski"]

#: Distance up to which a coordinate lies on a side, relative to the size of the box.
_ON_SIDE = 1e-10
#: Least ratio of roots of local squares that are added, and the reciprocal of the largest one.
_EXTREME = 1e-150


@dataclass(frozen=True, eq=False)
class _Side:
    """An outflow side of the box, normal to one direction.

    Attributes
    ----------
    direction, end
        The side lies in {x_direction = end}.
    facets
        Its facets.
    thickness
        ε_n/(2 b_n): the integral of E².
    """

    direction: int
    end: float
    facets: Index
    thickness: float


class OutflowLift:
    """Layers w that take û = v + w to the given values at outflow sides of a box (T5.5).

    Where ε ≪ h b_n, a continuous piecewise polynomial with the given outflow values has a bad residual. Let v
    leave them alone, φ = v − u_D on a side, d the distance to it and L the width of the box,

        w = −φ(s, t) E(d),   E = (e^{−b_n d/ε} − e^{−b_n L/ε})/(1 − e^{−b_n L/ε}),

    and + φ(corner) E_1E_2 at a corner of two outflow sides. E is 1 on the side, 0 on the opposite one, and
    −b_nE' − εE'' = 0, so that with the normal part of D∇w as flux in H(div) there is left, exactly,

        −(φ_t + cφ + b_s·∇_sφ) E in R_H,   D_s∇_sφ E in Φ,   ‖ψE‖² ≤ ε/(2b_n) ‖ψ‖²_side,

    the last because 0 ≤ E ≤ e^{−b_n d/ε}.

    Valid for boxes parallel to the axes, constant b and c, diagonal D > 0, one constant u_D on all outflow
    sides, and v with the given values everywhere else, at the ends of these sides too. In three dimensions
    for one outflow side.

    Cost: integrals over the facets of the sides.

    Parameters
    ----------
    problem
        On such a box.
    target
        Space of v.
    names
        Boundaries where v does not carry the given values; each with Dirichlet conditions and b·n > 0.

    Raises
    ------
    ValueError
        For problems outside of the class above.
    """

    def __init__(self, problem: Problem, target: BrokenSpace, names: Iterable[str]) -> None:
        self.names = tuple(names)
        equation, mesh = problem.equation, target.mesh
        self._target, self._dim = target, mesh.dim
        constant = (*equation.velocity, equation.reaction)
        if not equation.linear or not all(data.constant for data in constant):
            raise ValueError("equation: expected a linear one with constant velocity and reaction")
        self._velocity = np.array([b.constant_value() for b in equation.velocity])
        self._reaction = equation.reaction.constant_value()
        self._diffusion = np.diag(equation.diffusion)
        if not is_diagonal(equation.diffusion) or not np.all(self._diffusion > 0.0):
            raise ValueError(
                f"diffusion: expected a diagonal, positive one, got {equation.diffusion.tolist()}"
            )
        self._lower, self._upper = mesh.vertices.min(axis=1), mesh.vertices.max(axis=1)
        box = float(np.prod(self._upper - self._lower))
        if abs(box - float(mesh.cell_measures.sum())) > _ON_SIDE * box:
            raise ValueError("domain: expected a box parallel to the axes, got another shape")
        parts = parts_of(problem, mesh)
        chosen = [_named(parts, name) for name in self.names]
        self._value = _common_value(chosen, mesh.dim)
        self._sides = [self._side(mesh, part) for part in chosen]
        if mesh.dim == 3 and len(self._sides) > 1:
            raise ValueError(f"lifted: expected one outflow side in three dimensions, got {self.names}")
        self._parameters, self._weights = mesh.reference.on_facet.quadrature(2 * target.degree + 2)
        self._corners = [
            (one.thickness * other.thickness, *self._corner(mesh, one, other))
            for one, other in combinations(self._sides, 2)
            if one.direction != other.direction
        ]

    def _side(self, mesh: UnstructuredMesh, part: BoundaryPart) -> _Side:
        middle = mesh.reference.on_facet.vertices.mean(axis=1, keepdims=True)
        normals = mesh.facet_normals(middle, part.facets)[0][:, 0]
        direction = int(np.argmax(np.abs(normals[:, 0])))
        sign = float(np.sign(normals[direction, 0]))
        end = float(self._upper[direction] if sign > 0.0 else self._lower[direction])
        size = float(self._upper[direction] - self._lower[direction])
        away = np.abs(mesh.facet_points(middle, part.facets)[direction] - end).max()
        if np.any(normals[direction] * sign < 1.0 - 1e-12) or away > _ON_SIDE * size:
            raise ValueError(f"boundary {part.name!r}: expected one side of the box, got other facets")
        extent = mesh.facet_measures[part.facets].sum()
        if abs(extent - np.prod(np.delete(self._upper - self._lower, direction))) > 1e-9 * extent:
            raise ValueError(f"boundary {part.name!r}: expected a whole side of the box, got a part")
        outward = sign * float(self._velocity[direction])
        if outward <= 0.0:
            raise ValueError(f"boundary {part.name!r}: expected a flow that leaves, got b·n = {outward:g}")
        return _Side(direction, end, part.facets, float(self._diffusion[direction]) / (2.0 * outward))

    def _corner(self, mesh: UnstructuredMesh, one: _Side, other: _Side) -> tuple[int, int]:
        """A cell with a vertex in the corner of two sides, and the number of the vertex."""
        points = mesh.points(mesh.reference.vertices)
        distance = np.abs(points[one.direction] - one.end) + np.abs(points[other.direction] - other.end)
        vertex, cell = np.unravel_index(np.argmin(distance), distance.shape)
        return int(vertex), int(cell)

    def added(self, slab: MeshSlab) -> tuple[Array, Array]:
        """∫_slab of the squares of what w adds to R_H and to D^{-1/2}Φ, ``(C,)`` each.

        They belong to the cells at the sides; the root of a sum bounds the norm in L²(slab × Ω).
        """
        groups = len(self._sides) + len(self._corners)
        residuals = np.zeros((groups, self._target.mesh.size))
        fluxes = np.zeros((len(self._sides), self._target.mesh.size))
        times, weights = gauss(slab.time.degree + 1)
        for s, weight in zip(times, weights * slab.time.duration, strict=True):
            state, rate = slab.at(float(s), slab.state), slab.at(float(s), slab.rate)
            for n, side in enumerate(self._sides):
                trace, slopes = self._trace(state, side), self._tangential(state, side)
                change = self._trace(rate, side) + self._reaction * (trace - self._value)
                change += np.tensordot(self._velocity, slopes, 1)
                square = np.einsum("i,iqf->qf", self._diffusion, slopes**2)
                residuals[n] += weight * side.thickness * self._integral(change**2, side)
                fluxes[n] += weight * side.thickness * self._integral(square, side)
            for n, (thickness, vertex, cell) in enumerate(self._corners, start=len(self._sides)):
                value, slope = (self._at(field, vertex, cell) for field in (state, rate))
                change_sq = (slope + self._reaction * (value - self._value)) ** 2
                residuals[n, cell] += weight * thickness * change_sq
        return minkowski(residuals), minkowski(fluxes)

    def size(self, state: Array) -> float:
        """Bound of ‖w‖, from the coefficients of v at one time."""
        squares = [
            side.thickness * self._integral((self._trace(state, side) - self._value) ** 2, side).sum()
            for side in self._sides
        ]
        squares += [
            thickness * (self._at(state, vertex, cell) - self._value) ** 2
            for thickness, vertex, cell in self._corners
        ]
        return float(np.sqrt(squares).sum())

    def gap(self, state: Array) -> float:
        """Largest |φ| at the ends of the sides that are no corners of two outflow sides (there v = u_D)."""
        mesh, largest = self._target.mesh, 0.0
        corners = mesh.reference.on_facet.vertices
        for side in self._sides:
            points = mesh.facet_points(corners, side.facets)
            trace = self._target.traces(state, 0, corners, side.facets)[0]
            for i in (i for i in range(self._dim) if i != side.direction):
                for end in (self._lower[i], self._upper[i]):
                    if any(other.direction == i and other.end == end for other in self._sides):
                        continue
                    there = np.abs(points[i] - end) <= _ON_SIDE * (self._upper[i] - self._lower[i])
                    largest = max(largest, float(np.abs(trace - self._value)[there].max(initial=0.0)))
        return largest

    def _trace(self, field: Array, side: _Side) -> Array:
        traces = self._target.traces(field, 0, self._parameters, side.facets)
        return np.asarray(traces[0])

    def _tangential(self, field: Array, side: _Side) -> Array:
        """∇_s of v on a side, ``(d, Q, F)``."""
        slopes = gradient_traces(self._target, field, 0, self._parameters, side.facets)[:, 0]
        slopes[side.direction] = 0.0
        return np.asarray(slopes)

    def _at(self, field: Array, vertex: int, cell: int) -> float:
        point = self._target.mesh.reference.vertices[:, vertex : vertex + 1]
        return float(self._target.values(field, point)[0, 0, cell])

    def _integral(self, values: Array, side: _Side) -> Array:
        """Integrals over the facets of a side, at their cells ``(C,)``."""
        mesh = self._target.mesh
        density = mesh.facet_normals(self._parameters, side.facets)[1]
        integrals = self._weights @ (values * density)
        cells = mesh.facets.cells[0, side.facets]
        return np.asarray(np.bincount(cells, integrals, minlength=mesh.size), dtype=np.float64)


def minkowski(squares: Sequence[Array] | Array) -> Array:
    """Local squares whose sum is (√Σ_K a_K + √Σ_K b_K + …)², from arrays a, b, … of local squares.

    a(1 + r) + b(1 + 1/r) with r² = Σb/Σa, one after the other; with any r > 0 that is an upper bound, so that
    r can stay where it has a reciprocal.
    """
    total = np.asarray(squares[0])
    for more in squares[1:]:
        first, second = float(total.sum()), float(more.sum())
        if first > 0.0 and second > 0.0:
            ratio = min(max(math.sqrt(second) / math.sqrt(first), _EXTREME), 1.0 / _EXTREME)
            total = total * (1.0 + ratio) + more * (1.0 + 1.0 / ratio)
        else:
            total = total + more
    return total


def _named(parts: Sequence[BoundaryPart], name: str) -> BoundaryPart:
    for part in parts:
        if part.name == name:
            if not part.condition.trace:
                kind = type(part.condition).__name__
                raise ValueError(f"boundary {name!r}: expected a Dirichlet condition, got {kind}")
            return part
    raise ValueError(f"lifted: expected some of {sorted(part.name for part in parts)}, got {name!r}")


def _common_value(parts: Sequence[BoundaryPart], dim: int) -> float:
    data = [part.condition.data(dim, 1, part.name)[0] for part in parts]
    if not data or not all(datum.constant for datum in data):
        raise ValueError("lifted: expected outflow sides with constant values, got others")
    values = {datum.constant_value() for datum in data}
    if len(values) > 1:
        raise ValueError(f"lifted: expected one value on all outflow sides, got {sorted(values)}")
    return values.pop()
