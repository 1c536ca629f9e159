"""Stability constants of the estimators of arXiv 2604.01200, and of one in their style for the p-system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stfem.equations import Burgers, DiffusivePSystem, Equation
from stfem.spaces.stencil import Array

__all__ = ["PaperStability", "paper_stability"]


def _no_rates(gradient: Array, source: Array) -> Array:
    return np.zeros(1)


@dataclass(frozen=True)
class PaperStability:
    """E = exp(ΛT) √( initial e0² + residual R1² + flux ε E_r2² ).

    Attributes
    ----------
    initial, residual, flux
        The three factors (dimensionless).
    rates : callable (gradient, source) -> array
        From ∇û ``(d, m, …)`` and g ``(m, …)`` at one time, numbers whose suprema over time add up to Λ.
    weights : callable or None
        Factors of the components of the residual at û, like û; None stands for 1.
    """

    initial: float
    residual: float
    flux: float
    rates: Callable[[Array, Array], Array] = _no_rates
    weights: Callable[[Array], Array] | None = None

    def bound(self, initial: float, residual: float, flux_sq: float, exponent: float) -> float:
        """E for e0, R1, εE_r2² and ΛT."""
        total = self.initial * initial**2 + self.residual * residual**2 + self.flux * flux_sq
        return float(np.exp(exponent) * np.sqrt(total))


def paper_stability(equation: Equation) -> PaperStability:
    """Constants for one equation.

    Linear, constant velocity: (2, 4, 2), Λ = 0. Burgers: (4, 16, 8), Λ = 2 Σ_i ‖∂_iû‖_∞ (both as published).

    p-system: the published constants are not available to this library; these follow from the same steps. Let
    c|e|² ≤ 2η(u|û) ≤ C|e|² with c = min(1, 2/τ_max³), C = max(1, 2/τ_min³) on the state set. Relative entropy
    (T4), |p(τ|τ̂)| ≤ (3/τ_min⁴) e_τ² and W(τ|τ̂) ≥ e_τ²/τ_max³ give with Gronwall, S = sup‖e‖ and
    Λ = (3τ_max³/τ_min⁴)( ‖∇·v̂‖_∞ + ‖g_τ‖_∞ )

        ½c‖e(t)‖² + ½ε∫‖∇e_v‖² ≤ exp(ΛT)( ½C e0² + R1 S + ½ε E_r2² ),    R1 = ‖D²η(û) R_H‖_{L¹(L²)}.

    Twice the right-hand side bounds ½cS² + ½ε∫_0^T‖∇e_v‖²; Young for 2 exp(ΛT) R1 S ≤ ¼cS² + 4 exp(2ΛT) R1²/c
    and c ≤ 1 then give the factors (4C/c, 16/c², 4/c).

    Raises
    ------
    TypeError
        For an equation that the paper has no experiment for.
    """
    if equation.linear and all(b.constant for b in equation.velocity) and equation.reaction.is_zero:
        return PaperStability(2.0, 4.0, 2.0)
    if isinstance(equation, Burgers) and equation.reaction.is_zero:
        return PaperStability(4.0, 16.0, 8.0, _burgers_rates)
    if isinstance(equation, DiffusivePSystem) and not equation.fully_diffusive:
        return _p_system(equation.lower, equation.upper)
    raise TypeError(
        "PaperEstimator: expected a linear equation with constant velocity and no reaction, Burgers or "
        f"DiffusivePSystem with diffusion in the velocities only, got {type(equation).__name__}"
    )


def _burgers_rates(gradient: Array, source: Array) -> Array:
    return np.array([2.0 * np.abs(slope).max() for slope in gradient])


def _p_system(lower: float, upper: float) -> PaperStability:
    least, largest = min(1.0, 2.0 / upper**3), max(1.0, 2.0 / lower**3)
    factor = 3.0 * upper**3 / lower**4

    def rates(gradient: Array, source: Array) -> Array:
        divergence = sum(gradient[i, 1 + i] for i in range(len(gradient)))
        return factor * np.array([np.abs(divergence).max(), np.abs(source[0]).max()])

    def weights(u: Array) -> Array:
        hessian = np.ones_like(u)
        hessian[0] = 2.0 / u[0] ** 3
        return hessian

    return PaperStability(4.0 * largest / least, 16.0 / least**2, 4.0 / least, rates, weights)
