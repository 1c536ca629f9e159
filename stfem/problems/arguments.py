"""Checks of the numbers that describe a problem."""

from __future__ import annotations

from stfem.checks import LARGEST, checked_number, described, whole_number

__all__ = ["LARGEST", "check_dim", "checked_eps", "checked_number"]


def check_dim(dim: object, allowed: tuple[int, ...]) -> None:
    """Raise unless the problem exists in `dim` dimensions."""
    if whole_number("dim", dim) not in allowed:
        raise ValueError(f"dim: expected one of {', '.join(map(str, allowed))}, got {described(dim)}")


def checked_eps(eps: object) -> float:
    """ε as a float, if it is a diffusion, 0 included."""
    return checked_number("eps", eps, "a diffusion", 0.0)
