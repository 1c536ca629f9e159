"""Problems without time."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from stfem.data import Data, as_data
from stfem.data.callables import check_arguments
from stfem.equations import Equation
from stfem.problems.arguments import LARGEST, checked_number
from stfem.problems.bounded import Box, Domain
from stfem.problems.conditions import Condition
from stfem.problems.domain import Region, UnsupportedDomainError
from stfem.problems.exact import ExactData
from stfem.problems.problem import Field, Problem

__all__ = ["StationaryProblem"]

#: Times at which data have to agree, and how closely, relative to their size.
_TIMES, _TOLERANCE = (0.0, 0.43, 1.7), 1e-12


@dataclass(frozen=True, eq=False)
class StationaryProblem:
    """Find u with ∇·f(u) + cu − ∇·(D∇u) = g on a domain with a boundary, or periodic in some directions.

    Parameters
    ----------
    equation : Equation
        The physics; its coefficients must not depend on time.
    domain : Box or Domain
        Where, with boundary conditions whose data g(x, t) must not depend on t.
    source : float, Data, callable g(x), or one per component, optional
        Attribute: tuple of m Data, zero by default.
    exact : float, Data, callable u(x), or one per component, optional
        Exact solution, if known.
    exact_gradient : callable, optional
        ∇u(x) of shape (d, m, ...), (d, ...) for scalar equations.
    mean : float
        Mean of u, where the data determine it only up to a multiple of one function: nothing reacts, and no
        values are given on the boundary. Elsewhere another number than 0 is an error.

    Raises
    ------
    ValueError, TypeError
        As for `Problem`, and for data that depend on time, naming them.
    UnsupportedDomainError
        On a `Torus`; ``Domain(mesh, periodic=(0, 1))`` has no boundary either.
    """

    equation: Equation
    domain: Box | Domain
    source: tuple[Data, ...]
    exact: Field | None
    exact_gradient: Field | None
    mean: float

    def __init__(
        self,
        equation: Equation,
        domain: Region,
        source: object = None,
        exact: object = None,
        exact_gradient: Callable[..., object] | None = None,
        mean: float = 0.0,
    ) -> None:
        if not isinstance(equation, Equation):
            raise TypeError(f"equation: expected an Equation, got {type(equation).__name__}")
        if not isinstance(domain, (Box, Domain)):
            raise UnsupportedDomainError(
                f"domain: expected a Box or Domain for a stationary problem, got {type(domain).__name__}; "
                "Domain(mesh, periodic=…) may be periodic in every direction"
            )
        d, m = equation.dim, equation.components
        given = as_data(0.0 if source is None else source, d, m, "source", with_time=False)
        timed = _timed(exact, "exact")
        gradient: Any = _timed(exact_gradient, "exact_gradient")
        start = 0.0 if exact is None else exact
        rests = Problem(equation, domain, start, 1.0, given, timed, gradient)  # checks all of it
        for name in ("equation", "domain", "source", "exact", "exact_gradient"):
            object.__setattr__(self, name, getattr(rests, name))
        object.__setattr__(self, "mean", checked_number("mean", mean, "a mean value", -LARGEST))
        self._check_steady()
        self._check_mean()

    def _check_mean(self) -> None:
        """A mean can be asked for only where nothing determines it."""
        given = self.domain.boundary
        conditions = [given] if isinstance(given, Condition) else list(given.values())
        determined = any(c.trace or not c.transfer(self.equation.dim, "boundary").is_zero for c in conditions)
        if self.mean != 0.0 and (determined or not self.equation.reaction.is_zero):
            raise ValueError(
                "mean: expected none where a reaction, given values or a Robin condition determine the "
                f"solution, got {self.mean:g}"
            )

    def _check_steady(self) -> None:
        equation, given = self.equation, self.domain.boundary
        data: list[tuple[str, Data]] = [("reaction", equation.reaction)]
        if equation.linear:
            data += [("velocity", b) for b in equation.velocity]
        data += [("source", g) for g in self.source]
        for name, condition in ({"boundary": given} if isinstance(given, Condition) else given).items():
            label = f"boundary {name!r}"
            data += [(label, g) for g in condition.data(equation.dim, equation.components, label)]
            data.append((label, condition.transfer(equation.dim, label)))
        fields: list[tuple[str, Field]] = [(name, datum) for name, datum in data if datum.time_dependent]
        if self.exact is not None:
            fields.append(("exact", self.exact))
        x = self.domain.sample(np.random.default_rng(7), 16)
        for name, field in fields:
            first, *later = (field(x, t) for t in _TIMES)
            change = max(float(np.abs(values - first).max()) for values in later)
            if change > _TOLERANCE * (1.0 + float(np.abs(first).max())):
                raise ValueError(
                    f"{name}: expected data that do not depend on time for a stationary problem, got a "
                    f"change by {change:.3g} between t = {_TIMES[0]:g} and {_TIMES[-1]:g}"
                )

    def on(self, domain: Domain) -> StationaryProblem:
        """The same problem on another mesh of its domain, such as `stfem.adaptivity.refine` makes one."""
        result = copy(self)
        object.__setattr__(result, "domain", domain)
        return result

    def in_time(self, final_time: float, initial: object = 0.0) -> Problem:
        """The problem in time that has u as its state of rest, from u_0 up to T."""
        return Problem(self.equation, self.domain, initial, final_time, self.source)


def _timed(given: object, name: str) -> object:
    """f(x) as f(x, t); other data as they are."""
    if isinstance(given, (tuple, list)):
        return [entry if isinstance(entry, (tuple, list)) else _timed(entry, name) for entry in given]
    if isinstance(given, (Data, ExactData)) or not callable(given):
        return given
    check_arguments(given, name, "x")
    return _Steady(given)


@dataclass(frozen=True)
class _Steady:
    """f(x) as a function of (x, t)."""

    function: Callable[..., Any]

    def __call__(self, x: Any, t: float) -> Any:
        return self.function(x)
