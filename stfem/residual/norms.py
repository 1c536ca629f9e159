"""Norms of the split residual on one slab: what the bounds consume, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stfem.residual.dissipation import DissipativeRates
from stfem.residual.joint import JointDual
from stfem.residual.levels import ResidualLevels
from stfem.residual.spectral import SplitSpectrum
from stfem.spaces.stencil import Array

#: Members λ of the flux family d̃_λ = (1−λ) K*σ_h + λ D∇û (T3.5).
FLUX_FAMILY = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Root mean square below which squares vanish, of residuals integrated over a slab too, with some margin.
UNDERFLOW = 1e-145


@dataclass(frozen=True, eq=False)
class SlabNorms:
    """Squared norms over cell × slab of the two residual parts, as functions of λ (T3.2–T3.5).

    With R_H(λ) = R_0 + λD and Φ(λ) = (1−λ)Φ_0 three integrals give every member of the family.

    Attributes
    ----------
    start, stop
        Slab.
    residual_sq, cross, difference_sq
        Per cell: ∫∫R_0², ∫∫R_0·D, ∫∫D² (weighted where the equation asks for it).
    flux_sq
        Per cell: ∫∫|D^{-1/2}Φ_0|² (p²/ε of T3.4 integrated over the slab).
    cell_means
        Means of R_0 over the cells, ``(rows, N_1, …, N_d)``, of the first component; ∫_slab of a square is Δt
        times the sum over the rows.
    remainder
        Bound of ∫_slab of everything left out of R_0 in L²: data remainders and round-off (T4.6).
    mean
        Bound of ∫_slab |∫_Ω R| for a scalar conserved quantity.
    growth
        2μ, one-sided rate on this slab (T4.1), may be negative.
    temporal
        Errors of interpolation in time in L²(slab × Ω): a bound that ``remainder`` contains where the slab
        was put together from residuals at its nodes, else an estimate that enters nothing.
    rounding_sq
        Bound of the round-off in the sum of `hyperbolic_sq` for any member.
    spread_sq
        Part of the sum of ``hyperbolic_sq(1)`` that is known for all cells together only, and spread evenly.
    pieces
        Totals of ``residual_sq``, ``cross``, ``difference_sq`` and ``flux_sq`` on equal pieces of the slab,
        ``(4, pieces)``; None for one piece.
    rates
        Norms in L²(slab × Ω) of the modes in time of the rate of the scheme's values, lowest first (zeros
        where the nodes carry no accelerations).
    variation
        Bound of ∫_slab of the total variation of R, a measure, where cells differ; `integral_l1` by default.
    coupling
        k ≥ 0: a system pays k p/√ε in a, besides its part in the dual norm (T4).
    spectrum
        The residual by frequencies, where its best splits may count too.
    dissipative
        Rates that diffusion lowers, where they are known.
    joint
        Costs in the dual norm of growth and dissipation together, where they are known.
    levels
        The residual by scales, where it may be measured in a dual norm for L¹.
    expansion
        L of the dual problem in L¹, in 1/time; infinite where it is not known.
    """

    start: float
    stop: float
    residual_sq: Array
    cross: Array
    difference_sq: Array
    flux_sq: Array
    cell_means: Array
    remainder: float
    mean: float
    growth: float
    temporal: float = 0.0
    rounding_sq: float = 0.0
    spread_sq: float = 0.0
    pieces: Array | None = None
    rates: Array = field(default_factory=lambda: np.zeros(3))
    variation: float | None = None
    coupling: float = 0.0
    spectrum: SplitSpectrum | None = None
    dissipative: DissipativeRates | None = None
    joint: JointDual | None = None
    levels: ResidualLevels | None = None
    expansion: float = np.inf

    @property
    def duration(self) -> float:
        """Δt."""
        return self.stop - self.start

    def hyperbolic_sq(self, member: float) -> Array:
        """∫∫_K R_H(λ)² per cell."""
        return np.maximum(self.residual_sq + member * (2.0 * self.cross + member * self.difference_sq), 0.0)

    def parabolic_sq(self, member: float) -> Array:
        """∫∫_K |D^{-1/2}Φ(λ)|² per cell."""
        return (1.0 - member) ** 2 * self.flux_sq

    def alpha(self, member: float) -> float:
        """Bound of α = ∫_slab ‖R_H(λ)‖ by Cauchy–Schwarz in time, remainders included."""
        total = self.hyperbolic_sq(member).sum() + self.rounding_sq
        coupled = 0.0
        if self.coupling > 0.0:  # what is infinite without it must not spoil the sum
            coupled = self.coupling * float(np.sqrt(self.duration * self.flux_total(member)))
        return float(np.sqrt(self.duration * total)) + coupled + self.remainder

    def integral_l1(self, measure: float) -> float:
        """Bound of ∫_slab ‖R‖_{L¹(Ω)}, from ∫_slab∫_K |R| ≤ (|K| Δt ∫∫_K R²)^{1/2}; ``measure`` is |Ω|.

        What is spread evenly as r = ρ/N over the squares s_K² may belong elsewhere: as √ is concave,

            Σ_K √(s_K² − r + r_K) ≤ Σ_K s_K + Σ_K (r_K − r)/(2 s_K) ≤ Σ_K s_K + ρ (max 1/s − mean 1/s)/2 .
        """
        if self.variation is not None:
            return self.variation + float(np.sqrt(measure)) * self.remainder
        spread = self.spread_sq + self.rounding_sq
        count = self.residual_sq.size
        sizes = np.sqrt(self.hyperbolic_sq(1.0) + self.rounding_sq / count)
        total = float(sizes.sum())
        if spread > 0.0 and sizes.min() > 0.0:
            total += 0.5 * spread * float(1.0 / sizes.min() - (1.0 / sizes).mean())
        root = float(np.sqrt(measure))
        return root * (float(np.sqrt(self.duration / count)) * total + self.remainder)

    def piecewise(self, members: Sequence[float]) -> tuple[Array, Array]:
        """α and ∫p²/ε on every piece of the slab, ``(pieces, members)``; α without the remainder.

        The splits of the spectrum, if there is one, follow the members.
        """
        pieces = self.pieces
        if pieces is None:
            fields = (self.residual_sq, self.cross, self.difference_sq, self.flux_sq)
            pieces = np.array([[entry.sum()] for entry in fields])
        residual, cross, difference, flux = pieces[:, :, None]
        member = np.asarray(members)
        squares = np.maximum(residual + member * (2.0 * cross + member * difference), 0.0)
        duration, fluxes = self.duration / pieces.shape[1], (1.0 - member) ** 2 * flux
        if self.spectrum is not None:
            hyperbolic, dual = self.spectrum.splits()
            squares, fluxes = np.hstack([squares, hyperbolic]), np.hstack([fluxes, dual])
        alpha = np.sqrt(duration * (squares + self.rounding_sq))
        if self.coupling > 0.0:
            alpha = alpha + self.coupling * np.sqrt(duration * fluxes)
        return alpha, fluxes

    def size(self, member: float) -> float:
        """‖R_H(λ)‖ in L²(slab × Ω), remainders aside."""
        return float(np.sqrt(self.hyperbolic_sq(member).sum()))

    def cost(self, level: float, final_time: float) -> float:
        """What the slab adds to a bound at ``level`` with the cheapest split (T3.5), remainders aside.

        Or its share of the level, if that is more: late in a run that decays nothing else matters.
        """
        return max(float(self.costs(level).min()), level * self.duration / final_time)

    def costs(self, level: float) -> Array:
        """What the slab adds to a bound at ``level``, remainders aside: `FLUX_FAMILY`, then other splits."""
        squares = np.array([self.size(member) ** 2 for member in FLUX_FAMILY])
        fluxes = np.array([self.flux_total(member) for member in FLUX_FAMILY])
        if self.spectrum is not None:
            hyperbolic, dual = (part.sum(axis=0) for part in self.spectrum.splits())
            squares, fluxes = np.append(squares, hyperbolic), np.append(fluxes, dual)
        return np.asarray(np.sqrt(self.duration * squares) + np.hypot(level, np.sqrt(0.5 * fluxes)) - level)

    def gains(self, level: float) -> tuple[float, float]:
        """Relative gains of the flux family over λ = 1, and of other splits over the family."""
        costs = self.costs(level)
        count = len(FLUX_FAMILY)
        best = float(costs[:count].min())
        further = float(costs[count:].min(initial=best))
        alone = float(costs[count - 1])
        return (1.0 - best / alone if alone > 0.0 else 0.0, 1.0 - further / best if best > 0.0 else 0.0)

    def after(self, level: float) -> float:
        """Bound at the end of the slab from ``level`` at its start, with the cheapest split (T4.2).

        Poincaré's inequality, shares of the dissipation and the mean of the error aside.
        """
        alphas, fluxes = self.piecewise(FLUX_FAMILY)
        exponent = 0.5 * max(self.growth, 0.0) * self.duration / len(alphas)
        joint = None if self.joint is None else self.joint.costs(self.duration)
        for n, (alpha, flux) in enumerate(zip(alphas, fluxes, strict=True)):
            ends = np.exp(exponent) * (alpha + np.sqrt(np.square(level) + 0.5 * flux))
            if joint is not None:
                alpha, beta, m = (array[n] for array in joint)
                grown = np.exp(np.maximum(m, 0.0)) * (alpha + np.sqrt(np.square(level) + beta))
                ends = np.append(ends, grown)
            level = float(ends.min())
        return level + self.remainder

    def with_temporal(self, temporal: float, mean: float) -> SlabNorms:
        """The same with errors of interpolation in time, bounded in L²(slab × Ω); their ∫_Ω in L²(slab)."""
        root = float(np.sqrt(self.duration))
        return replace(
            self,
            remainder=self.remainder + root * temporal,
            mean=self.mean + root * mean,
            temporal=temporal,
        )

    def temporal_share(self, member: float) -> float:
        """Errors of interpolation in time over ‖R_H(λ)‖, 0 where neither is there."""
        if self.temporal == 0.0:
            return 0.0
        size = self.size(member)
        return self.temporal / size if size > 0.0 else np.inf

    def flux_total(self, member: float) -> float:
        """∫_slab p²/ε; β of T4.2 is this over 2θ_P."""
        return float(self.parabolic_sq(member).sum())
