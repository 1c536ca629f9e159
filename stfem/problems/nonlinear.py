"""Catalogue: nonlinear problems with manufactured source."""

from __future__ import annotations

import math
from functools import reduce
from operator import mul

from stfem.data import Approximated, Trigonometric, cosine, sine
from stfem.equations import Burgers, DiffusivePSystem
from stfem.problems.arguments import check_dim, checked_eps
from stfem.problems.domain import Torus
from stfem.problems.manufactured import along, initial_value, pruned
from stfem.problems.problem import Problem

__all__ = ["diffusive_p_system", "viscous_burgers"]

_PI2 = 2.0 * math.pi
_SERIES_TERMS = 19  # of τ^{-2} in powers of τ − 1
_PRUNED = 5e-16


def viscous_burgers(dim: int = 2, eps: float = 1e-3, final_time: float = 0.1) -> Problem:
    """Burgers' equation with f_i = u²/2 on the unit torus (arXiv 2604.01200 for dim = 2).

        u = 2 + 0.2 sin 2π(x − 0.7t) cos 2π(y + 0.4t) cos 2π(z − 0.3t),   g = ∂_t u + u Σ_i ∂_i u − ε Δu

    with the factors that dim leaves; g is trigonometric.

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
    check_dim(dim, (1, 2, 3))
    eps = checked_eps(eps)
    shifts = (-0.7, 0.4, -0.3)
    waves = [sine(along(dim, 0), _PI2 * shifts[0], amplitude=0.2)]
    waves += [cosine(along(dim, i), _PI2 * shifts[i]) for i in range(1, dim)]
    u = 2.0 + reduce(mul, waves)
    source = u.time_derivative()
    for i in range(dim):
        source = source + u * u.derivative(i) - eps * u.derivative(i).derivative(i)
    return Problem(Burgers(dim, eps), Torus((1.0,) * dim), initial_value(u), final_time, source, exact=u)


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
    check_dim(dim, (1, 2, 3))
    eps = checked_eps(eps)
    frequencies = tuple(_PI2 * shift for shift in (-0.3, 0.2, -0.1))

    def wave(amplitude: float, sines: tuple[bool, ...]) -> Trigonometric:
        factors = [(sine if sines[i] else cosine)(along(dim, i), frequencies[i]) for i in range(dim)]
        return amplitude * reduce(mul, factors)

    s = wave(0.1, (True, False, False))
    v = [
        wave(0.2, (False, False, False)),
        wave(-0.15, (True, True, False)),
        wave(0.1, (True, False, True)),
    ][:dim]
    pressure, slope_remainder = _pressure(s)
    divergence = reduce(lambda a, b: a + b, [v[i].derivative(i) for i in range(dim)])
    source: list[Trigonometric | Approximated] = [s.time_derivative() - divergence]
    for i in range(dim):
        slope, dropped = pruned(pressure.derivative(i), _PRUNED)
        rest = v[i].time_derivative()
        for j in range(dim):
            rest = rest - eps * v[i].derivative(j).derivative(j)
        source.append(Approximated(slope + rest, slope_remainder + dropped))
    components = [1.0 + s, *v]
    return Problem(
        DiffusivePSystem(eps, dim, lower=0.85, upper=1.15),
        Torus((1.0,) * dim),
        tuple(initial_value(component) for component in components),
        final_time,
        tuple(source),
        exact=components,
    )


def _pressure(s: Trigonometric) -> tuple[Trigonometric, float]:
    """(1 + s)^{-2} without powers of s from n = 19 on, and a bound of the gradient of what is left out.

    With |s| ≤ r = 0.1 and |∂_i s| ≤ 2π r the components of that gradient are at most
    Σ_{k≥n} (k+1) k r^{k−1} 2π r, a series whose terms shrink by at least a factor ratio < 1.
    """
    n, r = _SERIES_TERMS, 0.1
    result = Trigonometric.number(1.0, s.dim)
    power = Trigonometric.number(1.0, s.dim)
    for k in range(1, n):
        power = power * s
        result = result + (-1.0) ** k * (k + 1) * power
    ratio = (n + 2) / n * r
    remainder = (n + 1) * n * r ** (n - 1) * _PI2 * r / (1.0 - ratio)
    return result, remainder * (1.0 + 1e-12)
