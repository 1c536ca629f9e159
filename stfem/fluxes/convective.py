"""Convective numerical fluxes: plain functions of both traces and the normal direction.

The normal is the unit vector e_i; minus is the side that it leaves. A user's own flux has the same signature.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stfem.equations import Equation
from stfem.spaces.legendre import gauss

Array = NDArray[np.float64]
ConvectiveFlux = Callable[[Equation, Array, Array, Array, float, int], Array]


def flux_rusanov(equation: Equation, minus: Array, plus: Array, x: Array, t: float, direction: int) -> Array:
    """Rusanov (local Lax–Friedrichs) flux {f_i(u)} + ½ λ (u⁻ − u⁺), λ the larger *normal* wave speed of both traces.

    Parameters
    ----------
    equation
        Gives f_i and the normal wave speed.
    minus, plus
        Traces ``(m, …)``.
    x, t
        Points ``(d, …)`` and time.
    direction
        i.

    Returns
    -------
    array ``(m, …)``
    """
    speed = np.maximum(equation.wave_speed(minus, x, t, direction), equation.wave_speed(plus, x, t, direction))
    mean = equation.flux(minus, x, t, direction) + equation.flux(plus, x, t, direction)
    return np.asarray(0.5 * (mean + speed * (minus - plus)))


def flux_upwind(equation: Equation, minus: Array, plus: Array, x: Array, t: float, direction: int) -> Array:
    """Upwind flux: f_i of the trace that the flow comes from.

    Scalar equations; the direction of the flow is the sign of the secant slope (f(u⁺) − f(u⁻))/(u⁺ − u⁻), of f' where both
    traces agree: exact upwinding for b u, Murman–Roe for a nonlinear f (no entropy fix: see `flux_engquist_osher`).

    Raises
    ------
    ValueError
        For a system.
    """
    _require_scalar(equation, "flux_upwind")
    left, right = equation.flux(minus, x, t, direction), equation.flux(plus, x, t, direction)
    slope = equation.jacobian_product(0.5 * (minus + plus), np.ones_like(minus), x, t, direction)
    difference = plus - minus
    secant = np.where(difference == 0.0, slope, (right - left) * np.sign(difference))
    return np.asarray(np.where(secant >= 0.0, left, right))


#: Gauss points on each half of the segment between the traces.
SEGMENT_POINTS = 8


def flux_engquist_osher(equation: Equation, minus: Array, plus: Array, x: Array, t: float, direction: int) -> Array:
    """Engquist–Osher flux ½( f(u⁻) + f(u⁺) − ∫_{u⁻}^{u⁺} |f'(s)| ds ), scalar equations.

    The integral is split at the sign change of f' (exact for a convex or concave polynomial f of moderate degree; bisection finds
    the sonic point); a flux with several sonic points between the traces is integrated by Gauss quadrature on each side of one.

    Raises
    ------
    ValueError
        For a system.
    """
    _require_scalar(equation, "flux_engquist_osher")
    mean = 0.5 * (equation.flux(minus, x, t, direction) + equation.flux(plus, x, t, direction))
    ones = np.ones_like(minus)

    def slope(state: Array) -> Array:
        return equation.jacobian_product(state, ones, x, t, direction)

    low, high = minus, plus
    sign = slope(minus)
    if np.any(sign * slope(plus) < 0.0):
        for _ in range(60):
            middle = 0.5 * (low + high)
            same = slope(middle) * sign > 0.0
            low, high = np.where(same, middle, low), np.where(same, high, middle)
    sonic = np.where(sign * slope(plus) < 0.0, 0.5 * (low + high), plus)
    points, weights = gauss(SEGMENT_POINTS)
    integral = np.zeros_like(minus)
    for start, stop in ((minus, sonic), (sonic, plus)):
        for s, w in zip(points, weights, strict=True):
            integral += w * (stop - start) * np.abs(slope(start + s * (stop - start)))
    return np.asarray(mean - 0.5 * integral)


def _require_scalar(equation: Equation, name: str) -> None:
    if equation.components != 1:
        raise ValueError(f"{name}: expected a scalar equation, got {equation.components} components")
