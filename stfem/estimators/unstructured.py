"""The split estimator on unstructured meshes (T4, T5): the cheapest way to measure, slab by slab."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import tee

import numpy as np

from stfem.checks import checked_share
from stfem.estimators.estimate import Estimate
from stfem.estimators.mesh_pass import MeshPass, poincare_rate
from stfem.estimators.mesh_spacing import MeshSpacing
from stfem.estimators.run import SlabRun
from stfem.estimators.switching import switch
from stfem.problems import Problem, UnsupportedDomainError
from stfem.problems.arguments import LARGEST, checked_number
from stfem.reconstruction import Hermite, Lagrange, Stencils
from stfem.reconstruction.unstructured import (
    MeshNode,
    MeshReconstruction,
    MeshRule,
    OutflowLift,
    TimeInterpolant,
    VertexPatches,
    is_mesh_rule,
    mesh_slab_of,
    mesh_slabs,
)
from stfem.residual.unstructured import MeshResidual
from stfem.semidiscretization import AnySemidiscretization, UnstructuredSemidiscretization
from stfem.spaces.overlap import MeshOverlap
from stfem.timestepping import Node

__all__ = ["MeshEstimator", "mesh_estimate"]


@dataclass(frozen=True)
class MeshEstimator:
    """Bound for scalar problems on unstructured meshes, linear ones and conservation laws (T3–T5).

    For all boundary conditions, see `stfem.residual.natural.NaturalResidual` for what a given flux costs.
    Several reconstructions share the pass over the nodes; at the end of every slab each may go on from the û
    of another, see `stfem.estimators.switching`, and the smallest of their bounds is returned.

    Parameters
    ----------
    reconstructions
        Rules for û; `VertexPatches` by default. `TwoStage` is sharp for ε ≲ h², `TwoStageMixed` above.
    spacing
        Time steps per slab: a number, or None for the automatic choice.
    temporal_share
        Of what a slab adds to the bound, that the automatic spacing leaves to interpolation in time.
    growth
        2μ = sup(−∇·b − 2c) in 1/time, where it does not follow from constant data; `Estimate.assumptions`
        then says so. That of a nonlinear flux follows from û.
    lifted
        Names of outflow boundaries with given values whose layers the mesh does not resolve, see
        `OutflowLift`. True errors of û are then not computed, those of u_h are.
    initial_error
        Bound of ‖u_0 − û(0)‖ where it is known, of which `Estimate.assumptions` then speaks; by quadrature
        otherwise.

    Raises
    ------
    ValueError, TypeError
        For no reconstruction or something else than a rule, a spacing below 1, numbers that are not finite, a
        negative ``initial_error``, and a growth below the one of constant data.
    """

    reconstructions: tuple[MeshRule, ...] = (VertexPatches(),)
    spacing: int | None = None
    temporal_share: float = 0.03
    growth: float | None = None
    lifted: tuple[str, ...] = ()
    initial_error: float | None = None

    on_meshes = True

    def __post_init__(self) -> None:
        rules: object = self.reconstructions
        if not isinstance(rules, tuple) or not all(is_mesh_rule(rule) for rule in rules):
            raise TypeError(f"reconstructions: expected a tuple of rules such as TwoStage(), got {rules!r}")
        if not rules:
            raise ValueError("reconstructions: expected at least one, got none")
        names: object = self.lifted
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"lifted: expected a tuple of names of boundaries, got {names!r}")
        steps: object = self.spacing
        if steps is not None and (isinstance(steps, bool) or not isinstance(steps, (int, np.integer))):
            raise TypeError(f"spacing: expected a whole number of steps per slab, got {steps!r}")
        if isinstance(steps, (int, np.integer)) and steps < 1:
            raise ValueError(f"spacing: expected at least 1 step per slab, got {steps}")
        checked_share("temporal_share", self.temporal_share)
        if self.growth is not None:
            checked_number("growth", self.growth, "a growth rate 2μ", -LARGEST)
        if self.initial_error is not None:
            checked_number("initial_error", self.initial_error, "a bound of ‖u_0 − û(0)‖", 0.0)

    def run(self, semidiscretization: AnySemidiscretization, nodes: Iterable[Node], order: int) -> Estimate:
        """Estimate from a stream of nodes; holds a few time levels, never the history.

        Raises
        ------
        ValueError, TypeError, UnsupportedDomainError
            For fewer than two nodes, problems outside of the class above, and a scheme on a torus.
        """
        return self.begin(semidiscretization, nodes, order).consume()

    def begin(
        self,
        semidiscretization: AnySemidiscretization,
        nodes: Iterable[Node],
        order: int,
        before: MeshWindow | None = None,
        overlap: MeshOverlap | None = None,
    ) -> MeshRun:
        """The passes of `run`, or of a part of it that is on one mesh, slab by slab.

        Parameters
        ----------
        semidiscretization, nodes, order
            As for `run`.
        before, overlap
            The part on the mesh before, which stays as it is, and what both meshes have in common; none at
            the start.

        Raises
        ------
        ValueError, TypeError, UnsupportedDomainError
            As `run`, but for the number of nodes; for lifted layers at a change of the mesh.
        """
        if not isinstance(semidiscretization, UnstructuredSemidiscretization):
            name = type(semidiscretization.problem.domain).__name__
            raise UnsupportedDomainError(
                f"MeshEstimator: expected a problem on a Box or Domain, got one on a {name}"
            )
        return MeshRun(self, semidiscretization, nodes, order, before, overlap)

    def window(
        self,
        semidiscretization: AnySemidiscretization,
        nodes: Iterable[Node],
        order: int,
        before: MeshWindow | None = None,
        overlap: MeshOverlap | None = None,
    ) -> MeshWindow:
        """All of the part of a run that is on one mesh; arguments and errors are those of `begin`."""
        run = self.begin(semidiscretization, nodes, order, before, overlap)
        while run.advance():
            pass
        return MeshWindow(run.passes)


@dataclass(frozen=True, eq=False)
class MeshWindow:
    """The part of a run that is on one mesh, with all before it.

    Attributes
    ----------
    passes
        One per reconstruction.
    """

    passes: tuple[MeshPass, ...]

    @property
    def best(self) -> MeshPass:
        """The one with the smallest bound."""
        return min(self.passes, key=lambda one: one.bound)

    @np.errstate(over="ignore", invalid="ignore")
    def result(self) -> Estimate:
        """The estimate up to the end of this part."""
        return self.best.result()


class MeshRun(SlabRun):
    """The passes of all reconstructions over the nodes, side by side."""

    PAST = ("selector", "passes")

    # squares of values that are too large overflow, and the bound is then infinite
    @np.errstate(over="ignore", invalid="ignore")
    def __init__(
        self,
        estimator: MeshEstimator,
        semidiscretization: UnstructuredSemidiscretization,
        nodes: Iterable[Node],
        order: int,
        before: MeshWindow | None,
        overlap: MeshOverlap | None,
    ) -> None:
        self.estimator, self.semi, problem = estimator, semidiscretization, semidiscretization.problem
        lifted = estimator.lifted
        self._bound = [rule.bind(semidiscretization, lifted) for rule in estimator.reconstructions]
        self._interpolants = [interpolant_of(one, order) for one in self._bound]
        share = estimator.temporal_share, self._bound, self._interpolants
        self.selector = MeshSpacing(semidiscretization, nodes, estimator.spacing, *share)
        passes = []
        earlier = [None] * len(self._bound) if before is None else before.passes
        for one, old in zip(self._bound, earlier, strict=True):
            lift = OutflowLift(problem, one.target, lifted) if lifted else None
            residual = MeshResidual(problem, one, estimator.growth, lift=lift)
            initial, scheme = estimator.initial_error, semidiscretization.rhs
            passes.append(MeshPass(problem, residual, lift, initial, scheme, old, overlap))
        self.passes = tuple(passes)
        self._stencils = [
            Stencils(map(partial(self._reconstructed, number), stream), interpolant)
            for number, (stream, interpolant) in enumerate(
                zip(tee(self.selector, len(passes)), self._interpolants, strict=True)
            )
        ]
        self._decay_rate = poincare_rate(passes[0].residual)

    @property
    def stencils(self) -> Sequence[Stencils[MeshNode]]:
        return self._stencils

    @property
    def _ode(self) -> UnstructuredSemidiscretization:
        return self.semi

    def _reconstructed(self, number: int, node: Node) -> MeshNode:
        return self._bound[number].at_node(node)

    @np.errstate(over="ignore", invalid="ignore")
    def advance(self) -> bool:
        stencils = [next(own, None) for own in self._stencils]
        found = [stencil for stencil in stencils if stencil is not None]
        if len(found) < len(stencils):
            return False
        slabs = [mesh_slab_of(*args, own) for args, own in zip(found, self._interpolants, strict=True)]
        costs = [one.take(slab) for one, slab in zip(self.passes, slabs, strict=True)]
        self.selector.update(slabs, costs, self._decay_rate)
        if not self.estimator.lifted:
            switch(self.passes)
        self.time = slabs[0].time.stop
        return True

    def result(self) -> Estimate:
        return MeshWindow(self.passes).result()


def interpolant_of(reconstruction: MeshReconstruction, order: int) -> TimeInterpolant:
    """Interpolation in time for a time stepping of some order: Hermite where there are rates.

    Stiff rates hold errors of the time stepping, on which Hermite interpolation depends more the longer slabs
    are: without rates longer slabs are as sharp, and a node costs half.
    """
    if reconstruction.per_node == 2:
        return Hermite.for_order(order, least=5)
    return Lagrange(max(6, order))


def mesh_estimate(
    problem: Problem,
    reconstruction: MeshReconstruction,
    interpolant: TimeInterpolant,
    nodes: Iterable[Node],
    growth: float | None = None,
    lift: OutflowLift | None = None,
    initial_error: float | None = None,
) -> Estimate:
    """Estimate from nodes of any scheme, with a reconstruction that is bound already.

    Parameters
    ----------
    problem
        Scalar.
    reconstruction, interpolant
        In space and in time.
    nodes
        At least two.
    growth, lift, initial_error
        As in `MeshEstimator`.
    """
    residual = MeshResidual(problem, reconstruction, growth, lift=lift)
    one = MeshPass(problem, residual, lift, initial_error)
    for slab in mesh_slabs(map(reconstruction.at_node, nodes), interpolant):
        one.take(slab)
    return one.result()
