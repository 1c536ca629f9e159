"""What Gauss points leave out of ∇·f(û) for a flux that is analytic but no polynomial (T4.6, C15)."""

from __future__ import annotations

import numpy as np

from stfem.equations import Equation
from stfem.meshes.grid import TensorGrid
from stfem.spaces.legendre import legendre_values
from stfem.spaces.stencil import Array, apply_along

#: Sums ρ of the semi-axes of the ellipses that are tried in space, and in time; every pair gives a bound.
ELLIPSES = (2.0, 4.0, 8.0, 16.0, 32.0)
ELLIPSES_TIME = (2.0, 4.0, 8.0, 24.0)


def unproved_quadrature(points: int) -> str:
    """What is said where nothing proves the quadrature."""
    return (
        f"the flux is not polynomial: residual integrated with {points} Gauss points per direction and cell, "
        "not proved exact"
    )


def interpolation_defect_sq(
    equation: Equation, grid: TensorGrid, modes: Array, points: int, times: int
) -> Array:
    """Bounds of the mean squares over cells × slab of N − IN, N = Σ_i f_i'(û)∂_iû, all components, ``(C,)``.

    I interpolates at Gauss points, which integrate the square of IN exactly. With π the part of the Chebyshev
    series of N on a cell that IN = N holds for, and the discrete norm of I(N − π),

        ‖N − IN‖ ≤ 2 sup|N − π| (|K|Δt)^{1/2},
        sup|N − π| ≤ M Σ_i 2ρ_i^{1−n_i}/(ρ_i−1) Π_{j≠i} (ρ_j+1)/(ρ_j−1),

    M ≥ |N| on the product of Bernstein ellipses with parameters ρ_i > 1 around the directions, time included.
    There |φ_k| ≤ φ_k(a) and |φ_k'| ≤ φ_k'(a), a the end of the longer semi-axis, which bounds û, its distance
    from its mean, and ∂_iû.

    Parameters
    ----------
    equation
        Its `jacobian_bound` gives M, and must be known.
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
    size = np.abs(modes)
    best = np.full(int(np.prod(modes.shape[-dim:])), np.inf)
    means = size[0].reshape(modes.shape[1], -1, best.size)[:, 0]
    for in_time in ELLIPSES_TIME:
        reduced = apply_along(_heights(size.shape[0], in_time), size, 0)[0]
        for in_space in ELLIPSES:
            largest = _on_ellipse(reduced, in_space, grid)
            least = np.maximum(2.0 * means - largest, 0.0)
            slopes = (_on_ellipse(reduced, in_space, grid, i) for i in range(dim))
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                parts = [equation.jacobian_bound(least, largest, slope, i) for i, slope in enumerate(slopes)]
                total = sum((part for part in parts if part is not None), np.zeros_like(largest))
                squares = (_tail((*(in_space,) * dim, in_time), (*(points,) * dim, times)) * total) ** 2
            best = np.fmin(best, np.where(np.isnan(squares), np.inf, squares).sum(axis=0))
    return 4.0 * (1.0 + 1e-10) * best  # far above the rounding of sums of positive numbers


def _heights(count: int, rho: float, derivative: int = 0) -> Array:
    """sup|φ_k| or sup|φ_k'| on the ellipse around [0, 1], k < count: at the end of its longer axis."""
    return legendre_values(count - 1, [0.5 + 0.25 * (rho + 1.0 / rho)], derivative)


def _on_ellipse(size: Array, rho: float, grid: TensorGrid, direction: int | None = None) -> Array:
    """Σ |modes| sup|φ_k|, with the slope of φ_k in one direction, ``(m, C)``."""
    for i, h in enumerate(grid.spacing):
        heights = _heights(size.shape[1 + i], rho, int(i == direction))
        size = apply_along(heights / h if i == direction else heights, size, 1 + i)
    return size.reshape(len(size), -1)


def _tail(rhos: tuple[float, ...], counts: tuple[int, ...]) -> float:
    """What the Chebyshev coefficients beyond the interpolated degrees sum up to, for M = 1."""
    full = [(rho + 1.0) / (rho - 1.0) for rho in rhos]
    return sum(
        2.0 * rho ** (1 - n) / (rho - 1.0) * float(np.prod(full)) / own
        for rho, n, own in zip(rhos, counts, full, strict=True)
    )
