"""Rows of cells in which fields of a slab are built, and cells in a single row."""

from __future__ import annotations

from collections.abc import Iterator

from stfem.meshes.grid import TensorGrid
from stfem.spaces.stencil import Array, refined_rows

#: Values of one kind (û, or a flux) of a slab that are held at once; more rows spare more of the neighbours
#: that a filter reads beyond them.
ROW_VALUES = 1 << 19


def row_blocks(scheme: TensorGrid, fine: TensorGrid, values: int) -> Iterator[tuple[slice, slice]]:
    """Ranges of rows of cells of the scheme, and the same as ranges of all cells of a refined grid.

    Parameters
    ----------
    scheme, fine
        Grid of the scheme, and one whose cells are pieces of its cells.
    values
        Values of one kind on a cell of the refined grid.
    """
    count = scheme.cells[0]
    per_row = fine.size // count
    step = max(1, ROW_VALUES // (values * per_row))
    for start in range(0, count, step):
        rows = slice(start, min(start + step, count))
        yield rows, refined_rows(rows, per_row)


def flat_cells(field: Array, dim: int) -> Array:
    """The field with all its cells on the first cell axis, as layouts of one row."""
    return field.reshape(*field.shape[: field.ndim - dim], -1, *(1,) * (dim - 1))
