"""What Gauss points leave out of ∇·f(û) for a flux that is analytic but no polynomial (T4.6, C15)."""

from __future__ import annotations

import numpy as np

from stfem.equations import Equation
from stfem.meshes.grid import TensorGrid
from stfem.spaces.legendre import derivative_matrix, legendre_values
from stfem.spaces.stencil import Array, apply_along

#: Sums of the semi-axes (ρ in space, ρ in time) of the ellipses that are tried; every one gives a bound.
ELLIPSES = ((2.0, 2.0), (4.0, 3.0), (8.0, 4.0), (16.0, 6.0), (32.0, 8.0))


def interpolation_defect_sq(
    equation: Equation, grid: TensorGrid, modes: Array, points: int, times: int
) -> Array:
    """Bounds of the mean squares over cells × slab of N − IN, N = Σ_i f_i'(û)∂_iû, all components, ``(C,)``.

    I interpolates at Gauss points, which integrate the square of IN exactly. With π the part of the Chebyshev
    series of N on a cell that IN = N holds for, and the discrete norm of I(N − π),

        ‖N − IN‖ ≤ 2 sup|N − π| (|K|Δt)^{1/2},
        sup|N − π| ≤ M Σ_i 2ρ_i^{1−n_i}/(ρ_i−1) Π_{j≠i} (ρ_j+1)/(ρ_j−1),

    M ≥ |N| on the product of Bernstein ellipses with parameters ρ_i > 1 around the directions, time included.
    There |φ_k| ≤ φ_k(a), a the longer semi-axis, which bounds û, its distance from its mean, and ∂_iû.

    Parameters
    ----------
    equation
        Its `jacobian_bound` gives M.
    grid
        Grid of û.
    modes
        û on a slab, ``(time, m, p…, cells…)``.
    points, times
        Gauss points per direction in space, and in time.

    Returns
    -------
    array, infinite where û comes too close to a singularity of the flux
    """
    dim = grid.dim
    best = np.full(int(np.prod(modes.shape[-dim:])), np.inf)
    slopes = [
        np.abs(apply_along(derivative_matrix(modes.shape[2 + i] - 1) / h, modes, 2 + i))
        for i, h in enumerate(grid.spacing)
    ]
    size = np.abs(modes)
    means = size[0].reshape(modes.shape[1], -1, best.size)[:, 0]
    for ellipse in ELLIPSES:
        largest = _on_ellipse(size, ellipse, dim)
        least = np.maximum(2.0 * means - largest, 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            total = np.zeros_like(largest)
            for i, slope in enumerate(slopes):
                bound = equation.jacobian_bound(least, largest, _on_ellipse(slope, ellipse, dim), i)
                total = total + (np.inf if bound is None else bound)
            squares = (_tail(ellipse, points, times, dim) * total) ** 2
        best = np.fmin(best, np.where(np.isnan(squares), np.inf, squares).sum(axis=0))
    return 4.0 * best


def _on_ellipse(size: Array, ellipse: tuple[float, float], dim: int) -> Array:
    """Σ |modes| sup|φ_k| over the ellipses, ``(m, C)``."""
    for axis in (0, *range(2, 2 + dim)):
        rho = ellipse[0] if axis else ellipse[1]
        heights = legendre_values(size.shape[axis] - 1, [0.5 + 0.25 * (rho + 1.0 / rho)])
        size = apply_along(heights, size, axis)
    return size.reshape(size.shape[1], -1)


def _tail(ellipse: tuple[float, float], points: int, times: int, dim: int) -> float:
    """What the Chebyshev coefficients beyond the interpolated degrees sum up to, for M = 1."""
    rhos, counts = (*(ellipse[0],) * dim, ellipse[1]), (*(points,) * dim, times)
    full = [(rho + 1.0) / (rho - 1.0) for rho in rhos]
    return sum(
        2.0 * rho ** (1 - n) / (rho - 1.0) * float(np.prod(full)) / own
        for rho, n, own in zip(rhos, counts, full, strict=True)
    )
