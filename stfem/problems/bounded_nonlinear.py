"""Catalogue on bounded domains: nonlinear scalar conservation laws with Dirichlet conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial as Power

from stfem.checks import described, whole_number
from stfem.data import cosine, sine
from stfem.data.base import Array
from stfem.equations import Burgers, ScalarConservationLaw
from stfem.problems.arguments import check_dim, checked_eps, checked_number
from stfem.problems.conditions import Dirichlet
from stfem.problems.families import family
from stfem.problems.manufactured import along, initial_value, on_unit_cube
from stfem.problems.problem import Problem

__all__ = ["burgers_front", "nonlinear_wave"]

_PI = math.pi
_SPEEDS = (1.0, 0.5, 0.25)


def nonlinear_wave(
    dim: int = 2, eps: float = 1e-3, power: int = 2, final_time: float = 0.5, mesh: Any = None
) -> Problem:
    """`transient_wave` on top of 1, carried by f = b u^p/p along b = (1, 1/2, 1/4): Burgers for p = 2.

        u = 1 + ¼ Π_i sin πx_i · cos 2π(b·x − |b|²t) on (0, 1)^d,   g = ∂_t u + u^{p−1} b·∇u − ε Δu

    with the entries of b that dim = d leaves. All sides have u = 1; near the wave crests steepen, so that
    errors may grow.

    Parameters
    ----------
    dim : int
        1, 2 or 3.
    eps : float
        Diffusion parameter ε ≥ 0.
    power : int
        p, 2 to 4.
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
    eps = checked_eps(eps)
    if whole_number("power", power) not in (2, 3, 4):
        raise ValueError(f"power: expected 2, 3 or 4, got {described(power)}")
    b = np.array(_SPEEDS[:dim])
    envelope = reduce(mul, [sine(along(dim, i, _PI)) for i in range(dim)])
    u = 1.0 + 0.25 * (envelope * cosine((2.0 * _PI * b).tolist(), -2.0 * _PI * float(b @ b)))
    speed = reduce(mul, [u] * (power - 1))
    source = u.time_derivative()
    for i, entry in enumerate(b.tolist()):
        slope = u.derivative(i)
        source = source + speed * slope * entry - slope.derivative(i) * eps
    fluxes = [Power([0.0] * power + [entry / power]) for entry in b.tolist()]
    equation = ScalarConservationLaw(fluxes, diffusion=eps)
    domain = on_unit_cube(dim, Dirichlet(1.0), mesh)
    return Problem(equation, domain, initial_value(u), final_time, source, exact=u)


def burgers_front(dim: int = 1, eps: float = 0.02, final_time: float = 0.5, mesh: Any = None) -> Problem:
    """The travelling wave of the viscous Burgers equation along the diagonal, without a source.

        u = ½ − a tanh( a (Σ_i x_i − d/4 − d t/2) / (2ε) ),   a = ¼, on (0, 1)^d

    f_i = u²/2 in every direction; u is given on the boundary. The front has the width 2ε/a, and errors grow
    with 2μ = d a²/(2ε) at most: the bound is of use for ε that are not too small.

    Parameters
    ----------
    dim : int
        1, 2 or 3.
    eps : float
        Diffusion parameter ε ≥ 1e-4.
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
    eps, a = checked_number("eps", eps, "a diffusion parameter", 1e-4), 0.25
    exact, gradient = _burgers_front(dim, eps, a)
    domain = on_unit_cube(dim, Dirichlet(exact), mesh)
    return Problem(Burgers(dim, eps), domain, exact, final_time, exact=exact, exact_gradient=gradient)


@family
def _burgers_front(dim: int, eps: float, a: float) -> tuple[Callable[..., Array], ...]:
    """u and ∇u of `burgers_front`."""
    steep = a / (2.0 * eps)

    def front(x: Array, t: float) -> Array:
        return np.asarray(np.tanh(steep * (np.sum(x, axis=0) - 0.25 * dim - 0.5 * dim * t)))

    def exact(x: Array, t: float = 0.0) -> Array:
        return np.asarray(0.5 - a * front(x, t))

    def gradient(x: Array, t: float = 0.0) -> Array:
        slope = -a * steep * (1.0 - front(x, t) ** 2)
        return np.stack([slope] * dim)

    return exact, gradient
