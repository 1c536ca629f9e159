"""Data given by an approximation and a bound of its error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numpy.typing import ArrayLike

from stfem.checks import checked_instance, checked_number
from stfem.data.base import Array, Data, Projection, RowProjection, Slab
from stfem.data.callables import CheckedFunction
from stfem.meshes.grid import TensorGrid

__all__ = ["Approximated"]


class Approximated(Data):
    """f with |f - approximation| <= error_sup for all x and t (T4.6).

    The approximation is what is projected; the error enters every remainder, so that bounds hold for f.

    Parameters
    ----------
    approximation : Data
        Usually Trigonometric or Polynomial.
    error_sup : float
        Proved bound of the supremum of |f - approximation|.
    function : callable, optional
        Values of f itself, function(x, t), or function(x) if not `with_time`; by default those of the
        approximation.
    with_time : bool
        Whether function takes t.
    """

    def __init__(
        self,
        approximation: Data,
        error_sup: float,
        function: Callable[..., object] | None = None,
        with_time: bool = True,
    ) -> None:
        self.approximation = checked_instance("approximation", approximation, Data, "Data")
        self.error_sup = checked_number("error_sup", error_sup, "a finite number", 0.0)
        self.dim = approximation.dim
        self.function = (
            None if function is None else CheckedFunction(function, self.dim, 1, "Approximated", with_time)
        )

    def __repr__(self) -> str:
        return f"Approximated({self.approximation!r}, error_sup={self.error_sup:.3g})"

    def __call__(self, x: ArrayLike, t: float = 0.0) -> Array:
        if self.function is None:
            return self.approximation(x, t)
        values: Array = self.function(x, t)[0]
        return values

    def project(self, grid: TensorGrid, degree: int, time: float | Slab) -> Projection:
        part = self.approximation.project(grid, degree, time)
        return Projection(part.coefficients, *self._remainders(part, grid, time))

    def project_rows(self, grid: TensorGrid, degree: int, time: float | Slab) -> RowProjection:
        part = self.approximation.project_rows(grid, degree, time)
        return RowProjection(part.on, *self._remainders(part, grid, time))

    def _remainders(
        self, part: Projection | RowProjection, grid: TensorGrid, time: float | Slab
    ) -> tuple[float, float]:
        measure = grid.measure * (time.duration if isinstance(time, Slab) else 1.0)
        return part.remainder_l2 + self.error_sup * measure**0.5, part.remainder_sup + self.error_sup

    def sup(self, start: float, stop: float, lengths: Sequence[float]) -> float:
        return self.approximation.sup(start, stop, lengths) + self.error_sup

    @property
    def constant(self) -> bool:
        return self.error_sup == 0.0 and self.approximation.constant

    @property
    def time_dependent(self) -> bool:
        return self.approximation.time_dependent or (self.function is not None and self.function.with_time)

    @property
    def is_zero(self) -> bool:
        return self.error_sup == 0.0 and self.approximation.is_zero

    @property
    def assumption(self) -> str | None:
        return self.approximation.assumption
