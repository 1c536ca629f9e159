"""What time stepping asks of a differential equation, and what the integration loop asks of a stepper."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ODE(Protocol):
    """du/dt = H(t,u) + P(t,u) (T1.2), with P linear in u and independent of t.

    The state is one array of any shape.  Every method returns a new array and leaves its arguments alone.
    """

    @property
    def has_diffusion(self) -> bool:
        """Whether P is there; otherwise ``rhs_parabolic`` and ``solve_parabolic`` are not called."""

    def rhs_hyperbolic(self, t: float, u: Array, /) -> Array:
        """Return H(t,u): convection, sources, reactions."""

    def rhs_parabolic(self, t: float, u: Array, /) -> Array:
        """Return P(t,u)."""

    def solve_parabolic(self, rhs: Array, shift: float, /) -> Array:
        """Return x with (I − shift · P) x = rhs, ``shift`` > 0; asked of implicit steppers only."""


class Stepper(Protocol):
    """One-step method.  A user's own stepper is any object with these three attributes.

    ``order`` is the order of convergence.  ``implicit`` says whether diffusion is treated implicitly, so that
    it does not limit the step.
    """

    @property
    def order(self) -> int:
        """Order of convergence."""

    @property
    def implicit(self) -> bool:
        """Whether the parabolic part is treated implicitly."""

    def step(self, ode: ODE, t: float, u: Array, dt: float, rate: Array, /) -> Array:
        """Return the value at t + dt as a new array; ``u`` is the value at t, ``rate`` = H(t,u) + P(t,u)."""
