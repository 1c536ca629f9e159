"""Sparse linear systems solved by iteration, in place of factors that do not fit into memory."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, gmres, spilu

from stfem.problems.arguments import checked_number
from stfem.semidiscretization.unstructured.solver import SolveError, Solves

__all__ = ["Gmres", "UnfinishedSolveWarning"]

Vector = NDArray[Any]


class UnfinishedSolveWarning(UserWarning):
    """An iteration was stopped before its tolerance; the text tells the residual that was left."""


@dataclass(frozen=True)
class Gmres:
    """GMRES with an incomplete LU factorisation.

    A bound stays one wherever the iteration is stopped: what the solution misses, it misses in the equation
    that the reconstruction is inserted into (T3.1), so that the algebraic error costs sharpness only.

    Parameters
    ----------
    tolerance
        Residual ‖rhs − A x‖/‖rhs‖ at which to stop.
    iterations
        Largest number of iterations.
    restart
        Iterations between restarts: so many vectors are kept.
    fill, drop
        Of the incomplete factors: how many times as large as the matrix they may become, and the relative
        size below which entries are dropped.
    warn
        Whether stopping at ``iterations`` is an `UnfinishedSolveWarning`; otherwise it is a `SolveError`.

    Raises
    ------
    ValueError, TypeError
        For numbers out of range.
    """

    tolerance: float = 1e-11
    iterations: int = 500
    restart: int = 50
    fill: float = 10.0
    drop: float = 1e-4
    warn: bool = False

    def __post_init__(self) -> None:
        checked_number("tolerance", self.tolerance, "a relative residual", 1e-15, 1.0)
        checked_number("iterations", self.iterations, "a number of iterations", 1.0)
        checked_number("restart", self.restart, "a number of iterations", 1.0)
        checked_number("fill", self.fill, "a factor", 1.0)
        checked_number("drop", self.drop, "a relative size", 0.0, 1.0)

    def __call__(self, matrix: Any) -> Solves:
        """The incomplete factors of a matrix.

        Raises
        ------
        SolveError
            For a matrix that is singular.
        """
        return _Preconditioned(matrix, self)


class _Preconditioned:
    """A matrix with its incomplete factors."""

    def __init__(self, matrix: Any, rule: Gmres) -> None:
        self._matrix, self._rule = sparse.csr_array(matrix), rule
        try:
            factors = spilu(sparse.csc_array(self._matrix), drop_tol=rule.drop, fill_factor=rule.fill)
        except RuntimeError:
            raise SolveError("incomplete factorisation (the matrix is singular)", np.inf) from None
        self._factors = LinearOperator(matrix.shape, factors.solve, dtype=matrix.dtype)

    def solve(self, rhs: Vector) -> Vector:
        """x with ‖rhs − A x‖ ≤ tolerance · ‖rhs‖.

        Raises
        ------
        SolveError
            With the residual that was left, unless that is a warning.
        """
        rule, size = self._rule, float(np.linalg.norm(rhs))
        if size == 0.0:
            return np.zeros_like(rhs)
        if not np.isfinite(size):  # a run that blew up is reported by the integration
            return np.full_like(rhs, np.nan)
        restart = min(rule.restart, rule.iterations)
        x, _ = gmres(
            self._matrix,
            rhs,
            rtol=rule.tolerance,
            restart=restart,
            maxiter=-(-rule.iterations // restart),
            M=self._factors,
        )
        residual = float(np.linalg.norm(rhs - self._matrix @ x)) / size
        if not residual <= 2.0 * rule.tolerance:  # measured again: round-off may have been added
            if not rule.warn or not np.isfinite(residual):
                raise SolveError(f"GMRES, {rule.iterations} iterations", residual)
            warnings.warn(
                f"GMRES: expected a relative residual of {rule.tolerance:.3g}, got {residual:.3g} after "
                f"{rule.iterations} iterations",
                UnfinishedSolveWarning,
                stacklevel=2,
            )
        return np.asarray(x)
