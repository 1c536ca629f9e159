"""Solutions of the symmetric systems of the second stage: exact, or by a fixed number of steps (T5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import splu

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array

__all__ = ["Factored", "FixedIterations"]


class FixedIterations:
    """Conjugate gradients with the diagonal as preconditioner, from a start.

    After k steps the error in the energy norm is the smallest that polynomials of degree k allow.

    Parameters
    ----------
    matrix
        Symmetric positive definite.
    fixed
        Unknowns that are given.
    count
        Number of steps k.
    """

    def __init__(self, matrix: Any, fixed: Index, count: int) -> None:
        self._fixed, self._count = fixed, count
        self._free = np.setdiff1d(np.arange(matrix.shape[0]), fixed)
        rows = csr_array(matrix)[self._free]
        self._matrix, self._coupling = csr_array(rows[:, self._free]), rows[:, fixed]
        self._inverse = 1.0 / self._matrix.diagonal()

    def solve(self, load: Array, given: Array, start: Array) -> Array:
        """All unknowns, ``given`` at the fixed ones."""
        result = start.copy()
        result[self._fixed] = given
        left = load[self._free] - self._coupling @ given - self._matrix @ result[self._free]
        unit = float(np.abs(left).max(initial=0.0))
        if unit == 0.0:
            return result
        left = left / unit  # whose squares stay inside of the range of numbers
        x, scaled = np.zeros_like(left), self._inverse * left
        direction, size = scaled, float(left @ scaled)
        for _ in range(self._count):
            if size == 0.0:
                break
            image = self._matrix @ direction
            step = size / float(direction @ image)
            x += step * direction
            left -= step * image
            scaled = self._inverse * left
            before, size = size, float(left @ scaled)
            direction = scaled + (size / before) * direction
        result[self._free] += unit * x
        return result


class Factored:
    """A symmetric positive definite system with some unknowns given."""

    def __init__(self, matrix: Any, fixed: Index) -> None:
        self._fixed = fixed
        self._free = np.setdiff1d(np.arange(matrix.shape[0]), fixed)
        rows = csr_array(matrix)[self._free]
        self._coupling = rows[:, fixed]
        # diagonal pivots, in an order that keeps the symmetry
        self._solve = splu(
            csc_array(rows[:, self._free]),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        ).solve

    def solve(self, load: Array, given: Array) -> Array:
        """All unknowns, ``given`` at the fixed ones."""
        result = np.empty(len(load))
        result[self._fixed] = given
        result[self._free] = self._solve(load[self._free] - self._coupling @ given)
        return result
