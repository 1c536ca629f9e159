"""Uniform tensor-product grid of a box or torus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stfem.checks import checked_numbers, described

__all__ = ["TensorGrid"]


def _whole(count: object, cells: object) -> int:
    """A number of cells; 2.0 is a whole number."""
    if isinstance(count, (float, np.floating)) and float(count).is_integer():
        count = int(count)
    if isinstance(count, (bool, np.bool_)) or not isinstance(count, (int, np.integer)):
        raise TypeError(f"cells: expected whole numbers, got {described(cells)}")
    if count < 1:
        raise ValueError(f"cells: expected at least 1 per direction, got {described(cells)}")
    return int(count)


@dataclass(frozen=True)
class TensorGrid:
    """Uniform grid of N_1 x ... x N_d equal cells on (0, L_1) x ... x (0, L_d).

    Parameters
    ----------
    lengths : sequence of float
        Side lengths L_i > 0 of the domain.
    cells : sequence of int, or int
        Numbers of cells N_i >= 1; one number stands for all directions.

    Raises
    ------
    ValueError, TypeError
        For empty, non-positive, non-finite or mismatched arguments.
    """

    lengths: tuple[float, ...]
    cells: tuple[int, ...]

    def __init__(self, lengths: Sequence[float], cells: int | Sequence[int]) -> None:
        sides = checked_numbers("lengths", lengths, "positive finite numbers", 0.0)
        if not sides or 0.0 in sides:
            raise ValueError(f"lengths: expected positive finite numbers, got {sides}")
        given: Any = cells
        given = given.tolist() if isinstance(given, np.ndarray) else given
        if isinstance(given, (str, bytes, bytearray, dict, set)):
            raise TypeError(f"cells: expected whole numbers, got {described(cells)}")
        counts = tuple(given) if hasattr(type(given), "__len__") else (given,) * len(sides)
        if len(counts) != len(sides):
            raise ValueError(f"cells: expected {len(sides)} numbers (one per direction), got {len(counts)}")
        object.__setattr__(self, "lengths", sides)
        object.__setattr__(self, "cells", tuple(_whole(count, cells) for count in counts))

    @property
    def dim(self) -> int:
        """Number of space dimensions d."""
        return len(self.lengths)

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(self.cells)

    @property
    def spacing(self) -> tuple[float, ...]:
        """Cell sizes h_i = L_i / N_i."""
        return tuple(length / count for length, count in zip(self.lengths, self.cells, strict=True))

    @property
    def measure(self) -> float:
        """Volume of the domain."""
        return math.prod(self.lengths)

    @property
    def cell_measure(self) -> float:
        """Volume of one cell."""
        return math.prod(self.spacing)
