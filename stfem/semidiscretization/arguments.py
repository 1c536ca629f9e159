"""Checks of what a semidiscretization is asked for."""

from __future__ import annotations

import numpy as np

__all__ = ["checked_degree"]


def checked_degree(degree: object, largest: int) -> int:
    """The degree, if it is a whole number from 0 to ``largest``.

    Raises
    ------
    ValueError, TypeError
        Otherwise.
    """
    if isinstance(degree, bool) or not isinstance(degree, (int, np.integer)):
        raise TypeError(f"degree: expected a whole number, got {degree!r}")
    if not 0 <= degree <= largest:
        raise ValueError(f"degree: expected 0 to {largest}, got {degree}")
    return int(degree)
