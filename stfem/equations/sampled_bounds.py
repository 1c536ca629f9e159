"""Constants of an entropy that is known as a function only: sampled on the state set, and widened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stfem.data.base import Array
from stfem.equations.entropy import EntropyBounds
from stfem.equations.states import StateSet

__all__ = ["entropy_gradient", "entropy_hessian", "sampled_bounds"]

Function = Callable[[Any], Any]  # of real and complex arrays

SAMPLES = 2000
#: Part by which sampled constants are widened; see the page about constants.
MARGIN = 0.1
_TURNS = 8
_IMAGINARY = 1e-30
#: Relative steps of first, second and third differences of Dη, which is exact to rounding.
_STEPS = (1e-5, 1e-4, 1e-3)


def entropy_gradient(entropy: Function) -> Function:
    """Dη of states ``(m, …)``, by steps in the imaginary direction."""

    def gradient(u: Array) -> Array:
        parts = []
        for c in range(len(u)):
            shifted = u.astype(np.complex128)
            shifted[c] += 1j * _IMAGINARY
            parts.append(np.imag(entropy(shifted)) / _IMAGINARY)
        return np.stack(parts)

    return gradient


def entropy_hessian(entropy: Function) -> Function:
    """D²η ``(m, m, …)``, symmetric, by differences of Dη."""
    gradient = entropy_gradient(entropy)

    def hessian(u: Array) -> Array:
        step = _STEPS[0] * max(1e-300, float(np.abs(u).max()))
        columns = []
        for c in range(len(u)):
            above, below = u.copy(), u.copy()
            above[c] += step
            below[c] -= step
            columns.append((gradient(above) - gradient(below)) / (2.0 * step))
        matrix = np.stack(columns)
        return np.asarray(0.5 * (matrix + np.swapaxes(matrix, 0, 1)))

    return hessian


def sampled_bounds(
    flux: Sequence[Function], entropy: Function, states: StateSet
) -> tuple[EntropyBounds, str]:
    """Constants of T4 from random states and directions, and the sentence that says so.

    Raises
    ------
    ValueError
        For an entropy that is not strictly convex at all samples.
    """
    rng = np.random.default_rng(20240302)
    gradient, hessian = entropy_gradient(entropy), entropy_hessian(entropy)
    u, v = (states.sample(rng, SAMPLES) for _ in range(2))
    first, second = (np.moveaxis(hessian(s), -1, 0) for s in (u, v))
    eigenvalues = np.linalg.eigvalsh(first)
    low, high = float(eigenvalues.min()), float(eigenvalues.max())
    if not low > 0.0:
        raise ValueError(f"entropy: expected strictly convex on the state set, got the eigenvalue {low:.3g}")
    factors = np.linalg.inv(np.linalg.cholesky(second))
    relative = np.linalg.eigvalsh(factors @ first @ np.swapaxes(factors, 1, 2))
    box = StateSet(states.lower, states.upper)  # third is needed on all of it, see `ConvexEntropy`
    third, fourth = _derivatives(gradient, box.sample(rng, SAMPLES) if len(states.constraints) else u, rng)
    curvatures = tuple(_flux_curvature(f, u, second, first, rng) for f in flux)
    if not np.isfinite([low, high, third, fourth, *curvatures]).all():
        raise ValueError(
            "entropy: expected finite derivatives on the box of the state set, got others; give bounds="
        )
    wide = 1.0 + MARGIN
    bounds = EntropyBounds(
        low / wide,
        high * wide,
        min(1.0, float(relative.min()) / wide),
        third * wide,
        fourth * wide,
        tuple(c * wide for c in curvatures),
    )
    sentence = (
        f"constants of the entropy taken from {SAMPLES} samples of the state set and widened by "
        f"{MARGIN:.0%}, not proved"
    )
    return bounds, sentence


def _derivatives(gradient: Function, u: Array, rng: np.random.Generator) -> tuple[float, float]:
    """Largest |D³η(e, e, e)| and |D⁴η(e, e, e, e)| over unit vectors."""
    scale = float(np.abs(u).max())
    third = fourth = 0.0
    for _ in range(_TURNS):
        e = _unit(rng, u)

        def along(s: float, e: Array = e) -> Array:
            return np.asarray((e * gradient(u + s * e)).sum(axis=0))

        h, k = _STEPS[1] * scale, _STEPS[2] * scale
        found = (along(h) - 2.0 * along(0.0) + along(-h)) / h**2
        third = float(np.maximum(third, np.abs(found).max()))  # NaN stays
        found = (along(2.0 * k) - 2.0 * along(k) + 2.0 * along(-k) - along(-2.0 * k)) / (2.0 * k**3)
        fourth = float(np.maximum(fourth, np.abs(found).max()))
    # below what differences resolve there is nothing
    return 0.0 if third <= 1e-6 else third, 0.0 if fourth <= 1e-4 else fourth


def _flux_curvature(flux: Function, u: Array, hessian: Array, own: Array, rng: np.random.Generator) -> float:
    """Largest |D²η(û) D²f(ξ)(e, e)| over e·D²η(ξ)e; ``own`` is D²η at ξ = u."""
    step, largest = 1e-4 * float(np.abs(u).max()), 0.0
    for _ in range(_TURNS):
        e = _unit(rng, u)
        above, below = (
            np.imag(flux(u + s * step * e + 1j * _IMAGINARY * e)) / _IMAGINARY for s in (1.0, -1.0)
        )
        bend = (above - below) / (2.0 * step)
        sizes = np.sqrt((np.einsum("nij,jn->in", hessian, bend) ** 2).sum(axis=0))
        largest = float(np.maximum(largest, (sizes / np.einsum("nij,in,jn->n", own, e, e)).max()))
    return largest


def _unit(rng: np.random.Generator, like: Array) -> Array:
    e = rng.normal(size=like.shape)
    return np.asarray(e / np.sqrt((e**2).sum(axis=0)))
