"""DG form of −∇·f(u) on unstructured meshes, matrix-free: products with tables of the reference cell.

With F the numerical flux out of the minus cell, for every cell and basis function,

    rate_i = (1/|K|) ( ∫_K f(u)·∇φ_i − Σ_{F ⊂ ∂K} ± ∫_F F φ_i ).

On the boundary F = F(u, g) where u is given, g where the total flux is, and f(u)·n elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from stfem.equations import Equation
from stfem.equations.normal import NormalEquation
from stfem.fluxes import ConvectiveFlux
from stfem.meshes.quadrature import Array
from stfem.problems.conditions import Condition
from stfem.semidiscretization.unstructured.boundary import BoundaryFacets, boundary_facets
from stfem.semidiscretization.unstructured.transport import ConstantTransport, constant_transport
from stfem.spaces.blocks import slices
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.cells import CellRule
from stfem.spaces.traces import FacetTraces

__all__ = ["Convection", "LinearConvection", "convection"]

#: Degree in u that is assumed of a flux that is no polynomial.
_ASSUMED_DEGREE = 2


class Convection:
    """Any equation and any numerical flux: the flux is evaluated at all quadrature points.

    Parameters
    ----------
    space
        Discontinuous space.
    equation
        The equation.
    flux
        Numerical flux.
    boundary
        Conditions by name, or one for all of the boundary.
    order
        Polynomial degree that the quadrature integrates exactly; see `quadrature_order`.
    """

    def __init__(
        self,
        space: BrokenSpace,
        equation: Equation,
        flux: ConvectiveFlux,
        boundary: Mapping[str, Condition] | Condition,
        order: int | None = None,
    ) -> None:
        self.space, self.equation, self.flux = space, equation, flux
        self.order = quadrature_order(space, equation) if order is None else order
        self.cells, self.traces = CellRule(space, self.order), FacetTraces(space, self.order)
        self.boundary = boundary_facets(space.mesh, boundary, equation, self.traces.parameters)

    @cached_property
    def interior(self) -> tuple[Array, Array, NormalEquation]:
        """Points ``(d, Q, F)``, ds/d(parameter) ``(P, F)`` and normal equation of the interior facets."""
        mesh, parameters = self.space.mesh, self.traces.parameters
        inner = np.arange(mesh.facets.interior)
        x = mesh.facet_points(parameters, inner)
        x.flags.writeable = False
        normals, density = mesh.facet_normals(parameters, inner)
        return x, density, NormalEquation(self.equation, normals)

    def apply(self, t: float, u: Array) -> Array:
        """−(DG form of ∇·f(u)), ``(m, modes, C)``."""
        rate = np.empty(u.shape)
        for cells, x, pull_back in self._cell_blocks:
            values = self.cells.values(u[:, :, cells], cells)
            fluxes = [self.equation.flux(values, x, t, i) for i in range(pull_back.shape[1])]
            pulled = np.empty((len(u), len(pull_back), *values.shape[1:]))
            for row, target in zip(pull_back, pulled.swapaxes(0, 1), strict=True):
                np.multiply(row[0], fluxes[0], out=target)
                for factor, flux in zip(row[1:], fluxes[1:], strict=True):
                    target += factor * flux
            rate[:, :, cells] = self.cells.gradient_moments(pulled, cells)
        rate -= self.traces.jump_moments(self.facet_fluxes(t, u))
        return rate

    @cached_property
    def _cell_blocks(self) -> list[tuple[slice, Array, Array]]:
        """Cells in blocks whose work arrays fit the cache, with their points and J^{-1}.

        Where f_i is the same in all directions one flux and the row sums of J^{-1} do.
        """
        rule, isotropic = self.cells, self.equation.isotropic
        pull_back = rule.pull_back.sum(axis=1, keepdims=True) if isotropic else rule.pull_back
        values = self.equation.components * len(rule.weights) * (2 * self.equation.dim + 1)
        return [
            (part, _fixed(rule.x[..., part]), np.ascontiguousarray(pull_back[..., part]))
            for part in slices(self.space.mesh.size, values)
        ]

    def facet_fluxes(self, t: float, u: Array, rate: bool = False) -> Array:
        """Numerical flux times ds/d(parameter) at the points of all facets, ``(m, Q, F)``.

        With ``rate`` boundary data are replaced by their rates of change.
        """
        sides = self.traces.all_sides(u)
        fluxes = np.empty((len(u), self.traces.count, self.space.mesh.facets.count))
        for facets, x, density, along in self._facet_blocks:
            minus, plus = self.traces.minus(sides, facets), self.traces.plus(sides, facets)
            np.multiply(self.flux(along, minus, plus, x, t, 0), density, out=fluxes[:, :, facets])
        for part in self.boundary:
            trace = self.traces.minus(sides, part.facets)
            fluxes[:, :, part.facets] = self.boundary_flux(part, t, trace, rate) * part.density
        return fluxes

    @cached_property
    def _facet_blocks(self) -> list[tuple[slice, Array, Array, NormalEquation]]:
        """Interior facets in blocks, with what `interior` has for them."""
        x, density, along = self.interior
        values = self.equation.components * self.traces.count * 8
        return [
            (
                part,
                _fixed(x[..., part]),
                density[..., part],
                NormalEquation(self.equation, np.ascontiguousarray(along.normals[..., part])),
            )
            for part in slices(x.shape[-1], values)
        ]

    def boundary_flux(self, part: BoundaryFacets, t: float, trace: Array, rate: bool = False) -> Array:
        """F on a part of the boundary, ``(m, Q, F)``."""
        if part.condition.total:
            return part.g(t, rate)
        if part.condition.trace:
            return self.flux(part.equation, trace, part.g(t, rate), part.x, t, 0)
        part.check_outflow(trace, t)
        return part.equation.flux(trace, part.x, t)

    def wave_rate(self, t: float, u: Array) -> Array:
        """Rate at which waves cross cells, ½ Σ_F ∫_F λ / |K|, ``(C,)``: Σ_i λ_i/h_i on boxes; 1/time.

        For cells that are not affine the geometric mean of |K| and |K̂| min det J takes the place of |K|: next
        to a corner that is almost folded waves cross faster than on average.
        """
        mesh, facets = self.space.mesh, self.space.mesh.facets
        sides = self.traces.all_sides(u)
        x, density, along = self.interior
        speed = np.zeros((self.traces.count, facets.count))
        inner = slice(0, facets.interior)
        minus, plus = self.traces.minus(sides, inner), self.traces.plus(sides)
        larger = np.maximum(along.wave_speed(minus, x, t), along.wave_speed(plus, x, t))
        speed[:, inner] = larger * density
        for part in self.boundary:
            trace = self.traces.minus(sides, part.facets)
            fastest = part.equation.wave_speed(trace, part.x, t)
            if part.condition.trace:  # waves that are about to enter
                fastest = np.maximum(fastest, part.equation.wave_speed(part.g(t), part.x, t))
            speed[:, part.facets] = fastest * part.density
        integrals = self.traces.weights @ speed
        rate = np.zeros(mesh.size)
        for side in (0, 1):
            here = facets.cells[side] >= 0
            rate += np.bincount(facets.cells[side, here], integrals[here], minlength=mesh.size)
        if mesh.affine:
            return np.asarray(0.5 * rate / mesh.cell_measures)
        smallest = mesh.cell_map(mesh.reference.vertices).determinant.min(axis=0) * mesh.reference.measure
        return np.asarray(0.5 * rate / np.sqrt(mesh.cell_measures * smallest))


class LinearConvection(Convection):
    """f(u) = b u with a numerical flux a⁻u⁻ + a⁺u⁺: coefficients times reference matrices.

    Every cell combines its own trace and that of its neighbour, so that nothing is scattered. Coefficients
    that depend neither on time nor, within a cell, on the point are made once, with one entry per cell.
    """

    def apply(self, t: float, u: Array) -> Array:
        if self._transport is not None:
            return self._with_given(t, self._transport(u))
        inside, own, other = self._coefficients(t)
        if inside.shape[1] == 1:
            products = self._stiffness @ self.space.to_reference(u)
            products = products.reshape(len(u), len(inside), self.space.modes, -1)
            rate = self.space.from_moments((products * inside).sum(axis=1))
        else:
            rate = self.cells.gradient_moments(self.cells.values(u)[:, None] * inside)
        sides = self.traces.all_sides(u)
        shape = (len(u), len(own), self.traces.count, self.space.mesh.size)
        fluxes = sides.reshape(shape) * own
        neighbours = sides[:, self.traces.across].reshape(shape)
        neighbours *= other
        fluxes += neighbours
        rate -= self.traces.side_moments(fluxes)
        return self._with_given(t, rate)

    @cached_property
    def _transport(self) -> ConstantTransport | None:
        """The faster form where all coefficients are constant and the flux is consistent."""
        if not self._uniform:
            return None
        _, own, other = self._fixed
        velocity = np.array([b.constant_value() for b in self.equation.velocity])
        return constant_transport(self.space, self.order, velocity, own[:, 0], other[:, 0])

    def _with_given(self, t: float, rate: Array) -> Array:
        given = self._given(t)
        if given is not None:
            rate -= given
        return rate

    def _coefficients(self, t: float) -> tuple[Array, Array, Array]:
        if self._steady:
            return self._fixed
        return self._coefficients_at(t)

    @cached_property
    def _steady(self) -> bool:
        return not any(b.time_dependent for b in self.equation.velocity)

    @cached_property
    def _fixed(self) -> tuple[Array, Array, Array]:
        return self._coefficients_at(0.0)

    @cached_property
    def _uniform(self) -> bool:
        """Whether all coefficients are constant on every cell and facet."""
        return self.space.mesh.affine and all(b.constant for b in self.equation.velocity)

    @cached_property
    def _stiffness(self) -> Array:
        """(∫ ∂̂_jφ̂_i φ̂_k) for all j, one below the other: ``(d · modes, modes)``."""
        rule = self.cells
        weighted = rule.gradients_table * rule.weights[:, None]
        return np.concatenate([slopes.T @ rule.values_table for slopes in weighted])

    def _coefficients_at(self, t: float) -> tuple[Array, Array, Array]:
        """Of the cells ``(d, 1, C)`` or ``(d, Q, C)``, of the own and the other trace ``(sides, P, C)``."""
        mesh, facets, rule = self.space.mesh, self.space.mesh.facets, self.cells
        count = slice(0, 1) if self._uniform else slice(None)
        velocity = [b(rule.x[:, count], t) for b in self.equation.velocity]
        inside = np.array([sum(j * b for j, b in zip(row, velocity, strict=True)) for row in rule.pull_back])
        x, density, along = self.interior
        minus, plus = (c * density for c in flux_coefficients(self.flux, along, x[:, count], t))
        points = minus.shape[0]
        own, other = np.zeros((2, len(mesh.reference.facets), points, mesh.size))
        inner = slice(0, facets.interior)
        cells, local = facets.cells[:, inner], facets.local[:, inner]
        turned = self.traces.sides[1] // mesh.size % self.traces.count if points > 1 else 0
        at = np.arange(points)[:, None]
        own[local[0], at, cells[0]], other[local[0], at, cells[0]] = minus, plus
        own[local[1], turned, cells[1]], other[local[1], turned, cells[1]] = -plus, -minus
        for part in self.boundary:
            own[facets.local[0, part.facets], at, facets.cells[0, part.facets]] = (
                self._of_trace(part, t)[:points] * part.density
            )
        return inside, own / mesh.cell_measures, other / mesh.cell_measures

    def _of_trace(self, part: BoundaryFacets, t: float) -> Array:
        """Coefficient of the inner trace in the flux on a part of the boundary, ``(Q, F)``."""
        if part.condition.total:
            return np.zeros(part.x.shape[1:])
        if part.condition.trace:
            return flux_coefficients(self.flux, part.equation, part.x, t)[0]
        one = np.ones((1, *part.x.shape[1:]))
        part.check_outflow(one, t)
        return np.asarray(part.equation.flux(one, part.x, t)[0])

    def _given(self, t: float) -> Array | None:
        """Moments of what the boundary data add to the fluxes, ``(m, modes, C)``; None for nothing."""
        driven = [part for part in self.boundary if not part.g.is_zero]
        driven = [part for part in driven if part.condition.trace or part.condition.total]
        if not driven:
            return None
        if self._steady and not any(part.g.time_dependent for part in driven):
            if self._kept is None:
                self._kept = self._given_at(t, driven)
            return self._kept
        return self._given_at(t, driven)

    _kept: Array | None = None

    def _given_at(self, t: float, parts: list[BoundaryFacets]) -> Array:
        fluxes = np.zeros((self.equation.components, self.traces.count, self.space.mesh.facets.count))
        for part in parts:
            g = part.g(t)
            if part.condition.trace:
                g = g * flux_coefficients(self.flux, part.equation, part.x, t)[1]
            fluxes[:, :, part.facets] = g * part.density
        return self.traces.jump_moments(fluxes)


def convection(
    space: BrokenSpace,
    equation: Equation,
    flux: ConvectiveFlux,
    boundary: Mapping[str, Condition] | Condition,
) -> Convection:
    """The faster of the two forms that applies."""
    kind = LinearConvection if equation.linear and _is_linear(flux, equation) else Convection
    return kind(space, equation, flux, boundary)


def _fixed(x: Array) -> Array:
    """A contiguous copy that cannot be written to: equations keep what they know about such points."""
    copy = np.ascontiguousarray(x)
    copy.flags.writeable = False
    return copy


def flux_coefficients(flux: ConvectiveFlux, along: NormalEquation, x: Array, t: float) -> tuple[Array, Array]:
    """a⁻ and a⁺ of a numerical flux a⁻u⁻ + a⁺u⁺ of a scalar equation at points ``(d, Q, F)``."""
    one, zero = np.ones((1, *x.shape[1:])), np.zeros((1, *x.shape[1:]))
    return flux(along, one, zero, x, t, 0)[0], flux(along, zero, one, x, t, 0)[0]


def quadrature_order(space: BrokenSpace, equation: Equation) -> int:
    """Polynomial degree to integrate exactly: f(u)·∇φ where f is a polynomial, and at least 2q + 2 else.

    Linear equations with constant velocity need 2q; the factors of cells that are not affine come on top.
    """
    q, extra = space.degree, 0 if space.mesh.affine else space.mesh.dim - 1
    if equation.linear and all(b.constant for b in equation.velocity):
        return 2 * q + extra
    degree = _ASSUMED_DEGREE if equation.flux_degree is None else equation.flux_degree
    return max((degree + 1) * q, 2 * q + 2) + extra


def _is_linear(flux: ConvectiveFlux, equation: Equation) -> bool:
    """Whether a numerical flux of a linear equation is linear in the traces, tried at some states."""
    rng = np.random.default_rng(13)
    x, normals = rng.uniform(0.0, 1.0, (equation.dim, 16)), rng.normal(size=(equation.dim, 16))
    along = NormalEquation(equation, normals / np.linalg.norm(normals, axis=0))
    minus, plus = rng.normal(size=(2, 1, 16))
    a, b = flux_coefficients(flux, along, x, 0.0)
    return bool(
        np.allclose(flux(along, minus, plus, x, 0.0, 0), a * minus + b * plus, rtol=1e-12, atol=1e-14)
    )
