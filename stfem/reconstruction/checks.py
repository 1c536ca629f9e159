"""Checkers of a reconstruction: each returns the size of a defect that vanishes up to round-off.

Labels: T2, T2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np

from stfem.checks import checked_instance, checked_list, checked_whole
from stfem.meshes.periodic import neighbour
from stfem.reconstruction.kernel import MAX_ORDER, bspline_moments, filter_stencil
from stfem.reconstruction.node import NodeReconstruction
from stfem.reconstruction.slab import ReconstructedSlab, combine
from stfem.semidiscretization import Diffusion
from stfem.spaces.interval import end_values
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array, apply_matrix, apply_term, cell_axis, mode_axis

__all__ = [
    "continuity_defect",
    "flux_continuity_defect",
    "moment_defect",
    "reproduction_defect",
    "scheme_flux_defect",
    "time_continuity_defect",
]


def moment_defect(coefficients: Sequence[Fraction], order: int) -> Fraction:
    """max_k |∫ x^k K(x) dx − δ_{k0}|, k = 0 … 2q, of K = Σ_γ c_γ ψ^{(ℓ)}(x − γ); exact, so 0 means zero.

    Parameters
    ----------
    coefficients
        c_{−q} … c_q.
    order
        Spline order ℓ.
    """
    checked_whole("order", order, 1, MAX_ORDER)
    for c in checked_list("coefficients", coefficients):
        checked_instance("coefficients", c, (int, Fraction), "fractions")
    if len(coefficients) % 2 == 0:
        raise ValueError(f"coefficients: expected an odd number of them, got {len(coefficients)}")
    degree = len(coefficients) // 2
    moments = bspline_moments(order, 2 * degree)
    defects = []
    for k in range(2 * degree + 1):
        total = sum(
            (
                c * comb(k, j) * Fraction(gamma) ** (k - j) * moments[j]
                for gamma, c in enumerate(coefficients, start=-degree)
                for j in range(k + 1)
            ),
            Fraction(0),
        )
        defects.append(abs(total - int(k == 0)))
    return max(defects)


def reproduction_defect(degree: int, order: int, power: int, cells: int = 24) -> float:
    """max |K * P_h p − p| of p(x) = (x/N)^power on a line of N cells, away from its ends (T2).

    Zero up to round-off for power ≤ q: the projection P_h of degree q keeps such polynomials, and so does
    the kernel, whose moments vanish up to 2q.

    Parameters
    ----------
    degree, order
        q and ℓ.
    power
        Degree of the polynomial.
    cells
        Length N of the line, more than twice the width of the kernel.
    """
    checked_whole("power", power, 0, 64)
    stencil = filter_stencil(degree, order, degree)
    checked_whole("cells", cells, 1, 100_000)
    points, weights = gauss(power + degree + 2)
    x = (points[:, None] + np.arange(cells)) / cells
    modes = (legendre_values(degree, points) * weights[:, None]).T @ x**power
    filtered = stencil.apply(modes, 0, 1)
    fine = (points[:, None] + np.arange(cells * stencil.pieces)) / (cells * stencil.pieces)
    values = legendre_values(len(filtered) - 1, points) @ filtered
    margin = stencil.shifts[-1] * stencil.pieces
    inside = slice(margin, fine.shape[1] - margin)
    if margin * 2 >= fine.shape[1]:
        raise ValueError(f"cells: expected more than {2 * stencil.shifts[-1]}, got {cells}")
    return float(np.abs(values - fine**power)[:, inside].max())


def scheme_flux_defect(diffusion: Diffusion, u: Array) -> float:
    """max |∇·σ_h − P u| over coefficients, relative to the largest of P u (T2.1).

    Parameters
    ----------
    diffusion
        Interior penalty operator P with its Raviart–Thomas flux σ_h.
    u
        Modes ``(…, q+1, …, N…)``.
    """
    grid, dim = diffusion.grid, diffusion.grid.dim
    expected = diffusion.apply(u)
    divergence = np.zeros_like(expected)
    for i, h in enumerate(grid.spacing):
        for term in diffusion.flux_terms(i):
            component = apply_term(term, u, dim)
            modes = component.shape[mode_axis(component, i, dim)]
            slope = derivative_matrix(modes - 1)[: diffusion.degree + 1] / h
            divergence += apply_matrix(slope, component, i, dim)
    scale = float(np.abs(expected).max())
    return (
        float(np.abs(divergence - expected).max()) / scale if scale > 0.0 else float(np.abs(divergence).max())
    )


def continuity_defect(field: Array, dim: int) -> float:
    """max over directions and face modes of the jump of a modal field, relative to its largest mode.

    Zero for û ∈ H¹, which the bound needs (T2).

    Parameters
    ----------
    field
        Modes ``(…, p_1, …, p_d, N_1, …, N_d)``.
    dim
        d.
    """
    return max(_relative(_jump(field, i, dim), field) for i in range(dim))


def flux_continuity_defect(node: NodeReconstruction, dim: int) -> float:
    """max over directions of the jump of the flux component normal to the faces: zero for d̃ ∈ H(div) (T2).

    Relative to the largest mode of all components; 0 where there is no flux.
    """
    scale = max((float(np.abs(component).max()) for component in node.flux), default=0.0)
    jumps = [np.abs(_jump(component, i, dim)).max() for i, component in enumerate(node.flux)]
    return float(max(jumps)) / scale if scale > 0.0 else 0.0


def time_continuity_defect(before: ReconstructedSlab, after: ReconstructedSlab) -> float:
    """max |û(t_n⁺) − û(t_n⁻)| over modes at the node between two slabs, relative to the largest mode (T2)."""
    sides = []
    for slab, end in ((before, 1.0), (after, 0.0)):
        states = [node.state[j] for node in slab.nodes for j in range(2)]
        at_end = legendre_values(slab.time.degree, np.array([end])) @ slab.value_modes
        sides.append(combine(at_end, states)[0])
    return _relative(sides[0] - sides[1], sides[0])


def _jump(field: Array, direction: int, dim: int) -> Array:
    """Minus − plus on the faces normal to one direction, in modes of the other directions."""
    left, right = end_values(field.shape[mode_axis(field, direction, dim)] - 1)
    minus = apply_matrix(right[None], field, direction, dim)
    plus = apply_matrix(left[None], field, direction, dim)
    return np.asarray(minus - neighbour(plus, 1, cell_axis(plus, direction, dim)))


def _relative(difference: Array, field: Array) -> float:
    scale = float(np.abs(field).max())
    return float(np.abs(difference).max()) / scale if scale > 0.0 else 0.0
