"""Sparse direct solves: one factorisation for many right-hand sides, and a check of every solution."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stfem.failures import SolverError
from stfem.semidiscretization.unstructured.factors import factorise
from stfem.spaces.block_sparse import BlockPattern, Number, from_vector, to_vector
from stfem.spaces.broken import Array

__all__ = ["Factorisation", "LinearSolver", "Linearisation", "SolveError", "Solves"]

Vector = NDArray[Any]

#: Backward error that is accepted without, and with iterative refinement.
_SMALL, _LARGEST = 1e-15, 1e-10
_REFINEMENTS = 3
#: Right-hand sides below this are scaled before they are solved for.
_TINY = 1e-200
#: The least number to scale by: complex quotients take the reciprocal, which denormal numbers have not.
_WITH_RECIPROCAL = 1e-300
#: Factorisations that are kept: one per eigenvalue of a Runge–Kutta matrix.
_KEPT = 4


class SolveError(SolverError):
    """A linear or nonlinear system was not solved.

    Attributes
    ----------
    residual
        How far off, relative to its size.
    time, step
        Beginning and number of the time step, None outside of the time stepping.
    """

    def __init__(
        self, what: str, residual: float, time: float | None = None, step: int | None = None
    ) -> None:
        where = "" if time is None else f" in step {step}, which begins at time {time:.17g}"
        super().__init__(
            f"{what}: expected a solution, got a relative residual of {residual:.3g}{where}",
            time=time,
            step=step,
            advice="a smaller time step, cells of a smaller aspect ratio or a smaller ratio of the "
            "coefficients may help",
        )
        self.what, self.residual = what, residual


class Solves(Protocol):
    """A matrix that is ready for solves."""

    def solve(self, rhs: Vector, /) -> Vector:
        """x with A x = rhs."""


class LinearSolver(Protocol):
    """Makes a sparse matrix ready for solves, as `Factorisation` and `Gmres(…)` do; can be hashed."""

    def __call__(self, matrix: Any, /) -> Solves:
        """Factors, or an approximation of them."""


class Factorisation:
    """LU factors of a matrix with symmetric pattern.

    By the fastest package that is installed, see `factorise`. Pivots on or near the diagonal may lose digits:
    every solution is checked and refined if need be.

    Parameters
    ----------
    matrix
        Any sparse format, real or complex.
    """

    def __init__(self, matrix: Any) -> None:
        self._matrix = sparse.csr_array(matrix)
        self._size = float(abs(self._matrix).sum(axis=1).max())
        try:
            self._factors = factorise(self._matrix)
        except RuntimeError:
            raise SolveError("factorisation (the matrix is singular)", np.inf) from None

    def solve(self, rhs: Vector) -> Vector:
        """x with A x = rhs.

        Raises
        ------
        SolveError
            For a backward error |rhs − A x| / (|A| |x| + |rhs|) above 1e-10 after refinement (largest norms).
        """
        largest = float(np.abs(rhs).max(initial=0.0))
        if not np.isfinite(largest):  # a run that blew up is reported by the integration
            return np.full_like(rhs, np.nan)
        if 0.0 < largest < _TINY:  # what strong diffusion has damped: residuals would underflow
            unit = max(largest, _WITH_RECIPROCAL)
            return self.solve(rhs / unit) * unit
        x = self._factors.solve(rhs)
        for attempt in range(_REFINEMENTS + 1):
            left = rhs - self._matrix @ x
            scale = self._size * np.abs(x).max() + np.abs(rhs).max()
            residual = float(np.abs(left).max() / scale) if scale > 0.0 else 0.0
            if residual <= _SMALL or attempt == _REFINEMENTS:
                break
            x += self._factors.solve(left)
        if not residual <= _LARGEST:
            raise SolveError("linear system", residual)
        return x


class Linearisation:
    """J = ∂(H + P)/∂U at one state, as |K|·J in block-sparse rows, with its factorisations.

    Attributes
    ----------
    matrix
        |K|·J, unknowns sorted by cells.
    """

    def __init__(self, matrix: sparse.bsr_array, pattern: BlockPattern) -> None:
        self.matrix, self._pattern = matrix, pattern
        self._factors: dict[tuple[complex, LinearSolver], Solves] = {}

    def __getstate__(self) -> dict[str, object]:
        # factors cannot be copied; they are made again when asked for
        return {**self.__dict__, "_factors": {}}

    def apply(self, u: Array) -> Array:
        """J u."""
        return from_vector(self.matrix @ to_vector(u), u.shape) / self._pattern.mesh.cell_measures

    def solve(self, rhs: Number, shift: complex, solver: LinearSolver | None = None) -> Number:
        """x with (I − shift·J) x = rhs ``(m, modes, C)``; the factors of the last shifts are kept.

        They are those of `Factorisation`, unless there is another ``solver``.

        Raises
        ------
        SolveError
            With the residual that was left.
        """
        measures, make = self._pattern.mesh.cell_measures, solver or Factorisation
        key = (shift, make)
        if key not in self._factors:
            if len(self._factors) >= _KEPT:
                self._factors.pop(next(iter(self._factors)))
            self._factors[key] = make(self._pattern.shifted(self.matrix, shift, measures))
        x: Number = self._factors[key].solve(to_vector(rhs * measures))
        return from_vector(x, rhs.shape)
