"""Constant data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from stfem.checks import checked_number, checked_whole
from stfem.data.base import Array, Data, Projection, Slab, checked_power, checked_time
from stfem.meshes.grid import TensorGrid

__all__ = ["Constant", "as_number"]

_MOST = float(np.finfo(np.float64).max)


def as_number(other: object) -> float | None:
    """The number behind a real scalar or a Constant, None for anything else."""
    if isinstance(other, Constant):
        return other.value
    if other is np.ma.masked:  # would come into its own otherwise, with an error of numpy's
        raise TypeError("number: expected a value, got a masked one")
    if isinstance(other, (int, float, np.integer, np.floating)) and not isinstance(other, bool):
        return checked_number("number", other, "a finite number", -_MOST, _MOST)
    return None


class Constant(Data):
    """f(x, t) = value; everything about it is exact.

    Parameters
    ----------
    value : float
        Finite number.
    dim : int
        Number of space dimensions.
    """

    def __init__(self, value: float, dim: int) -> None:
        self.value = checked_number("Constant", value, "a finite number", -_MOST, _MOST)
        self.dim = checked_whole("dim", dim, 1, 3)

    def __repr__(self) -> str:
        return f"Constant({self.value!r}, dim={self.dim})"

    def __call__(self, x: ArrayLike, t: float = 0.0) -> Array:
        checked_time(t)
        return np.full(self._points(x).shape[1:], self.value)

    def project(self, grid: TensorGrid, degree: int, time: float | Slab) -> Projection:
        self._check(grid, degree, time)
        modes = (degree + 1,) * self.dim
        coefficients = np.zeros(((time.degree + 1, *modes) if isinstance(time, Slab) else modes) + grid.cells)
        coefficients[(0,) * (coefficients.ndim - self.dim)] = self.value
        return Projection(coefficients, 0.0, 0.0)

    def sup(self, start: float, stop: float, lengths: Sequence[float]) -> float:
        self._check_box(start, stop, lengths)
        return abs(self.value)

    @property
    def constant(self) -> bool:
        return True

    @property
    def time_dependent(self) -> bool:
        return False

    @property
    def is_zero(self) -> bool:
        return self.value == 0.0

    def derivative(self, direction: int) -> Constant:
        self._check_direction(direction)
        return Constant(0.0, self.dim)

    def time_derivative(self) -> Constant:
        return Constant(0.0, self.dim)

    def __add__(self, other: object) -> Constant:
        number = as_number(other)
        return NotImplemented if number is None else Constant(self.value + number, self.dim)

    __radd__ = __add__

    def __mul__(self, other: object) -> Constant:
        number = as_number(other)
        return NotImplemented if number is None else Constant(self.value * number, self.dim)

    __rmul__ = __mul__

    def __neg__(self) -> Constant:
        return Constant(-self.value, self.dim)

    def __sub__(self, other: object) -> Constant:
        number = as_number(other)
        return NotImplemented if number is None else Constant(self.value - number, self.dim)

    def __rsub__(self, other: object) -> Constant:
        number = as_number(other)
        return NotImplemented if number is None else Constant(number - self.value, self.dim)

    def __pow__(self, exponent: int) -> Constant:
        return Constant(self.value ** checked_power(exponent), self.dim)
