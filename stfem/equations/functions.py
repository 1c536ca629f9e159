"""Fluxes of one variable as a user gives them, one for all directions or one per direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial import Polynomial

from stfem.checks import checked_array, checked_numbers, described, real_array
from stfem.data.base import Array
from stfem.data.callables import check_arguments

__all__ = ["Function", "functions_of", "given_sonic", "per_direction"]

Function = Callable[[Array], Array]
#: Largest degree of a polynomial: zeros of its derivative and ranges are computed.
_MAX_DEGREE = 64


class CheckedValues:
    """A user's function of one variable: values of the shape of u, which it must not write to."""

    def __init__(self, function: Callable[[Array], object], name: str) -> None:
        check_arguments(function, name, "u")
        self.function, self.name = function, name

    def __call__(self, u: Array) -> Array:
        seen = np.asarray(u).view()
        seen.flags.writeable = False
        values = real_array(self.function(seen), self.name)
        if values.ndim and values.shape != seen.shape:
            raise ValueError(f"{self.name}: expected values of shape {seen.shape}, got {values.shape}")
        return values


def functions_of(given: object, name: str) -> list[Function]:
    """One function, or one per direction; coefficients become polynomials."""
    numbers = _polynomial(given, name)
    if numbers is not None:
        return [numbers]
    if callable(given):
        return [CheckedValues(given, name)]
    if not isinstance(given, (tuple, list, np.ndarray)) or (isinstance(given, np.ndarray) and not given.ndim):
        raise TypeError(f"{name}: expected a callable, a Polynomial or coefficients, got {described(given)}")
    functions: list[Function] = []
    known: dict[int, Function] = {}
    for entry in given:
        polynomial = _polynomial(entry, name)
        if polynomial is None and not callable(entry):
            raise TypeError(
                f"{name}: expected a callable, a Polynomial or coefficients, got {described(entry)}"
            )
        if id(entry) not in known:
            known[id(entry)] = CheckedValues(entry, name) if polynomial is None else polynomial
        functions.append(known[id(entry)])
    return functions


def _polynomial(given: object, name: str) -> Polynomial | None:
    """A polynomial, or coefficients as one."""
    if isinstance(given, Polynomial):
        coefficients = given.convert().coef
    elif isinstance(given, (tuple, list, np.ndarray)) and _are_numbers(given):
        coefficients = np.asarray(given)
    else:
        return None
    array: Array = checked_array(name, coefficients, (None,))
    if not 0 < len(array) <= _MAX_DEGREE + 1:
        raise ValueError(f"{name}: expected 1 to {_MAX_DEGREE + 1} coefficients, got {len(array)}")
    return Polynomial(array).trim()


def _are_numbers(given: Sequence[object] | np.ndarray) -> bool:
    if isinstance(given, np.ndarray) and given.ndim != 1:
        return False
    return all(isinstance(entry, (int, float, np.number)) for entry in given)


def per_direction(functions: list[Function], dim: int, name: str) -> list[Function]:
    """As many functions as directions."""
    if len(functions) not in (1, dim):
        raise ValueError(f"{name}: expected 1 or {dim} functions (dim), got {len(functions)}")
    return functions * dim if len(functions) == 1 else functions


def given_sonic(points: Sequence[object] | None, dim: int) -> list[tuple[float, ...] | None]:
    """Sonic points as they were given, per direction."""
    if points is None:
        return [None] * dim
    if not isinstance(points, (tuple, list, np.ndarray)) or np.ndim(np.asarray(points, dtype=object)) == 0:
        raise TypeError(
            f"sonic_points: expected numbers, or one sequence per direction, got {described(points)}"
        )
    nested = [p for p in points if isinstance(p, (Sequence, np.ndarray)) and not isinstance(p, (str, bytes))]
    if len(nested) not in (0, dim):
        raise ValueError(f"sonic_points: expected {dim} sequences (dim), got {len(nested)}")
    rows: Sequence[object] = nested if nested else [points] * dim
    return [tuple(sorted(checked_numbers("sonic_points", row, "states"))) for row in rows]
