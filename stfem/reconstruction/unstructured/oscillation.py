"""What û misses of given boundary values, lifted into the domain (T5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stfem.data import Data, Polynomial
from stfem.equations import Equation
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.reconstruction.unstructured.given import BoundaryValues
from stfem.reconstruction.unstructured.lift import minkowski
from stfem.reconstruction.unstructured.node import MeshSlab
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.continuous import ContinuousSpace
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values

__all__ = ["BoundaryOscillation"]

#: Degrees in space and time, beyond those of û, of the polynomials that stand for the data.
_EXTRA = 3
#: Size of a jump of the data from facet to facet that counts, relative to the data.
_JUMP = 1e-9
#: Size of δ, relative to the data and the coefficients of û, that is round-off.
_ROUND_OFF = 1e-14


@dataclass(frozen=True, eq=False)
class _Group:
    """Facets with the same place in their cells: what the blending needs at its quadrature points.

    Attributes
    ----------
    where, cells
        Positions of the facets, and their cells.
    s, height
        Coordinates along and towards the facet at every point, ``(Q,)``.
    gradients
        From (∂_s, ∂_S) to ∇, ``(d, 2, Q, F)``.
    x
        Points ``(d, Q, F)``.
    weights
        ``(Q, F)``.
    """

    where: Index
    cells: Index
    s: Array
    height: Array
    gradients: Array
    x: Array
    weights: Array


class BoundaryOscillation:
    """A function z ∈ H¹ with z = g − û where u is given, so that u − û − z vanishes there (T5.4).

    On every facet δ = g − û is a polynomial (g is interpolated with some degrees to spare in space and time).
    With hat functions λ_v, coordinates s along a facet and S = Σ_{v ∈ facet} λ_v, from 0 to 1 towards it,

        z = Σ_v δ_v λ_v + Σ_facets S (δ(s) − linear interpolant of its ends),

    and R_H gains ∂_tz + b·∇z + (∇·b + c)z, Φ gains −D∇z. Of order q + 2 and more where the data are smooth.

    Valid in one and two dimensions, for data that do not jump from facet to facet.

    Cost: quadrature on the cells at the boundary.

    Parameters
    ----------
    equation
        Scalar and linear.
    target
        Space of û.
    values
        Facets with given values.
    diffusion
        D ``(d, d, C)`` or ``(d, d, 1)``.

    Raises
    ------
    ValueError
        In three dimensions.
    """

    def __init__(
        self, equation: Equation, target: BrokenSpace, values: BoundaryValues, diffusion: Array
    ) -> None:
        mesh = target.mesh
        if mesh.dim > 2:
            raise ValueError(f"BoundaryOscillation: expected one or two dimensions, got {mesh.dim}")
        self._equation, self._target, self._values = equation, target, values
        self._diffusion = np.broadcast_to(diffusion, (*diffusion.shape[:2], mesh.size))
        self._facets = values.facets
        self._degree = target.degree + _EXTRA if mesh.dim == 2 else 0
        nodes = _lobatto(self._degree + 1) if mesh.dim == 2 else np.zeros(1)
        self._parameters = nodes[None] if mesh.dim == 2 else np.zeros((0, 1))
        self._to_modes = np.linalg.inv(legendre_values(self._degree, nodes))
        self._x = [mesh.facet_points(self._parameters, facets) for facets, _ in values.parts]
        self._linear = ContinuousSpace(mesh, 1)
        self._ends = self._end_nodes()
        groups = mesh.facet_groups(0, self._facets) if mesh.dim == 2 else ()
        self._groups = [self._group(*entry) for entry in groups]
        near = np.isin(self._linear.nodes, self._ends).any(axis=0)
        self._near = np.flatnonzero(near)
        self._points, weights = mesh.reference.quadrature(2 * target.degree + 2)
        self._near_x = mesh.points(self._points, self._near)
        maps = mesh.cell_map(self._points, self._near)
        self._near_weights = weights[:, None] * maps.determinant
        #: Largest jump of the data from facet to facet seen so far.
        self.jump = 0.0

    def _end_nodes(self) -> Index:
        """Nodes of the linear space at the ends of every facet, ``(1 or 2, F)``."""
        mesh = self._target.mesh
        corners = mesh.reference.on_facet.vertices
        ends = np.empty((corners.shape[1], len(self._facets)), dtype=np.intp)
        for local, turned, where in mesh.facet_groups(0, self._facets):
            points = mesh.reference.facet_points(local, corners, turned)
            distance = np.abs(points[:, :, None] - self._linear.lattice[:, None]).sum(axis=0)
            cells = mesh.facets.cells[0, self._facets[where]]
            ends[:, where] = self._linear.nodes[distance.argmin(axis=1)][:, cells]
        return ends

    def _group(self, local: int, turned: int, where: Index) -> _Group:
        mesh, reference = self._target.mesh, self._target.mesh.reference
        cells = mesh.facets.cells[0, self._facets[where]]
        points, weights = gauss(self._degree + 2)
        height, s = (grid.ravel() for grid in np.meshgrid(points, points, indexing="ij"))
        on_facet = reference.facet_points(local, s[None], turned)
        ends = reference.facet_points(local, np.array([[0.0, 1.0]]), turned)
        slope = np.broadcast_to(ends[:, 1:] - ends[:, :1], on_facet.shape)
        if reference.simplex:
            (other,) = np.setdiff1d(np.arange(reference.vertices.shape[1]), reference.facets[local])
            beyond = np.broadcast_to(reference.vertices[:, other : other + 1], on_facet.shape)
            along = height * slope
        else:
            axis = int(np.argmax(np.abs(reference.facet_normals[:, local])))
            beyond, along = on_facet.copy(), slope
            beyond[axis] = 1.0 - beyond[axis]
        position = height * on_facet + (1.0 - height) * beyond
        jacobian = np.stack([along, on_facet - beyond], axis=1).transpose(2, 0, 1)  # (Q, d, 2)
        inverse, determinant = np.linalg.inv(jacobian), np.abs(np.linalg.det(jacobian))
        maps = mesh.cell_map(position, cells)
        gradients = np.einsum("jiqc,qaj->iaqc", maps.inverse, inverse)
        weight = np.multiply.outer(weights, weights).ravel() * determinant
        scaled = weight[:, None] * maps.determinant
        return _Group(where, cells, s, height, gradients, mesh.points(position, cells), scaled)

    def _modes(self, slab: MeshSlab) -> Array:
        """δ as modes in time of values at the nodes of the facets, ``(time modes, nodes, F)``."""
        count = slab.time.degree + 1 + _EXTRA
        times = _lobatto(count)
        data = [
            np.concatenate(
                [
                    datum(x, slab.time.start + s * slab.time.duration)
                    for (_, datum), x in zip(self._values.parts, self._x, strict=True)
                ],
                axis=-1,
            )
            for s in times
        ]
        inverse = np.linalg.inv(legendre_values(count - 1, times))
        modes = np.tensordot(inverse, np.stack(data), 1)
        traces = [self._target.traces(u, 0, self._parameters, self._facets)[0] for u in slab.state]
        modes[: len(traces)] -= np.stack(traces)
        scale = float(np.abs(data).max(initial=0.0))
        self._look_for_jumps(modes, scale)
        scale += float(np.abs(slab.state).max(initial=0.0))
        return modes[:0] if np.abs(modes).max(initial=0.0) <= _ROUND_OFF * scale else modes

    def _look_for_jumps(self, modes: Array, scale: float) -> None:
        ends = modes[:, [0, -1] if len(self._ends) == 2 else [0]]
        nodal = np.zeros((len(modes), self._linear.size))
        nodal[:, self._ends] = ends
        jump = float(np.abs(nodal[:, self._ends] - ends).max(initial=0.0))
        self.jump = max(self.jump, jump / (1.0 + scale))

    def added(self, slab: MeshSlab) -> tuple[Array, Array]:
        """∫_slab of the squares of what z adds to R_H and to D^{-1/2}Φ, local squares ``(C,)`` each."""
        modes = self._modes(slab)
        found = np.zeros((2, 2, self._target.mesh.size))
        if len(modes) == 0:
            return found[0, 0], found[1, 0]
        degree = len(modes) - 1
        slopes = derivative_matrix(degree) @ modes.reshape(len(modes), -1) / slab.time.duration
        slopes = slopes.reshape(modes.shape)
        times, weights = gauss(degree + 2)
        for s, weight in zip(times, weights * slab.time.duration, strict=True):
            basis = legendre_values(degree, np.array([s]))[0]
            t = slab.time.start + s * slab.time.duration
            delta, rate = np.tensordot(basis, modes, 1), np.tensordot(basis, slopes, 1)
            for part, pieces in enumerate((self._hats(delta, rate), self._blends(delta, rate))):
                for cells, x, w, value, change, gradient in pieces:
                    residual, flux = self._squares(cells, x, t, value, change, gradient)
                    np.add.at(found[0, part], cells, weight * (w * residual).sum(axis=0))
                    np.add.at(found[1, part], cells, weight * (w * flux).sum(axis=0))
        return minkowski(found[0]), minkowski(found[1])

    def hats(self, slab: MeshSlab) -> Array | None:
        """Σ_v δ_v λ_v as modes in time ``(time modes, 1, modes, C)`` in `linear`; None for zero.

        That is z on facets of the boundary where nothing is given: the other part of it vanishes there.
        """
        modes = self._modes(slab)
        if len(modes) == 0:
            return None
        nodal = np.zeros((len(modes), self._linear.size))
        nodal[:, self._ends] = modes[:, [0, -1] if len(self._ends) == 2 else [0]]
        return self._linear.to_broken(nodal)[:, None]

    @property
    def linear(self) -> BrokenSpace:
        """Space of the hat functions."""
        return self._linear.broken

    def sup(self, slab: MeshSlab) -> float:
        """Bound of |δ| on the slab: polynomials through k + 1 points are at most 1 + (2/π) log k times their
        values there, and modes in time at most √(2r + 1).
        """
        modes = self._modes(slab)
        factors = np.sqrt(2.0 * np.arange(len(modes)) + 1.0)
        lebesgue = 1.0 + 2.0 / np.pi * np.log(max(self._degree, 1))
        return float(lebesgue * sum(f * np.abs(mode).max() for f, mode in zip(factors, modes, strict=True)))

    def sizes(self, slab: MeshSlab) -> tuple[float, float, float]:
        """Bounds of ‖z‖ at the start, at the end, and at all times of the slab."""
        modes = self._modes(slab)
        if len(modes) == 0:
            return 0.0, 0.0, 0.0
        ends = legendre_values(len(modes) - 1, np.array([0.0, 1.0]))
        start, stop = (self._norm(np.tensordot(row, modes, 1)) for row in ends)
        factors = np.sqrt(2.0 * np.arange(len(modes)) + 1.0)  # |φ_r| ≤ √(2r + 1)
        return start, stop, float(sum(f * self._norm(mode) for f, mode in zip(factors, modes, strict=True)))

    def _norm(self, delta: Array) -> float:
        total = 0.0
        for pieces in (self._hats(delta, delta), self._blends(delta, delta)):
            total += float(np.sqrt(sum((w * value**2).sum() for _, _, w, value, _, _ in pieces)))
        return total

    def _squares(
        self, cells: Index, x: Array, t: float, value: Array, change: Array, gradient: Array
    ) -> tuple[Array, Array]:
        equation = self._equation
        residual = change + sum(b(x, t) * g for b, g in zip(equation.velocity, gradient, strict=True))
        for data in (equation.reaction, *equation.velocity_divergence):
            if not data.is_zero:
                residual = residual + data(x, t) * value
        flux = np.einsum("iqc,ijc,jqc->qc", gradient, self._diffusion[:, :, cells], gradient)
        return residual**2, flux

    def _hats(self, delta: Array, rate: Array) -> list[tuple[Index, Array, Array, Array, Array, Array]]:
        """Σ_v δ_v λ_v on the cells around: cells, points, weights, value, ∂_t, gradient."""
        fields = []
        for values in (delta, rate):
            nodal = np.zeros((1, self._linear.size))
            nodal[0, self._ends] = values[[0, -1] if len(self._ends) == 2 else [0]]
            fields.append(nodal[0, self._linear.nodes[:, self._near]])
        table = self._linear.lagrange(self._points)
        slopes = np.einsum("iqnc,nc->iqc", self._near_slopes, fields[0])
        return [(self._near, self._near_x, self._near_weights, table @ fields[0], table @ fields[1], slopes)]

    def _blends(self, delta: Array, rate: Array) -> list[tuple[Index, Array, Array, Array, Array, Array]]:
        """S times what the linear interpolant leaves of δ, on the cells at the facets."""
        result = []
        for group in self._groups:
            table = legendre_values(self._degree, group.s) @ self._to_modes
            slope = legendre_values(self._degree, group.s, 1) @ self._to_modes
            table[:, 0] -= 1.0 - group.s
            table[:, -1] -= group.s
            slope[:, 0] += 1.0
            slope[:, -1] -= 1.0
            height = group.height[:, None]
            here, change = delta[:, group.where], rate[:, group.where]
            bubble = table @ here
            derivatives = np.stack([height * (slope @ here), bubble])
            gradient = np.einsum("iaqc,aqc->iqc", group.gradients, derivatives)
            value, moved = height * bubble, height * (table @ change)
            result.append((group.cells, group.x, group.weights, value, moved, gradient))
        return result

    @property
    def _near_slopes(self) -> Array:
        return self._linear.lagrange_gradients(self._points)[..., self._near]

    @property
    def unproved(self) -> tuple[str, ...]:
        """Sentences on data that polynomials do not represent exactly, and on data that jump."""
        sentences = []
        exact = self._target.mesh.affine and all(
            _is_polynomial(data, self._degree, _EXTRA + 1) for _, data in self._values.parts
        )
        if not exact:
            sentences.append(
                f"boundary data interpolated on every facet with polynomials of degree {self._degree}"
            )
        if self.jump > _JUMP:
            sentences.append(f"boundary data jump from facet to facet by up to {self.jump:.1e}")
        return tuple(sentences)


def _lobatto(count: int) -> Array:
    """Chebyshev points on [0, 1] with both ends, so that facets and slabs share their ends."""
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * np.arange(count) / (count - 1)))


def _is_polynomial(data: Data, degree: int, time_degree: int) -> bool:
    if data.constant:
        return True
    if not isinstance(data, Polynomial):
        return False
    *in_space, in_time = (count - 1 for count in data.coefficients.shape)
    # points have no extent: in one dimension any function of x is a constant there
    return in_time <= time_degree and (data.dim == 1 or sum(in_space) <= degree)
