"""Catalogue: Burgers' equation solved by the Cole–Hopf transformation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from stfem.data import sine
from stfem.data.base import Array
from stfem.equations import Burgers
from stfem.problems.arguments import checked_number
from stfem.problems.domain import Torus
from stfem.problems.families import family
from stfem.problems.problem import Problem

__all__ = ["burgers_cole_hopf"]

_RANGE = (1e-5, 100.0)
_NEGLIGIBLE = 42.0  # exp(−42) = 6e-19
_TOLERANCE = 1e-13
_MOST_POINTS = 1e6
_BLOCK = 1 << 20


def burgers_cole_hopf(eps: float = 0.02, final_time: float = 0.1) -> Problem:
    """Viscous Burgers in one dimension without source, u_0 = sin 2πx on (0, 1); a shock forms at t = 1/(2π).

    With −2ε φ_x/φ = u, φ solves the heat equation, and its Gaussian integral turns into a mean value: let y
    be distributed with density proportional to exp( −(x−y)²/(4εt) − sin²(πy)/(2πε) ). Then

        u = E[u_0(y)],      ∂_x u = E[u_0'(y)] − Var[u_0(y)] / (2ε).

    Parameters
    ----------
    eps : float
        Diffusion parameter, from 1e-5 to 100: exact values are evaluated stably.
    final_time : float
        T.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type, and a T up to which the mean values cannot be resolved.
    """
    eps = checked_number("eps", eps, "positive,", *_RANGE)

    exact, gradient = _burgers_cole_hopf(eps)
    initial = sine(2.0 * math.pi)
    problem = Problem(
        Burgers(1, eps), Torus((1.0,)), initial, final_time, exact=exact, exact_gradient=gradient
    )
    exact(np.linspace(0.0, 1.0, 33)[None], final_time)  # raises here, not after a run
    return problem


def _means(x: Array, t: float, eps: float) -> tuple[Array, Array]:
    """Values and derivatives; the step of the trapezoidal rule is halved until neither changes.

    The integrands are entire and decay like exp(−s²), so that the rule converges faster than any power.
    """
    flat = x.reshape(-1)
    # s² beyond this is negligible beside the largest weight, which is at least that of y = x and of an
    # integer y
    spread = 4.0 * eps * t
    deepest = min(1.0 / (2.0 * math.pi * eps), 0.25 / spread if spread > 0.0 else math.inf)
    reach = math.sqrt(_NEGLIGIBLE + deepest)
    # in s the waves have the length 1/(2√(εt)) and the weights the width 0.4/√t; a coarser rule may meet the
    # same phase of every wave, and then halving changes nothing although the values are wrong
    step = 0.25 / max(1.0, math.sqrt(t), math.sqrt(eps * t))
    finest = step / 64.0
    old = _rule(flat, t, eps, reach, step) if reach / finest < _MOST_POINTS else None
    while old is not None and step > finest:
        step *= 0.5
        new = _rule(flat, t, eps, reach, step)
        if all(_settled(a, b) for a, b in zip(old, new, strict=True)):
            return new[0].reshape(x.shape), new[1].reshape(x.shape)
        old = new
    raise ValueError(f"burgers_cole_hopf: expected a smaller t/eps or t·eps, got t = {t:g}, eps = {eps:g}")


def _settled(old: Array, new: Array) -> bool:
    return bool(
        np.max(np.abs(new - old), initial=0.0) <= _TOLERANCE * (1.0 + np.max(np.abs(new), initial=0.0))
    )


def _rule(x: Array, t: float, eps: float, reach: float, step: float) -> tuple[Array, Array]:
    """Trapezoidal rule in s, y = x + 2√(εt) s, with exponents measured from their maximum."""
    count = math.ceil(reach / step)
    s = step * np.arange(-count, count + 1)
    values, slopes = np.empty_like(x), np.empty_like(x)
    rows = max(1, _BLOCK // len(s))
    for start in range(0, len(x), rows):
        block = slice(start, start + rows)
        y = x[block, None] + 2.0 * math.sqrt(eps * t) * s
        exponent = -(s**2) - np.sin(np.pi * y) ** 2 / (2.0 * np.pi * eps)
        exponent -= exponent.max(axis=1, keepdims=True)
        weight = np.exp(np.maximum(exponent, -700.0))
        weight /= weight.sum(axis=1, keepdims=True)
        wave = np.sin(2.0 * np.pi * y)
        mean = np.sum(weight * wave, axis=1)
        variance = np.sum(weight * (wave - mean[:, None]) ** 2, axis=1)
        values[block] = mean
        slopes[block] = 2.0 * np.pi * np.sum(weight * np.cos(2.0 * np.pi * y), axis=1) - variance / (
            2.0 * eps
        )
    return values, slopes


@family
def _burgers_cole_hopf(eps: float) -> tuple[Callable[..., Array], ...]:
    """u and ∇u of `burgers_cole_hopf`."""

    def exact(x: Array, t: float) -> Array:
        return _means(x[0], t, eps)[0]

    def gradient(x: Array, t: float) -> Array:
        return _means(x[0], t, eps)[1][None]

    return exact, gradient
