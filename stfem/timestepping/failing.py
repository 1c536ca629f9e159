"""Why a run turned non-finite: the stage where it happened, a state without wave speeds, or the time step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stfem.failures import SolverError
from stfem.semidiscretization import AnySemidiscretization, Semidiscretization
from stfem.timestepping.explicit import ExplicitRungeKutta
from stfem.timestepping.imex import ImplicitExplicitRungeKutta
from stfem.timestepping.integrate import Node, NonFiniteError
from stfem.timestepping.limits import StepLimits
from stfem.timestepping.stepper import ODE, Array, Stepper

__all__ = ["CflError", "InadmissibleStateError", "diagnosed", "require_admissible"]

#: Part by which a step may exceed the stability limit for rounding.
_ROUNDING = 1e-9


class InadmissibleStateError(NonFiniteError):
    """A state without wave speeds, such as a negative depth, density or specific volume."""

    def __init__(
        self, equation: object, time: float, step: int, cell: Any, values: Array, advice: str = ""
    ) -> None:
        shown = ", ".join(f"{value:.4g}" for value in values)
        SolverError.__init__(
            self,
            f"the state ({shown}) in cell {cell} at time {time:.17g} (step {step}) is not admissible: "
            f"{equation!r} has no wave speeds there",
            time=time,
            step=step,
            cell=cell,
            values=values,
            advice=advice
            or "finer cells, another degree, a smaller time step or smoother data may keep the solution away "
            "from such states",
        )


class CflError(NonFiniteError):
    """The run blew up with a time step beyond the linear stability limit of its stepper.

    Attributes
    ----------
    dt, limit
        The time step, and the largest one that is linearly stable at the beginning.
    """

    def __init__(self, error: NonFiniteError, stepper: Stepper, dt: float, limit: float) -> None:
        SolverError.__init__(
            self,
            f"{str(error).split(';')[0]}: its time step {dt:.4g} is {dt / limit:.3g} times the stability "
            f"limit {limit:.4g} of {stepper!r}",
            time=error.time,
            step=error.step,
            advice=f"use dt ≤ {limit:.4g}, or leave dt out",
        )
        self.dt, self.limit = dt, limit


def diagnosed(
    error: NonFiniteError,
    semidiscretization: AnySemidiscretization,
    stepper: Stepper,
    dt: float,
    initial: Array,
    before: Node | None,
) -> NonFiniteError:
    """The error, or one that says more: what the last step shows when it is repeated.

    Parameters
    ----------
    error
        From the integration, or from an estimate.
    semidiscretization, stepper, dt, initial
        The run.
    before
        The last finite node, where there is one.
    """
    if before is None or type(error) is not NonFiniteError or error.time is None or error.step is None:
        return error
    if error.time > before.time:
        time, values = before.time, before.values
        time, values = _failing_stage(semidiscretization, stepper, before, dt) or (time, values)
        found = _without_speed(semidiscretization, time, values)
        if found is not None:
            equation = semidiscretization.problem.equation
            return InadmissibleStateError(equation, float(time), error.step, *found)
    if not isinstance(stepper, (ExplicitRungeKutta, ImplicitExplicitRungeKutta)):
        return error
    limit = StepLimits.of(semidiscretization, initial).stable_step(stepper)
    return CflError(error, stepper, dt, limit) if dt > (1.0 + _ROUNDING) * limit else error


def require_admissible(semidiscretization: AnySemidiscretization, values: Array, advice: str = "") -> None:
    """Check the initial values.

    Parameters
    ----------
    semidiscretization, values
        The scheme and U_0.
    advice
        What may help.

    Raises
    ------
    InadmissibleStateError
        For finite values without wave speeds.
    """
    found = _without_speed(semidiscretization, 0.0, values) if np.isfinite(values).all() else None
    if found is not None:
        raise InadmissibleStateError(semidiscretization.problem.equation, 0.0, 0, *found, advice)


@dataclass
class _Stage(Exception):
    """The first right-hand side of a step that is not finite."""

    time: float
    values: Array


class _Watched:
    """An ODE whose right-hand sides are checked; it writes to no arrays of others."""

    def __init__(self, ode: ODE) -> None:
        self._ode = ode

    def __getattr__(self, name: str) -> Any:
        if name == "takes_out":
            raise AttributeError(name)
        return getattr(self._ode, name)

    def rhs_hyperbolic(self, t: float, u: Array) -> Array:
        rate = self._ode.rhs_hyperbolic(t, u)
        if not np.isfinite(rate).all() and np.isfinite(u).all():
            raise _Stage(t, u.copy())
        return rate


def _failing_stage(ode: ODE, stepper: Stepper, node: Node, dt: float) -> tuple[float, Array] | None:
    """Time and value of the first stage after a node whose H is not finite."""
    watched = _Watched(ode)
    with np.errstate(all="ignore"):
        try:
            values = stepper.step(watched, node.time, node.values, dt, node.rate)
            watched.rhs_hyperbolic(node.time + dt, values)
        except _Stage as stage:
            return stage.time, stage.values
        except SolverError:
            return None
    return None


@np.errstate(all="ignore")
def _without_speed(
    semidiscretization: AnySemidiscretization, time: float, u: Array
) -> tuple[int | tuple[int, ...], Array] | None:
    """Cell and state ``(m,)`` of the first place where the equation has no finite wave speed."""
    states, x = semidiscretization.samples(u)
    equation = semidiscretization.problem.equation
    speeds = sum(equation.wave_speed(states, x, time, i) for i in range(len(x)))
    lost = np.broadcast_to(~np.isfinite(speeds), states.shape[1:]) & np.isfinite(states).all(axis=0)
    if not lost.any():
        return None
    cell, point = (int(k) for k in np.argwhere(lost.T)[0])
    return _cell_index(semidiscretization, cell), states[:, point, cell].copy()


def _cell_index(semidiscretization: AnySemidiscretization, cell: int) -> int | tuple[int, ...]:
    if not isinstance(semidiscretization, Semidiscretization):
        return cell
    return tuple(int(k) for k in np.unravel_index(cell, semidiscretization.grid.cells))
