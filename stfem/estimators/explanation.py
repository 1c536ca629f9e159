"""What a bound consists of, in shares and in words (T4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from stfem.spaces.stencil import Array

if TYPE_CHECKING:
    from stfem.estimators.estimate import Estimate

#: Parts, the first of them in the order of the rows of `contributions`, and how they are called.
NAMES = {
    "initial": "initial error of the reconstruction",
    "space": "residual in space (L² norm)",
    "time": "interpolation in time",
    "dual": "residual in space (dual norm)",
    "growth": "growth factor",
    "boundary": "oscillation of boundary data",
    "algebraic": "algebraic error of the solver",
}
_CONSTANTS = "constants of the stability estimate"
#: Differences of this relative size are round-off.
_ROUNDING = 1e-12
#: Shares that a sentence mentions.
_LEAST = 0.005
#: A bound at T below this part of the largest one has a sentence of its own.
_DECAYED = 0.9


def contributions(parts: Mapping[str, float], history: Mapping[str, Array], factor: float) -> Array:
    """What the parts contribute to the bound at 0 and at the ends of slabs, ``(5, 1 + slabs)``.

    By (T4.2) a slab adds α, of which interpolation in time has its share, and √(z² + β) − z, z the bound at
    its start. What the bound at its end has beyond that is growth; where it has less, all parts decay alike.
    So the columns sum to the bound there. Nothing follows an infinite one.

    Parameters
    ----------
    parts, history
        Of an `Estimate`; the history with "alpha", "beta", "bound" and perhaps "temporal".
    factor
        What takes z_0, α and √β to the norm of the bound.
    """
    alpha, beta = factor * np.asarray(history["alpha"]), factor**2 * np.asarray(history["beta"])
    temporal = np.clip(np.nan_to_num(history.get("temporal", np.zeros_like(alpha)), nan=0.0), 0.0, 1.0)
    current = np.array([factor * parts.get("initial", 0.0), 0.0, 0.0, 0.0, 0.0])
    rows = [current]
    for a, b, share, bound in zip(alpha, beta, temporal, history["bound"], strict=True):
        if not np.isfinite(bound):
            break
        start = current.sum()
        current = current + np.array(
            [0.0, (1.0 - share) * a, share * a, np.hypot(start, b**0.5) - start, 0.0]
        )
        end = current.sum()
        if bound >= end:
            current = current + np.array([0.0, 0.0, 0.0, 0.0, bound - end])
        else:
            current = current * (bound / end)
        rows.append(current)
    return np.array(rows).T


def shares(estimate: Estimate, final: bool = False) -> dict[str, float]:
    """Shares of `NAMES` in the largest bound over time, or in that at T; they sum to 1, or are empty for 0.

    All of an infinite bound is what is infinite, growth first.
    """
    if not np.isfinite(estimate.bound_final if final else estimate.bound):
        whole = _infinite(estimate.parts)
        return {name: float(name == whole) for name in NAMES}
    sizes = _in_time(estimate, final) if len(estimate.history) else _without_time(estimate)
    total = sum(sizes.values())
    return {name: sizes.get(name, 0.0) / total for name in NAMES} if total > 0.0 else {}


def _infinite(parts: Mapping[str, float]) -> str:
    """The part that makes a bound infinite."""
    named = {"growth": "growth", "initial": "initial", "hyperbolic": "space", "parabolic": "dual"}
    return next((name for part, name in named.items() if not np.isfinite(parts.get(part, 0.0))), "growth")


def _in_time(estimate: Estimate, final: bool) -> dict[str, float]:
    """What the parts contribute to the largest bound over time, or at T."""
    factor = float(estimate.facts.get("error_factor", 1.0))
    found = contributions(estimate.parts, estimate.history, factor)
    sizes = found[:, -1 if final else int(found.sum(axis=0).argmax())]
    # beyond the stability bounds there is what û misses of the data on the boundary
    beyond = estimate.bound_final - float(found[:, -1].sum())
    boundary = beyond if beyond > _ROUNDING * estimate.bound_final else 0.0
    return dict(zip(NAMES, (*map(float, sizes), boundary), strict=False))


def _without_time(estimate: Estimate) -> dict[str, float]:
    """The same of a stationary bound: factor · (a + √(a² + κp²/θ))/(2κ), and of data on the boundary (T5.3).

    What is not a/κ is of the dual norm, where that is there; the solver has the share ‖H(U) + P(U)‖ of a.
    """
    parts = estimate.parts
    unamplified = estimate.bound / max(1.0, parts.get("growth", 1.0))
    a = parts.get("hyperbolic", 0.0)
    space = min(a / float(estimate.facts.get("kappa", 1.0)), unamplified)
    solver = min(1.0, parts.get("algebraic", 0.0) / a) if a > 0.0 else 0.0
    rest = "dual" if parts.get("parabolic", 0.0) > 0.0 else "boundary"
    return {
        "space": (1.0 - solver) * space,
        "algebraic": solver * space,
        rest: unamplified - space,
        "growth": estimate.bound - unamplified,
    }


def explained(estimate: Estimate) -> str:
    """What dominates the bound, and what to do about it."""
    whole = shares(estimate)
    if not whole:
        return "nothing contributes: the bound is 0"
    sentence = f"{_listed(whole, estimate)}; {_advice(_largest(whole), estimate)}"
    if estimate.bound_final >= _DECAYED * estimate.bound or not np.isfinite(estimate.bound):
        return sentence
    end = shares(estimate, final=True)
    if not end:
        return sentence
    sentence = f"{sentence}. At T {_listed(end, estimate)}"
    same = _largest(end) == _largest(whole)
    return sentence if same else f"{sentence}; {_advice(_largest(end), estimate)}"


def _largest(parts: Mapping[str, float]) -> str:
    return max(parts, key=lambda name: parts[name])


def _listed(parts: Mapping[str, float], estimate: Estimate) -> str:
    named = sorted(((size, name) for name, size in parts.items() if size >= _LEAST), reverse=True)
    return ", ".join(f"{100.0 * size:.0f} % {_named(name, size, estimate)}" for size, name in named)


def _named(name: str, size: float, estimate: Estimate) -> str:
    """The name of a part; comparators have constants, beyond what a factor can have amplified."""
    if name != "growth" or not np.isfinite(estimate.bound):
        return NAMES[name]
    amplified = 1.0 - 1.0 / max(estimate.parts.get("growth", 1.0), 1.0)
    if size <= amplified + _LEAST:
        return NAMES[name]
    if estimate.facts.get("switches", 0):
        return (
            "changes of the reconstruction"
            if amplified == 0.0
            else f"{NAMES[name]} and changes of the reconstruction"
        )
    return _CONSTANTS if amplified == 0.0 else f"{NAMES[name]} and {_CONSTANTS}"


def _advice(name: str, estimate: Estimate) -> str:
    """What makes the part smaller."""
    on_mesh = "way" in estimate.history or "kappa" in estimate.facts
    if name == "growth":
        if estimate.parts.get("growth", 1.0) <= 1.0 and np.isfinite(estimate.bound):
            return "one reconstruction, or SplitEstimator, has none"
        also = "" if estimate.bound_l1 is None else ", and bound_l1 has no such factor"
        if not len(estimate.history):
            return "the flow takes long to cross the domain: refine or raise the degree"
        return f"stability_factor(solution) estimates how much of it is real{also}"
    if name == "algebraic":
        return "solve more exactly (solver)"
    if name == "time":
        facts = estimate.facts
        every_step = facts.get("slabs") == facts.get("steps")
        return "take smaller steps (dt)" if every_step else "take a smaller spacing of nodes, or dt"
    if name == "boundary":
        return "refine at the boundary or raise the degree"
    if on_mesh and name != "initial":
        return (
            "refine, raise the degree, try other reconstructions, or name unresolved outflow layers (lifted)"
        )
    return "refine or raise the degree"
