"""Tools for problems that are made for a known solution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stfem.data import Trigonometric
from stfem.equations import AdvectionDiffusion
from stfem.problems.bounded import Box, Domain
from stfem.problems.conditions import Condition

__all__ = ["along", "balance", "initial_value", "on_unit_cube", "power_series", "pruned"]

_SERIES_TERMS = 19  # of (1 + s)^γ in powers of s


def along(dim: int, direction: int, wavenumber: float = 2.0 * math.pi) -> list[float]:
    """Wave vector k e_i."""
    return [wavenumber if i == direction else 0.0 for i in range(dim)]


def initial_value(u: Trigonometric) -> Trigonometric:
    """The field u(·, 0), independent of time."""
    return Trigonometric(u.wavevectors, np.zeros(len(u.frequencies)), u.amplitudes)


def balance(equation: AdvectionDiffusion, u: Trigonometric) -> Trigonometric:
    """The source ∂_t u + b·∇u + cu − ∇·(D∇u) of a divergence-free velocity, numbers or trigonometric."""
    total = u.time_derivative() + u * equation.reaction
    for i, b in enumerate(equation.velocity):
        slope = u.derivative(i)
        total = total + slope * b
        for j, entry in enumerate(equation.diffusion[i]):
            total = total - slope.derivative(j) * float(entry)
    return total


def on_unit_cube(dim: int, boundary: Mapping[str, Condition] | Condition, mesh: Any = None) -> Box | Domain:
    """(0, 1)^d, or the domain of a scikit-fem mesh that covers it and names its sides where they differ."""
    return Box((0.0,) * dim, (1.0,) * dim, boundary) if mesh is None else Domain(mesh, boundary)


def power_series(
    s: Trigonometric, exponent: float, size: float, steepness: float
) -> tuple[Trigonometric, float]:
    """(1 + s)^γ without powers of s from n = 19 on, and a bound of the gradient of what is left out.

    With |s| ≤ r = size ≤ 1/4, |∂_i s| ≤ steepness and the binomial coefficients c_k, the components of that
    gradient are at most Σ_{k≥n} |c_k| k r^{k−1} steepness. From one k to the next |c_k| k grows by the factor
    |γ − k|/k ≤ 1 + |γ|/n. Nothing is left out where γ is a whole number from 0 to n − 1.

    Parameters
    ----------
    s
        Trigonometric polynomial.
    exponent
        γ.
    size, steepness
        Bounds of |s| and of |∂_i s|.
    """
    n, coefficient = _SERIES_TERMS, 1.0
    result = power = Trigonometric.number(1.0, s.dim)
    for k in range(1, n):
        coefficient *= (exponent - k + 1) / k
        if coefficient == 0.0:
            return result, 0.0
        power = power * s
        result = result + coefficient * power
    first = abs(coefficient * (exponent - n + 1))  # |c_n| n
    ratio = (1.0 + abs(exponent) / n) * size
    return result, first * size ** (n - 1) * steepness / (1.0 - ratio) * (1.0 + 1e-12)


def pruned(u: Trigonometric, allowance: float) -> tuple[Trigonometric, float]:
    """Without the smallest terms, and the supremum bound of what they add, at most `allowance`."""
    size = np.abs(u.amplitudes)
    order = np.argsort(size)
    dropped = np.zeros(len(size), dtype=bool)
    dropped[order[np.cumsum(size[order]) <= allowance]] = True
    kept = Trigonometric(u.wavevectors[~dropped], u.frequencies[~dropped], u.amplitudes[~dropped])
    return kept, float(size[dropped].sum()) * (1.0 + 1e-12)
