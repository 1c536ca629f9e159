"""From residual norms to an error bound, slab by slab (T4.1–T4.4). Pure numbers: no mesh, no fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stfem.estimators.bound_l1 import SlabL1, dual_bound, packed, unpacked
from stfem.estimators.spending import Spending
from stfem.residual import DissipativeRates, SlabNorms
from stfem.resumable import Grown, Resumable
from stfem.spaces.stencil import Array

#: Shares θ_μ of the dissipation budget that may pay for Poincaré decay.
DECAY_SHARES = np.array([0.0, 0.25, 0.5, 0.75, 0.9])
#: Shares θ_μ that may pay for growth.
GROWTH_SHARES = np.linspace(0.1, 1.0, 10)
#: Shares θ_E kept for the energy norm.
ENERGY_SHARES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
#: and parts of what they leave that may pay for growth.
REMAINING = np.array([0.0, 0.25, 0.5, 0.75])
#: What ∫p²/ε counts against 2∫a√y where splits are chosen for the dissipated energy.
DISSIPATED_WEIGHTS = np.array([1.0, 2.0, 4.0, 16.0])


@dataclass
class BoundState(Resumable):
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

    PAST = (
        *("initial", "initial_l1", "initial_mean", "decay_rate", "bound", "final", "hyperbolic"),
        *("parabolic_sq", "exponent", "mean", "_l1", "_l1_conserved", "_slabs", "_energy"),
        *("_flux_total", "_work"),
    )

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
        self._l1 = self.initial_l1
        self._l1_conserved = True  # no reaction has made the error grow
        self._slabs: list[SlabL1] = []
        self.mean = self.initial_mean
        self._energy = np.full(len(ENERGY_SHARES), self.initial)
        # for the splits chosen in L², then for those of every weight
        self._flux_total = np.zeros(1 + len(DISSIPATED_WEIGHTS))
        self._work = np.zeros(1 + len(DISSIPATED_WEIGHTS))

    def past(self) -> dict[str, Any]:
        return super().past() | {"_slabs": Grown(self._slabs, len(self._slabs), packed)}

    def resume(self, past: Mapping[str, Any]) -> None:
        super().resume({**past, "_slabs": np.zeros((0, 0))})
        self._slabs = unpacked(past["_slabs"])

    @np.errstate(over="ignore", invalid="ignore")
    def advance(self, norms: SlabNorms, reaction_growth: float) -> Choice:
        """Take one slab: T4.2 and T4.2' with the cheapest flux and the cheapest share of the dissipation.

        Piece by piece, where the norms are known so; the remainder, of which only the integral over the slab
        is known, comes on top at its end. A growth factor beyond the range of numbers makes the bound
        infinite, and so does a norm that is not a number.
        """
        growth, mean, remainder = _or_infinite(np.array([norms.growth, norms.mean, norms.remainder])).tolist()
        norms = replace(norms, growth=growth, mean=mean, remainder=remainder)
        alphas, fluxes = (_or_infinite(sizes) for sizes in norms.piecewise(self.members))
        pieces = len(alphas)
        exponent = 0.5 * norms.growth * norms.duration / pieces
        growth = max(exponent, 0.0)
        self.mean += norms.mean
        spending = self._spending(norms, exponent, pieces)
        joint = self._joint_costs(norms, pieces)
        energy = self._energy_spending(norms, growth, pieces)
        choices, spent = [], np.zeros_like(self._work)
        for n, (alpha, flux) in enumerate(zip(alphas, fluxes, strict=True)):
            before = self.final
            choice = self._advance_l2(alpha, flux, spending.on(n))
            spent += self._dissipate(alpha, flux, growth, choice)
            self._advance_energy(alpha, flux, energy.on(n))
            if joint is not None:
                choice = self._advance_joint(before, choice, *(array[n] for array in joint))
            choices.append(choice)
        chosen = sum(max(entry.exponent, 0.0) for entry in choices)
        # whatever was chosen for the bounds of L² and of the energy, neither amplifies more
        choice = self._add_remainder(choices, spent, norms.remainder, max(growth * pieces, chosen))
        self.hyperbolic += choice.alpha
        self.parabolic_sq += choice.beta
        self.exponent += chosen
        self._advance_l1(norms, reaction_growth)
        return choice

    def moved(self, distance: float) -> BoundState:
        """The state after û is replaced by another field at a distance in L²: √y⁺ ≤ √y⁻ + distance (T4.8).

        y + 2θ_E∫‖D^{1/2}∇e‖² and the terms of T4.3 grow accordingly, y by 2z·distance + distance².
        """
        result = copy(self)
        result._work = self._work + 2.0 * self.final * distance + distance**2
        result.final += distance
        result.bound = max(self.bound, result.final)
        result.hyperbolic += distance
        result._energy = self._energy + distance
        in_l1 = float(np.sqrt(self.measure)) * distance
        result.mean = self.mean + in_l1
        # by duality only one û is known; plain, as L¹ contracts
        result._slabs, result._l1, result._l1_conserved = [*self._slabs], self._l1 + in_l1, False
        return result

    def _advance_l1(self, norms: SlabNorms, reaction_growth: float) -> None:
        size = norms.integral_l1(self.measure)
        self._l1 = float(_or_infinite(np.exp(reaction_growth * norms.duration) * (self._l1 + size)))
        self._l1_conserved = self._l1_conserved and reaction_growth == 0.0
        known = norms.remainder + np.sqrt(norms.duration * (norms.spread_sq + norms.rounding_sq))
        remainder = float(np.sqrt(self.measure) * known)
        self._slabs.append(SlabL1(norms.duration, size, remainder, norms.levels, norms.expansion))

    @property
    def l1(self) -> float:
        """Bound of ‖e‖_{L¹} at the end: plain (T4.4), by duality (N10), or from L²."""
        dual = dual_bound(self.initial_l1, self._slabs) if self._l1_conserved else np.inf
        return min(self._l1, dual, float(np.sqrt(self.measure)) * self.final)

    def _spending(self, norms: SlabNorms, exponent: float, pieces: int) -> Spending:
        """Ways to spend a share θ_μ of the dissipation: none, on Poincaré's inequality, on growth (T4)."""
        shares = DECAY_SHARES if self.decay_rate > 0.0 else DECAY_SHARES[:1]
        duration = norms.duration / pieces
        decay = shares * self.decay_rate
        mean = self.mean / self.measure
        found = Spending(
            shares,
            np.tile(exponent - decay * duration, (pieces, 1)),
            np.zeros(shares.shape),
            # Poincaré holds for the mean-free part: the mean ē pays r += 2θ_μ ελ₁ |Ω| ē²
            2.0 * decay * np.square(mean) * self.measure * duration,
            np.ones(shares.shape, dtype=bool),
        )
        if norms.dissipative is None:
            return found
        rates = norms.dissipative.at(GROWTH_SHARES)
        lowered = self._paid(rates, duration, pieces)
        return found.joined(Spending(GROWTH_SHARES, *lowered, np.zeros(GROWTH_SHARES.shape, dtype=bool)))

    def _paid(self, rates: DissipativeRates, duration: float, pieces: int) -> tuple[Array, Array, Array]:
        """Exponents on the pieces, and what the mean ē of the error adds to α and β there (T4).

        ½∫c_f e² ≤ ½∫c_f (e−ē)² + |ē| ‖c_f − mean‖ ‖e−ē‖ + ½ē² ∫c_f
        """
        exponents = rates.exponents(pieces, duration * pieces)
        alpha, beta = self._mean_costs(rates, rates.start, rates.stop, duration)
        return exponents, np.full(rates.shares.shape, alpha), beta

    def _mean_costs(
        self, rates: DissipativeRates, start: Array, stop: Array, duration: float
    ) -> tuple[float, Array]:
        if not rates.mean_free:
            return 0.0, np.zeros_like(start)
        mean = self.mean / self.measure
        alpha = mean * 0.5 * rates.spread * float(np.sqrt(self.measure)) * duration
        lost = max(rates.supremum, 0.0) + np.maximum(-np.minimum(start, stop), 0.0)
        return alpha, np.square(mean) * self.measure * duration * lost

    def _joint_costs(self, norms: SlabNorms, pieces: int) -> tuple[Array, Array, Array] | None:
        """α, β and m on the pieces where growth and residual share the dissipation as they like."""
        if norms.joint is None or norms.dissipative is None:
            return None
        joint = norms.joint
        alpha, beta, m = joint.costs(norms.duration)
        more = self._mean_costs(norms.dissipative, joint.start, joint.stop, norms.duration / pieces)
        return alpha + more[0], beta + more[1], m

    def _energy_spending(self, norms: SlabNorms, growth: float, pieces: int) -> Spending:
        """The same for every share θ_E, of what it leaves; shares of the flux in the order (θ_E, θ_μ)."""
        left = 1.0 - ENERGY_SHARES[:, None]
        count = len(ENERGY_SHARES)
        if norms.dissipative is None:
            zeros = np.zeros((count, 1))
            growths = np.full((pieces, count, 1), growth)
            return Spending(1.0 - left, growths, zeros, zeros, np.zeros((count, 1), dtype=bool))
        shares = left * REMAINING
        rates = norms.dissipative.at(shares.ravel())
        duration = norms.duration / pieces
        exponents, alpha, beta = self._paid(rates, duration, pieces)
        return Spending(
            shares + ENERGY_SHARES[:, None],
            np.maximum(exponents, 0.0).reshape(pieces, *shares.shape),
            alpha.reshape(shares.shape),
            beta.reshape(shares.shape),
            np.zeros(shares.shape, dtype=bool),
        )

    def _dissipate(self, alphas: Array, fluxes: Array, growth: float, choice: Choice) -> Array:
        """Add ∫p²/ε and 2∫(μy + a√y) of a piece for (T4.3), any split of which will do; returns ∫a."""
        costs = 2.0 * choice.inside * alphas + DISSIPATED_WEIGHTS[:, None] * fluxes
        cheapest = np.append(choice.member_index, costs.argmin(axis=1))
        alpha = alphas[cheapest]
        # not in place: `moved` copies share their arrays
        self._flux_total = self._flux_total + fluxes[cheapest]
        self._work = self._work + 2.0 * (growth * choice.inside * choice.inside + alpha * choice.inside)
        return np.asarray(alpha)

    def _add_remainder(
        self, choices: Sequence[Choice], spent: Array, remainder: float, growth: float
    ) -> Choice:
        """∫a ≤ ``remainder`` on top of the pieces of a slab, at any time in it; the choices in one."""
        added = float(_or_infinite(np.exp(growth) * np.asarray(remainder)))
        self.final += added
        self._energy = self._energy + added
        inside = max(choice.inside for choice in choices) + added
        self.bound = max(self.bound, inside)
        # the supremum grows by `added`, and with it what the pieces cost
        self._work = self._work + 2.0 * (
            remainder * inside + added * spent + growth * added * (2.0 * inside - added)
        )
        return Choice(
            choices[-1].member_index,
            choices[-1].member,
            sum(choice.alpha for choice in choices) + remainder,
            sum(choice.beta for choice in choices),
            sum(choice.flux_part for choice in choices),
            inside,
            sum(choice.exponent for choice in choices),
        )

    def _advance_l2(self, alphas: Array, fluxes: Array, spending: Spending) -> Choice:
        alpha, beta, m = spending.costs(alphas, fluxes)
        kept = np.exp(2.0 * np.minimum(m, 0.0)) * np.square(self.final)
        end = _or_infinite(np.exp(np.maximum(m, 0.0)) * (alpha + np.sqrt(kept + beta)))
        inside = _or_infinite(np.where(m >= 0.0, end, alpha + np.sqrt(np.square(self.final) + beta)))
        # at equal cost the largest member: slabs measured for λ = 1 alone know no other
        count = len(self.members)
        order = np.append(np.argsort(self.members)[::-1], np.arange(count, end.shape[1]))
        share, place = np.unravel_index(np.argmin(end[:, order]), end.shape)
        member = order[place]
        self.final = float(end[share, member])
        # the energy bound needs sup √y on this slab for the chosen member; any row of `inside` with that
        # member bounds it
        return Choice(
            int(member),
            self.members[member] if member < count else 1.0,
            float(alpha[share, member]),
            float(beta[share, member]),
            float(beta[share, member] - spending.beta[share]),
            float(inside.min()),
            float(m[share, 0]),
        )

    def _advance_joint(self, before: float, choice: Choice, alpha: Array, beta: Array, m: Array) -> Choice:
        """The choice, or growth and residual in one dual norm where that is cheaper."""
        kept = np.exp(2.0 * np.minimum(m, 0.0)) * np.square(before)
        end = _or_infinite(np.exp(np.maximum(m, 0.0)) * (alpha + np.sqrt(kept + beta)))
        best = int(np.argmin(end))
        if end[best] >= self.final:
            return choice
        self.final = float(end[best])
        inside = (
            self.final if m[best] >= 0.0 else float(alpha[best] + np.sqrt(np.square(before) + beta[best]))
        )
        cost = float(alpha[best]), float(beta[best])
        return replace(
            choice,
            alpha=cost[0],
            beta=cost[1],
            flux_part=cost[1],
            inside=min(inside, choice.inside),
            exponent=float(m[best]),
        )

    def _advance_energy(self, alphas: Array, fluxes: Array, spending: Spending) -> None:
        alpha, beta, m = spending.costs(alphas, fluxes)
        end = _or_infinite(np.exp(m) * (alpha + np.sqrt(self._energy[:, None, None] ** 2 + beta)))
        self._energy = end.min(axis=(1, 2))

    @property
    @np.errstate(over="ignore")
    def growth(self) -> float:
        """Exponential factor of what grew so far."""
        return float(np.exp(self.exponent))

    @property
    @np.errstate(over="ignore", invalid="ignore")
    def energy(self) -> float:
        """Bound of ( sup‖e‖² + ε∫‖A^{1/2}∇e‖² )^{1/2}, T4.3."""
        return float(np.hypot(self.bound, self.dissipated))

    @property
    @np.errstate(over="ignore", invalid="ignore")
    def dissipated(self) -> float:
        """Bound of (ε∫‖A^{1/2}∇e‖²)^{1/2}, or of what a system has in its place."""
        total = self._flux_total + 2.0 * (self.initial * self.initial + self._work)
        by_work = float(_or_infinite(0.5 * (np.sqrt(self._flux_total) + np.sqrt(total))).min())
        by_share = float(np.sqrt((self._energy**2 / (2.0 * ENERGY_SHARES)).min()))
        return min(by_share, by_work)


def _or_infinite(values: Array) -> Array:
    """0·∞, left by a factor that has overflowed, counts as ∞."""
    return np.where(np.isnan(values), np.inf, values)


@dataclass(frozen=True)
class Choice:
    """What the cheapest split cost on one slab.

    α, β, the flux part of β, sup √y inside, and the exponent ∫μ.
    """

    member_index: int
    member: float
    alpha: float
    beta: float
    flux_part: float
    inside: float
    exponent: float
