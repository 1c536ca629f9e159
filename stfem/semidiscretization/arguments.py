"""Checks of what a semidiscretization is asked for."""

from __future__ import annotations

from stfem.arguments import checked_whole

__all__ = ["checked_degree"]


def checked_degree(degree: object, largest: int) -> int:
    """The degree, if it is a whole number from 0 to ``largest``.

    Raises
    ------
    ValueError, TypeError
        Otherwise.
    """
    return checked_whole("degree", degree, 0, largest)
