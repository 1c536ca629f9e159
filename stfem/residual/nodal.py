"""Residuals at the time nodes, from which the residual of a whole slab is combined (T3, T4.6).

At a node R_n = S F_n + N(S U_n) − …, with the scheme's own rate F_n, is what the reconstruction in space
misses at t_n; R'_n is its rate of change. Both are small, so that nothing cancels any more when slabs are put
together from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from stfem.data import Data
from stfem.equations import Equation, is_diagonal
from stfem.reconstruction import BoundReconstruction, NodeReconstruction
from stfem.residual.interpolation import peaks
from stfem.residual.terms import TermBuilder, padded, subtract
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array, apply_everywhere, apply_matrix, cell_rows
from stfem.spaces.tensor import weighted_gauss

#: Values of one field held at once while a node is evaluated; a block of this size stays in the cache.
BLOCK_VALUES = 1 << 15


@dataclass(frozen=True, eq=False)
class NodeResidual:
    """R_H(1) = R at one node, in M orthonormal modes (or weighted values at Gauss points) on each of C cells.

    Attributes
    ----------
    values
        R_n and R'_n, ``(2, M, C)``.
    means
        Their means over the cells, ``(2, C)``.
    sizes
        Norms of the coefficients of û_n and ∂_tû_n.
    magnitude
        The same of what is added up linearly in R_n and R'_n: sizes of what may round off.
    convective
        The same of the nonlinear terms, the largest wave speed times ∇û_n and ∇∂_tû_n (0 for a linear flux).
    left_out
        Bounds in L²(Ω) of what the projections of g(t_n) and ∂_tg(t_n) leave out.
    """

    values: Array
    means: Array
    sizes: Array
    magnitude: Array
    convective: Array
    left_out: Array


@dataclass(frozen=True, eq=False)
class NodeFamily:
    """What the rest of the flux family needs at one node (T3.5): value and rate of change of each.

    Attributes
    ----------
    residual
        R_H(0), as `NodeResidual.values`.
    difference
        R_H(1) − R_H(0) = ∇·(K*σ_h − D∇û).
    means
        Means of R_H(0) over the cells, ``(2, C)``.
    flux
        D^{-1/2}Φ_0 with Φ_0 = K*σ_h − D∇û, in modes: arrays ``(2, M_i, C)`` whose squares add up.
    """

    residual: Array
    difference: Array
    means: Array
    flux: tuple[Array, ...]


class NodeEvaluator:
    """Evaluates residuals at nodes.

    Parameters
    ----------
    equation
        Scalar, with constant coefficients and a flux of degree at most 2.
    source
        g, with a time derivative.
    reconstruction
        Linear and the same at all times.
    terms
        Linear terms; its velocity is None where the flux is not linear.
    inverse_diffusion
        D⁺.
    """

    def __init__(
        self,
        equation: Equation,
        source: Data,
        reconstruction: BoundReconstruction,
        terms: TermBuilder,
        inverse_diffusion: Array,
    ) -> None:
        self.grid, self.degree, self._dim = (
            reconstruction.grid,
            reconstruction.degree,
            reconstruction.grid.dim,
        )
        self._equation, self._reconstruction, self._terms = equation, reconstruction, terms
        self._root = _root(inverse_diffusion)
        self._sources = () if source.is_zero else (source, source.time_derivative())
        #: Gauss points per direction; none where modes do.
        self.points = 0 if equation.linear else 2 * self.degree + 1
        self._tables: list[Array] = []
        self._roots = np.ones((1,) * 2 * self._dim)
        if self.points:
            abscissae = gauss(self.points)[0]
            value = legendre_values(self.degree, abscissae)
            slope = value @ derivative_matrix(self.degree)
            self._tables = [value, *(slope / h for h in self.grid.spacing)]
            self._roots = np.sqrt(weighted_gauss(self.points, self._dim)[1])

    def residual(self, node: NodeReconstruction) -> NodeResidual:
        """R and R' at one node, which carries an acceleration."""
        acceleration = node.node.acceleration
        if acceleration is None:
            raise ValueError("node: expected one with an acceleration, got None")
        state = node.state
        rates = np.stack([state[1], self._reconstruction.field(acceleration)])
        projections = [g.project(self.grid, self.degree, node.time) for g in self._sources]
        source = np.stack([p.coefficients for p in projections])[:, None] if projections else None
        sums, slopes, speed = np.zeros((4, 2)), np.zeros(2), 0.0
        values = np.empty((2, self._modes, self.grid.size))
        for block, columns in self._blocks():
            u = cell_rows(state, block, self._dim)
            linear, diffusive, _ = self._terms.local(u)
            rate = cell_rows(rates, block, self._dim)
            residual = rate + linear
            if source is not None:
                residual -= cell_rows(source, block, self._dim)
            sums += [_squares(u), _squares(rate), _squares(linear), _squares(diffusive)]
            residual -= diffusive
            if self.points:
                residual = self._at_points(residual)
                speed = max(speed, self._add_convection(u, residual, slopes))
                residual *= self._roots
            values[..., columns] = residual.reshape(2, self._modes, -1)
        norms = np.sqrt(sums)
        return NodeResidual(
            values,
            self._cell_means(values),
            norms[0],
            norms[1:].sum(axis=0),
            speed * np.sqrt(slopes),
            np.array([p.remainder_l2 for p in projections] or [0.0, 0.0]),
        )

    def filtered(self, field: Array) -> Array:
        """S v in modes."""
        return self._reconstruction.field(field)

    def measured(self, field: Array) -> tuple[float, Array]:
        """A bound of sup|v| and ‖∂_iv‖ of a field in the modes of û."""
        heights = peaks(field.shape[: -self._dim], self._dim)
        sup = np.tensordot(heights, np.abs(field), self._dim + 1).max()
        scale = self.grid.cell_measure
        slopes = [float(np.sqrt(scale * np.vdot(slope, slope))) for slope in self._terms.gradient(field)]
        return float(sup), np.array(slopes)

    def family(self, node: NodeReconstruction, residual: NodeResidual) -> NodeFamily:
        """The family at one node of an equation with diffusion."""
        difference = np.empty_like(residual.values)
        gaps: list[Array] = []
        for block, columns in self._blocks():
            scheme = tuple(cell_rows(component, block, self._dim) for component in node.flux)
            _, laplacian, own = self._terms.local(cell_rows(node.state, block, self._dim))
            gap = self._terms.divergence(scheme) - laplacian
            if self.points:
                gap = self._at_points(gap) * self._roots
            difference[..., columns] = gap.reshape(*difference.shape[:2], -1)
            flux = self._weighted(
                [subtract(component, part, self._dim) for component, part in zip(scheme, own, strict=True)]
            )
            gaps = gaps or [np.empty((2, prod(f.shape[2 : 2 + self._dim]), self.grid.size)) for f in flux]
            for target, component in zip(gaps, flux, strict=True):
                target[..., columns] = component.reshape(*target.shape[:2], -1)
        base = residual.values - difference
        return NodeFamily(base, difference, self._cell_means(base), tuple(gaps))

    def _weighted(self, flux: list[Array]) -> list[Array]:
        """D^{-1/2}Φ; cross terms of D need the components in a common space."""
        if is_diagonal(self._root):
            return [root * f for root, f in zip(np.diag(self._root), flux, strict=True)]
        common = [padded(f, self.degree + 2, self._dim) for f in flux]
        return [np.asarray(sum(w * f for w, f in zip(row, common, strict=True))) for row in self._root]

    @property
    def _modes(self) -> int:
        return int((self.points or self.degree + 1) ** self._dim)

    def _blocks(self) -> Iterator[tuple[slice, slice]]:
        """Ranges of the first cell axis, and the same cells as a range of all."""
        count, rest = self.grid.cells[0], self.grid.size // self.grid.cells[0]
        step = max(1, BLOCK_VALUES // (2 * self._modes * rest))
        for start in range(0, count, step):
            stop = min(start + step, count)
            yield slice(start, stop), slice(start * rest, stop * rest)

    def _at_points(self, modes: Array) -> Array:
        return apply_everywhere(self._tables[0], modes, self._dim)

    def _add_convection(self, u: Array, residual: Array, slopes: Array) -> float:
        """Add ∇·f(û) and its rate of change; returns the largest wave speed, adds to squares of slopes.

        With v = ∂_tû the rate is Σ f_i''(û) v ∂_iû + f_i'(û) ∂_iv, and f_i''(û)v = f_i'(û + v) − f_i'(û).
        """
        values = np.moveaxis(self._at_points(u), 1, 0)
        state, product = values[:, 0], self._equation.jacobian_product
        ends = np.array([[state.min(), state.max()]])  # f' is linear
        speed = 0.0
        x = np.zeros((self._dim, *(1,) * (state.ndim - 1)))
        for i in range(self._dim):
            slope = u
            for k in reversed(range(self._dim)):
                slope = apply_matrix(self._tables[1 + i if k == i else 0], slope, k, self._dim)
            first, second = slope[0], slope[1]
            convected = product(state, first, x, 0.0, i)
            residual[0] += convected
            residual[1] += product(state, second, x, 0.0, i)
            residual[1] += product(state + values[:, 1], first, x, 0.0, i) - convected
            slopes += _squares(slope * self._roots)
            speed = max(speed, float(self._equation.wave_speed(ends, np.zeros((self._dim, 1)), 0.0, i).max()))
        return speed

    def _cell_means(self, values: Array) -> Array:
        if not self.points:
            return values[:, 0].copy()
        return np.asarray(self._roots.ravel() @ values)


def _squares(pair: Array) -> Array:
    """Sums of squares of the two entries of a pair."""
    return np.array([np.vdot(entry, entry) for entry in pair])


def _root(matrix: Array) -> Array:
    """Symmetric square root of a positive semi-definite matrix."""
    if is_diagonal(matrix):
        return np.sqrt(matrix)
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T)
