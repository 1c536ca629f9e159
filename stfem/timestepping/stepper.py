"""What time stepping asks of a differential equation, and what the integration loop asks of a stepper."""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from stfem.semidiscretization import LinearSolver

Array = NDArray[np.float64]
#: Real or complex arrays.
Number = NDArray[Any]


class ODE(Protocol):
    """du/dt = H(t,u) + P(t,u) (T1.2), with P linear in u and independent of t.

    The state is one array of any shape.  Every method returns a new array and leaves its arguments alone.
    An ODE may also offer to write to given arrays, see `InPlaceODE`, may have a part of P that depends on t
    alone, see `DrivenODE`, and may know its Jacobian, see `ImplicitODE`.
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


class InPlaceODE(ODE, Protocol):
    """An ODE that says by `takes_out` that its methods take ``out``, an array to write the result to.

    Its `rhs` gives the sum of both right-hand sides at once. Steppers then reuse their arrays.
    """

    takes_out: bool

    def rhs(self, t: float, u: Array, /, out: Array | None = None) -> Array:
        """Return H(t,u) + P(t,u)."""

    def rhs_hyperbolic(self, t: float, u: Array, /, out: Array | None = None) -> Array:
        """Return H(t,u)."""

    def rhs_parabolic(self, t: float, u: Array, /, out: Array | None = None) -> Array:
        """Return P(t,u)."""

    def solve_parabolic(self, rhs: Array, shift: float, /, out: Array | None = None) -> Array:
        """Return x with (I − shift · P) x = rhs."""


class DrivenODE(ODE, Protocol):
    """An ODE with P(t,u) = L u + l(t), the load of boundary data; `solve_parabolic` solves with L alone."""

    def parabolic_load(self, t: float, /) -> Array | float:
        """Return l(t) = P(t,0)."""


class Jacobian(Protocol):
    """J = dF/du at one state."""

    def solve(self, rhs: Number, shift: complex, solver: LinearSolver | None = None, /) -> Number:
        """Return x with (I − shift · J) x = rhs, by ``solver`` where there is one."""


class ImplicitODE(ODE, Protocol):
    """An ODE that knows the Jacobian of F = H + P, for steppers that treat all of F implicitly."""

    @property
    def linear(self) -> bool:
        """Whether J depends neither on t nor on u."""

    def linearise(self, t: float, u: Array, /) -> Jacobian:
        """Return J at (t,u)."""


class Writing:
    """Right-hand sides of any ODE written to given arrays, without a copy where the ODE can do so itself."""

    def __init__(self, ode: ODE) -> None:
        self._ode = ode
        self._in_place = cast(InPlaceODE, ode) if getattr(ode, "takes_out", False) else None
        self._driven = cast(DrivenODE, ode) if hasattr(ode, "parabolic_load") else None

    def rhs(self, t: float, u: Array, out: Array) -> None:
        """``out`` = H(t,u) + P(t,u)."""
        if self._in_place is not None:
            self._in_place.rhs(t, u, out=out)
            return
        out[...] = self._ode.rhs_hyperbolic(t, u)
        if self._ode.has_diffusion:
            out += self._ode.rhs_parabolic(t, u)

    def hyperbolic(self, t: float, u: Array, out: Array) -> None:
        """``out`` = H(t,u)."""
        if self._in_place is not None:
            self._in_place.rhs_hyperbolic(t, u, out=out)
        else:
            out[...] = self._ode.rhs_hyperbolic(t, u)

    def parabolic(self, t: float, u: Array, out: Array) -> None:
        """``out`` = P(t,u)."""
        if self._in_place is not None:
            self._in_place.rhs_parabolic(t, u, out=out)
        else:
            out[...] = self._ode.rhs_parabolic(t, u)

    def solve(self, t: float, rhs: Array, shift: float, out: Array) -> None:
        """``out`` = x with x − shift · P(t,x) = rhs."""
        if self._in_place is not None:
            self._in_place.solve_parabolic(rhs, shift, out=out)
        elif self._driven is not None:
            out[...] = self._ode.solve_parabolic(rhs + shift * self._driven.parabolic_load(t), shift)
        else:
            out[...] = self._ode.solve_parabolic(rhs, shift)


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
