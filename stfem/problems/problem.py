"""What is to be solved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stfem.checks import real_array
from stfem.data import Constant, Data, as_data, checked_function
from stfem.data.base import Array
from stfem.data.callables import check_arguments
from stfem.data.constant import as_number
from stfem.equations import Equation
from stfem.problems.agreement import check_boundary, check_initial
from stfem.problems.arguments import LARGEST, checked_number
from stfem.problems.bounded import Box, Domain, cell_numbers
from stfem.problems.conditions import Condition
from stfem.problems.domain import Region
from stfem.problems.exact import ExactData

__all__ = ["Problem"]

Field = Callable[..., Array]


@dataclass(frozen=True, eq=False)
class Problem:
    """Equation, domain, data and final time: find u with T1.1 on domain × [0, final_time].

    Data are numbers, `Data` (bounds are then guaranteed) or callables, one for all components or one for
    each. All is checked here once, callables with a probe; the attributes hold the normalised forms.

    Parameters
    ----------
    equation : Equation
        The physics.
    domain : Torus, Box or Domain
        Where, of the same dimension.
    initial : float, Data, callable u_0(x), or one per component
        Values of shape (m, ...), or x.shape[1:] for scalar equations. Attribute: tuple of m Data.
    final_time : float
        T > 0, from 1e-100 to 1e100.
    source : float, Data, callable g(x, t), or one per component, optional
        Attribute: tuple of m Data, zero by default.
    exact : float, Data, tuple of m of these, ExactData, or callable u(x, t), optional
        Exact solution, if known; as attribute with values of shape (m, ...). Errors against Data need no
        quadrature and are much cheaper.
    exact_gradient : callable, optional
        ∇u(x, t) of shape (d, m, ...), (d, ...) for scalar equations; as attribute always (d, m, ...).
        Default: the derivatives of exact Data, where they are known.

    Raises
    ------
    ValueError, TypeError
        Naming what does not fit, with expected and got; also for an equation that contradicts itself, a
        velocity that is not periodic, and an exact solution that does not start at `initial` or contradicts
        the boundary data.
    """

    equation: Equation
    domain: Region
    initial: tuple[Data, ...]
    final_time: float
    source: tuple[Data, ...]
    exact: Field | None
    exact_gradient: Field | None

    def __init__(
        self,
        equation: Equation,
        domain: Region,
        initial: object,
        final_time: float,
        source: object = None,
        exact: object = None,
        exact_gradient: Callable[..., object] | None = None,
    ) -> None:
        if not isinstance(equation, Equation):
            raise TypeError(f"equation: expected an Equation, got {type(equation).__name__}")
        if not isinstance(domain, Region):
            raise TypeError(f"domain: expected a Torus, Box or Domain, got {type(domain).__name__}")
        d, m = equation.dim, equation.components
        if domain.dim != d:
            raise ValueError(f"domain: expected dimension {d} as of the equation, got {domain.dim}")
        # far below, the squares of rates of change overflow
        duration = checked_number("final_time", final_time, "positive and finite,", 1.0 / LARGEST)
        equation.check()
        solution = None if exact is None else _exact(exact, d, m)
        fields = {
            "equation": equation,
            "domain": domain,
            "initial": as_data(initial, d, m, "initial", with_time=False),
            "final_time": duration,
            "source": as_data(0.0 if source is None else source, d, m, "source"),
            "exact": solution,
            "exact_gradient": _slopes(solution)
            if exact_gradient is None
            else _Gradient(exact_gradient, d, m),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check_boundary()
        self._check_subdomains()
        if self.equation.linear:
            self._check_velocity()
        if solution is not None:
            check_initial(self, solution)
            check_boundary(self, solution)

    def _check_boundary(self) -> None:
        if not isinstance(self.domain, (Box, Domain)):
            return
        given = self.domain.boundary
        for name, condition in ({"boundary": given} if isinstance(given, Condition) else given).items():
            condition.data(self.equation.dim, self.equation.components, f"boundary {name!r}")
            condition.transfer(self.equation.dim, f"boundary {name!r}")

    def _check_subdomains(self) -> None:
        names = self.equation.subdomain_diffusion
        if names is None:
            return
        if not isinstance(self.domain, Domain):
            raise ValueError(
                f"diffusion: expected a number or a matrix on {self.domain!r}, which has no subdomains, "
                f"got {self.equation.described_diffusion}"
            )
        cell_numbers(self.domain.mesh(), list(names))

    def _check_velocity(self) -> None:
        """b·n must not jump across a periodic seam: ∇·b would hold a measure there (T4)."""
        velocity = self.equation.velocity
        if all(b.constant for b in velocity):
            return
        for seam in self.domain.seams(np.random.default_rng(3)):
            for t in (0.0, 0.41 * self.final_time):
                ends = [
                    sum(n * b(x, t) for n, b in zip(seam.normals, velocity, strict=True))
                    for x in (seam.left, seam.right)
                ]
                if np.max(np.abs(ends[0] - ends[1])) > 1e-8 * (1.0 + np.max(np.abs(ends))):
                    raise ValueError(
                        f"velocity: expected {seam.label}, got {ends[0][0]} and {ends[1][0]} on the two sides"
                    )


def _exact(given: object, dim: int, components: int) -> Field:
    """What a user passes for u: with values of shape (m, ...), and with modes where it is made of data."""
    if isinstance(given, Data):
        given = ExactData([given])
    elif isinstance(given, (tuple, list)):
        numbers = [as_number(entry) for entry in given]
        entries = zip(numbers, given, strict=True)
        given = ExactData([entry if n is None else Constant(n, dim) for n, entry in entries])
    elif not isinstance(given, ExactData):
        if callable(given):
            return checked_function(given, dim, components, "exact")
        given = ExactData(as_data(given, dim, components, "exact"))
    if given.dim != dim or given.entries.shape != (components,):
        got = f"{given.entries.shape} and dimension {given.dim}"
        raise ValueError(f"exact: expected data of shape ({components},) and dimension {dim}, got {got}")
    return given


def _slopes(exact: Field | None) -> Field | None:
    """∇u where the data of u know it."""
    if not isinstance(exact, ExactData):
        return None
    try:
        return exact.gradient()
    except TypeError:
        return None


class _Gradient:
    """A callable with values of shape (d, m, ...), or (d, ...) for m = 1; checked on every call."""

    def __init__(self, function: Callable[..., object], dim: int, components: int) -> None:
        if not callable(function):
            raise TypeError(f"exact_gradient: expected a callable, got {type(function).__name__}")
        check_arguments(function, "exact_gradient", "x", "t")
        self.function, self.dim, self.components = function, dim, components
        for shape in ((3,), (2, 3)):
            self(np.full((dim, *shape), 0.3))

    def __call__(self, x: ArrayLike, t: float = 0.0) -> Array:
        points = np.asarray(x, dtype=np.float64)
        values = real_array(self.function(points, t), "exact_gradient")
        full = (self.dim, self.components, *points.shape[1:])
        if values.shape != full and self.components == 1 and values.shape == points.shape:
            values = values[:, None]
        if values.shape != full:
            raise ValueError(f"exact_gradient: expected shape {full}, got {values.shape}")
        return values
