"""How much small errors of a solution really grow: an estimate beside the guaranteed factor (T4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from stfem.checks import described, whole_number
from stfem.determinism import deterministic
from stfem.semidiscretization.linearised import linearised, mass_root, steady
from stfem.solution import Solution
from stfem.spaces.stencil import Array

__all__ = ["StabilityFactor", "stability_factor"]

#: One factorisation each.
_MOST_INTERVALS = 100_000

#: The two-stage diagonally implicit method of order 2 that damps stiff modes: γ = 1 − 1/√2.
_GAMMA = 1.0 - 0.5**0.5
#: Relative change of the norm at which iterations end, and the most of them.
_TOLERANCE, _ITERATIONS = 1e-4, 40
#: Seed of the vector that iterations start with.
_SEED = 0


@dataclass(frozen=True, eq=False, repr=False)
class StabilityFactor:
    """Amplification of small perturbations in L²; not guaranteed.

    Attributes
    ----------
    times
        Starts t of the intervals [t, T], increasing, T the last.
    factors
        max ‖v(T)‖/‖v(t)‖ over solutions v of the linearised scheme, 1 at T (dimensionless).
    perturbation
        v(t) of norm 1 that grows most from the first of the times, in the layout of ``Solution.values``.
    notes
        Sentences: what the numbers are, and which iterations did not settle.
    """

    times: Array
    factors: Array
    perturbation: Array
    notes: tuple[str, ...]

    guaranteed = False

    @property
    def factor(self) -> float:
        """The largest of the factors: what an error made at the worst time has become at T."""
        return float(self.factors.max())

    def __repr__(self) -> str:
        return f"StabilityFactor(factor={self.factor:.4g}, guaranteed={self.guaranteed})"

    def __str__(self) -> str:
        worst = float(self.times[int(self.factors.argmax())])
        pairs = zip(self.times, self.factors, strict=True)
        return "\n".join(
            [
                f"small errors grow by a factor of {self.factor:.4g} at most, from t = {worst:.4g} to T",
                "from t  " + "  ".join(f"{time:.3g}: {factor:.3g}" for time, factor in pairs),
                "not guaranteed: " + "; ".join(self.notes),
            ]
        )


@deterministic
def stability_factor(solution: Solution, starts: int = 8, intervals: int = 64) -> StabilityFactor:
    """Estimate by how much small errors of a solution grow until the final time.

        v' = J(t) v,   J = ∂(H + P)/∂U (t, U(t)),      factor(t) = max ‖v(T)‖ / ‖v(t)‖ = ‖Φ(T, t)‖

    in L², with J taken in the middle of each interval. The norm of the propagator Φ comes from Lanczos
    iterations, v forwards and the dual solution Φᵀv(T) backwards in time. ``Estimate.parts["growth"]`` is the
    guaranteed counterpart: what lies between the two is the price of Gronwall's inequality.

    Linearised, discrete and with a norm that approaches its maximum from below: not a bound. One sparse
    factorisation per interval is kept in memory, for one- and small two-dimensional grids. The scheme must
    not be used in another thread meanwhile.

    Parameters
    ----------
    solution
        From `solve` or `certify`; without a stored history its time stepping is repeated.
    starts
        Number of times t < T, spread evenly from 0.
    intervals
        Number of steps of the linearised problem, at least ``starts``.

    Returns
    -------
    StabilityFactor

    Raises
    ------
    TypeError, ValueError
        For anything that is not a solution, and numbers out of range.
    """
    if not isinstance(solution, Solution):
        raise TypeError(f"solution: expected a Solution, got a {type(solution).__name__}")
    starts, intervals = whole_number("starts", starts), whole_number("intervals", intervals)
    if intervals > _MOST_INTERVALS:
        raise ValueError(f"intervals: expected at most {_MOST_INTERVALS}, got {described(intervals)}")
    if starts < 1 or intervals < starts:
        raise ValueError(f"starts, intervals: expected 1 ≤ starts ≤ intervals, got {starts} and {intervals}")
    steps = list(_steps(solution, intervals))
    firsts = np.unique(np.arange(starts) * intervals // starts)
    factors, unsettled = [], 0
    noise = np.random.default_rng(_SEED).standard_normal(solution.values.size)
    noise /= np.linalg.norm(noise)
    direction = noise
    for first in firsts[::-1]:
        # noise beside the last direction: what grows most now may be orthogonal to it
        factor, direction, settled = _norm(steps[first:], direction + noise)
        factors.append(factor)
        unsettled += not settled
    notes: tuple[str, ...] = (
        "of the linearised scheme, by iteration, without bounds of what this leaves out",
    )
    if unsettled:
        notes += (f"{unsettled} of {len(firsts)} iterations did not settle and may be too small",)
    root = mass_root(solution.semidiscretization)
    return StabilityFactor(
        np.append(firsts / intervals, 1.0) * solution.problem.final_time,
        np.append(factors[::-1], 1.0),
        direction.reshape(root.shape) / root,
        notes,
    )


class _Step:
    """v ↦ R(ΔtJ) v with R(z) = (1 + (1 − 2γ)z)/(1 − γz)², and its transpose."""

    def __init__(self, matrix: sparse.csr_array, duration: float) -> None:
        identity = sparse.eye_array(matrix.shape[0], format="csc")
        self._factors = splu(sparse.csc_array(identity - _GAMMA * duration * matrix))
        self._explicit = sparse.csr_array(identity + (1.0 - 2.0 * _GAMMA) * duration * matrix)
        self._adjoint = sparse.csr_array(self._explicit.T)

    def forwards(self, v: Array) -> Array:
        return self._solve(self._explicit @ v, "N")

    def backwards(self, v: Array) -> Array:
        return np.asarray(self._adjoint @ self._solve(v, "T"))

    def _solve(self, v: Array, trans: str) -> Array:
        solve: Any = self._factors.solve
        return np.asarray(solve(solve(v, trans), trans))


def _steps(solution: Solution, intervals: int) -> Iterator[_Step]:
    """The steps of the linearised scheme, in their order; one for all where it does not change."""
    semi, duration = solution.semidiscretization, solution.problem.final_time / intervals
    if steady(semi):
        step = _Step(linearised(semi, 0.0, solution.initial), duration)
        yield from [step] * intervals
        return
    for t, u in _between(solution, ((k + 0.5) * duration for k in range(intervals))):
        yield _Step(linearised(semi, t, u), duration)


def _between(solution: Solution, times: Iterable[float]) -> Iterator[tuple[float, Array]]:
    """The solution at given times, linear between its nodes."""
    nodes = solution.nodes()
    before = after = next(nodes)
    for t in times:
        while after.time < t:
            before, after = after, next(nodes)
        s = (t - before.time) / (after.time - before.time) if after.time > before.time else 0.0
        yield t, (1.0 - s) * before.values + s * after.values
    for _ in nodes:  # to its end, where the run is compared with the values of the solution
        pass


def _norm(steps: Sequence[_Step], start: Array) -> tuple[float, Array, bool]:
    """‖Φ‖ of steps one after the other, the vector that grows most, and whether the iteration has settled.

    Lanczos iteration for ΦᵀΦ with all vectors kept orthogonal: on their span the norm is exact.
    """
    basis = start[:, None] / np.linalg.norm(start)
    images: list[Array] = []
    norm, grown = 0.0, basis[:, 0]
    for _ in range(min(_ITERATIONS, len(start))):
        images.append(_forwards(steps, basis[:, -1]))
        _, sizes, right = np.linalg.svd(np.stack(images, axis=1), full_matrices=False)
        before, norm, grown = norm, float(sizes[0]), basis @ right[0]
        if norm <= (1.0 + _TOLERANCE) * before:
            return norm, grown, True
        new = _backwards(steps, images[-1])
        for _ in range(2):
            new = new - basis @ (basis.T @ new)
        size = float(np.linalg.norm(new))
        if size <= 1e-12 * norm**2:
            return norm, grown, True
        basis = np.column_stack([basis, new / size])
    return norm, grown, False


def _forwards(steps: Sequence[_Step], v: Array) -> Array:
    for step in steps:
        v = step.forwards(v)
    return v


def _backwards(steps: Sequence[_Step], v: Array) -> Array:
    """The linearised dual problem, from the final time."""
    for step in reversed(steps):
        v = step.backwards(v)
    return v
