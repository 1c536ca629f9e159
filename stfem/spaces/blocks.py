"""Blocks of cells that fit a processor's cache, with their workspaces: rows of the first cell axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, Generic, TypeVar

import numpy as np

from stfem.spaces.stencil import Array

#: Bytes that the work arrays of one block may take: a part of the last-level cache that leaves each call of
#: numpy enough to do (smaller blocks pay more for calls than they gain).
CACHE = 5 << 20

W = TypeVar("W")


@dataclass(frozen=True)
class Block:
    """Rows ``start ≤ row < stop`` of the first cell axis; ``below`` and ``above`` are the rows next to them.

    They wrap round; `whole` says that the block is the grid and so its own neighbour.
    """

    start: int
    stop: int
    below: int
    above: int
    whole: bool = False

    def of(self, field: Array, dim: int) -> Array:
        """View of the block in a field ``(…, N_1, …, N_d)``."""
        return rows(field, self.start, self.stop, dim)


def rows(field: Array, start: int, stop: int | None, dim: int) -> Array:
    """View of some rows of the first cell axis of a field ``(…, N_1, …, N_d)``."""
    index: tuple[Any, ...] = (..., slice(start, stop), *(slice(None),) * (dim - 1))
    view: Array = field[index]
    return view


def result_array(shape: tuple[int, ...], out: Array | None) -> Array:
    """``out``, or a new array where there is none.

    Raises
    ------
    ValueError
        For an array of another shape, or one that is not contiguous (its blocks could not be written).
    """
    if out is None:
        return np.empty(shape)
    if out.shape != shape or not out.flags.c_contiguous:
        kind = "contiguous" if out.flags.c_contiguous else "strided"
        raise ValueError(
            f"out: expected a contiguous array of shape {shape}, got a {kind} one of {out.shape}"
        )
    return out


def blocks(cells: Sequence[int], values: int) -> list[Block]:
    """Split a grid into blocks of nearly equal size whose work arrays fit the cache.

    Parameters
    ----------
    cells
        Numbers of cells N_1, …, N_d.
    values
        Numbers per cell in the work arrays.
    """
    total = cells[0]
    fitting = max(1, CACHE // (8 * values * prod(cells[1:])))
    least = -(-total // fitting)
    # blocks of one size need one workspace
    count = next((k for k in range(least, 2 * least + 1) if total % k == 0), least)
    bounds = [total * k // count for k in range(count + 1)]
    return [
        Block(start, stop, (start - 1) % total, stop % total, count == 1) for start, stop in pairwise(bounds)
    ]


def slices(count: int, values: int) -> list[slice]:
    """Split ``count`` cells or facets in a row into parts whose work arrays fit the cache.

    Parameters
    ----------
    count
        How many there are.
    values
        Numbers of each in the work arrays.
    """
    parts = max(1, min(count, -(-8 * count * values // CACHE)))
    bounds = [count * k // parts for k in range(parts + 1)]
    return [slice(*ends) for ends in pairwise(bounds)]


class Workspaces(Generic[W]):
    """Work arrays by number of components and of cells, made when first asked for and kept."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, tuple[int, ...]], W] = {}

    def __getstate__(self) -> dict[str, object]:
        # a copy of a workspace would hold arrays where there were views of one another
        return {"_kept": {}}

    def get(self, components: int, cells: tuple[int, ...], build: Callable[[int, tuple[int, ...]], W]) -> W:
        """The workspace for blocks of this size."""
        key = (components, cells)
        if key not in self._kept:
            self._kept[key] = build(components, cells)
        return self._kept[key]
