"""Bounds of the initial error û(0) − u_0 (T2.0, T4.2, T4.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stfem.data import Interval, cell_ranges
from stfem.equations import Entropy
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
    squared = norm_l2_sq(difference, grid) + remainder_sq
    if problem.equation.entropy is not None:
        squared = _relative_sq(problem.equation.entropy, grid, field, difference, remainder_sq)
    per_cell_sq = np.einsum("ij,ij->j", *(difference.reshape(-1, int(np.prod(grid.cells))),) * 2)
    unproved = tuple(u.assumption for u in problem.initial if u.assumption is not None)
    l1 = grid.cell_measure * float(np.sqrt(per_cell_sq).sum()) + float(np.sqrt(grid.measure * remainder_sq))
    means = difference[0].reshape(-1, *grid.cells)[0]
    mean = abs(grid.cell_measure * float(means.sum())) + float(np.sqrt(grid.measure * remainder_sq))
    # squares below the smallest number are lost, unless there was nothing
    lost = UNDERFLOW * float(np.sqrt(grid.measure)) if np.any(difference) else 0.0
    return InitialError(float(np.sqrt(squared)) + lost, l1, mean, unproved)


def _relative_sq(
    entropy: Entropy, grid: TensorGrid, field: Array, difference: Array, remainder_sq: float
) -> float:
    """Bound of 2∫η(u_0|û(0)) ≤ Σ_K ∫_K e·M_K e, M_K for the range of û(0) on the cell (T4).

    As M_K is constant on the cell, Πu_0 − û(0) and u_0 − Πu_0 remain orthogonal.
    """
    count = len(field)
    modes = np.moveaxis(field, 0, grid.dim).reshape(*field.shape[1 : 1 + grid.dim], count, -1)
    ranges = cell_ranges(modes, grid.dim)
    limits = (entropy.states.lower[:, None], entropy.states.upper[:, None])
    # that û(0) is a state of the set is verified with the first slab; its range here may be a little wider
    inside = Interval(np.clip(ranges.lower, *limits), np.clip(ranges.upper, *limits))
    weights = entropy.initial_weight(inside)
    flat = difference.reshape(count, -1, weights.shape[-1])
    size = float(np.einsum("ijc,ipc,jpc->", weights, flat, flat, optimize=True))
    largest = float(np.linalg.eigvalsh(np.moveaxis(weights, -1, 0))[:, -1].max())
    return grid.cell_measure * max(size, 0.0) + largest * remainder_sq
