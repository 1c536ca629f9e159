"""The p-system of gas dynamics in Lagrangian form with diffusion in the velocities."""

from __future__ import annotations

import math

import numpy as np

from stfem.data.base import Array
from stfem.equations.base import Equation
from stfem.equations.stability import Growth, GrowthForm, Stability

__all__ = ["DiffusivePSystem"]


class DiffusivePSystem(Equation):
    """∂_t τ − ∇·v = g_τ,   ∂_t v + ∇p(τ) − ∇·(D ∇v) = g_v,   p(τ) = τ^{-2};   u = (τ, v_1, …, v_d).

    Relative entropy (T4): η = W(τ) + |v|²/2 with W = 1/τ, W' = −p, on the state set lower ≤ τ ≤ upper. Let û
    solve the system with the additional right-hand side R, e = u − û, and y = 2∫( W(τ|τ̂) + |e_v|²/2 ). From

        d/dt W(τ|τ̂) = (W'(τ) − W'(τ̂)) ∂_t e_τ + ( W'(τ) − W'(τ̂) − W''(τ̂) e_τ ) ∂_t τ̂,
        ∂_t e_τ = ∇·e_v − R_τ,    ∂_t τ̂ = ∇·v̂ + g_τ + R_τ,    ∂_t e_v = −∇(p(τ) − p(τ̂)) + ∇·(D∇e_v) − R_v,

    the convective terms cancel in −∫∇·((p − p̂) e_v) = 0, R_τ enters as −W''(τ̂) e_τ R_τ, and

        y' + 2∫D∇e_v·∇e_v = −2∫(∇·v̂ + g_τ) p(τ|τ̂) − 2∫W''(τ̂) e_τ R_τ − 2∫e_v·R_v.

    No term with D is left over, since η is quadratic in v. Both relative quantities are explicit,

        W(τ|τ̂) = e_τ² / (τ τ̂²),      p(τ|τ̂) = ( 2/τ̂ + 1/τ ) W(τ|τ̂)   (≤ 3/τ_min W(τ|τ̂), as T4 has it),

    so that 2μ = sup(∇·v̂ + g_τ)_− (2/min τ̂ + 1/lower), the negative part because e_v has no rate of its own;
    a² = ∫( w(τ̂) R_τ² + |R_v|² ) with w(τ̂) = W''(τ̂)² max_τ e_τ²/(2W(τ|τ̂)) = 2 upper / τ̂⁴
    (no larger than W''(τ̂)²/min W'', T4); and y ≥ min(1, 2/upper³) ‖e‖².

    Parameters
    ----------
    diffusion : float or array of shape (d, d)
        D = εA; it acts on v only.
    dim : int
        Number of space dimensions.
    lower, upper : float
        State set of τ, 0 < lower < upper. Only bounds use it: that the reconstruction lies inside is
        verified, that the solution does is assumed.

    Raises
    ------
    ValueError
        For an empty state set or one that reaches τ ≤ 0.
    """

    linear = False
    flux_degree = None

    def __init__(self, diffusion: object = 0.0, dim: int = 2, lower: float = 0.5, upper: float = 2.0) -> None:
        super().__init__(dim, 1 + dim, diffusion, (0.0, *(1.0,) * dim))
        if not (math.isfinite(upper) and 0.0 < lower < upper):
            raise ValueError(f"state set: expected 0 < lower < upper < inf, got [{lower}, {upper}]")
        self.lower, self.upper = float(lower), float(upper)

    def __repr__(self) -> str:
        return (
            f"DiffusivePSystem(diffusion={self.described_diffusion}, dim={self.dim}, "
            f"lower={self.lower}, upper={self.upper})"
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

    def wave_speed(self, u: Array, x: Array, t: float, direction: int) -> Array:
        # NaN at a state without a wave speed stops the run instead of hiding it
        tau = np.where(u[0] > 0.0, u[0], np.nan)
        return np.asarray(np.sqrt(2.0 / (tau * tau * tau)))

    def normal_wave_speed(self, u: Array, x: Array, t: float, normals: Array) -> Array:
        return self.wave_speed(u, x, t, 0)  # the same in every direction

    def probe_states(self, rng: np.random.Generator, count: int) -> Array:
        states = rng.uniform(-1.0, 1.0, (self.components, count))
        states[0] = rng.uniform(self.lower, self.upper, count)
        return states

    @property
    def stability(self) -> Stability:
        """For y = 2∫η(u|û) and the constants above."""
        free = np.full(self.dim, np.inf)
        ones = (1.0,) * self.dim
        return Stability(
            self._growth,
            needs_range=False,
            residual_weight=self._residual_weight,
            residual_weight_bound=(2.0 * self.upper / self.lower**4, *ones),
            error_factor=max(1.0, math.sqrt(0.5 * self.upper**3)),
            relative_entropy=self._relative_entropy,
            relative_entropy_bound=(2.0 / self.lower**3, *ones),
            state_set=(np.concatenate([[self.lower], -free]), np.concatenate([[self.upper], free])),
            assumptions=(f"the specific volume of the solution stays in [{self.lower:g}, {self.upper:g}]",),
        )

    def _residual_weight(self, u: Array) -> Array:
        weight = np.ones_like(u)
        weight[0] = 2.0 * self.upper / u[0] ** 4
        return weight

    def _relative_entropy(self, u: Array, v: Array) -> Array:
        """2η(u|v), without cancellation."""
        square = (u - v) ** 2
        total: Array = 2.0 * square[0] / (u[0] * v[0] ** 2) + square[1:].sum(axis=0)
        return total

    def _growth(self, lower: Array, upper: Array) -> Growth:
        """−κ(∇·v̂ + g_τ), κ = 2/min τ̂ + 1/lower; the range of û sharpens κ where it is known."""
        least = max(self.lower, float(lower[0]))
        kappa = 2.0 / least + 1.0 / self.lower
        gradient = np.zeros((self.components, self.dim))
        gradient[1 + np.arange(self.dim), np.arange(self.dim)] = -kappa
        source = np.zeros(self.components)
        source[0] = -kappa
        return Growth((GrowthForm(gradient, (), source),), positive=True)
