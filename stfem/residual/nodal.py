"""Residuals at the time nodes, from which the residual of a whole slab is combined (T3, T4.6).

At a node R_n = S F_n + N(S U_n) − …, with the scheme's own rate F_n, is what the reconstruction in space
misses at t_n; R'_n is its rate of change. Both are small, so that nothing cancels any more when slabs are put
together from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stfem.data import Data
from stfem.equations import Equation, is_diagonal
from stfem.reconstruction import NodeReconstruction, RowReconstruction
from stfem.residual.forms import KeptModes
from stfem.residual.products import QuadraticConvection
from stfem.residual.terms import TermBuilder, padded, subtract
from stfem.resumable import Resumable
from stfem.spaces.stencil import Array, refined_rows

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


class NodeEvaluator(Resumable):
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
    scheme_rows
        Number of cells of the scheme in the first direction.
    """

    PAST = ("points",)

    def __init__(
        self,
        equation: Equation,
        source: Data,
        reconstruction: RowReconstruction,
        terms: TermBuilder,
        inverse_diffusion: Array,
        scheme_rows: int,
    ) -> None:
        self.grid, self.degree = reconstruction.grid, reconstruction.degree
        self._dim, self._terms, self._scheme_rows = self.grid.dim, terms, scheme_rows
        self._reconstruction = reconstruction
        self.convection = None if equation.linear else QuadraticConvection(equation, self.grid, self.degree)
        self._root, self.diffusion = _root(inverse_diffusion), equation.diffusion
        self._sources = () if source.is_zero else (source, source.time_derivative())
        #: Points per direction for ∇·f(û), and modes of the residual; of a product few more than of û matter.
        self.points = self.degree + (1 if self.convection is None else 2)

    def evaluate(
        self, node: NodeReconstruction, kept: Sequence[NDArray[np.intp]]
    ) -> tuple[list[KeptModes], NodeFacts]:
        """Fields at one node with their rates of change, in orthonormal modes, the first the mean of a cell.

        R_H(1) = R alone, or with what the rest of the flux family needs (T3.5): R_H(0), their difference
        R_H(1) − R_H(0) = ∇·(K*σ_h − D∇û), and D^{-1/2}Φ_0 with Φ_0 = K*σ_h − D∇û, whose squares add up.

        Parameters
        ----------
        node
            It carries an acceleration.
        kept
            Modes wanted of every field: of the residual, or of all ``3 + d`` fields.

        Raises
        ------
        OverflowError
            Where the squares of the residual are not finite: the run has blown up.
        """
        if node.node.acceleration is None:
            raise ValueError("node: expected one with an acceleration, got None")
        data = (node.node.values, node.node.rate, node.node.acceleration)
        projections = [g.project_rows(self.grid, self.degree, node.time) for g in self._sources]
        fields = [
            KeptModes(np.empty((2, len(modes), self.grid.size)), np.zeros((2, count)))
            for modes, count in zip(kept, self._counts(), strict=False)
        ]
        sums, slopes, speeds = np.zeros((3, 2)), np.zeros(2), np.zeros(2)
        most = self.points if self.convection is None else self.convection.most_points
        products = np.zeros((most + 1, 2))
        state, flux = self._reconstruction.field_rows(data), self._reconstruction.flux_rows(data[:2])
        for rows, fine, columns in self._blocks():
            triple = state(rows)
            u, rate = triple[:2], triple[1:]
            linear, terms = self._terms.whole(u)
            linear += rate
            for entry, projection in zip(linear, projections, strict=False):
                entry -= projection.on(fine)
            sums += [_squares(u), _squares(rate), terms**2]
            residual = linear
            if self.convection is not None:
                residual, steepness, fastest = self.convection.modes(u, self.points)
                self._low(residual)[...] += linear
                slopes, speeds = slopes + steepness, np.maximum(speeds, fastest)
                products += self.convection.left_out_sq(u)
            parts = [residual] if len(kept) == 1 else [residual, *self._family(flux(rows), u, residual)]
            for field, modes, part in zip(fields, kept, parts, strict=True):
                flat = part.reshape(2, field.energies.shape[1], -1)
                field.values[..., columns] = flat[:, modes]
                field.energies[...] += np.einsum("imc,imc->im", flat, flat)
        if not np.isfinite(sums).all():
            raise OverflowError(f"the squares of a residual at time {node.time:.17g} overflow")
        norms, products = np.sqrt(sums), np.sqrt(products)
        left_out = products[self.points] + np.array([p.remainder_l2 for p in projections] or [0.0, 0.0])
        magnitude = norms[1] + norms[2] + speeds[0] * np.sqrt(slopes)
        magnitude[1] += speeds[1] * np.sqrt(slopes[0])
        return fields, NodeFacts(norms[0], magnitude, left_out, products)

    def family_sizes(self, node: NodeReconstruction) -> tuple[float, float]:
        """‖R_H(1) − R_H(0)‖ and ‖D^{-1/2}Φ_0‖ in L²(Ω) at one node."""
        sizes, data = np.zeros(2), node.node.values[None]
        state, scheme = self._reconstruction.field_rows(data), self._reconstruction.flux_rows(data)
        for rows, _, _ in self._blocks():
            gap, flux = self._defect_of_flux(scheme(rows), state(rows))
            sizes += np.array([np.vdot(gap, gap), sum(np.vdot(f, f) for f in flux)])
        difference, potential = np.sqrt(self.grid.cell_measure * sizes)
        return float(difference), float(potential)

    def _family(self, scheme: tuple[Array, ...], u: Array, residual: Array) -> list[Array]:
        gap, flux = self._defect_of_flux(scheme, u)
        base = residual.copy()
        self._low(base)[...] -= gap
        return [base, gap, *flux]

    def _defect_of_flux(self, scheme: tuple[Array, ...], u: Array) -> tuple[Array, list[Array]]:
        """R_H(1) − R_H(0) and D^{-1/2}Φ_0 from K*σ_h and û."""
        _, laplacian, own = self._terms.local(u)
        flux = [subtract(component, part, self._dim) for component, part in zip(scheme, own, strict=True)]
        return self._terms.divergence(scheme) - laplacian, self._weighted(flux)

    def _low(self, field: Array) -> Array:
        """The modes of û among those of the residual, a view."""
        return field[(slice(None), slice(None), *(slice(0, self.degree + 1),) * self._dim)]

    def _counts(self) -> list[int]:
        """Numbers of modes of the fields."""
        low, most = self.degree + 1, self.degree + 2
        mixed = most**self._dim if not is_diagonal(self._root) else most * low ** (self._dim - 1)
        return [self.points**self._dim] * 2 + [low**self._dim] + [mixed] * self._dim

    def _weighted(self, flux: list[Array]) -> list[Array]:
        """D^{-1/2}Φ; cross terms of D need the components in a common space."""
        if is_diagonal(self._root):
            return [root * f for root, f in zip(np.diag(self._root), flux, strict=True)]
        common = [padded(f, self.degree + 2, self._dim) for f in flux]
        return [np.asarray(sum(w * f for w, f in zip(row, common, strict=True))) for row in self._root]

    def _blocks(self) -> Iterator[tuple[slice, slice, slice]]:
        """Rows of cells of the scheme, the same on the grid of û, and as a range of all cells there."""
        count = self._scheme_rows
        pieces, rest = self.grid.cells[0] // count, self.grid.size // count
        step = max(1, BLOCK_VALUES // (2 * self.points**self._dim * rest))
        for start in range(0, count, step):
            rows = slice(start, min(start + step, count))
            yield rows, refined_rows(rows, pieces), refined_rows(rows, rest)


def _squares(pair: Array) -> Array:
    """Sums of squares of the two entries of a pair."""
    return np.array([np.vdot(entry, entry) for entry in pair])


def _root(matrix: Array) -> Array:
    """Symmetric square root of a positive semi-definite matrix."""
    if is_diagonal(matrix):
        return np.sqrt(matrix)
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T)
