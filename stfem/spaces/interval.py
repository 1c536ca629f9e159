"""One-dimensional discontinuous Galerkin operators on cells of unit length, as stencils over neighbour cells.

All act on coefficients of the orthonormal Legendre basis φ_j of [0, 1]; a cell of length h scales a first
derivative by 1/h. A face lies between the cell it leaves (minus) and the next one (plus); jumps are minus −
plus.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stfem.spaces.legendre import derivative_matrix, legendre_values
from stfem.spaces.stencil import Stencil

Array = NDArray[np.float64]


@lru_cache(maxsize=64)
def end_values(degree: int, derivative: int = 0) -> tuple[Array, Array]:
    """Basis (or its derivative) at the left and right end of the cell, two arrays ``(degree + 1,)``."""
    left, right = legendre_values(degree, np.array([0.0, 1.0]), derivative)
    return left, right


def transport(degree: int, minus: float, plus: float) -> Stencil:
    """−(DG form of ∂_x(bu)) on unit cells for the numerical flux ``minus·u⁻ + plus·u⁺``, minus + plus = b."""
    left, right = end_values(degree)
    stiffness = (minus + plus) * derivative_matrix(degree).T  # ∫ b φ_k φ_j'
    own = stiffness - minus * np.outer(right, right) + plus * np.outer(left, left)
    return Stencil((-1, 0, 1), np.stack([minus * np.outer(left, right), own, -plus * np.outer(right, left)]))


def central_derivative(degree: int) -> Stencil:
    """C with (Cu, v) = Σ ∫u'v − Σ_faces [u]{v}: the derivative of the discontinuous u lifted to the cells."""
    return transport(degree, 0.5, 0.5).scaled(-1.0)


def broken_derivative(degree: int) -> Stencil:
    """D with Du = u' on every cell, jumps ignored."""
    return Stencil((0,), derivative_matrix(degree)[None])


def interior_penalty(degree: int, penalty: float) -> Stencil:
    """Symmetric interior penalty (SIPG) form of u'' on unit cells, T1.

    ``(Lu, v) = −Σ∫u'v' + Σ_faces( {u'}[v] + {v'}[u] − penalty [u][v] )``.
    """
    left, right = end_values(degree)
    left_slope, right_slope = end_values(degree, 1)
    slopes = derivative_matrix(degree)
    own = (
        -slopes.T @ slopes
        + 0.5 * (np.outer(right, right_slope) + np.outer(right_slope, right))
        - 0.5 * (np.outer(left, left_slope) + np.outer(left_slope, left))
        - penalty * (np.outer(right, right) + np.outer(left, left))
    )
    next_cell = 0.5 * (np.outer(right, left_slope) - np.outer(right_slope, left)) + penalty * np.outer(
        right, left
    )
    return Stencil((-1, 0, 1), np.stack([next_cell.T, own, next_cell]))


def _raviart_thomas(degree: int) -> tuple[Array, Array, Array]:
    """Columns that turn end values and moments into coefficients of degree q + 1.

    One for the value at 0, one for the value at 1, and a matrix for the moments against φ_0 … φ_{q−1}.
    """
    left, right = end_values(degree + 1)
    ends = np.linalg.inv(
        np.array([left[degree:], right[degree:]])
    )  # the two highest modes carry the end values
    from_left, from_right = np.zeros(degree + 2), np.zeros(degree + 2)
    from_left[degree:], from_right[degree:] = ends.T
    moments = np.zeros((degree + 2, degree + 1))
    moments[:degree, :degree] = np.eye(degree)
    moments[degree:, :degree] = -ends @ np.array([left[:degree], right[:degree]])
    return from_left, from_right, moments


def scheme_flux(degree: int, penalty: float) -> Stencil:
    """SIPG flux of u' as a Raviart–Thomas function (degree q + 1 on the line), T2.1.

    End values are the numerical fluxes {u'} − penalty [u]; interior moments are ∫u'w − ½∫_{∂K}(u_K −
    u_neighbour) w n for w of degree q − 1, that is (C u, w). Its derivative equals the SIPG form of u''.
    """
    left, right = end_values(degree)
    left_slope, right_slope = end_values(degree, 1)
    from_left, from_right, moments = _raviart_thomas(degree)
    minus, plus = 0.5 * right_slope - penalty * right, 0.5 * left_slope + penalty * left
    faces = Stencil(
        (-1, 0, 1),
        np.stack(
            [
                np.outer(from_left, minus),
                np.outer(from_left, plus) + np.outer(from_right, minus),
                np.outer(from_right, plus),
            ]
        ),
    )
    interior = central_derivative(degree)
    return Stencil(faces.shifts, faces.matrices + moments @ interior.matrices)


def averaged_flux(degree: int) -> Stencil:
    """Part of a cross-derivative flux.

    Raviart–Thomas function with end values {v} and zero interior moments (T2.1).
    """
    left, right = end_values(degree)
    from_left, from_right, _ = _raviart_thomas(degree)
    own = 0.5 * (np.outer(from_left, left) + np.outer(from_right, right))
    return Stencil(
        (-1, 0, 1), np.stack([0.5 * np.outer(from_left, right), own, 0.5 * np.outer(from_right, left)])
    )


def moment_flux(degree: int) -> Stencil:
    """Part of a cross-derivative flux: zero end values and the interior moments of v (T2.1)."""
    return Stencil((0,), _raviart_thomas(degree)[2][None])
