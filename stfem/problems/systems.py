"""Catalogue: systems with an entropy, with exact or manufactured solutions on the unit torus."""

from __future__ import annotations

import math
from functools import reduce
from operator import add, mul

from stfem.data import Approximated, Trigonometric, cosine, sine
from stfem.equations import (
    Acoustics,
    BarotropicGas,
    DiffusivePSystem,
    IsentropicEuler,
    IsothermalEuler,
    ShallowWater,
)
from stfem.problems.arguments import check_dim, checked_eps
from stfem.problems.domain import Torus
from stfem.problems.exact import ExactData
from stfem.problems.manufactured import along, initial_value, power_series, pruned
from stfem.problems.problem import Problem

__all__ = [
    "acoustics",
    "diffusive_p_system",
    "isentropic_euler",
    "isothermal_euler",
    "shallow_water",
    "viscous_p_system",
]

_PI2 = 2.0 * math.pi
_SHIFTS = (-0.3, 0.2, -0.1)
_RANGE = 0.1  # of the specific volume and of the density, around 1
_PRUNED = 5e-16
Source = Trigonometric | Approximated


def diffusive_p_system(dim: int = 2, eps: float = 1e-3, final_time: float = 0.05) -> Problem:
    """The diffusive p-system on the unit torus (arXiv 2604.01200 for dim = 2).

        τ   = 1 + 0.1 sin φ_x cos φ_y cos φ_z        φ_x = 2π(x − 0.3t)
        v_1 = 0.2 cos φ_x cos φ_y cos φ_z            φ_y = 2π(y + 0.2t)
        v_2 = −0.15 sin φ_x sin φ_y cos φ_z          φ_z = 2π(z − 0.1t)
        v_3 = 0.1 sin φ_x cos φ_y sin φ_z

    with the components and factors that dim leaves, and g_τ = ∂_t τ − ∇·v, g_v = ∂_t v + ∇τ^{-2} − ε Δv. With
    s = τ − 1, |s| ≤ 0.1, τ^{-2} = Σ_k (−1)^k (k+1) s^k is cut after 18 powers; the sources hold a proved
    bound of what is left out (about 1e-15). The state set is 0.85 ≤ τ ≤ 1.15.

    Parameters
    ----------
    dim : int
        1, 2 or 3.
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    return _p_system(dim, eps, final_time, fully_diffusive=False)


def viscous_p_system(dim: int = 2, eps: float = 1e-3, final_time: float = 0.05) -> Problem:
    """The p-system with diffusion in all components, on the unit torus.

    Solution, state set and arguments as for `diffusive_p_system`, and g_τ = ∂_t τ − ∇·v − ε Δτ.

    Parameters
    ----------
    dim : int
        1, 2 or 3.
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    return _p_system(dim, eps, final_time, fully_diffusive=True)


def _p_system(dim: int, eps: float, final_time: float, fully_diffusive: bool) -> Problem:
    check_dim(dim, (1, 2, 3))
    eps = checked_eps(eps)
    s = _wave(dim, _RANGE, (True, False, False))
    v = _velocity(dim, (0.2, -0.15, 0.1))
    pressure, slope_remainder = power_series(s, -2.0, _RANGE, _PI2 * _RANGE)
    divergence = reduce(add, [v[i].derivative(i) for i in range(dim)])
    first = s.time_derivative() - divergence
    source: list[Source] = [first - _diffusion(s, eps) if fully_diffusive else first]
    for i in range(dim):
        slope, dropped = pruned(pressure.derivative(i), _PRUNED)
        rest = v[i].time_derivative() - _diffusion(v[i], eps)
        source.append(Approximated(slope + rest, slope_remainder + dropped))
    equation = DiffusivePSystem(eps, dim, lower=0.85, upper=1.15, fully_diffusive=fully_diffusive)
    return _problem(equation, [1.0 + s, *v], source, final_time)


def shallow_water(dim: int = 1, eps: float = 1e-3, final_time: float = 0.1) -> Problem:
    """Shallow water with diffusion on the unit torus: depth h and discharge m = hv, g = 1.

        h = 1 + 0.1 sin φ_x cos φ_y,   v_1 = 0.1 cos φ_x cos φ_y,   v_2 = −0.08 sin φ_x sin φ_y

    with the phases of `diffusive_p_system` and the components and factors that dim leaves. Everything is a
    trigonometric polynomial, the sources too. The state set is 0.85 ≤ h ≤ 1.15, |v_i| ≤ 0.12.

    Parameters
    ----------
    dim : int
        1 or 2.
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T; waves cross the domain in about 1.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    check_dim(dim, (1, 2))
    return _gas(ShallowWater(checked_eps(eps), dim, 0.85, 1.15, 0.12), final_time)


def isothermal_euler(dim: int = 1, eps: float = 1e-3, final_time: float = 0.1) -> Problem:
    """Isothermal Euler equations with diffusion on the unit torus: density ρ and momentum m = ρv, p = ρ.

    The solution is that of `shallow_water`, with a factor cos φ_z and v_3 = 0.06 sin φ_x cos φ_y sin φ_z in
    three dimensions, and the same state set.

    Parameters
    ----------
    dim : int
        1, 2 or 3.
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T; waves cross the domain in about 1.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    check_dim(dim, (1, 2, 3))
    return _gas(IsothermalEuler(checked_eps(eps), dim, 0.85, 1.15, 0.12), final_time)


def isentropic_euler(dim: int = 1, eps: float = 1e-3, final_time: float = 0.1) -> Problem:
    """Isentropic Euler equations with diffusion on the unit torus, p = ρ^γ/γ with γ = 1.4.

    The solution is that of `isothermal_euler`. The pressure is a power series in ρ − 1, cut as the one of
    `diffusive_p_system`.

    Parameters
    ----------
    dim : int
        1, 2 or 3.
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T; waves cross the domain in about 1.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    check_dim(dim, (1, 2, 3))
    return _gas(IsentropicEuler(checked_eps(eps), dim, 0.85, 1.15, 0.12), final_time)


def _gas(equation: BarotropicGas, final_time: float) -> Problem:
    """g_ρ = ∂_tρ + ∇·m − εΔρ and g_m = ∂_tm + ∇·(ρ v⊗v) + ∇p(ρ) − εΔm, without a quotient."""
    dim, eps = equation.dim, float(equation.diffusion[0, 0])
    s = _wave(dim, _RANGE, (True, False, False))
    rho, velocity = 1.0 + s, _velocity(dim, (0.1, -0.08, 0.06))
    momentum = [rho * v for v in velocity]
    divergence = reduce(add, [momentum[i].derivative(i) for i in range(dim)])
    source: list[Source] = [s.time_derivative() + divergence - _diffusion(s, eps)]
    pressure, remainder = power_series(s, equation.exponent, _RANGE, _PI2 * _RANGE)
    for i, m in enumerate(momentum):
        rest = m.time_derivative() - _diffusion(m, eps)
        for j, v in enumerate(velocity):
            rest = rest + (m * v).derivative(j)
        slope, dropped = pruned(equation.coefficient * pressure.derivative(i), _PRUNED)
        beyond = equation.coefficient * remainder + dropped
        source.append(Approximated(slope + rest, beyond) if beyond > 0.0 else slope + rest)
    return _problem(equation, [rho, *momentum], source, final_time)


def acoustics(dim: int = 1, eps: float = 1e-3, final_time: float = 0.1) -> Problem:
    """Sound waves with diffusion on the unit torus: a standing wave, exact and without source.

        p = e^{−εk²t} cos(|k|t) Π_j cos 2πx_j,   v_i = e^{−εk²t} sin(|k|t) 2π/|k| sin 2πx_i Π_{j≠i} cos 2πx_j

    with speed of sound 1 and k = 2π(1, …, 1).

    Parameters
    ----------
    dim : int
        1, 2 or 3.
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T; waves cross the domain in 1.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    check_dim(dim, (1, 2, 3))
    eps = checked_eps(eps)
    still = [0.0] * dim
    frequency = _PI2 * math.sqrt(dim)
    pressure = reduce(mul, [cosine(still, frequency), *(cosine(along(dim, j)) for j in range(dim))])
    velocity = [
        reduce(
            mul,
            [
                sine(still, frequency, amplitude=1.0 / math.sqrt(dim)),
                *((sine if j == i else cosine)(along(dim, j)) for j in range(dim)),
            ],
        )
        for i in range(dim)
    ]
    exact = ExactData([pressure, *velocity], decay=dim * eps * _PI2**2)
    start = (initial_value(pressure), *(initial_value(v) for v in velocity))
    return Problem(Acoustics(1.0, eps, dim), Torus((1.0,) * dim), start, final_time, exact=exact)


def _wave(dim: int, amplitude: float, sines: tuple[bool, ...]) -> Trigonometric:
    """Product of sines and cosines of the phases φ."""
    factors = [(sine if sines[i] else cosine)(along(dim, i), _PI2 * _SHIFTS[i]) for i in range(dim)]
    return amplitude * reduce(mul, factors)


def _velocity(dim: int, amplitudes: tuple[float, float, float]) -> list[Trigonometric]:
    patterns = ((False, False, False), (True, True, False), (True, False, True))
    return [_wave(dim, a, pattern) for a, pattern in zip(amplitudes, patterns, strict=True)][:dim]


def _diffusion(u: Trigonometric, eps: float) -> Trigonometric:
    """ε Δu."""
    return eps * reduce(add, [u.derivative(j).derivative(j) for j in range(u.dim)])


def _problem(
    equation: DiffusivePSystem | BarotropicGas,
    components: list[Trigonometric],
    source: list[Source],
    final_time: float,
) -> Problem:
    return Problem(
        equation,
        Torus((1.0,) * equation.dim),
        tuple(initial_value(component) for component in components),
        final_time,
        tuple(source),
        exact=components,
    )
