"""Boundary data at the quadrature points of facets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stfem.data import Data
from stfem.equations import Equation
from stfem.equations.normal import NormalEquation
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.problems.bounded import BoundaryPart, boundary_parts
from stfem.problems.conditions import Condition

__all__ = ["BoundaryFacets", "FixedInTime", "boundary_facets"]

#: Normal velocity, relative to the largest velocity, from which on a flow counts as entering.
_ENTERING = 1e-10
#: Step of differences in time, relative to the final time.
_STEP = 1e-5


class FixedInTime:
    """Values of data at fixed points, kept where they do not depend on time.

    Parameters
    ----------
    data, x
        What is evaluated, and where ``(d, Q, …)``.
    final_time
        Data are not asked for beyond it. 1e-5 of it, or of 1 where it is not given, is the step of
        differences where a rate of change is asked for that is not known exactly.
    """

    def __init__(self, data: Sequence[Data], x: Array, final_time: float | None = None) -> None:
        self.until(np.inf if final_time is None else final_time)
        self._data, self._x = data, x
        self.time_dependent = any(datum.time_dependent for datum in data)
        self.is_zero = all(datum.is_zero for datum in data)
        self._kept: Array | None = None

    def until(self, final_time: float) -> None:
        """Ask for no data beyond this time."""
        self._latest = final_time
        self._step = _STEP * (final_time if np.isfinite(final_time) else 1.0)

    def __call__(self, t: float, rate: bool = False) -> Array:
        """Values ``(m, Q, …)``, or their rates of change."""
        if rate:
            return np.stack([self._rate(datum, t) for datum in self._data])
        if self._kept is not None:
            return self._kept
        values = np.stack([datum(self._x, t) for datum in self._data])
        if not self.time_dependent:
            values.flags.writeable = False
            self._kept = values
        return values

    def _rate(self, datum: Data, t: float) -> Array:
        """∂_t of one datum: exact where it is known, else by differences ahead of t, at the end behind."""
        if not datum.time_dependent:
            return np.zeros(self._x.shape[1:])
        try:
            return datum.time_derivative()(self._x, t)
        except TypeError:
            h = self._step if t + 2.0 * self._step <= self._latest else -self._step  # second order
            now, soon, later = (datum(self._x, t + k * h) for k in range(3))
            return np.asarray((4.0 * soon - later - 3.0 * now) / (2.0 * h))


class BoundaryFacets:
    """The facets that share a condition, with g and α at the points of one quadrature.

    Attributes
    ----------
    name, condition, facets
        As in `BoundaryPart`.
    x
        Points ``(d, Q, F)``.
    normals, density
        Unit normals ``(d, P, F)`` and ds/d(parameter) ``(P, F)``.
    g, alpha
        Values ``(m, Q, F)`` and ``(1, Q, F)`` as functions of time.
    """

    def __init__(
        self,
        mesh: UnstructuredMesh,
        equation: Equation,
        name: str,
        condition: Condition,
        facets: Index,
        parameters: Array,
    ) -> None:
        self.name, self.condition, self.facets = name, condition, facets
        self.x = mesh.facet_points(parameters, facets)
        self.x.flags.writeable = False
        self.normals, self.density = mesh.facet_normals(parameters, facets)
        self.equation = NormalEquation(equation, self.normals)
        label = f"boundary {name!r}"
        self.g = FixedInTime(condition.data(equation.dim, equation.components, label), self.x)
        self.alpha = FixedInTime((condition.transfer(equation.dim, label),), self.x)

    def check_outflow(self, u: Array, t: float) -> None:
        """Raise ValueError where the flow of a scalar equation enters although it must not.

        Characteristics of systems cross a boundary in both directions; nothing is checked for them.
        """
        if not self.condition.outflow_only or len(u) > 1:
            return
        along = self.equation.jacobian_product(u, np.ones_like(u), self.x, t)[0]
        parts = [self.equation.equation.wave_speed(u, self.x, t, i) for i in range(len(self.x))]
        largest = float(np.max(parts, initial=0.0))
        entering = along < -_ENTERING * largest
        if np.any(entering):
            count = int(np.count_nonzero(entering.any(axis=0)))
            raise ValueError(
                f"boundary {self.name!r}: expected a flow that leaves (Outflow), got one that enters through "
                f"{count} of {len(self.facets)} facets at t = {t:g}, normal velocity {along.min():g}"
            )


def boundary_facets(
    mesh: UnstructuredMesh,
    boundary: Mapping[str, Condition] | Condition,
    equation: Equation,
    parameters: Array,
) -> tuple[BoundaryFacets, ...]:
    """All parts of the boundary, with their data at the points of one quadrature.

    Where there is one condition its sides are one part: many small ones would take longer.
    """
    if isinstance(boundary, Condition):
        parts: tuple[BoundaryPart, ...] = (BoundaryPart("boundary", boundary, mesh.facets.boundary),)
    else:
        parts = boundary_parts(mesh, boundary)
    return tuple(
        BoundaryFacets(mesh, equation, part.name, part.condition, part.facets, parameters) for part in parts
    )
