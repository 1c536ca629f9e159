"""Test of an equation at random states: shapes, Jacobian against flux, wave speed, declared facts."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from stfem.data.base import Array

if TYPE_CHECKING:
    from stfem.equations.base import Equation

__all__ = ["check_difference", "check_equation"]

_POINTS = (3, 4)
_TIME = 0.37
_STEP = 1e-6
_TOLERANCE = 1e-5  # far above the error of a central difference (about 1e-9), below any slip in a formula


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is told below
def check_equation(equation: Equation) -> None:
    """Raise ValueError or TypeError where `equation` contradicts itself at random states and points."""
    rng = np.random.default_rng(20240229)
    m, n = equation.components, int(np.prod(_POINTS))
    name = type(equation).__name__
    u = _shaped(equation.probe_states(rng, n), (m, n), f"{name}.probe_states").reshape(m, *_POINTS)
    v = rng.uniform(-1.0, 1.0, u.shape)
    x = rng.uniform(0.0, 1.0, (equation.dim, *_POINTS))
    for i in range(equation.dim):
        where = f"direction {i}"
        value = _shaped(equation.flux(u, x, _TIME, i), u.shape, f"{name}.flux, {where}")
        columns = [_jacobian(equation, u, unit, x, i, name) for unit in _units(u)]
        product = _jacobian(equation, u, v, x, i, name)
        step = _STEP * np.maximum(1.0, np.abs(u).max(axis=0))
        above, below = (equation.flux(u + s * step * v, x, _TIME, i) for s in (1.0, -1.0))
        difference = (np.asarray(above) - np.asarray(below)) / (2.0 * step)
        check_difference(product, difference, value, f"{name}.jacobian_product, {where}")
        speed = _shaped(equation.wave_speed(u, x, _TIME, i), _POINTS, f"{name}.wave_speed, {where}")
        matrices = np.moveaxis(np.stack(columns, axis=1), (0, 1), (-2, -1))
        largest = np.abs(np.linalg.eigvals(matrices)).max(axis=-1)
        slow = speed < largest - _TOLERANCE * (1.0 + largest)
        if slow.any():
            raise ValueError(
                f"{name}.wave_speed, {where}: expected at least the largest |eigenvalue| of the Jacobian, "
                f"{largest[slow][0]:.6g}, got {speed[slow][0]:.6g}"
            )
        _check_degree(equation, u, v, x, i, name)
        if equation.isotropic and not np.array_equal(value, equation.flux(u, x, _TIME, 0)):
            raise ValueError(
                f"{name}.isotropic: expected False for fluxes that differ between directions 0 and {i}, "
                "got True"
            )


def check_difference(given: Array, difference: Array, value: Array, name: str) -> None:
    """Raise ValueError where a derivative departs from the central difference of `value`."""
    scale = 1e-3 * float(np.max(np.abs(value))) + np.maximum(np.abs(given), np.abs(difference))
    wrong = np.abs(given - difference) > _TOLERANCE * scale + 1e-300
    if wrong.any():
        raise ValueError(
            f"{name}: expected the derivative, by central differences {difference[wrong][0]:.8g}, "
            f"got {given[wrong][0]:.8g}"
        )


def _check_degree(equation: Equation, u: Array, v: Array, x: Array, direction: int, name: str) -> None:
    """A linear flux is homogeneous; a polynomial of degree r has vanishing differences of order r + 1."""
    if equation.linear:
        value = np.asarray(equation.flux(u, x, _TIME, direction))
        half = np.asarray(equation.flux(0.5 * u, x, _TIME, direction))
        if np.any(np.abs(value - 2.0 * half) > 1e-13 * np.abs(value)):
            raise ValueError(f"{name}.linear: expected f = b u as declared, got f(u) != 2 f(u/2)")
    order = 2 if equation.linear else None if equation.flux_degree is None else equation.flux_degree + 1
    if order is None:
        return
    terms = [
        (-1) ** k * comb(order, k) * np.asarray(equation.flux(u + (k / order) * v, x, _TIME, direction))
        for k in range(order + 1)
    ]
    if np.any(np.abs(sum(terms)) > 1e-11 * sum(np.abs(term) for term in terms)):
        raise ValueError(f"{name}: expected a flux of degree {order - 1} in u as declared, got a higher one")


def _jacobian(equation: Equation, u: Array, v: Array, x: Array, direction: int, name: str) -> Array:
    product = equation.jacobian_product(u, v, x, _TIME, direction)
    return _shaped(product, u.shape, f"{name}.jacobian_product, direction {direction}")


def _units(u: Array) -> list[Array]:
    """Fields of the unit vectors of the state space."""
    units = []
    for component in range(len(u)):
        unit = np.zeros_like(u)
        unit[component] = 1.0
        units.append(unit)
    return units


def _shaped(value: object, shape: tuple[int, ...], name: str) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected real numbers, got dtype {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite values at admissible states, got a non-finite one")
    return array.astype(np.float64)
