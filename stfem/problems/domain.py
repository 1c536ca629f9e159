"""Domains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stfem.problems.arguments import checked_number

__all__ = ["Torus"]

#: Side lengths: the volume of three of them, and the square of its inverse, must stay finite.
_SHORTEST, _LONGEST = 1e-60, 1e60


@dataclass(frozen=True)
class Torus:
    """Flat torus (0, L_1) × … × (0, L_d), periodic in every direction.

    Parameters
    ----------
    lengths : sequence of float, or float (d = 1)
        One to three side lengths L_i, from 1e-60 to 1e60 (unit of length).

    Raises
    ------
    ValueError, TypeError
        For lengths that are no numbers or out of range, and for more than three of them.
    """

    lengths: tuple[float, ...]

    def __init__(self, lengths: Sequence[float] | float) -> None:
        given = (lengths,) if isinstance(lengths, (int, float, np.number)) else lengths
        try:
            sides = tuple(checked_number("lengths", side, "positive,", _SHORTEST, _LONGEST) for side in given)
        except TypeError:
            raise TypeError(f"lengths: expected numbers, got {lengths!r}") from None
        if len(sides) not in (1, 2, 3):
            raise ValueError(f"lengths: expected positive numbers, one to three of them, got {len(sides)}")
        object.__setattr__(self, "lengths", sides)

    @property
    def dim(self) -> int:
        """Number of space dimensions d."""
        return len(self.lengths)

    @property
    def measure(self) -> float:
        """Volume of the torus."""
        return math.prod(self.lengths)
