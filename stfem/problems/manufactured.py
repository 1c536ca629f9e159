"""Problems whose source is computed from a chosen trigonometric solution, exactly (method of manufactured solutions)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stfem.data import Data, Trigonometric
from stfem.data.base import Array
from stfem.equations import Equation
from stfem.problems.domain import Torus
from stfem.problems.problem import Problem


def frozen(field: Trigonometric) -> Trigonometric:
    """The field at t = 0."""
    return Trigonometric(field.wavevectors, np.zeros(len(field.wavevectors)), field.amplitudes)


def diffused(field: Trigonometric, matrix: Array) -> Trigonometric:
    """∇·(D∇u)."""
    total = field * 0.0
    for i, row in enumerate(matrix):
        for j, entry in enumerate(row):
            if entry != 0.0:
                total = total + field.derivative(i).derivative(j) * float(entry)
    return total


def manufactured(
    equation: Equation,
    domain: Torus,
    solution: Sequence[Trigonometric],
    source: Sequence[Data],
    final_time: float,
    name: str,
) -> Problem:
    """Problem with the exact solution given as one trigonometric polynomial per component."""
    slopes = [[u.derivative(i) for u in solution] for i in range(equation.dim)]
    scalar = equation.components == 1

    def exact(x: Array, t: float) -> Array:
        values = np.stack([u(x, t) for u in solution])
        return values[0] if scalar else values

    def gradient(x: Array, t: float) -> Array:
        values = np.stack([np.stack([slope(x, t) for slope in row]) for row in slopes])
        return values[:, 0] if scalar else values

    initial = [frozen(u) for u in solution]
    return Problem(
        equation,
        domain,
        initial[0] if scalar else initial,
        final_time,
        source=source[0] if scalar else list(source),
        exact=exact,
        exact_gradient=gradient,
        name=name,
    )
