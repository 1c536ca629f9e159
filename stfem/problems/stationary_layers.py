"""Catalogue without time: layers and corners, each with an exact solution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erfc, ive, kve

from stfem.data import Polynomial
from stfem.data.base import Array
from stfem.equations import AdvectionDiffusion
from stfem.problems.arguments import checked_eps, checked_number
from stfem.problems.bounded import Domain
from stfem.problems.conditions import Dirichlet
from stfem.problems.families import family
from stfem.problems.manufactured import on_unit_cube
from stfem.problems.shapes import l_shape, mesh_around_disc
from stfem.problems.stationary import StationaryProblem

__all__ = ["hemker_cylinder", "interior_layer", "rotating_corner", "stationary_layer"]

#: Of reactions: their exponentials over the domain must stay finite.
_FASTEST = 100.0

#: Smallest ε of Hemker's problem: its series loses e^{1/ε} in digits.
_HEMKER = 1.0 / 16.0
#: Terms of the series beyond 1/(2ε), and the smallest |x| that the exact solution tells from a corner.
_TERMS, _TINY = 40, 1e-300


def interior_layer(
    eps: float = 1e-4,
    angle: float = math.pi / 6.0,
    reaction: float = 1.0,
    upstream: float = 0.0,
    mesh: Any = None,
) -> StationaryProblem:
    """A step of the values where the flow enters becomes a layer inside, of width √ε along the flow.

    With coordinates (s, n) along and across b = (cos φ, sin φ) from the point δ before (0, ¼), polar (r, θ),

        u = ½ e^{μs} erfc( √(κr/ε) sin ½θ ),   κ = √(1 + 4εc),   μ = (1 − κ)/(2ε) on (0, 1)²,   g = 0

    with the values of u given on the boundary. It solves the equation itself, not only its parabolic
    approximation; before the point u jumps. On the side x = 0 it is a step of width ε with a gradient like
    r^{−1/2} for δ = 0, and a smooth one of width √(δε) otherwise. For ε = 0 it is e^{−cs} where n < 0, and 0
    elsewhere.

    Parameters
    ----------
    eps : float
        Diffusion parameter ε ≥ 0.
    angle : float
        φ from 0 to 1.3, the direction of the flow.
    reaction : float
        c ≥ 0, 1/time.
    upstream : float
        δ ≥ 0, length.
    mesh : skfem.Mesh, optional
        Mesh of the unit square; without one the domain is a `Box`.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    eps = checked_eps(eps)
    angle = checked_number("angle", angle, "an angle", 0.0, 1.3)
    c = checked_number("reaction", reaction, "a reaction", 0.0, _FASTEST)
    upstream = checked_number("upstream", upstream, "a distance", 0.0)
    b = (math.cos(angle), math.sin(angle))
    exact, gradient = _interior_layer(eps, angle, c, upstream)
    domain = on_unit_cube(2, Dirichlet(exact), mesh)
    equation = AdvectionDiffusion(b, eps, c)
    return StationaryProblem(equation, domain, exact=exact, exact_gradient=gradient)


def stationary_layer(eps: float = 1e-3, reaction: float = 1.0, mesh: Any = None) -> StationaryProblem:
    """An exponential layer of width ε where the flow b = (1, 0) meets the value 0.

        u = sin πy X(x),   −εX'' + X' + σX = 1,   X(0) = X(1) = 0,   σ = c + επ² on (0, 1)²

    The source g = sin πy has no layer; u = 0 on the boundary. For ε = 0 there is none, and the value at the
    outflow does not count.

    Parameters
    ----------
    eps : float
        Diffusion parameter ε ≥ 0.
    reaction : float
        c > 0, 1/time.
    mesh : skfem.Mesh, optional
        Mesh of the unit square with the boundaries ``left``, ``right``, ``bottom``, ``top``.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    eps, c = checked_eps(eps), checked_number("reaction", reaction, "a reaction", 1e-6, _FASTEST)
    source, exact, gradient = _stationary_layer(eps, c)
    sides = dict.fromkeys(("left", "right", "bottom", "top"), Dirichlet(0.0))
    equation = AdvectionDiffusion((1.0, 0.0), eps, c)
    return StationaryProblem(equation, on_unit_cube(2, sides, mesh), source, exact, gradient)


def rotating_corner(
    eps: float = 1e-2, reaction: float = 1.0, refinements: int = 3, mesh: Any = None
) -> StationaryProblem:
    """The singularity of a re-entrant corner in a flow that rotates around it, b = (−y, x).

        u = r^{2/3} sin ⅔θ,   g = ∂_θ u + cu

    on (−1, 1)² without [0, 1) × (−1, 0], with the values of u given on the boundary; −Δu = 0, and ∇u is not
    bounded.

    Parameters
    ----------
    eps : float
        Diffusion parameter ε ≥ 0.
    reaction : float
        c ≥ 0, 1/time.
    refinements : int
        How often the six triangles of the domain are refined.
    mesh : skfem.Mesh, optional
        Another mesh of the domain.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    eps, c = checked_eps(eps), checked_number("reaction", reaction, "a reaction", 0.0, _FASTEST)

    source, exact, gradient = _rotating_corner(c)
    velocity = (Polynomial([[0.0, -1.0]], dim=2), Polynomial([[0.0], [1.0]], dim=2))
    covered = l_shape(refinements) if mesh is None else mesh
    equation = AdvectionDiffusion(velocity, eps, c)
    return StationaryProblem(equation, Domain(covered, Dirichlet(exact)), source, exact, gradient)


def hemker_cylinder(eps: float = 0.1, cells: int = 8, mesh: Any = None) -> StationaryProblem:
    """Hemker's problem: a flow b = (1, 0) past a warm cylinder, with its wake and its boundary layer.

    The solution that decays at infinity, k = 1/(2ε),

        u = e^{kx} Σ_n (2 − δ_{n0}) (−1)^n I_n(k) K_n(kr)/K_n(k) cos nθ,   g = 0,

    has u = 1 on the unit circle; on (−3, 9) × (−3, 3) without the disc its values are given on the boundary.

    Parameters
    ----------
    eps : float
        Diffusion parameter ε from 1/16 on: the terms of the series are e^{1/ε} times as large as its sum.
    cells : int
        Cells between the cylinder and the side of the square around it; see `mesh_around_disc`.
    mesh : skfem.Mesh, optional
        Another mesh outside of the unit circle.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    eps = checked_number("eps", eps, "a diffusion that the series can be summed for,", _HEMKER)
    exact, gradient = _hemker_cylinder(eps)
    domain = Domain(mesh_around_disc(cells) if mesh is None else mesh, Dirichlet(exact))
    equation = AdvectionDiffusion((1.0, 0.0), eps)
    return StationaryProblem(equation, domain, exact=exact, exact_gradient=gradient)


@family
def _interior_layer(eps: float, angle: float, c: float, upstream: float) -> tuple[Callable[..., Array], ...]:
    """u and ∇u of `interior_layer`."""
    b = np.array([math.cos(angle), math.sin(angle)])
    root = math.sqrt(1.0 + 4.0 * eps * c)
    mu = -2.0 * c / (1.0 + root)

    def turned(x: Array) -> tuple[Array, Array]:
        return upstream + b[0] * x[0] + b[1] * (x[1] - 0.25), -b[1] * x[0] + b[0] * (x[1] - 0.25)

    def scaled(along: Array, across: Array) -> tuple[Array, Array]:
        """√r cos ½θ and √r sin ½θ."""
        r = np.hypot(along, across)
        sine = np.copysign(np.sqrt(0.5 * np.maximum(r - along, 0.0)), across)
        return np.sqrt(0.5 * np.maximum(r + along, 0.0)), sine

    def exact(x: Array, t: float = 0.0) -> Array:
        along, across = turned(x)
        if eps == 0.0:
            return np.exp(mu * along) * np.where(across < 0.0, 1.0, np.where(across > 0.0, 0.0, 0.5))
        return np.asarray(0.5 * np.exp(mu * along) * erfc(math.sqrt(root / eps) * scaled(along, across)[1]))

    def gradient(x: Array, t: float = 0.0) -> Array:
        along, across = turned(x)
        if eps == 0.0:
            slopes = np.stack([mu * exact(x), np.zeros_like(along)])
        else:
            cosine, sine = scaled(along, across)
            r = np.maximum(cosine**2 + sine**2, _TINY)
            with np.errstate(under="ignore"):
                bell = np.exp(mu * along - root / eps * sine**2) * math.sqrt(root / (math.pi * eps))
            # ∂_s √r sin ½θ = −sin ½θ/(2√r), ∂_n √r sin ½θ = cos ½θ/(2√r)
            slopes = np.stack([mu * exact(x) + bell * sine / (2.0 * r), -bell * cosine / (2.0 * r)])
        return np.stack([b[0] * slopes[0] - b[1] * slopes[1], b[1] * slopes[0] + b[0] * slopes[1]])

    return exact, gradient


@family
def _stationary_layer(eps: float, c: float) -> tuple[Callable[..., Array], ...]:
    """g, u and ∇u of `stationary_layer`."""
    sigma = c + eps * math.pi**2
    root = math.sqrt(1.0 + 4.0 * eps * sigma)
    slow = -2.0 * sigma / (1.0 + root)
    fast = (1.0 + root) / (2.0 * eps) if eps > 0.0 else math.inf

    def factor(s: Array) -> tuple[Array, Array]:
        """X and X' from e^{slow s} and e^{fast (s − 1)}."""
        if eps == 0.0:
            return -np.expm1(-c * s) / c, np.exp(-c * s)
        # A + B e^{−fast} = 1, A e^{slow} + B = 1
        with np.errstate(under="ignore"):
            thin = math.exp(-fast)
            b = -math.expm1(slow) / (1.0 - math.exp(slow) * thin)
            a = 1.0 - b * thin
            first, last = a * np.exp(slow * s), b * np.exp(fast * (s - 1.0))
        return (1.0 - first - last) / sigma, -(slow * first + fast * last) / sigma

    def source(x: Array) -> Array:
        return np.asarray(np.sin(math.pi * x[1]))

    def exact(x: Array) -> Array:
        return source(x) * factor(x[0])[0]

    def gradient(x: Array) -> Array:
        value, slope = factor(x[0])
        return np.stack([source(x) * slope, math.pi * np.cos(math.pi * x[1]) * value])

    return source, exact, gradient


@family
def _rotating_corner(c: float) -> tuple[Callable[..., Array], ...]:
    """g, u and ∇u of `rotating_corner`."""

    def polar(x: Array) -> tuple[Array, Array]:
        # the angle jumps on the ray between both sides of the corner, outside of the domain
        turned = np.arctan2(-x[0] - x[1], x[1] - x[0])
        return np.hypot(*x), turned + 0.75 * math.pi

    def exact(x: Array, t: float = 0.0) -> Array:
        r, theta = polar(x)
        return np.asarray(r ** (2.0 / 3.0) * np.sin(2.0 / 3.0 * theta))

    def gradient(x: Array, t: float = 0.0) -> Array:
        r, theta = polar(x)
        size = 2.0 / 3.0 * np.maximum(r, _TINY) ** (-1.0 / 3.0)
        return np.stack([-size * np.sin(theta / 3.0), size * np.cos(theta / 3.0)])

    def source(x: Array) -> Array:
        r, theta = polar(x)
        turning = 2.0 / 3.0 * np.cos(2.0 / 3.0 * theta) + c * np.sin(2.0 / 3.0 * theta)
        return np.asarray(r ** (2.0 / 3.0) * turning)

    return source, exact, gradient


@family
def _hemker_cylinder(eps: float) -> tuple[Callable[..., Array], ...]:
    """u and ∇u of `hemker_cylinder`."""
    k = 0.5 / eps
    orders = np.arange(int(2.0 * k) + _TERMS)
    signs = np.where(orders == 0, 1.0, 2.0) * (-1.0) ** orders
    with np.errstate(under="ignore"):
        # I_n(k)/K_n(k) with both scaled: the factor e^{2k} goes to the exponential below
        weights = signs * ive(orders, k) / kve(orders, k)

    def sums(x: Array, slopes: bool) -> tuple[Array, Array, Array]:
        """The series and, where asked for, its derivatives in r and θ, without e^{kx}."""
        r, theta = np.hypot(*x), np.arctan2(x[1], x[0])
        value, radial, angular = (np.zeros_like(r) for _ in range(3))
        before, now = kve(1, k * r), kve(0, k * r)
        for n, weight in enumerate(weights):
            after = before + 2.0 * n / (k * r) * now  # K_{n+1} = K_{n−1} + (2n/z) K_n
            wave = weight * np.cos(n * theta)
            value += wave * now
            if slopes:
                radial -= 0.5 * k * wave * (before + after)  # 2K_n' = −K_{n−1} − K_{n+1}
                angular -= n * weight * np.sin(n * theta) * now
            before, now = now, after
        with np.errstate(under="ignore"):
            scale = np.exp(k * (x[0] - r + 2.0))
        return scale * value, scale * radial, scale * angular

    def exact(x: Array, t: float = 0.0) -> Array:
        return sums(x, False)[0]

    def gradient(x: Array) -> Array:
        value, radial, angular = sums(x, True)
        r = np.hypot(*x)
        along, across = x[0] / r, x[1] / r
        return np.stack(
            [k * value + along * radial - across / r * angular, across * radial + along / r * angular]
        )

    return exact, gradient
