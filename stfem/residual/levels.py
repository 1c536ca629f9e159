"""The residual by scales, for a dual norm in L¹ (N10): what varies on cells, and smoothed means of cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.fft

from stfem.equations import is_diagonal
from stfem.meshes.grid import TensorGrid
from stfem.meshes.periodic import neighbour
from stfem.spaces.stencil import Array

#: Part of the squares of the means in modes in time that are taken in L¹ as they are.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class ResidualLevels:
    """R = R' + GM + (M − GM) on a slab: M the means over cells, G averages over 1, 3, 9, … cells.

    Attributes
    ----------
    within
        Bound of ∫_slab ‖R'‖_{L¹}.
    reach
        R' = ∇·Φ' with ‖D^{-1/2}Φ'‖_{L²(K)} ≤ reach ‖R'‖_{L²(K)} on every cell, in √time.
    plain
        Bounds of ∫_slab ‖GM‖_{L¹} for every G, the last of them the mean over Ω.
    dual
        Bounds of ∫_slab ‖D^{-1/2}F‖_{L¹}, ∇·F = M − GM, in √time.
    """

    within: float
    reach: float
    plain: Array
    dual: Array

    def cost(self, slope: float) -> float:
        """Bound of ∫_slab |∫_Ω R z| for functions with |z| ≤ 1 and |D^{1/2}∇z| ≤ ``slope``, 1/√time."""
        return min(1.0, slope * self.reach) * self.within + float((self.plain + slope * self.dual).min())


def residual_levels(
    squares: Array, means: Array, grid: TensorGrid, diffusion: Array, duration: float
) -> ResidualLevels:
    """Levels from the squares of a residual on cells and its means there.

    Parameters
    ----------
    squares
        ∫_slab ∫_K R² ``(N_1, …, N_d)``.
    means
        Modes in time of the means over the cells, ``(rows, N_1, …, N_d)``.
    grid, diffusion
        Cells, and D, positive definite.
    duration
        Δt.
    """
    weights = diagonal_bound(diffusion)
    scale = duration * grid.cell_measure
    within = _integral(np.maximum(squares - scale * (means**2).sum(axis=0), 0.0), scale)
    reach = float((np.array(grid.spacing) / np.sqrt(weights)).max()) / np.pi
    widths = [1]
    while widths[-1] < max(grid.cells):
        widths.append(3 * widths[-1])
    plain, dual = np.zeros((2, len(widths) + 1, *grid.cells))
    energies = (means**2).sum(axis=tuple(range(1, means.ndim)))
    count = int(np.argmax(np.cumsum(energies) >= (1.0 - NEGLIGIBLE) * energies.sum())) + 1
    for row in means[:count]:  # one after the other: every average of every flux is a field of its own
        _add_levels(row[None], grid, weights, widths, plain, dual)
    rest = _integral(scale * (means[count:] ** 2).sum(axis=0), scale)
    return ResidualLevels(
        within,
        reach,
        np.array([_integral(scale * entry, scale) for entry in plain]) + rest,
        np.array([_integral(scale * entry, scale) for entry in dual]),
    )


def _add_levels(
    means: Array, grid: TensorGrid, weights: Array, widths: list[int], plain: Array, dual: Array
) -> None:
    """Add the squares of GM and of D^{-1/2}F on every cell, for every G and for the mean over Ω."""
    around = tuple(range(1, means.ndim))
    # a constant has no divergence: without it F is small where R is
    fluxes = [
        flux - np.median(flux, axis=around, keepdims=True) for flux in two_point_flux(means, grid, weights)
    ]
    smooth, kept = means, fluxes
    for level, width in enumerate(widths):
        plain[level] += smooth[0] ** 2
        gaps = [flux - part for flux, part in zip(fluxes, kept, strict=True)]
        dual[level] += flux_squares(gaps, weights)
        if level + 1 < len(widths):
            smooth, kept = _averaged(smooth, width, grid.dim), [_averaged(f, width, grid.dim) for f in kept]
    plain[-1] += means.mean() ** 2
    dual[-1] += flux_squares(fluxes, weights)


def _integral(squares: Array, scale: float) -> float:
    """∫_slab ‖f‖_{L¹} from ∫_slab ∫_K f² on every cell, by Cauchy's inequality."""
    return float(np.sqrt(scale * squares).sum())


def _averaged(field: Array, width: int, dim: int) -> Array:
    """Mean over the cells at the distances −width, 0, width in every direction."""
    for axis in range(field.ndim - dim, field.ndim):
        field = (field + neighbour(field, width, axis) + neighbour(field, -width, axis)) / 3.0
    return field


def diagonal_bound(matrix: Array) -> Array:
    """d_i with ξ·Dξ ≥ Σ d_i ξ_i²: the diagonal, or the smallest eigenvalue where D is not diagonal."""
    if is_diagonal(matrix):
        return np.diag(matrix)
    return np.full(len(matrix), max(0.0, float(np.linalg.eigvalsh(matrix)[0])))


def two_point_flux(means: Array, grid: TensorGrid, weights: Array) -> list[Array]:
    """F·n on the lower faces of cells, F_i linear in x_i on every cell, with ∇·F = means − their mean.

    F_i = d_i (φ_K − φ_{K−e_i})/h_i with the potential of Σ_i d_i (φ_{K+e_i} − 2φ_K + φ_{K−e_i})/h_i² = r_K,
    by FFT.

    Parameters
    ----------
    means
        ``(rows, N_1, …, N_d)``.
    grid
        Cells.
    weights
        d_i > 0.
    """
    axes = tuple(range(1, grid.dim + 1))
    symbol = np.zeros((1,) * grid.dim)
    for i, (h, d, count) in enumerate(zip(grid.spacing, weights, grid.cells, strict=True)):
        shape = [1] * grid.dim
        shape[i] = count
        symbol = symbol - (4.0 * d / h**2) * np.sin(np.pi * np.arange(count) / count).reshape(shape) ** 2
    symbol[(0,) * grid.dim] = 1.0
    free = means - means.mean(axis=axes, keepdims=True)
    potential = scipy.fft.ifftn(scipy.fft.fftn(free, axes=axes) / symbol, axes=axes).real
    return [
        (potential - neighbour(potential, -1, 1 + i)) * (d / h)
        for i, (h, d) in enumerate(zip(grid.spacing, weights, strict=True))
    ]


def flux_squares(fluxes: list[Array], weights: Array) -> Array:
    """Σ over rows of Σ_i F_i²/d_i averaged over every cell, F_i linear between its faces."""
    total = np.zeros(fluxes[0].shape[1:])
    for i, (below, d) in enumerate(zip(fluxes, weights, strict=True)):
        above = neighbour(below, 1, 1 + i)
        total += (below**2 + below * above + above**2).sum(axis=0) / (3.0 * d)
    return total
