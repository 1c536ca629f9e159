"""The bound of one reconstruction on a mesh, slab by slab, and from a mesh to the next (T4, T5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stfem.estimators.bound import BoundState
from stfem.estimators.estimate import Estimate
from stfem.estimators.indicators import cell_shares
from stfem.estimators.mesh_errors import MeshErrors
from stfem.estimators.switching import cheapest
from stfem.meshes.quadrature import Array
from stfem.problems import Problem
from stfem.reconstruction.unstructured import MeshSlab, OutflowLift
from stfem.residual.exactness import integrated_exactly
from stfem.residual.temporal import temporal_defect
from stfem.residual.unstructured import MeshResidual
from stfem.resumable import Resumable
from stfem.spaces.overlap import MeshOverlap

__all__ = ["MeshPass", "RightSide", "poincare_rate"]

#: H + P as a function of t and U.
RightSide = Callable[[float, Array], Array]


class MeshPass(Resumable):
    """One pass over the slabs.

    At a change of the mesh û⁻ of the old mesh is replaced by û⁺ of the new one. The pass over the new mesh
    goes on from that over the old one, which stays as it is (T4.10): with the lifted oscillations z^± of
    boundary data

        ‖u − û⁺ − z⁺‖ ≤ ‖u − û⁻ − z⁻‖ + ‖û⁺ − û⁻‖ + ‖z⁻‖ + ‖z⁺‖ ,

    in L¹ (T5.15) the jump of û alone, as the part of the error that boundary data cause is bounded by their
    largest oscillation so far.

    Parameters
    ----------
    problem, residual
        On the mesh of the residual.
    lift, initial_error
        As in `MeshEstimator`.
    right_side
        Of the scheme, for the share of the time stepping.
    before, overlap
        The pass that this one goes on from, and what both meshes have in common; none for the first mesh.

    Raises
    ------
    ValueError
        For layers that are lifted, whose jumps are not computed, beside ``before``.
    """

    PAST = (
        *("rows", "hyperbolic", "parabolic", "first_sq", "latest_sq", "missed", "missed_end", "l1"),
        *("switches", "inherited", "errors", "residual"),
    )

    def __init__(
        self,
        problem: Problem,
        residual: MeshResidual,
        lift: OutflowLift | None,
        initial_error: float | None,
        right_side: RightSide | None = None,
        before: MeshPass | None = None,
        overlap: MeshOverlap | None = None,
    ) -> None:
        self.problem, self.reconstruction, self.residual = problem, residual.reconstruction, residual
        self._lift, self._initial_error, self._right_side = lift, initial_error, right_side
        self.state: BoundState | None = None
        self.rows: list[tuple[float, ...]] = []
        mesh = self.reconstruction.target.mesh
        self.measure = float(mesh.cell_measures.sum())
        self.hyperbolic, self.parabolic = np.zeros(mesh.size), np.zeros(mesh.size)
        #: η_K² of the first slab of this mesh, and of the last one, alone.
        self.first_sq = self.latest_sq = np.zeros(mesh.size)
        # rows and sums of all meshes before
        self.carried, self.earlier = 0, (self.hyperbolic.copy(), self.parabolic.copy())
        # ‖z‖ of the oscillation of boundary data: at any time, at the end of the last slab
        self.missed, self.missed_end = 0.0, 0.0
        self.l1 = 0.0  # bound in L¹ of what is not missed there (T5.15)
        self.errors = MeshErrors(problem, self.reconstruction.target, residual.diffusion)
        self.last: MeshSlab | None = None
        # other reconstructions and meshes that this pass went on from, and what is not proved of them
        self.switches = self.changes = 0
        self.inherited: tuple[str, ...] = ()
        self._spent = residual.spent
        #: What the change to this mesh added, and that until a row has it.
        self.jump = self._unpaid = 0.0
        self._change: tuple[MeshPass, MeshOverlap] | None = None
        if before is not None and overlap is not None:
            self._change = before, overlap
            self._inherit(before, overlap)

    def _inherit(self, before: MeshPass, overlap: MeshOverlap) -> None:
        """All but the bound, for which û on both meshes is needed."""
        if self._lift is not None:
            raise ValueError("lifted: expected no layers on a mesh that changes, got some")
        self.rows, self.carried = [*before.rows], len(before.rows)
        self.earlier = overlap.carried(before.hyperbolic), overlap.carried(before.parabolic)
        self.hyperbolic, self.parabolic = (values.copy() for values in self.earlier)
        self.missed = before.missed
        self.residual.missed_sup = before.residual.missed_sup
        self.residual.missed_flux_sq = before.residual.missed_flux_sq
        self.errors.go_on_from(before.errors)
        self.switches, self.changes = before.switches, before.changes + 1
        self.inherited, self._spent = before.unproved, max(self._spent, before._spent)

    @property
    def _known(self) -> bool:
        """Whether errors of û are."""
        return self.problem.exact is not None and self._lift is None

    def take(self, slab: MeshSlab) -> float:
        """Advance the bound over one slab; what that adds to it, or its share of the run if that is more."""
        oscillation = self.residual.boundary.oscillation
        start, self.missed_end, sup = (0.0, 0.0, 0.0) if oscillation is None else oscillation.sizes(slab)
        self.missed = max(self.missed, sup)
        if self._change is not None:
            self._go_on(slab, start, *self._change)
            self._change = None
        if self.state is None:
            initial, self.l1 = self._initial(slab.at(0.0, slab.state))
            self.state = self._start(initial + start, self.l1)
        level = self.state.final
        norms, way = cheapest(self.residual.norms(slab), level)
        if oscillation is None:  # inside no larger than where it is seen, at the boundary
            sup = float(np.sqrt(self.measure)) * self.residual.boundary.missed
            self.missed_end = self.missed = max(self.missed, sup)
        share = 0.0
        if self._right_side is not None and slab.discrete is not None:
            defect = temporal_defect(slab.discrete, self.reconstruction, self._right_side)
            share = replace(norms, temporal=defect).temporal_share(0.0)
        choice = self.state.advance(norms, 0.0)
        with np.errstate(over="ignore"):
            factor = float(np.exp((self.residual.reaction_growth or 0.0) * norms.duration))
        self.l1 = factor * (self.l1 + norms.integral_l1(self.measure))
        shares = cell_shares(norms.residual_sq), cell_shares(norms.flux_sq)
        # not in place: `past` holds the arrays
        self.hyperbolic = self.hyperbolic + choice.alpha * shares[0]
        self.parabolic = self.parabolic + choice.beta * shares[1]
        self.latest_sq = choice.alpha**2 * shares[0] + choice.beta * shares[1]
        if self.last is None:
            self.first_sq = self.latest_sq
        if self._known:
            self.errors.look(slab)
        alpha = choice.alpha + self._unpaid
        if self._unpaid > 0.0:  # the share is one of the residual
            share, self._unpaid = share * choice.alpha / alpha, 0.0
        self.rows.append((slab.time.stop, self.state.final, alpha, choice.beta, way, share))
        self.last = slab
        added = choice.alpha + float(np.hypot(level, np.sqrt(choice.beta))) - level
        return max(added, level * slab.time.duration / self.problem.final_time)

    def _go_on(self, slab: MeshSlab, start: float, before: MeshPass, overlap: MeshOverlap) -> None:
        """The state after û has jumped to that of the first slab here, with ‖z⁺‖ (T4.10)."""
        if before.state is None:
            raise ValueError("before: expected a pass that took a slab, got one that did not")
        fields = before.final_state, slab.at(0.0, slab.state)
        spaces = before.reconstruction.target, self.reconstruction.target
        squares = overlap.difference_sq(spaces[0], fields[0], spaces[1], fields[1])
        self.jump = float(np.sqrt(squares.sum()))
        same = overlap.after is overlap.before  # then z has not changed either
        if self.residual.boundary.oscillation is not None and not same:
            self.jump += before.missed_end + start
        self.state, self._unpaid = before.state.moved(self.jump), self.jump
        self.l1 = before.l1 + float(np.sqrt(overlap.measures * squares).sum())
        self.hyperbolic += self.jump * cell_shares(overlap.gathered(squares))

    def _start(self, initial: float, in_l1: float) -> BoundState:
        return BoundState(initial, in_l1, 0.0, poincare_rate(self.residual), self.measure, (0.0,))

    def past(self) -> dict[str, Any]:
        if self.state is None:
            raise ValueError("past: expected one or more slabs, got none")
        return super().past() | {"state": self.state.past()}

    def resume(self, past: Mapping[str, Any]) -> None:
        own = dict(past)
        self.state = self._start(0.0, 0.0)
        self.state.resume(own.pop("state"))
        super().resume(own)

    def _initial(self, state: Array) -> tuple[float, float]:
        """z_0, and a bound of the same in L¹."""
        if self._initial_error is not None:
            return self._initial_error, float(np.sqrt(self.measure)) * self._initial_error
        squares = self.errors.initial_sq(state, self.problem.initial[0])
        nothing = self.problem.initial[0].is_zero and not np.any(state)
        more = self._layer(state) + (0.0 if nothing else self.residual.underflow)
        by_cells = np.sqrt(self.reconstruction.target.mesh.cell_measures * squares).sum()
        return float(np.sqrt(squares.sum())) + more, float(by_cells) + float(np.sqrt(self.measure)) * more

    def _layer(self, state: Array) -> float:
        """Bound of ‖w‖ of the layers at one time."""
        return 0.0 if self._lift is None else self._lift.size(state)

    def _in_l1(self, final: float) -> float:
        """Bound of ‖e(T)‖_{L¹}: by the variation of the residual (T5.15), or |Ω|^{1/2} times that in L²."""
        root = float(np.sqrt(self.measure)) * final
        growth, missed = self.residual.reaction_growth, self.residual.missed_sup
        natural = self.residual.boundary.natural
        if growth is None or self._lift is not None or not natural.nonnegative_l1:
            return root
        if missed > 0.0 and not natural.maximum_principle:
            return root
        l1 = self.l1
        if missed > 0.0:
            with np.errstate(over="ignore"):
                l1 += self.measure * missed * float(np.exp(growth * self.problem.final_time))
        return min(root, l1)

    @property
    def final_state(self) -> Array:
        """û at the end of the last slab, coefficients ``(m, modes, C)``."""
        if self.last is None:
            raise ValueError("nodes: expected at least two time nodes, got fewer")
        return self.last.at(1.0, self.last.state)

    @property
    def initial_l1(self) -> float:
        """Bound of ‖u_0 − û(0)‖_{L¹}."""
        return 0.0 if self.state is None else self.state.initial_l1

    @property
    def exponent(self) -> float:
        """∫μ_+ so far."""
        return 0.0 if self.state is None else self.state.exponent

    @property
    def bound(self) -> float:
        """Bound of sup ‖u − û‖ so far."""
        if self.state is None:
            raise ValueError("nodes: expected at least two time nodes, got fewer")
        return self.state.bound + self.missed

    @np.errstate(over="ignore")
    def result(self) -> Estimate:
        """The estimate after the last slab."""
        if self.state is None or self.last is None:
            raise ValueError("nodes: expected at least two time nodes, got fewer")
        state, last, residual = self.state, self.last, self.residual
        columns = np.array(self.rows).T
        names = ("time", "bound", "alpha", "beta", "way", "temporal")
        history = dict(zip(names, columns, strict=True))
        final, u, space = last.at(1.0, last.state), last.stop.node.values, self.reconstruction.space
        gap = self.errors.gap(final, space, u)
        width = state.final + self._layer(final) + self.missed_end
        if np.any(u):
            width += residual.underflow
        total = float(history["alpha"].sum())
        temporal = float((history["temporal"] * history["alpha"]).sum() / total) if total > 0.0 else 0.0
        unproved = self.unproved
        known = self._known
        errors = self.errors.at(final, last.time.stop) if known else (None, None)
        energy = float(np.sqrt(self.errors.supremum_sq + self.errors.dissipated))
        return Estimate(
            bound=self.bound,
            bound_final=state.final + self.missed_end,
            bound_energy=state.energy / float(np.sqrt(1.0 - self._spent))
            + float(np.sqrt(self.missed**2 + float(residual.missed_flux_sq))),
            bound_l1=self._in_l1(state.final + self.missed_end),
            enclosure=(max(0.0, gap - width), gap + width),
            parts={
                "initial": state.initial,
                "hyperbolic": state.hyperbolic,
                "parabolic": float(np.sqrt(state.parabolic_sq)),
                "temporal": temporal,
                "growth": state.growth,
            },
            indicators_sq=total * self.hyperbolic + self.parabolic,
            assumptions=(*residual.assumptions, *unproved),
            unproved=unproved,
            error=float(np.sqrt(self.errors.supremum_sq)) if known else None,
            error_final=errors[0],
            error_energy=energy if known and self.problem.exact_gradient is not None else None,
            error_dg=self.errors.of_solution(space, u, last.time.stop) if self.problem.exact else None,
            error_l1=errors[1],
            history=history,
            facts={
                "slabs": len(self.rows),
                "switches": self.switches,
                "changes": self.changes,
                "cells": self.reconstruction.target.mesh.size,
                "degree": space.degree,
                "degree_reconstruction": self.reconstruction.target.degree,
            },
        )

    @property
    def indicators_sq(self) -> Array:
        """η_K² of this mesh alone ``(C,)``, the jump to it included: they sum to (Σα)² + Σβ since then."""
        alpha = sum(row[2] for row in self.rows[self.carried :])
        return alpha * (self.hyperbolic - self.earlier[0]) + (self.parabolic - self.earlier[1])

    @property
    def unproved(self) -> tuple[str, ...]:
        """Sentences on what is not proved so far, here and in all passes before."""
        unproved = tuple(dict.fromkeys((*self.inherited, *self.residual.unproved)))
        if self.changes:
            return unproved
        if self._initial_error is not None:
            return (*unproved, f"‖u_0 − û(0)‖ ≤ {self._initial_error:g} is an argument, not checked")
        if not integrated_exactly(self.problem.initial[0], self.errors.order):
            return (*unproved, f"initial value integrated with {self.errors.count} points per cell")
        return unproved


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
