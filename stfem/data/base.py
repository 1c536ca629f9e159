"""What every datum of a problem (u_0, g, b, c) can do: values, projections with remainder bounds, suprema."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stfem.checks import (
    LARGEST,
    checked_instance,
    checked_number,
    checked_numbers,
    checked_whole,
    described,
    float_array,
    whole_number,
)
from stfem.meshes.grid import TensorGrid

__all__ = ["Array", "Data", "Projection", "RowProjection", "Separated", "Slab"]

Array = NDArray[np.float64]

#: Largest degree of a projection, in space and in time, and largest whole power of data.
MAX_DEGREE, MAX_POWER = 64, 64


@dataclass(frozen=True)
class Slab:
    """Time slab [start, stop] on which a projection keeps Legendre modes 0..degree in time."""

    start: float
    stop: float
    degree: int

    def __post_init__(self) -> None:
        start, stop = (checked_number(name, getattr(self, name), "a time") for name in ("start", "stop"))
        if not start < stop:
            raise ValueError(f"Slab: expected start < stop, got [{start}, {stop}]")
        degree = checked_whole("degree", self.degree, 0, MAX_DEGREE)
        for name, value in (("start", start), ("stop", stop), ("degree", degree)):
            object.__setattr__(self, name, value)

    @property
    def duration(self) -> float:
        """Length of the slab."""
        return self.stop - self.start

    @property
    def midpoint(self) -> float:
        """Centre of the slab."""
        return 0.5 * (self.start + self.stop)


@dataclass(frozen=True)
class Projection:
    """Cellwise L2-orthogonal projection Pf of a datum f with bounds of what it leaves out (T4.6).

    The bounds are proved unless the datum has an `assumption`.

    Attributes
    ----------
    coefficients : array
        Orthonormal Legendre modes; axes (p_1..p_d, cells...) at a fixed time,
        (p_t, p_1..p_d, cells...) on a slab.
    remainder_l2 : float
        Upper bound of ||f - Pf|| in L2(Omega) at a fixed time, in L2(Omega x slab) on a slab.
    remainder_sup : float
        Upper bound of sup |f - Pf| on the same set.
    """

    coefficients: Array
    remainder_l2: float
    remainder_sup: float


@dataclass(frozen=True)
class RowProjection:
    """A `Projection` that gives its modes on some cells of the first direction at a time.

    Attributes
    ----------
    on : callable
        Modes on a range of cells of direction 0, axes as in `Projection.coefficients`.
    remainder_l2, remainder_sup : float
        As in `Projection`, over all cells.
    """

    on: Callable[[slice], Array]
    remainder_l2: float
    remainder_sup: float


@dataclass(frozen=True)
class Separated:
    """f(x, t) = Σ_j a_j(t) s_j(x): what is done in space is done once.

    Attributes
    ----------
    fields : tuple of Data
        s_j, which do not depend on time.
    factors : callable
        t ↦ a_j(t), ``(len(fields),)``.
    """

    fields: tuple[Data, ...]
    factors: Callable[[float], Array]


def checked_time(t: object, name: str = "t") -> float:
    """A time as a float; every call of data comes by here.

    Raises
    ------
    TypeError, ValueError
        For what is no finite number.
    """
    return t if type(t) is float and -LARGEST <= t <= LARGEST else checked_number(name, t, "a time")


def checked_power(exponent: object) -> int:
    """A whole power of data.

    Raises
    ------
    TypeError, ValueError
        For another type, and for a number that is negative or large.
    """
    number = whole_number("exponent", exponent)
    if not 0 <= number <= MAX_POWER:
        raise ValueError(f"exponent: expected a whole number from 0 to {MAX_POWER}, got {described(number)}")
    return number


class Data(ABC):
    """Scalar field f(x, t), independent of any mesh."""

    dim: int
    __array_ufunc__ = None  # lets numpy scalars on the left of + - * defer to the reflected operator

    @abstractmethod
    def __call__(self, x: ArrayLike, t: float = 0.0) -> Array:
        """Values at points x of shape (dim, ...); the result has shape x.shape[1:]."""

    @abstractmethod
    def project(self, grid: TensorGrid, degree: int, time: float | Slab) -> Projection:
        """Project onto Legendre modes 0..degree per direction, at a fixed time or on a slab."""

    def project_rows(self, grid: TensorGrid, degree: int, time: float | Slab) -> RowProjection:
        """`project` that holds no more than it must; here it holds all."""
        whole = self.project(grid, degree, time)
        rows_axis = -grid.dim

        def on(rows: slice) -> Array:
            return np.moveaxis(np.moveaxis(whole.coefficients, rows_axis, 0)[rows], 0, rows_axis)

        return RowProjection(on, whole.remainder_l2, whole.remainder_sup)

    @abstractmethod
    def sup(self, start: float, stop: float, lengths: Sequence[float]) -> float:
        """Upper bound of |f| on (0, L_1) x ... x (0, L_d) x [start, stop]."""

    @property
    @abstractmethod
    def constant(self) -> bool:
        """Whether f depends neither on x nor on t."""

    @property
    @abstractmethod
    def time_dependent(self) -> bool:
        """Whether f depends on t."""

    @property
    @abstractmethod
    def is_zero(self) -> bool:
        """Whether f vanishes identically (False where that is not known)."""

    @property
    def assumption(self) -> str | None:
        """One sentence saying what is not proved about `project` and `sup`, None when all is proved."""
        return None

    def constant_value(self) -> float:
        """The number that constant data stand for."""
        if not self.constant:
            raise ValueError(f"constant_value: expected constant data, got {self!r}")
        return float(self(np.zeros((self.dim, 1)))[0])

    def derivative(self, direction: int) -> Data:
        """Partial derivative in space direction 0..dim-1, where it is known exactly."""
        raise TypeError(f"{type(self).__name__}: derivative is not known exactly")

    def time_derivative(self) -> Data:
        """Partial derivative in time, where it is known exactly."""
        raise TypeError(f"{type(self).__name__}: time derivative is not known exactly")

    def separated(self) -> Separated | None:
        """The same as a sum of products of functions of time and of space; None where that is not known."""
        return None if self.time_dependent else Separated((self,), lambda t: np.ones(1))

    def _points(self, x: ArrayLike) -> Array:
        points = float_array(x, "x")
        if points.ndim == 0 or points.shape[0] != self.dim:
            raise ValueError(f"x: expected shape ({self.dim}, ...), got {points.shape}")
        return points

    def _check_direction(self, direction: int) -> None:
        checked_whole("direction", direction, 0, self.dim - 1)

    def _check(self, grid: TensorGrid, degree: int, time: float | Slab) -> None:
        checked_instance("grid", grid, TensorGrid, "a TensorGrid")
        if grid.dim != self.dim:
            raise ValueError(f"grid: expected dimension {self.dim}, got {grid.dim}")
        checked_whole("degree", degree, 0, MAX_DEGREE)
        if not isinstance(time, Slab):
            checked_time(time)

    def _check_box(self, start: float, stop: float, lengths: Sequence[float]) -> tuple[float, float]:
        """Times of `sup`, once they and the side lengths are checked."""
        first, last = checked_time(start, "start"), checked_time(stop, "stop")
        if first > last:
            raise ValueError(f"start, stop: expected start <= stop, got {start} and {stop}")
        if len(checked_numbers("lengths", lengths, "positive numbers", 0.0)) != self.dim:
            raise ValueError(f"lengths: expected {self.dim} numbers, got {described(lengths)}")
        return first, last
