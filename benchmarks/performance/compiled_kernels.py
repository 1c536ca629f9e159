"""Right-hand sides in two dimensions as loops over cells that numba compiles, to measure them.

Linear convection, and Burgers with the Rusanov flux. Their formulas are written out: a compiled loop cannot
call a flux that is a function of numpy arrays. For Burgers also both fluxes by themselves, as objects that
the library takes as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from stfem.equations import Burgers, Equation
from stfem.semidiscretization import Semidiscretization
from stfem.semidiscretization.convection import linear_traces
from stfem.spaces.interval import end_values, transport
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values

Array = np.ndarray
#: ``kernel(u, out, first, last)``: those rows of the first cell axis, of coefficient arrays of the scheme.
Kernel = Callable[[Array, Array, int, int], None]

#: Without the lock of the interpreter, so that threads can share the rows.
compiled: Any = numba.njit(fastmath={"contract"}, error_model="numpy", nogil=True)


def _half_square(u: float) -> float:
    return 0.5 * u * u


def _rusanov(minus: float, plus: float) -> float:
    speed = max(abs(minus), abs(plus))
    return 0.5 * (0.5 * minus * minus + 0.5 * plus * plus - speed * (plus - minus))


_pointwise_flux = numba.vectorize(["float64(float64)"])(_half_square)
_pointwise_rusanov = numba.vectorize(["float64(float64, float64)"])(_rusanov)


class CompiledBurgers(Burgers):
    """Burgers with f compiled."""

    def flux(self, u: Array, x: Array, t: float, direction: int) -> Array:
        return _pointwise_flux(u)


def flux_compiled(
    equation: Equation, u_minus: Array, u_plus: Array, x: Array, t: float, direction: int
) -> Array:
    """The Rusanov flux of Burgers."""
    return _pointwise_rusanov(u_minus, u_plus)


def linear(semi: Semidiscretization) -> Kernel:
    """−∇·(bu) with numerical fluxes a⁻u⁻ + a⁺u⁺: rows of cells, with the traces of their neighbours."""
    width, spacing = semi.degree + 1, semi.grid.spacing
    traces = linear_traces(semi.problem.equation, semi.flux)
    if traces is None:
        raise ValueError("flux: expected one that is linear in the traces, got another")
    stencils = [transport(semi.degree, *a) for a in traces]
    own0, own1 = (s.matrices[1] / h for s, h in zip(stencils, spacing, strict=True))
    left, right = end_values(semi.degree)
    minus, plus = (np.array([a[k] / h for a, h in zip(traces, spacing, strict=True)]) for k in (0, 1))
    sweep = _linear_sweep(width)
    return lambda u, out, *rows: sweep(u[0], out[0], *rows, own0, own1, left, right, minus, plus)


def burgers(semi: Semidiscretization) -> Kernel:
    """−∇·(u²/2, u²/2) with the Rusanov flux at the points of the scheme."""
    degree, spacing = semi.degree, semi.grid.spacing
    points, weights = gauss(3 * degree // 2 + 1)
    values = legendre_values(degree, points)
    test = (values * weights[:, None]).T.copy()
    slope = (values @ derivative_matrix(degree) * weights[:, None]).T
    left, right = end_values(degree)
    sweep = _burgers_sweep(degree + 1, len(points))
    slopes = [slope / h for h in spacing]
    inverse = np.array([1.0 / h for h in spacing])
    return lambda u, out, *rows: sweep(
        u[0], out[0], *rows, values, test, slopes[0], slopes[1], left, right, inverse
    )


def _linear_sweep(width: int) -> Any:
    @compiled
    def trace(end: Array, x: Array, row: int, result: Array) -> None:
        """Trace of a row of cells at an end of direction 0."""
        for b in range(width):
            for j in range(x.shape[3]):
                s = 0.0
                for a in range(width):
                    s += end[a] * x[a, b, row, j]
                result[b, j] = s

    @compiled
    def sweep(x, out, first, last, own0, own1, left, right, minus, plus):
        rows, columns = x.shape[2], x.shape[3]
        below, above = np.empty((width, columns)), np.empty((width, columns))
        behind, ahead = np.empty((width, columns + 1)), np.empty((width, columns + 1))
        for i in range(first, last):
            trace(right, x, (i - 1) % rows, below)
            trace(left, x, (i + 1) % rows, above)
            for a in range(width):
                for j in range(columns):
                    r, s = 0.0, 0.0
                    for b in range(width):
                        r += right[b] * x[a, b, i, j]
                        s += left[b] * x[a, b, i, j]
                    behind[a, j + 1] = r
                    ahead[a, j] = s
                behind[a, 0], ahead[a, columns] = behind[a, columns], ahead[a, 0]
            for a in range(width):
                for b in range(width):
                    into0, out0 = minus[0] * left[a], plus[0] * right[a]
                    into1, out1 = minus[1] * left[b], plus[1] * right[b]
                    for j in range(columns):
                        s = into0 * below[b, j] - out0 * above[b, j]
                        s += into1 * behind[a, j] - out1 * ahead[a, j + 1]
                        for c in range(width):
                            s += own0[a, c] * x[c, b, i, j] + own1[b, c] * x[a, c, i, j]
                        out[a, b, i, j] = s

    return sweep


def _burgers_sweep(width: int, count: int) -> Any:
    half_square, rusanov = compiled(_half_square), compiled(_rusanov)

    @compiled
    def trace(end: Array, values: Array, x: Array, row: int, modes: Array, result: Array) -> None:
        """Values of a row of cells at the Gauss points of its faces at an end of direction 0."""
        for b in range(width):
            for j in range(x.shape[3]):
                s = 0.0
                for a in range(width):
                    s += end[a] * x[a, b, row, j]
                modes[b, j] = s
        for q in range(count):
            for j in range(x.shape[3]):
                s = 0.0
                for b in range(width):
                    s += values[q, b] * modes[b, j]
                result[q, j] = s

    @compiled
    def sweep(x, out, first, last, values, test, slope0, slope1, left, right, inverse):
        rows, columns = x.shape[2], x.shape[3]
        modes = np.empty((width, columns))
        minus, plus = np.empty((count, columns)), np.empty((count, columns))
        below, above = np.empty((width, columns)), np.empty((width, columns))
        along = np.empty((count, width, columns))  # points of direction 0, modes of direction 1
        points = np.empty((count, columns))
        tested, sloped = np.empty((count, width, columns)), np.empty((count, width, columns))
        face = np.empty((count, columns + 1))
        behind, ahead = np.empty(columns + 1), np.empty(columns + 1)
        for i in range(first - 1, last):
            # faces above the row: numerical flux, tested in direction 1
            trace(right, values, x, i % rows, modes, minus)
            trace(left, values, x, (i + 1) % rows, modes, plus)
            for q in range(count):
                for j in range(columns):
                    face[q, j] = rusanov(minus[q, j], plus[q, j])
            for b in range(width):
                for j in range(columns):
                    s = 0.0
                    for q in range(count):
                        s += test[b, q] * face[q, j]
                    above[b, j] = inverse[0] * s
            if i >= first:
                for p in range(count):
                    for b in range(width):
                        for j in range(columns):
                            s = 0.0
                            for a in range(width):
                                s += values[p, a] * x[a, b, i, j]
                            along[p, b, j] = s
                for p in range(count):
                    for j in range(columns):
                        r, s = 0.0, 0.0
                        for b in range(width):
                            r += right[b] * along[p, b, j]
                            s += left[b] * along[p, b, j]
                        behind[j + 1] = r
                        ahead[j] = s
                    behind[0], ahead[columns] = behind[columns], ahead[0]
                    for j in range(columns + 1):
                        face[p, j] = inverse[1] * rusanov(behind[j], ahead[j])
                    for q in range(count):
                        for j in range(columns):
                            s = 0.0
                            for b in range(width):
                                s += values[q, b] * along[p, b, j]
                            points[q, j] = half_square(s)
                    for b in range(width):
                        for j in range(columns):
                            r, s = 0.0, left[b] * face[p, j] - right[b] * face[p, j + 1]
                            for q in range(count):
                                r += test[b, q] * points[q, j]
                                s += slope1[b, q] * points[q, j]
                            tested[p, b, j] = r
                            sloped[p, b, j] = s
                for a in range(width):
                    for b in range(width):
                        for j in range(columns):
                            s = left[a] * below[b, j] - right[a] * above[b, j]
                            for p in range(count):
                                s += slope0[a, p] * tested[p, b, j] + test[a, p] * sloped[p, b, j]
                            out[a, b, i, j] = s
            below, above = above, below

    return sweep
