"""What a bound consists of, in shares and in words (T4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from stfem.spaces.stencil import Array

if TYPE_CHECKING:
    from stfem.estimators.estimate import Estimate

#: Parts, in the order of the rows of `contributions`, and how they are called.
NAMES = {
    "initial": "initial error of the reconstruction",
    "space": "residual in space (L² norm)",
    "time": "interpolation in time",
    "dual": "residual in space (dual norm)",
    "growth": "growth factor",
    "boundary": "oscillation of boundary data",
}
_CONSTANTS = "constants of the stability estimate"
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

    All of an infinite bound is growth.
    """
    history = estimate.history
    if not np.isfinite(estimate.bound_final if final else estimate.bound):
        return {name: float(name == "growth") for name in NAMES}
    if not {"alpha", "beta", "bound"} <= history.keys():
        total = {key: np.array([estimate.parts.get(key, 0.0)]) for key in ("hyperbolic", "parabolic")}
        history = {
            "alpha": total["hyperbolic"],
            "beta": total["parabolic"] ** 2,
            "bound": np.array([estimate.bound_final]),
            "temporal": np.array([estimate.parts.get("temporal", 0.0)]),
        }
    found = contributions(estimate.parts, history, float(estimate.facts.get("error_factor", 1.0)))
    column = -1 if final else int(found.sum(axis=0).argmax())
    # beyond the stability bounds there is what û misses of the data on the boundary
    beyond = max(0.0, estimate.bound_final - float(found[:, -1].sum()))
    sizes = np.append(found[:, column], beyond if beyond > 1e-12 * estimate.bound_final else 0.0)
    total_size = float(sizes.sum())
    if total_size == 0.0:
        return {}
    return dict(zip(NAMES, (float(size / total_size) for size in sizes), strict=True))


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
    return _CONSTANTS if amplified == 0.0 else f"{NAMES[name]} and {_CONSTANTS}"


def _advice(name: str, estimate: Estimate) -> str:
    """What makes the part smaller."""
    on_mesh = "way" in estimate.history
    if name == "growth":
        if estimate.parts.get("growth", 1.0) <= 1.0 and np.isfinite(estimate.bound):
            return "SplitEstimator has none"
        also = "" if estimate.bound_l1 is None else ", and bound_l1 has no such factor"
        return f"stability_factor(solution) estimates how much of it is real{also}"
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
