"""Domains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Torus"]


@dataclass(frozen=True)
class Torus:
    """Flat torus (0, L_1) × … × (0, L_d), periodic in every direction.

    Parameters
    ----------
    lengths : sequence of float, or float (d = 1)
        Side lengths L_i > 0 (unit of length).

    Raises
    ------
    ValueError, TypeError
        For lengths that are not positive, finite numbers.
    """

    lengths: tuple[float, ...]

    def __init__(self, lengths: Sequence[float] | float) -> None:
        given = (lengths,) if isinstance(lengths, (int, float)) else lengths
        try:
            sides = tuple(float(length) for length in given)
        except (TypeError, ValueError):
            raise TypeError(f"lengths: expected numbers, got {lengths!r}") from None
        if not sides or not all(math.isfinite(side) and side > 0.0 for side in sides):
            raise ValueError(f"lengths: expected positive finite numbers, got {lengths!r}")
        object.__setattr__(self, "lengths", sides)

    @property
    def dim(self) -> int:
        """Number of space dimensions d."""
        return len(self.lengths)

    @property
    def measure(self) -> float:
        """Volume of the torus."""
        return math.prod(self.lengths)
