"""Uniform tensor-product grid of a box or torus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["TensorGrid"]


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
        sides = tuple(float(length) for length in lengths)
        if not sides or not all(math.isfinite(side) and side > 0.0 for side in sides):
            raise ValueError(f"lengths: expected positive finite numbers, got {sides}")
        given: Any = cells
        try:
            counts = tuple(given)
        except TypeError:
            counts = (given,) * len(sides)
        if len(counts) != len(sides):
            raise ValueError(f"cells: expected {len(sides)} numbers (one per direction), got {len(counts)}")
        numbers = []
        for count in counts:
            try:
                number = int(count)
            except (TypeError, ValueError, OverflowError):
                raise TypeError(f"cells: expected whole numbers, got {cells!r}") from None
            if number != count or isinstance(count, bool):
                raise TypeError(f"cells: expected whole numbers, got {cells!r}")
            if number < 1:
                raise ValueError(f"cells: expected at least 1 per direction, got {cells!r}")
            numbers.append(number)
        object.__setattr__(self, "lengths", sides)
        object.__setattr__(self, "cells", tuple(numbers))

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
