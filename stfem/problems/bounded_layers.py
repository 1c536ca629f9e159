"""Catalogue on bounded domains: fronts, layers and pulses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erfc, erfcx

from stfem.data import Polynomial
from stfem.data.base import Array
from stfem.equations import AdvectionDiffusion
from stfem.problems.arguments import check_dim, checked_eps, checked_number
from stfem.problems.bounded import Domain
from stfem.problems.conditions import Dirichlet, Neumann, Outflow
from stfem.problems.families import family
from stfem.problems.manufactured import on_unit_cube
from stfem.problems.problem import Problem
from stfem.problems.shapes import l_shape

__all__ = ["corner_layers", "layered", "leaving_pulse", "moving_front", "outflow_layer", "rotating_pulse"]

_SPEEDS = (1.0, 0.5, 0.25)
#: ε below which the layer of `leaving_pulse` is thinner than the distance of numbers from 1.
_THINNEST = 1e-18


def moving_front(
    dim: int = 2, eps: float = 1e-4, width: float = 0.1, final_time: float = 0.5, mesh: Any = None
) -> Problem:
    """A front that moves with b = (1, 1/2, 1/4) and spreads; its values are given on the boundary.

        u = ½ erfc s,   s = (b·x − ¼ − |b|²t) / (|b| √(w² + 4εt)) on (0, 1)^d,   g = 0

    with the entries of b that dim = d leaves.

    Parameters
    ----------
    dim : int
        1, 2 or 3.
    eps : float
        Diffusion parameter ε ≥ 0.
    width : float
        w > 0, the width at the start.
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
    eps, width = checked_eps(eps), checked_number("width", width, "a width", 1e-6)
    b, (exact, gradient) = _SPEEDS[:dim], _moving_front(dim, eps, width)
    domain = on_unit_cube(dim, Dirichlet(exact), mesh)
    equation = AdvectionDiffusion(b, eps)
    return Problem(equation, domain, exact, final_time, exact=exact, exact_gradient=gradient)


def outflow_layer(eps: float = 1e-3, final_time: float = 0.2, mesh: Any = None) -> Problem:
    """An exponential layer of width ε where the flow b = (1, 0) meets the value 0.

        u = e^{−επ²t} sin πy (x − E(x)),   E = (e^{x/ε} − 1) / (e^{1/ε} − 1) on (0, 1)²

    The source g = e^{−επ²t} sin πy has no layer; u = 0 on the boundary. For ε = 0 there is none, and the
    value at the outflow does not count.

    Parameters
    ----------
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T.
    mesh : skfem.Mesh, optional
        Mesh of the unit square with the boundaries ``left``, ``right``, ``bottom``, ``top``.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    eps = checked_eps(eps)

    source, exact, gradient = _outflow_layer(eps)
    sides = dict.fromkeys(("left", "right", "bottom", "top"), Dirichlet(0.0))
    domain = on_unit_cube(2, sides, mesh)
    equation = AdvectionDiffusion((1.0, 0.0), eps)
    return Problem(equation, domain, exact, final_time, source, exact, gradient)


def corner_layers(eps: float = 1e-2, final_time: float = 0.2, mesh: Any = None) -> Problem:
    """Exponential layers at two outflow sides and their corner, b = (1, 1).

        u = e^{−t} X(x) X(y),   X(s) = s − (e^{s/ε} − 1) / (e^{1/ε} − 1) on (0, 1)²

    The source is g = e^{−t} (X(x) + X(y) − X(x)X(y)), as X' − εX'' = 1; u = 0 on the boundary.

    Parameters
    ----------
    eps : float
        Diffusion parameter ε ≥ 0.
    final_time : float
        T.
    mesh : skfem.Mesh, optional
        Mesh of the unit square with the boundaries ``left``, ``right``, ``bottom``, ``top``.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    eps = checked_eps(eps)

    source, exact, gradient = _corner_layers(eps)
    sides = dict.fromkeys(("left", "right", "bottom", "top"), Dirichlet(0.0))
    domain = on_unit_cube(2, sides, mesh)
    equation = AdvectionDiffusion((1.0, 1.0), eps)
    return Problem(equation, domain, exact, final_time, source, exact, gradient)


def leaving_pulse(
    dim: int = 2, eps: float = 1e-3, width: float = 0.15, final_time: float = 0.75, mesh: Any = None
) -> Problem:
    """A pulse that leaves through an outflow boundary, with b = (1, 0, 0).

    With the Gaussian G(x, t) = w/√v exp(−(x − ½ − t)²/(2v)), v = w² + 2εt, that diffuses on the line, its
    mirror image G(2 − x, t), and z = ((2 − x − ½ − t) + v/ε)/√(2v),

        u_1 = G(x, t) + e^{(x−1)/ε} G(2 − x, t) (1 − √(πv/2)/ε · e^{z²} erfc z)

    has ∂_x u_1 = 0 for x = 1, where the condition is `Outflow`; g = 0. In two and three dimensions
    u = u_1 Π_{i>1} (1 + ½ e^{−επ²t} cos πx_i) on (0, 1)^d, without flux through the walls. The values for
    x = 0 are given.

    Parameters
    ----------
    dim : int
        1, 2 or 3.
    eps : float
        Diffusion parameter ε ≥ 0.
    width : float
        w > 0, standard deviation at the start.
    final_time : float
        T.
    mesh : skfem.Mesh, optional
        Mesh of the unit cube with the boundaries ``left``, ``right``, ``bottom``, ``top``, ``front``,
        ``back``, as far as they exist.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    check_dim(dim, (1, 2, 3))
    eps, width = checked_eps(eps), checked_number("width", width, "a width", 1e-6)

    exact, gradient = _leaving_pulse(dim, eps, width)
    walls = dict.fromkeys(("bottom", "top", "front", "back")[: 2 * dim - 2], Neumann(0.0))
    sides = {"left": Dirichlet(exact), "right": Outflow(), **walls}
    domain = on_unit_cube(dim, sides, mesh)
    equation = AdvectionDiffusion((1.0, 0.0, 0.0)[:dim], eps)
    return Problem(equation, domain, exact, final_time, exact=exact, exact_gradient=gradient)


def rotating_pulse(
    eps: float = 1e-3, width: float = 0.2, final_time: float = 1.0, refinements: int = 4, mesh: Any = None
) -> Problem:
    """A pulse that is carried around the corner of an L-shaped domain by b = (−y, x).

        u = w²/v exp(−|x − c(t)|²/v),   v = w² + 4εt,   c(t) = ½ (cos(π/4 + t), sin(π/4 + t)),   g = 0

    on (−1, 1)² without [0, 1) × (−1, 0], with the values of u given on the boundary. Since u is radial about
    a point that moves with the flow, the rotation does not deform it.

    Parameters
    ----------
    eps : float
        Diffusion parameter ε ≥ 0.
    width : float
        w > 0, the width at the start.
    final_time : float
        T.
    refinements : int
        How often the six triangles of the domain are refined.
    mesh : skfem.Mesh, optional
        Another mesh of the domain, or of any other: u solves the equation everywhere.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    eps, width = checked_eps(eps), checked_number("width", width, "a width", 1e-6)

    exact, gradient = _rotating_pulse(eps, width)
    velocity = (Polynomial([[0.0, -1.0]], dim=2), Polynomial([[0.0], [1.0]], dim=2))
    covered = l_shape(refinements) if mesh is None else mesh
    equation = AdvectionDiffusion(velocity, eps)
    return Problem(
        equation,
        Domain(covered, Dirichlet(exact)),
        exact,
        final_time,
        exact=exact,
        exact_gradient=gradient,
    )


def layered(s: Array, eps: float) -> tuple[Array, Array]:
    """X = s − (e^{s/ε} − 1)/(e^{1/ε} − 1) and X', without overflow; s where ε = 0."""
    if eps == 0.0:
        return s, np.ones_like(s)
    with np.errstate(under="ignore"):
        grown, whole = np.exp((s - 1.0) / eps), -math.expm1(-1.0 / eps)
        return s + grown * np.expm1(-s / eps) / whole, 1.0 - grown / (eps * whole)


def _mirrored(x: Array, t: float, eps: float, width: float) -> tuple[Array, Array]:
    """u_1 of `leaving_pulse` and its derivative."""
    v = width**2 + 2.0 * eps * t

    def gaussian(s: Array) -> Array:
        return width / math.sqrt(v) * np.exp(-0.5 * s**2 / v)

    here, mirrored = x - 0.5 - t, 1.5 - x - t
    value, slope = gaussian(here), -here / v * gaussian(here)
    if eps == 0.0:
        return value, slope
    if eps < _THINNEST:
        return value, slope + (x == 1.0) * gaussian(mirrored) * mirrored / v
    with np.errstate(under="ignore"):
        image = np.exp((x - 1.0) / eps) * gaussian(mirrored)
        z = (mirrored + v / eps) / math.sqrt(2.0 * v)
        return (
            value + image * (1.0 - math.sqrt(0.5 * math.pi * v) / eps * erfcx(z)),
            slope + image * mirrored / v,
        )


@family
def _moving_front(dim: int, eps: float, width: float) -> tuple[Callable[..., Array], ...]:
    """u and ∇u of `moving_front`."""
    b = np.array(_SPEEDS[:dim])

    def scaled(x: Array, t: float) -> tuple[Array, float]:
        scale = math.sqrt(float(b @ b) * (width**2 + 4.0 * eps * t))
        return (np.tensordot(b, x, 1) - 0.25 - float(b @ b) * t) / scale, scale

    def exact(x: Array, t: float = 0.0) -> Array:
        return np.asarray(0.5 * erfc(scaled(x, t)[0]))

    def gradient(x: Array, t: float = 0.0) -> Array:
        s, scale = scaled(x, t)
        return np.asarray(np.multiply.outer(b, -np.exp(-(s**2)) / (math.sqrt(math.pi) * scale)))

    return exact, gradient


@family
def _outflow_layer(eps: float) -> tuple[Callable[..., Array], ...]:
    """g, u and ∇u of `outflow_layer`."""

    def source(x: Array, t: float) -> Array:
        return np.asarray(math.exp(-eps * math.pi**2 * t) * np.sin(math.pi * x[1]))

    def exact(x: Array, t: float = 0.0) -> Array:
        return source(x, t) * layered(x[0], eps)[0]

    def gradient(x: Array, t: float = 0.0) -> Array:
        value, slope = layered(x[0], eps)
        decay = math.exp(-eps * math.pi**2 * t)
        across = decay * math.pi * np.cos(math.pi * x[1])
        return np.stack([source(x, t) * slope, across * value])

    return source, exact, gradient


@family
def _corner_layers(eps: float) -> tuple[Callable[..., Array], ...]:
    """g, u and ∇u of `corner_layers`."""

    def exact(x: Array, t: float = 0.0) -> Array:
        return math.exp(-t) * layered(x[0], eps)[0] * layered(x[1], eps)[0]

    def gradient(x: Array, t: float = 0.0) -> Array:
        (u, u_slope), (v, v_slope) = layered(x[0], eps), layered(x[1], eps)
        return math.exp(-t) * np.stack([u_slope * v, u * v_slope])

    def source(x: Array, t: float) -> Array:
        u, v = layered(x[0], eps)[0], layered(x[1], eps)[0]
        return math.exp(-t) * (u + v - u * v)

    return source, exact, gradient


@family
def _leaving_pulse(dim: int, eps: float, width: float) -> tuple[Callable[..., Array], ...]:
    """u and ∇u of `leaving_pulse`."""

    def factors(x: Array, t: float) -> tuple[list[Array], list[Array]]:
        decay = 0.5 * math.exp(-eps * math.pi**2 * t)
        value, slope = _mirrored(x[0], t, eps, width)
        values = [1.0 + decay * np.cos(math.pi * s) for s in x[1:]]
        slopes = [-decay * math.pi * np.sin(math.pi * s) for s in x[1:]]
        return [value, *values], [slope, *slopes]

    def exact(x: Array, t: float = 0.0) -> Array:
        return np.asarray(np.prod(factors(x, t)[0], axis=0))

    def gradient(x: Array, t: float = 0.0) -> Array:
        values, slopes = factors(x, t)
        rows = [[*values[:i], slopes[i], *values[i + 1 :]] for i in range(dim)]
        return np.asarray(np.prod(rows, axis=1))

    return exact, gradient


@family
def _rotating_pulse(eps: float, width: float) -> tuple[Callable[..., Array], ...]:
    """u and ∇u of `rotating_pulse`."""

    def place(x: Array, t: float) -> tuple[Array, float]:
        angle = 0.25 * math.pi + t
        centre = np.reshape([0.5 * math.cos(angle), 0.5 * math.sin(angle)], (2,) + (1,) * (x.ndim - 1))
        return x - centre, width**2 + 4.0 * eps * t

    def exact(x: Array, t: float = 0.0) -> Array:
        r, v = place(x, t)
        return np.asarray(width**2 / v * np.exp(-(r**2).sum(axis=0) / v))

    def gradient(x: Array, t: float = 0.0) -> Array:
        r, v = place(x, t)
        return np.asarray(-2.0 / v * r * exact(x, t))

    return exact, gradient
