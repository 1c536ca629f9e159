"""Test of an entropy at random states: derivatives, compatibility with the flux, constants (T4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stfem.data import Interval
from stfem.data.base import Array
from stfem.equations.entropy import CellStates, Entropy

if TYPE_CHECKING:
    from stfem.equations.base import Equation

__all__ = ["check_entropy", "entropy_defects"]

_Numbers = NDArray[np.floating[Any]]

_STATES = 400
_SEED = 20240301
_STEP = 1e-6
_TOLERANCE = 1e-5  # differences are exact to about 1e-8, any slip in a formula is far larger
_CURVATURE_SLACK = 0.03  # relative; differences of D²η are no more exact near the end of a state set
_TIME = 0.37


def check_entropy(equation: Equation, entropy: Entropy) -> None:
    """Raise ValueError where an entropy contradicts its equation or its constants.

    Raises
    ------
    ValueError
        With the name of the defect, expected and got.
    """
    for name, defect in entropy_defects(equation, entropy).items():
        if not defect <= _TOLERANCE:
            raise ValueError(
                f"{type(equation).__name__}.entropy, {name}: expected a defect below {_TOLERANCE:g}, "
                f"got {defect:.3g}"
            )


def entropy_defects(equation: Equation, entropy: Entropy) -> dict[str, float]:
    """Defects at random states, all of them 0 up to rounding (about 1e-9) for a correct entropy.

    Returns
    -------
    dict
        "gradient" and "hessian" against differences; "compatibility", the asymmetry of D²η Df_i, which
        vanishes exactly where Dη Df_i = Dq_i has a solution q; "coupling" of diffusing components with
        others in D²η; and, by how much the constants are exceeded, relative: "convexity", "dissipation",
        "flux weight", "residual weight", "initial weight", "third", "fourth" and "rate".
    """
    rng = np.random.default_rng(_SEED)
    u, v = (entropy.states.sample(rng, _STATES) for _ in range(2))
    e = u - v
    hessian = entropy.hessian(v)
    chosen = np.flatnonzero(np.asarray(equation.diffused))
    others = np.flatnonzero(np.asarray(equation.diffused) == 0.0)
    diffuses = bool(np.any(equation.diffusion))
    relative = entropy.relative(u, v)
    point = Interval(v, v)
    rounding = 1e-12 * (1.0 + np.abs(entropy.value(u)) + np.abs(entropy.value(v)))
    direction = rng.normal(size=u.shape)
    image = np.einsum("ijn,jn->in", hessian, direction)
    weighted = (direction * np.einsum("ijn,jn->in", entropy.residual_weight(point), direction)).sum(axis=0)
    defects = {
        "gradient": _difference_defect(entropy.value, entropy.gradient, v, direction),
        "hessian": _difference_defect(
            entropy.gradient, lambda s: np.moveaxis(entropy.hessian(s), 1, 0), v, direction
        ),
        "compatibility": max(_asymmetry(equation, hessian, v, i) for i in range(equation.dim)),
        "convexity": _excess(entropy.lower * (e**2).sum(axis=0), relative, rounding),
        "residual weight": _excess((image * e).sum(axis=0) ** 2, weighted * relative, weighted * rounding),
        "initial weight": _excess(
            relative, (e * np.einsum("ijn,jn->in", entropy.initial_weight(point), e)).sum(axis=0), rounding
        ),
        "rate": _rate_defect(equation, entropy, u, v, rng),
    }
    if diffuses:
        defects["coupling"] = float(np.abs(hessian[np.ix_(chosen, others)]).max(initial=0.0))
        defects |= _diffusive_defects(entropy, u, v, chosen, rng)
    return defects


def _diffusive_defects(
    entropy: Entropy, u: Array, v: Array, chosen: NDArray[np.intp], rng: np.random.Generator
) -> dict[str, float]:
    """Constants of D²η on the diffusing components."""
    first, second = (np.moveaxis(entropy.hessian(states)[np.ix_(chosen, chosen)], -1, 0) for states in (u, v))
    smallest = np.linalg.eigvalsh(first)[:, 0]
    product = second @ np.linalg.solve(first, second)
    largest = np.linalg.eigvalsh(0.5 * (product + np.swapaxes(product, 1, 2)))[:, -1]
    one, zero = np.ones(u.shape[1]), np.zeros(u.shape[1])
    third: _Numbers = zero
    fourth: _Numbers = zero
    step, mask = 1e-3, np.reshape(np.asarray(entropy.curved, dtype=np.float64), (-1, 1))
    for _ in range(8):
        e, a = rng.normal(size=(2, *u.shape))
        a *= mask
        e, a = (w / np.maximum(np.sqrt((w**2).sum(axis=0)), 1e-300) for w in (e, a))
        above, centre, below = (
            (a * np.einsum("ijn,jn->in", entropy.hessian(v + s * step * e), a)).sum(axis=0)
            for s in (1.0, 0.0, -1.0)
        )
        slope, bend = (above - below) / (2.0 * step), (above - 2.0 * centre + below) / step**2
        third = np.maximum(third, np.abs(slope))
        fourth = np.maximum(fourth, np.abs(bend))
    return {
        "dissipation": _excess(entropy.dissipation * one, smallest, zero),
        "flux weight": _excess(largest, entropy.flux_weight * one, zero),
        "third": _excess(
            third, np.full_like(third, entropy.third), _CURVATURE_SLACK * entropy.third + 1e-4 * one
        ),
        "fourth": _excess(
            fourth, np.full_like(fourth, entropy.fourth), _CURVATURE_SLACK * entropy.fourth + 1e-3 * one
        ),
    }


def _rate_defect(equation: Equation, entropy: Entropy, u: Array, v: Array, rng: np.random.Generator) -> float:
    """Excess of −2 ∂_iû·D²η(û)f_i(u|û) + 2 Dη(u|û)·g over 2μ 2η(u|û) for random slopes and sources."""
    e, hessian = u - v, entropy.hessian(v)
    slopes = rng.normal(size=(equation.dim, *u.shape))
    source = rng.normal(size=u.shape)
    x = np.zeros((equation.dim, 1))
    gradient = entropy.gradient(u) - entropy.gradient(v) - np.einsum("ijn,jn->in", hessian, e)
    growth = 2.0 * (gradient * source).sum(axis=0)
    for i in range(equation.dim):
        flux = equation.flux(u, x, _TIME, i) - equation.flux(v, x, _TIME, i)
        flux = flux - equation.jacobian_product(v, e, x, _TIME, i)
        growth -= 2.0 * (slopes[i] * np.einsum("ijn,jn->in", hessian, flux)).sum(axis=0)
    values = [
        np.einsum("ci,icn->n", form.gradient, slopes) + np.tensordot(form.source, source, 1)
        for form in entropy.forms
    ]
    forms = np.stack(values) if values else np.zeros((0, u.shape[1]))
    rate = entropy.rate(CellStates(Interval(v, v), Interval(forms, forms)))
    scale = entropy.rounding * (1.0 + np.abs(forms).sum(axis=0)) * (1.0 + np.abs(entropy.value(u)))
    return _excess(growth, rate * entropy.relative(u, v), scale)


def _excess(least: _Numbers, largest: _Numbers, rounding: _Numbers) -> float:
    """By how much `least` ≤ `largest` fails, relative, beyond rounding."""
    scale = np.maximum(np.abs(largest), np.abs(least)) + 1e-300
    return max(0.0, float(((least - largest - rounding) / scale).max()))


def _difference_defect(
    function: Callable[[Array], Array], derivative: Callable[[Array], Array], u: Array, v: Array
) -> float:
    """max |D f(u)v − central difference|, relative to the largest entry."""
    above, below = function(u + _STEP * v), function(u - _STEP * v)
    difference = (above - below) / (2.0 * _STEP)
    product = (derivative(u) * (v if derivative(u).shape == v.shape else v[:, None])).sum(axis=0)
    scale = max(float(np.abs(product).max()), float(np.abs(difference).max()), 1e-300)
    return float(np.abs(product - difference).max()) / scale


def _asymmetry(equation: Equation, hessian: Array, u: Array, direction: int) -> float:
    """Largest entry of D²η Df_i minus its transpose, relative to its largest entry."""
    x, columns = np.zeros((equation.dim, 1)), []
    for unit in np.eye(equation.components):
        along = np.broadcast_to(unit[:, None], u.shape)
        columns.append(equation.jacobian_product(u, along, x, _TIME, direction))
    product = np.einsum("ijn,jkn->ikn", hessian, np.stack(columns, axis=1))
    scale = max(float(np.abs(product).max()), 1e-300)
    return float(np.abs(product - np.swapaxes(product, 0, 1)).max()) / scale
