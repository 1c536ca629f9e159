"""Convective numerical fluxes F(u⁻, u⁺) on faces with normal e_i; minus is the side that the normal leaves.

All are consistent, F(u, u) = f_i(u), and one value serves both cells of a face, which makes schemes
conservative.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from stfem.data.base import Array
from stfem.equations import Equation
from stfem.spaces.legendre import gauss

__all__ = ["ConvectiveFlux", "flux_engquist_osher", "flux_rusanov", "flux_upwind"]

#: (equation, u_minus, u_plus, x, t, direction) -> F; traces and F of shape (m, ...), x of shape (dim, ...).
ConvectiveFlux = Callable[[Equation, Array, Array, Array, float, int], Array]

_POINTS = 8


def flux_upwind(
    equation: Equation, u_minus: Array, u_plus: Array, x: Array, t: float, direction: int
) -> Array:
    """F = b_i u⁻ where b_i ≥ 0, b_i u⁺ elsewhere; linear equations f = b u only.

    Raises
    ------
    TypeError
        For an equation that is not linear.
    """
    if not equation.linear:
        raise TypeError(
            f"flux_upwind: expected a linear equation, got {type(equation).__name__}; "
            "flux_engquist_osher is its counterpart for nonlinear scalar equations"
        )
    forward = equation.jacobian_product(u_minus, np.ones_like(u_minus), x, t, direction) >= 0.0
    return equation.flux(np.where(forward, u_minus, u_plus), x, t, direction)


def flux_rusanov(
    equation: Equation, u_minus: Array, u_plus: Array, x: Array, t: float, direction: int
) -> Array:
    """F = ½( f_i(u⁻) + f_i(u⁺) ) − ½ λ (u⁺ − u⁻), λ the larger *normal* wave speed of the two traces."""
    speed = np.maximum(
        equation.wave_speed(u_minus, x, t, direction), equation.wave_speed(u_plus, x, t, direction)
    )
    dissipation = u_plus - u_minus
    dissipation *= speed
    result: Array = equation.flux(u_minus, x, t, direction) + equation.flux(u_plus, x, t, direction)
    result -= dissipation  # in place: these arrays are new, and small ones stay in the cache
    result *= 0.5
    return result


def flux_engquist_osher(
    equation: Equation, u_minus: Array, u_plus: Array, x: Array, t: float, direction: int
) -> Array:
    """F = ½( f_i(u⁻) + f_i(u⁺) − ∫_{u⁻}^{u⁺} |f_i'| ), scalar equations.

    Where the equation knows its sonic points (linear and polynomial fluxes do), the integral is the exact sum
    of |differences of f_i| between them; otherwise it is integrated with 8 Gauss points between the traces.

    Raises
    ------
    TypeError
        For a system.
    """
    if equation.components != 1:
        raise TypeError(
            f"flux_engquist_osher: expected a scalar equation, got {equation.components} components"
        )
    f_minus, f_plus = (equation.flux(u, x, t, direction) for u in (u_minus, u_plus))
    sonic = equation.sonic_points(direction)
    jump = u_plus - u_minus
    if sonic is None:
        mean_speed = np.zeros_like(f_minus)
        for point, weight in zip(*gauss(_POINTS), strict=True):
            slope = equation.jacobian_product(u_minus + point * jump, np.ones_like(jump), x, t, direction)
            mean_speed += weight * np.abs(slope)
        dissipation = mean_speed * jump
    else:
        low, high = np.minimum(u_minus, u_plus), np.maximum(u_minus, u_plus)
        stations = [np.clip(point, low, high) for point in sonic]
        values = [equation.flux(u, x, t, direction) for u in (low, *stations, high)]
        variation = sum(np.abs(b - a) for a, b in pairwise(values))
        dissipation = np.sign(jump) * variation
    result: Array = 0.5 * (f_minus + f_plus - dissipation)
    return result
