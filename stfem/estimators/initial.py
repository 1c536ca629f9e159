"""Bounds of the initial error û(0) − u_0 (T2.0, T4.2, T4.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stfem.meshes.grid import TensorGrid
from stfem.problems import Problem
from stfem.residual.norms import UNDERFLOW
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import norm_l2_sq


@dataclass(frozen=True)
class InitialError:
    """Sizes of e(0) = u_0 − û(0).

    Attributes
    ----------
    stability
        z_0 in the norm of the stability framework.
    l1
        Bound of ‖e(0)‖_{L¹}.
    mean
        Bound of |∫_Ω e(0)|.
    unproved
        Sentences about what is not proved.
    """

    stability: float
    l1: float
    mean: float
    unproved: tuple[str, ...]


def initial_error(problem: Problem, grid: TensorGrid, degree: int, field: Array) -> InitialError:
    """Measure û(0), modes ``(m, p…, N…)`` of the given degree, against u_0.

    û(0) is a polynomial on every cell, so ‖u_0 − û(0)‖² = ‖Πu_0 − û(0)‖² + ‖u_0 − Πu_0‖² with the projection
    Π to its degree.
    """
    projections = [u.project(grid, degree, 0.0) for u in problem.initial]
    difference = np.stack([p.coefficients for p in projections]) - field
    remainder_sq = sum(p.remainder_l2**2 for p in projections)
    # z_0² ≤ Σ_c κ_c ‖e_c‖², κ = 1 for scalar equations, bounds of D²η on the state set otherwise (T4)
    kappa = problem.equation.stability.relative_entropy_bound or (1.0,) * len(projections)
    squared = sum(
        k * (norm_l2_sq(component, grid) + p.remainder_l2**2)
        for k, component, p in zip(kappa, difference, projections, strict=True)
    )
    per_cell_sq = np.einsum("ij,ij->j", *(difference.reshape(-1, int(np.prod(grid.cells))),) * 2)
    unproved = tuple(u.assumption for u in problem.initial if u.assumption is not None)
    l1 = grid.cell_measure * float(np.sqrt(per_cell_sq).sum()) + float(np.sqrt(grid.measure * remainder_sq))
    means = difference[0].reshape(-1, *grid.cells)[0]
    mean = abs(grid.cell_measure * float(means.sum())) + float(np.sqrt(grid.measure * remainder_sq))
    # squares below the smallest number are lost, unless there was nothing
    lost = UNDERFLOW * float(np.sqrt(grid.measure)) if np.any(difference) else 0.0
    return InitialError(float(np.sqrt(squared)) + lost, l1, mean, unproved)
