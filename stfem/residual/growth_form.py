"""The form of growth and dissipation in Fourier space, with proved bounds (T4, N7, N9).

Let −B(e) = ½∫c_f e² − ‖D^{1/2}∇e‖² be what growth and dissipation do together to an error e, with mean zero
where the equation conserves it.
Frequencies are split at K. On the low ones B is a matrix of Fourier coefficients, on the others at least
kᵀDk − ½ sup c_f, and the two are coupled by at most β = ¼(sup c_f − inf c_f), since constants couple nothing.
As 2β|x||y| ≤ δ|x|² + (β²/δ)|y|² for any δ > 0, both become bounds from below without coupling.
"""

from __future__ import annotations

from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh

from stfem.meshes.grid import TensorGrid
from stfem.residual.spectral import least_beyond, least_eigenvalue
from stfem.spaces.fourier import Spectrum, fourier_coefficients
from stfem.spaces.stencil import Array

#: Shares θ of the dissipation at which eigenvalues are computed; between them they are convex in θ.
SHARES = (0.5, 1.0)
#: Largest matrix.
MOST_MODES = 256
#: What the coupling may add to the growth exponent of a run, if the matrix may become large enough.
COUPLING = 0.02
#: Relative round-off of coefficients and eigenvalues, with some margin.
ROUNDING = 1e-12


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
    known
        `matrix`, where it is known; ``field`` is not needed then.

    Attributes
    ----------
    bounds
        As above.
    matrix
        Fourier coefficients of ½c_f on low frequencies.
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
        known: Spectrum | None = None,
    ) -> None:
        least = least_eigenvalue(diffusion)
        frequency = 2.0 * np.pi / np.asarray(grid.lengths)
        self.bounds = bounds
        lower, self._upper = bounds
        self._coupling = 0.25 * (self._upper - lower)
        #: Largest |n_i| there.
        self.highest = highest_frequencies(self._coupling, final_time, least, frequency, limit)
        #: Frequencies n of the matrix, ``(d, M)``.
        self.numbers = _numbers(self.highest, mean_free)
        k = frequency[:, None] * self.numbers
        self._dissipation = np.einsum("ik,ij,jk->k", k, diffusion, k)
        self._beyond = least_beyond(self.highest, grid.lengths, diffusion)
        self._rounding = ROUNDING * (max(map(abs, bounds)) + float(self._dissipation.max()))
        self.matrix = 0.5 * _convolution(field, grid, self.highest, self.numbers) if known is None else known

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
                matrix = self.matrix - np.diag(share * self._dissipation)
                low = (
                    float(eigvalsh(matrix, subset_by_index=[last, last], overwrite_a=True)[0])
                    + self._rounding
                )
            high = 0.5 * self._upper - share * self._beyond
            found.append(0.5 * (low + high) + np.hypot(0.5 * (low - high), self._coupling))
        return 2.0 * np.array(found)

    @cached_property
    def _eigen(self) -> tuple[Array, Spectrum]:
        """Eigenvalues of B on low frequencies, not too large, and its eigenvectors."""
        values, vectors = eigh(np.diag(self._dissipation) - self.matrix, overwrite_a=True)
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


def highest_frequencies(
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
