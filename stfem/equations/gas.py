"""Barotropic gas dynamics: shallow water, isothermal and isentropic Euler equations, with diffusion (T4)."""

from __future__ import annotations

import numpy as np

from stfem.checks import checked_number
from stfem.data.base import Array
from stfem.equations.base import checked_dimension
from stfem.equations.gas_entropy import GasEntropy
from stfem.equations.states import positive_range, positive_size
from stfem.equations.system import EntropySystem

__all__ = ["BarotropicGas", "IsentropicEuler", "IsothermalEuler", "ShallowWater"]

#: γ of gases is at most 5/3, of water about 7; beyond, the constants of the entropy overflow.
_LARGEST_EXPONENT = 8.0


class BarotropicGas(EntropySystem):
    """∂_t ρ + ∇·m = g_ρ + …,   ∂_t m + ∇·(m⊗m/ρ) + ∇p(ρ) = g_m + …,   p = κρ^γ;   u = (ρ, m_1, …, m_d).

    All components diffuse, … = ∇·(D∇u). Entropy η = |m|²/(2ρ) + W(ρ) with W'' = p'/ρ, the energy; its
    constants hold on the convex set lower ≤ ρ ≤ upper, |m_i| ≤ speed ρ, see `GasEntropy`.

    Parameters
    ----------
    coefficient, exponent : float
        κ > 0 and γ ≥ 1 of the pressure.
    diffusion : float or array of shape (d, d)
        D = εA.
    dim : int
        Number of space dimensions.
    lower, upper : float
        State set of the density, 0 < lower < upper.
    speed : float
        State set of the velocity: |v_i| ≤ speed. Only bounds use the state set: that the reconstruction lies
        inside is verified, that the solution does is assumed.

    Raises
    ------
    ValueError
        For a state set that is empty or reaches ρ ≤ 0, or a pressure that does not grow.
    """

    linear = False
    flux_degree = None
    #: What ρ is called in messages.
    density = "density"

    def __init__(
        self,
        coefficient: float,
        exponent: float,
        diffusion: object = 0.0,
        dim: int = 1,
        lower: float = 0.5,
        upper: float = 2.0,
        speed: float = 1.0,
    ) -> None:
        count = checked_dimension(dim)
        super().__init__(count, 1 + count, diffusion)
        self.lower, self.upper = positive_range(lower, upper)
        self.speed = positive_size("speed", speed, "a speed")
        self.coefficient = positive_size("pressure", coefficient, "a coefficient κ > 0")
        self.exponent = checked_number("pressure", exponent, "an exponent γ ≥ 1", 1.0, _LARGEST_EXPONENT)
        self.carry(
            GasEntropy(
                self.dim, self.coefficient, self.exponent, self.lower, self.upper, self.speed, self.density
            )
        )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(pressure {self.coefficient:g} ρ^{self.exponent:g}, "
            f"diffusion={self.described_diffusion}, dim={self.dim}, lower={self.lower}, "
            f"upper={self.upper}, speed={self.speed})"
        )

    def _pressure(self, rho: Array) -> Array:
        # a negative density, at which the wave speed stops the run, has no power
        return np.asarray(self.coefficient * np.maximum(rho, 0.0) ** self.exponent)

    def _pressure_slope(self, rho: Array) -> Array:
        return np.asarray(self.coefficient * self.exponent * np.maximum(rho, 0.0) ** (self.exponent - 1.0))

    def flux(self, u: Array, x: Array, t: float, direction: int) -> Array:
        result = np.empty_like(u)
        result[0] = u[1 + direction]
        result[1:] = u[1:] * (u[1 + direction] / u[0])
        result[1 + direction] += self._pressure(u[0])
        return result

    def jacobian_product(self, u: Array, v: Array, x: Array, t: float, direction: int) -> Array:
        result = np.empty(np.broadcast_shapes(u.shape, v.shape))
        velocity = u[1 + direction] / u[0]
        result[0] = v[1 + direction]
        result[1:] = velocity * v[1:] + u[1:] * ((v[1 + direction] - velocity * v[0]) / u[0])
        result[1 + direction] += self._pressure_slope(u[0]) * v[0]
        return result

    def jacobian_bound(self, least: Array, largest: Array, slope: Array, direction: int) -> Array:
        result = np.empty_like(slope)
        velocity = largest[1 + direction] / least[0]
        result[0] = slope[1 + direction]
        result[1:] = velocity * slope[1:]
        result[1:] += largest[1:] * ((slope[1 + direction] + velocity * slope[0]) / least[0])
        result[1 + direction] += self._pressure_slope(largest[0]) * slope[0]  # |ρ^s| = |ρ|^s, s ≥ 0
        return result

    def wave_speed(self, u: Array, x: Array, t: float, direction: int) -> Array:
        rho = self._physical(u)
        return np.asarray(np.abs(u[1 + direction] / rho) + np.sqrt(self._pressure_slope(rho)))

    def normal_wave_speed(self, u: Array, x: Array, t: float, normals: Array) -> Array:
        rho = self._physical(u)
        along = sum((n * m for n, m in zip(normals, u[1:], strict=True)), np.zeros_like(rho))
        length = np.sqrt((normals**2).sum(axis=0))
        return np.asarray(np.abs(along / rho) + length * np.sqrt(self._pressure_slope(rho)))

    @staticmethod
    def _physical(u: Array) -> Array:
        """ρ; NaN at a state without a wave speed stops the run instead of hiding it."""
        return np.where(u[0] > 0.0, u[0], np.nan)


class ShallowWater(BarotropicGas):
    """Shallow water: ρ is the depth h, m = hv, p = Gh²/2; one or two dimensions make sense.

    Parameters
    ----------
    diffusion, dim, lower, upper, speed
        As `BarotropicGas`.
    gravity : float
        G, length/time².
    """

    density = "depth"

    def __init__(
        self,
        diffusion: object = 0.0,
        dim: int = 1,
        lower: float = 0.5,
        upper: float = 2.0,
        speed: float = 1.0,
        gravity: float = 1.0,
    ) -> None:
        self.gravity = positive_size("gravity", gravity, "an acceleration")
        super().__init__(0.5 * self.gravity, 2.0, diffusion, dim, lower, upper, speed)


class IsothermalEuler(BarotropicGas):
    """Isothermal Euler equations: p = a²ρ, a the speed of sound.

    Parameters
    ----------
    diffusion, dim, lower, upper, speed
        As `BarotropicGas`.
    sound_speed : float
        a, length/time.
    """

    def __init__(
        self,
        diffusion: object = 0.0,
        dim: int = 1,
        lower: float = 0.5,
        upper: float = 2.0,
        speed: float = 1.0,
        sound_speed: float = 1.0,
    ) -> None:
        self.sound_speed = checked_number("sound_speed", sound_speed, "a speed", 1e-6, 1e6)
        super().__init__(self.sound_speed**2, 1.0, diffusion, dim, lower, upper, speed)


class IsentropicEuler(BarotropicGas):
    """Isentropic Euler equations: p = κρ^γ, by default with γ = 1.4 and speed of sound 1 at ρ = 1.

    Parameters
    ----------
    diffusion, dim, lower, upper, speed
        As `BarotropicGas`.
    exponent : float
        γ ≥ 1.
    coefficient : float, optional
        κ, by default 1/γ.
    """

    def __init__(
        self,
        diffusion: object = 0.0,
        dim: int = 1,
        lower: float = 0.5,
        upper: float = 2.0,
        speed: float = 1.0,
        exponent: float = 1.4,
        coefficient: float | None = None,
    ) -> None:
        gamma = checked_number("pressure", exponent, "an exponent γ ≥ 1", 1.0, _LARGEST_EXPONENT)
        given = 1.0 / gamma if coefficient is None else coefficient
        super().__init__(given, gamma, diffusion, dim, lower, upper, speed)
