"""Sparse LU factors by the best package that is installed: pypardiso, python-mumps, or SuperLU of scipy."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

__all__ = ["Factors", "factorise"]

Vector = NDArray[Any]


class Factors(Protocol):
    """Factors of a matrix; how good the solutions are is for the caller to check."""

    def solve(self, rhs: Vector, /) -> Vector:
        """x with A x = rhs, as far as the pivots allow."""


def factorise(matrix: sparse.csr_array) -> Factors:
    """Factors of a matrix with symmetric pattern.

    Pardiso of the Intel MKL takes real matrices only. The minimum-degree ordering of Aᵀ + A and pivots on the
    diagonal keep the fill-in of SuperLU low (half of the time of its default ordering).

    Parameters
    ----------
    matrix
        Real or complex.

    Raises
    ------
    RuntimeError
        For a singular matrix.
    """
    for name, make in _PACKAGES:
        package = _installed(name)
        factors = None if package is None else make(package, matrix)
        if factors is not None:
            return factors
    return splu(
        sparse.csc_array(matrix),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def _installed(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


class _Pardiso:
    """A solver of its own for every matrix, whose memory it gives back."""

    def __init__(self, package: ModuleType, matrix: sparse.csr_array) -> None:
        self._matrix = sparse.csr_matrix(matrix)
        self._solver = package.PyPardisoSolver()
        self._solver.factorize(self._matrix)

    def solve(self, rhs: Vector, /) -> Vector:
        return np.asarray(self._solver.solve(self._matrix, rhs))

    def __del__(self) -> None:
        self._solver.free_memory(everything=True)


def _pardiso(package: ModuleType, matrix: sparse.csr_array) -> Factors | None:
    return None if np.iscomplexobj(matrix.data) else _Pardiso(package, matrix)


def _mumps(package: ModuleType, matrix: sparse.csr_array) -> Factors | None:
    if not hasattr(package, "Context"):  # another package of the same name
        return None
    context: Any = package.Context()
    context.set_matrix(sparse.coo_matrix(matrix))
    context.factor()
    factors: Factors = context
    return factors


_PACKAGES: tuple[tuple[str, Callable[[ModuleType, sparse.csr_array], Factors | None]], ...] = (
    ("pypardiso", _pardiso),
    ("mumps", _mumps),
)
