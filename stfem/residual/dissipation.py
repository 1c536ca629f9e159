"""Growth rates that diffusion lowers: eigenvalues of θ∇·D∇ + ½c_f with proved upper bounds (T4).

A share θ of the dissipation may pay for growth: for errors e with mean zero

    ½∫c_f e² − θ‖D^{1/2}∇e‖² ≤ μ ‖e‖²,      μ = largest eigenvalue of θ∇·D∇ + ½c_f on mean-zero functions.

Split frequencies at K. On the low ones the largest eigenvalue a_K is that of a matrix of Fourier coefficients,
on the others the form is at most d_K = ½ sup c_f − θ min_{|k|>K} kᵀDk, and the two are coupled by at most
β = ¼(sup c_f − inf c_f), since constants do not couple them:

    μ ≤ largest eigenvalue of [[a_K, β], [β, d_K]] .
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from scipy.linalg import eigvalsh

from stfem.data import Slab, polynomial_range
from stfem.equations import GrowthForm
from stfem.meshes.grid import TensorGrid
from stfem.residual.growth import GrowthRate
from stfem.spaces.fourier import fourier_coefficients
from stfem.spaces.legendre import legendre_values
from stfem.spaces.stencil import Array

#: Shares θ at which eigenvalues are computed; between them they are convex in θ.
SHARES = (0.25, 0.5, 0.75, 1.0)
#: Largest matrix.
MOST_MODES = 400
#: What the coupling may add to the growth exponent of a run, if the matrix may become large enough.
COUPLING = 0.02
#: Gain in the growth exponent of a run that is worth the work, and slabs before it is tried again.
WORTH, PAUSE = 0.02, 31
#: Relative round-off of coefficients and eigenvalues, with some margin.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class DissipativeRates:
    """Bounds of 2μ(θ, t) on a slab for errors with mean zero, linear in time between its ends.

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
    """

    shares: Array
    start: Array
    stop: Array
    spread: float
    supremum: float

    def exponents(self, pieces: int, duration: float) -> Array:
        """∫μ on equal pieces of a slab, ``(pieces, S)``; of μ_+ where μ has both signs on a piece."""
        times = np.linspace(0.0, 1.0, pieces + 1)[:, None]
        rates = 0.5 * (self.start + times * (self.stop - self.start))
        decays = np.maximum(rates[:-1], rates[1:]) <= 0.0
        positive = np.maximum(rates, 0.0)
        sums = np.where(decays, rates[:-1] + rates[1:], positive[:-1] + positive[1:])
        return np.asarray(0.5 * duration / pieces * sums)

    def at(self, shares: Array) -> DissipativeRates:
        """The rates for other shares, by convexity in θ."""
        start, stop = (np.interp(shares, self.shares, rates) for rates in (self.start, self.stop))
        return replace(self, shares=shares, start=start, stop=stop)


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
    eigenvalue
        Bounds for c_f at one time.
    final_time
        T.
    """

    def __init__(
        self,
        growth: GrowthRate,
        form: GrowthForm,
        constant: float,
        eigenvalue: LargestEigenvalue,
        final_time: float,
    ) -> None:
        self._growth, self._form, self._constant = growth, form, constant
        self._eigenvalue, self._final_time = eigenvalue, final_time
        self._last: tuple[float, Array] | None = None
        self._rest = 0

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
        dim = self._growth.grid.dim
        field = np.concatenate([self._growth.combination(self._form, modes) for modes in blocks()], axis=-dim)
        left_out = 0.0 if beyond is None else float((np.abs(self._form.gradient) * beyond).sum())
        lower, upper = polynomial_range(field, dim + 1)
        ends = legendre_values(len(field) - 1, np.array([0.0, 1.0])) @ field.reshape(len(field), -1)
        field = field.copy()
        linear = np.linalg.solve(legendre_values(1, np.array([0.0, 1.0])), ends)
        field.reshape(len(field), -1)[:2] -= linear
        deviation = left_out + max(0.0, polynomial_range(field, dim + 1)[1])
        start, stop = (
            self._at(t, end.reshape(field.shape[1:]), lower, upper)
            for t, end in zip((time.start, time.stop), ends, strict=True)
        )
        start, stop = (np.append(pointwise, np.minimum(found + deviation, pointwise)) for found in (start, stop))
        if (pointwise - start[-1]) * self._final_time < WORTH:
            self._rest = PAUSE
            return None
        spread = upper - lower + 2.0 * left_out
        return DissipativeRates(np.append(0.0, SHARES), start, stop, spread, pointwise)

    def _at(self, t: float, field: Array, lower: float, upper: float) -> Array:
        """2μ at one time; that of a slab's end is the next one's start."""
        if self._last is None or self._last[0] != t:
            found = self._eigenvalue.bounds(field, lower, upper, self._final_time) + self._constant
            self._last = t, found
        return self._last[1]


class LargestEigenvalue:
    """Proved upper bounds of the largest eigenvalue of θ∇·D∇ + ½c on mean-zero functions.

    Parameters
    ----------
    grid
        Grid on which c is a polynomial on every cell.
    diffusion
        D, positive definite.
    """

    def __init__(self, grid: TensorGrid, diffusion: Array) -> None:
        self._grid, self._diffusion = grid, diffusion
        self._least = float(np.linalg.eigvalsh(diffusion)[0])
        self._frequency = 2.0 * np.pi / np.asarray(grid.lengths)

    def bounds(self, field: Array, lower: float, upper: float, final_time: float) -> Array:
        """2μ for all `SHARES`.

        Parameters
        ----------
        field
            Modes ``(p…, N…)`` of c.
        lower, upper
            Bounds of c.
        final_time
            T: rates matter beside 1/T.
        """
        spread = 0.25 * (upper - lower)
        highest = self._highest(spread, final_time)
        matrix, rates = self._matrix(field, highest)
        beyond = self._least * min((n + 1) * f for n, f in zip(highest, self._frequency, strict=True)) ** 2
        rounding = ROUNDING * (max(abs(lower), abs(upper)) + float(rates.max()))
        found = []
        for share in SHARES:
            shifted = matrix - np.diag(share * rates)
            low = float(eigvalsh(shifted, subset_by_index=[len(rates) - 1, len(rates) - 1])[0]) + rounding
            high = 0.5 * upper - share * beyond
            found.append(0.5 * (low + high) + np.hypot(0.5 * (low - high), spread))
        return 2.0 * np.array(found)

    def _highest(self, spread: float, final_time: float) -> tuple[int, ...]:
        """Frequencies K so high that the coupling adds little, as far as the matrix allows."""
        wanted = spread**2 * final_time / (COUPLING * SHARES[0] * self._least) if spread > 0.0 else 0.0
        ideal = np.maximum(1.0, np.ceil(np.sqrt(wanted) / self._frequency))
        most = MOST_MODES ** (1.0 / self._grid.dim) / 2.0 - 0.5
        scale = min(1.0, most / float(prod(ideal) ** (1.0 / len(ideal))))
        return tuple(int(max(1, n)) for n in np.floor(ideal * scale))

    def _matrix(self, field: Array, highest: tuple[int, ...]) -> tuple[Array, Array]:
        """½ĉ(k − l)/√|Ω| on real mean-zero functions, and kᵀDk."""
        dim, grid = self._grid.dim, self._grid
        shape = field.shape[:dim]
        modes = np.array(np.unravel_index(np.arange(prod(shape)), shape))
        twice = tuple(2 * n for n in highest)
        half = fourier_coefficients(field.reshape(prod(shape), -1), modes, grid, twice)
        # all frequencies from one half of them
        mirrored = np.conj(half[(slice(None, None, -1),) * dim][..., :-1])
        full = np.concatenate([mirrored, half], axis=-1) / np.sqrt(grid.measure)
        ranges = [np.arange(-n, n + 1) for n in highest]
        numbers = np.stack(np.meshgrid(*ranges, indexing="ij")).reshape(dim, -1)
        numbers = numbers[:, np.any(numbers != 0, axis=0)]
        k = self._frequency[:, None] * numbers
        rates = np.einsum("ik,ij,jk->k", k, self._diffusion, k)
        places = tuple(
            numbers[i][:, None] - numbers[i][None, :] + twice[i] for i in range(dim)
        )
        return 0.5 * full[places], rates
