"""Piecewise polynomials as functions of points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stfem.checks import real_array
from stfem.meshes.grid import TensorGrid
from stfem.spaces.legendre import legendre_values
from stfem.spaces.stencil import Array

__all__ = ["Field", "checked_points"]


@dataclass(frozen=True, eq=False, repr=False)
class Field:
    """A piecewise polynomial on a uniform periodic grid, such as u_h(T) or û(T), as a function of points.

    Attributes
    ----------
    grid
        Grid whose cells it is a polynomial on.
    degree
        Degree per direction.
    values
        Orthonormal Legendre modes in kernel layout ``(m, degree+1, …, N…)``.
    """

    grid: TensorGrid
    degree: int
    values: Array

    @property
    def components(self) -> int:
        """Number of components m."""
        return int(self.values.shape[0])

    def __call__(self, x: ArrayLike) -> Array:
        """Values at points x ``(d, …)``; of one component ``x.shape[1:]``, of several ``(m, …)``.

        Points are taken modulo the torus; on a face the value is that of the cell to its right.

        Raises
        ------
        ValueError, TypeError
            For points of another dimension, that are not finite, and for what is no real number.
        """
        dim = self.grid.dim
        points = checked_points(x, dim)
        places = [self._place(i, points[i].ravel()) for i in range(dim)]
        local = self.values[(slice(None),) * (1 + dim) + tuple(cell for cell, _ in places)]
        for _, basis in places:  # (m, modes…, points)
            local = np.einsum("mk...p,pk->m...p", local, basis)
        shape = points.shape[1:]
        return local.reshape(shape) if self.components == 1 else local.reshape(self.components, *shape)

    def cut(self, direction: int, position: float) -> Field:
        """The field on the plane x_direction = position: one of the directions that remain, in their order.

        Raises
        ------
        ValueError
            For a direction that there is not, a position that is not finite, and for a field of one
            dimension.
        """
        dim = self.grid.dim
        if dim == 1:
            raise ValueError("direction: expected a field in two or more dimensions to cut, got one in 1")
        if direction not in range(dim):
            raise ValueError(f"direction: expected one of 0 … {dim - 1}, got {direction}")
        if not np.isfinite(position):
            raise ValueError(f"position: expected a finite number, got {position}")
        (cell,), (basis,) = self._place(direction, np.array([position]))
        layer = np.take(self.values, cell, axis=1 + dim + direction)
        values = np.tensordot(layer, basis, axes=(1 + direction, 0))
        others = [i for i in range(dim) if i != direction]
        grid = TensorGrid([self.grid.lengths[i] for i in others], [self.grid.cells[i] for i in others])
        return Field(grid, self.degree, values)

    def _place(self, direction: int, x: Array) -> tuple[np.ndarray, Array]:
        """Cells that points lie in, and the basis there ``(points, modes)``."""
        scaled = x / self.grid.spacing[direction]
        cell = np.floor(scaled)
        basis = legendre_values(self.values.shape[1 + direction] - 1, scaled - cell)
        return cell.astype(int) % self.grid.cells[direction], basis

    def __repr__(self) -> str:
        return f"Field(cells={self.grid.cells}, degree={self.degree}, components={self.components})"


def checked_points(x: ArrayLike, dim: int) -> Array:
    """Points ``(d, …)`` as floats.

    Raises
    ------
    ValueError, TypeError
        For points of another dimension, that are not finite, and for what is no real number.
    """
    points = real_array(x, "x")
    if points.ndim == 0 or points.shape[0] != dim:
        raise ValueError(f"x: expected shape ({dim}, ...), got {points.shape}")
    if not np.isfinite(points).all():
        raise ValueError(f"x: expected finite numbers, got {points[~np.isfinite(points)][0]}")
    return points
