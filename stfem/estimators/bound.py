"""From residual norms to an error bound, slab by slab (T4.1–T4.4). Pure numbers: no mesh, no fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from stfem.residual import SlabNorms
from stfem.spaces.stencil import Array

#: Shares θ_μ of the dissipation budget that may pay for Poincaré decay.
DECAY_SHARES = np.array([0.0, 0.25, 0.5, 0.75, 0.9])
#: Shares θ_E kept for the energy norm.
ENERGY_SHARES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])


@dataclass
class BoundState:
    """State of the stability bounds at one time.

    Parameters
    ----------
    initial
        z_0, bound of the initial error (in the norm of the stability framework).
    initial_l1
        Bound of the initial error in L¹ (scalar problems).
    initial_mean
        Bound of |∫_Ω e(0)|.
    decay_rate
        λ₁ of the diffusion operator D on mean-zero functions (T4), 0 where the Poincaré variant does not
        apply.
    measure
        |Ω|.
    members
        Members λ of the flux family that may be chosen.
    """

    initial: float
    initial_l1: float
    initial_mean: float
    decay_rate: float
    measure: float
    members: tuple[float, ...]
    bound: float = field(init=False)
    final: float = field(init=False)
    hyperbolic: float = 0.0
    parabolic_sq: float = 0.0
    exponent: float = 0.0

    def __post_init__(self) -> None:
        self.bound = self.final = self.initial
        self.l1 = self.initial_l1
        self.mean = self.initial_mean
        self._energy = np.full(len(ENERGY_SHARES), self.initial)
        self._flux_total = 0.0
        self._work = 0.0

    @np.errstate(over="ignore", invalid="ignore")
    def advance(self, norms: SlabNorms, reaction_growth: float) -> Choice:
        """Take one slab: T4.2 and T4.2' with the cheapest flux and the cheapest share of the dissipation.

        Piece by piece, where the norms are known so; the remainder, of which only the integral over the slab
        is known, comes on top at its end. A growth factor beyond the range of numbers makes the bound
        infinite.
        """
        alphas, fluxes = norms.piecewise(self.members)
        exponent = 0.5 * norms.growth * norms.duration / len(alphas)
        growth = max(exponent, 0.0)
        self.mean += norms.mean
        choices = []
        for alpha, flux in zip(alphas, fluxes, strict=True):
            choice = self._advance_l2(alpha, flux, exponent, norms.duration / len(alphas))
            self._advance_energy(alpha, flux, growth)
            self._flux_total += flux[choice.member_index]
            self._work += 2.0 * (growth * choice.inside**2 + choice.alpha * choice.inside)
            choices.append(choice)
        choice = self._add_remainder(choices, norms.remainder, growth * len(alphas))
        self.hyperbolic += choice.alpha
        self.parabolic_sq += choice.beta
        self.exponent += growth * len(alphas)
        total = self.l1 + norms.integral_l1(self.measure)
        self.l1 = float(_or_infinite(np.exp(reaction_growth * norms.duration) * total))
        return choice

    def _add_remainder(self, choices: Sequence[Choice], remainder: float, growth: float) -> Choice:
        """∫a ≤ ``remainder`` on top of the pieces of a slab, at any time in it; the choices in one."""
        added = float(_or_infinite(np.exp(growth) * np.asarray(remainder)))
        self.final += added
        self._energy = self._energy + added
        inside = max(choice.inside for choice in choices) + added
        self.bound = max(self.bound, inside)
        # the supremum grows by `added`, and with it what the pieces cost
        self._work += 2.0 * (
            remainder * inside
            + added * sum(choice.alpha for choice in choices)
            + growth * (inside**2 - (inside - added) ** 2)
        )
        return Choice(
            choices[-1].member_index,
            choices[-1].member,
            sum(choice.alpha for choice in choices) + remainder,
            sum(choice.beta for choice in choices),
            sum(choice.flux_part for choice in choices),
            inside,
        )

    def _advance_l2(self, alphas: Array, fluxes: Array, exponent: float, duration: float) -> Choice:
        shares = DECAY_SHARES if self.decay_rate > 0.0 else DECAY_SHARES[:1]
        theta = shares[:, None]
        decay = theta * self.decay_rate
        # Poincaré holds for the mean-free part: the mean ē pays r += 2θ_μ ελ₁ |Ω| ē² (T4)
        beta = fluxes / (2.0 * (1.0 - theta)) + 2.0 * decay * self.mean**2 / self.measure * duration
        m = exponent - decay * duration
        kept = np.exp(2.0 * np.minimum(m, 0.0)) * self.final**2
        end = _or_infinite(np.exp(np.maximum(m, 0.0)) * (alphas + np.sqrt(kept + beta)))
        inside = np.where(m >= 0.0, end, alphas + np.sqrt(self.final**2 + beta))
        # at equal cost the largest member: slabs measured for λ = 1 alone know no other
        order = np.argsort(self.members)[::-1]
        share, place = np.unravel_index(np.argmin(end[:, order]), end.shape)
        member = order[place]
        self.final = float(end[share, member])
        # the energy bound needs sup √y on this slab for the chosen member; any row of `inside` with that
        # member bounds it
        return Choice(
            int(member),
            self.members[int(member)],
            float(alphas[member]),
            float(beta[share, member]),
            float(fluxes[member] / (2.0 * (1.0 - shares[share]))),
            float(inside.min()),
        )

    def _advance_energy(self, alphas: Array, fluxes: Array, exponent: float) -> None:
        beta = fluxes / (2.0 * (1.0 - ENERGY_SHARES[:, None]))
        end = _or_infinite(np.exp(exponent) * (alphas + np.sqrt(self._energy[:, None] ** 2 + beta)))
        self._energy = end.min(axis=1)

    @property
    @np.errstate(over="ignore", invalid="ignore")
    def energy(self) -> float:
        """Bound of ( sup‖e‖² + ε∫‖A^{1/2}∇e‖² )^{1/2}, T4.3."""
        return float(np.hypot(self.bound, self.dissipated))

    @property
    @np.errstate(over="ignore", invalid="ignore")
    def dissipated(self) -> float:
        """Bound of (ε∫‖A^{1/2}∇e‖²)^{1/2}, or of what a system has in its place."""
        root = np.sqrt(self._flux_total)
        by_work = 0.5 * (root + np.sqrt(self._flux_total + 2.0 * (self.initial**2 + self._work)))
        by_share = np.sqrt((self._energy**2 / (2.0 * ENERGY_SHARES)).min())
        return float(min(by_share, by_work))


def _or_infinite(values: Array) -> Array:
    """0·∞, left by a factor that has overflowed, counts as ∞."""
    return np.where(np.isnan(values), np.inf, values)


@dataclass(frozen=True)
class Choice:
    """What the cheapest member of the family cost on one slab.

    α, β, the flux part of β, and sup √y inside.
    """

    member_index: int
    member: float
    alpha: float
    beta: float
    flux_part: float
    inside: float
