"""Fully implicit Runge-Kutta steps: all of F = H + P, Newton's method with the Jacobian of the scheme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

import numpy as np

from stfem.checks import checked_instance
from stfem.semidiscretization import LinearSolver, SolveError, checked_solver
from stfem.timestepping.radau import ImplicitTableau
from stfem.timestepping.stepper import ODE, Array, ImplicitODE, Jacobian, Number, Writing
from stfem.timestepping.tableau import ButcherTableau

__all__ = ["DiagonallyImplicitRungeKutta", "ImplicitRungeKutta"]

#: Last correction, relative to the state, at which an iteration ends; where rounding stops it earlier.
_TOLERANCE, _STALLED = 1e-12, 1e-9
#: Ratio of two corrections from which on the Jacobian is made anew.
_SLOW = 0.1
_ITERATIONS = 30


class Solver(Protocol):
    """Correction for a residual, with the Jacobian at one iterate."""

    def __call__(self, residual: Array, /) -> Array:
        """Return J^{-1} residual."""


def newton(
    residual: Callable[[Array], Array],
    linearise: Callable[[Array], Solver],
    solve: Solver,
    start: Array,
    scale: float,
    linear: bool,
) -> Array:
    """Return z with residual(z) = 0.

    The first Jacobian, in ``solve``, serves as long as corrections shrink by a factor of ten; then it is made
    anew.  A linear system takes one correction.

    Raises
    ------
    SolveError
        with the last correction relative to ``scale`` and z, where 30 corrections do not suffice.
    """
    z = start
    last = level = np.inf
    for _ in range(_ITERATIONS):
        correction = solve(residual(z))
        z = z - correction
        size, level = float(np.linalg.norm(correction)), scale + float(np.linalg.norm(z))
        if linear or size <= _TOLERANCE * level or not np.isfinite(size):
            return z
        if size > _SLOW * last or last == np.inf:
            if size > 0.5 * last and size <= _STALLED * level:
                return z
            if last < np.inf:
                solve = linearise(z)
        last = size
    raise SolveError("Newton's iteration", last / level)


class ImplicitRungeKutta:
    """Fully implicit method, such as Radau IIA: no step limit from convection, diffusion or reaction.

    The stages Z_i = dt sum_j a_ij F(t + c_j dt, u + Z_j) are solved together.  With a = T diag(lambda) T^{-1}
    Newton's system splits into one of the size of u per eigenvalue, (I − dt·lambda J) w = r; of two conjugate
    ones the second is not needed.  Linear problems with constant coefficients keep their factorisations.

    Parameters
    ----------
    tableau : coefficients with distinct eigenvalues, such as `RADAU5`.
    solver : how linear systems are solved, such as `stfem.Gmres()`; by a direct factorisation by default.
    """

    implicit = True

    def __init__(self, tableau: ImplicitTableau, solver: LinearSolver | None = None) -> None:
        self.tableau = checked_instance("tableau", tableau, ImplicitTableau, "an ImplicitTableau")
        self.solver = None if solver is None else checked_solver(solver)
        values, vectors = np.linalg.eig(tableau.a)
        inverse = np.linalg.inv(vectors)
        # (eigenvalue, column of T, row of T^{-1}); a pair counts twice
        self._modes = [
            (complex(value), vectors[:, k] * (2.0 if value.imag > 0.0 else 1.0), inverse[k])
            for k, value in enumerate(values)
            if value.imag >= 0.0
        ]

    @property
    def order(self) -> int:
        """Order of convergence."""
        return self.tableau.order

    def step(self, ode: ODE, t: float, u: Array, dt: float, rate: Array) -> Array:
        """Return the value at t + dt; ``rate`` is not needed."""
        known, writing = implicit_ode(ode), Writing(ode)
        times = t + self.tableau.c * dt
        start = np.zeros((self.tableau.stages, *u.shape))
        rates = np.empty_like(start)

        def residual(z: Array) -> Array:
            for time, stage, out in zip(times, z, rates, strict=True):
                writing.rhs(float(time), u + stage, out)
            return np.asarray(z - dt * np.tensordot(self.tableau.a, rates, axes=1))

        def linearise(z: Array) -> Solver:
            jacobian = known.linearise(t + 0.5 * dt, u + z.mean(axis=0))

            def solve(right: Array) -> Array:
                result = np.zeros_like(right)
                for value, column, row in self._modes:
                    part = np.tensordot(row, right, axes=1)
                    if value.imag == 0.0:
                        real = np.ascontiguousarray(part.real)
                        solved = solved_shifted(jacobian, real, dt * value.real, self.solver)
                    else:
                        solved = solved_shifted(jacobian, part, dt * value, self.solver)
                    result += np.multiply.outer(column, solved).real
                return result

            return solve

        z = newton(residual, linearise, linearise(start), start, float(np.linalg.norm(u)), known.linear)
        return np.asarray(u + z[-1])

    def __repr__(self) -> str:
        return f"ImplicitRungeKutta({self.tableau.name}{solved_by(self.solver)})"


class DiagonallyImplicitRungeKutta:
    """Diagonally implicit method with explicit first stage (ESDIRK), such as ``ARK548L2SA.implicit``.

    Stage i solves U_i − dt·gamma F(t_i,U_i) = r_i = u + dt sum_{j<i} a_ij F_j; then
    F_i = (U_i − r_i)/(dt·gamma).

    Parameters
    ----------
    tableau : implicit and stiffly accurate.
    solver : as for `ImplicitRungeKutta`.

    Raises
    ------
    ValueError
        the tableau is explicit or not stiffly accurate.
    """

    implicit = True

    def __init__(self, tableau: ButcherTableau, solver: LinearSolver | None = None) -> None:
        checked_instance("tableau", tableau, ButcherTableau, "a ButcherTableau")
        if tableau.explicit or not tableau.stiffly_accurate:
            raise ValueError(f"expected an implicit, stiffly accurate tableau, got {tableau}")
        self.tableau = tableau
        self.solver = None if solver is None else checked_solver(solver)
        self._a = np.array(tableau.a, dtype=float)
        self._c = np.array(tableau.c, dtype=float)

    @property
    def order(self) -> int:
        """Order of convergence."""
        return self.tableau.order

    def step(self, ode: ODE, t: float, u: Array, dt: float, rate: Array) -> Array:
        """Return the value at t + dt; ``rate`` = F(t,u) is the first stage."""
        known, writing = implicit_ode(ode), Writing(ode)
        shift = dt * float(self.tableau.gamma)
        scale = float(np.linalg.norm(u))

        def linearise(z: Array) -> Solver:
            jacobian = known.linearise(t + 0.5 * dt, z)
            return lambda left: solved_shifted(jacobian, left, shift, self.solver)

        rates, value, solve = [rate], u, linearise(u)
        for i in range(1, self.tableau.stages):
            time = t + float(self._c[i]) * dt
            right = u + dt * np.tensordot(self._a[i, :i], np.stack(rates), axes=1)

            def residual(z: Array, time: float = time, right: Array = right) -> Array:
                out = np.empty_like(z)
                writing.rhs(time, z, out)
                return np.asarray(z - right - shift * out)

            value = newton(residual, linearise, solve, value, scale, known.linear)
            rates.append((value - right) / shift)
        return value

    def __repr__(self) -> str:
        return f"DiagonallyImplicitRungeKutta({self.tableau.name}{solved_by(self.solver)})"


def solved_shifted(jacobian: Jacobian, rhs: Number, shift: complex, solver: LinearSolver | None) -> Number:
    """x with (I − shift·J) x = rhs; a user's own Jacobian need not know of solvers."""
    return jacobian.solve(rhs, shift) if solver is None else jacobian.solve(rhs, shift, solver)


def solved_by(solver: LinearSolver | None) -> str:
    """A solver among the arguments of a stepper."""
    return "" if solver is None else f", {solver!r}"


def implicit_ode(ode: ODE) -> ImplicitODE:
    """The ODE, if it knows its Jacobian.

    Raises
    ------
    TypeError
        otherwise; on a torus only diffusion is stepped implicitly.
    """
    if not hasattr(ode, "linearise"):
        raise TypeError(
            "stepper: expected an explicit or implicit-explicit one where no Jacobian matrix is known "
            f"(problems on a Torus), got a fully implicit one for {type(ode).__name__}"
        )
    return cast(ImplicitODE, ode)
