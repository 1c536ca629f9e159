"""Viscous Burgers with a manufactured solution (arXiv 2604.01200, in 1D, 2D, 3D)."""

from __future__ import annotations

import math

from stfem.data import Trigonometric, cosine, sine
from stfem.equations import Burgers
from stfem.problems.domain import Torus
from stfem.problems.linear import _unit
from stfem.problems.manufactured import diffused, manufactured
from stfem.problems.problem import Problem

SPEEDS = (0.7, -0.4, 0.3)


def viscous_burgers(dim: int = 2, eps: float = 1e-3, final_time: float = 0.1) -> Problem:
    """∂_t u + Σ ∂_i(u²/2) = ε Δu + g on the unit torus, u = 2 + 0.2 sin 2π(x − 0.7t) cos 2π(y + 0.4t) [cos 2π(z − 0.3t)].

    Parameters
    ----------
    dim : int
        1, 2 or 3 (further factors are left out below).
    eps : float
        ε ≥ 0.
    final_time : float
        T > 0.

    References
    ----------
    Giesselmann, Kwon, Krumscheid, arXiv 2604.01200 (dim = 2).
    """
    wave = 2.0 * math.pi
    bump: Trigonometric = sine(_unit(0, dim) * wave, -wave * SPEEDS[0], amplitude=0.2)
    for i in range(1, dim):
        bump = bump * cosine(_unit(i, dim) * wave, -wave * SPEEDS[i])
    u = bump + 2.0
    equation = Burgers(dim, eps)
    source = u.time_derivative() - diffused(u, equation.diffusion)
    for i in range(dim):
        source = source + u * u.derivative(i)
    return manufactured(equation, Torus((1.0,) * dim), [u], [source], final_time, "viscous_burgers")
