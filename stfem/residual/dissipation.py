"""What diffusion takes from growth: forms in Fourier space with proved bounds (T4).

Let −B(e) = ½∫c_f e² − ‖D^{1/2}∇e‖² be what growth and dissipation do together to an error e, with mean zero
where the equation conserves it.
Frequencies are split at K. On the low ones B is a matrix of Fourier coefficients, on the others at least
kᵀDk − ½ sup c_f, and the two are coupled by at most β = ¼(sup c_f − inf c_f), since constants couple nothing.
As 2β|x||y| ≤ δ|x|² + (β²/δ)|y|² for any δ > 0, both become bounds from below without coupling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh

from stfem.data import PolynomialRange, Slab, polynomial_range
from stfem.equations import GrowthForm
from stfem.meshes.grid import TensorGrid
from stfem.problems import Problem
from stfem.residual.growth import GrowthRate
from stfem.residual.spectral import reach
from stfem.spaces.fourier import Spectrum, fourier_coefficients
from stfem.spaces.legendre import legendre_values
from stfem.spaces.stencil import Array

#: Shares θ of the dissipation at which eigenvalues are computed; between them they are convex in θ.
SHARES = (0.5, 1.0)
#: Largest matrix.
MOST_MODES = 256
#: What the coupling may add to the growth exponent of a run, if the matrix may become large enough.
COUPLING = 0.02
#: Gain in the growth exponent of a run that is worth the work, and slabs before it is tried again.
WORTH, PAUSE = 0.02, 31
#: Relative round-off of coefficients and eigenvalues, with some margin.
ROUNDING = 1e-12


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


def definite(matrix: Array) -> bool:
    """Whether a symmetric matrix is positive definite."""
    return bool(np.linalg.eigvalsh(matrix)[0] > 0.0)


class DissipativeGrowth:
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
        ends: list[Array] = []
        for modes in blocks:
            field = self._growth.combination(self._form, modes)
            if len(field) == 1:
                field = np.concatenate([field, np.zeros_like(field)])
            whole.take(field)
            flat = field.reshape(len(field), -1)
            at_times = legendre_values(len(field) - 1, np.array(wanted)) @ flat
            ends.append(at_times.reshape(-1, *field.shape[1:]))
            at_ends = legendre_values(len(field) - 1, corners) @ flat
            field.reshape(len(field), -1)[:2] -= np.linalg.solve(legendre_values(1, corners), at_ends)
            deviation = max(deviation, polynomial_range(field, dim + 1, max_subdivisions=1)[1])
        return whole.value(), deviation, np.concatenate(ends, axis=-dim)

    def _may_help(self, pointwise: float) -> bool:
        """Whether diffusion beyond the matrix exceeds growth."""
        frequency = 2.0 * np.pi / np.asarray(self._growth.grid.lengths)
        least = float(np.linalg.eigvalsh(self._diffusion)[0])
        highest = _highest(0.5 * pointwise, self._final_time, least, frequency, self._limit)
        return bool(least * np.min((np.array(highest) + 1) * frequency) ** 2 > 0.5 * pointwise)

    def _form_of(self, field: Array, bounds: tuple[float, float]) -> GrowthDissipation:
        grid, data = self._growth.grid, (self._final_time, self._limit, self._mean_free)
        return GrowthDissipation(grid, self._diffusion, field, bounds, *data)


class GrowthDissipation:
    """B for a piecewise polynomial c_f at one time.

    Parameters
    ----------
    grid
        Grid on which c_f is a polynomial on every cell.
    diffusion
        D, positive definite.
    field
        Modes ``(p…, N…)`` of c_f.
    bounds
        Lower and upper bound of c_f.
    final_time
        T: rates matter beside 1/T.
    limit
        Frequencies K at most.
    mean_free
        Whether e has mean zero.
    """

    def __init__(
        self,
        grid: TensorGrid,
        diffusion: Array,
        field: Array,
        bounds: tuple[float, float],
        final_time: float,
        limit: tuple[int, ...],
        mean_free: bool,
    ) -> None:
        least = float(np.linalg.eigvalsh(diffusion)[0])
        frequency = 2.0 * np.pi / np.asarray(grid.lengths)
        lower, self._upper = bounds
        self._coupling = 0.25 * (self._upper - lower)
        #: Largest |n_i| there.
        self.highest = _highest(self._coupling, final_time, least, frequency, limit)
        #: Frequencies n of the matrix, ``(d, M)``.
        self.numbers = _numbers(self.highest, mean_free)
        k = frequency[:, None] * self.numbers
        self._dissipation = np.einsum("ik,ij,jk->k", k, diffusion, k)
        self._beyond = least * min((n + 1) * f for n, f in zip(self.highest, frequency, strict=True)) ** 2
        self._rounding = ROUNDING * (max(map(abs, bounds)) + float(self._dissipation.max()))
        self._growth = 0.5 * _convolution(field, grid, self.highest, self.numbers)

    @cached_property
    def rates(self) -> Array:
        """2μ for all `SHARES`: μ ≤ largest eigenvalue of [[a_K, β], [β, d_K]].

        a_K is the largest eigenvalue on low frequencies, d_K = ½ sup c_f − θ min_{|k|>K} kᵀDk.
        """
        found = []
        last = len(self._dissipation) - 1
        for share in SHARES:
            if share == 1.0:
                low = -float(self._eigen[0][0])
            else:
                matrix = self._growth - np.diag(share * self._dissipation)
                low = float(eigvalsh(matrix, subset_by_index=[last, last])[0]) + self._rounding
            high = 0.5 * self._upper - share * self._beyond
            found.append(0.5 * (low + high) + np.hypot(0.5 * (low - high), self._coupling))
        return 2.0 * np.array(found)

    @cached_property
    def _eigen(self) -> tuple[Array, Spectrum]:
        """Eigenvalues of B on low frequencies, not too large, and its eigenvectors."""
        values, vectors = eigh(np.diag(self._dissipation) - self._growth)
        return np.asarray(values, np.float64) - self._rounding, np.asarray(vectors, np.complex128)

    def bounded_below(self, offsets: Array) -> tuple[Array, Array, Array] | None:
        """σ for every offset, and from below what σ + B has on low and on other frequencies.

        Returns
        -------
        σ ``(C,)``; eigenvalues on low frequencies ``(C, M)``; on others what is added to kᵀDk ``(C,)``. None
        where K is too small.
        """
        values = self._eigen[0]
        margin = self._beyond - 0.5 * self._upper - values[0]
        if margin <= 0.0:
            return None
        # δ so that half of the least of σ + B beyond K pays for the coupling
        delta = 2.0 * self._coupling**2 / margin
        sigma = -values[0] + delta + offsets
        return sigma, sigma[:, None] - delta + values, sigma - 0.5 * self._upper - 0.5 * margin

    def project(self, low: Spectrum) -> Spectrum:
        """Components ``(k, M)`` of low frequencies in the eigenvectors."""
        return np.asarray(low @ np.conj(self._eigen[1]))


def _highest(
    coupling: float, final_time: float, least: float, frequency: Array, limit: tuple[int, ...]
) -> tuple[int, ...]:
    """Frequencies K so high that the coupling adds little, as far as the matrix may be large enough."""
    wanted = coupling**2 * final_time / (COUPLING * SHARES[0] * least)
    ideal = np.clip(np.ceil(np.sqrt(wanted) / frequency), 1, limit)
    most = MOST_MODES ** (1.0 / len(frequency)) / 2.0 - 0.5
    scale = min(1.0, most / float(prod(ideal) ** (1.0 / len(ideal))))
    return tuple(int(max(1, n)) for n in np.floor(ideal * scale))


def _numbers(highest: tuple[int, ...], mean_free: bool) -> NDArray[np.intp]:
    """All n up to the highest, but for 0 where the mean is zero, ``(d, M)``."""
    ranges = [np.arange(-n, n + 1) for n in highest]
    numbers = np.stack(np.meshgrid(*ranges, indexing="ij")).reshape(len(highest), -1)
    return np.asarray(numbers[:, np.any(numbers != 0, axis=0)] if mean_free else numbers)


def _convolution(
    field: Array, grid: TensorGrid, highest: tuple[int, ...], numbers: NDArray[np.intp]
) -> Spectrum:
    """ĉ(k − l)/√|Ω| for all low frequencies."""
    dim = grid.dim
    shape = field.shape[:dim]
    modes = np.array(np.unravel_index(np.arange(prod(shape)), shape))
    twice = tuple(2 * n for n in highest)
    half = fourier_coefficients(field.reshape(prod(shape), -1), modes, grid, twice)
    # all frequencies from one half of them
    mirrored = np.conj(half[(slice(None, None, -1),) * dim][..., :-1])
    full = np.concatenate([mirrored, half], axis=-1) / np.sqrt(grid.measure)
    places = tuple(n[:, None] - n[None, :] + m for n, m in zip(numbers, twice, strict=True))
    return np.asarray(full[places])
