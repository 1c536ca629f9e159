"""Operator norms of the SIAC filter: how much K * v and ∂(K * v) can exceed v (T4.6)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from stfem.meshes.grid import TensorGrid
from stfem.reconstruction.kernel import kernel_coefficients
from stfem.spaces.stencil import Array

#: Harmonics per cell up to which a multiplier is evaluated; beyond, its decay bounds it.
HARMONICS = 8
_SLACK = 1.0 + 1e-12


@dataclass(frozen=True)
class FilterNorms:
    """Bounds of S v = K_h * v on the torus.

    Attributes
    ----------
    mean_square
        ‖S v‖ ≤ mean_square ‖v‖ in L²: the largest |K̂| over all harmonics of the torus.
    slope
        ‖∂_i S v‖ ≤ slope[i] ‖v‖ in L², in 1/length.
    sup
        sup |S v| ≤ sup · sup |v|: ‖K‖_{L¹} ≤ Σ|c_γ| in every direction (Young).
    sup_slope
        sup |∂_i S v| ≤ sup_slope[i] · sup |v|: ‖(ψ^{(ℓ)})'‖_{L¹} ≤ 2 for ℓ ≥ 2.
    """

    mean_square: float
    slope: tuple[float, ...]
    sup: float
    sup_slope: tuple[float, ...]


def filter_norms(degree: int, order: int, grid: TensorGrid) -> FilterNorms:
    """Norms of the kernel with 2q + 1 splines of order ℓ ≥ 2 in every direction of a grid.

    In units of the cells K̂(ξ) = Σ_γ c_γ cos(γξ) (sin(ξ/2)/(ξ/2))^ℓ at ξ = 2πk/N, k = 0, 1, …;
    |K̂(ξ)| ≤ Σ|c_γ| (2/ξ)^ℓ covers the harmonics that are not evaluated.
    """
    coefficients = np.array([float(c) for c in kernel_coefficients(degree, order)])
    total = float(np.abs(coefficients).sum())
    multipliers = [_multiplier(coefficients, order, cells) for cells in grid.cells]
    highest = 2.0 * np.pi * HARMONICS
    plain = [max(float(np.abs(k).max()), total * (2.0 / highest) ** order) for _, k in multipliers]
    slopes = [
        max(float(np.abs(xi * k).max()), total * highest * (2.0 / highest) ** order) for xi, k in multipliers
    ]
    mean_square = prod(plain)
    sup = total ** len(plain)
    return FilterNorms(
        _SLACK * mean_square,
        tuple(
            _SLACK * mean_square / own * slope / h
            for own, slope, h in zip(plain, slopes, grid.spacing, strict=True)
        ),
        _SLACK * sup,
        tuple(_SLACK * 2.0 * sup / h for h in grid.spacing),
    )


def _multiplier(coefficients: Array, order: int, cells: int) -> tuple[Array, Array]:
    """ξ and K̂(ξ) of one direction."""
    xi = 2.0 * np.pi * np.arange(HARMONICS * cells + 1) / cells
    gamma = np.arange(len(coefficients)) - len(coefficients) // 2
    return xi, (np.cos(np.outer(xi, gamma)) @ coefficients) * np.sinc(xi / (2.0 * np.pi)) ** order
