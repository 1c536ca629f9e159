"""Explicit Runge-Kutta steps."""

from __future__ import annotations

import numpy as np

from stfem.timestepping.stepper import ODE, Array
from stfem.timestepping.tableau import ButcherTableau


class ExplicitRungeKutta:
    """Explicit Runge-Kutta method for H + P; diffusion limits the step to O(h²).

    The stages lie as rows of one workspace, kept from step to step, so that a stage value is a single
    matrix-vector product.  One object must therefore not step in two threads at once.

    Raises
    ------
    ValueError
        the tableau is implicit.
    """

    implicit = False

    def __init__(self, tableau: ButcherTableau) -> None:
        if not tableau.explicit:
            raise ValueError(f"expected an explicit tableau, got {tableau}")
        self.tableau = tableau
        # Stages of weight zero at the end (FSAL) only serve an error estimate.
        self._stages = max(i for i, weight in enumerate(tableau.b) if weight) + 1
        self._a = np.array(tableau.a, dtype=float)
        self._b = np.array(tableau.b[: self._stages], dtype=float)
        self._c = np.array(tableau.c, dtype=float)
        self._rates = np.empty((0, 0))

    @property
    def order(self) -> int:
        """Order of convergence."""
        return self.tableau.order

    def step(self, ode: ODE, t: float, u: Array, dt: float, rate: Array) -> Array:
        """Return the value at t + dt; ``rate`` = H(t,u) + P(t,u) is the first stage."""
        self._rates = workspace(self._rates, self._stages, u)
        self._rates[0] = rate.ravel()
        for i in range(1, self._stages):
            value = advance(u, dt * self._a[i, :i], self._rates[:i])
            time = t + self._c[i] * dt
            stage = self._rates[i].reshape(u.shape)
            stage[...] = ode.rhs_hyperbolic(time, value)
            if ode.has_diffusion:
                stage += ode.rhs_parabolic(time, value)
        return advance(u, dt * self._b, self._rates)

    def __repr__(self) -> str:
        return f"ExplicitRungeKutta({self.tableau.name})"


def advance(u: Array, weights: Array, rates: Array) -> Array:
    """Return u + sum_j weights_j rates_j, increments first: rounded only once at the size of ``u``."""
    value = (weights @ rates).reshape(u.shape)
    value += u
    return value


def workspace(old: Array, rows: int, u: Array) -> Array:
    """Return an uninitialised (rows, u.size) array, ``old`` itself where it fits."""
    return old if old.shape == (rows, u.size) else np.empty((rows, u.size))
