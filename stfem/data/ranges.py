"""Ranges of data over boxes in space and an interval of time (T4, T4.6)."""

from __future__ import annotations

import numpy as np

from stfem.checks import checked_array, checked_instance, described
from stfem.data.approximated import Approximated
from stfem.data.base import Array, Data, checked_time
from stfem.data.bernstein import apply_along, polynomial_range
from stfem.data.polynomial import Polynomial
from stfem.spaces.legendre import gauss, legendre_values

__all__ = ["data_range"]

#: Points per direction of a box, and in time, where data are looked at that are no polynomials.
_POINTS, _TIMES = 5, 33
#: Round-off of values, relative to the largest one.
_ROUND_OFF = 1e-12


def data_range(
    datum: Data, lower: Array, upper: Array, start: float = 0.0, stop: float = 0.0
) -> tuple[float, float]:
    """Lower and upper bound of a datum on boxes × [start, stop]; proved unless it has an `assumption`.

    Polynomials by Bernstein coefficients. Of other data the piecewise multilinear interpolant, whose range is
    that of the values at its nodes, with spacings δ_i in space and time:

        |f − If| ≤ Σ_i δ_i²/8 sup|∂_i²f| ,   or sup|f| bounds the range.

    Where derivatives are not known, only the values are taken.

    Parameters
    ----------
    datum
        The datum.
    lower, upper
        Corners of the boxes, ``(d, boxes)`` each.
    start, stop
        Interval of time.
    """
    checked_instance("datum", datum, Data, "Data")
    lower, upper = (_corners(name, given, datum.dim) for name, given in (("lower", lower), ("upper", upper)))
    if lower.shape != upper.shape or not np.all(lower <= upper):
        raise ValueError(
            f"lower, upper: expected lower <= upper, got {described(lower)} and {described(upper)}"
        )
    if checked_time(start, "start") > checked_time(stop, "stop"):
        raise ValueError(f"start, stop: expected start <= stop, got {start} and {stop}")
    if datum.constant:
        value = datum.constant_value()
        return value, value
    if isinstance(datum, Approximated):
        low, high = data_range(datum.approximation, lower, upper, start, stop)
        return low - datum.error_sup, high + datum.error_sup
    if isinstance(datum, Polynomial):
        return _of_polynomial(datum, lower, upper, start, stop)
    return _of_values(datum, lower, upper, start, stop)


def _corners(name: str, given: object, dim: int) -> Array:
    corners: Array = checked_array(name, given, (dim, None))
    if corners.size == 0:
        raise ValueError(f"{name}: expected at least one box, got none")
    return corners


def _of_polynomial(
    datum: Polynomial, lower: Array, upper: Array, start: float, stop: float
) -> tuple[float, float]:
    degrees = [count - 1 for count in datum.coefficients.shape]
    nodes = [gauss(degree + 1)[0] for degree in degrees]
    x = _grid(lower, upper, nodes[:-1])
    modes = np.stack([datum(x, start + s * (stop - start)) for s in nodes[-1]], axis=len(lower))
    for axis, (degree, points) in enumerate(zip(degrees, nodes, strict=True)):
        inverse: Array = np.linalg.inv(legendre_values(degree, points)).astype(np.float64)
        modes = apply_along(inverse, modes, axis)
    low, high = polynomial_range(modes, len(degrees))
    slack = _ROUND_OFF * float(np.abs(modes).max())
    return low - slack, high + slack


def _of_values(datum: Data, lower: Array, upper: Array, start: float, stop: float) -> tuple[float, float]:
    x = _grid(lower, upper, [np.linspace(0.0, 1.0, _POINTS)] * len(lower))
    moves = datum.time_dependent and stop > start
    times = np.linspace(start, stop, _TIMES) if moves else np.array([start])
    values = [datum(x, float(t)) for t in times]
    low, high = min(float(v.min()) for v in values), max(float(v.max()) for v in values)
    spacings = [*((upper - lower).max(axis=1) / (_POINTS - 1)), (stop - start) / (_TIMES - 1) * moves]
    lengths = np.maximum(upper.max(axis=1), 1e-300).tolist()
    try:
        curved = [datum.derivative(i).derivative(i) for i in range(datum.dim)]
        curved += [datum.time_derivative().time_derivative()] if moves else []
    except TypeError:
        return low, high
    slack = sum(h**2 / 8.0 * c.sup(start, stop, lengths) for h, c in zip(spacings, curved, strict=False))
    largest = datum.sup(start, stop, lengths)
    slack += _ROUND_OFF * largest
    return max(low - slack, -largest), min(high + slack, largest)


def _grid(lower: Array, upper: Array, nodes: list[Array]) -> Array:
    """Points ``(d, P_1, …, P_d, boxes)`` with coordinates of [0, 1] in every box."""
    dim = len(lower)
    axes = []
    for i, s in enumerate(nodes):
        along = s.reshape(-1, *(1,) * (dim - i))
        axes.append(lower[i] + along * (upper[i] - lower[i]))
    shape = (*(len(s) for s in nodes), lower.shape[1])
    return np.stack([np.broadcast_to(axis, shape) for axis in axes])
