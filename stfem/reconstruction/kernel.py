"""SIAC kernel K(x) = Σ_γ c_γ ψ^{(ℓ)}(x − γ), γ = −q … q, in units of the cell size (T2).

Exact coefficients.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray

from stfem.checks import checked_whole, whole_number
from stfem.spaces.stencil import Stencil

ObjectArray = NDArray[np.object_]

#: Entries of the filter are exact fractions; their size, and the seconds they take, grow with the order.
MAX_ORDER = 20


def bspline_moments(order: int, highest: int) -> list[Fraction]:
    """Moments ∫ x^k ψ^{(ℓ)}(x) dx, k = 0 … highest.

    Those of a sum of ℓ independent uniform numbers on (−½, ½).
    """
    single = [Fraction(1, (k + 1) * 2**k) if k % 2 == 0 else Fraction(0) for k in range(highest + 1)]
    moments = [Fraction(1)] + [Fraction(0)] * highest
    for _ in range(order):
        moments = [
            sum((comb(k, j) * moments[j] * single[k - j] for j in range(k + 1)), Fraction(0))
            for k in range(highest + 1)
        ]
    return moments


def kernel_coefficients(degree: int, order: int) -> tuple[Fraction, ...]:
    """Coefficients c_{−q} … c_q from the reproduction of polynomials up to degree 2q, exact.

    Parameters
    ----------
    degree
        q ≥ 0; 2q + 1 splines.
    order
        Spline order ℓ ≥ 1 (spline degree ℓ − 1).

    Raises
    ------
    ValueError
        For q < 0 or ℓ < 1.

    References
    ----------
    Cockburn, Luskin, Shu, Süli (2003), Math. Comp. 72, 577–606.
    """
    checked_kernel(degree, order)
    return _coefficients(int(degree), int(order))


@lru_cache(maxsize=64)
def _coefficients(degree: int, order: int) -> tuple[Fraction, ...]:
    moments = bspline_moments(order, 2 * degree)
    # Σ_γ c_γ ∫ (y + γ)^k ψ(y) dy = δ_k0; only even k and symmetric coefficients are unknown.
    rows = []
    for k in range(0, 2 * degree + 1, 2):
        row = []
        for gamma in range(degree + 1):
            moment = sum(
                (comb(k, j) * Fraction(gamma) ** (k - j) * moments[j] for j in range(0, k + 1, 2)),
                Fraction(0),
            )
            row.append(moment * (1 if gamma == 0 else 2))
        rows.append([*row, Fraction(int(k == 0))])
    half = _solve(rows)
    return (*reversed(half[1:]), *half)


def checked_kernel(degree: object, order: object) -> None:
    """Raise unless q and ℓ are those of a kernel whose exact coefficients take little time."""
    if whole_number("degree", degree) < 0 or whole_number("order", order) < 1:
        raise ValueError(f"kernel: expected degree >= 0 and order >= 1, got {degree} and {order}")
    checked_whole("degree", degree, 0, MAX_ORDER)
    checked_whole("order", order, 1, MAX_ORDER)


def _solve(rows: list[list[Fraction]]) -> list[Fraction]:
    """Gauss–Jordan elimination of an augmented matrix in exact arithmetic."""
    size = len(rows)
    for column in range(size):
        pivot = next(r for r in range(column, size) if rows[r][column] != 0)
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [entry / rows[column][column] for entry in rows[column]]
        for r in range(size):
            if r != column and rows[r][column] != 0:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[column], strict=True)]
    return [row[-1] for row in rows]


def filter_stencil(degree: int, order: int, input_degree: int) -> Stencil:
    """Convolution with the SIAC kernel of one direction as a stencil.

    Input: piecewise polynomials of degree ``input_degree`` on cells. Output: modes of degree ``input_degree +
    ℓ`` on the cells (ℓ even) or on half cells (ℓ odd, where the breakpoints of K * u_h are the cell centres
    as well as, for u_h, the cell ends). Entries are computed in rational arithmetic and rounded once: û is as
    continuous as round-off allows, and a larger mismatch at the faces would be a residual that no norm of the
    cells sees.
    """
    checked_kernel(degree, order)
    return _stencil(int(degree), int(order), checked_whole("input_degree", input_degree, 0, MAX_ORDER))


@lru_cache(maxsize=64)
def _stencil(degree: int, order: int, input_degree: int) -> Stencil:
    pieces = 1 if order % 2 == 0 else 2
    reach = (order + 1) // 2
    width = degree + reach
    powers = _powers_in_modes(order, input_degree, pieces)
    splines = [
        np.concatenate([_spline_block(order, shift, piece, pieces, powers) for piece in range(pieces)])
        for shift in range(-reach, reach + 1)
    ]
    exact = [np.full(splines[0].shape, Fraction(0), dtype=object) for _ in range(2 * width + 1)]
    for gamma, coefficient in enumerate(kernel_coefficients(degree, order), start=-degree):
        for shift, spline in enumerate(splines, start=-reach):
            exact[shift - gamma + width] = exact[shift - gamma + width] + coefficient * spline
    rows = np.tile(np.sqrt(2.0 * np.arange(input_degree + order + 1) + 1.0), pieces)
    columns = np.sqrt(2.0 * np.arange(input_degree + 1) + 1.0)
    matrices = np.stack([block.astype(float) for block in exact]) * rows[:, None] * columns
    return Stencil(tuple(range(-width, width + 1)), matrices, pieces)


def _spline_block(
    order: int, shift: int, piece: int, pieces: int, powers: dict[Fraction, ObjectArray]
) -> ObjectArray:
    """∫ P_j(2ξ−1) ∫ ψ^{(ℓ)}(x − y) P_k(2(y−shift)−1) dy dξ for x = (piece + ξ)/pieces: rows j, columns k.

    ψ^{(ℓ)}(z) = Σ_m (−1)^m C(ℓ,m) (z + ℓ/2 − m)_+^{ℓ−1}/(ℓ−1)!.
    """
    start = Fraction(piece, pieces) - shift + Fraction(order, 2)
    total: ObjectArray = (-1) ** order * powers[start - order]
    for m in range(order):
        total = total + (-1) ** m * comb(order, m) * powers[start - m]
    return total


def _powers_in_modes(order: int, input_degree: int, pieces: int) -> dict[Fraction, ObjectArray]:
    """∫ P_j(2ξ−1) ∫_0^1 (X − s)_+^{ℓ−1}/(ℓ−1)! P_k(2s−1) ds dξ, X = a + ξ/pieces.

    The keys are the starts a of the pieces.
    """
    highest = input_degree + order
    test = np.array([_legendre_coefficients(j, highest) for j in range(highest + 1)], dtype=object)
    hilbert = np.array(
        [[Fraction(1, i + n + 1) for n in range(highest + 1)] for i in range(highest + 1)], dtype=object
    )
    basis = np.array([_legendre_coefficients(k, input_degree) for k in range(input_degree + 1)], dtype=object)
    result: dict[Fraction, ObjectArray] = {}
    offset = Fraction(order, 2)
    reach = (order + 1) // 2
    a = -offset - reach
    while a <= offset + reach + 1:
        columns = [_power_integral(order, i, a, pieces, highest) for i in range(input_degree + 1)]
        result[a] = test @ hilbert @ np.array(columns, dtype=object).T @ basis.T
        a += Fraction(1, pieces)
    return result


def _power_integral(order: int, power: int, a: Fraction, pieces: int, highest: int) -> list[Fraction]:
    """Coefficients in ξ of ∫_0^1 (X − s)_+^{ℓ−1}/(ℓ−1)! s^i ds, X = a + ξ/pieces.

    No knot lies inside the piece.
    """
    in_x = [Fraction(0)] * (highest + 1)
    if a >= 1:
        for r in range(order):
            in_x[order - 1 - r] += Fraction(
                (-1) ** r * comb(order - 1, r), (power + r + 1) * factorial(order - 1)
            )
    elif a >= 0:
        in_x[power + order] = Fraction(factorial(power), factorial(power + order))
    result = [Fraction(0)] * (highest + 1)
    for n, coefficient in enumerate(in_x):
        if coefficient:
            for r in range(n + 1):
                result[r] += coefficient * comb(n, r) * a ** (n - r) * Fraction(1, pieces**r)
    return result


def _legendre_coefficients(degree: int, highest: int) -> list[Fraction]:
    """Coefficients of the shifted Legendre polynomial P_k(2s−1), lowest power first, padded with zeros."""
    entries = [
        Fraction((-1) ** (degree + i) * comb(degree, i) * comb(degree + i, i)) for i in range(degree + 1)
    ]
    return entries + [Fraction(0)] * (highest - degree)
