"""What the bound of a nonlinear scalar law needs besides its residual, on meshes (T4, T5).

With e = u − û the convective term tested with e leaves

    ½∫ (average of f'' between û and u)·∇û e²   and on the boundary   ∫ ∫_0^e s n·f'(û + s) ds :

the first is the growth, the second must not be negative where u is not given. It vanishes where e does; and
without diffusion, where û = g, it is ∫_0^e n·(f(u) − f(g + s)) ds ≥ 0 by the boundary condition of Bardos, le
Roux and Nédélec, whether the flow enters or not.
"""

from __future__ import annotations

import numpy as np

from stfem.equations import ScalarConservationLaw
from stfem.meshes.quadrature import Array
from stfem.problems import Problem
from stfem.problems.states import StateRange, state_range
from stfem.reconstruction.unstructured import MeshReconstruction, MeshSlab
from stfem.reconstruction.unstructured.given import boundary_values, parts_of
from stfem.reconstruction.unstructured.oscillation import FrozenFlux
from stfem.residual.sampling import check_autonomous
from stfem.residual.slopes import FieldRange
from stfem.resumable import Resumable

__all__ = ["MeshGrowth"]

#: Normal speed, relative to the largest one, down to which a flow counts as leaving;
_TOLERANCE = 1e-9
#: and from which on it certainly enters (ranges are known up to a percent).
_CLEARLY = 0.02


class MeshGrowth(Resumable):
    """2μ of slabs of a scalar conservation law, and the check of the flow where u is not given.

    Parameters
    ----------
    problem
        With a `ScalarConservationLaw`.
    reconstruction
        Gives the space of û.

    Raises
    ------
    ValueError
        For other equations.
    """

    PAST = ("_unproved",)

    def __init__(self, problem: Problem, reconstruction: MeshReconstruction) -> None:
        equation = problem.equation
        if not isinstance(equation, ScalarConservationLaw):
            raise ValueError(f"equation: expected a linear one or a ScalarConservationLaw, got {equation!r}")
        check_autonomous(equation)
        self._equation, target = equation, reconstruction.target
        mesh = self._mesh = target.mesh
        self._field = FieldRange(target)
        given = boundary_values(problem, mesh).facets
        free = [(part, np.setdiff1d(part.facets, given)) for part in parts_of(problem, mesh)]
        self._free = [(part, facets) for part, facets in free if len(facets)]
        self._needs_range = equation.stability.needs_range
        asks = self._needs_range or bool(self._free)
        self._known: StateRange | None = state_range(problem, mesh) if asks else None
        self._parameters = mesh.reference.on_facet.quadrature(2 * target.degree)[0]
        self._unproved: dict[str, None] = {}
        for sentence in (equation.unproved, *(self._known.unproved if self._known else ())):
            if sentence is not None:
                self._unproved.setdefault(sentence)

    @property
    def unproved(self) -> tuple[str, ...]:
        """Sentences about what is not proved, as far as seen."""
        return tuple(self._unproved)

    def rate(self, slab: MeshSlab, missed: tuple[float, Array] | None = None) -> float:
        """2μ ≥ sup_x max_ξ −Σ_i f_i''(ξ) ∂_iû on a slab, after a look at the outlets.

        Parameters
        ----------
        slab
            Slab.
        missed
            sup|z| and sup|∂_iz| of what is added to û at the boundary.

        Raises
        ------
        ValueError
            For a flow that enters where u is not given.
        """
        size, slopes = missed if missed is not None else (0.0, np.zeros(self._mesh.dim))
        modes = slab.state[:, 0]
        self._look_at_outlets(slab, size)
        lower, upper = 0.0, 0.0
        if self._needs_range:
            lower, upper = self._hull(self._field.state(modes), size, slab.time.stop)
        best = -np.inf
        for corner in self._equation.second_derivatives(lower, upper):
            along = self._field.slope(modes, -corner)[1] if np.any(corner) else 0.0
            best = max(best, along + float(np.abs(corner) @ slopes))
        return best

    def frozen(self, slab: MeshSlab, missed: tuple[float, Array]) -> FrozenFlux:
        """Bounds of |f_i'| and of Σ_i |f_i''||∂_iû| for states between û and û + z."""
        modes, units = slab.state[:, 0], np.eye(self._mesh.dim)
        low, high = self._field.state(modes)
        states = low - missed[0], high + missed[0]
        speeds = np.abs(self._equation.normal_speeds(*states, units)).max(axis=0)
        curved = np.abs(self._equation.second_derivatives(*states)).max(axis=0)
        steepest = [np.abs(self._field.slope(modes, unit)).max() for unit in units]
        return FrozenFlux(speeds, float(curved @ steepest))

    def _hull(self, states: tuple[float, float], size: float, t: float) -> tuple[float, float]:
        """Of û + z, and of u."""
        low, high = states[0] - size, states[1] + size
        if self._known is None:
            return low, high
        least, largest = self._known.until(t)
        return min(low, least), max(high, largest)

    def _look_at_outlets(self, slab: MeshSlab, size: float) -> None:
        """n·f'(ξ) ≥ 0 for all states ξ of û next to an outlet, and of u."""
        for part, facets in self._free:
            states = self._field.state(slab.state[:, 0], self._mesh.facets.cells[0, facets])
            normals = self._mesh.facet_normals(self._parameters, facets)[0]
            own = self._least(states[0] - size, states[1] + size, normals)
            if own < -_CLEARLY:
                raise ValueError(
                    f"boundary {part.name!r}: expected a flow that leaves where u is not given, got n·f' "
                    f"down to {own:.2g} of the largest for the reconstruction, {states[0]:g} to {states[1]:g}"
                )
            if self._least(*self._hull(states, size, slab.time.stop), normals) < -_TOLERANCE:
                self._unproved.setdefault(
                    f"boundary {part.name!r}: the flow is assumed to leave, n·f' ≥ 0, for all states that u "
                    "and the reconstruction take there; the data alone do not exclude others"
                )

    def _least(self, lower: float, upper: float, normals: Array) -> float:
        """Smallest n·f' relative to the largest."""
        low, high = self._equation.normal_speeds(lower, upper, normals)
        largest = max(float(np.abs(low).max()), float(np.abs(high).max()))
        return float(low.min()) / largest if largest > 0.0 else 0.0
