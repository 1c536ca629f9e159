"""One-sided growth rates 2μ of the error as proved suprema over cells × slab (T4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from stfem.data import Data, PolynomialRange, Slab, polynomial_range
from stfem.equations import Growth, GrowthForm
from stfem.meshes.grid import TensorGrid
from stfem.problems import Problem
from stfem.resumable import Resumable
from stfem.spaces.legendre import derivative_matrix
from stfem.spaces.stencil import Array, apply_matrix

#: Degree in which data are expanded on a cell for their supremum; the remainder is added.
DATA_DEGREE = 8


class GrowthRate(Resumable):
    """2μ of T4.1 on a slab, and the checks of the state set that belong to it.

    Parameters
    ----------
    problem
        Gives the stability framework, the initial range and the source.
    grid, degree
        Grid and degree of û.
    """

    PAST = ("unproved", "least", "_widening")

    def __init__(self, problem: Problem, grid: TensorGrid, degree: int) -> None:
        self.problem, self.grid, self.degree = problem, grid, degree
        self.stability = problem.equation.stability
        self.unproved: dict[str, None] = {}
        #: Least value of the forms on the slab that was asked for last, where it is one form of slopes alone.
        self.least = -np.inf
        self._widening = 0.0
        self._fixed: Growth | None = None
        components = problem.equation.components
        self._initial = (
            np.array([data_range(u, grid) for u in problem.initial]) if self._asks_for_range() else None
        )
        if not self.stability.needs_range and self.stability.state_set is None:
            self._fixed = self.stability.growth(np.full(components, -np.inf), np.full(components, np.inf))

    def _asks_for_range(self) -> bool:
        """Whether the range of u is needed: from the maximum principle (T4), which not every equation has."""
        equation = self.problem.equation
        if not self.stability.needs_range or self.stability.state_set is not None:
            return False
        if equation.components > 1 or equation.linear or not equation.reaction.is_zero:
            name = type(equation).__name__
            raise ValueError(
                f"stability: expected a state_set beside needs_range=True, since {name} has no maximum "
                "principle (only scalar laws without reaction and with f = f(u) have), got none"
            )
        return True

    @property
    def follows_slopes(self) -> bool:
        """Whether 2μ depends on ∇û, and not on the range of û."""
        return self._fixed is not None and any(np.any(form.gradient) for form in self._fixed.forms)

    @property
    def slope(self) -> tuple[GrowthForm, float] | None:
        """The only form and its constant part, if 2μ is one combination of slopes of û and a constant."""
        if self._fixed is None or len(self._fixed.forms) != 1 or self._fixed.positive:
            return None
        form = self._fixed.forms[0]
        constant = all(datum.constant for _, datum in form.data) and not np.any(form.source)
        if not constant or not np.any(form.gradient):
            return None
        return form, sum(weight * datum.constant_value() for weight, datum in form.data)

    def rate(self, time: Slab, blocks: Callable[[], Iterable[Array]], beyond: Array | None = None) -> float:
        """2μ ≤ sup over x, t ∈ slab and forms of Σ gradient[c, i] ∂_iû_c + data + Σ source[c] g_c.

        Parameters
        ----------
        time
            Slab.
        blocks
            Gives the modes of û, ``(time, m, p…, cells…)``, block of cells by block of cells; called only
            where they are needed.
        beyond
            Bounds of sup|∂_iû_c|, ``(m, d)``, for the part of û that the modes leave out; only where
            `follows_slopes`.

        Raises
        ------
        ValueError
            Where û leaves the state set on which the constants of the equation hold.
        """
        growth = self._fixed
        if growth is None:
            growth = self.stability.growth(*self._state_range(blocks(), time))
        if growth.assumption is not None:
            self.unproved.setdefault(growth.assumption)
        slopes = self._slopes([form for form in growth.forms if np.any(form.gradient)], blocks)
        best = -np.inf
        for form in growth.forms:
            supremum = self._data_supremum(form, time)
            if np.any(form.gradient):
                lower, upper = slopes.pop(0)
                left_out = 0.0 if beyond is None else float((np.abs(form.gradient) * beyond).sum())
                supremum += upper + left_out
                self.least = lower - left_out
            best = max(best, supremum)
        return max(best, 0.0) if growth.positive else best

    def _slopes(
        self, forms: list[GrowthForm], blocks: Callable[[], Iterable[Array]]
    ) -> list[tuple[float, float]]:
        """Range of Σ gradient[c, i] ∂_iû_c of every form, in one pass over the cells."""
        ranges = [PolynomialRange(self.grid.dim + 1) for _ in forms]
        for modes in blocks() if forms else ():
            for form, found in zip(forms, ranges, strict=True):
                found.take(self.combination(form, modes))
        return [found.value() for found in ranges]

    def _state_range(self, blocks: Iterable[Array], time: Slab) -> tuple[Array, Array]:
        """Hull of the ranges of û on the slab and, where needed, of u (T4).

        The latter is the state set where there is one, else it follows from the maximum principle.
        """
        ranges = [PolynomialRange(self.grid.dim + 1) for _ in range(self.problem.equation.components)]
        for modes in blocks:
            for c, found in enumerate(ranges):
                found.take(modes[:, c])
        lower, upper = np.array([found.value() for found in ranges]).T
        if self.stability.state_set is not None:
            least, largest = self.stability.state_set
            if np.any(lower < least) or np.any(upper > largest):
                raise ValueError(
                    f"state set: expected the reconstruction within {least.tolist()} … {largest.tolist()}, "
                    f"got {lower.tolist()} … {upper.tolist()} on [{time.start:g}, {time.stop:g}]; "
                    "refine the grid or enlarge the state set of the equation"
                )
            if self.stability.needs_range:
                return least, largest
        if self._initial is not None:
            self._widening += sum(
                g.sup(time.start, time.stop, self.grid.lengths) for g in self.problem.source
            ) * (time.stop - time.start)
            lower = np.minimum(lower, self._initial[:, 0] - self._widening)
            upper = np.maximum(upper, self._initial[:, 1] + self._widening)
        return lower, upper

    def combination(self, form: GrowthForm, field: Array) -> Array:
        """Σ gradient[c, i] ∂_iû_c as modes ``(time, p…, N…)``."""
        slope = derivative_matrix(self.degree)
        total = np.zeros((len(field), *field.shape[2:]))
        for i, h in enumerate(self.grid.spacing):
            if np.any(form.gradient[:, i]):
                weighted = np.tensordot(form.gradient[:, i], field, axes=(0, 1))
                total += apply_matrix(slope / h, weighted, i, self.grid.dim)
        return total

    def _data_supremum(self, form: GrowthForm, time: Slab) -> float:
        """Supremum of the data of a form: Bernstein range of the projected sum, plus remainders."""
        weighted = list(form.data)
        weighted += [(w, g) for w, g in zip(form.source, self.problem.source, strict=True) if w != 0.0]
        total, others = 0.0, []
        for weight, datum in weighted:
            if datum.constant:
                total += weight * datum.constant_value()
            else:
                others.append((weight, datum))
        if not others:
            return total
        degree = DATA_DEGREE if any(datum.time_dependent for _, datum in others) else 0
        slab = Slab(time.start, time.stop, degree)
        projections = [(w, datum.project(self.grid, DATA_DEGREE, slab)) for w, datum in others]
        joined = np.sum([w * p.coefficients for w, p in projections], axis=0)
        remainder = sum(abs(w) * p.remainder_sup for w, p in projections)
        return total + polynomial_range(joined, self.grid.dim + 1)[1] + remainder


def data_range(datum: Data, grid: TensorGrid) -> tuple[float, float]:
    """Bounds of a datum at t = 0."""
    projection = datum.project(grid, DATA_DEGREE, 0.0)
    lower, upper = polynomial_range(projection.coefficients, grid.dim)
    return lower - projection.remainder_sup, upper + projection.remainder_sup
