"""Conditions that give a flux: the normal diffusive flux that û ought to have there (T5.11)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stfem.data import Constant, Data
from stfem.equations import Equation
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.problems import Problem
from stfem.problems.bounded import BoundaryPart
from stfem.reconstruction.unstructured.facet_lift import lift_constants
from stfem.reconstruction.unstructured.given import parts_of
from stfem.semidiscretization.unstructured.boundary import FixedInTime
from stfem.semidiscretization.unstructured.diffusion import cell_diffusion
from stfem.spaces.broken import BrokenSpace

__all__ = ["NaturalConditions", "NaturalFluxes", "NaturalPart", "transport_velocity"]

#: Normal velocity, relative to the largest, that is round-off.
_ROUND_OFF = 1e-14
#: Order of the quadrature at whose points weights are looked at, and number of times.
_WEIGHT_ORDER, _TIMES = 10, 33


def transport_velocity(equation: Equation) -> Sequence[Data]:
    """b of f = bu; 0 for other fluxes, whose part at the boundary is looked at elsewhere."""
    return equation.velocity if equation.linear else (Constant(0.0, equation.dim),) * equation.dim


class NaturalPart:
    """A boundary whose condition gives a flux, at the points of one quadrature on facets.

    In terms of û the condition asks for the normal diffusive flux

        q(û) = g                `Neumann`, `Outflow` with g = 0,
        q(û) = g − αû           `Robin`,
        q(û) = b·n û − g        `TotalFlux`,

    and the errors at the boundary have the weight σ = ½b·n, α + ½b·n, −½b·n (T5.12). Without diffusion
    `Neumann` and `Robin` have nothing to say: q = 0 and σ = ½b·n.

    Parameters
    ----------
    equation
        Scalar. Where f is not linear, the flux of convection is left out of σ: it must leave.
    mesh, part
        The mesh, and facets with their condition.
    parameters
        Points ``(d − 1, Q)`` on the reference facet.
    diffuses
        Whether D ≠ 0.
    final_time
        Data are not asked for beyond it.
    """

    def __init__(
        self,
        equation: Equation,
        mesh: UnstructuredMesh,
        part: BoundaryPart,
        parameters: Array,
        diffuses: bool,
        final_time: float,
    ) -> None:
        self.name, self.condition, self.facets = part.name, part.condition, part.facets
        self.x = mesh.facet_points(parameters, part.facets)
        self.x.flags.writeable = False
        self.normals, self.density = mesh.facet_normals(parameters, part.facets)
        self._velocity = FixedInTime(transport_velocity(equation), self.x)
        self.data = part.condition.data(equation.dim, 1, part.name)[0]
        self.transfer = part.condition.transfer(equation.dim, part.name)
        self._g = FixedInTime((self.data,), self.x, final_time)
        self._alpha = FixedInTime((self.transfer,), self.x)
        self._diffuses = diffuses
        self._silent = not diffuses and not part.condition.total
        self.time_dependent = self._velocity.time_dependent or self._alpha.time_dependent

    def along(self, t: float) -> Array:
        """b·n ``(Q, F)``, 0 where that is round-off."""
        velocity = self._velocity(t)
        along = (velocity * self.normals).sum(axis=0)
        return np.where(np.abs(along) <= _ROUND_OFF * np.abs(velocity).max(initial=0.0), 0.0, along)

    def flux(self, t: float, trace: Array, rate: bool = False) -> Array:
        """q(û) ``(m, Q, F)`` for the trace of û, or for that of ∂_tû with the rates of the data."""
        if self._silent:
            return np.zeros_like(trace)
        given = self._g(t, rate)
        if self.condition.total:
            along = self.along(t)
            flux = np.asarray(along * trace - given)
            # without diffusion nothing passes where the flow does not, whatever is said
            return flux if self._diffuses else np.where(along == 0.0, 0.0, flux)
        return np.asarray(given - self._alpha(t) * trace)

    def weight(self, t: float) -> Array:
        """Weight σ of e² on the boundary, ``(Q, F)``."""
        half = 0.5 * self.along(t)
        if self.condition.total:
            return -half
        return half if self._silent else np.asarray(self._alpha(t)[0] + half)

    def weight_l1(self, t: float) -> Array:
        """Weight of |e| on the boundary (T5.15), ``(Q, F)``: b·n, b·n + α, 0."""
        if self.condition.total:
            return np.zeros_like(self.along(t))
        return self.along(t) if self._silent else np.asarray(self._alpha(t)[0] + self.along(t))

    def transfer_at(self, t: float) -> Array:
        """Coefficient −∂q/∂û, ``(Q, F)``: 0, α, −b·n."""
        if self.condition.total:
            return -self.along(t)
        return np.zeros(self.x.shape[1:]) if self._silent else self._alpha(t)[0]


class NaturalConditions:
    """All parts of the boundary where a flux is given, and who pays for what û misses of it.

    On a facet F where the weight σ of errors is positive the boundary term absorbs a residual r at the price
    ∫_F r²/(2σ). To lift it into the cell costs about (T c_1 + c_2/(2λ_min(D))) ∫_F r², see `lift_constants`,
    and the cheaper way is taken. A flux with the normal component q(û) instead of D∇û·n has no such r, and an
    own defect that costs about c_2/(2λ_min(D)): it is left as it is where σ c_2 > λ_min(D).

    Parameters
    ----------
    problem, mesh
        A scalar problem and the mesh of its domain.
    """

    def __init__(self, problem: Problem, mesh: UnstructuredMesh) -> None:
        self._problem, self._mesh, self._equation = problem, mesh, problem.equation
        self._parts = [part for part in parts_of(problem, mesh) if not part.condition.trace]
        self._smallest = np.linalg.eigvalsh(np.moveaxis(cell_diffusion(self._equation, mesh), -1, 0))[:, 0]
        self._diffuses = bool(np.any(cell_diffusion(self._equation, mesh)))
        # corners of the facets too: there data that are affine have their extremes
        points = mesh.reference.on_facet.quadrature(_WEIGHT_ORDER)[0]
        self._looked_at = np.concatenate([points, mesh.reference.on_facet.vertices], axis=1)
        #: Smallest weight σ on the facets of every part.
        self.weights = [self.least(part, NaturalPart.weight) for part in self.at(self._looked_at).parts]
        #: Which facets of every part absorb residuals.
        self.absorbing: list[NDArray[np.bool_]] = []
        met = [np.zeros(0, dtype=np.intp)]
        for part, weight in zip(self._parts, self.weights, strict=True):
            divergence, size = lift_constants(mesh, part.facets)
            smallest = np.broadcast_to(self._smallest, mesh.size)[mesh.facets.cells[0, part.facets]]
            # both costs times 2λ_min(D): nothing is divided by it
            relative = np.maximum(weight, 0.0) * size
            total = np.maximum(weight, 0.0) * problem.final_time * divergence * 2.0 * smallest + relative
            self.absorbing.append(
                total > smallest if self._diffuses else np.ones(len(weight), dtype=np.bool_)
            )
            met.append(part.facets[relative <= smallest])
        #: Facets where fluxes d̃ have the normal component q(û).
        self.met: Index = np.concatenate(met) if self._diffuses else met[0]

    def __len__(self) -> int:
        """Number of parts."""
        return len(self._parts)

    @property
    def facets(self) -> Index:
        """All facets where a flux is given."""
        return np.concatenate([np.zeros(0, dtype=np.intp), *(part.facets for part in self._parts)])

    def at(self, parameters: Array) -> NaturalFluxes:
        """The conditions at points ``(d − 1, Q)`` of the facets."""
        arguments = (parameters, self._diffuses, self._problem.final_time)
        return NaturalFluxes(
            parameters, [NaturalPart(self._equation, self._mesh, part, *arguments) for part in self._parts]
        )

    def extremes(self, weight: Callable[[NaturalPart, float], Array]) -> list[Array]:
        """Smallest values on the facets of every part, of a method of `NaturalPart`."""
        return [self.least(part, weight) for part in self.at(self._looked_at).parts]

    def least(self, part: NaturalPart, weight: Callable[[NaturalPart, float], Array]) -> Array:
        """Smallest value on every facet ``(F,)``, at all times that are looked at."""
        times = np.linspace(0.0, self._problem.final_time, _TIMES if part.time_dependent else 1)
        rows = [np.broadcast_to(weight(part, float(t)), part.x.shape[1:]).min(axis=0) for t in times]
        return np.asarray(np.min(rows, axis=0))


@dataclass(frozen=True, eq=False)
class NaturalFluxes:
    """Conditions at points of facets.

    Attributes
    ----------
    parameters
        The points.
    parts
        The boundaries.
    """

    parameters: Array
    parts: Sequence[NaturalPart]

    def of(
        self, space: BrokenSpace, field: Array, t: float, rate: bool = False
    ) -> Iterator[tuple[NaturalPart, Array, Array]]:
        """Boundary, trace of û, and q(û) times ds/d(parameter), ``(m, Q, F)`` each."""
        for part in self.parts:
            trace = space.traces(field, 0, self.parameters, part.facets)
            yield part, trace, part.flux(t, trace, rate) * part.density

    def given(self, space: BrokenSpace, field: Array, t: float, rate: bool = False) -> Array:
        """Values q(û) ds/d(parameter) on all facets ``(m, Q, F)``, NaN where no flux is given."""
        result = np.full((len(field), self.parameters.shape[1], space.mesh.facets.count), np.nan)
        for part, _, flux in self.of(space, field, t, rate):
            result[:, :, part.facets] = flux
        return result
