"""Transfer between the cells of the scheme and the (possibly split) cells of a reconstruction."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from stfem.meshes.grid import TensorGrid
from stfem.meshes.periodic import interleave
from stfem.spaces.legendre import gauss, legendre_values
from stfem.spaces.stencil import Array, apply_matrix, cell_axis, mode_axis


class OnGrid(Protocol):
    """A reconstruction, or its û."""

    @property
    def grid(self) -> TensorGrid:
        """Its grid."""


def restriction_matrix(degree: int, fine_degree: int, pieces: int) -> Array:
    """L² projection of one direction from the pieces of a cell to the cell, ``(q+1, pieces·modes)``."""
    points, weights = gauss(fine_degree + 1)
    fine = legendre_values(fine_degree, points) * weights[:, None]
    blocks = [legendre_values(degree, (piece + points) / pieces).T @ fine / pieces for piece in range(pieces)]
    return np.concatenate(blocks, axis=1)


def restrict(field: Array, cells: tuple[int, ...], degree: int) -> Array:
    """L² projection from the pieces of cells, or from the cells themselves, to modes of degree q on them."""
    dim = len(cells)
    for i, count in enumerate(cells):
        modes = mode_axis(field, i, dim)
        fine = field.shape[modes]
        pieces = field.shape[cell_axis(field, i, dim)] // count
        matrix = restriction_matrix(degree, fine - 1, pieces)
        if pieces > 1:
            shape = field.shape
            cell = field.ndim - dim + i
            split = field.reshape(*shape[:cell], count, pieces, *shape[cell + 1 :])
            moved = np.moveaxis(split, cell + 1, modes)
            field = np.ascontiguousarray(moved).reshape(
                *shape[:modes], pieces * fine, *shape[modes + 1 : cell], count, *shape[cell + 1 :]
            )
        field = apply_matrix(matrix, field, i, dim)
    return field


def prolong(field: Array, cells: tuple[int, ...], fine_degree: int, reconstruction: OnGrid) -> Array:
    """The same piecewise polynomial of degree q, in modes of a higher degree on the pieces of each cell."""
    dim = len(cells)
    for i, count in enumerate(cells):
        modes = mode_axis(field, i, dim)
        degree, pieces = field.shape[modes] - 1, reconstruction.grid.cells[i] // count
        points, weights = gauss(fine_degree + 1)
        test = (legendre_values(fine_degree, points) * weights[:, None]).T
        blocks = [test @ legendre_values(degree, (piece + points) / pieces) for piece in range(pieces)]
        field = apply_matrix(np.concatenate(blocks), field, i, dim)
        field = interleave(field, pieces, modes, cell_axis(field, i, dim))
    return field
