"""The split estimator: SIAC reconstruction, flux family, sharp comparison (T2–T4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from stfem.checks import checked_flag, checked_method, checked_numbers, checked_share, checked_whole
from stfem.data import Data
from stfem.estimators.bound import BoundState
from stfem.estimators.errors import TrueError, distance
from stfem.estimators.estimate import Estimate
from stfem.estimators.indicators import IndicatorSum
from stfem.estimators.initial import InitialError, initial_error
from stfem.estimators.optional import FAMILY_GAIN, SPECTRAL_GAIN, OptionalWork
from stfem.estimators.run import SlabRun
from stfem.estimators.spacing import NodeSelector, temporal_share
from stfem.meshes.grid import TensorGrid
from stfem.reconstruction import (
    Hermite,
    NodeReconstruction,
    ReconstructedSlab,
    Reconstruction,
    Siac,
    Stencils,
    prolong,
    slab_of,
)
from stfem.residual import FLUX_FAMILY, ResidualSplit, SlabNorms
from stfem.residual.levels import diagonal_bound
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.rows import row_blocks
from stfem.spaces.stencil import Array, cell_rows
from stfem.spaces.tensor import norm_l2_sq
from stfem.timestepping import Node, NonFiniteError


@dataclass(frozen=True)
class SplitEstimator:
    """Guaranteed bound from the split residual (T3, T4).

    Parameters
    ----------
    reconstruction
        Spatial reconstruction; `Siac()` by default.
    interpolant
        Interpolation in time. Default: Hermite of odd degree ≥ max(9, order of the time stepping), at most
        15.
    members
        Members λ ∈ [0, 1] of the flux family d̃_λ = (1−λ)K*σ_h + λD∇û; the cheapest one is taken on every
        slab (T3.5).
    spacing
        Time steps per slab: a number, or None for the automatic choice.
    temporal_share
        Share of the time stepping in R_H that the automatic spacing allows (dimensionless).
    spectral
        Whether splits of the residual by frequency (N6) and growth rates that diffusion lowers (N7, N9) count
        too, on slabs where they gain: for scalar equations with constant coefficients and fluxes of degree 2
        at most.

    Raises
    ------
    ValueError, TypeError
        For members outside [0, 1], a spacing below 1 or a share outside (0, 1).
    """

    reconstruction: Reconstruction = field(default_factory=Siac)
    interpolant: Hermite | None = None
    members: tuple[float, ...] = FLUX_FAMILY
    spacing: int | None = None
    temporal_share: float = 0.01
    spectral: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", checked_numbers("members", self.members, "in [0, 1],", 0.0, 1.0))
        if not self.members:
            raise ValueError("members: expected numbers in [0, 1], got ()")
        checked_method("reconstruction", self.reconstruction, "bind", "one such as Siac()")
        if self.interpolant is not None:
            checked_method("interpolant", self.interpolant, "modes", "one such as Hermite(5)")
        if self.spacing is not None:
            checked_whole("spacing", self.spacing, 1)
        checked_flag("spectral", self.spectral)
        checked_share("temporal_share", self.temporal_share)

    def interpolant_for(self, order: int) -> Hermite:
        """Interpolant used with time stepping of the given order."""
        return self.interpolant if self.interpolant is not None else Hermite.for_order(order)

    def run(self, semidiscretization: Semidiscretization, nodes: Iterable[Node], order: int) -> Estimate:
        """Estimate from a stream of nodes; holds a few time levels, never the history."""
        return self.begin(semidiscretization, nodes, order).consume()

    def begin(self, semidiscretization: Semidiscretization, nodes: Iterable[Node], order: int) -> SlabRun:
        """The pass of `run`, slab by slab."""
        return SplitRun(self, semidiscretization, nodes, order)

    def measured(self, norms: SlabNorms, grid: TensorGrid, matrix: Array) -> SlabNorms:
        """Norms that enter the bound; a comparator may measure the residual in another way."""
        return norms


class SplitRun(SlabRun):
    """One pass over the nodes."""

    PAST = ("split", "family", "spectral", "indicators", "true", "rows", "errors", "seconds_true", "selector")

    def __init__(
        self,
        estimator: SplitEstimator,
        semidiscretization: Semidiscretization,
        nodes: Iterable[Node],
        order: int,
    ) -> None:
        self.estimator, self.semi = estimator, semidiscretization
        self.problem = semidiscretization.problem
        self.bound_reconstruction = estimator.reconstruction.bind(semidiscretization)
        self.interpolant = estimator.interpolant_for(order)
        self.split = ResidualSplit(semidiscretization, self.bound_reconstruction, estimator.spectral)
        self.grid, self.degree = self.bound_reconstruction.grid, self.bound_reconstruction.degree
        self.family = OptionalWork(FAMILY_GAIN, optional=1.0 in estimator.members)
        self.spectral = OptionalWork(SPECTRAL_GAIN)
        self.indicators = IndicatorSum(self.grid, semidiscretization.grid.cells)
        self.true = None if self.problem.exact is None else TrueError(self.problem, self.grid, self.degree)
        self.initial: InitialError | None = None
        self.bound: BoundState | None = None
        self.last: NodeReconstruction | None = None
        self.rows: list[tuple[float, ...]] = []
        self.errors: list[float] = []
        self.seconds_true = 0.0
        final_time, share = self.problem.final_time, estimator.temporal_share
        self.selector = NodeSelector(nodes, estimator.spacing, share, self.interpolant, final_time)
        stream = map(partial(self._reconstructed, 0), self.selector)
        self._stencils = Stencils(stream, self.interpolant, final_time)

    @property
    def stencils(self) -> Sequence[Stencils[NodeReconstruction]]:
        return (self._stencils,)

    @property
    def _ode(self) -> Semidiscretization:
        return self.semi

    # A run that blows up overflows here before its values do; that is an error of its own, not a warning.
    @np.errstate(over="ignore", invalid="ignore")
    def advance(self) -> bool:
        stencil = next(self._stencils, None)
        if stencil is None:
            return False
        slab = slab_of(*stencil, self.interpolant)
        if self.bound is None:
            self.bound = self._start()
        try:
            self._take(self.bound, slab, self.selector)
        except NonFiniteError as error:
            if self.last is not None:  # what was certified before
                error.estimate, error.node = self.result(), self.last.node
            raise
        self.last, self.time = slab.stop, slab.time.stop
        return True  # with the slab the nodes that no later one needs are let go

    def past(self) -> dict[str, Any]:
        if self.initial is None or self.bound is None:
            raise ValueError("past: expected one or more slabs, got none")
        return super().past() | {"initial": vars(self.initial), "bound": self.bound.past()}

    def resume(self, past: Mapping[str, Any]) -> None:
        own = dict(past)
        self.initial = InitialError(**own.pop("initial"))
        self.bound = self._start()
        self.bound.resume(own.pop("bound"))
        super().resume(own)

    def _take(self, state: BoundState, slab: ReconstructedSlab, selector: NodeSelector) -> None:
        """Measure a slab and advance the bound over it."""
        level = state.final
        try:
            whole = self.family.due(level, partial(self.split.family_gain, slab, level))
            spectral = self.spectral.due(level, partial(self.split.spectral_gain, slab, level))
            own = self.split.norms(slab, whole, level, spectral)
        except OverflowError as error:
            raise NonFiniteError("residual", slab.time.stop, selector.steps) from error
        if not np.isfinite(own.alpha(1.0)):
            raise NonFiniteError("residual", slab.time.stop, selector.steps)
        self._advance(state, slab, own, selector)
        of_family, of_spectrum = own.gains(level)
        if whole:
            self.family.learn(of_family, level)
        if spectral:
            self.spectral.learn(of_spectrum, level)
        if self.true is not None:
            started = perf_counter()
            self.true.take(slab)
            self.errors.append(self.true.final)
            self.seconds_true += perf_counter() - started

    def _reconstructed(self, number: int, node: Node) -> NodeReconstruction:
        """The node with what belongs to it; the initial error is measured before others take memory."""
        if self.initial is None:
            field = self.bound_reconstruction.field(node.values)
            self.initial = initial_error(self.problem, self.grid, self.degree, field)
            del field
        return self.bound_reconstruction.at_node(self._accelerated(node))

    def _accelerated(self, node: Node) -> Node:
        """The node with d²U/dt², where slabs can be put together from residuals at their nodes."""
        if not self.split.from_nodes:
            return node
        return replace(node, acceleration=self.semi.rhs_rate(node.time, node.values, node.rate))

    def _start(self) -> BoundState:
        equation, initial = self.problem.equation, self.initial
        if initial is None:
            raise ValueError("nodes: expected the initial one, got none")
        scalar = equation.components == 1 and equation.entropy is None
        conserved = scalar and equation.reaction.is_zero and all(equation.diffused)
        return BoundState(
            initial.stability,
            initial.l1,
            initial.mean,
            poincare_rate(equation.diffusion, self.grid.lengths) if conserved else 0.0,
            self.grid.measure,
            self.estimator.members,
        )

    def _advance(
        self, state: BoundState, slab: ReconstructedSlab, own: SlabNorms, selector: NodeSelector
    ) -> None:
        norms = self.estimator.measured(own, self.grid, self.problem.equation.diffusion)
        reaction = self.problem.equation.reaction
        # scalar L¹ stability: only sup(−c)_+ can make the error grow (T4.4)
        reaction_growth = 0.0 if reaction.is_zero else _negative_part(reaction, slab, self.grid)
        before, exponent = state.final, state.exponent
        choice = state.advance(norms, reaction_growth)
        paid = state.exponent - exponent
        growth = 2.0 * (paid if paid > 0.0 else min(choice.exponent, 0.0)) / norms.duration
        self.indicators.add(norms, choice)
        size = own.size(choice.member)
        share = (
            own.temporal_share(choice.member)
            if self.split.from_nodes
            else temporal_share(self.semi, self.bound_reconstruction, slab, size)
        )
        matters = own.cost(before, self.problem.final_time) / float(np.sqrt(own.duration))
        selector.update(
            slab.time, share * size / matters if matters > 0.0 else share, matters, own.rates, own.growth
        )
        if share > 1.0:  # a bound that is no bound for the share: what is told is measured
            share = min(share, temporal_share(self.semi, self.bound_reconstruction, slab, size))
        factor = self.problem.equation.stability.error_factor
        self.rows.append(
            (
                slab.time.stop,
                factor * state.final,
                choice.alpha,
                choice.beta,
                growth,
                choice.member,
                share,
            )
        )

    @np.errstate(over="ignore")
    def result(self) -> Estimate:
        state, initial, last = self.bound, self.initial, self.last
        if state is None or initial is None or last is None:
            raise ValueError("nodes: expected at least two time nodes, got fewer")
        equation, stability = self.problem.equation, self.problem.equation.stability
        factor = stability.error_factor
        final = factor * state.final
        gap = self._distance_to_dg(last)
        columns = np.array(self.rows).T
        history = dict(
            zip(("time", "bound", "alpha", "beta", "growth", "member", "temporal"), columns, strict=True)
        )
        if self.errors:
            history["error"] = np.array(self.errors)
        total = float(history["alpha"].sum())
        temporal = float((history["temporal"] * history["alpha"]).sum() / total) if total > 0.0 else 0.0
        # y is ‖e‖² and |e| an entropy for those alone that bring none of their own
        scalar = equation.components == 1 and equation.entropy is None
        true, dg = self.true, last.node.values
        unproved = tuple(dict.fromkeys((*initial.unproved, *self.split.unproved)))
        return Estimate(
            bound=factor * state.bound,
            bound_final=final,
            bound_energy=float(np.hypot(factor * state.bound, self.split.energy_factor * state.dissipated)),
            bound_l1=state.l1 if scalar else None,
            enclosure=(max(0.0, gap - final), gap + final),
            parts={
                "initial": initial.stability,
                "hyperbolic": state.hyperbolic,
                "parabolic": float(np.sqrt(state.parabolic_sq)),
                "temporal": temporal,
                "growth": state.growth,
            },
            indicators_sq=self.indicators.total(),
            assumptions=(*stability.assumptions, *unproved),
            unproved=unproved,
            error=None if true is None else true.supremum,
            error_final=None if true is None else true.final,
            error_energy=None if true is None else true.energy,
            error_dg=None
            if true is None
            else distance(self.problem, self.semi.grid, self.semi.degree, dg, last.time),
            history=history,
            facts={
                "steps": self.selector.steps,
                "slabs": len(self.rows),
                "cells": self.semi.grid.cells,
                "degree": self.semi.degree,
                "degree_time": self.interpolant.degree,
                "degree_reconstruction": self.degree,
                "dofs": self.semi.dofs,
                "lengths": self.semi.grid.lengths,
                "error_factor": factor,
                "seconds_true_error": self.seconds_true,
            },
        )

    def _distance_to_dg(self, last: NodeReconstruction) -> float:
        """‖û(T) − u_h(T)‖, exact: ‖û‖² of the part above degree q plus the difference below (T4.5)."""
        cells, values = self.semi.grid.cells, last.node.values
        total, modes = 0.0, len(values) * (self.degree + 1) ** self.grid.dim
        for rows, _ in row_blocks(self.semi.grid, self.grid, 2 * modes):
            given = cell_rows(values, rows, self.grid.dim)
            prolonged = prolong(given, cells, self.degree, self.bound_reconstruction)
            total += norm_l2_sq(last.state_on(rows)[0] - prolonged, self.grid)
        return float(np.sqrt(total))


def poincare_rate(matrix: Array, lengths: tuple[float, ...]) -> float:
    """λ₁ = min_{k≠0} (2πk/L)ᵀD(2πk/L) on the torus.

    Exact for a diagonal D, else the lower bound λ_min(D)(2π/L_max)².
    """
    frequencies = 2.0 * np.pi / np.asarray(lengths)
    return float((diagonal_bound(matrix) * frequencies**2).min())


def _negative_part(reaction: Data, slab: ReconstructedSlab, grid: TensorGrid) -> float:
    """Bound of sup(−c)_+ on a slab."""
    if reaction.constant:
        return max(0.0, -reaction.constant_value())
    return reaction.sup(slab.time.start, slab.time.stop, grid.lengths)
