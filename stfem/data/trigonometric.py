"""Trigonometric polynomials in space and time, with exact algebra and proved projections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stfem.checks import checked_array, checked_number
from stfem.data import modes
from stfem.data.base import (
    Array,
    Data,
    Projection,
    RowProjection,
    Separated,
    Slab,
    checked_power,
    checked_time,
)
from stfem.data.constant import as_number
from stfem.meshes.grid import TensorGrid

__all__ = ["Trigonometric", "cosine", "sine"]

_EPS = float(np.finfo(np.float64).eps)


def _joined(values: Array) -> Array:
    """Give values equal up to the round-off of a few sums one common representative."""
    magnitude, inverse = np.unique(np.abs(values), return_inverse=True)
    first = np.ones(len(magnitude), dtype=bool)
    first[1:] = np.diff(magnitude) > 32.0 * _EPS * magnitude[1:]
    representative = magnitude[first][np.cumsum(first) - 1]
    result: Array = np.copysign(representative[inverse], values) + 0.0  # no negative zeros
    return result


def _shifted(a: Array, b: Array) -> Array:
    """All sums a_j + b_l along axis 0; what cancels up to round-off becomes an exact zero."""
    a, b = a[:, None], b[None, :]
    total = a + b
    total[np.abs(total) <= 16.0 * _EPS * np.maximum(np.abs(a), np.abs(b))] = 0.0
    return total.reshape(-1, a.shape[2])


class Trigonometric(Data):
    """Real trigonometric polynomial f(x, t) = sum_j Re( c_j exp(i(k_j . x + w_j t)) ).

    Terms with equal or opposite (k, w) are merged, so at most one of each conjugate pair is kept;
    frequencies count as equal when they differ by no more than the round-off of sums of frequencies.
    Sums, products, powers and derivatives are again Trigonometric, exact up to round-off.

    Parameters
    ----------
    wavevectors : array_like, shape (n, dim)
        Wave vectors k_j (radians per unit length), any real numbers.
    frequencies : array_like, shape (n,)
        Angular time frequencies w_j.
    amplitudes : array_like, shape (n,)
        Complex amplitudes c_j.

    Attributes
    ----------
    wavevectors, frequencies, amplitudes : read-only arrays of the merged terms, sorted by (k, w)
    """

    def __init__(self, wavevectors: ArrayLike, frequencies: ArrayLike, amplitudes: ArrayLike) -> None:
        k, w = checked_array("wavevectors", wavevectors), checked_array("frequencies", frequencies)
        c = checked_array("amplitudes", amplitudes, complex_too=True)
        if k.ndim != 2 or k.shape[1] < 1 or w.shape != (len(k),) or c.shape != (len(k),):
            raise ValueError(
                f"Trigonometric: expected shapes (n, dim), (n,), (n,), got {k.shape}, {w.shape}, {c.shape}"
            )
        self.dim = k.shape[1]
        rows = np.column_stack([*(_joined(column) for column in k.T), _joined(w)])
        leading = np.take_along_axis(rows, np.argmax(rows != 0.0, axis=1)[:, None], axis=1)[:, 0]
        rows = np.where(leading[:, None] < 0.0, -rows, rows) + 0.0
        c = np.where(leading < 0.0, np.conj(c), np.where(leading == 0.0, c.real, c))
        rows, inverse = np.unique(rows, axis=0, return_inverse=True)
        inverse = inverse.ravel()
        size = np.bincount(inverse, np.abs(c), len(rows))
        c = np.bincount(inverse, c.real, len(rows)) + 1j * np.bincount(inverse, c.imag, len(rows))
        kept = np.abs(c) > 8.0 * _EPS * size  # drops zeros and what cancelled up to round-off
        self.wavevectors = rows[kept, : self.dim]
        self.frequencies = rows[kept, self.dim]
        self.amplitudes: NDArray[np.complex128] = c[kept]
        for array in (self.wavevectors, self.frequencies, self.amplitudes):
            array.flags.writeable = False
        first = np.ones(len(self.amplitudes), dtype=bool)  # terms with one wave vector are neighbours
        first[1:] = np.any(np.diff(self.wavevectors, axis=0) != 0.0, axis=1)
        self._starts = np.flatnonzero(first)
        self._owner = np.cumsum(first) - 1

    @classmethod
    def number(cls, value: float, dim: int) -> Trigonometric:
        """The constant `value` as a trigonometric polynomial."""
        return cls(np.zeros((1, dim)), np.zeros(1), np.array([value]))

    def __repr__(self) -> str:
        return f"Trigonometric({len(self.amplitudes)} terms, dim={self.dim})"

    def __call__(self, x: ArrayLike, t: float = 0.0) -> Array:
        points, t = self._points(x), checked_time(t)
        flat = points.reshape(self.dim, -1)
        k = self.wavevectors[self._starts]
        c = self._grouped((self.amplitudes * np.exp(1j * self.frequencies * t))[:, None])[:, 0]
        return modes.evaluate(c, k, flat).reshape(points.shape[1:])

    def _grouped(self, rows: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Sum the rows of terms that share a wave vector."""
        if len(rows) == 0:
            return rows
        result: NDArray[np.complex128] = np.add.reduceat(rows, self._starts, axis=0)
        return result

    def project(self, grid: TensorGrid, degree: int, time: float | Slab) -> Projection:
        """Project in closed form, mode by mode (spherical Bessel functions), with proved remainders."""
        part = self.project_rows(grid, degree, time)
        return Projection(part.on(slice(0, grid.cells[0])), part.remainder_l2, part.remainder_sup)

    def project_rows(self, grid: TensorGrid, degree: int, time: float | Slab) -> RowProjection:
        """The same; what is held does not depend on the number of cells in direction 0."""
        self._check(grid, degree, time)
        k = self.wavevectors[self._starts]
        if isinstance(time, Slab):
            phased = self.amplitudes * np.exp(1j * self.frequencies * time.midpoint)
            in_time = modes.factors(self.frequencies, time.duration, time.degree)
            rows = self._grouped(phased[:, None] * in_time)
            size, owner = np.abs(self.amplitudes), self._owner
            tails = modes.tails(self.frequencies, time.duration, time.degree)
            measure = grid.measure * time.duration
        else:
            rows = self._grouped((self.amplitudes * np.exp(1j * self.frequencies * time))[:, None])
            size, owner = np.abs(rows[:, 0]), np.arange(len(k))
            tails = modes.Tails.none(len(k))
            measure = grid.measure
        coefficients = modes.expansion(rows, k, grid, degree)
        mean_square_root, sup = modes.remainders(size, owner, tails, k, grid, degree)

        def on(cells: slice) -> Array:
            found = coefficients(cells)
            return found if isinstance(time, Slab) else np.asarray(found[0])

        return RowProjection(on, mean_square_root * measure**0.5, sup)

    def sup(self, start: float, stop: float, lengths: Sequence[float]) -> float:
        """sum_j |c_j|, for all x and t."""
        self._check_box(start, stop, lengths)
        return float(np.sum(np.abs(self.amplitudes))) * (1.0 + len(self.amplitudes) * _EPS)

    @property
    def constant(self) -> bool:
        return not (self.wavevectors.any() or self.frequencies.any())

    @property
    def time_dependent(self) -> bool:
        return bool(self.frequencies.any())

    @property
    def is_zero(self) -> bool:
        return len(self.amplitudes) == 0

    def derivative(self, direction: int) -> Trigonometric:
        self._check_direction(direction)
        factor = 1j * self.wavevectors[:, direction]
        return Trigonometric(self.wavevectors, self.frequencies, factor * self.amplitudes)

    def time_derivative(self) -> Trigonometric:
        return Trigonometric(self.wavevectors, self.frequencies, 1j * self.frequencies * self.amplitudes)

    def separated(self) -> Separated:
        # Re(c(t) exp(ik·x)) = Re c(t) cos(k·x) + Im c(t) cos(k·x + π/2)
        waves = [
            Trigonometric(k[None], np.zeros(1), np.array([phase]))
            for phase in (1.0, 1.0j)
            for k in self.wavevectors[self._starts]
        ]

        def factors(t: float) -> Array:
            c = self._grouped((self.amplitudes * np.exp(1j * self.frequencies * t))[:, None])[:, 0]
            return np.concatenate([c.real, c.imag])

        return Separated(tuple(waves), factors)

    def _operand(self, other: object) -> Trigonometric | None:
        if isinstance(other, Trigonometric):
            if other.dim != self.dim:
                raise ValueError(f"Trigonometric: expected dimension {self.dim}, got {other.dim}")
            return other
        number = as_number(other)
        return None if number is None else Trigonometric.number(number, self.dim)

    def __add__(self, other: object) -> Trigonometric:
        term = self._operand(other)
        if term is None:
            return NotImplemented
        return Trigonometric(
            np.concatenate([self.wavevectors, term.wavevectors]),
            np.concatenate([self.frequencies, term.frequencies]),
            np.concatenate([self.amplitudes, term.amplitudes]),
        )

    __radd__ = __add__

    def __neg__(self) -> Trigonometric:
        return Trigonometric(self.wavevectors, self.frequencies, -self.amplitudes)

    def __sub__(self, other: object) -> Trigonometric:
        term = self._operand(other)
        return NotImplemented if term is None else self + (-term)

    def __rsub__(self, other: object) -> Trigonometric:
        return -self + other

    def __mul__(self, other: object) -> Trigonometric:
        number = as_number(other)
        if number is not None:
            return Trigonometric(self.wavevectors, self.frequencies, number * self.amplitudes)
        factor = self._operand(other)
        if factor is None:
            return NotImplemented
        # Re(a e^{iA}) Re(b e^{iB}) = Re(ab e^{i(A+B)})/2 + Re(a conj(b) e^{i(A-B)})/2
        a, b = 0.5 * self.amplitudes[:, None], factor.amplitudes[None, :]
        k, w = factor.wavevectors, factor.frequencies[:, None]
        own = self.frequencies[:, None]
        return Trigonometric(
            np.concatenate([_shifted(self.wavevectors, k), _shifted(self.wavevectors, -k)]),
            np.concatenate([_shifted(own, w), _shifted(own, -w)])[:, 0],
            np.concatenate([(a * b).ravel(), (a * np.conj(b)).ravel()]),
        )

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Trigonometric:
        result = Trigonometric.number(1.0, self.dim)
        for _ in range(checked_power(exponent)):
            result = result * self
        return result


def cosine(
    wavevector: Sequence[float] | float, frequency: float = 0.0, phase: float = 0.0, amplitude: float = 1.0
) -> Trigonometric:
    """The wave amplitude * cos(wavevector . x + frequency * t + phase)."""
    return _wave(wavevector, frequency, phase, amplitude, 1.0)


def sine(
    wavevector: Sequence[float] | float, frequency: float = 0.0, phase: float = 0.0, amplitude: float = 1.0
) -> Trigonometric:
    """The wave amplitude * sin(wavevector . x + frequency * t + phase)."""
    return _wave(wavevector, frequency, phase, amplitude, -1.0j)


def _wave(
    wavevector: object, frequency: object, phase: object, amplitude: object, factor: complex
) -> Trigonometric:
    """Re(factor · amplitude exp(i(k·x + ωt + phase)))."""
    k = np.atleast_1d(checked_array("wavevector", wavevector))
    size = checked_number("amplitude", amplitude, "a finite number", -1e300, 1e300)
    turn = factor * np.exp(1j * checked_number("phase", phase, "a finite number"))
    omega = checked_number("frequency", frequency, "a finite number")
    return Trigonometric(k[None], np.array([omega]), np.array([size * turn]))
