"""Linear parts of the residual, from û and the filtered scheme flux on any cells.

Derivatives of polynomials are small matrices on their modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stfem.meshes.grid import TensorGrid
from stfem.spaces.legendre import derivative_matrix
from stfem.spaces.rows import flat_cells
from stfem.spaces.stencil import Array, apply_matrix, cell_rows


@dataclass(frozen=True, eq=False)
class LinearTerms:
    """Terms of the residual that are linear in û and K*σ_h; k of these make the first axis of all arrays.

    Attributes
    ----------
    state
        û.
    linear
        b·∇û + cû (where b and c are constant) − ∇·d̃: what R_H holds besides ∂_tû, g and the nonlinear flux.
    difference
        D-part R_H(1) − R_H(0) = ∇·(K*σ_h − D∇û) of the diffusing components.
    flux
        Φ_0 = K*σ_h − D∇û per direction.
    squares
        Sums of squares of coefficients, ``(3 + d, k)``: of û, of b·∇û + cû, of ∇·d̃, and of ∂_iû.

    Where K*σ_h is given, d̃ is that (λ = 0), else d̃ = D∇û (λ = 1), with no difference and no flux.
    """

    state: Array
    linear: Array
    difference: Array | None
    flux: tuple[Array, ...]
    squares: Array

    def on(self, cells: slice, dim: int) -> LinearTerms:
        """The terms on a range of all cells, as layouts of one row; their squares are left to the whole."""

        def cut(field: Array) -> Array:
            return cell_rows(flat_cells(field, dim), cells, dim)

        difference = None if self.difference is None else cut(self.difference)
        flux = tuple(cut(component) for component in self.flux)
        return LinearTerms(cut(self.state), cut(self.linear), difference, flux, np.zeros_like(self.squares))


def joined(terms: Sequence[LinearTerms]) -> LinearTerms:
    """Those of one after the other."""
    differences = [entry.difference for entry in terms if entry.difference is not None]
    return LinearTerms(
        np.concatenate([entry.state for entry in terms]),
        np.concatenate([entry.linear for entry in terms]),
        np.concatenate(differences) if differences else None,
        tuple(np.concatenate(parts) for parts in zip(*(entry.flux for entry in terms), strict=True)),
        np.concatenate([entry.squares for entry in terms], axis=1),
    )


class TermBuilder:
    """Builds `LinearTerms`, and operators of the residual at nodes.

    Parameters
    ----------
    grid, degree
        Grid and degree of û.
    velocity
        Constant velocity b, or None where the convective term is evaluated at points.
    reaction
        Constant c.
    matrix
        Diffusion matrix D.
    diffused
        Weight per component.
    """

    def __init__(
        self,
        grid: TensorGrid,
        degree: int,
        velocity: tuple[float, ...] | None,
        reaction: float,
        matrix: Array,
        diffused: tuple[float, ...],
    ) -> None:
        self.grid, self.degree, self.velocity, self.reaction = grid, degree, velocity, reaction
        self._chosen = [c for c, weight in enumerate(diffused) if weight]
        self._weights = np.reshape([w for w in diffused if w], (-1, *(1,) * 2 * grid.dim))
        self._matrix = matrix

    @property
    def diffuses(self) -> bool:
        """Whether there is diffusion at all."""
        return bool(self._chosen) and bool(np.any(self._matrix))

    def gradient(self, field: Array) -> list[Array]:
        """∂_i of a modal field of degree Q, same modes."""
        slope = derivative_matrix(self.degree)
        return [apply_matrix(slope / h, field, i, self.grid.dim) for i, h in enumerate(self.grid.spacing)]

    def whole(self, state: Array) -> tuple[Array, Array]:
        """b·∇û + cû − ∇·(D∇û) of a scalar field, and the norms of its terms added up, one for each entry."""
        sizes = np.zeros(len(state))
        total: Array | None = None
        for operator in self._operators:
            term = state
            for direction, matrix in operator:
                term = apply_matrix(matrix, term, direction, self.grid.dim)
            sizes += [_norm(entry) for entry in term]
            total = term if total is None else np.add(total, term, out=total)
        return np.zeros_like(state) if total is None else total, sizes

    @cached_property
    def _operators(self) -> list[list[tuple[int, Array]]]:
        """Products of matrices on the modes of single directions, whose sum is the operator of `whole`."""
        slopes = [derivative_matrix(self.degree) / h for h in self.grid.spacing]
        matrix = self._matrix if self.diffuses else np.zeros_like(self._matrix)
        operators = []
        for i, slope in enumerate(slopes):
            own = -matrix[i, i] * slope @ slope
            if self.velocity is not None:
                own = own + self.velocity[i] * slope
            operators.append([(i, own)])
            operators += [[(i, slope * (-2.0 * matrix[i, j])), (j, slopes[j])] for j in range(i)]
        operators.append([(0, self.reaction * np.eye(self.degree + 1))])
        return [factors for factors in operators if all(np.any(entry) for _, entry in factors)]

    def local(self, state: Array) -> tuple[Array, Array, tuple[Array, ...]]:
        """b·∇û + cû (as far as b and c are constant), ∇·(D∇û) and D∇û; the latter of diffusing components."""
        gradient = self.gradient(state)
        flux = tuple(self._diffusive_flux(gradient, i) for i in range(self.grid.dim))
        return self._convection(state, gradient), self.divergence(flux), flux

    def build(self, state: Array, scheme_flux: tuple[Array, ...]) -> LinearTerms:
        """All terms of û ``(k, m, p…, N…)`` and K*σ_h, or of û alone where that is empty."""
        gradient = self.gradient(state)
        linear = self._convection(state, gradient)
        squares = [_squares(state), _squares(linear), np.zeros(len(state)), *map(_squares, gradient)]
        if not self.diffuses:
            return LinearTerms(state, linear, None, (), np.stack(squares))
        own = tuple(self._diffusive_flux(gradient, i) for i in range(self.grid.dim))
        divergence = laplacian = self.divergence(own)
        difference: Array | None = None
        flux: tuple[Array, ...] = ()
        if scheme_flux:
            divergence = self.divergence(scheme_flux)
            difference = divergence - laplacian
            flux = tuple(subtract(f, part, self.grid.dim) for f, part in zip(scheme_flux, own, strict=True))
        squares[2] = _squares(divergence)
        linear[:, self._chosen] -= divergence
        return LinearTerms(state, linear, difference, flux, np.stack(squares))

    def _convection(self, state: Array, gradient: list[Array]) -> Array:
        """b·∇û + cû, as far as b and c are constant."""
        linear = self.reaction * state
        for i, b in enumerate(self.velocity or ()):
            linear += b * gradient[i]
        return linear

    def _diffusive_flux(self, gradient: list[Array], i: int) -> Array:
        """(D∇û)_i of the diffusing components."""
        total = sum(
            self._matrix[i, j] * slope for j, slope in enumerate(gradient) if self._matrix[i, j] != 0.0
        )
        field = total if isinstance(total, np.ndarray) else np.zeros_like(gradient[0])
        return np.asarray(field[:, self._chosen] * self._weights)

    def divergence(self, flux: tuple[Array, ...]) -> Array:
        """Σ ∂_i of flux components in modes of degree Q.

        A component may have one mode more in its own direction; the derivative loses it.
        """
        leading, cells = flux[0].shape[: -2 * self.grid.dim], flux[0].shape[-self.grid.dim :]
        total = np.zeros((*leading, *(self.degree + 1,) * self.grid.dim, *cells))
        for i, (component, h) in enumerate(zip(flux, self.grid.spacing, strict=True)):
            own = component.shape[component.ndim - 2 * self.grid.dim + i]
            slope = derivative_matrix(own - 1)[: self.degree + 1] / h
            total += apply_matrix(slope, component, i, self.grid.dim)
        return total


def subtract(flux: Array, own: Array, dim: int) -> Array:
    """flux − own, where ``own`` may have fewer modes."""
    first = flux.ndim - 2 * dim
    leading = tuple(slice(0, own.shape[first + i]) for i in range(dim))
    result = flux.copy()
    result[(*(slice(None),) * first, *leading)] -= own
    return result


def padded(field: Array, modes: int, dim: int) -> Array:
    """The field with zero modes up to ``modes`` in every direction."""
    first = field.ndim - 2 * dim
    given = field.shape[first : first + dim]
    result = np.zeros((*field.shape[:first], *(modes,) * dim, *field.shape[-dim:]))
    result[(*(slice(None),) * first, *(slice(0, count) for count in given))] = field
    return result


def _norm(field: Array) -> float:
    return float(np.sqrt(np.vdot(field, field)))


def _squares(fields: Array) -> Array:
    """Sum of squares of every entry of the first axis."""
    return np.array([np.vdot(field, field) for field in fields])
