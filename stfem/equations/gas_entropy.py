"""The energy of a barotropic gas as entropy, with all constants (T4, C14)."""

from __future__ import annotations

import math

import numpy as np

from stfem.data import Interval
from stfem.data.base import Array
from stfem.equations.entropy import CellStates, Entropy, majorant, slope_forms
from stfem.equations.potential import PowerPotential
from stfem.equations.states import StateSet

__all__ = ["GasEntropy"]


class GasEntropy(Entropy):
    """η = |m|²/(2ρ) + W(ρ), W'' = κγρ^{γ−2}, on lower ≤ ρ ≤ upper, |v_i| ≤ speed, v = m/ρ.

    With δ = v − v̂, r = ρ − ρ̂ and θ = e_m − v̂ r = ρδ everything is explicit:

        2η(u|û) = ρ|δ|² + ω r²,   ω = 2W(ρ|ρ̂)/r²,      e·D²η(û)e = |θ|²/ρ̂ + W''(ρ̂) r²,
        −∂_iû·D²η(û) f_i(u|û) = −ρ δ·S δ − (γ−1) ∇·v̂ W(ρ|ρ̂),   S the symmetric part of ∇v̂,
        Dη(u|û)·g = −½ g_ρ|δ|² + g_ρ W'(ρ|ρ̂) − (g_m − g_ρ v̂)·δ r/ρ̂,

    2W'(ρ|ρ̂)/r² = (γ−2) ω/ρ_* with ρ_* between ρ and ρ̂. 2μ is the largest eigenvalue of a 2×2 form in
    √ρ|δ| and √ω|r|. In a direction e, |e| = 1, D³ and D⁴ of the kinetic part are −3|θ|²r/ρ² and 12|θ|²r²/ρ³
    with |θ| ≤ |e_m| + |v||r|.
    """

    def __init__(
        self,
        dim: int,
        coefficient: float,
        exponent: float,
        lower: float,
        upper: float,
        speed: float,
        name: str,
    ) -> None:
        self._dim, self._exponent, self._lower, self._upper = dim, exponent, lower, upper
        self._potential = potential = PowerPotential(coefficient * exponent, exponent - 2.0)
        low, high = (
            np.concatenate([[end], np.full(dim, sign * speed * upper)])
            for end, sign in ((lower, -1.0), (upper, 1.0))
        )
        momenta = np.concatenate([np.zeros((dim, 1)), np.eye(dim)], axis=1)
        density = np.zeros((1, 1 + dim))
        density[0, 0] = speed
        self.states = StateSet(
            low,
            high,
            np.concatenate([density - momenta, density + momenta]),
            f"the {name} of the solution stays in [{lower:g}, {upper:g}] and its velocities in "
            f"[{-speed:g}, {speed:g}]",
        )
        least, largest = potential.curvature_range(lower, upper)
        self._least = least
        fastest = math.sqrt(dim) * speed
        self.lower = self.dissipation = self.curved_lower = _eigenvalues(least, upper, fastest)[0]
        top = _eigenvalues(largest, lower, fastest)[1]
        # D²η(û) against D²η(u) with |v − v̂| ≤ 2 fastest, in the variables |θ|/√ρ and √W''|r|
        shift = 2.0 * fastest
        ratios = np.array(
            [
                [upper / lower, shift * math.sqrt(upper / least) / lower],
                [shift * math.sqrt(upper / least) / lower, shift**2 / (lower * least) + largest / least],
            ]
        )
        ratio = float(np.linalg.eigvalsh(ratios)[1]) * (1.0 + 1e-14)
        self.flux_weight = top * min(ratio, top / self.lower)
        # the largest (1−r²)r is 2/√27 and the largest (1−r²)r² is 1/4
        kinetic = math.sqrt(2.0 / math.sqrt(27.0)) + fastest, 0.5 + fastest
        self.third = 3.0 * kinetic[0] ** 2 / lower**2 + potential.derivative_bound(3, lower, upper)
        self.fourth = 12.0 * kinetic[1] ** 2 / lower**3 + potential.derivative_bound(4, lower, upper)
        self.curved = (True,) * (1 + dim)
        self.forms = slope_forms(1 + dim, dim)

    def value(self, u: Array) -> Array:
        return np.asarray(0.5 * (u[1:] ** 2).sum(axis=0) / u[0] + self._potential.value(u[0]))

    def gradient(self, u: Array) -> Array:
        velocity = u[1:] / u[0]
        return np.concatenate(
            [(self._potential.slope(u[0]) - 0.5 * (velocity**2).sum(axis=0))[None], velocity]
        )

    def hessian(self, u: Array) -> Array:
        velocity = u[1:] / u[0]
        result = np.zeros((len(u), len(u), *u.shape[1:]))
        result[0, 0] = self._potential.curvature(u[0]) + (velocity**2).sum(axis=0) / u[0]
        for i in range(self._dim):
            result[0, 1 + i] = result[1 + i, 0] = -velocity[i] / u[0]
            result[1 + i, 1 + i] = 1.0 / u[0]
        return result

    def residual_weight(self, state: Interval) -> Array:
        """(upper/ρ̂²)|R_m − v̂R_ρ|² + (W''(ρ̂)²/min ω) R_ρ²."""
        rho = state[0]
        curvature = rho.power(self._exponent - 2.0) * self._potential.coefficient
        omega = self._potential.mean_curvature(rho, self._lower, self._upper)
        first = curvature.square() / Interval(omega.lower, omega.lower)
        return self._form(first, Interval.of(self._upper) / rho.square(), state)

    def initial_weight(self, state: Interval) -> Array:
        """|θ|²/lower + max ω r²."""
        omega = self._potential.mean_curvature(state[0], self._lower, self._upper)
        inverse = Interval.of(np.full_like(omega.upper, 1.0 / self._lower))
        return self._form(Interval(omega.upper, omega.upper), inverse, state)

    def _form(self, first: Interval, second: Interval, state: Interval) -> Array:
        """Majorant of first r² + second |e_m − v̂ r|²."""
        velocity = self._velocity(state)
        zero = Interval.of(np.zeros_like(first.lower))
        diagonal = [first + sum((v.square() for v in velocity), zero) * second, *(second,) * self._dim]
        rows = [[zero] * (1 + self._dim) for _ in range(1 + self._dim)]
        for c, entry in enumerate(diagonal):
            rows[c][c] = entry
        for i, v in enumerate(velocity):
            rows[0][1 + i] = rows[1 + i][0] = -(v * second)
        return majorant(Interval.stack([Interval.stack(row) for row in rows]))

    @staticmethod
    def _velocity(state: Interval) -> list[Interval]:
        return [m / state[0] for m in (state[c] for c in range(1, len(state.lower)))]

    def rate(self, cells: CellStates) -> Array:
        dim, count = self._dim, 1 + self._dim
        rho, velocity = cells.state[0], self._velocity(cells.state)
        slopes = [[cells.forms[i * count + c] for c in range(count)] for i in range(dim)]
        source = [cells.forms[dim * count + c] for c in range(count)]
        gradient = [
            [(slopes[i][1 + j] - velocity[j] * slopes[i][0]) / rho for j in range(dim)] for i in range(dim)
        ]
        divergence = Interval.stack([gradient[i][i] for i in range(dim)]).sum()
        # the smallest eigenvalue of S, by Gershgorin's circles
        least = np.min(
            [
                gradient[i][i].lower
                - sum(
                    (0.5 * (gradient[i][j] + gradient[j][i]).magnitude for j in range(dim) if j != i),
                    np.zeros_like(rho.lower),
                )
                for i in range(dim)
            ],
            axis=0,
        )
        everywhere = Interval(np.full_like(rho.lower, self._lower), np.full_like(rho.lower, self._upper))
        kinetic = Interval(-2.0 * least, -2.0 * least) - source[0] / everywhere
        potential = divergence * (1.0 - self._exponent) + source[0] * (self._exponent - 2.0) / everywhere
        force = np.sqrt(
            sum(
                ((source[1 + i] - velocity[i] * source[0]).magnitude ** 2 for i in range(dim)),
                np.zeros_like(rho.lower),
            )
        )
        omega = self._potential.mean_curvature(rho, self._lower, self._upper).lower
        mixed = force / (rho.lower * np.sqrt(self._lower * omega))
        half = 0.5 * (kinetic.upper - potential.upper)
        slack = 1e-13 * (np.abs(kinetic.upper) + np.abs(potential.upper) + mixed)
        mean = 0.5 * (kinetic.upper + potential.upper)
        return np.asarray(mean + np.sqrt(half**2 + mixed**2) + slack)


def _eigenvalues(curvature: float, rho: float, speed: float) -> tuple[float, float]:
    """Smallest and largest eigenvalue of |e_m − v r|²/ρ + W'' r², |v| = speed."""
    small, large = np.linalg.eigvalsh(
        np.array([[curvature + speed**2 / rho, -speed / rho], [-speed / rho, 1.0 / rho]])
    )
    return float(small) * (1.0 - 1e-14), float(large) * (1.0 + 1e-14)
