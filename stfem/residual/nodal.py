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
from stfem.residual.products import QuadraticConvection
from stfem.residual.terms import TermBuilder, padded, subtract
from stfem.spaces.stencil import Array, cell_rows

#: Values of one field held at once while a node is evaluated; a block of this size stays in the cache.
BLOCK_VALUES = 1 << 16


@dataclass(frozen=True, eq=False)
class NodeFacts:
    """What belongs to the residual at one node besides the residual itself: pairs for R_n and R'_n.

    Attributes
    ----------
    sizes
        Norms of the coefficients of û_n and ∂_tû_n.
    magnitude
        The same of what is added up in R_n and R'_n: sizes of what may round off.
    left_out
        Bounds in L²(Ω) of what R_n and R'_n leave out: parts of g(t_n), ∂_tg(t_n) and of ∇·f(û).
    products_left_out
        Row n: the part of ∇·f(û) and of its rate that n points per direction would leave out.
    """

    sizes: Array
    magnitude: Array
    left_out: Array
    products_left_out: Array


@dataclass(frozen=True, eq=False)
class NodeFamily:
    """What the rest of the flux family needs at one node (T3.5): value and rate of change of each.

    Attributes
    ----------
    residual
        R_H(0), ``(2, M, C)`` like the residual.
    difference
        R_H(1) − R_H(0) = ∇·(K*σ_h − D∇û) in the modes of û.
    flux
        D^{-1/2}Φ_0 with Φ_0 = K*σ_h − D∇û: arrays ``(2, M_i, C)`` whose squares add up.
    """

    residual: Array
    difference: Array
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
        self.grid, self.degree = reconstruction.grid, reconstruction.degree
        self._dim, self._terms = self.grid.dim, terms
        self.convection = None if equation.linear else QuadraticConvection(equation, self.grid, self.degree)
        self._root = _root(inverse_diffusion)
        self._sources = () if source.is_zero else (source, source.time_derivative())
        #: Points per direction for ∇·f(û), and modes of the residual.
        self.points = self.degree + 1 if self.convection is None else self.convection.most_points

    def residual(self, node: NodeReconstruction) -> tuple[Array, NodeFacts]:
        """R_H(1) = R and R' at one node, which carries an acceleration.

        In M orthonormal modes on each of C cells: ``(2, M, C)``; the first mode is the mean over the cell.
        """
        state = node.state
        rates = np.stack([state[1], node.acceleration])
        projections = [g.project(self.grid, self.degree, node.time) for g in self._sources]
        source = np.stack([p.coefficients for p in projections])[:, None] if projections else None
        sums, slopes, speeds = np.zeros((3, 2)), np.zeros(2), np.zeros(2)
        values = np.empty((2, self.points**self._dim, self.grid.size))
        for block, columns in self._blocks():
            u, rate = (cell_rows(field, block, self._dim) for field in (state, rates))
            linear, terms = self._terms.whole(u)
            linear += rate
            if source is not None:
                linear -= cell_rows(source, block, self._dim)
            sums += [_squares(u), _squares(rate), terms**2]
            if self.convection is not None:
                total, steepness, fastest = self.convection.modes(u, self.points)
                total[(slice(None), slice(None), *(slice(0, self.degree + 1),) * self._dim)] += linear
                slopes, speeds, linear = slopes + steepness, np.maximum(speeds, fastest), total
            values[..., columns] = linear.reshape(2, values.shape[1], -1)
        norms = np.sqrt(sums)
        left_out = np.array([p.remainder_l2 for p in projections] or [0.0, 0.0])
        products = np.zeros((self.points + 1, 2))
        if self.convection is not None:
            products = self.convection.left_out(state)
            left_out += products[self.points]
        magnitude = norms[1] + norms[2] + speeds[0] * np.sqrt(slopes)
        magnitude[1] += speeds[1] * np.sqrt(slopes[0])
        return values, NodeFacts(norms[0], magnitude, left_out, products)

    def family(self, node: NodeReconstruction) -> NodeFamily:
        """The family at one node of an equation with diffusion; evaluates the residual anew."""
        base, _ = self.residual(node)
        difference = np.empty((2, (self.degree + 1) ** self._dim, self.grid.size))
        inside = base.reshape(2, *(self.points,) * self._dim, -1)
        gaps: list[Array] = []
        for block, columns in self._blocks():
            scheme = tuple(cell_rows(component, block, self._dim) for component in node.flux)
            _, laplacian, own = self._terms.local(cell_rows(node.state, block, self._dim))
            gap = (self._terms.divergence(scheme) - laplacian)[:, 0]
            difference[..., columns] = gap.reshape(*difference.shape[:2], -1)
            low = gap.reshape(*gap.shape[: 1 + self._dim], -1)
            inside[(slice(None), *(slice(0, self.degree + 1),) * self._dim, columns)] -= low
            flux = self._weighted(
                [subtract(component, part, self._dim) for component, part in zip(scheme, own, strict=True)]
            )
            gaps = gaps or [np.empty((2, prod(f.shape[2 : 2 + self._dim]), self.grid.size)) for f in flux]
            for target, component in zip(gaps, flux, strict=True):
                target[..., columns] = component.reshape(*target.shape[:2], -1)
        return NodeFamily(base, difference, tuple(gaps))

    def family_sizes(self, node: NodeReconstruction) -> tuple[float, float]:
        """‖R_H(1) − R_H(0)‖ and ‖D^{-1/2}Φ_0‖ in L²(Ω) at one node."""
        _, laplacian, own = self._terms.local(node.state[:1])
        scheme = tuple(component[:1] for component in node.flux)
        gap = self._terms.divergence(scheme) - laplacian
        flux = self._weighted(
            [subtract(component, part, self._dim) for component, part in zip(scheme, own, strict=True)]
        )
        scale = self.grid.cell_measure
        return float(np.sqrt(scale * np.vdot(gap, gap))), float(
            np.sqrt(scale * sum(np.vdot(f, f) for f in flux))
        )

    def _weighted(self, flux: list[Array]) -> list[Array]:
        """D^{-1/2}Φ; cross terms of D need the components in a common space."""
        if is_diagonal(self._root):
            return [root * f for root, f in zip(np.diag(self._root), flux, strict=True)]
        common = [padded(f, self.degree + 2, self._dim) for f in flux]
        return [np.asarray(sum(w * f for w, f in zip(row, common, strict=True))) for row in self._root]

    def _blocks(self) -> Iterator[tuple[slice, slice]]:
        """Ranges of the first cell axis, and the same cells as a range of all."""
        count, rest = self.grid.cells[0], self.grid.size // self.grid.cells[0]
        step = max(1, BLOCK_VALUES // (2 * self.points**self._dim * rest))
        for start in range(0, count, step):
            stop = min(start + step, count)
            yield slice(start, stop), slice(start * rest, stop * rest)


def _squares(pair: Array) -> Array:
    """Sums of squares of the two entries of a pair."""
    return np.array([np.vdot(entry, entry) for entry in pair])


def _root(matrix: Array) -> Array:
    """Symmetric square root of a positive semi-definite matrix."""
    if is_diagonal(matrix):
        return np.sqrt(matrix)
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T)
