"""Polynomials in space and time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from stfem.checks import checked_array, checked_whole
from stfem.data.base import Array, Data, Projection, Separated, Slab, checked_power, checked_time
from stfem.data.bernstein import polynomial_range
from stfem.data.constant import as_number
from stfem.meshes.grid import TensorGrid
from stfem.spaces.legendre import gauss, legendre_values

__all__ = ["Polynomial"]

_SLACK = 1.0 + 1e-12


def _monomial_modes(highest: int, degree: int, start: float, size: float, cells: int) -> Array:
    """Legendre modes of x^a on cells of one direction, shape (highest + 1, cells, degree + 1); exact rule."""
    points, weights = gauss((highest + degree) // 2 + 1)
    x = start + size * (np.arange(cells)[:, None] + points)
    powers = x ** np.arange(highest + 1)[:, None, None]
    modes: Array = powers @ (weights[:, None] * legendre_values(degree, points))
    return modes


class Polynomial(Data):
    """f(x, t) = sum_a coefficients[a_1, .., a_d, a_t] x_1^a_1 ... x_d^a_d t^a_t.

    On a torus it is the periodic continuation of the polynomial on (0, L_1) x ... x (0, L_d).

    Parameters
    ----------
    coefficients : array_like
        One axis per space direction and a last axis for time.
    dim : int, optional
        Number of space dimensions; an array with just `dim` axes does not depend on time.
    """

    def __init__(self, coefficients: ArrayLike, dim: int | None = None) -> None:
        array = checked_array("Polynomial", coefficients)
        if dim is not None:
            dim = checked_whole("dim", dim, 1, 3)
        if dim is not None and array.ndim == dim:
            array = array[..., None]
        if array.ndim < 2 or array.size == 0 or (dim is not None and array.ndim != dim + 1):
            axes = "dim + 1" if dim is None else f"{dim} or {dim + 1}"
            raise ValueError(
                f"Polynomial: expected non-empty coefficients with {axes} axes, got {array.shape}"
            )
        for axis in range(array.ndim):  # drop vanishing highest powers
            used = np.flatnonzero(np.any(array != 0.0, axis=tuple(a for a in range(array.ndim) if a != axis)))
            array = np.take(array, np.arange(max(used, default=0) + 1), axis=axis)
        array.flags.writeable = False
        self.coefficients = array
        self.dim = array.ndim - 1

    def __repr__(self) -> str:
        return f"Polynomial(degrees={tuple(n - 1 for n in self.coefficients.shape)}, dim={self.dim})"

    def __call__(self, x: ArrayLike, t: float = 0.0) -> Array:
        points = self._points(x)
        in_time = checked_time(t) ** np.arange(self.coefficients.shape[-1])
        values = self.coefficients @ in_time
        values = values.reshape(values.shape + (1,) * (points.ndim - 1))
        for coordinate in points:  # Horner's rule in one direction after the other
            powers, values = values, values[-1]
            for lower in powers[-2::-1]:
                values = values * coordinate + lower
        return np.array(np.broadcast_to(values, points.shape[1:]))

    def project(self, grid: TensorGrid, degree: int, time: float | Slab) -> Projection:
        """Exact modes of all degrees; the remainder is measured on those dropped (|phi_j| <= sqrt(2j+1))."""
        self._check(grid, degree, time)
        *highest, highest_time = (count - 1 for count in self.coefficients.shape)
        modes = self.coefficients
        for top, h, n in zip(highest, grid.spacing, grid.cells, strict=True):
            modes = np.tensordot(modes, _monomial_modes(top, max(degree, top), 0.0, h, n), (0, 0))
        if isinstance(time, Slab):
            kept_time, measure = time.degree + 1, grid.cell_measure * time.duration
            in_time = _monomial_modes(
                highest_time, max(time.degree, highest_time), time.start, time.duration, 1
            )[:, 0]
        else:
            kept_time, measure = 1, grid.cell_measure
            in_time = float(time) ** np.arange(highest_time + 1)[:, None]
        modes = np.tensordot(in_time, modes, (0, 0))  # axes: time, then (cell, mode) of every direction
        modes = modes.transpose(0, *range(2, 2 * self.dim + 1, 2), *range(1, 2 * self.dim + 1, 2))
        kept = (slice(kept_time), *(slice(degree + 1),) * self.dim)
        coefficients = np.ascontiguousarray(modes[kept])
        dropped = np.abs(modes)
        dropped[kept] = 0.0
        l2 = (measure * float(np.sum(dropped**2))) ** 0.5
        for axis in range(self.dim + 1):
            bounds = np.sqrt(2.0 * np.arange(modes.shape[axis]) + 1.0)
            dropped *= bounds.reshape((-1,) + (1,) * (modes.ndim - axis - 1))
        sup = float(dropped.sum(axis=tuple(range(self.dim + 1))).max())
        if not isinstance(time, Slab):
            coefficients = coefficients[0]
        return Projection(coefficients, l2 * _SLACK, sup * _SLACK)

    def sup(self, start: float, stop: float, lengths: Sequence[float]) -> float:
        """Bound of |f| by Bernstein coefficients on the whole domain (T4.6)."""
        start, stop = self._check_box(start, stop, lengths)
        box = TensorGrid(lengths, 1)
        degree = max(self.coefficients.shape[:-1]) - 1
        if start < stop:
            modes = self.project(box, degree, Slab(start, stop, self.coefficients.shape[-1] - 1)).coefficients
        else:
            modes = self.project(box, degree, start).coefficients
        lower, upper = polynomial_range(modes, modes.ndim - self.dim)
        return max(-lower, upper)

    @property
    def constant(self) -> bool:
        return bool(self.coefficients.size == 1)

    @property
    def time_dependent(self) -> bool:
        return bool(self.coefficients.shape[-1] > 1)

    @property
    def is_zero(self) -> bool:
        return not self.coefficients.any()

    def _differentiated(self, axis: int) -> Polynomial:
        return Polynomial(np.polynomial.polynomial.polyder(self.coefficients, axis=axis))

    def derivative(self, direction: int) -> Polynomial:
        self._check_direction(direction)
        return self._differentiated(direction)

    def time_derivative(self) -> Polynomial:
        return self._differentiated(self.dim)

    def separated(self) -> Separated:
        powers = np.arange(self.coefficients.shape[-1])
        fields = tuple(Polynomial(self.coefficients[..., power], self.dim) for power in powers)
        return Separated(fields, lambda t: np.asarray(float(t) ** powers))

    def _operand(self, other: object) -> Polynomial | None:
        if isinstance(other, Polynomial):
            if other.dim != self.dim:
                raise ValueError(f"Polynomial: expected dimension {self.dim}, got {other.dim}")
            return other
        number = as_number(other)
        return None if number is None else Polynomial(np.full((1,) * (self.dim + 1), number))

    def __add__(self, other: object) -> Polynomial:
        term = self._operand(other)
        if term is None:
            return NotImplemented
        total = np.zeros(np.maximum(self.coefficients.shape, term.coefficients.shape))
        for addend in (self.coefficients, term.coefficients):
            total[tuple(slice(count) for count in addend.shape)] += addend
        return Polynomial(total)

    __radd__ = __add__

    def __neg__(self) -> Polynomial:
        return Polynomial(-self.coefficients)

    def __sub__(self, other: object) -> Polynomial:
        term = self._operand(other)
        return NotImplemented if term is None else self + (-term)

    def __rsub__(self, other: object) -> Polynomial:
        return -self + other

    def __mul__(self, other: object) -> Polynomial:
        factor = self._operand(other)
        if factor is None:
            return NotImplemented
        a, b = self.coefficients, factor.coefficients
        total = np.zeros(np.add(a.shape, b.shape) - 1)
        for index in np.ndindex(*b.shape):
            total[tuple(slice(i, i + count) for i, count in zip(index, a.shape, strict=True))] += b[index] * a
        return Polynomial(total)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Polynomial:
        result = Polynomial(np.ones((1,) * (self.dim + 1)))
        for _ in range(checked_power(exponent)):
            result = result * self
        return result
