"""Smoothness-increasing accuracy-conserving (SIAC) reconstruction on the torus (T2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from stfem.reconstruction.kernel import MAX_ORDER, filter_stencil
from stfem.reconstruction.multiplier import filter_norms
from stfem.reconstruction.node import NodeReconstruction
from stfem.reconstruction.symbol import FilterSymbol
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.stencil import Array, Term, TermRows
from stfem.spaces.tensor import refined
from stfem.timestepping import Node


@dataclass(frozen=True)
class Siac:
    """û = K_h * u_h, d̃ = K_h * σ_h with one and the same kernel for the value and all derivatives (T2, T2.1).

    The kernel consists of 2q + 1 central B-splines of order ℓ in each direction and reproduces polynomials of
    degree 2q; it may be wider than the torus (circulant sums). û is a polynomial of degree q + ℓ per
    direction and of class C^{ℓ−1}.

    Parameters
    ----------
    order
        Spline order ℓ, from 2 to 20. Default: the smallest even number ≥ q + 2, for which û is polynomial on
        the cells themselves; odd orders work on half cells.

    Raises
    ------
    ValueError, TypeError
        For ℓ < 2 (the all-L² member of the flux family needs û ∈ H²), and for ℓ > 20 (the exact rational
        coefficients would take long).

    References
    ----------
    Cockburn, Luskin, Shu, Süli (2003), Math. Comp. 72, 577–606.
    """

    order: int | None = None

    def __post_init__(self) -> None:
        check_order(self.order)

    def order_for(self, degree: int) -> int:
        """Spline order used for polynomial degree q."""
        return self.order if self.order is not None else degree + 2 + degree % 2

    def bind(self, semidiscretization: Semidiscretization) -> BoundSiac:
        """Filter matrices for one grid and degree."""
        return BoundSiac(semidiscretization, self.order_for(semidiscretization.degree))


def check_order(order: object) -> None:
    """Raise unless a spline order is None or a whole number from 2 to `MAX_ORDER`."""
    if order is None:
        return
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)):
        raise TypeError(f"order: expected a whole number, got {order!r}")
    if order < 2:
        raise ValueError(f"order: expected a spline order >= 2, got {order}")
    if order > MAX_ORDER:
        raise ValueError(f"order: expected a spline order <= {MAX_ORDER}, got {order}")


class BoundSiac:
    """Filter operators of `Siac` on one grid."""

    def __init__(self, semidiscretization: Semidiscretization, order: int) -> None:
        q, self._dim = semidiscretization.degree, semidiscretization.grid.dim
        self.order, self.degree = order, q + order
        self._filter = filter_stencil(q, order, q)
        self.norms = filter_norms(q, order, semidiscretization.grid)
        self.symbol = FilterSymbol(self._filter, semidiscretization.grid)
        self.grid = refined(semidiscretization.grid, self._filter.pieces)
        self._diffused = [
            c for c, weight in enumerate(semidiscretization.problem.equation.diffused) if weight
        ]
        # T3.4: where D = εA is degenerate and not diagonal, d̃ := A A⁺ d̃ mixes components, in one common space
        self._range = semidiscretization.diffusion.range_projection
        self.degree += self._range is not None
        self._flux_terms: list[list[Term]] = []
        if semidiscretization.has_diffusion:
            of_flux = filter_stencil(q, order, q + 1)
            for i in range(self._dim):
                terms = [
                    tuple((j, (of_flux if j == i else self._filter).after(stencil)) for j, stencil in term)
                    for term in semidiscretization.diffusion.flux_terms(i)
                ]
                self._flux_terms.append([self._completed(term) for term in terms])

    def _completed(self, term: Term) -> Term:
        """The term with the plain filter in every direction that it leaves out."""
        given = dict(term)
        return tuple((j, given.get(j, self._filter)) for j in range(self._dim))

    def field(self, u: Array, rows: slice | None = None) -> Array:
        """û = K_h * u_h, modes of degree q + ℓ, for any array ``(…, q+1, …, N…)``.

        On all cells, or on the pieces of some rows of cells (a range of N_1).
        """
        return self.field_rows(u)(self._range_of(u, rows))

    def flux(self, u: Array, rows: slice | None = None) -> tuple[Array, ...]:
        """K_h * σ_h of the diffusing components of ``(…, m, q+1, …, N…)``; σ_h of T2.1 has D inside."""
        return self.flux_rows(u)(self._range_of(u, rows))

    def field_rows(self, u: Array | Sequence[Array]) -> Callable[[slice], Array]:
        """û on ranges of rows of cells that are asked for one after the other, of one array or of several."""
        applied = TermRows(tuple((i, self._filter) for i in range(self._dim)), u, self._dim)
        return lambda rows: self._padded(applied(rows))

    def flux_rows(self, u: Array | Sequence[Array]) -> Callable[[slice], tuple[Array, ...]]:
        """The same of the filtered scheme flux."""
        if isinstance(u, np.ndarray):
            chosen: Array | list[Array] = self._diffusing(u)
            leading = self._diffusing(u).shape[: -2 * self._dim]
        else:
            chosen = [self._diffusing(array) for array in u]
            leading = (len(u), *chosen[0].shape[: -2 * self._dim])
        applied = [[TermRows(term, chosen, self._dim) for term in terms] for terms in self._flux_terms]

        def flux(rows: slice) -> tuple[Array, ...]:
            found = [
                np.asarray(sum(term(rows) for term in terms)) if terms else self._no_flux(leading, i, rows)
                for i, terms in enumerate(applied)
            ]
            if self._range is None:
                return tuple(found)
            found = [self._padded(component) for component in found]
            return tuple(
                np.asarray(sum(c * f for c, f in zip(row, found, strict=True))) for row in self._range
            )

        return flux

    def _diffusing(self, u: Array) -> Array:
        """The diffusing components of ``(…, m, q+1, …, N…)``."""
        axis = u.ndim - 2 * self._dim - 1
        return u if len(self._diffused) == u.shape[axis] else np.take(u, self._diffused, axis=axis)

    def _no_flux(self, leading: tuple[int, ...], direction: int, rows: slice) -> Array:
        modes = [self.degree + 1 + (j == direction) for j in range(self._dim)]
        cells = self._filter.pieces * (rows.stop - rows.start)
        return np.zeros((*leading, *modes, cells, *self.grid.cells[1:]))

    def _range_of(self, u: Array, rows: slice | None) -> slice:
        return slice(0, u.shape[-self._dim]) if rows is None else rows

    def _padded(self, field: Array) -> Array:
        """The field with zero modes up to the common degree (a copy only where modes are missing)."""
        first = field.ndim - 2 * self._dim
        modes = field.shape[first : first + self._dim]
        if self._range is None or all(count == self.degree + 1 for count in modes):
            return field
        padded = np.zeros((*field.shape[:first], *(self.degree + 1,) * self._dim, *field.shape[-self._dim :]))
        padded[(*(slice(None),) * first, *(slice(0, count) for count in modes))] = field
        return padded

    def at_node(self, node: Node) -> NodeReconstruction:
        """û_n = K_h * U_n, ∂_tû_n = K_h * F_n and the filtered scheme fluxes of both."""
        return NodeReconstruction(node, self.field, self.flux, by_rows=True)
