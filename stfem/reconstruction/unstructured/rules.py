"""Reconstructions to choose from on unstructured meshes, before they meet a scheme (T5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field
from inspect import signature
from typing import Protocol, runtime_checkable

from stfem.checks import checked_instance, checked_number, checked_whole
from stfem.meshes.facets import Index
from stfem.reconstruction.unstructured.given import boundary_values
from stfem.reconstruction.unstructured.natural import NaturalConditions
from stfem.reconstruction.unstructured.nodal import NodalReconstruction, averaging, vertex_patches
from stfem.reconstruction.unstructured.node import LocalReconstruction, MeshReconstruction
from stfem.reconstruction.unstructured.relaxed import RelaxedFlux, seen_by_cells
from stfem.reconstruction.unstructured.two_stage import BoundTwoStage, BoundTwoStageMixed
from stfem.semidiscretization import UnstructuredSemidiscretization
from stfem.spaces.broken import BrokenSpace

__all__ = ["Averaging", "LocalRule", "MeshRule", "TwoStage", "TwoStageMixed", "VertexPatches", "is_mesh_rule"]


@runtime_checkable
class MeshRule(Protocol):
    """A rule for û on unstructured meshes: bound to a scheme before use."""

    def bind(
        self, semidiscretization: UnstructuredSemidiscretization, lifted: Collection[str] = ()
    ) -> MeshReconstruction:
        """Operators for one mesh and degree; û is free at the boundaries ``lifted``."""


def is_mesh_rule(given: object) -> bool:
    """Whether an object can be bound to a mesh: rules for the torus know nothing of lifted boundaries."""
    if isinstance(given, type) or not isinstance(given, MeshRule):
        return False
    try:
        signature(given.bind).bind(None, ())
    except TypeError:
        return False
    return True


class LocalRule(ABC):
    """A rule that is linear in u_h and local."""

    @abstractmethod
    def nodal(self, space: BrokenSpace, dirichlet: Index) -> NodalReconstruction:
        """The matrix from u_h to the nodal values of û, where facets with given values are known."""

    def bind(
        self, semidiscretization: UnstructuredSemidiscretization, lifted: Collection[str] = ()
    ) -> LocalReconstruction:
        """Operators for one mesh and degree; û is free at the boundaries ``lifted``."""
        local, equation = self.local(semidiscretization, lifted), semidiscretization.problem.equation
        if seen_by_cells(semidiscretization.mesh, equation, local.diffusion):
            return RelaxedFlux(local, semidiscretization.problem)
        return local

    def local(
        self, semidiscretization: UnstructuredSemidiscretization, lifted: Collection[str] = ()
    ) -> LocalReconstruction:
        """The same with the fluxes d_A and d_B alone."""
        fluxes = semidiscretization.fluxes  # refuses systems
        values = boundary_values(semidiscretization.problem, semidiscretization.mesh, lifted)
        return LocalReconstruction(
            self.nodal(semidiscretization.space, values.facets),
            semidiscretization.diffusion.matrix_of_cells,
            fluxes,
            values,
            NaturalConditions(semidiscretization.problem, semidiscretization.mesh),
            rates=False,
        )


@dataclass(frozen=True)
class VertexPatches(LocalRule):
    """Vertex-patch least squares, see `vertex_patches`: local, the default.

    û has degree q + 1; the residual is of order q + 1 for every ε, 0 included. Valid for every scalar problem
    on a mesh, with all conditions that bounds allow. Cost: one sparse product per time node, and where
    diffusion is seen by cells, for linear equations, that of `RelaxedFlux`.
    """

    def nodal(self, space: BrokenSpace, dirichlet: Index) -> NodalReconstruction:
        return vertex_patches(space, dirichlet=dirichlet)


@dataclass(frozen=True)
class Averaging(LocalRule):
    """Nodal averaging, see `averaging`: local, for the energy norm where diffusion dominates.

    For ε → 0 the bound is one order short. Validity and cost as those of `VertexPatches`.
    """

    def nodal(self, space: BrokenSpace, dirichlet: Index) -> NodalReconstruction:
        return averaging(space, dirichlet=dirichlet)


def _check_stage(first: object, memory: object) -> None:
    checked_instance("first", first, LocalRule, "a local rule such as VertexPatches()")
    if memory is not None and checked_number("memory", memory, "κ > 0", 0.0) == 0.0:
        raise ValueError(f"memory: expected κ > 0, got {memory}")


@dataclass(frozen=True)
class TwoStage:
    """Least squares along the flow, see `BoundTwoStage` (T5.1): sharp for ε ≲ h², 0 included.

    Parameters
    ----------
    first
        Local reconstruction that it starts from.
    memory
        κ in 1/time², (5/T)² by default.
    iterations
        Steps of conjugate gradients from ``first`` in the place of an exact solve (a few tens): less sharp,
        just as guaranteed, and without the factorisation, for meshes on which that takes too much memory or
        for a velocity that depends on time.

    Cost: a factorisation, then two triangular solves per time node; or the iterations.
    """

    first: LocalRule = field(default_factory=VertexPatches)
    memory: float | None = None
    iterations: int | None = None

    def __post_init__(self) -> None:
        _check_stage(self.first, self.memory)
        if self.iterations is not None:
            checked_whole("iterations", self.iterations, 1)

    def bind(
        self, semidiscretization: UnstructuredSemidiscretization, lifted: Collection[str] = ()
    ) -> BoundTwoStage:
        """Operators for one mesh and degree."""
        local, problem = self.first.local(semidiscretization, lifted), semidiscretization.problem
        return BoundTwoStage(local, problem, memory=self.memory, lifted=lifted, iterations=self.iterations)


@dataclass(frozen=True)
class TwoStageMixed:
    """Least squares for û and its flux together, see `BoundTwoStageMixed` (T5.2): sharp for ε ≳ h².

    Parameters are the first two of `TwoStage`. For positive definite diffusion. Cost: as `TwoStage`, with
    about three times as many unknowns.
    """

    first: LocalRule = field(default_factory=VertexPatches)
    memory: float | None = None

    def __post_init__(self) -> None:
        _check_stage(self.first, self.memory)

    def bind(
        self, semidiscretization: UnstructuredSemidiscretization, lifted: Collection[str] = ()
    ) -> BoundTwoStageMixed:
        """Operators for one mesh and degree."""
        local = self.first.local(semidiscretization, lifted)
        return BoundTwoStageMixed(local, semidiscretization.problem, memory=self.memory, lifted=lifted)
