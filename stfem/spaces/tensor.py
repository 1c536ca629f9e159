"""Points, values and integrals of tensor-product fields on a uniform grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stfem.meshes.grid import TensorGrid
from stfem.spaces.legendre import gauss, legendre_values
from stfem.spaces.stencil import apply_everywhere

Array = NDArray[np.float64]


def point_coordinates(grid: TensorGrid, points: Sequence[Array]) -> Array:
    """Coordinates of tensor-product points in every cell.

    Parameters
    ----------
    grid
        Grid of dimension d.
    points
        One array of reference coordinates in [0, 1] per direction, lengths P_i.

    Returns
    -------
    array ``(d, P_1, …, P_d, N_1, …, N_d)`` (kernel layout), read-only
    """
    dim = grid.dim
    shape = (*(len(reference) for reference in points), *grid.cells)
    coordinates = np.empty((dim, *shape))
    for i, reference in enumerate(points):
        line = (reference[:, None] + np.arange(grid.cells[i])[None, :]) * grid.spacing[i]
        target = [1] * (2 * dim)
        target[i], target[dim + i] = line.shape
        coordinates[i] = line.reshape(target)
    coordinates.flags.writeable = False
    return coordinates


def values_at(field: Array, degree: int, points: Array, dim: int) -> Array:
    """Values of a modal field at tensor-product points of every cell.

    The same reference points in each direction.
    """
    return apply_everywhere(legendre_values(degree, points), field, dim)


def norm_l2_sq(field: Array, grid: TensorGrid) -> float:
    """Squared L² norm of a modal field (all components together): |K| Σ coefficients²."""
    return grid.cell_measure * float(np.vdot(field, field))


def refined(grid: TensorGrid, pieces: int) -> TensorGrid:
    """Grid whose cells are the ``pieces``-fold split cells."""
    return TensorGrid(grid.lengths, tuple(count * pieces for count in grid.cells))


def weighted_gauss(points: int, dim: int) -> tuple[Array, Array]:
    """Gauss points on [0, 1] and the tensor-product weights shaped for a kernel array.

    The weights have shape ``(n, …, n, 1, …, 1)``.
    """
    abscissae, weights = gauss(points)
    product = np.ones((1,) * (2 * dim))
    for i in range(dim):
        shape = [1] * (2 * dim)
        shape[i] = points
        product = product * weights.reshape(shape)
    return abscissae, product


def mode_heights(modes: Sequence[int]) -> Array:
    """Supremum of every orthonormal Legendre mode of a unit cell, Π_i √(2k_i + 1): ``(p_1, …, p_d)``."""
    return np.asarray(np.sqrt(2.0 * np.indices(tuple(modes)) + 1.0).prod(axis=0))
