"""What a bound needs at the boundary (T5): conditions that allow it, and data that are met."""

from __future__ import annotations

import numpy as np

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.problems import Problem
from stfem.problems.bounded import BoundaryPart
from stfem.reconstruction.unstructured import BoundaryOscillation, MeshReconstruction, MeshSlab, OutflowLift
from stfem.reconstruction.unstructured.given import boundary_values, parts_of
from stfem.residual.natural import NaturalResidual
from stfem.resumable import Resumable
from stfem.semidiscretization.unstructured.diffusion import cell_diffusion

__all__ = ["BoundaryCheck"]

#: Size of what counts as round-off, relative to the data or the flux.
_TOLERANCE = 1e-9
#: Times of a slab that are looked at.
_TIMES = (0.0, 0.37, 1.0)


class BoundaryCheck(Resumable):
    """Whether û carries the given values, and what the rest of the boundary does to errors.

    The error must vanish where u is given: û = g there, for D = 0 only where the flow enters; what û misses
    is lifted into the domain, see `BoundaryOscillation`. Elsewhere a flux is given, see `NaturalResidual`.

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
        Where conditions and flow do not fit, naming the boundary; for layers beside conditions on u that are
        not `Dirichlet`, `Neumann` or `Outflow`.
    """

    PAST = ("gap", "missed", "oscillation")

    def __init__(
        self, problem: Problem, reconstruction: MeshReconstruction, lift: OutflowLift | None = None
    ) -> None:
        self.problem, self.reconstruction = problem, reconstruction
        mesh = reconstruction.target.mesh
        parts = parts_of(problem, mesh)
        self._parameters = mesh.reference.on_facet.quadrature(2 * reconstruction.target.degree + 2)[0]
        self._lift, lifted = lift, () if lift is None else lift.names
        self._given = [part for part in parts if part.condition.trace and part.name not in lifted]
        self._diffuses = bool(np.any(cell_diffusion(problem.equation, mesh)))
        #: Where a flux is given.
        self.natural = NaturalResidual(problem, reconstruction)
        if not problem.equation.linear:
            self._check_nonlinear()
        if lift is not None:
            self._check_lift()
        self.oscillation: BoundaryOscillation | None = None
        if mesh.dim <= 2 and lift is None and self._given:
            values = boundary_values(problem, mesh)
            self.oscillation = BoundaryOscillation(
                problem.equation, reconstruction.target, values, cell_diffusion(problem.equation, mesh)
            )
        self._kept = boundary_values(problem, mesh).facets
        self._data = {id(part): part.condition.data(mesh.dim, 1, part.name)[0] for part in self._given}
        #: Largest |û − g| seen so far, relative to the data, and as it is where nothing lifts it.
        self.gap = self.missed = 0.0

    @property
    def all_given(self) -> bool:
        """Whether u is given on the whole boundary."""
        return not self.natural.parts

    @property
    def data_constant(self) -> bool:
        """Whether the given values are."""
        return all(data.constant for data in self._data.values())

    def _check_nonlinear(self) -> None:
        """Of fluxes D∇u·n = 0 alone is given; for which states the flow leaves is seen by `MeshGrowth`."""
        for part in self.natural.parts:
            if part.condition.total or not part.transfer.is_zero or not part.data.is_zero:
                kind = type(part.condition).__name__
                raise ValueError(
                    f"boundary {part.name!r}: expected Dirichlet and Outflow, or Neumann(0), for a nonlinear "
                    f"flux, got {kind}"
                )

    def _check_lift(self) -> None:
        """Layers carry no flux through other sides only where that flux does not depend on u."""
        for part in self.natural.parts:
            if part.condition.total or not part.transfer.is_zero:
                kind = type(part.condition).__name__
                raise ValueError(
                    f"boundary {part.name!r}: expected Dirichlet, Neumann or Outflow beside lifted layers, "
                    f"got {kind}"
                )

    def _normal_velocity(self, facets: Index, t: float) -> Array:
        mesh = self.reconstruction.target.mesh
        x, (normals, _) = (
            mesh.facet_points(self._parameters, facets),
            mesh.facet_normals(self._parameters, facets),
        )
        velocity = np.stack([b(x, t) for b in self.problem.equation.velocity])
        return np.asarray((velocity * normals).sum(axis=0))

    def look(self, slab: MeshSlab) -> None:
        """Compare û with the data."""
        for s in _TIMES:
            t = slab.time.start + s * slab.time.duration
            if self._lift is not None:
                self.gap = max(self.gap, self._lift.gap(slab.at(s, slab.state)))
            for part in self._given if self.oscillation is None else ():
                self.gap = max(self.gap, self._gap(slab, s, t, part))

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
        scale, largest = 1.0 + float(np.abs(data).max(initial=0.0)), float(difference.max(initial=0.0))
        if largest > _TOLERANCE * scale:
            self.missed = max(self.missed, largest)
        return largest / scale

    @property
    def unproved(self) -> tuple[str, ...]:
        """Sentences on data that are not met, as far as seen."""
        sentences = list(self.natural.unproved)
        if self.oscillation is not None:
            sentences.extend(self.oscillation.unproved)
        elif not self.data_constant:
            sentences.append("boundary data interpolated at the nodes of the reconstruction")
        if self.gap > _TOLERANCE:
            sentences.append(
                f"the reconstruction misses the boundary data by up to {self.gap:.1e} at the points "
                "looked at: bounds in L² contain that by a maximum principle, the one of the energy does not"
            )
        return tuple(sentences)
