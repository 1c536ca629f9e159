"""Domains."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Torus:
    """Flat torus [0, L_1) × … × [0, L_d): periodic in every direction.

    Parameters
    ----------
    lengths
        Side lengths L_i > 0, one to three of them.

    Raises
    ------
    ValueError
        For a length that is not positive and finite, or a wrong number of them.
    """

    lengths: tuple[float, ...]

    def __post_init__(self) -> None:
        lengths = tuple(float(length) for length in self.lengths)
        if not 1 <= len(lengths) <= 3 or not all(math.isfinite(length) and length > 0.0 for length in lengths):
            raise ValueError(f"lengths: expected one to three positive finite numbers, got {self.lengths}")
        object.__setattr__(self, "lengths", lengths)

    @property
    def dim(self) -> int:
        """Space dimension d."""
        return len(self.lengths)

    @property
    def measure(self) -> float:
        """|Ω|."""
        return math.prod(self.lengths)
