"""Fourier coefficients of piecewise polynomials on periodic uniform grids."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from scipy.special import spherical_jn

from stfem.meshes.grid import TensorGrid
from stfem.spaces.stencil import Array

Spectrum = NDArray[np.complex128]


def fourier_coefficients(
    fields: Array, modes: NDArray[np.intp], grid: TensorGrid, highest: tuple[int, ...]
) -> Spectrum:
    """c_n = |Ω|^{-1/2} ∫ f exp(−ik·x), k_i = 2πn_i/L_i, so that Σ_n |c_n|² = ‖f‖².

    From the transform of every mode over the cells and the moments of the modes on a cell,

        ∫_0^1 L_p(s) exp(−iκs) ds = √(2p+1) exp(−iκ/2) (−i)^p j_p(κ/2),      κ = 2πn/N .

    Parameters
    ----------
    fields
        Coefficients ``(…, M, cells)`` of some tensor-product modes of real fields.
    modes
        Degrees of these modes in every direction, ``(d, M)``.
    grid
        Cells.
    highest
        Largest |n_i|.

    Returns
    -------
    array ``(…, 2n_1 + 1, …, 2n_{d−1} + 1, n_d + 1)``
        For n_i = −highest … highest, but from 0 in the last direction: c_{−n} is the conjugate of c_n.
    """
    dim, cells = grid.dim, grid.cells
    leading, count = fields.shape[:-2], fields.shape[-2]
    given = fields.reshape(-1, count, *cells)
    ranges = [frequencies(n, last=i == dim - 1) for i, n in enumerate(highest)]
    places = np.ix_(*(n % count for n, count in zip(ranges, cells, strict=True)))
    moments = [
        _moments(int(modes[i].max()), highest[i], cells[i])[:, -len(n) :] for i, n in enumerate(ranges)
    ]
    total = np.zeros((len(given), *(len(n) for n in ranges)), dtype=np.complex128)
    # one field and mode after the other: the frequencies are many times the cells
    for result, field in zip(total, given, strict=True):
        for mode, degrees in zip(field, modes.T.tolist(), strict=True):
            term = scipy.fft.fftn(mode)[places]
            for i, degree in enumerate(degrees):
                term *= moments[i][degree].reshape(-1, *(1,) * (dim - 1 - i))
            result += term
    total *= grid.cell_measure / np.sqrt(grid.measure)
    return total.reshape(*leading, *total.shape[1:])


def frequencies(highest: int, last: bool) -> NDArray[np.intp]:
    """−highest … highest, from 0 in the last direction."""
    return np.arange(0 if last else -highest, highest + 1)


@lru_cache(maxsize=64)
def _moments(degree: int, highest: int, cells: int) -> Spectrum:
    """∫_0^1 L_p(s) exp(−iκs) ds for every p ≤ degree and n = −highest … highest."""
    half = np.pi * np.arange(-highest, highest + 1) / cells
    rows = [
        np.sqrt(2.0 * p + 1.0) * (-1j) ** p * _bessel(p, half) * np.exp(-1j * half) for p in range(degree + 1)
    ]
    moments = np.array(rows)
    moments.flags.writeable = False
    return moments


def _bessel(order: int, x: Array) -> Array:
    """Spherical Bessel function j_p, even or odd as p is."""
    values = spherical_jn(order, np.abs(x))
    return np.asarray(np.where(x < 0.0, (-1.0) ** order * values, values))
