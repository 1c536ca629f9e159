"""Implicit-explicit Runge-Kutta steps: H explicit, P diagonally implicit."""

from __future__ import annotations

import numpy as np

from stfem.timestepping.explicit import ExplicitRungeKutta, advance, workspace
from stfem.timestepping.stepper import ODE, Array, Writing
from stfem.timestepping.tableau import AdditiveTableau


class ImplicitExplicitRungeKutta:
    """Additive Runge-Kutta method: H explicit, P implicit, so that diffusion does not limit the step.

    Stage i solves U_i − dt·gamma P(t_i,U_i) = r_i, r_i = u + dt sum_{j<i} ( aE_ij H_j + aI_ij P_j ).  Then
    P(U_i) = (U_i − r_i)/(dt·gamma), without applying P: that saves an application, and where dt·P is large,
    P would blow up the rounding of U_i by ‖dt·P‖.  The cancellation in U_i − r_i where dt·P is small costs
    eps·|u|/dt in P_i, and P_i enters the result times dt.  At the first stage H is rate − P(t,u), which costs
    eps·|P(t,u)| and saves an evaluation of H.

    The step ends with u_new = U_s + dt sum_j ( (b_j − aE_sj) H_j + (b_j − aI_sj) P_j ), which is the same as
    u + dt sum_j b_j (H_j + P_j); for a stiffly accurate pair the P_j, which cancel when stiff, drop out.

    All solves of an integration with constant dt share the one shift dt·gamma.  Without diffusion the
    explicit part steps alone.  One object must not step in two threads at once (workspace).
    """

    implicit = True

    def __init__(self, tableau: AdditiveTableau) -> None:
        self.tableau = tableau
        self._explicit = ExplicitRungeKutta(tableau.explicit)
        self._gamma = float(tableau.implicit.gamma)
        # Row 2j holds H_j, row 2j + 1 holds P_j; the coefficients are interleaved alike.
        self._a = np.stack(
            [np.array(part.a, dtype=float) for part in (tableau.explicit, tableau.implicit)], axis=-1
        )
        self._closing = np.repeat(np.array(tableau.b, dtype=float), 2) - self._a[-1].ravel()
        self._c = np.array(tableau.explicit.c, dtype=float)
        self._rates = np.empty((0, 0))
        self._values = np.empty((0, 0))

    @property
    def order(self) -> int:
        """Order of convergence."""
        return self.tableau.order

    def step(self, ode: ODE, t: float, u: Array, dt: float, rate: Array) -> Array:
        """Return the value at t + dt; ``rate`` = H(t,u) + P(t,u)."""
        if not ode.has_diffusion:
            return self._explicit.step(ode, t, u, dt, rate)
        self._rates = rates = workspace(self._rates, 2 * self.tableau.stages, u)
        self._values = workspace(self._values, 2, u)
        right, value = (row.reshape(u.shape) for row in self._values)
        writing = Writing(ode)
        writing.parabolic(t, u, rates[1].reshape(u.shape))
        np.subtract(rate.ravel(), rates[1], out=rates[0])
        shift = dt * self._gamma
        for i in range(1, self.tableau.stages):
            advance(u, dt * self._a[i, :i].ravel(), rates[: 2 * i], right)
            writing.solve(t + self._c[i] * dt, right, shift, value)
            writing.hyperbolic(t + self._c[i] * dt, value, rates[2 * i].reshape(u.shape))
            np.subtract(value.ravel(), right.ravel(), out=rates[2 * i + 1])
            rates[2 * i + 1] /= shift
        return advance(value, dt * self._closing, rates, np.empty(u.shape))

    def __getstate__(self) -> dict[str, object]:
        """What a copy needs: no workspace."""
        return {**vars(self), "_rates": np.empty((0, 0)), "_values": np.empty((0, 0))}

    def __repr__(self) -> str:
        return f"ImplicitExplicitRungeKutta({self.tableau.name})"
