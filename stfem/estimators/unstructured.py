"""The split estimator on unstructured meshes (T4, T5): the cheapest way to measure, slab by slab."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import tee

import numpy as np

from stfem.estimators.bound import BoundState, Choice
from stfem.estimators.estimate import Estimate
from stfem.estimators.indicators import cell_shares
from stfem.estimators.mesh_spacing import MeshSpacing
from stfem.estimators.switching import cheapest, switch
from stfem.meshes.quadrature import Array
from stfem.problems import Problem, UnsupportedDomainError
from stfem.problems.arguments import LARGEST, checked_number
from stfem.reconstruction import Hermite, Lagrange
from stfem.reconstruction.unstructured import (
    MeshReconstruction,
    MeshRule,
    MeshSlab,
    OutflowLift,
    TimeInterpolant,
    VertexPatches,
    is_mesh_rule,
    mesh_slabs,
)
from stfem.residual.unstructured import MeshResidual, integrated_exactly
from stfem.semidiscretization import AnySemidiscretization, UnstructuredSemidiscretization
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.legendre import gauss
from stfem.timestepping import Node

__all__ = ["MeshEstimator", "mesh_estimate"]

#: Points in time per slab at which true errors are looked at, and order of the quadrature beyond that of û.
_ERROR_POINTS, _ERROR_ORDER = 5, 12


@dataclass(frozen=True)
class MeshEstimator:
    """Bound for scalar problems on unstructured meshes, linear ones and conservation laws (T3–T5).

    For Dirichlet conditions, outflow, and periodic sides. Several reconstructions share the pass
    over the nodes; at the end of every slab each may go on from the û of another, see
    `stfem.estimators.switching`, and the smallest of their bounds is returned.

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
        if not 0.0 < self.temporal_share < 1.0:
            raise ValueError(f"temporal_share: expected a number in (0, 1), got {self.temporal_share}")
        if self.growth is not None:
            checked_number("growth", self.growth, "a growth rate 2μ", -LARGEST)
        if self.initial_error is not None:
            checked_number("initial_error", self.initial_error, "a bound of ‖u_0 − û(0)‖", 0.0)

    # squares of values that are too large overflow, and the bound is then infinite
    @np.errstate(over="ignore", invalid="ignore")
    def run(self, semidiscretization: AnySemidiscretization, nodes: Iterable[Node], order: int) -> Estimate:
        """Estimate from a stream of nodes; holds a few time levels, never the history.

        Raises
        ------
        ValueError, TypeError, UnsupportedDomainError
            For fewer than two nodes, problems outside of the class above, and a scheme on a torus.
        """
        if not isinstance(semidiscretization, UnstructuredSemidiscretization):
            name = type(semidiscretization.problem.domain).__name__
            raise UnsupportedDomainError(
                f"MeshEstimator: expected a problem on a Box or Domain, got one on a {name}"
            )
        problem = semidiscretization.problem
        bound = [rule.bind(semidiscretization, self.lifted) for rule in self.reconstructions]
        interpolants = [interpolant_of(one, order) for one in bound]
        selector = MeshSpacing(
            semidiscretization, nodes, self.spacing, self.temporal_share, bound, interpolants
        )
        passes, slabs = [], []
        for one, interpolant, stream in zip(bound, interpolants, tee(selector, len(bound)), strict=True):
            lift = OutflowLift(problem, one.target, self.lifted) if self.lifted else None
            residual = MeshResidual(problem, one, self.growth, lift=lift)
            passes.append(MeshPass(problem, residual, lift, self.initial_error))
            slabs.append(mesh_slabs(map(one.at_node, stream), interpolant))
        decay_rate = poincare_rate(passes[0].residual)
        for slabs_now in zip(*slabs, strict=True):
            costs = [one.take(slab) for one, slab in zip(passes, slabs_now, strict=True)]
            selector.update(slabs_now, costs, decay_rate)
            if not self.lifted:
                switch(passes)
        return min((one.result() for one in passes), key=lambda estimate: estimate.bound)


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


class MeshPass:
    """One pass over the slabs."""

    def __init__(
        self,
        problem: Problem,
        residual: MeshResidual,
        lift: OutflowLift | None,
        initial_error: float | None,
    ) -> None:
        self.problem, self.reconstruction, self.residual = problem, residual.reconstruction, residual
        self._lift, self._initial_error = lift, initial_error
        self.state: BoundState | None = None
        self.rows: list[tuple[float, ...]] = []
        size = self.reconstruction.target.mesh.size
        self.hyperbolic, self.parabolic = np.zeros(size), np.zeros(size)
        # ‖z‖ of the oscillation of boundary data: at any time, at the end of the last slab
        self.missed, self.missed_end = 0.0, 0.0
        self.errors = np.zeros(2)  # sup ‖e‖², ∫‖D^{1/2}∇e‖²
        self.last: MeshSlab | None = None
        # passes that this one went on from
        self.switched: list[MeshPass] = []
        target = self.reconstruction.target
        self._points, weights = target.mesh.reference.quadrature(2 * target.degree + _ERROR_ORDER)
        self._x = target.mesh.points(self._points)
        self._weights = weights[:, None] * target.mesh.cell_map(self._points).determinant

    def take(self, slab: MeshSlab) -> float:
        """Advance the bound over one slab; what that adds to it, or its share of the run if that is more."""
        oscillation = self.residual.boundary.oscillation
        start, self.missed_end, sup = (0.0, 0.0, 0.0) if oscillation is None else oscillation.sizes(slab)
        self.missed = max(self.missed, sup)
        if self.state is None:
            initial = self._initial(slab.at(0.0, slab.state)) + start
            measure = float(self.reconstruction.target.mesh.cell_measures.sum())
            self.state = BoundState(
                initial, initial * np.sqrt(measure), 0.0, poincare_rate(self.residual), measure, (0.0,)
            )
        level = self.state.final
        norms, way = cheapest(self.residual.norms(slab), level)
        choice = self.state.advance(norms, 0.0)
        self.hyperbolic += choice.alpha * cell_shares(norms.residual_sq)
        self.parabolic += choice.beta * cell_shares(norms.flux_sq)
        if self.problem.exact is not None and self._lift is None:
            self._true_errors(slab)
        self._keep(slab, choice, way)
        added = choice.alpha + float(np.hypot(level, np.sqrt(choice.beta))) - level
        return max(added, level * slab.time.duration / self.problem.final_time)

    def _initial(self, state: Array) -> float:
        """z_0."""
        if self._initial_error is not None:
            return self._initial_error
        distance = float(np.sqrt(self._distance_sq(state, 0.0, initial=True)))
        nothing = self.problem.initial[0].is_zero and not np.any(state)
        return distance + self._layer(state) + (0.0 if nothing else self.residual.underflow)

    def _layer(self, state: Array) -> float:
        """Bound of ‖w‖ of the layers at one time."""
        return 0.0 if self._lift is None else self._lift.size(state)

    def _keep(self, slab: MeshSlab, choice: Choice, way: int) -> None:
        final = self.state.final if self.state is not None else np.nan
        self.rows.append((slab.time.stop, final, choice.alpha, choice.beta, way))
        self.last = slab

    def _distance_sq(self, state: Array, t: float, initial: bool = False) -> float:
        """‖u − û‖² at one time, or of u_0."""
        exact = self.problem.initial[0](self._x, t)[None] if initial else self._exact(t)
        difference = exact - self.reconstruction.target.values(state, self._points)
        return float((self._weights * difference**2).sum())

    def _exact(self, t: float) -> Array:
        if self.problem.exact is None:
            raise ValueError("exact: expected an exact solution, got None")
        return self.problem.exact(self._x, t)

    def _true_errors(self, slab: MeshSlab) -> None:
        points, weights = gauss(_ERROR_POINTS)
        gradient = self.problem.exact_gradient
        for s, weight in zip([0.0, *points, 1.0], [0.0, *weights, 0.0], strict=True):
            state, t = slab.at(float(s), slab.state), slab.time.start + float(s) * slab.time.duration
            self.errors[0] = max(self.errors[0], self._distance_sq(state, t))
            if gradient is not None and weight > 0.0:
                slopes = gradient(self._x, t) - self.reconstruction.target.gradients(state, self._points)
                square = np.einsum("imqc,ijc,jmqc->qc", slopes, self.residual.diffusion, slopes)
                self.errors[1] += weight * slab.time.duration * float((self._weights * square).sum())

    @np.errstate(over="ignore")
    def result(self) -> Estimate:
        """The estimate after the last slab."""
        if self.state is None or self.last is None:
            raise ValueError("nodes: expected at least two time nodes, got fewer")
        state, last = self.state, self.last
        columns = np.array(self.rows).T
        history = dict(zip(("time", "bound", "alpha", "beta", "way"), columns, strict=True))
        final, gap = last.at(1.0, last.state), self._gap(last)
        known = self.problem.exact is not None and self._lift is None
        width = state.final + self._layer(final) + self.missed_end
        if np.any(last.stop.node.values):
            width += self.residual.underflow
        flux = float(self.residual.missed_flux_sq)
        residuals = [entry.residual for entry in (self, *self.switched)]
        unproved = tuple(dict.fromkeys(sentence for entry in residuals for sentence in entry.unproved))
        start, order = self.problem.initial[0], 2 * self.reconstruction.target.degree + _ERROR_ORDER
        if self._initial_error is not None:
            unproved = (*unproved, f"‖u_0 − û(0)‖ ≤ {self._initial_error:g} is an argument, not checked")
        elif not integrated_exactly(start, order):
            count = self._points.shape[1]
            unproved = (*unproved, f"initial value integrated with {count} points per cell")
        return Estimate(
            bound=state.bound + self.missed,
            bound_final=state.final + self.missed_end,
            bound_energy=state.energy + float(np.sqrt(self.missed**2 + flux)),
            bound_l1=None,
            enclosure=(max(0.0, gap - width), gap + width),
            parts={
                "initial": state.initial,
                "hyperbolic": state.hyperbolic,
                "parabolic": float(np.sqrt(state.parabolic_sq)),
                "temporal": 0.0,
                "growth": float(np.exp(state.exponent)),
            },
            indicators_sq=float(history["alpha"].sum()) * self.hyperbolic + self.parabolic,
            assumptions=unproved,
            unproved=unproved,
            error=float(np.sqrt(self.errors[0])) if known else None,
            error_final=float(np.sqrt(self._distance_sq(final, last.time.stop))) if known else None,
            error_energy=float(np.sqrt(self.errors.sum()))
            if known and self.problem.exact_gradient is not None
            else None,
            error_dg=self._error_dg(last) if self.problem.exact is not None else None,
            history=history,
            facts={
                "slabs": len(self.rows),
                "switches": len(self.switched),
                "cells": self.reconstruction.target.mesh.size,
                "degree": self.reconstruction.space.degree,
                "degree_reconstruction": self.reconstruction.target.degree,
            },
        )

    def _difference_sq(self, other: Array, space: BrokenSpace, u: Array) -> float:
        difference = other - space.values(u, self._points)
        return float((self._weights * difference**2).sum())

    def _gap(self, last: MeshSlab) -> float:
        """‖û(T) − u_h(T)‖ (T4.5)."""
        field = self.reconstruction.target.values(last.at(1.0, last.state), self._points)
        return float(np.sqrt(self._difference_sq(field, self.reconstruction.space, last.stop.node.values)))

    def _error_dg(self, last: MeshSlab) -> float:
        exact = self._exact(last.time.stop)
        return float(np.sqrt(self._difference_sq(exact, self.reconstruction.space, last.stop.node.values)))


def poincare_rate(residual: MeshResidual) -> float:
    """λ_min(D) π² Σ_i 1/L_i² ≤ λ₁ with the sides of the bounding box, for u given on the whole boundary (T4).

    The error, extended by zero, vanishes on the box; periodic directions do not count. 0 otherwise.
    """
    mesh = residual.reconstruction.target.mesh
    if not residual.boundary.all_given or len(mesh.facets.boundary) == 0:
        return 0.0
    bounded = ~np.any(mesh.facets.shift != 0.0, axis=1)
    lengths = np.ptp(mesh.vertices, axis=1)[bounded]
    smallest = float(np.linalg.eigvalsh(np.moveaxis(residual.diffusion, -1, 0)).min())
    return (1.0 - 1e-12) * max(smallest, 0.0) * float(np.pi**2 * (1.0 / lengths**2).sum())
