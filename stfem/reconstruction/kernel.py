"""SIAC kernel K(x) = Σ_γ c_γ ψ^{(ℓ)}(x − γ), γ = −q … q, in units of the cell size (T2).

Exact coefficients.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb, factorial

import numpy as np

from stfem.spaces.legendre import gauss, legendre_values
from stfem.spaces.stencil import Array, Stencil


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


@lru_cache(maxsize=64)
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
    if degree < 0 or order < 1:
        raise ValueError(f"kernel: expected degree >= 0 and order >= 1, got {degree} and {order}")
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


def bspline(order: int, x: Array) -> Array:
    """Central B-spline ψ^{(ℓ)}: Σ_k (−1)^k C(ℓ,k) (x + ℓ/2 − k)_+^{ℓ−1} / (ℓ−1)!.

    Summed from the nearer end.
    """
    distance = 0.5 * order - np.abs(x)  # the spline is even
    values = np.zeros_like(distance)
    for k in range((order + 1) // 2 + 1):
        shifted = distance - k
        values += (
            (-1) ** k * comb(order, k) * np.where(shifted > 0.0, np.maximum(shifted, 0.0) ** (order - 1), 0.0)
        )
    return values / factorial(order - 1)


@lru_cache(maxsize=64)
def filter_stencil(degree: int, order: int, input_degree: int) -> Stencil:
    """Convolution with the SIAC kernel of one direction as a stencil.

    Input: piecewise polynomials of degree ``input_degree`` on cells. Output: modes of degree ``input_degree +
    ℓ`` on the cells (ℓ even) or on half cells (ℓ odd, where the breakpoints of K * u_h are the cell centres
    as well as, for u_h, the cell ends).
    """
    pieces = 1 if order % 2 == 0 else 2
    output_degree = input_degree + order
    reach = (order + 1) // 2
    spline = np.stack(
        [
            _spline_block(order, input_degree, output_degree, pieces, shift)
            for shift in range(-reach, reach + 1)
        ]
    )
    coefficients = [float(c) for c in kernel_coefficients(degree, order)]
    width = degree + reach
    matrices = np.zeros((2 * width + 1, *spline.shape[1:]))
    for gamma, coefficient in enumerate(coefficients, start=-degree):
        for k, shift in enumerate(range(-reach, reach + 1)):
            matrices[shift - gamma + width] += coefficient * spline[k]
    return Stencil(tuple(range(-width, width + 1)), matrices, pieces)


def _spline_block(order: int, input_degree: int, output_degree: int, pieces: int, shift: int) -> Array:
    """Modes on each piece of cell 0 of x ↦ ∫ ψ^{(ℓ)}(x − y) φ_k(y − shift) dy, stacked by pieces."""
    outer, outer_weights = gauss(output_degree + 1)
    inner, inner_weights = gauss((order + input_degree) // 2 + 1)
    test = legendre_values(output_degree, outer) * outer_weights[:, None]
    blocks = []
    for piece in range(pieces):
        x = (piece + outer) / pieces
        # ψ(x − shift − s) has its one knot inside (0, 1) in s at the fractional part of x − ℓ/2
        knot = np.mod(x - 0.5 * order, 1.0)
        values = np.zeros((len(x), input_degree + 1))
        for start, stop in ((np.zeros_like(knot), knot), (knot, np.ones_like(knot))):
            s = start[:, None] + (stop - start)[:, None] * inner[None, :]
            weight = (stop - start)[:, None] * inner_weights[None, :] * bspline(order, x[:, None] - shift - s)
            basis = legendre_values(input_degree, s.ravel()).reshape(*s.shape, input_degree + 1)
            values += np.einsum("xs,xsk->xk", weight, basis)
        blocks.append(test.T @ values)
    return np.concatenate(blocks)
