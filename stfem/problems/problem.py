"""What to solve."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from stfem.data import Data, as_data
from stfem.data.base import Array
from stfem.data.callables import CheckedFunction
from stfem.equations import Equation
from stfem.problems.domain import Torus

Field = Callable[[Array, float], Array]


class Problem:
    """An equation with domain, initial value, source and final time, and the exact solution where it is known.

    Parameters
    ----------
    equation : Equation
        Physics; checked once against itself.
    domain : Torus
        Domain of the same dimension.
    initial : number, Data, callable or a sequence of these
        u_0. A callable takes x of shape (dim, ...) and returns x.shape[1:] (scalar) or (m, ...) (system).
    final_time : float
        T > 0.
    source : the same, optional
        g; a callable takes (x, t). None is zero.
    exact, exact_gradient : callable (x, t), optional
        u, shaped like the initial value; its gradient (dim, ...) or (dim, m, ...). Used for true errors only, never in a bound.
    name : str
        For tables and records.

    Raises
    ------
    ValueError, TypeError
        For dimensions, shapes or times that do not fit.

    Attributes
    ----------
    initial, source : tuple of m Data
    exact, exact_gradient : callables with values (m, ...) and (dim, m, ...), or None
    """

    def __init__(
        self,
        equation: Equation,
        domain: Torus,
        initial: object,
        final_time: float,
        source: object = None,
        exact: Callable[..., object] | None = None,
        exact_gradient: Callable[..., object] | None = None,
        name: str = "problem",
    ) -> None:
        if not isinstance(equation, Equation):
            raise TypeError(f"equation: expected an Equation, got {type(equation).__name__}")
        if not isinstance(domain, Torus):
            raise TypeError(f"domain: expected a Torus, got {type(domain).__name__}")
        if equation.dim != domain.dim:
            raise ValueError(f"domain: expected dimension {equation.dim} as the equation's, got {domain.dim}")
        if not (math.isfinite(final_time) and final_time > 0.0):
            raise ValueError(f"final_time: expected a positive finite number, got {final_time}")
        equation.check()
        self.equation, self.domain, self.final_time, self.name = equation, domain, float(final_time), name
        m, dim = equation.components, equation.dim
        self.initial: tuple[Data, ...] = as_data(initial, dim, m, "initial", with_time=False)
        self.source: tuple[Data, ...] = as_data(0.0 if source is None else source, dim, m, "source", with_time=True)
        self.exact: Field | None = None if exact is None else CheckedFunction(exact, dim, m, "exact")
        self.exact_gradient: Field | None = None if exact_gradient is None else _gradient(exact_gradient, dim, m)

    def __repr__(self) -> str:
        return (
            f"Problem({self.name!r}, {self.equation!r}, {self.domain!r}, final_time={self.final_time:g}, "
            f"exact={'known' if self.exact is not None else 'unknown'})"
        )


def _gradient(function: Callable[..., object], dim: int, components: int) -> Field:
    """exact_gradient as a callable with values (dim, m, ...)."""
    flat = CheckedFunction(_flattened(function, dim, components), dim, dim * components, "exact_gradient")

    def gradient(x: Array, t: float) -> Array:
        values = flat(x, t)
        return values.reshape(dim, components, *values.shape[1:])

    return gradient


def _flattened(function: Callable[..., object], dim: int, components: int) -> Callable[[Array, float], Array]:
    def flattened(x: Array, t: float) -> Array:
        values = np.asarray(function(x, t), dtype=float)
        expected = (dim, components, *x.shape[1:]) if components > 1 else (dim, *x.shape[1:])
        if values.shape not in (expected, (dim, components, *x.shape[1:])):
            raise ValueError(f"exact_gradient: expected shape {expected}, got {values.shape}")
        return values.reshape(dim * components, *x.shape[1:])

    return flattened
