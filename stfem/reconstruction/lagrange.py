"""Lagrange interpolation in time through values at nodes (T2), where no derivative is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stfem.checks import whole_number
from stfem.reconstruction.centred import CentredStencil, remove_jumps
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array


@dataclass(frozen=True)
class Lagrange(CentredStencil):
    """Polynomial of degree k − 1 in time through values at k ≥ 2 nodes, both slab ends among them.

    Parameters
    ----------
    degree
        At least 1. It should be at least the order of the time stepping.

    Raises
    ------
    ValueError
        For a degree below 1.
    """

    degree: int

    #: Arrays that one node contributes: the value.
    per_node = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", whole_number("degree", self.degree))
        if self.degree < 1:
            raise ValueError(f"degree: expected at least 1, got {self.degree}")

    @property
    def nodes(self) -> int:
        """Number k of nodes in a full stencil."""
        return self.degree + 1

    def modes(self, times: Sequence[float], start: float, stop: float) -> tuple[Array, Array]:
        """Matrices from node values to orthonormal Legendre modes of the interpolant and of its derivative.

        Parameters
        ----------
        times
            k distinct node times.
        start, stop
            Slab.

        Returns
        -------
        two arrays ``(k, k)``, one column per node
        """
        local = (np.asarray(times) - start) / (stop - start)
        local[np.asarray(times) == stop] = 1.0
        degree = len(local) - 1
        points, _ = gauss(degree + 1)
        columns = []
        for n, node in enumerate(local):
            others = np.delete(local, n)
            columns.append(((points[:, None] - others) / (node - others)).prod(axis=1))
        values = np.linalg.solve(legendre_values(degree, points), np.stack(columns, axis=1))
        remove_jumps(values, local, self.per_node)
        return values, derivative_matrix(degree) @ values / (stop - start)
