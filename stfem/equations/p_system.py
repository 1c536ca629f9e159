"""The p-system of gas dynamics in Lagrangian form, with diffusion in the velocities or everywhere."""

from __future__ import annotations

import numpy as np

from stfem.checks import checked_flag
from stfem.data import Interval
from stfem.data.base import Array
from stfem.equations.base import checked_dimension
from stfem.equations.entropy import CellStates, Entropy
from stfem.equations.potential import PowerPotential
from stfem.equations.stability import GrowthForm
from stfem.equations.states import StateSet, positive_range
from stfem.equations.system import EntropySystem

__all__ = ["DiffusivePSystem"]

#: W = 1/τ up to an affine function.
_POTENTIAL = PowerPotential(2.0, -3.0)


class DiffusivePSystem(EntropySystem):
    """∂_t τ − ∇·v = g_τ,   ∂_t v + ∇p(τ) − ∇·(D ∇v) = g_v,   p(τ) = τ^{-2};   u = (τ, v_1, …, v_d).

    Entropy η = W(τ) + |v|²/2 with W = 1/τ, W' = −p, on the state set lower ≤ τ ≤ upper. With e = u − û the
    relative flux holds p(τ|τ̂) only, and source and convection together are

        −2∂_iû·D²η(û) f_i(u|û) + 2 Dη(u|û)·g = −2(∇·v̂ + g_τ) p(τ|τ̂),
        W(τ|τ̂) = e_τ² / (τ τ̂²),      p(τ|τ̂) = ( 2/τ̂ + 1/τ ) W(τ|τ̂)   (≤ 3/τ_min W(τ|τ̂), as T4 has it),

    so that 2μ = sup (∇·v̂ + g_τ)_− (2/τ̂ + 1/lower), the negative part because e_v has no rate of its own.
    Note ∇·v̂ + g_τ ≈ ∂_tτ̂. With diffusion in v alone nothing with D is left over, since η is quadratic in v.

    Parameters
    ----------
    diffusion : float or array of shape (d, d)
        D = εA; it acts on v, or on all components.
    dim : int
        Number of space dimensions.
    lower, upper : float
        State set of τ, 0 < lower < upper. Only bounds use it: that the reconstruction lies inside is
        verified, that the solution does is assumed.
    fully_diffusive : bool
        Whether τ diffuses too.

    Raises
    ------
    ValueError
        For an empty state set or one that reaches τ ≤ 0.
    """

    linear = False
    flux_degree = None

    def __init__(
        self,
        diffusion: object = 0.0,
        dim: int = 2,
        lower: float = 0.5,
        upper: float = 2.0,
        fully_diffusive: bool = False,
    ) -> None:
        self.fully_diffusive = checked_flag("fully_diffusive", fully_diffusive)
        count = checked_dimension(dim)
        super().__init__(count, 1 + count, diffusion, (float(self.fully_diffusive), *(1.0,) * count))
        self.lower, self.upper = positive_range(lower, upper)
        self.carry(_LagrangianEntropy(self.dim, self.lower, self.upper, self.fully_diffusive))

    def __repr__(self) -> str:
        full = ", fully_diffusive=True" if self.fully_diffusive else ""
        return (
            f"DiffusivePSystem(diffusion={self.described_diffusion}, dim={self.dim}, "
            f"lower={self.lower}, upper={self.upper}{full})"
        )

    def flux(self, u: Array, x: Array, t: float, direction: int) -> Array:
        result = np.zeros_like(u)
        np.negative(u[1 + direction], out=result[0])
        np.divide(1.0, u[0] * u[0], out=result[1 + direction])
        return result

    def jacobian_product(self, u: Array, v: Array, x: Array, t: float, direction: int) -> Array:
        result = np.zeros(np.broadcast_shapes(u.shape, v.shape))
        result[0] = -v[1 + direction]
        result[1 + direction] = -2.0 * v[0] / u[0] ** 3
        return result

    def jacobian_bound(self, least: Array, largest: Array, slope: Array, direction: int) -> Array:
        result = np.zeros_like(slope)
        result[0] = slope[1 + direction]
        result[1 + direction] = 2.0 * slope[0] / least[0] ** 3
        return result

    def wave_speed(self, u: Array, x: Array, t: float, direction: int) -> Array:
        # NaN at a state without a wave speed stops the run instead of hiding it
        tau = np.where(u[0] > 0.0, u[0], np.nan)
        return np.asarray(np.sqrt(2.0 / (tau * tau * tau)))

    def normal_wave_speed(self, u: Array, x: Array, t: float, normals: Array) -> Array:
        return self.wave_speed(u, x, t, 0)  # the same in every direction


class _LagrangianEntropy(Entropy):
    """η = W(τ) + |v|²/2."""

    def __init__(self, dim: int, lower: float, upper: float, fully_diffusive: bool) -> None:
        self._dim, self._lower, self._upper = dim, lower, upper
        free = np.full(dim, np.inf)
        self.states = StateSet(
            np.concatenate([[lower], -free]),
            np.concatenate([[upper], free]),
            sentence=f"the specific volume of the solution stays in [{lower:g}, {upper:g}]",
        )
        least, largest = _POTENTIAL.curvature_range(lower, upper)
        self.lower, self.curved_lower = min(1.0, least), least
        self.dissipation = self.lower if fully_diffusive else 1.0
        self.flux_weight = max(1.0, largest**2 / least) if fully_diffusive else 1.0
        if fully_diffusive:
            self.third = _POTENTIAL.derivative_bound(3, lower, upper)
            self.fourth = _POTENTIAL.derivative_bound(4, lower, upper)
        self.curved = (fully_diffusive, *(False,) * dim)
        divergence = np.zeros((1 + dim, dim))
        divergence[1 + np.arange(dim), np.arange(dim)] = 1.0
        source = np.zeros(1 + dim)
        source[0] = 1.0
        self.forms = (GrowthForm(divergence, (), source),)

    def value(self, u: Array) -> Array:
        return np.asarray(_POTENTIAL.value(u[0]) + 0.5 * (u[1:] ** 2).sum(axis=0))

    def gradient(self, u: Array) -> Array:
        return np.concatenate([_POTENTIAL.slope(u[:1]), u[1:]])

    def hessian(self, u: Array) -> Array:
        return self._diagonal(_POTENTIAL.curvature(u[0]))

    def _diagonal(self, first: Array) -> Array:
        result = np.zeros((1 + self._dim, 1 + self._dim, *first.shape))
        for c in range(1 + self._dim):
            result[c, c] = first if c == 0 else 1.0
        return result

    def residual_weight(self, state: Interval) -> Array:
        """W''(τ̂)² / min_τ 2W(τ|τ̂)/e_τ² = 2 upper/τ̂⁴, and 1 in v."""
        return self._diagonal((Interval.of(2.0 * self._upper) / state[0].power(4.0)).upper)

    def initial_weight(self, state: Interval) -> Array:
        """max_τ 2W(τ|τ̂)/e_τ² = 2/(lower τ̂²), and 1 in v."""
        return self._diagonal((Interval.of(2.0 / self._lower) / state[0].square()).upper)

    def relative(self, u: Array, v: Array) -> Array:
        """2η(u|v), without cancellation."""
        square = (u - v) ** 2
        total: Array = 2.0 * square[0] / (u[0] * v[0] ** 2) + square[1:].sum(axis=0)
        return total

    def rate(self, cells: CellStates) -> Array:
        pressure = Interval.of(2.0) / cells.state[0]
        kappa = Interval(pressure.lower + 1.0 / self._upper, pressure.upper + 1.0 / self._lower)
        return np.maximum(0.0, (-cells.forms[0] * kappa).upper)
