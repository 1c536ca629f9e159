"""A fixed number of steps towards the solution of a symmetric system, where any result will do (T5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array

__all__ = ["FixedIterations"]


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
        x = result[self._free]
        left = load[self._free] - self._coupling @ given - self._matrix @ x
        scaled = self._inverse * left
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
        result[self._free] = x
        return result
