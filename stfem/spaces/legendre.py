"""Orthonormal Legendre basis on the reference interval [0, 1]: phi_j(s) = sqrt(2j+1) P_j(2s-1)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["bernstein_matrix", "derivative_matrix", "gauss", "legendre_values"]

Array = NDArray[np.float64]


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


def legendre_values(degree: int, points: ArrayLike, derivative: int = 0) -> Array:
    """Values of a derivative of all basis functions: phi_j^(derivative)(s_i).

    Parameters
    ----------
    degree : int
        Highest polynomial degree.
    points : array_like, shape (P,)
        Points in [0, 1].
    derivative : int
        Order of the derivative.

    Returns
    -------
    array, shape (P, degree + 1), read-only
    """
    abscissae = np.ascontiguousarray(points, dtype=np.float64)
    if abscissae.ndim != 1:
        raise ValueError(f"points: expected a one-dimensional array, got shape {abscissae.shape}")
    if degree < 0 or derivative < 0:
        raise ValueError(f"expected degree >= 0 and derivative >= 0, got {degree} and {derivative}")
    return _values(degree, abscissae.tobytes(), derivative)


@lru_cache(maxsize=512)
def _values(degree: int, buffer: bytes, derivative: int) -> Array:
    s = np.frombuffer(buffer, dtype=np.float64)
    z = 2.0 * s - 1.0
    values = np.ones((len(s), degree + 1))
    if degree > 0:
        values[:, 1] = z
    for j in range(1, degree):
        values[:, j + 1] = ((2 * j + 1) * z * values[:, j] - j * values[:, j - 1]) / (j + 1)
    values *= np.sqrt(2.0 * np.arange(degree + 1) + 1.0)
    for _ in range(derivative):
        values = values @ derivative_matrix(degree)
    return _frozen(values)


@lru_cache(maxsize=128)
def derivative_matrix(degree: int) -> Array:
    """Matrix D from modes of a polynomial to modes of its derivative on [0, 1].

    phi_j' = sum over i < j, j - i odd, of 2 sqrt((2i+1)(2j+1)) phi_i.

    Returns
    -------
    array, shape (degree + 1, degree + 1), read-only, strictly upper triangular
    """
    j = np.arange(degree + 1)
    odd = (j[None, :] > j[:, None]) & ((j[None, :] - j[:, None]) % 2 == 1)
    return _frozen(np.where(odd, 2.0 * np.sqrt((2.0 * j[:, None] + 1.0) * (2.0 * j[None, :] + 1.0)), 0.0))


@lru_cache(maxsize=128)
def gauss(n: int) -> tuple[Array, Array]:
    """Gauss-Legendre rule on [0, 1], exact for degree 2n - 1.

    Returns
    -------
    points, weights : arrays of length n, read-only; the weights sum to 1
    """
    points, weights = np.polynomial.legendre.leggauss(n)
    return _frozen(0.5 * (points + 1.0)), _frozen(0.5 * weights)


@lru_cache(maxsize=128)
def bernstein_matrix(degree: int) -> Array:
    """Matrix from orthonormal Legendre modes to Bernstein coefficients of the same degree n on [0, 1].

    P_j(2s-1) = sum_k (-1)^(j+k) C(j,k) B_k^j(s), raised to degree n:
    b_i = sum_k C(j,k) C(n-j,i-k) / C(n,i) b_k. Integers are exact; each entry is rounded twice.

    Returns
    -------
    array, shape (degree + 1, degree + 1), read-only
    """
    n = degree
    matrix = np.empty((n + 1, n + 1))
    for j in range(n + 1):
        for i in range(n + 1):
            terms = (
                (-1) ** (j + k) * comb(j, k) ** 2 * comb(n - j, i - k)
                for k in range(max(0, i + j - n), min(i, j) + 1)
            )
            matrix[i, j] = float(Fraction(sum(terms), comb(n, i))) * (2 * j + 1) ** 0.5
    return _frozen(matrix)
