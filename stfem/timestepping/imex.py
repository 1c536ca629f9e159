"""Implicit-explicit Runge-Kutta steps: H explicit, P diagonally implicit."""

from __future__ import annotations

import numpy as np

from stfem.checks import checked_instance
from stfem.timestepping.explicit import ExplicitRungeKutta
from stfem.timestepping.rows import StageRows
from stfem.timestepping.stepper import ODE, Array, Writing
from stfem.timestepping.tableau import AdditiveTableau


class ImplicitExplicitRungeKutta:
    """Additive Runge-Kutta method: H explicit, P implicit, so that diffusion does not limit the step.

    Stage i solves U_i − dt·gamma P(t_i,U_i) = r_i, r_i = u + dt sum_{j<i} ( aE_ij H_j + aI_ij P_j ).  Then
    P(U_i) = (U_i − r_i)/(dt·gamma), without applying P: that saves an application, and where dt·P is large,
    P would blow up the rounding of U_i by ‖dt·P‖.  The cancellation in U_i − r_i where dt·P is small costs
    eps·|u|/dt in P_i, and P_i enters the result times dt.  At the first stage H is rate − P(t,u), which costs
    eps·|P(t,u)| and saves an evaluation of H; the two weights of P there are joined.

    The step ends with u_new = U_s + dt sum_j ( (b_j − aE_sj) H_j + (b_j − aI_sj) P_j ), which is the same as
    u + dt sum_j b_j (H_j + P_j); for a stiffly accurate pair the P_j, which cancel when stiff, drop out.

    All solves of an integration with constant dt share the one shift dt·gamma.  Without diffusion the
    explicit part steps alone.  One object must not step in two threads at once (workspace).
    """

    implicit = True

    def __init__(self, tableau: AdditiveTableau) -> None:
        self.tableau = checked_instance("tableau", tableau, AdditiveTableau, "an AdditiveTableau")
        self._explicit = ExplicitRungeKutta(tableau.explicit)
        self._gamma = float(tableau.implicit.gamma)
        self._c = np.array(tableau.explicit.c, dtype=float)
        # Quantity 2i is H_i, 2i + 1 is P_i; quantity 0 stands for the whole rate of the first stage.
        parts = (tableau.explicit, tableau.implicit)
        a = np.stack([np.array(part.a, dtype=float) for part in parts], axis=-1)
        closing = np.array(tableau.b, dtype=float)[:, None] - a[-1]
        a[np.diag_indices(len(a))] = 0.0  # what is solved for
        weights = np.concatenate([a, closing[None]]).reshape(len(a) + 1, -1)
        weights[:, 1] -= weights[:, 0]
        made = [(1,), *((2 * i + 1, 2 * i) for i in range(1, tableau.stages)), ()]
        self._rows = StageRows(weights, made)

    @property
    def order(self) -> int:
        """Order of convergence."""
        return self.tableau.order

    def step(self, ode: ODE, t: float, u: Array, dt: float, rate: Array) -> Array:
        """Return the value at t + dt; ``rate`` = H(t,u) + P(t,u)."""
        if not ode.has_diffusion:
            return self._explicit.step(ode, t, u, dt, rate)
        writing, rows, value = Writing(ode), self._rows, np.empty(u.shape)
        rows.fit(u.size)
        writing.parabolic(t, u, rows.of(1, u.shape))
        shift = dt * self._gamma
        for i in range(1, self.tableau.stages):
            parabolic = rows.of(2 * i + 1, u.shape)
            rows.combine(i, dt, rate, u, parabolic)
            writing.solve(t + self._c[i] * dt, parabolic, shift, value)
            np.subtract(value, parabolic, out=parabolic)
            parabolic /= shift
            writing.hyperbolic(t + self._c[i] * dt, value, rows.of(2 * i, u.shape))
        rows.combine(self.tableau.stages, dt, rate, value, value)
        return value

    def __repr__(self) -> str:
        return f"ImplicitExplicitRungeKutta({self.tableau.name})"
