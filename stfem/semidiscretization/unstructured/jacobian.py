"""Jacobians of the semidiscretization, assembled block by block."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import sparse

from stfem.data import Data
from stfem.equations.normal import NormalEquation
from stfem.meshes.quadrature import Array
from stfem.semidiscretization.unstructured.boundary import BoundaryFacets
from stfem.semidiscretization.unstructured.convection import Convection, LinearConvection, flux_coefficients
from stfem.semidiscretization.unstructured.diffusion import Diffusion
from stfem.spaces.block_sparse import BlockAssembler, Term
from stfem.spaces.cells import CellRule

__all__ = ["convective_jacobian", "jacobian"]

#: Step of the central differences of numerical fluxes, relative to the states: cube root of round-off.
_STEP = 6e-6


def jacobian(
    convection: Convection, diffusion: Diffusion, reaction: Data, rule: CellRule, t: float, u: Array
) -> sparse.bsr_array:
    """|K|·J of convection, reaction (with its rule) and diffusion at (t, u)."""
    assembler = convective_jacobian(convection, t, u)
    if not reaction.is_zero:
        strength = reaction(rule.x, t) * rule.density * convection.space.mesh.cell_measures
        terms = [Term(0, 0, -np.eye(len(u))[:, :, None, None] * strength)]
        assembler.add_cells(terms, (rule.points, rule.weights))
    matrix = assembler.matrix(diffusion.pattern)
    if diffusion.present:
        modes = convection.space.modes
        for k, weight in enumerate(convection.equation.diffused):
            block = slice(k * modes, (k + 1) * modes)
            matrix.data[:, block, block] += weight * diffusion.matrix.data
    return matrix


def convective_jacobian(convection: Convection, t: float, u: Array) -> BlockAssembler:
    """|K|·J of convection at (t, u).

    f' is exact; a nonlinear numerical flux is differentiated by central differences. For linear equations
    all of it is exact.
    """
    space, equation, m = convection.space, convection.equation, len(u)
    mesh, cells, traces = space.mesh, convection.cells, convection.traces
    assembler = BlockAssembler(space, convection.order, m)
    values = cells.values(u)
    slopes = [
        _columns(partial(equation.jacobian_product, x=cells.x, t=t, direction=i), values)
        for i in range(mesh.dim)
    ]
    scaled = cells.pull_back * mesh.cell_measures
    terms = [
        Term(1 + j, 0, np.asarray(sum(factor * slope for factor, slope in zip(row, slopes, strict=True))))
        for j, row in enumerate(scaled)
    ]
    assembler.add_cells(terms)
    sides, inner = traces.all_sides(u), slice(0, mesh.facets.interior)
    x, density, along = convection.interior
    minus, plus = traces.minus(sides, inner), traces.plus(sides)
    own, other = (c * density for c in _flux_derivatives(convection, along, minus, plus, x, t))
    assembler.add_interior([[[Term(0, 0, sign * c)] for c in (own, other)] for sign in (-1.0, 1.0)])
    for part in convection.boundary:
        if not part.condition.total:
            slope = _boundary_derivative(convection, part, traces.minus(sides, part.facets), t)
            assembler.add_boundary(part.facets, [Term(0, 0, -slope * part.density)])
    return assembler


def _columns(product: Callable[[Array, Array], Array], values: Array) -> Array:
    """Matrices ``(m, m, Q, N)`` of v ↦ product(values, v), column by column."""
    units = (np.broadcast_to(unit[:, None, None], values.shape) for unit in np.eye(len(values)))
    return np.stack([product(values, unit) for unit in units], axis=1)


def _boundary_derivative(convection: Convection, part: BoundaryFacets, trace: Array, t: float) -> Array:
    """∂F/∂u⁻ ``(m, m, Q, F)`` on a part of the boundary where the total flux is not given."""
    if part.condition.trace:
        g = np.broadcast_to(part.g(t), trace.shape)
        return _flux_derivatives(convection, part.equation, trace, g, part.x, t)[0]
    return _columns(partial(part.equation.jacobian_product, x=part.x, t=t), trace)


def _flux_derivatives(
    convection: Convection, along: NormalEquation, minus: Array, plus: Array, x: Array, t: float
) -> tuple[Array, Array]:
    """∂F/∂u⁻ and ∂F/∂u⁺, ``(m, m, Q, F)`` each."""
    flux = convection.flux
    if isinstance(convection, LinearConvection):
        own, other = flux_coefficients(flux, along, x, t)
        return own[None, None], other[None, None]
    step = _STEP * max(1.0, float(np.abs(minus).max()), float(np.abs(plus).max()))
    columns: tuple[list[Array], list[Array]] = ([], [])
    for unit in step * np.eye(len(minus))[:, :, None, None]:
        columns[0].append(flux(along, minus + unit, plus, x, t, 0) - flux(along, minus - unit, plus, x, t, 0))
        columns[1].append(flux(along, minus, plus + unit, x, t, 0) - flux(along, minus, plus - unit, x, t, 0))
    return np.stack(columns[0], axis=1) / (2.0 * step), np.stack(columns[1], axis=1) / (2.0 * step)
