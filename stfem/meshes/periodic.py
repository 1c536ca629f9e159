"""Access to neighbour cells on a periodic tensor grid: the only place that knows how cells wrap round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def neighbour(field: Array, shift: int, axis: int) -> Array:
    """Values of the cell ``shift`` places further along a periodic cell axis."""
    return field if shift % field.shape[axis] == 0 else np.roll(field, -shift, axis=axis)


def move(target: Array, field: Array, shift: int, axis: int, beyond: Array | None = None) -> None:
    """Write the values of the cells ``shift`` = ±1 places further along a cell axis into ``target``.

    Parameters
    ----------
    beyond
        What lies past the end, one cell thick; by default the other end (the axis is the whole period).
    """
    inner, ends = ((slice(1, None), slice(0, 1)), (slice(0, -1), slice(-1, None)))[:: 1 if shift == 1 else -1]
    before = (slice(None),) * (axis % field.ndim)
    target[(*before, ends[0])] = field[(*before, inner[0])]
    target[(*before, ends[1])] = field[(*before, inner[1])] if beyond is None else beyond


def gather_neighbours(field: Array, shifts: Sequence[int], cells: int, modes: int) -> Array:
    """Modes of the neighbours at ``shifts`` along the cell axis, stacked along the mode axis."""
    if tuple(shifts) == (0,):
        return field
    count, width = field.shape[cells], field.shape[modes]
    shape = list(field.shape)
    shape[modes] = width * len(shifts)
    gathered = np.empty(shape)
    for k, shift in enumerate(shifts):
        start = shift % count
        block = _section(gathered, modes, k * width, (k + 1) * width)
        _section(block, cells, 0, count - start)[...] = _section(field, cells, start, count)
        _section(block, cells, count - start, count)[...] = _section(field, cells, 0, start)
    return gathered


def rows_of(field: Array, rows: range, axis: int) -> Array:
    """Cells ``rows`` along a periodic cell axis; they may reach over its ends any number of times."""
    count = field.shape[axis]
    if rows.start >= 0 and rows.stop <= count:
        return _section(field, axis, rows.start, rows.stop)
    return np.asarray(field.take(np.arange(rows.start, rows.stop) % count, axis=axis))


def interleave(field: Array, pieces: int, modes: int, cells: int) -> Array:
    """Turn ``pieces`` row blocks of the mode axis into a cell axis that is ``pieces`` times as long."""
    if pieces == 1:
        return field
    shape = field.shape
    split = field.reshape(*shape[:modes], pieces, shape[modes] // pieces, *shape[modes + 1 :])
    moved = np.moveaxis(split, modes, cells + 1)
    result = list(shape)
    result[modes] //= pieces
    result[cells] *= pieces
    return np.ascontiguousarray(moved).reshape(result)


def _section(field: Array, axis: int, start: int, stop: int) -> Array:
    index = [slice(None)] * field.ndim
    index[axis] = slice(start, stop)
    return field[tuple(index)]
