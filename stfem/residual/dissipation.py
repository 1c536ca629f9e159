"""Growth rates that diffusion lowers, slab by slab (T4, N7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stfem.data import PolynomialRange, Slab, polynomial_range
from stfem.equations import GrowthForm
from stfem.problems import Problem
from stfem.residual.growth import GrowthRate
from stfem.residual.growth_form import SHARES, GrowthDissipation, highest_frequencies
from stfem.residual.spectral import least_beyond, least_eigenvalue, reach
from stfem.resumable import Resumable
from stfem.spaces.fourier import Spectrum
from stfem.spaces.legendre import legendre_values
from stfem.spaces.stencil import Array

#: Gain in the growth exponent of a run that is worth the work, and slabs before it is tried again.
WORTH, PAUSE = 0.02, 31
#: kᵀDk below which nothing is gained, and the reciprocal, squared or not, soon leaves the range of numbers.
VANISHING = 1e-150


@dataclass(frozen=True, eq=False)
class DissipativeRates:
    """Bounds of 2μ(θ, t) on a slab, linear in time between its ends.

    Attributes
    ----------
    shares
        θ, ``(S,)``.
    start, stop
        2μ at the ends for every θ.
    spread
        sup c_f − inf c_f on the slab.
    supremum
        sup c_f.
    forms
        B at the ends.
    deviation
        What c_f has beyond its linear interpolation in time, at most.
    mean_free
        Whether they hold for errors with mean zero only.
    """

    shares: Array
    start: Array
    stop: Array
    spread: float
    supremum: float
    forms: tuple[GrowthDissipation, GrowthDissipation]
    deviation: float
    mean_free: bool

    def exponents(self, pieces: int, duration: float) -> Array:
        """∫μ on equal pieces of a slab, ``(pieces, S)``."""
        return exponents(self.start, self.stop, pieces, duration)

    def at(self, shares: Array) -> DissipativeRates:
        """The rates for other shares, by convexity in θ."""
        start, stop = (np.interp(shares, self.shares, rates) for rates in (self.start, self.stop))
        return replace(self, shares=shares, start=start, stop=stop)


def exponents(start: Array, stop: Array, pieces: int, duration: float) -> Array:
    """∫μ on equal pieces, 2μ linear between its values at the ends; of μ_+ where it changes sign on one."""
    times = np.linspace(0.0, 1.0, pieces + 1)[:, None]
    rates = 0.5 * (start + times * (stop - start))
    decays = np.maximum(rates[:-1], rates[1:]) <= 0.0
    positive = np.maximum(rates, 0.0)
    sums = np.where(decays, rates[:-1] + rates[1:], positive[:-1] + positive[1:])
    return np.asarray(0.5 * duration / pieces * sums)


def definite(matrix: Array, length: float) -> bool:
    """Whether D is positive definite, by so much that reciprocals of kᵀDk are of use; Ω is that long."""
    return least_eigenvalue(matrix) * (2.0 * np.pi / length) ** 2 > VANISHING


class DissipativeGrowth(Resumable):
    """`DissipativeRates` of slabs, where 2μ is a combination of slopes of û.

    c_f is at most its linear interpolation in time between the ends of a slab plus the supremum of what that
    leaves, and the largest eigenvalue is convex in c_f: between the ends it is at most linear.

    Parameters
    ----------
    growth
        Pointwise rates.
    form, constant
        c_f = Σ gradient[i] ∂_iû + constant.
    diffusion
        D, positive definite.
    final_time
        T.
    limit
        Frequencies of the matrices at most, per direction.
    mean_free
        Whether errors have mean zero, but for what is known of their mean.
    """

    PAST = ("_rest", "_last")

    def __init__(
        self,
        growth: GrowthRate,
        form: GrowthForm,
        constant: float,
        diffusion: Array,
        final_time: float,
        limit: tuple[int, ...],
        mean_free: bool,
    ) -> None:
        self._growth, self._form, self._constant = growth, form, constant
        self._diffusion, self._final_time, self._limit = diffusion, final_time, limit
        self._mean_free = mean_free
        # at the end of a slab: time, form, and what it leaves out of the slopes
        self._last: tuple[float, GrowthDissipation, float] | None = None
        self._rest = 0

    @classmethod
    def of(cls, problem: Problem, growth: GrowthRate, cells: tuple[int, ...]) -> DissipativeGrowth | None:
        """For scalar equations whose c_f follows the slopes of û, D being definite; None for others."""
        limit = tuple(reach(len(cells)) * count for count in cells)
        slope, equation = growth.slope, problem.equation
        if slope is None or equation.components > 1:
            return None
        conserved = equation.reaction.is_zero
        return cls(growth, *slope, equation.diffusion, problem.final_time, limit, mean_free=conserved)

    def rates(
        self, time: Slab, pointwise: float, blocks: Callable[[], Iterable[Array]], beyond: Array | None
    ) -> DissipativeRates | None:
        """The rates of a slab, or None where they gain too little.

        Parameters
        ----------
        time, blocks, beyond
            As `GrowthRate.rate` has them.
        pointwise
            What that gives.
        """
        self._rest -= 1
        if self._rest >= 0 or pointwise <= 0.0:
            return None
        if not self._may_help(pointwise):
            self._rest = PAUSE
            return None
        known = self._last if self._last is not None and self._last[0] == time.start else None
        bounds, deviation, ends = self._in_time(blocks(), (1.0,) if known is not None else (1.0, 0.0))
        left_out = 0.0 if beyond is None else float((np.abs(self._form.gradient) * beyond).sum())
        deviation += left_out
        if known is not None:
            first = known[1]
            # both slabs leave out a part of the slopes at their common node
            deviation += known[2] + left_out
        else:
            first = self._form_of(ends[1], bounds)
        second = self._form_of(ends[0], bounds)
        self._last = time.stop, second, left_out
        forms = first, second
        start, stop = (
            np.append(pointwise, np.minimum(form.rates + self._constant + deviation, pointwise))
            for form in forms
        )
        if (pointwise - min(start[-1], stop[-1])) * self._final_time < WORTH:
            self._rest = PAUSE
            return None
        return DissipativeRates(
            np.append(0.0, SHARES),
            start,
            stop,
            bounds[1] - bounds[0] + 2.0 * left_out,
            pointwise,
            forms,
            deviation + self._constant,
            self._mean_free,
        )

    def _in_time(
        self, blocks: Iterable[Array], wanted: tuple[float, ...]
    ) -> tuple[tuple[float, float], float, Array]:
        """Range of c_f, most that its linear interpolation in time leaves, c_f at local times ``wanted``.

        Of c_f only the latter is held, ``(times, p…, N…)``.
        """
        dim = self._growth.grid.dim
        whole, deviation = PolynomialRange(dim + 1), 0.0
        corners = np.array([0.0, 1.0])
        ends: Array | None = None
        first = 0
        for modes in blocks:
            field = self._growth.combination(self._form, modes)
            if len(field) == 1:
                field = np.concatenate([field, np.zeros_like(field)])
            whole.take(field)
            flat = field.reshape(len(field), -1)
            at_times = legendre_values(len(field) - 1, np.array(wanted)) @ flat
            found = at_times.reshape(-1, *field.shape[1:])
            if ends is None:
                ends = np.empty((*found.shape[: 1 + dim], *self._growth.grid.cells))
            rows = slice(first, first + found.shape[1 + dim])
            ends[(slice(None),) * (1 + dim) + (rows,)] = found
            first = rows.stop
            at_ends = legendre_values(len(field) - 1, corners) @ flat
            field.reshape(len(field), -1)[:2] -= np.linalg.solve(legendre_values(1, corners), at_ends)
            del modes, flat, at_times, found, at_ends
            deviation = max(deviation, polynomial_range(field, dim + 1, max_subdivisions=1)[1])
            del field  # not held while the next block is formed
        return whole.value(), deviation, np.zeros(0) if ends is None else ends

    def _may_help(self, pointwise: float) -> bool:
        """Whether diffusion beyond the matrix exceeds growth."""
        frequency = 2.0 * np.pi / np.asarray(self._growth.grid.lengths)
        least = least_eigenvalue(self._diffusion)
        highest = highest_frequencies(0.5 * pointwise, self._final_time, least, frequency, self._limit)
        return least_beyond(highest, self._growth.grid.lengths, self._diffusion) > 0.5 * pointwise

    def _form_of(
        self, field: Array, bounds: tuple[float, float], known: Spectrum | None = None
    ) -> GrowthDissipation:
        grid, data = self._growth.grid, (self._final_time, self._limit, self._mean_free)
        return GrowthDissipation(grid, self._diffusion, field, bounds, *data, known)

    def past(self) -> dict[str, Any]:
        last = self._last and (self._last[0], self._last[1].bounds, self._last[1].matrix, self._last[2])
        return {"_rest": self._rest, "_last": last}

    def resume(self, past: Mapping[str, Any]) -> None:
        last = past["_last"]
        if last is not None:
            time, bounds, matrix, left_out = last
            last = time, self._form_of(np.zeros(0), bounds, matrix), left_out
        super().resume({**past, "_last": last})
