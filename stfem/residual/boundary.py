"""What a bound needs at the boundary (T5): conditions that allow it, and data that are met."""

from __future__ import annotations

import numpy as np

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.problems import Condition, Dirichlet, Outflow, Problem
from stfem.problems.bounded import BoundaryPart
from stfem.reconstruction.unstructured import BoundaryOscillation, MeshReconstruction, MeshSlab, OutflowLift
from stfem.reconstruction.unstructured.given import boundary_values, parts_of
from stfem.residual.leaving import smallest_normal_velocity
from stfem.semidiscretization.unstructured.diffusion import cell_diffusion

__all__ = ["BoundaryCheck"]

#: Size of what counts as round-off, relative to the data or the flux.
_TOLERANCE = 1e-9
#: Times of a slab that are looked at.
_TIMES = (0.0, 0.37, 1.0)


class BoundaryCheck:
    """Whether the weak residual has no terms on the boundary, and the error no growth from there.

    The error must vanish where u is given: û = g there, for D = 0 only where the flow enters; what û misses
    is lifted into the domain, see `BoundaryOscillation`. Elsewhere ½∫ b·n e² must not be negative and the
    normal flux d̃·n must be the given one: `Outflow`, or `Neumann` with g = 0 where b·n ≥ 0. Then h̃·n would
    have to be f(û)·n, so that h̃ = f(û) is the only choice.

    Parameters
    ----------
    problem
        Scalar.
    reconstruction
        Gives the mesh and the spaces.
    lift
        Layers that take û to the data at some boundaries.

    Raises
    ------
    ValueError
        For other conditions, naming the boundary, and for a flow that enters where u is not given.
    """

    def __init__(
        self, problem: Problem, reconstruction: MeshReconstruction, lift: OutflowLift | None = None
    ) -> None:
        self.problem, self.reconstruction = problem, reconstruction
        mesh = reconstruction.target.mesh
        parts = parts_of(problem, mesh)
        self._parameters = mesh.reference.on_facet.quadrature(2 * reconstruction.target.degree + 2)[0]
        self._lift, lifted = lift, () if lift is None else lift.names
        self._given = [part for part in parts if part.condition.trace and part.name not in lifted]
        self._sampled: list[str] = []  # boundaries where the sign of b·n was seen, not proved
        self._diffuses = bool(np.any(cell_diffusion(problem.equation, mesh)))
        self._free = [part for part in parts if not part.condition.trace]
        for part in self._free:
            self._check_free(part)
        self.oscillation: BoundaryOscillation | None = None
        if mesh.dim <= 2 and lift is None and self._given:
            values = boundary_values(problem, mesh)
            self.oscillation = BoundaryOscillation(
                problem.equation, reconstruction.target, values, cell_diffusion(problem.equation, mesh)
            )
        self._kept = boundary_values(problem, mesh).facets
        self._data = {id(part): part.condition.data(mesh.dim, 1, part.name)[0] for part in self._given}
        #: Largest |û − g| seen so far.
        self.gap = 0.0

    @property
    def all_given(self) -> bool:
        """Whether u is given on the whole boundary."""
        return not self._free

    @property
    def data_constant(self) -> bool:
        """Whether the given values are."""
        return all(data.constant for data in self._data.values())

    def _check_free(self, part: BoundaryPart) -> None:
        condition, dim = part.condition, self.problem.equation.dim
        zero = not condition.total and condition.transfer(dim, part.name).is_zero
        if not zero or not all(g.is_zero for g in condition.data(dim, 1, part.name)):
            kinds = " and ".join(kind.__name__ for kind in (Dirichlet, Outflow))
            raise ValueError(
                f"boundary {part.name!r}: expected {kinds}, or Neumann(0), for a bound that does not depend "
                f"on 1/ε, got {_name(condition)}"
            )
        if not self.problem.equation.linear:  # then all states of the flow matter, see `MeshGrowth`
            return
        for s in _TIMES:
            entering = self._normal_velocity(part.facets, s * self.problem.final_time)
            if np.any(entering < -_TOLERANCE):
                raise ValueError(
                    f"boundary {part.name!r}: expected a flow that leaves where u is not given, "
                    f"got b·n = {entering.min():g}"
                )
        velocity, duration = self.problem.equation.velocity, self.problem.final_time
        proved = smallest_normal_velocity(self.reconstruction.target.mesh, part.facets, velocity, duration)
        if proved < -_TOLERANCE:
            self._sampled.append(part.name)

    def _normal_velocity(self, facets: Index, t: float) -> Array:
        mesh = self.reconstruction.target.mesh
        x, (normals, _) = (
            mesh.facet_points(self._parameters, facets),
            mesh.facet_normals(self._parameters, facets),
        )
        velocity = np.stack([b(x, t) for b in self.problem.equation.velocity])
        return np.asarray((velocity * normals).sum(axis=0))

    def look(self, slab: MeshSlab) -> None:
        """Compare û with the data, and the normal fluxes with zero.

        Raises
        ------
        ValueError
            For a flux d̃ that does not vanish where it has to.
        """
        for s in _TIMES:
            t = slab.time.start + s * slab.time.duration
            if self._lift is not None:
                self.gap = max(self.gap, self._lift.gap(slab.at(s, slab.state)))
            for part in self._given if self.oscillation is None else ():
                self.gap = max(self.gap, self._gap(slab, s, t, part))
            for part in self._free:
                self._check_fluxes(slab, s, part)

    def _gap(self, slab: MeshSlab, s: float, t: float, part: BoundaryPart) -> float:
        target = self.reconstruction.target
        trace = target.traces(slab.at(s, slab.state), 0, self._parameters, part.facets)[0]
        data = self._data[id(part)](target.mesh.facet_points(self._parameters, part.facets), t)
        difference = np.abs(trace - data)
        if not self._diffuses:
            linear = self.problem.equation.linear
            enters = (
                self._normal_velocity(part.facets, t) < 0.0 if linear else np.isin(part.facets, self._kept)
            )
            difference = difference * enters
        scale = 1.0 + float(np.abs(data).max(initial=0.0))
        return float(difference.max(initial=0.0)) / scale

    def _check_fluxes(self, slab: MeshSlab, s: float, part: BoundaryPart) -> None:
        for space, modes in zip(self.reconstruction.diffusive_spaces, slab.diffusive, strict=True):
            local = slab.at(s, modes)
            flux = space.traces(local, 0, self._parameters, part.facets)
            normals, density = space.mesh.facet_normals(self._parameters, part.facets)
            normal = np.abs(np.einsum("iqf,imqf->mqf", normals, flux) * density).max(initial=0.0)
            # the coefficients are such normal components
            if normal > _TOLERANCE * np.abs(local).max(initial=0.0):
                raise ValueError(
                    f"boundary {part.name!r}: expected fluxes with normal component 0, got up to {normal:g}"
                )

    @property
    def unproved(self) -> tuple[str, ...]:
        """Sentences on data that are not met, as far as seen."""
        sentences = [
            f"the flow leaves through boundary {name!r}, as it was sampled" for name in self._sampled
        ]
        if self.oscillation is not None:
            sentences.extend(self.oscillation.unproved)
        elif not self.data_constant:
            sentences.append("boundary data interpolated at the nodes of the reconstruction")
        if self.gap > _TOLERANCE:
            sentences.append(f"the reconstruction misses the boundary data by up to {self.gap:.1e}")
        return tuple(sentences)


def _name(condition: Condition) -> str:
    return type(condition).__name__
