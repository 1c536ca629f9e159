"""The fluxes of a scalar scheme in cells and on facets, from which fluxes in H(div) are made (T2.1)."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.semidiscretization.unstructured.boundary import boundary_facets
from stfem.semidiscretization.unstructured.convection import Convection
from stfem.semidiscretization.unstructured.diffusion import Diffusion
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.cells import CellRule
from stfem.spaces.traces import FacetTraces

__all__ = ["SchemeFluxes"]

#: Step of differences in time, relative to the duration.
_STEP = 1e-5


class SchemeFluxes:
    """Data of the convective and the diffusive numerical flux, all with one quadrature.

    Facet data are out of the minus cell and hold the factor ds/d(parameter). With ``rate`` the argument is
    ∂_tu_h, and boundary data are replaced by their rates of change.

    Parameters
    ----------
    convection, diffusion
        The two parts of the scheme.
    duration
        Final time, which data are not asked for beyond; 1e-5 of it is the step of differences in time.

    Attributes
    ----------
    cell_order, facet_order
        Orders of ``reference.quadrature`` and ``reference.on_facet.quadrature``.

    Raises
    ------
    TypeError
        For systems.
    """

    def __init__(self, convection: Convection, diffusion: Diffusion, duration: float) -> None:
        if convection.equation.components > 1:
            name = type(convection.equation).__name__
            raise TypeError(f"equation: expected a scalar one, got {name}")
        self.space, equation = convection.space, convection.equation
        order = max(convection.order, 2 * self.space.degree + 2)
        self.cell_order = self.facet_order = order
        self._convection = Convection(self.space, equation, convection.flux, diffusion.conditions, order)
        self._diffusion, self._equation = diffusion, equation
        self._rule, self._traces = CellRule(self.space, order), FacetTraces(self.space, order)
        parameters, self._duration = self._traces.parameters, duration
        self._boundary = boundary_facets(self.space.mesh, diffusion.conditions, equation, parameters)
        for part in (*self._boundary, *self._convection.boundary):
            part.g.until(duration)

    @cached_property
    def _interior(self) -> tuple[list[Array], list[Array], Array]:
        return self._diffusion.interior(self._traces.parameters)

    def convective(self, t: float, u: Array, rate: bool = False) -> tuple[Array, Array]:
        """f(u) in the cells ``(d, m, Q, C)``, and the numerical flux ``(m, Q, F)``.

        ``rate`` is for linear equations; see `convective_rate`.
        """
        values, equation = self._rule.values(u), self._equation
        cells = np.stack([equation.flux(values, self._rule.x, t, i) for i in range(equation.dim)])
        return cells, self._convection.facet_fluxes(t, u, rate)

    def convective_rate(self, t: float, u: Array, change: Array) -> tuple[Array, Array]:
        """The rates of change of `convective` where u changes at a rate.

        Those of a nonlinear flux by differences of second order, ahead of t or, at the end, behind: bounds
        hold for any h̃.
        """
        if self._equation.linear:
            return self.convective(t, change, True)
        h = _STEP * self._duration
        h = h if t + 2.0 * h <= self._duration else -h
        now, soon, later = (self.convective(t + k * h, u + k * h * change) for k in range(3))
        cells, facets = (
            (4.0 * b - c - 3.0 * a) / (2.0 * h) for a, b, c in zip(now, soon, later, strict=True)
        )
        return cells, facets

    def diffusive(self, t: float, u: Array, rate: bool = False) -> tuple[Array, Array, Array, Array]:
        """D∇u in the cells, the numerical flux, and ω_K (u_K − u_beyond) of the minus and plus cells.

        Shapes ``(d, m, Q, C)``, ``(m, Q, F)`` twice, and ``(m, Q, interior F)``.
        """
        diffusion, traces, mesh = self._diffusion, self._traces, self.space.mesh
        matrix = np.broadcast_to(diffusion.matrix_of_cells, (mesh.dim, mesh.dim, mesh.size))
        cells = np.einsum("ijc,jmqc->imqc", matrix, self.space.gradients(u, self._rule.points))
        inner = np.arange(mesh.facets.interior)
        share, slopes, sigma = self._interior
        sides = traces.all_sides(u)
        jump = traces.minus(sides, slice(0, len(inner))) - traces.plus(sides)
        fluxes = np.zeros((len(u), traces.count, mesh.facets.count))
        jumps = np.zeros_like(fluxes)
        fluxes[:, :, inner] = -sigma * jump
        for side in (0, 1):
            own = reference_slopes(self.space, u, side, traces.parameters, inner)
            fluxes[:, :, inner] += np.einsum("jqf,jmqf->mqf", *_matched(slopes[side], own))
        jumps[:, :, inner] = share[0] * jump
        for part in self._boundary:
            trace = traces.minus(sides, part.facets)
            if part.condition.trace:
                slope, sigma = diffusion.dirichlet(part, traces.parameters)
                beyond = trace - part.g(t, rate)
                own = reference_slopes(self.space, u, 0, traces.parameters, part.facets)
                fluxes[:, :, part.facets] = np.einsum("jqf,jmqf->mqf", *_matched(slope, own)) - sigma * beyond
                jumps[:, :, part.facets] = beyond
            elif not part.condition.total:
                fluxes[:, :, part.facets] = (part.g(t, rate) - part.alpha(t) * trace) * part.density
        weights = np.reshape(self._equation.diffused, (-1, 1, 1))
        return cells * weights, fluxes * weights, jumps * weights, -share[1] * jump * weights


def reference_slopes(space: BrokenSpace, u: Array, side: int, parameters: Array, facets: Index) -> Array:
    """∂̂_ju at parameters of facets from the minus (0) or plus (1) side: array ``(d, m, Q, F)``."""
    mesh = space.mesh
    result = np.empty((mesh.dim, len(u), parameters.shape[1], len(facets)))
    for local, turned, where in mesh.facet_groups(side, facets):
        cells = mesh.facets.cells[side, facets[where]]
        table = space.basis.gradients(mesh.reference.facet_points(local, parameters, turned))
        result[..., where] = table[:, None] @ space.to_reference(u[:, :, cells], cells)
    return result


def _matched(coefficients: Array, values: Array) -> tuple[Array, Array]:
    """Coefficients ``(d, P, F)`` at all points of the values ``(d, m, Q, F)``."""
    return np.broadcast_to(coefficients, (len(values), *values.shape[2:])), values
