"""The diffusive p-system with a manufactured solution (arXiv 2604.01200)."""

from __future__ import annotations

import math

import numpy as np

from stfem.data import Approximated, Data, Trigonometric, cosine, sine
from stfem.data.base import Array
from stfem.equations import DiffusivePSystem
from stfem.problems.domain import Torus
from stfem.problems.linear import _unit
from stfem.problems.manufactured import diffused, manufactured
from stfem.problems.problem import Problem

#: Terms of the binomial series of (1 + s)^{-3}; |s| ≤ 0.1 leaves less than 1e-14.
SERIES_TERMS = 16
AMPLITUDE = 0.1


def diffusive_p_system(dim: int = 2, eps: float = 1e-3, final_time: float = 0.05) -> Problem:
    """p-system with p = τ^{−2} and diffusion ε in the velocities, manufactured source, unit torus.

    With φ_x = 2π(x − 0.3t), φ_y = 2π(y + 0.2t): τ = 1 + 0.1 sin φ_x cos φ_y, v_1 = 0.2 cos φ_x cos φ_y,
    v_2 = −0.15 sin φ_x sin φ_y. In one dimension the factors in y are left out.

    Parameters
    ----------
    dim : int
        1 or 2.
    eps : float
        ε ≥ 0.
    final_time : float
        T > 0.

    Raises
    ------
    ValueError
        For another dimension.

    References
    ----------
    Giesselmann, Kwon, Krumscheid, arXiv 2604.01200 (dim = 2).
    """
    if dim not in (1, 2):
        raise ValueError(f"dim: expected 1 or 2, got {dim}")
    wave = 2.0 * math.pi
    first = (_unit(0, dim) * wave, -0.3 * wave)
    if dim == 1:
        s, velocities = sine(*first, amplitude=AMPLITUDE), [cosine(*first, amplitude=0.2)]
    else:
        second = (_unit(1, dim) * wave, 0.2 * wave)
        s = sine(*first, amplitude=AMPLITUDE) * cosine(*second)
        velocities = [
            cosine(*first, amplitude=0.2) * cosine(*second),
            sine(*first, amplitude=-0.15) * sine(*second),
        ]
    tau = s + 1.0
    # 0.9 ≤ τ ≤ 1.1 exactly; the set leaves room for the reconstruction on coarse grids
    equation = DiffusivePSystem(diffusion=eps, dim=dim, lower=0.89, upper=1.11)
    cubed, remainder = _inverse_cube(s)
    source: list[Data] = [tau.time_derivative() - _sum([v.derivative(i) for i, v in enumerate(velocities)])]
    for i, v in enumerate(velocities):
        slope = tau.derivative(i)
        approximation = v.time_derivative() - 2.0 * cubed * slope - diffused(v, equation.diffusion)
        bound = 2.0 * remainder * slope.sup(0.0, final_time, (1.0,) * dim)
        source.append(Approximated(approximation, bound, _momentum_source(tau, v, i, equation.diffusion)))
    return manufactured(equation, Torus((1.0,) * dim), [tau, *velocities], source, final_time, "diffusive_p_system")


def _sum(fields: list[Trigonometric]) -> Trigonometric:
    return sum(fields[1:], fields[0])


def _inverse_cube(s: Trigonometric) -> tuple[Trigonometric, float]:
    """(1 + s)^{−3} = Σ C(−3, n) s^n with a bound of the rest: Σ_{n≥N} C(n+2, 2) a^n for |s| ≤ a."""
    total, power = s * 0.0 + 1.0, s
    for n in range(1, SERIES_TERMS):
        total = total + power * ((-1.0) ** n * math.comb(n + 2, 2))
        power = power * s
    rest = sum(math.comb(n + 2, 2) * AMPLITUDE**n for n in range(SERIES_TERMS, SERIES_TERMS + 40))
    return total, 1.001 * rest


def _momentum_source(tau: Trigonometric, v: Trigonometric, direction: int, matrix: Array):  # type: ignore[no-untyped-def]
    """Values of the source itself, τ^{−3} not expanded."""
    slope, rate, laplacian = tau.derivative(direction), v.time_derivative(), diffused(v, matrix)

    def values(x: Array, t: float) -> Array:
        return np.asarray(rate(x, t) - 2.0 * slope(x, t) / tau(x, t) ** 3 - laplacian(x, t))

    return values
