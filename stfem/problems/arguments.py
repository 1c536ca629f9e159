"""Checks of the numbers that describe a problem."""

from __future__ import annotations

import numpy as np

__all__ = ["LARGEST", "check_dim", "checked_eps", "checked_number"]

#: Times, their reciprocals and diffusions are squared and multiplied with data: these must stay finite.
LARGEST = 1e100


def checked_number(name: str, value: object, kind: str, least: float, most: float = LARGEST) -> float:
    """The value as a float, if least ≤ value ≤ most.

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
    number = value.item() if isinstance(value, np.generic) else value
    if not least <= number <= most:
        raise ValueError(f"{name}: expected {kind} from {least:g} to {most:g}, got {value}")
    return float(number)


def check_dim(dim: object, allowed: tuple[int, ...]) -> None:
    """Raise unless the problem exists in `dim` dimensions."""
    numbers = ", ".join(map(str, allowed))
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)):
        raise TypeError(f"dim: expected a whole number, one of {numbers}, got {dim!r}")
    if dim not in allowed:
        raise ValueError(f"dim: expected one of {numbers}, got {dim}")


def checked_eps(eps: object) -> float:
    """ε as a float, if it is a diffusion, 0 included."""
    return checked_number("eps", eps, "a diffusion", 0.0)
