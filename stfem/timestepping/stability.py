"""Linear stability of one-step methods, from the rational stability function R = P/Q.

Polynomials are sequences of coefficients, constant first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb, inf

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike, NDArray

Rational = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]

#: Growth per step that still counts as stable: far above rounding, harmless over a million steps.
GROWTH = 1e-9

# Coefficients that vanish in exact arithmetic are below this where published fractions have 25 digits.
_NEGLIGIBLE = Fraction(1, 10**20)


def rational(a: Sequence[Sequence[Fraction]], b: Sequence[Fraction], gamma: Fraction) -> Rational:
    """Return P and Q of R(z) = 1 + z b·(I − zA)^{-1} 1, A lower triangular with diagonal (0, gamma, ...)."""
    stages = len(b)
    series, vector = [Fraction(1)], [Fraction(1)] * stages
    for _ in b:
        series.append(_dot(b, vector))
        vector = [_dot(row, vector) for row in a]
    denominator = [comb(stages - 1, k) * (-gamma) ** k for k in range(stages)] if gamma else [Fraction(1)]
    return _trim(_product(series, denominator)[: stages + 1]), tuple(denominator)


def evaluate(function: Rational, z: ArrayLike) -> NDArray[np.complex128]:
    """Return R(z)."""
    numerator, denominator = (np.array(p, dtype=float) for p in function)
    points = np.asarray(z, dtype=complex)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite where the powers are
        value = polynomial.polyval(points, numerator)
        return np.asarray(value / polynomial.polyval(points, denominator) if denominator.size > 1 else value)


def real_extent(function: Rational) -> float:
    """Return the largest x with |R| ≤ 1 on [−x, 0]; the ends are among the roots of P(−x) ∓ Q(−x)."""
    mirrored = [[coefficient * (-1) ** k for k, coefficient in enumerate(p)] for p in function]
    boundaries = [_sum(mirrored[0], [sign * x for x in mirrored[1]]) for sign in (-1, 1)]
    return _first_exit(boundaries, lambda x: abs(complex(evaluate(function, -x))) <= 1)


def imaginary_extent(function: Rational) -> float:
    """Return the largest y with |R| ≤ 1 on i[−y, y].

    The ends are roots of |P(iy)|² − |Q(iy)|², a polynomial in w = y².  Its low coefficients vanish by the
    order of the method; they are removed exactly, else rounding would decide.
    """
    squares = []
    for p in function:
        even = [coefficient * (-1) ** k for k, coefficient in enumerate(p[0::2])]
        odd = [coefficient * (-1) ** k for k, coefficient in enumerate(p[1::2])]
        squares.append(_sum(_product(even, even), [Fraction(0), *_product(odd, odd)]))
    difference = _sum(squares[0], [-x for x in squares[1]])
    coefficients = np.array(difference, dtype=float)
    return float(_first_exit([difference], lambda w: polynomial.polyval(w, coefficients) <= 0) ** 0.5)


def stable_step(function: Rational, eigenvalues: ArrayLike) -> float:
    """Return the first stability limit of a set of eigenvalues; see ``ButcherTableau.stable_step``."""
    spectrum = np.ravel(np.asarray(eigenvalues, dtype=complex))
    if not np.isfinite(spectrum).all():
        raise ValueError(f"expected finite eigenvalues, got {spectrum[~np.isfinite(spectrum)][0]}")
    spectrum = spectrum[spectrum != 0]
    if spectrum.size == 0:
        return inf
    radius = float(np.abs(spectrum).max())
    return _unit_step(function, (spectrum / radius).tobytes()) / radius


@lru_cache(maxsize=64)
def _unit_step(function: Rational, eigenvalues: bytes) -> float:
    """The same for eigenvalues of modulus 1 at most; schemes ask for few of them, again and again."""
    directions = np.frombuffer(eigenvalues, dtype=complex)

    def stable(scaled_step: float) -> bool:
        return bool((np.abs(evaluate(function, scaled_step * directions)) <= 1 + GROWTH).all())

    low, high = 0.0, 1e-3
    while stable(high):
        if high > 1e12:
            return inf
        # Beyond 1e3 only implicit methods are left, and their R changes no more on a fine scale.
        low, high = high, high * (1.02 if high < 1e3 else 2.0)
    if low == 0.0:
        return 0.0
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def _first_exit(boundaries: Iterable[Sequence[Fraction]], inside: Callable[[float], bool]) -> float:
    """Return where ``inside`` first fails on (0, inf), given polynomials whose roots contain all changes."""
    crossings: list[float] = []
    for boundary in boundaries:
        coefficients = _trim(boundary)
        while coefficients and coefficients[0] == 0:  # the root at the origin
            coefficients = coefficients[1:]
        roots = np.roots(np.array(coefficients[::-1], dtype=float))
        crossings += [float(z.real) for z in roots if z.real > 0 and abs(z.imag) <= 1e-7 * abs(z)]
    crossings.sort()
    for left, right in zip([0.0, *crossings], [*crossings, inf], strict=True):
        if not inside(0.5 * (left + right) if right < inf else 2 * left + 1):
            return left
    return inf


def _trim(p: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Set negligible coefficients to zero and drop the zeros at the end."""
    kept = [coefficient if abs(coefficient) > _NEGLIGIBLE else Fraction(0) for coefficient in p]
    while len(kept) > 1 and kept[-1] == 0:
        kept.pop()
    return tuple(kept)


def _dot(x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
    return sum((s * t for s, t in zip(x, y, strict=True) if s), Fraction(0))


def _sum(p: Sequence[Fraction], q: Sequence[Fraction]) -> list[Fraction]:
    size = max(len(p), len(q))
    return [
        (p[k] if k < len(p) else Fraction(0)) + (q[k] if k < len(q) else Fraction(0)) for k in range(size)
    ]


def _product(p: Sequence[Fraction], q: Sequence[Fraction]) -> list[Fraction]:
    result = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            result[i + j] += x * y
    return result
