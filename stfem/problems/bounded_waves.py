"""Catalogue on bounded domains: smooth waves, one case for every kind of boundary condition.

Solution, coefficients and source are trigonometric, so that all of them are known in closed form.
"""

from __future__ import annotations

import math
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from stfem.data import Trigonometric, cosine, sine
from stfem.equations import AdvectionDiffusion
from stfem.problems.arguments import check_dim, checked_eps, checked_number
from stfem.problems.conditions import Condition, Dirichlet, Robin, TotalFlux
from stfem.problems.manufactured import along, balance, initial_value, on_unit_cube
from stfem.problems.problem import Problem

__all__ = ["cellular_flow", "robin_outflow", "transient_wave", "variable_coefficients"]

_PI = math.pi
_SPEEDS = (1.0, 0.5, 0.25)


def transient_wave(dim: int = 2, eps: float = 1e-3, final_time: float = 0.5, mesh: Any = None) -> Problem:
    """A wave that travels with b = (1, 1/2, 1/4) under an envelope at rest, zero on the boundary (T5).

        u = Π_i sin πx_i · cos 2π(b·x − |b|²t) on (0, 1)^d,   g = ∂_t u + b·∇u − ε Δu

    with the entries of b that dim = d leaves. All sides have u = 0.

    Parameters
    ----------
    dim : int
        1, 2 or 3.
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T.
    mesh : skfem.Mesh, optional
        Mesh of the unit cube; without one the domain is a `Box`.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    check_dim(dim, (1, 2, 3))
    b = np.array(_SPEEDS[:dim])
    envelope = reduce(mul, [sine(along(dim, i, _PI)) for i in range(dim)])
    u = envelope * cosine((2.0 * _PI * b).tolist(), -2.0 * _PI * float(b @ b))
    equation = AdvectionDiffusion(tuple(b), checked_eps(eps))
    return _on_unit_cube(equation, u, Dirichlet(0.0), final_time, mesh)


def robin_outflow(
    eps: float = 1e-3, alpha: float = 1.0, final_time: float = 0.5, mesh: Any = None
) -> Problem:
    """A plane wave in b = (1, 1/2): its values given where it enters, a Robin condition where it leaves.

        u = cos 2π(b·x − |b|²t) on (0, 1)²,   g = −ε Δu,   ε∂_n u + αu = r   for x = 1 and for y = 1

    and u given for x = 0 and y = 0. As α + ½b·n > 0, no error grows at the boundary.

    Parameters
    ----------
    eps : float
        Diffusion parameter ε ≥ 0.
    alpha : float
        α ≥ 0, length/time.
    final_time : float
        T.
    mesh : skfem.Mesh, optional
        Mesh of the unit square with the boundaries ``left``, ``right``, ``bottom``, ``top``.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    eps, alpha = checked_eps(eps), checked_number("alpha", alpha, "a transfer coefficient", 0.0)
    u = cosine([2.0 * _PI, _PI], -2.5 * _PI)
    out = [Robin(alpha, u.derivative(i) * eps + u * alpha) for i in range(2)]
    boundary = {"left": Dirichlet(u), "bottom": Dirichlet(u), "right": out[0], "top": out[1]}
    return _on_unit_cube(AdvectionDiffusion(_SPEEDS[:2], eps), u, boundary, final_time, mesh)


def cellular_flow(eps: float = 1e-3, final_time: float = 0.5, mesh: Any = None) -> Problem:
    """A closed box with one vortex b = (sin πx cos πy, −cos πx sin πy): nothing passes its walls.

        u = 1 + ½ cos πx cos πy cos πt on (0, 1)²,   (bu − ε∇u)·n = 0

    The source g = ∂_t u + b·∇u − ε Δu has mean zero, so that the mass ∫u is 1 for all time.

    Parameters
    ----------
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T.
    mesh : skfem.Mesh, optional
        Mesh of the unit square.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    x, y = along(2, 0, _PI), along(2, 1, _PI)
    velocity = (sine(x) * cosine(y), -(cosine(x) * sine(y)))
    u = 1.0 + cosine(x) * cosine(y) * cosine([0.0, 0.0], _PI, 0.0, 0.5)
    equation = AdvectionDiffusion(velocity, checked_eps(eps))
    return _on_unit_cube(equation, u, TotalFlux(0.0), final_time, mesh)


def variable_coefficients(eps: float = 1e-3, final_time: float = 0.5, mesh: Any = None) -> Problem:
    """Everything varies: a sheared velocity, a reaction that depends on x, and an anisotropic diffusion.

        b = (1 + ½ sin πy, ½ + ¼ sin πx),   c = 1 + ½ cos πx cos πy,   D = ε (2 1; 1 2)
        u = sin πx sin πy cos π(2x + y − 2t) on (0, 1)²,   u = 0 on the boundary

    The velocity is divergence-free, and c ≥ ½: 2μ = sup(−∇·b − 2c) = −1 (T4).

    Parameters
    ----------
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T.
    mesh : skfem.Mesh, optional
        Mesh of the unit square.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    eps = checked_eps(eps)
    x, y = along(2, 0, _PI), along(2, 1, _PI)
    velocity = (1.0 + sine(y, amplitude=0.5), 0.5 + sine(x, amplitude=0.25))
    reaction = 1.0 + cosine(x, amplitude=0.5) * cosine(y)
    equation = AdvectionDiffusion(velocity, [[2.0 * eps, eps], [eps, 2.0 * eps]], reaction)
    u = sine(x) * sine(y) * cosine([2.0 * _PI, _PI], -2.0 * _PI)
    return _on_unit_cube(equation, u, Dirichlet(0.0), final_time, mesh)


def _on_unit_cube(
    equation: AdvectionDiffusion,
    u: Trigonometric,
    boundary: dict[str, Condition] | Condition,
    final_time: float,
    mesh: Any,
) -> Problem:
    domain = on_unit_cube(equation.dim, boundary, mesh)
    return Problem(equation, domain, initial_value(u), final_time, balance(equation, u), exact=u)
