"""User callables: shapes checked on every call, projected by composite Gauss rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from stfem.checks import checked_flag, checked_whole, float_array, real_array
from stfem.data.base import Array, Data, Projection, Slab, checked_time
from stfem.data.sampling import Rule, project_sampled
from stfem.meshes.grid import TensorGrid

__all__ = [
    "MAX_COMPONENTS",
    "CallableData",
    "CheckedFunction",
    "check_arguments",
    "checked_function",
    "takes",
]

#: Components of a system, at most.
MAX_COMPONENTS = 1000
_PROBE = (np.array([0.1137, 0.4621, 0.8753]), np.array([[0.0719, 0.3331, 0.9041], [0.2287, 0.5573, 0.6899]]))


def takes(function: Callable[..., object], *arguments: str) -> bool:
    """Whether a function can be called with so many arguments; True for those that do not tell."""
    if isinstance(function, np.ufunc):  # a further argument would be taken for the array to write to
        return function.nin == len(arguments)
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions in C have none
        return True
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def check_arguments(function: Callable[..., object], name: str, *arguments: str) -> None:
    """Raise TypeError unless a function takes so many arguments.

    Told before the first call: a TypeError within that is the function's own affair.
    """
    if isinstance(function, type):
        raise TypeError(f"{name}: expected a function, got the class {function.__name__}")
    if not takes(function, *arguments):
        got = function if isinstance(function, np.ufunc) else inspect.signature(function)
        raise TypeError(f"{name}: expected a function of ({', '.join(arguments)}), got one of {got}")


class CheckedFunction:
    """A callable that returns (components, ...) for x of shape (dim, ...), or says what is wrong.

    Accepted results, with s = x.shape[1:] and m components: a plain number (it holds everywhere); shape s
    (only m = 1); shape (m, *s); m constants, shape (m,) (only m > 1); a tuple or list of m numbers or arrays
    of shape s. For m = 1 and dim = 1 the result x*0+1 has shape (m, *s) and is accepted; for dim > 1 it has
    dim components instead of one and is refused.
    """

    def __init__(
        self, function: Callable[..., object], dim: int, components: int, name: str, with_time: bool = True
    ) -> None:
        if not callable(function):
            raise TypeError(f"{name}: expected a callable, got {type(function).__name__}")
        self.function, self.dim = function, checked_whole("dim", dim, 1, 3)
        self.components = checked_whole("components", components, 1, MAX_COMPONENTS)
        self.name, self.with_time = name, checked_flag("with_time", with_time)
        check_arguments(function, name, "x", *["t"] * self.with_time)
        for probe in _PROBE:
            x = np.stack([(probe + 0.1273 * i) % 1.0 for i in range(self.dim)])
            first, second = self(x), self(x)
            if not np.array_equal(first, second, equal_nan=True):
                raise ValueError(
                    f"{name}: expected the same values at every call with the same points, got "
                    f"{first.ravel()[:3]} and then {second.ravel()[:3]}"
                )

    def __call__(self, x: ArrayLike, t: float = 0.0) -> Array:
        points, t = float_array(x, "x"), checked_time(t)
        if points.ndim == 0 or points.shape[0] != self.dim:
            raise ValueError(f"x: expected shape ({self.dim}, ...), got {points.shape}")
        points = points.copy()  # a function may write to what it is given
        shape = points.shape[1:]
        return self._expanded(self.function(points, t) if self.with_time else self.function(points), shape)

    def _expanded(self, result: object, shape: tuple[int, ...]) -> Array:
        m, full = self.components, (self.components, *shape)
        if isinstance(result, (tuple, list)) and len(result) == m:
            entries = [real_array(entry, self.name) for entry in result]
            if all(entry.shape in ((), shape) for entry in entries):
                return np.stack([np.broadcast_to(entry, shape) for entry in entries])
        values = real_array(result, self.name)
        if values.ndim == 0 or values.shape == full:
            return np.array(np.broadcast_to(values, full))
        if m == 1 and values.shape == shape:
            return values[None]
        if m > 1 and values.shape == (m,):
            return np.array(np.broadcast_to(values.reshape((m,) + (1,) * len(shape)), full))
        expected = f"{shape} (= x.shape[1:])" if m == 1 else f"{full} (= ({m}, *x.shape[1:]))"
        raise ValueError(
            f"{self.name}: expected an array of shape {expected} or a number for x of shape "
            f"{(self.dim, *shape)}, got shape {values.shape}"
        )


def checked_function(
    function: Callable[..., object], dim: int, components: int, name: str, with_time: bool = True
) -> CheckedFunction:
    """Check the shapes of function(x, t), or function(x) without time, now with a probe and on every call.

    Returns
    -------
    callable (x, t=0.0) -> array of shape (components, *x.shape[1:])

    Raises
    ------
    ValueError, TypeError
        For a wrong shape or number of arguments (expected and got are shown), or for complex or non-numeric
        values.
    """
    return CheckedFunction(function, dim, components, name, with_time)


class CallableData(Data):
    """A bare callable, projected by Gauss rules on the two halves of every cell and direction.

    Remainders and suprema are estimated by values at further points, never proved: `assumption` says so.
    Jumps at cell centres and cell faces are integrated exactly.

    Parameters
    ----------
    function : callable
        function(x, t), or function(x) if not `with_time`, with values of shape x.shape[1:] or a number.
    dim : int
        Number of space dimensions.
    name : str
        What the data are called in messages.
    with_time : bool
        Whether function takes t; without it the datum does not depend on time.
    component : int, optional
        Of a CheckedFunction with several components, the one to take.
    """

    def __init__(
        self,
        function: Callable[..., object],
        dim: int,
        name: str = "data",
        with_time: bool = True,
        component: int = 0,
    ) -> None:
        self.function = (
            function
            if isinstance(function, CheckedFunction)
            else CheckedFunction(function, dim, 1, name, with_time)
        )
        self.dim, self.name = self.function.dim, name
        self.component = checked_whole("component", component, 0, self.function.components - 1)

    def __repr__(self) -> str:
        return f"CallableData({self.name}, dim={self.dim})"

    def __call__(self, x: ArrayLike, t: float = 0.0) -> Array:
        points = self._points(x)
        values: Array = self.function(points, t)[self.component]
        if not np.isfinite(values).all():
            wrong = ~np.isfinite(values)
            value, where = values[wrong][0], points[:, wrong][:, 0]
            raise ValueError(f"{self.name}: expected finite values, got {value} at x = {where}, t = {t}")
        return values

    @property
    def constant(self) -> bool:
        return False

    @property
    def time_dependent(self) -> bool:
        return self.function.with_time

    @property
    def is_zero(self) -> bool:
        return False

    @property
    def assumption(self) -> str:
        return (
            f"{self.name}: integrated with 2(degree + 4) points per direction and cell; "
            "difference to more points taken as its remainder, not proved"
        )

    def project(self, grid: TensorGrid, degree: int, time: float | Slab) -> Projection:
        """Project by quadrature; remainders are differences at these and at further points (estimates)."""
        self._check(grid, degree, time)
        fine, other = Rule.gauss(degree + 4, degree, parts=2), Rule.gauss(degree + 5, degree)
        if not isinstance(time, Slab):
            moment = Rule.moment()
            result = project_sampled(self, grid, (fine, moment), (other, moment), time, 0.0)
            return Projection(result.coefficients[0], result.remainder_l2, result.remainder_sup)
        main = (fine, Rule.gauss(time.degree + 3, time.degree))
        check = (other, Rule.gauss(time.degree + 4, time.degree))
        return project_sampled(self, grid, main, check, time.start, time.duration)

    def sup(self, start: float, stop: float, lengths: Sequence[float]) -> float:
        """Largest |f| on a grid of points and times (an estimate, not a bound)."""
        start, stop = self._check_box(start, stop, lengths)
        count = {1: 1025, 2: 97, 3: 33}.get(self.dim, 9)
        axes = [np.linspace(0.0, length, count) for length in lengths]
        x = np.stack(np.meshgrid(*axes, indexing="ij"))
        times = np.linspace(start, stop, 9) if self.time_dependent and start < stop else np.array([start])
        return max(float(np.abs(self(x, t)).max()) for t in times.tolist())
