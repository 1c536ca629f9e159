"""Distances on unstructured meshes by quadrature: true errors, initial errors, û − u_h."""

from __future__ import annotations

import numpy as np

from stfem.data import Data
from stfem.meshes.quadrature import Array
from stfem.problems import Problem, StationaryProblem
from stfem.reconstruction.unstructured import MeshSlab
from stfem.resumable import Resumable
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.legendre import gauss

__all__ = ["MeshErrors"]

#: Points in time per slab at which true errors are looked at, and order of the quadrature beyond that of û.
_POINTS, _ORDER = 5, 12


class MeshErrors(Resumable):
    """Errors u − û, collected slab by slab.

    Parameters
    ----------
    problem
        With or without an exact solution.
    target
        Space of û.
    diffusion
        D ``(d, d, C)`` or ``(d, d, 1)``.

    Attributes
    ----------
    supremum_sq, dissipated
        sup ‖u − û‖² and ∫‖D^{1/2}∇(u − û)‖² so far.
    """

    PAST = ("supremum_sq", "dissipated")

    def __init__(self, problem: Problem | StationaryProblem, target: BrokenSpace, diffusion: Array) -> None:
        self._problem, self._target, self._diffusion = problem, target, diffusion
        self.order = 2 * target.degree + _ORDER
        self._points, weights = target.mesh.reference.quadrature(self.order)
        self._x = target.mesh.points(self._points)
        self._weights = weights[:, None] * target.mesh.cell_map(self._points).determinant
        self.supremum_sq = self.dissipated = 0.0

    def go_on_from(self, other: MeshErrors) -> None:
        """Take over the sums of another sequence of û up to now."""
        self.supremum_sq, self.dissipated = other.supremum_sq, other.dissipated

    @property
    def count(self) -> int:
        """Points per cell."""
        return int(self._points.shape[1])

    def look(self, slab: MeshSlab) -> None:
        """Take the errors on a slab into account."""
        points, weights = gauss(_POINTS)
        for s, weight in zip([0.0, *points, 1.0], [0.0, *weights, 0.0], strict=True):
            state, t = slab.at(float(s), slab.state), slab.time.start + float(s) * slab.time.duration
            self.supremum_sq = max(self.supremum_sq, float(self.local_sq(state, self._exact(t)).sum()))
            if weight > 0.0 and self._problem.exact_gradient is not None:
                self.dissipated += weight * slab.time.duration * self.dissipation(state, t)

    def dissipation(self, state: Array, t: float) -> float:
        """‖D^{1/2}∇(u − û)‖² at one time."""
        if self._problem.exact_gradient is None:
            raise ValueError("exact_gradient: expected that of the exact solution, got None")
        slopes = self._problem.exact_gradient(self._x, t) - self._target.gradients(state, self._points)
        square = np.einsum("imqc,ijc,jmqc->qc", slopes, self._diffusion, slopes)
        return float((self._weights * square).sum())

    def mean(self, state: Array) -> float:
        """Mean of û over Ω."""
        values = self._target.values(state, self._points)[0]
        return float((self._weights * values).sum()) / float(self._target.mesh.cell_measures.sum())

    def initial_sq(self, state: Array, initial: Data) -> Array:
        """‖u_0 − û‖² on every cell."""
        return self.local_sq(state, initial(self._x, 0.0)[None])

    def local_sq(self, state: Array, values: Array) -> Array:
        """∫_K (f − û)² for values of f at the points, ``(C,)``."""
        difference = values - self._target.values(state, self._points)
        return np.asarray((self._weights * difference**2).sum(axis=(0, 1)))

    def at(self, state: Array, t: float) -> tuple[float, float]:
        """‖u − û‖ in L² and in L¹ at one time."""
        difference = self._exact(t) - self._target.values(state, self._points)
        square, absolute = (
            float((self._weights * values).sum()) for values in (difference**2, np.abs(difference))
        )
        return float(np.sqrt(square)), absolute

    def gap(self, state: Array, space: BrokenSpace, u: Array) -> float:
        """‖û − u_h‖ (T4.5)."""
        return float(np.sqrt(self.local_sq(state, space.values(u, self._points)).sum()))

    def of_solution(self, space: BrokenSpace, u: Array, t: float) -> float:
        """‖u − u_h‖ at one time."""
        difference = self._exact(t) - space.values(u, self._points)
        return float(np.sqrt((self._weights * difference**2).sum()))

    def _exact(self, t: float) -> Array:
        if self._problem.exact is None:
            raise ValueError("exact: expected an exact solution, got None")
        return self._problem.exact(self._x, t)
