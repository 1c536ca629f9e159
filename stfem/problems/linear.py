"""Catalogue: linear advection–diffusion."""

from __future__ import annotations

import math
from functools import reduce
from operator import mul

from stfem.data import cosine, sine
from stfem.equations import AdvectionDiffusion
from stfem.problems.arguments import check_dim, checked_eps
from stfem.problems.domain import Torus
from stfem.problems.exact import ExactData
from stfem.problems.manufactured import along, initial_value
from stfem.problems.problem import Problem

__all__ = ["linear_advection_diffusion", "sheared_pulse"]

_PI2 = 2.0 * math.pi


def linear_advection_diffusion(dim: int = 2, eps: float = 1e-3, final_time: float = 1.0) -> Problem:
    """Transport of a decaying wave with b = (1, 1/2, 1/4) on the unit torus.

    No source (arXiv 2604.01200 for dim = 2).

        u = exp(−4π² d ε t) sin 2π(x − t) cos 2π(y − t/2) cos 2π(z − t/4)

    with the factors that dim = d leaves.

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
    speeds = (1.0, 0.5, 0.25)[:dim]
    waves = [wave(along(dim, i), -_PI2 * speeds[i]) for i, wave in enumerate([sine, cosine, cosine][:dim])]
    moving = reduce(mul, waves)
    exact = ExactData([moving], decay=dim * eps * _PI2**2)
    equation = AdvectionDiffusion(speeds, eps)
    return Problem(equation, Torus((1.0,) * dim), initial_value(moving), final_time, exact=exact)


def sheared_pulse(dim: int = 2, eps: float = 1e-3, final_time: float = 1.0) -> Problem:
    """A pulse in a non-constant divergence-free velocity b_i = ½ + ½ sin 2πx_{i−1} (indices cyclic).

        u = Π_i cos⁴ π(x_i − ½ − t/2),   g = ∂_t u + b·∇u − ε Δu

    The pulse moves with the mean velocity; g holds what the shear would do to it. In two dimensions the flow
    has stagnation points with closed streamlines around them.

    Parameters
    ----------
    dim : int
        2 or 3 (in one dimension a divergence-free velocity is constant).
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    check_dim(dim, (2, 3))
    eps = checked_eps(eps)
    velocity = [0.5 + sine(along(dim, (i - 1) % dim), amplitude=0.5) for i in range(dim)]
    hats = [0.5 + cosine(along(dim, i), -0.5 * _PI2, -math.pi, 0.5) for i in range(dim)]
    u = reduce(mul, [hat * hat for hat in hats])
    source = u.time_derivative()
    for i in range(dim):
        source = source + velocity[i] * u.derivative(i) - eps * u.derivative(i).derivative(i)
    equation = AdvectionDiffusion(tuple(velocity), eps)
    return Problem(equation, Torus((1.0,) * dim), initial_value(u), final_time, source, exact=u)
