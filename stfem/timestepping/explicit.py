"""Explicit Runge-Kutta steps."""

from __future__ import annotations

import numpy as np

from stfem.timestepping.stepper import ODE, Array, Writing
from stfem.timestepping.tableau import ButcherTableau


class ExplicitRungeKutta:
    """Explicit Runge-Kutta method for H + P; diffusion limits the step to O(h²).

    The rates of the stages lie as rows of one workspace, kept from step to step as the stage value is, so
    that the latter is a single matrix-vector product.  One object must therefore not step in two threads at
    once.

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
        self._value = np.empty((0, 0))

    @property
    def order(self) -> int:
        """Order of convergence."""
        return self.tableau.order

    def step(self, ode: ODE, t: float, u: Array, dt: float, rate: Array) -> Array:
        """Return the value at t + dt; ``rate`` = H(t,u) + P(t,u) is the first stage."""
        self._rates = workspace(self._rates, self._stages, u)
        self._value = workspace(self._value, 1, u)
        writing, value = Writing(ode), self._value.reshape(u.shape)
        self._rates[0] = rate.ravel()
        for i in range(1, self._stages):
            advance(u, dt * self._a[i, :i], self._rates[:i], value)
            writing.rhs(t + self._c[i] * dt, value, self._rates[i].reshape(u.shape))
        return advance(u, dt * self._b, self._rates, np.empty(u.shape))

    def __getstate__(self) -> dict[str, object]:
        """What a copy needs: no workspace."""
        return {**vars(self), "_rates": np.empty((0, 0)), "_value": np.empty((0, 0))}

    def __repr__(self) -> str:
        return f"ExplicitRungeKutta({self.tableau.name})"


def advance(u: Array, weights: Array, rates: Array, out: Array) -> Array:
    """Return u + sum_j weights_j rates_j in ``out``, increments first: rounded once at the size of ``u``."""
    np.matmul(weights, rates, out=out.reshape(-1))
    out += u
    return out


def workspace(old: Array, rows: int, u: Array) -> Array:
    """Return an uninitialised (rows, u.size) array, ``old`` itself where it fits."""
    return old if old.shape == (rows, u.size) else np.empty((rows, u.size))
