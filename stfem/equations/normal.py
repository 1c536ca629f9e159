"""An equation seen along normals of facets: numerical fluxes need no other direction."""

from __future__ import annotations

import numpy as np

from stfem.data.base import Array
from stfem.equations.base import Equation
from stfem.equations.stability import Stability

__all__ = ["NormalEquation"]


class NormalEquation(Equation):
    """The convective flux n·f(u) of an equation, as direction 0; its wave speed is the normal one.

    Parameters
    ----------
    equation
        The equation in d dimensions.
    normals
        Unit normals ``(d, …)``, which broadcast with the states u[0].
    """

    def __init__(self, equation: Equation, normals: Array) -> None:
        self.dim, self.components = equation.dim, equation.components
        self.linear, self.isotropic = equation.linear, equation.isotropic
        self.flux_degree = equation.flux_degree
        self.equation, self.normals = equation, normals
        #: Σ_i n_i where f_i is the same in all directions, else None.
        self._total = normals.sum(axis=0) if equation.isotropic else None

    def flux(self, u: Array, x: Array, t: float, direction: int = 0) -> Array:
        """Σ_i n_i f_i(u, x, t)."""
        if self._total is not None:
            return np.asarray(self.equation.flux(u, x, t, 0) * self._total)
        result = self.normals[0] * self.equation.flux(u, x, t, 0)
        for i in range(1, self.dim):
            result += self.normals[i] * self.equation.flux(u, x, t, i)
        return np.asarray(result)

    def jacobian_product(self, u: Array, v: Array, x: Array, t: float, direction: int = 0) -> Array:
        """Σ_i n_i f_i'(u) v."""
        if self._total is not None:
            return np.asarray(self.equation.jacobian_product(u, v, x, t, 0) * self._total)
        result = self.normals[0] * self.equation.jacobian_product(u, v, x, t, 0)
        for i in range(1, self.dim):
            result += self.normals[i] * self.equation.jacobian_product(u, v, x, t, i)
        return np.asarray(result)

    def wave_speed(self, u: Array, x: Array, t: float, direction: int = 0) -> Array:
        """Largest |eigenvalue| of Σ_i n_i f_i'(u)."""
        if self._total is not None:
            return np.asarray(self.equation.wave_speed(u, x, t, 0) * np.abs(self._total))
        return self.equation.normal_wave_speed(u, x, t, self.normals)

    def sonic_points(self, direction: int = 0) -> tuple[float, ...] | None:
        """Those of the equation where one function serves all directions (n·f' is a multiple of f')."""
        return self.equation.sonic_points(0) if self.linear or self.isotropic else None

    @property
    def stability(self) -> Stability:
        """That of the equation."""
        return self.equation.stability
