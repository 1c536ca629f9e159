"""Catalogue: scalar nonlinear problems with manufactured source."""

from __future__ import annotations

import math
from functools import reduce
from operator import mul

from stfem.data import cosine, sine
from stfem.equations import Burgers
from stfem.problems.arguments import check_dim, checked_eps
from stfem.problems.domain import Torus
from stfem.problems.manufactured import along, initial_value
from stfem.problems.problem import Problem

__all__ = ["viscous_burgers"]

_PI2 = 2.0 * math.pi


def viscous_burgers(dim: int = 2, eps: float = 1e-3, final_time: float = 0.1) -> Problem:
    """Burgers' equation with f_i = u²/2 on the unit torus (arXiv 2604.01200 for dim = 2).

        u = 2 + 0.2 sin 2π(x − 0.7t) cos 2π(y + 0.4t) cos 2π(z − 0.3t),   g = ∂_t u + u Σ_i ∂_i u − ε Δu

    with the factors that dim leaves; g is trigonometric.

    Parameters
    ----------
    dim : int
        1, 2 or 3.
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    check_dim(dim, (1, 2, 3))
    eps = checked_eps(eps)
    shifts = (-0.7, 0.4, -0.3)
    waves = [sine(along(dim, 0), _PI2 * shifts[0], amplitude=0.2)]
    waves += [cosine(along(dim, i), _PI2 * shifts[i]) for i in range(1, dim)]
    u = 2.0 + reduce(mul, waves)
    source = u.time_derivative()
    for i in range(dim):
        source = source + u * u.derivative(i) - eps * u.derivative(i).derivative(i)
    return Problem(Burgers(dim, eps), Torus((1.0,) * dim), initial_value(u), final_time, source, exact=u)
