"""Burgers' equation in any dimension."""

from __future__ import annotations

import numpy as np

from stfem.data.base import Array
from stfem.equations.scalar import ScalarConservationLaw

__all__ = ["Burgers"]


class Burgers(ScalarConservationLaw):
    """∂_t u + Σ_i ∂_i(u²/2) − ∇·(D ∇u) = g; f_i'' = 1, so 2μ = sup_x −Σ_i ∂_iû (T4).

    Parameters
    ----------
    dim : int
        Number of space dimensions.
    diffusion : float or array of shape (d, d)
        D = εA, symmetric positive semi-definite.
    """

    def __init__(self, dim: int = 1, diffusion: object = 0.0) -> None:
        super().__init__((0.0, 0.0, 0.5), dim=dim, diffusion=diffusion)

    def flux(self, u: Array, x: Array, t: float, direction: int) -> Array:
        result: Array = 0.5 * u
        result *= u
        return result

    def jacobian_product(self, u: Array, v: Array, x: Array, t: float, direction: int) -> Array:
        return u * v

    def wave_speed(self, u: Array, x: Array, t: float, direction: int) -> Array:
        return np.asarray(np.abs(u[0]))
