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
    """

    shares: Array
    exponents: Array
    alpha: Array
    beta: Array

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
        )

    def costs(self, alphas: Array, fluxes: Array) -> tuple[Array, Array, Array]:
        """α, β and m for every way and split, of α and ∫p²/ε of the splits on a piece."""
        left = 1.0 - self.shares[..., None]
        # nothing to measure in the dual norm needs no dissipation
        spent = np.divide(
            fluxes, 2.0 * left, out=np.full((*self.shares.shape, len(fluxes)), np.inf), where=left > 0.0
        )
        beta = np.where(fluxes > 0.0, spent, 0.0) + self.beta[..., None]
        return alphas + self.alpha[..., None], beta, self.exponents[..., None]
