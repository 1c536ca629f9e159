"""Interior-penalty diffusion with constant matrix D on the torus.

Operator, Raviart–Thomas flux, direct solver.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stfem.equations import is_diagonal
from stfem.fluxes import InteriorPenalty
from stfem.meshes.grid import TensorGrid
from stfem.semidiscretization.fourier import BlockSolver, SeparableSolver
from stfem.spaces.compact import CompactOperator
from stfem.spaces.interval import (
    averaged_flux,
    broken_derivative,
    central_derivative,
    interior_penalty,
    moment_flux,
    scheme_flux,
)
from stfem.spaces.stencil import Array, Stencil, Term, apply_term


class Diffusion:
    """P = ∇·(D∇·) discretised by the symmetric interior penalty method (SIPG), T1.

    Every operator is a sum of *terms*; a term is a product of one-dimensional stencils ``((direction,
    stencil), …)``.

    Parameters
    ----------
    grid, degree
        Grid and polynomial degree q of the discontinuous space Q_q.
    matrix
        Symmetric positive semi-definite matrix D = εA, shape (d, d).
    penalty
        Rule for the penalty coefficient.
    """

    def __init__(self, grid: TensorGrid, degree: int, matrix: Array, penalty: InteriorPenalty) -> None:
        self.grid, self.degree, self.matrix = grid, degree, matrix
        self.diagonal = is_diagonal(matrix)
        self.penalties = [
            penalty.coefficient(degree, h, grid.dim, self.diagonal) * h if matrix[i, i] > 0.0 else 0.0
            for i, h in enumerate(grid.spacing)
        ]
        self.terms = self._operator_terms()

    def _operator_terms(self) -> list[Term]:
        terms: list[Term] = []
        derivative, central = broken_derivative(self.degree), central_derivative(self.degree)
        jumps = _sum(derivative, central.scaled(-1.0))  # (Ju, v) = Σ [u]{v}
        adjoint = Stencil((0,), derivative.matrices.transpose(0, 2, 1))
        for i, h in enumerate(self.grid.spacing):
            if self.matrix[i, i] > 0.0:
                scale = self.matrix[i, i] / h**2
                terms.append(((i, interior_penalty(self.degree, self.penalties[i]).scaled(scale)),))
        for i, j in self._cross_pairs():
            scale = self.matrix[i, j] / (self.grid.spacing[i] * self.grid.spacing[j])
            terms.append(((i, central.scaled(scale)), (j, derivative)))  # {∂_j u}[v] on faces normal to i
            terms.append(((i, adjoint.scaled(scale)), (j, jumps)))  # its transpose
        return terms

    def _cross_pairs(self) -> list[tuple[int, int]]:
        dim = self.grid.dim
        return [(i, j) for i in range(dim) for j in range(dim) if i != j and self.matrix[i, j] != 0.0]

    def flux_terms(self, direction: int) -> list[Term]:
        """Scheme flux of T2.1 in one direction, as terms: D∇u_h in RT, degree q+1 in that direction."""
        i, h = direction, self.grid.spacing
        terms: list[Term] = []
        if self.matrix[i, i] > 0.0:
            terms.append(((i, scheme_flux(self.degree, self.penalties[i]).scaled(self.matrix[i, i] / h[i])),))
        for row, j in self._cross_pairs():
            if row == i:
                scale = self.matrix[i, j] / h[j]
                terms.append(
                    ((i, averaged_flux(self.degree).scaled(scale)), (j, broken_derivative(self.degree)))
                )
                terms.append(
                    ((i, moment_flux(self.degree).scaled(scale)), (j, central_derivative(self.degree)))
                )
        return terms

    @cached_property
    def inverse(self) -> Array:
        """D⁺, the inverse on range(D); entry by entry for a diagonal D, whatever the range of their sizes."""
        if self.diagonal:
            entries = np.diag(self.matrix)
            with np.errstate(over="ignore"):  # the square of a flux beside a denormal entry vanishes
                inverse = np.divide(1.0, entries, out=np.zeros_like(entries), where=entries > 0.0)
            return np.diag(np.minimum(inverse, np.finfo(np.float64).max))
        eigenvalues, vectors = np.linalg.eigh(self.matrix)
        kept = self._in_range(eigenvalues)
        return np.asarray((vectors[:, kept] / eigenvalues[kept]) @ vectors[:, kept].T)

    @cached_property
    def range_projection(self) -> Array | None:
        """Π_D = D D⁺ where D is degenerate and not diagonal (T3.4).

        None where fluxes lie in range(D) anyway.
        """
        if self.diagonal:
            return None
        eigenvalues, vectors = np.linalg.eigh(self.matrix)
        kept = self._in_range(eigenvalues)
        return None if kept.all() else np.asarray(vectors[:, kept] @ vectors[:, kept].T)

    @staticmethod
    def _in_range(eigenvalues: Array) -> NDArray[np.bool_]:
        """Eigenvalues that differ from zero by more than the round-off of the matrix."""
        return np.asarray(eigenvalues > 1e-14 * eigenvalues.max())

    def apply(self, field: Array, out: Array | None = None, add: bool = False) -> Array:
        """P applied to a modal field ``(…, p…, N…)``, in ``out`` (added to what is there) if given."""
        result = self._direct.apply(field, out, add)
        for term in self.terms:
            if len(term) > 1:
                result += apply_term(term, field, self.grid.dim)
        return result

    @cached_property
    def _direct(self) -> CompactOperator:
        """The terms that act in one direction only."""
        return CompactOperator([term[0] for term in self.terms if len(term) == 1], self.degree, self.grid.dim)

    @cached_property
    def _solver(self) -> SeparableSolver | BlockSolver:
        if not self.diagonal:
            return BlockSolver(self.terms, self.degree, self.grid.cells)
        operators: list[Stencil | None] = [None] * self.grid.dim
        for ((direction, stencil),) in self.terms:
            operators[direction] = stencil
        return SeparableSolver(operators, self.grid.cells)

    @property
    def spectral_radius(self) -> float:
        """Largest eigenvalue of −P, in 1/time."""
        return self._solver.spectral_radius if self.terms else 0.0

    def solve(self, rhs: Array, shift: float, out: Array | None = None) -> Array:
        """x with (I − shift·P) x = rhs for one component ``(p…, N…)``, in ``out`` if given; direct."""
        if self.terms:
            return self._solver.solve(rhs, shift, out)
        x = np.empty_like(rhs) if out is None else out
        x[...] = rhs
        return x


def _sum(first: Stencil, second: Stencil) -> Stencil:
    """Sum of two stencils."""
    shifts = tuple(sorted({*first.shifts, *second.shifts}))
    matrices = np.zeros((len(shifts), *first.matrices.shape[1:]))
    for stencil in (first, second):
        for shift, matrix in zip(stencil.shifts, stencil.matrices, strict=True):
            matrices[shifts.index(shift)] += matrix
    return Stencil(shifts, matrices)
