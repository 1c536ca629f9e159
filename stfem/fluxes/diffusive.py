"""Diffusive numerical flux: penalty rule of the symmetric interior penalty method (SIPG)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class InteriorPenalty:
    """Penalty coefficient η of the flux {D∇u}·n − η nᵀDn [u], in 1/length.

    Default η = 2(q+1)²/h with h = cell measure / face measure (the cell size along the normal), and exactly 1/h for q = 0 (the
    two-point flux of finite volumes). With cross terms in D all 2d faces of a cell share one gradient:
    by the trace inequality |p(0)|² + |p(1)|² ≤ (q+1)(q+2) ‖p‖² the form is coercive for η > d(q+1)(q+2)/(2h), so the default is
    max( 2(q+1)², 0.6 d(q+1)(q+2) )/h.

    Parameters
    ----------
    factor
        Replaces the factor 2(q+1)² (dimensionless, positive). Too small a number makes the operator indefinite.

    Raises
    ------
    ValueError
        For a factor that is not positive and finite; for q = 0 with cross terms in D (piecewise constants have no gradient).
    """

    factor: float | None = None

    def __post_init__(self) -> None:
        if self.factor is not None and not (np.isfinite(self.factor) and self.factor > 0.0):
            raise ValueError(f"factor: expected a positive number, got {self.factor}")

    def coefficient(self, degree: int, spacing: float, dim: int, diagonal: bool) -> float:
        """η for degree q and cell size h along the normal; ``diagonal`` says whether D has no cross terms."""
        if degree == 0 and not diagonal:
            raise ValueError("degree: expected at least 1 for a diffusion matrix with cross terms, got 0")
        if self.factor is not None:
            return self.factor / spacing
        if degree == 0:
            return 1.0 / spacing
        factor = 2.0 * (degree + 1) ** 2
        if not diagonal:
            factor = max(factor, 0.6 * dim * (degree + 1) * (degree + 2))
        return factor / spacing
