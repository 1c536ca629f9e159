"""Catalogue without time: layers for which a source pays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stfem.data.base import Array
from stfem.equations import AdvectionDiffusion
from stfem.problems.arguments import checked_eps, checked_number
from stfem.problems.bounded_layers import layered
from stfem.problems.conditions import Dirichlet
from stfem.problems.families import family
from stfem.problems.manufactured import on_unit_cube
from stfem.problems.stationary import StationaryProblem

__all__ = ["circular_layer", "stationary_corner"]

#: Flow and reaction of the circular layer.
_ACROSS, _REACTION = (2.0, 3.0), 2.0
_SIDES = ("left", "right", "bottom", "top")


def circular_layer(eps: float = 1e-4, radius: float = 0.25, mesh: Any = None) -> StationaryProblem:
    """A layer of width √ε along a circle, which the flow b = (2, 3) crosses; reaction 2.

        u = 16 x(1 − x)y(1 − y) ( ½ + arctan(2s)/π ),   s = (R² − (x − ½)² − (y − ½)²)/√ε on (0, 1)²

    The source follows from that; u = 0 on the boundary. What the layer costs does not depend on the flow.

    Parameters
    ----------
    eps : float
        Diffusion parameter ε from 1e-12 on.
    radius : float
        R from 0 to ½.
    mesh : skfem.Mesh, optional
        Mesh of the unit square; without one the domain is a `Box`.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    eps = checked_number("eps", eps, "a diffusion", 1e-12)
    radius = checked_number("radius", radius, "a radius", 0.0, 0.5)
    source, exact, gradient = _circular_layer(eps, radius)
    equation = AdvectionDiffusion(_ACROSS, eps, _REACTION)
    domain = on_unit_cube(2, dict.fromkeys(_SIDES, Dirichlet(0.0)), mesh)
    return StationaryProblem(equation, domain, source, exact, gradient)


def stationary_corner(eps: float = 1e-2, reaction: float = 0.0, mesh: Any = None) -> StationaryProblem:
    """Exponential layers of width ε at two outflow sides and their corner, b = (1, 1).

        u = X(x) X(y),   X(s) = s − (e^{s/ε} − 1) / (e^{1/ε} − 1) on (0, 1)²

    The source is g = X(x) + X(y) + cX(x)X(y), as X' − εX'' = 1; u = 0 on the boundary.

    Parameters
    ----------
    eps : float
        Diffusion parameter ε ≥ 0.
    reaction : float
        c ≥ 0, 1/time.
    mesh : skfem.Mesh, optional
        Mesh of the unit square with the boundaries ``left``, ``right``, ``bottom``, ``top``.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    eps, c = checked_eps(eps), checked_number("reaction", reaction, "a reaction", 0.0)
    source, exact, gradient = _stationary_corner(eps, c)
    domain = on_unit_cube(2, dict.fromkeys(_SIDES, Dirichlet(0.0)), mesh)
    equation = AdvectionDiffusion((1.0, 1.0), eps, c)
    return StationaryProblem(equation, domain, source, exact, gradient)


@family
def _circular_layer(eps: float, radius: float) -> tuple[Callable[..., Array], ...]:
    """g, u and ∇u of `circular_layer`."""
    b, c, steep = np.array(_ACROSS), _REACTION, 2.0 / math.sqrt(eps)

    def factors(x: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
        """p = 16 x(1 − x)y(1 − y), ∇p, Δp, w = ½ + arctan(2s)/π, ∇w, Δw."""
        one, other = x[0] * (1.0 - x[0]), x[1] * (1.0 - x[1])
        slopes = 16.0 * np.stack([(1.0 - 2.0 * x[0]) * other, one * (1.0 - 2.0 * x[1])])
        offset = x - 0.5
        square = (offset**2).sum(axis=0)
        s = steep * (radius**2 - square)
        bell = 1.0 / (math.pi * (1.0 + s**2))
        # ∇s = −2 steep (x − ½), Δs = −4 steep, (arctan)'' = −2s/(1 + s²)²
        gradient = -2.0 * steep * bell * offset
        laplacian = -4.0 * steep * bell - 8.0 * math.pi * steep**2 * square * s * bell**2
        ring = 0.5 + np.arctan(s) / math.pi
        return 16.0 * one * other, slopes, -32.0 * (one + other), ring, gradient, laplacian

    def exact(x: Array) -> Array:
        p, _, _, w, _, _ = factors(x)
        return np.asarray(p * w)

    def exact_gradient(x: Array) -> Array:
        p, p_slopes, _, w, w_slopes, _ = factors(x)
        return np.asarray(p_slopes * w + p * w_slopes)

    def source(x: Array) -> Array:
        p, p_slopes, p_laplacian, w, w_slopes, w_laplacian = factors(x)
        slopes = p_slopes * w + p * w_slopes
        laplacian = p_laplacian * w + 2.0 * (p_slopes * w_slopes).sum(axis=0) + p * w_laplacian
        return np.asarray(np.tensordot(b, slopes, 1) + c * p * w - eps * laplacian)

    return source, exact, exact_gradient


@family
def _stationary_corner(eps: float, c: float) -> tuple[Callable[..., Array], ...]:
    """g, u and ∇u of `stationary_corner`."""

    def exact(x: Array) -> Array:
        return np.asarray(layered(x[0], eps)[0] * layered(x[1], eps)[0])

    def gradient(x: Array) -> Array:
        (u, u_slope), (v, v_slope) = layered(x[0], eps), layered(x[1], eps)
        return np.stack([u_slope * v, u * v_slope])

    def source(x: Array) -> Array:
        u, v = layered(x[0], eps)[0], layered(x[1], eps)[0]
        return np.asarray(u + v + c * u * v)

    return source, exact, gradient
