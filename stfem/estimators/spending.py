"""Shares of the one dissipation budget (T4): what the rest of it, and the mean of the error, then cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stfem.spaces.stencil import Array


@dataclass(frozen=True, eq=False)
class Spending:
    """Ways to spend the dissipation on the pieces of a slab; their axes come before that of the splits.

    Attributes
    ----------
    shares
        What of it the dual norm of R_P cannot have.
    exponents
        m = ∫μ on every piece, ``(pieces, ways)``; on one, ``(ways,)``, after `on`.
    alpha, beta
        What every piece adds to α and β for the mean of the error.
    steady
        Whether μ is one number on a piece.
    """

    shares: Array
    exponents: Array
    alpha: Array
    beta: Array
    steady: Array

    def on(self, piece: int) -> Spending:
        """Those of one piece."""
        return replace(self, exponents=self.exponents[piece])

    def joined(self, other: Spending) -> Spending:
        """Both, one after the other."""
        return Spending(
            np.append(self.shares, other.shares),
            np.hstack([self.exponents, other.exponents]),
            np.append(self.alpha, other.alpha),
            np.append(self.beta, other.beta),
            np.append(self.steady, other.steady),
        )

    def costs(self, alphas: Array, fluxes: Array) -> tuple[Array, Array, Array]:
        """α, β and m for every way and split, of α = (Δt ∫a²)^{1/2} and ∫p²/ε of the splits on a piece.

        Where errors decay, a acts for a while only: ∫ e^{μ(t−s)} a ds ≤ α ((1 − e^{2m})/(−2m))^{1/2}.
        """
        left = 1.0 - self.shares[..., None]
        # nothing to measure in the dual norm needs no dissipation
        spent = np.divide(
            fluxes, 2.0 * left, out=np.full((*self.shares.shape, len(fluxes)), np.inf), where=left > 0.0
        )
        beta = np.where(fluxes > 0.0, spent, 0.0) + self.beta[..., None]
        decaying = np.where(self.steady, np.minimum(2.0 * self.exponents, 0.0), 0.0)
        whole = np.ones_like(decaying)
        lasting = np.sqrt(np.divide(np.expm1(decaying), decaying, out=whole, where=decaying < 0.0))
        return alphas * lasting[..., None] + self.alpha[..., None], beta, self.exponents[..., None]
