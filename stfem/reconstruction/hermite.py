"""Hermite interpolation in time through values and derivatives at nodes (T2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stfem.checks import whole_number
from stfem.reconstruction.centred import CentredStencil, remove_jumps
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array

#: Largest degree: round-off in the interpolant, which the bound measures, grows fast beyond.
MAX_DEGREE = 15


@dataclass(frozen=True)
class Hermite(CentredStencil):
    """Polynomial of degree 2k − 1 in time through values and derivatives at k ≥ 2 nodes.

    Both slab ends are among the nodes.

    Parameters
    ----------
    degree
        Odd number from 3 (cubic), 5 (quintic), … to 15. It should be at least the order of the time stepping.

    Raises
    ------
    ValueError
        For an even degree, one below 3 or one beyond 15.
    """

    degree: int

    #: Arrays that one node contributes: value and derivative.
    per_node = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", whole_number("degree", self.degree))
        if self.degree < 3 or self.degree % 2 == 0:
            raise ValueError(f"degree: expected an odd number >= 3, got {self.degree}")
        if self.degree > MAX_DEGREE:
            raise ValueError(f"degree: expected at most {MAX_DEGREE}, got {self.degree}")

    @classmethod
    def for_order(cls, order: int, least: int = 9) -> Hermite:
        """Degree max(least, order) made odd, as far as there are such: the default of the estimators."""
        return cls(min(MAX_DEGREE, max(least, order + 1 - order % 2)))

    @property
    def nodes(self) -> int:
        """Number k of nodes in a full stencil."""
        return (self.degree + 1) // 2

    def modes(self, times: Sequence[float], start: float, stop: float) -> tuple[Array, Array]:
        """Matrices from node data to orthonormal Legendre modes of the interpolant and of its derivative.

        Parameters
        ----------
        times
            k distinct node times; the stencil in use (fewer than `nodes` at the start lower the degree).
        start, stop
            Slab.

        Returns
        -------
        two arrays ``(2k, 2k)``; columns are value and derivative at the first node, then at the second, …
        """
        duration = stop - start
        local = np.asarray(times, dtype=np.longdouble) - np.longdouble(start)
        local /= np.longdouble(stop) - np.longdouble(start)
        degree = 2 * len(local) - 1
        points, _ = gauss(degree + 1)
        basis = _hermite_basis(local, points).astype(np.float64)
        values = np.asarray(np.linalg.solve(legendre_values(degree, points), basis), dtype=np.float64)
        values[:, 1::2] *= duration
        remove_jumps(values, local, self.per_node)
        return values, derivative_matrix(degree) @ values / duration


def _hermite_basis(nodes: NDArray[np.longdouble], points: Array) -> NDArray[np.longdouble]:
    """(1 − 2(s − s_n) l_n'(s_n)) l_n(s)² and (s − s_n) l_n(s)², l_n Lagrange, for one node after the other.

    Products of differences lose no digits however unequal the distances are; they are taken in extended
    precision where the machine has it.
    """
    columns = []
    for n, node in enumerate(nodes):
        others = np.delete(nodes, n)
        lagrange = ((points[:, None] - others) / (node - others)).prod(axis=1)
        slope = (1 / (node - others)).sum()
        columns += [(1 - 2 * (points - node) * slope) * lagrange**2, (points - node) * lagrange**2]
    return np.stack(columns, axis=1)
