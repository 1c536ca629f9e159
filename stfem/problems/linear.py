"""Linear advection–diffusion with an exact solution (REFERENCE problem of arXiv 2604.01200, in 1D, 2D, 3D)."""

from __future__ import annotations

import math

import numpy as np

from stfem.data import Trigonometric, cosine, sine
from stfem.data.base import Array
from stfem.equations import AdvectionDiffusion
from stfem.problems.domain import Torus
from stfem.problems.problem import Problem

VELOCITY = (1.0, 0.5, 0.25)


def linear_advection_diffusion(dim: int = 2, eps: float = 1e-3, final_time: float = 1.0) -> Problem:
    """∂_t u + a·∇u = ε Δu with a = (1, ½, ¼)_{1…d} on the unit torus.

    u = exp(−4dπ²εt) sin 2π(x − t) Π_{i>1} cos 2π(x_i − a_i t).

    Parameters
    ----------
    dim : int
        1, 2 or 3.
    eps : float
        ε ≥ 0.
    final_time : float
        T > 0.

    References
    ----------
    Giesselmann, Kwon, Krumscheid, arXiv 2604.01200 (dim = 2).
    """
    wave = 2.0 * math.pi
    initial: Trigonometric = sine(_unit(0, dim) * wave)
    for i in range(1, dim):
        initial = initial * cosine(_unit(i, dim) * wave)
    speed = VELOCITY[:dim]

    def factors(x: Array, t: float) -> tuple[list[Array], list[Array]]:
        phases = [wave * (x[i] - speed[i] * t) for i in range(dim)]
        values = [np.sin(phases[0]), *(np.cos(phase) for phase in phases[1:])]
        slopes = [wave * np.cos(phases[0]), *(-wave * np.sin(phase) for phase in phases[1:])]
        return values, slopes

    def decay(t: float) -> float:
        return math.exp(-dim * wave**2 * eps * t)

    def exact(x: Array, t: float) -> Array:
        return np.asarray(decay(t) * np.prod(factors(x, t)[0], axis=0))

    def gradient(x: Array, t: float) -> Array:
        values, slopes = factors(x, t)
        return decay(t) * np.stack(
            [np.prod([slopes[j] if j == i else values[j] for j in range(dim)], axis=0) for i in range(dim)]
        )

    equation = AdvectionDiffusion(velocity=speed, diffusion=eps)
    return Problem(
        equation, Torus((1.0,) * dim), initial, final_time, exact=exact, exact_gradient=gradient, name="linear_advection_diffusion"
    )


def _unit(direction: int, dim: int) -> Array:
    unit = np.zeros(dim)
    unit[direction] = 1.0
    return unit
