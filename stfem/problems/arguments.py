"""Checks of the numbers that describe a problem."""

from __future__ import annotations

import numpy as np

__all__ = ["LARGEST", "check_dim", "check_eps", "check_number"]

#: Times, their reciprocals and diffusions are squared and multiplied with data: these must stay finite.
LARGEST = 1e100


def check_number(name: str, value: object, kind: str, least: float, most: float = LARGEST) -> None:
    """Raise unless least ≤ value ≤ most.

    Parameters
    ----------
    name, kind
        Name of the argument, and in words what it should be.
    value
        What was given; the truth values are no numbers.
    least, most
        Range, ends included.

    Raises
    ------
    TypeError, ValueError
        For another type, and for a number outside the range or a NaN.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: expected a number, got {value!r}")
    if not least <= value <= most:
        raise ValueError(f"{name}: expected {kind} from {least:g} to {most:g}, got {value}")


def check_dim(dim: object, allowed: tuple[int, ...]) -> None:
    """Raise unless the problem exists in `dim` dimensions."""
    numbers = ", ".join(map(str, allowed))
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)):
        raise TypeError(f"dim: expected a whole number, one of {numbers}, got {dim!r}")
    if dim not in allowed:
        raise ValueError(f"dim: expected one of {numbers}, got {dim}")


def check_eps(eps: object) -> None:
    """Raise unless ε is a diffusion, 0 included."""
    check_number("eps", eps, "a diffusion", 0.0)
