"""Bounds for stationary problems on unstructured meshes (T5.3): the residual of a slab constant in time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stfem.data import Slab
from stfem.estimators.estimate import Estimate
from stfem.estimators.indicators import cell_shares
from stfem.estimators.mesh_errors import MeshErrors
from stfem.estimators.mesh_pass import poincare_rate
from stfem.estimators.unstructured import MeshEstimator
from stfem.meshes.quadrature import Array
from stfem.problems import StationaryProblem
from stfem.reconstruction.unstructured import MeshReconstruction, MeshRule, MeshSlab, OutflowLift
from stfem.reconstruction.unstructured.given import parts_of
from stfem.residual import SlabNorms
from stfem.residual.unstructured import MeshResidual
from stfem.semidiscretization import UnstructuredSemidiscretization
from stfem.timestepping import Node

__all__ = ["Coercivity", "StationaryBound", "stationary_estimate"]

#: Shares θ of the dissipation that pay for the parabolic part; the rest may add to κ.
_SHARES = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
#: Exponents γτ of the weight along the flow.
_EXPONENTS = np.linspace(0.1, 6.0, 60)
#: Values of γs, the largest ones for a flux that is given.
_SPREADS, _LEFT = np.array([0.1, 0.25, 0.5, 0.75, 1.0]), 0.95
#: Size, relative to that of a box, of what counts as one.
_BOX = 1e-10


@dataclass(frozen=True)
class Coercivity:
    """What bounds an error by its residual.

    Attributes
    ----------
    reaction
        c_0 = inf(c + ½∇·b), 1/time; may be negative.
    decay
        λ with ‖D^{1/2}∇e‖² ≥ λ‖e‖², 1/time; 0 where none is known.
    transit
        τ, the range of b·x/|b|² on the domain: the time that the flow needs to cross it. 0 where the weighted
        estimate does not apply.
    spread
        bᵀDb/|b|⁴, time.
    free
        Whether a flux is given somewhere instead of u.
    """

    reaction: float
    decay: float
    transit: float
    spread: float
    free: bool = False


class StationaryBound(NamedTuple):
    """A bound of ‖e‖ with the constants it was found with: factor · (a + √(a² + κp²/θ))/(2κ)."""

    value: float
    kappa: float
    theta: float
    factor: float


def l2_bound(a: float, p: float, coercivity: Coercivity) -> StationaryBound:
    """Smallest bound of ‖e‖ from ‖R_H‖ ≤ a and ‖D^{-1/2}Φ‖ ≤ p.

    Testing with e gives κ‖e‖² + θE ≤ a‖e‖ + p√E, E = ‖D^{1/2}∇e‖², κ = c_0 + (1 − θ)λ, hence T5.3,

        ‖e‖ ≤ ( a + √(a² + κp²/θ) ) / (2κ) .

    Testing with ωe, ω = exp(−γ(b·x/|b|² − min)), b and D constant, gives the same in the norm with weight ω
    and θ = 1 (T5.6), or θ = 1 − γs where a flux is given, as that is what is left of σ there, for

        κ = c_0 + ½γ − ½γ²s,   a + γ√s p instead of a,   s = bᵀDb/|b|⁴,   ‖e‖ ≤ e^{γτ/2}‖e‖_ω :

    a bound without 1/ε where nothing reacts (about e·τ·a for ε → 0). No bound gives infinity.
    """
    c = coercivity
    kappa, theta = c.reaction + (1.0 - _SHARES) * c.decay, _SHARES
    factor, first = np.ones_like(kappa), np.full_like(kappa, a)
    if c.transit > 0.0:
        gamma = _EXPONENTS / c.transit
        if gamma[0] * c.spread > _SPREADS[0]:  # strong diffusion allows small weights only
            gamma = _SPREADS / c.spread
        gamma = gamma[gamma * c.spread <= _LEFT] if c.free else gamma[gamma * c.spread <= 1.0]
        kappa = np.concatenate([kappa, c.reaction + 0.5 * gamma - 0.5 * gamma**2 * c.spread])
        theta = np.concatenate([theta, 1.0 - gamma * c.spread if c.free else np.ones_like(gamma)])
        factor = np.concatenate([factor, np.exp(0.5 * gamma * c.transit)])
        first = np.concatenate([first, a + gamma * np.sqrt(c.spread) * p])
    usable = kappa > 0.0
    if not usable.any():
        return StationaryBound(np.inf, 0.0, 1.0, 1.0)
    kappa, theta, factor, first = kappa[usable], theta[usable], factor[usable], first[usable]
    values = factor * (first + np.sqrt(first**2 + kappa * p**2 / theta)) / (2.0 * kappa)
    best = int(np.argmin(values))
    return StationaryBound(float(values[best]), float(kappa[best]), float(theta[best]), float(factor[best]))


def energy_bound(a: float, p: float, l2: float, coercivity: Coercivity) -> float:
    """Bound of N = ( max(c_0, 0)‖e‖² + E )^{1/2}, from T5.3 or from ‖e‖ ≤ l2.

    The smaller of N² ≤ min_θ ( a²/κ + p²/θ ) and N² ≤ a·l2 + max(−c_0, 0) l2² + pN.
    """
    work = a * l2 + max(-coercivity.reaction, 0.0) * l2**2
    best = 0.5 * (p + float(np.sqrt(p**2 + 4.0 * work)))
    kappa = coercivity.reaction + (1.0 - _SHARES) * coercivity.decay
    usable = kappa > 0.0
    if coercivity.reaction >= 0.0 and usable.any():
        squares = a**2 / kappa[usable] + p**2 / _SHARES[usable]
        best = min(best, float(np.sqrt(squares.min())))
    return best


def stationary_estimate(
    estimator: MeshEstimator,
    problem: StationaryProblem,
    semidiscretization: UnstructuredSemidiscretization,
    values: Array,
    algebraic: float,
) -> Estimate:
    """Estimate of a stationary solution; of several reconstructions the one with the smallest bound.

    Parameters
    ----------
    estimator
        Reconstructions, growth and lifted boundaries; its other fields are about time.
    problem, semidiscretization, values
        A scalar linear problem, and the solution ``(1, modes, C)``.
    algebraic
        ‖H(U) + P(U)‖, for the record: û is inserted into the equation as it is.

    Raises
    ------
    ValueError, TypeError
        For problems outside of the class of the estimator, and where nothing bounds the error.
    """
    if not problem.equation.linear:
        raise TypeError(f"equation: expected a linear one for a bound without time, got {problem.equation!r}")
    found = [
        _OneRule(estimator, rule, problem, semidiscretization, values) for rule in estimator.reconstructions
    ]
    return min(found, key=lambda one: one.bound).estimate(algebraic)


class _OneRule:
    """Estimate with one reconstruction."""

    def __init__(
        self,
        estimator: MeshEstimator,
        rule: MeshRule,
        problem: StationaryProblem,
        semi: UnstructuredSemidiscretization,
        values: Array,
    ) -> None:
        self._problem, self._values = problem, values
        reconstruction = rule.bind(semi, estimator.lifted)
        self._lift = None
        if estimator.lifted:
            self._lift = OutflowLift(semi.problem, reconstruction.target, estimator.lifted)
        self._residual = MeshResidual(semi.problem, reconstruction, estimator.growth, lift=self._lift)
        self._reconstruction = reconstruction
        self._slab = resting_slab(reconstruction, values)
        target = reconstruction.target
        self._errors = MeshErrors(problem, target, self._residual.diffusion)
        norms = self._residual.norms(self._slab)
        oscillation = self._residual.boundary.oscillation
        # what is missed is at most as large inside as at the boundary, as far as it is seen there
        root = float(np.sqrt(target.mesh.cell_measures.sum()))
        seen = root * self._residual.boundary.missed
        self._missed = seen if oscillation is None else oscillation.sizes(self._slab)[2]
        self._coercivity = coercivity(self._residual, norms[0].growth)
        self._mean = 0.0
        if self._coercivity.decay > 0.0 and _undetermined(self._residual):
            self._mean = self._mean_of_error()
        self._choose(norms)

    def _choose(self, norms: tuple[SlabNorms, ...]) -> None:
        pairs = [(float(entry.alpha(0.0)), float(np.sqrt(entry.flux_total(0.0)))) for entry in norms]
        bounds = [l2_bound(a, p, self._coercivity) for a, p in pairs]
        best = int(np.argmin([bound.value for bound in bounds]))
        self._norms, self._pair, self._l2 = norms[best], pairs[best], bounds[best]
        if not np.isfinite(self._l2.value):
            c = self._coercivity
            raise ValueError(
                "problem: expected c_0 = inf(c + ½∇·b) > 0, or diffusion and values given on the whole "
                "boundary, or a constant velocity with values given wherever it does not leave, for a bound "
                f"of the error; got c_0 = {c.reaction:g} and the Poincaré rate {c.decay:g}"
            )
        self._energy = min(energy_bound(a, p, self._l2.value, self._coercivity) for a, p in pairs)
        self.bound = float(np.hypot(self._l2.value, self._mean)) + self._missed

    def _mean_of_error(self) -> float:
        """|mean of u − û| |Ω|^{1/2}, of a u with a given mean (T4)."""
        missing = self._problem.mean - self._errors.mean(self._slab.state[0])
        return float(abs(missing)) * float(np.sqrt(self._reconstruction.target.mesh.cell_measures.sum()))

    def estimate(self, algebraic: float) -> Estimate:
        """Everything about the bound that was found."""
        problem, residual, state = self._problem, self._residual, self._slab.state[0]
        (a, p), c_0 = self._pair, max(self._coercivity.reaction, 0.0)
        space, errors = self._reconstruction.space, self._errors
        gap = errors.gap(state, space, self._values)
        layer = 0.0 if self._lift is None else self._lift.size(state)
        width = self.bound + layer + (residual.underflow if np.any(self._values) else 0.0)
        indicators = a**2 / self._l2.kappa * cell_shares(self._norms.residual_sq)
        indicators += p**2 / self._l2.theta * cell_shares(self._norms.flux_sq)
        extra = float(np.sqrt(c_0 * self._missed**2 + residual.missed_flux_sq))
        error = energy = error_dg = None
        started = time.perf_counter()
        if problem.exact is not None:
            error_dg = errors.of_solution(space, self._values, 0.0)
            if self._lift is None:
                error, _ = errors.at(state, 0.0)
                if problem.exact_gradient is not None:
                    energy = float(np.sqrt(c_0 * error**2 + errors.dissipation(state, 0.0)))
        seconds = time.perf_counter() - started
        bound_energy = float(np.hypot(self._energy, c_0**0.5 * self._mean)) + extra
        return Estimate(
            bound=self.bound,
            bound_final=self.bound,
            bound_energy=bound_energy,
            bound_l1=None,
            enclosure=(max(0.0, gap - width), gap + width),
            parts={
                "initial": 0.0,
                "hyperbolic": a,
                "parabolic": p,
                "algebraic": algebraic,
                "growth": self._l2.factor,
            },
            indicators_sq=indicators,
            assumptions=residual.unproved,
            unproved=residual.unproved,
            error=error,
            error_final=error,
            error_energy=energy,
            error_dg=error_dg,
            facts={
                "cells": self._reconstruction.target.mesh.size,
                "degree": space.degree,
                "degree_reconstruction": self._reconstruction.target.degree,
                "kappa": self._l2.kappa,
                "theta": self._l2.theta,
                "reaction": self._coercivity.reaction,
                "poincare": self._coercivity.decay,
                "rounding": self._l2.factor * self._norms.remainder / self._l2.kappa,
                "seconds_true_error": seconds,
            },
        )


def resting_slab(reconstruction: MeshReconstruction, values: Array) -> MeshSlab:
    """û and its fluxes for a unit of time in which nothing moves: integrals over it are those in space."""
    node = reconstruction.at_node(Node(0.0, values, np.zeros_like(values)))
    convective = None if node.convective is None else node.convective[:1]
    return MeshSlab(
        Slab(0.0, 1.0, 0),
        node.state[:1],
        np.zeros_like(node.state[:1]),
        tuple(flux[:1] for flux in node.diffusive),
        convective,
        node,
        node,
    )


def coercivity(residual: MeshResidual, growth: float) -> Coercivity:
    """What is known of a problem; ``growth`` = sup(−∇·b − 2c)."""
    reaction = -0.5 * growth
    if _undetermined(residual):
        return Coercivity(0.0, _mean_free_rate(residual), 0.0, 0.0)
    equation, mesh = residual.problem.equation, residual.reconstruction.target.mesh
    decay = poincare_rate(residual)
    if not all(b.constant for b in equation.velocity) or equation.subdomain_diffusion is not None:
        return Coercivity(reaction, decay, 0.0, 0.0)
    velocity = np.array([b.constant_value() for b in equation.velocity])
    speed_sq, matrix = float(velocity @ velocity), equation.diffusion
    number = np.allclose(matrix, matrix[0, 0] * np.eye(len(matrix)), rtol=1e-14, atol=0.0)
    # where a flux is given σ must keep its sign beside the weight; across a seam the weight would jump
    free = not residual.boundary.all_given
    allowed = not free or (number and residual.boundary.natural.weighted)
    if speed_sq == 0.0 or np.any(mesh.facets.shift) or not allowed:
        return Coercivity(reaction, decay, 0.0, 0.0)
    along = velocity @ mesh.vertices
    transit = float(np.ptp(along)) / speed_sq * (1.0 + 1e-12)
    return Coercivity(reaction, decay, transit, float(velocity @ matrix @ velocity) / speed_sq**2, free)


def _undetermined(residual: MeshResidual) -> bool:
    """Whether constants solve the homogeneous problem and its adjoint: nothing reacts, nothing passes.

    Only then ‖D^{1/2}∇e‖² is all that testing with the error leaves, and its mean is free.
    """
    problem, equation = residual.problem, residual.problem.equation
    given = any(part.condition.trace for part in parts_of(problem, residual.reconstruction.target.mesh))
    steady = equation.reaction.is_zero and not equation.velocity_divergence
    return steady and not given and residual.boundary.natural.closed


def _mean_free_rate(residual: MeshResidual) -> float:
    """λ₁ on functions of mean zero on a box: λ_min(D) times the smallest (π/L)² or, periodic, (2π/L)²."""
    mesh = residual.reconstruction.target.mesh
    lengths = np.ptp(mesh.vertices, axis=1)
    box, measure = float(np.prod(lengths)), float(mesh.cell_measures.sum())
    if abs(box - measure) > _BOX * box:
        return 0.0
    glued = np.any(mesh.facets.shift != 0.0, axis=1)
    smallest = float(np.linalg.eigvalsh(np.moveaxis(residual.diffusion, -1, 0)).min())
    numbers = np.where(glued, 2.0, 1.0) * np.pi / lengths
    return (1.0 - 1e-12) * max(smallest, 0.0) * float((numbers**2).min())
