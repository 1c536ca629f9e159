"""Explicit Runge-Kutta steps."""

from __future__ import annotations

import numpy as np

from stfem.checks import checked_instance
from stfem.timestepping.rows import StageRows
from stfem.timestepping.stepper import ODE, Array, Writing
from stfem.timestepping.tableau import ButcherTableau


class ExplicitRungeKutta:
    """Explicit Runge-Kutta method for H + P; diffusion limits the step to O(h²).

    The rates of the stages lie in a workspace that is kept from step to step, and the value of a stage where
    the result will be. One object must therefore not step in two threads at once.

    Raises
    ------
    ValueError
        the tableau is implicit.
    """

    implicit = False

    def __init__(self, tableau: ButcherTableau) -> None:
        checked_instance("tableau", tableau, ButcherTableau, "a ButcherTableau")
        if not tableau.explicit:
            raise ValueError(f"expected an explicit tableau, got {tableau}")
        self.tableau = tableau
        # Stages of weight zero at the end (FSAL) only serve an error estimate.
        self._stages = stages = max(i for i, weight in enumerate(tableau.b) if weight) + 1
        weights = [row[:stages] for row in (*tableau.a[:stages], tableau.b)]
        made = [(), *((i,) for i in range(1, stages)), ()]
        self._rows = StageRows(np.array(weights, dtype=float), made)
        self._c = np.array(tableau.c, dtype=float)

    @property
    def order(self) -> int:
        """Order of convergence."""
        return self.tableau.order

    def step(self, ode: ODE, t: float, u: Array, dt: float, rate: Array) -> Array:
        """Return the value at t + dt; ``rate`` = H(t,u) + P(t,u) is the first stage."""
        writing, rows, value = Writing(ode), self._rows, np.empty(u.shape)
        rows.fit(u.size)
        for i in range(1, self._stages):
            rows.combine(i, dt, rate, u, value)
            writing.rhs(t + self._c[i] * dt, value, rows.of(i, u.shape))
        rows.combine(self._stages, dt, rate, u, value)
        return value

    def __repr__(self) -> str:
        return f"ExplicitRungeKutta({self.tableau.name})"
