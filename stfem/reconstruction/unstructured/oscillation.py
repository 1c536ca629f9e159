"""What û misses of given boundary values, lifted into the domain (T5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stfem.data import Data, Polynomial
from stfem.equations import Equation
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.reconstruction.unstructured.blending import blends
from stfem.reconstruction.unstructured.given import BoundaryValues
from stfem.reconstruction.unstructured.lift import minkowski
from stfem.reconstruction.unstructured.slab import MeshSlab
from stfem.resumable import Resumable
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.continuous import ContinuousSpace
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values

__all__ = ["BoundaryOscillation", "FrozenFlux"]

#: Degrees in space and time, beyond those of û, of the polynomials that stand for the data.
_EXTRA = 3
#: Size of a jump of the data from facet to facet that counts, relative to the data.
_JUMP = 1e-9
#: Size of δ, relative to the data and the coefficients of û, that is round-off.
_ROUND_OFF = 1e-14


@dataclass(frozen=True, eq=False)
class FrozenFlux:
    """Bounds for a nonlinear flux, with which |∇·(f(û + z) − f(û))| ≤ Σ_i speeds_i |∂_iz| + zeroth |z|.

    Attributes
    ----------
    speeds
        sup|f_i'| between û and û + z, ``(d,)``.
    zeroth
        sup Σ_i |f_i''| |∂_iû|.
    """

    speeds: Array
    zeroth: float


class BoundaryOscillation(Resumable):
    """A function z ∈ H¹ with z = g − û where u is given, so that u − û − z vanishes there (T5.4).

    On every facet δ = g − û is a polynomial (g is interpolated with some degrees to spare in space and time).
    With hat functions λ_v, coordinates s along a facet and S = Σ_{v ∈ facet} λ_v, from 0 to 1 towards it,

        z = Σ_v δ_v λ_v + Σ_facets S (δ(s) − linear interpolant of its ends),

    and R_H gains ∂_tz + b·∇z + (∇·b + c)z, Φ gains −D∇z. Of order q + 2 and more where the data are smooth.
    For f = f(u) R_H gains ∂_tz + ∇·(f(û + z) − f(û)), see `FrozenFlux`.

    Valid in one and two dimensions, for data that do not jump from facet to facet.

    Cost: quadrature on the cells at the boundary.

    Parameters
    ----------
    equation
        Scalar.
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

    PAST = ("jump",)

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
        self._groups = blends(mesh, self._facets, self._degree) if mesh.dim == 2 else []
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

    def added(self, slab: MeshSlab, frozen: FrozenFlux | None = None) -> tuple[Array, Array]:
        """∫_slab of the squares of what z adds to R_H and to D^{-1/2}Φ, local squares ``(C,)`` each.

        ``frozen`` stands in for a flux that is not linear.
        """
        modes = self._modes(slab)
        size = self._target.mesh.size
        if len(modes) == 0:
            return np.zeros(size), np.zeros(size)
        residuals = np.zeros((2, 1 if frozen is None else 2 + len(frozen.speeds), size))
        fluxes = np.zeros((2, size))
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
                    terms = self._terms(x, t, value, change, gradient, frozen)
                    for total, term in zip(residuals[part], terms, strict=True):
                        np.add.at(total, cells, weight * (w * term**2).sum(axis=0))
                    square = np.einsum("iqc,ijc,jqc->qc", gradient, self._diffusion[:, :, cells], gradient)
                    np.add.at(fluxes[part], cells, weight * (w * square).sum(axis=0))
        return minkowski(residuals.reshape(-1, size)), minkowski(fluxes)

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

    def _terms(
        self, x: Array, t: float, value: Array, change: Array, gradient: Array, frozen: FrozenFlux | None
    ) -> list[Array]:
        """What z adds to R_H; where a flux is frozen, terms whose norms add up to a bound of that."""
        equation = self._equation
        if frozen is not None:
            along = [speed * slope for speed, slope in zip(frozen.speeds, gradient, strict=True)]
            return [change, *along, frozen.zeroth * value]
        residual = change + sum(b(x, t) * g for b, g in zip(equation.velocity, gradient, strict=True))
        for data in (equation.reaction, *equation.velocity_divergence):
            if not data.is_zero:
                residual = residual + data(x, t) * value
        return [residual]

    def suprema(self, slab: MeshSlab) -> tuple[float, Array] | None:
        """Bounds of sup|z| and sup|∂_iz| ``(d,)`` on a slab; None where z = 0.

        On cells that are not affine gradients of the hat functions are taken at points.
        """
        modes = self._modes(slab)
        if len(modes) == 0:
            return None
        in_time = np.sqrt(2.0 * np.arange(len(modes)) + 1.0)  # |φ_r| ≤ √(2r + 1)
        ends = [0, -1] if len(self._ends) == 2 else [0]
        corners = np.zeros(self._linear.size)
        np.maximum.at(corners, self._ends, np.tensordot(in_time, np.abs(modes[:, ends]), 1))
        around = corners[self._linear.nodes[:, self._near]]
        slopes = np.einsum("iqnc,nc->iqc", np.abs(self._near_slopes), around).max(axis=(1, 2))
        size = float(around.sum(axis=0).max())
        if not self._groups:
            return size, np.asarray(slopes)
        # on the facets: δ less its linear interpolant, as modes in s, and its derivative
        s = self._parameters[0][:, None]
        bubbles = modes - (1.0 - s) * modes[:, :1] - s * modes[:, -1:]
        along = self._to_modes @ bubbles
        heights = np.sqrt(2.0 * np.arange(self._degree + 1) + 1.0)
        sizes, steep = (
            float((heights @ np.tensordot(in_time, np.abs(entry), 1)).max())
            for entry in (along, derivative_matrix(self._degree) @ along)
        )
        # on a cell with several of the facets all of them add up
        cells = np.concatenate([group.cells for group in self._groups])
        most = int(np.bincount(cells).max())
        steepest = np.max([group.steepness for group in self._groups], axis=0)
        return size + most * sizes, np.asarray(slopes + most * steepest @ np.array([steep, sizes]))

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
