"""Cellwise Legendre modes of exp(i k.x), with proved bounds of what a projection leaves out.

On a cell with centre x_c and size h, with kappa = k h / 2,

    integral over s in [0,1] of exp(ik(x_c + (s - 1/2)h)) phi_j(s) ds = exp(ik x_c) i^j sqrt(2j+1) j_j(kappa),

j_j the spherical Bessel function, and sum_j (2j+1) j_j(kappa)^2 = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, spherical_jn

from stfem.data.base import Array
from stfem.meshes.grid import TensorGrid

__all__ = ["Tails", "evaluate", "expansion", "factors", "remainders", "tails"]

ComplexArray = NDArray[np.complex128]
_SLACK = 1.0 + 1e-10  # far above the relative error of spherical_jn (1e-13) and of the sums here
_BLOCK = 1 << 17  # waves times points evaluated at once, to stay in cache
_TINY = 1e-100  # spherical_jn is not finite for denormal arguments
_EPS = float(np.finfo(np.float64).eps)


def factors(wavenumbers: Array, size: float, degree: int) -> ComplexArray:
    """i^j sqrt(2j+1) j_j(k size / 2), shape (n, degree + 1)."""
    j = np.arange(degree + 1)
    kappa = 0.5 * size * wavenumbers[:, None]
    sign = np.where((kappa < 0.0) & (j % 2 == 1), -1.0, 1.0)  # j_j(-kappa) = (-1)^j j_j(kappa)
    powers = np.array([1.0, 1.0j, -1.0, -1.0j])[j % 4]
    modulus = np.where(np.abs(kappa) < _TINY, 0.0, np.abs(kappa))
    result: ComplexArray = powers * np.sqrt(2.0 * j + 1.0) * sign * spherical_jn(j, modulus)
    return result


@dataclass(frozen=True)
class Tails:
    """One-dimensional bounds for exp(iks) on an interval, one entry per wavenumber.

    energy >= sum_{j>n} (2j+1) j_j^2 = ||(I-P)e||^2 (mean square), rest >= sup |(I-P)e|, size >= sup |Pe|.
    """

    energy: Array
    rest: Array
    size: Array

    @classmethod
    def none(cls, n: int) -> Tails:
        """Nothing is left out (a fixed time)."""
        return cls(np.zeros(n), np.zeros(n), np.ones(n))

    def at(self, index: NDArray[np.intp]) -> Tails:
        """Entries selected by index."""
        return Tails(self.energy[index], self.rest[index], self.size[index])


def tails(wavenumbers: Array, size: float, degree: int) -> Tails:
    """Proved bounds of what Legendre modes 0..degree leave out of exp(iks) on an interval of given size.

    Modes up to J = max(degree, 1.6 kappa) + 16 are summed; beyond, |j_j(kappa)| <= kappa^j / (2j+1)!! gives a
    geometric series. Energies above 1 are cut (the energy of all modes is 1); |P_j| <= 1 gives the suprema.
    """
    kappa = 0.5 * size * np.abs(wavenumbers)
    kappa = np.where(kappa > 0.0, np.maximum(kappa, _TINY), 0.0)  # the bounds grow with kappa there
    last = max(degree, int(1.6 * min(200.0, kappa.max(initial=0.0)))) + 16
    j = np.arange(last + 1)
    weight = 2.0 * j + 1.0
    bessel = np.abs(spherical_jn(j, kappa[:, None]))
    n = last + 1  # first mode of the geometric series, whose terms have decreasing ratios
    log_double_factorial = gammaln(2 * n + 2) - n * np.log(2.0) - gammaln(n + 1)
    first = np.exp(np.minimum(n * np.log(np.maximum(kappa, 1e-300)) - log_double_factorial, 300.0))
    ratio_energy = kappa**2 / ((2 * n + 1) * (2 * n + 3))
    ratio_rest = kappa / (2 * n + 1)
    converges = ratio_rest < 0.9
    series_energy = np.where(converges, (2 * n + 1) * first**2 / np.maximum(1.0 - ratio_energy, 0.1), np.inf)
    series_rest = np.where(converges, (2 * n + 1) * first / np.maximum(1.0 - ratio_rest, 0.1), np.inf)
    energy = bessel[:, degree + 1 :] ** 2 @ weight[degree + 1 :] + series_energy
    kept = bessel[:, : degree + 1] @ weight[: degree + 1]
    rest = np.minimum(bessel[:, degree + 1 :] @ weight[degree + 1 :] + series_rest, 1.0 + kept) * _SLACK
    return Tails(np.minimum(1.0, energy * _SLACK), rest, np.minimum(kept * _SLACK, 1.0 + rest))


@lru_cache(maxsize=32)
def _direction(
    wavenumbers: tuple[float, ...], size: float, cells: int, degree: int
) -> tuple[ComplexArray, Tails]:
    """Modes on the cells of one direction, shape (n, (degree+1) * cells), and tails; kept between slabs."""
    k = np.array(wavenumbers)
    centres = size * (np.arange(cells) + 0.5)
    phase = np.exp(1j * k[:, None] * centres)
    table = (factors(k, size, degree)[:, :, None] * phase[:, None, :]).reshape(len(k), (degree + 1) * cells)
    table.flags.writeable = False
    return table, tails(k, size, degree)


def _indexed(column: Array) -> tuple[tuple[float, ...], NDArray[np.intp]]:
    unique, inverse = np.unique(column, return_inverse=True)
    return tuple(unique.tolist()), inverse


def _eliminations(
    wavevectors: Array,
) -> Iterator[tuple[int, tuple[float, ...], NDArray[np.intp], NDArray[np.intp]]]:
    """Order of summation over waves sorted by their vectors: the last direction first.

    Yields the direction, its wavenumbers, for every remaining row the index of its wavenumber, and where
    groups of rows start that agree in all earlier directions; each group becomes one row of the next step.
    """
    for i in reversed(range(wavevectors.shape[1])):
        unique, index = _indexed(wavevectors[:, i])
        first = np.ones(len(wavevectors), dtype=bool)
        first[1:] = np.any(np.diff(wavevectors[:, :i], axis=0) != 0.0, axis=1)
        starts = np.flatnonzero(first)
        yield i, unique, index, starts
        wavevectors = wavevectors[starts]


def evaluate(amplitudes: ComplexArray, wavevectors: Array, points: Array) -> Array:
    """Values of sum_r Re( amplitudes[r] exp(i k_r . x) ) at points (dim, P), with few exponentials."""
    values = np.zeros(points.shape[1])
    if len(amplitudes) == 0:
        return values
    (last, unique, index, starts), *steps = _eliminations(wavevectors)
    matrix = np.zeros((len(starts), len(unique)), dtype=np.complex128)  # the first sum is a matrix product
    group = np.searchsorted(starts, np.arange(len(amplitudes)), side="right") - 1
    matrix[group, index] = amplitudes
    count = max(256, _BLOCK // len(starts))
    for start in range(0, len(values), count):
        block = points[:, start : start + count]
        state = matrix @ np.exp(1j * np.array(unique)[:, None] * block[last])
        for i, wavenumbers, index, starts in steps:
            waves = np.exp(1j * np.array(wavenumbers)[:, None] * block[i])
            state = np.add.reduceat(state * waves[index], starts, axis=0)
        values[start : start + count] = state[0].real
    return values


def expansion(
    rows: ComplexArray, wavevectors: Array, grid: TensorGrid, degree: int
) -> Callable[[slice], Array]:
    """Modes of sum_r Re( rows[r, :] exp(i k_r . x) ) on ranges of cells of direction 0.

    The other directions are summed up at once.

    Parameters
    ----------
    rows : array, shape (n, T)
        Complex amplitudes, one column per time mode.
    wavevectors : array, shape (n, dim)
        Distinct wave vectors in lexicographic order.

    Returns
    -------
    callable, gives arrays of shape (T, degree+1, ..., cells of the range, N_2, ...)
    """
    dim, q, count = grid.dim, degree + 1, rows.shape[1]
    if len(rows) == 0:
        return lambda cells: np.zeros((count, *(q,) * dim, cells.stop - cells.start, *grid.cells[1:]))
    state = rows
    for i, unique, index, starts in _eliminations(wavevectors):
        table = _direction(unique, grid.spacing[i], grid.cells[i], degree)[0][index]
        if i == 0:  # only the real part of the last sum is needed
            left = np.concatenate([state.real, -state.imag]).T
            last = np.concatenate([table.real, table.imag]).reshape(left.shape[1], q, -1)
        else:
            stops = [*starts[1:], len(state)]
            state = np.stack(
                [(state[a:b].T @ table[a:b]).ravel() for a, b in zip(starts, stops, strict=True)]
            )
    order = [0] + [2 * dim - 1 - 2 * i for i in range(dim)] + [2 * dim - 2 * i for i in range(dim)]

    def on(cells: slice) -> Array:
        values = left @ last[:, :, cells].reshape(left.shape[1], -1)
        shape = [count]
        for i in reversed(range(1, dim)):
            shape += [q, grid.cells[i]]
        return np.ascontiguousarray(values.reshape(*shape, q, -1).transpose(order))

    return on


@lru_cache(maxsize=8)
def _coherence(
    wavevectors: tuple[tuple[float, ...], ...], spacing: tuple[float, ...], cells: tuple[int, ...]
) -> Array:
    """Bounds of |sum_cells exp(i(k_j -+ k_l).x_cell)| / #cells, averaged over both signs, shape (n, n).

    Per direction |sin(N theta) / (N sin theta)|, theta = (k_j -+ k_l)h/2: zero for distinct periodic waves
    that are not aliases of each other on this grid.
    """
    k = np.array(wavevectors)
    total = np.zeros((len(k), len(k)))
    for sign in (-1.0, 1.0):
        product = np.ones_like(total)
        for i, (h, n) in enumerate(zip(spacing, cells, strict=True)):
            theta = 0.5 * h * (k[:, None, i] + sign * k[None, :, i])
            noise = 8.0 * _EPS * (1.0 + np.abs(theta))
            below = np.abs(np.sin(theta)) - noise
            above = np.abs(np.sin(n * theta)) / n + noise
            product *= np.minimum(
                1.0, above / np.maximum(below, 1e-6) * _SLACK, where=below > 1e-6, out=np.ones_like(theta)
            )
        total += 0.5 * product
    total.flags.writeable = False
    return total


def remainders(
    size: Array, owner: NDArray[np.intp], time: Tails, wavevectors: Array, grid: TensorGrid, degree: int
) -> tuple[float, float]:
    """Bounds of (root mean square, supremum) of (I-P) sum_j Re( c_j exp(i(k_owner(j).x + w_j t)) ).

    Square: (I-P) = sum_i P_1..P_{i-1}(I-P_i) is an orthogonal sum, so that one term leaves out
    |c|^2 (1 - prod_i (1 - energy_i)). Two terms meet with the coherence of their phases over the cells,
    because I-P acts in the same way on every cell.
    Supremum: triangle inequality over the terms and over the same sum of projections.
    """
    if len(size) == 0:
        return 0.0, 0.0
    parts = [time]
    for i in range(grid.dim):
        unique, index = _indexed(wavevectors[:, i])
        parts.append(_direction(unique, grid.spacing[i], grid.cells[i], degree)[1].at(index[owner]))
    energy, rest, kept = np.zeros(len(size)), np.zeros(len(size)), np.ones(len(size))
    for part in parts:
        energy = energy + part.energy * (1.0 - energy)
        rest = rest + kept * part.rest
        kept = kept * part.size
    weight = np.bincount(owner, size * np.sqrt(energy), len(wavevectors))
    if len(wavevectors) <= 1500:
        key = tuple(map(tuple, wavevectors.tolist()))
        square = float(weight @ _coherence(key, grid.spacing, grid.cells) @ weight)
    else:
        square = float(np.sum(weight)) ** 2
    return max(square, 0.0) ** 0.5 * _SLACK, float(size @ rest) * _SLACK
