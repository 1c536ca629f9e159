"""Comparators that do not split the residual: all of it in L², or all of it in the dual norm (T3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from stfem.estimators.estimate import Estimate
from stfem.estimators.indicators import cell_shares
from stfem.estimators.run import SlabRun
from stfem.estimators.split import SplitEstimator, SplitRun
from stfem.meshes.grid import TensorGrid
from stfem.residual import SlabNorms
from stfem.residual.levels import diagonal_bound, flux_squares, two_point_flux
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.stencil import Array
from stfem.timestepping import Node


@dataclass(frozen=True)
class AllL2Estimator(SplitEstimator):
    """All of the residual in L²: the member λ = 1 of the flux family, d̃ = D∇û (T3.5).

    Robust in ε, but it needs û ∈ H² and loses where diffusion dominates. Parameters as `SplitEstimator`.
    """

    members: tuple[float, ...] = (1.0,)
    spectral: bool = field(default=False, init=False)


@dataclass(frozen=True)
class AllDualEstimator(SplitEstimator):
    """All of the residual in the dual norm: what energy arguments give without a split (T3).

    R = R̄ + ∇·F + (R − means) + ∇·Φ_0, with R̄ the mean over Ω (measured in L²), F the lowest-order
    Raviart–Thomas flux of the cell means, F = D∇φ for the potential φ of the two-point scheme, and the
    mean-free rest in every cell by the Poincaré inequality ‖v − v_K‖ ≤ max_i (h_i/(π√D_ii)) ‖D^{1/2}∇v‖ on
    boxes, so that

        p/√ε ≤ ‖D^{-1/2}F‖ + max_i h_i/(π√D_ii) ‖R − means‖ + ‖D^{-1/2}Φ_0‖.

    Guaranteed like the split estimator, but β = ∫p²/(2ε) grows like 1/ε as ε → 0 and is infinite at ε = 0.
    With cross terms in D its smallest eigenvalue stands for every D_ii. Parameters as `SplitEstimator`.

    Raises
    ------
    ValueError
        For a system.
    """

    members: tuple[float, ...] = field(default=(0.0,), init=False)
    spectral: bool = field(default=False, init=False)

    def begin(self, semidiscretization: Semidiscretization, nodes: Iterable[Node], order: int) -> SlabRun:
        """As `SplitEstimator.begin`; there is no L¹ bound, because no part is measured in L²."""
        components = semidiscretization.problem.equation.components
        if components != 1 or semidiscretization.problem.equation.entropy is not None:
            raise ValueError(f"AllDualEstimator: expected a scalar equation, got {components} components")
        return _DualRun(self, semidiscretization, nodes, order)

    def measured(self, norms: SlabNorms, grid: TensorGrid, matrix: Array) -> SlabNorms:
        """Move everything but the mean of R into the parabolic part."""
        diffusion = diagonal_bound(matrix)
        nothing = np.zeros_like(norms.residual_sq)
        if diffusion.min() > 0.0:
            in_cells = np.maximum(norms.residual_sq - norms.duration * _means_sq(norms, grid), 0.0).sum()
            reach = max(h / (np.pi * np.sqrt(d)) for h, d in zip(grid.spacing, diffusion, strict=True))
            size = np.sqrt(norms.duration * _means_dual_sq(norms, grid, diffusion))
            size += reach * np.sqrt(in_cells) + np.sqrt(norms.flux_sq.sum())
        else:
            size = np.inf
        shares = cell_shares(norms.residual_sq)
        return replace(
            norms,
            residual_sq=nothing,
            cross=nothing,
            difference_sq=nothing,
            pieces=None,
            flux_sq=np.where(shares > 0.0, shares, 1e-300) * size**2,
            remainder=norms.remainder + norms.mean / np.sqrt(grid.measure),
        )


class _DualRun(SplitRun):
    def result(self) -> Estimate:
        return replace(super().result(), bound_l1=None)


def _means_sq(norms: SlabNorms, grid: TensorGrid) -> Array:
    """Σ over time rows of |K| (mean of R_0 over K)²."""
    return np.asarray(grid.cell_measure * (norms.cell_means**2).sum(axis=0))


def _means_dual_sq(norms: SlabNorms, grid: TensorGrid, diffusion: Array) -> float:
    """Σ over time rows of ‖D^{-1/2}F‖² for the flux F with ∇·F = cell means of R_0 − R̄.

    F is the same for all multiples of D; that by its largest entry has reciprocals.
    """
    largest = float(diffusion.max())
    fluxes = two_point_flux(norms.cell_means, grid, diffusion / largest)
    return grid.cell_measure * float(flux_squares(fluxes, diffusion / largest).sum()) / largest
