"""The estimators of arXiv 2604.01200, as a comparator with the interface of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from stfem.checks import checked_whole
from stfem.estimators.errors import distance
from stfem.estimators.estimate import Estimate
from stfem.estimators.paper_fields import PaperFields
from stfem.estimators.paper_stability import paper_stability
from stfem.estimators.run import SlabRun
from stfem.reconstruction import (
    Hermite,
    NodeReconstruction,
    ReconstructedSlab,
    Stencils,
    combine,
    slab_of,
)
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.legendre import gauss, legendre_values
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import point_coordinates, values_at, weighted_gauss
from stfem.timestepping import Node

_UNPROVED = "the estimator integrates and takes suprema at sample points, without bounds of the remainders"


@dataclass(frozen=True)
class PaperEstimator:
    """E of arXiv 2604.01200: bound of ( sup‖u − û‖² + ε∫‖∇(u − û)‖² )^{1/2}.

        û = K^{(q+1)} * u_h,   d_i = ∂_i K_i^{(q+2)} * u_h,   Δ_h = Σ_i ∂_ii K_i^{(q+3)} * u_h,
        R_H = ∂_tû + f'(û)·∇û − ε Δ_h − g,   R1 = ∫‖R_H‖ dt,   E_r2² = ∫‖d − ∇û‖² dt,   e0 = ‖u_0 − û(0)‖,
        E = exp(ΛT) √( c_0 e0² + c_1 R1² + c_2 ε E_r2² )

    K^{(ℓ)} the kernel with splines of order ℓ in every direction, K_i^{(ℓ)} the one with order ℓ in direction
    i and q + 1 in the others; constants in `paper_stability`. Every time step is a slab, Hermite of degree
    2q + 1 in time. The paper starts from the plain L² projection (``initial_correction=False``).

    Parameters
    ----------
    points
        Gauss points per direction and cell; 2q + 3 by default, as in the paper's program.
    times
        Gauss points per slab in time. Suprema include the slab ends.

    Raises
    ------
    ValueError
        For numbers of points below 1.

    References
    ----------
    Giesselmann, Kwon, Krumscheid (2026), arXiv 2604.01200.
    """

    points: int | None = None
    times: int = 2

    def __post_init__(self) -> None:
        for name, value in (("points", self.points), ("times", self.times)):
            if value is not None or name == "times":
                checked_whole(name, value, 1, 64)

    def run(self, semidiscretization: Semidiscretization, nodes: Iterable[Node], order: int) -> Estimate:
        """Estimate from a stream of nodes.

        Parameters are those of `SplitEstimator.run`; the order of the time stepping is not used, the degree
        of the interpolation in time is the paper's. ``facts`` holds e0, R1, E_r2, and, with an exact
        solution, E_rec.

        Raises
        ------
        TypeError, ValueError
            For an equation or a diffusion matrix that the paper does not treat, or fewer than two nodes.
        """
        return self.begin(semidiscretization, nodes, order).consume()

    def begin(self, semidiscretization: Semidiscretization, nodes: Iterable[Node], order: int) -> SlabRun:
        """The pass of `run`, slab by slab."""
        points = self.points if self.points is not None else 2 * semidiscretization.degree + 3
        return _Run(semidiscretization, nodes, points, self.times)


class _Run(SlabRun):
    """One pass over the nodes; all fields are values at Gauss points ``(m, P…, N…)``."""

    PAST = (
        *("initial", "residual", "flux_sq", "gradient_sq", "supremum", "final", "rates"),
        *("residual_cells", "flux_cells", "rows", "seconds_true"),
    )

    def __init__(
        self, semidiscretization: Semidiscretization, nodes: Iterable[Node], points: int, times: int
    ) -> None:
        self.semi, self.problem = semidiscretization, semidiscretization.problem
        self.grid, self.degree = semidiscretization.grid, semidiscretization.degree
        self.equation, self.dim = self.problem.equation, self.grid.dim
        self.stability = paper_stability(self.equation)
        matrix = self.equation.diffusion
        self.eps = float(matrix[0, 0])
        if np.any(matrix != self.eps * np.eye(self.dim)):
            raise ValueError(f"diffusion: expected a multiple of the identity, got {matrix.tolist()}")
        self._abscissae, weights = weighted_gauss(points, self.dim)
        self._weights = weights * self.grid.cell_measure
        self._x = point_coordinates(self.grid, [self._abscissae] * self.dim)
        self._points, self._times = points, gauss(times)
        self._fields = PaperFields(self.grid, self.degree, self._abscissae)
        self._diffused = np.reshape(self.equation.diffused, (-1, *(1,) * 2 * self.dim))
        self.initial = self.residual = self.flux_sq = self.gradient_sq = self.supremum = self.final = 0.0
        self.rates = np.zeros(1)
        self.residual_cells, self.flux_cells = np.zeros(self.grid.cells), np.zeros(self.grid.cells)
        self.rows: list[tuple[float, float, float, float]] = []
        self.seconds_true = 0.0
        self.last: NodeReconstruction | None = None
        self._interpolant = Hermite(max(3, 2 * self.degree + 1))
        self._stencils = Stencils(map(self._fields.at_node, nodes), self._interpolant)

    @property
    def stencils(self) -> Sequence[Stencils[NodeReconstruction]]:
        return (self._stencils,)

    @property
    def _ode(self) -> Semidiscretization:
        return self.semi

    def _reconstructed(self, number: int, node: Node) -> NodeReconstruction:
        return self._fields.at_node(node)

    def advance(self) -> bool:
        """Fields at points → norms → E."""
        stencil = next(self._stencils, None)
        if stencil is None:
            return False
        slab = slab_of(*stencil, self._interpolant)
        if not self.rows:
            u_0 = np.stack([u(self._x, 0.0) for u in self.problem.initial])
            self.initial = self._norm(u_0 - slab.start.state[0, 0])
            self._end(slab.start)
        self._slab(slab)
        self._end(slab.stop)
        self.last, self.time = slab.stop, slab.time.stop
        alpha, beta = self.residual, 0.5 * self.eps * self.flux_sq
        self.rows.append((slab.time.stop, self._bound(slab.time.stop), alpha, beta))
        return True

    def _slab(self, slab: ReconstructedSlab) -> None:
        """Add the integrals over one slab."""
        points, weights = self._times
        basis = legendre_values(slab.time.degree, points)
        data = [node.state[j] for node in slab.nodes for j in range(2)]
        values = combine(basis @ slab.value_modes, data)
        rates = combine(basis @ slab.rate_modes, [field[0] for field in data])
        for k, s in enumerate(points):
            weight, time = float(weights[k]) * slab.time.duration, slab.time.start + s * slab.time.duration
            self._at_time(weight, float(time), values[k], rates[k])
        self._true_gradient(slab)

    def _at_time(self, weight: float, time: float, values: Array, rate: Array) -> None:
        u, gradient, flux = values[0], values[1 : 1 + self.dim], values[1 + self.dim : -1]
        source = self._source(time)
        residual = rate - source - self.eps * self._diffused * values[-1]
        for i in range(self.dim):
            residual += self.equation.jacobian_product(u, gradient[i], self._x, time, i)
        if self.stability.weights is not None:
            residual *= self.stability.weights(u)
        self.rates = np.maximum(self.rates, self.stability.rates(gradient, source))
        local_sq = self._cell_squares(residual)
        size = float(np.sqrt(local_sq.sum()))
        self.residual += weight * size
        if size > 0.0:
            self.residual_cells = self.residual_cells + (weight / size) * local_sq
        flux_sq = self._cell_squares((flux - gradient) * self._diffused)
        self.flux_cells = self.flux_cells + weight * flux_sq
        self.flux_sq += weight * float(flux_sq.sum())

    def _source(self, time: float) -> Array:
        """g at the points, through its projection of degree P − 1 (fast, and exact to that degree)."""
        if all(g.is_zero for g in self.problem.source):
            return np.zeros((self.equation.components, *(1,) * 2 * self.dim))
        degree = self._points - 1
        modes = [g.project(self.grid, degree, time).coefficients for g in self.problem.source]
        return values_at(np.stack(modes), degree, self._abscissae, self.dim)

    def _end(self, node: NodeReconstruction) -> None:
        """Rates and true error at a slab end: suprema include it."""
        u, gradient = node.state[0, 0], node.state[0, 1 : 1 + self.dim]
        self.rates = np.maximum(self.rates, self.stability.rates(gradient, self._source(node.time)))
        if self.problem.exact is not None:
            started = perf_counter()
            self.final = self._norm(self.problem.exact(self._x, node.time) - u)
            self.supremum = max(self.supremum, self.final)
            self.seconds_true += perf_counter() - started

    def _true_gradient(self, slab: ReconstructedSlab) -> None:
        """∫‖∇(u − û)‖² over the slab by the midpoint rule (one exact gradient per step)."""
        if self.problem.exact_gradient is None or self.eps == 0.0:
            return
        started = perf_counter()
        midpoint = legendre_values(slab.time.degree, np.array([0.5])) @ slab.value_modes
        slopes = slice(1, 1 + self.dim)
        gradient = combine(midpoint, [node.state[j, slopes] for node in slab.nodes for j in range(2)])[0]
        error = self.problem.exact_gradient(self._x, slab.time.midpoint) - gradient
        self.gradient_sq += slab.time.duration * self._norm(error * self._diffused) ** 2
        self.seconds_true += perf_counter() - started

    def _cell_squares(self, field: Array) -> Array:
        """∫_K |field|² for every cell of values ``(…, P…, N…)``."""
        squares = (field * field).reshape(-1, *field.shape[-2 * self.dim :]).sum(axis=0) * self._weights
        return np.asarray(squares.sum(axis=tuple(range(self.dim))))

    def _norm(self, field: Array) -> float:
        return float(np.sqrt(self._cell_squares(field).sum()))

    def _bound(self, time: float) -> float:
        exponent = float(self.rates.sum()) * time
        return self.stability.bound(self.initial, self.residual, self.eps * self.flux_sq, exponent)

    def result(self) -> Estimate:
        steps, last = len(self.rows), self.last
        if last is None:
            raise ValueError("nodes: expected at least two time nodes, got fewer")
        problem, exact = self.problem, self.problem.exact is not None
        time, dg = last.node.time, last.node.values
        bound, e_r2 = self._bound(time), float(np.sqrt(self.flux_sq))
        gap = self._norm(last.state[0, 0] - values_at(dg, self.degree, self._abscissae, self.dim))
        times, bounds, alphas, betas = np.array(self.rows).T
        energy = None
        if exact and (problem.exact_gradient is not None or self.eps == 0.0):
            energy = float(np.sqrt(self.supremum**2 + self.eps * self.gradient_sq))
        return Estimate(
            bound=bound,
            bound_final=bound,
            bound_energy=bound,
            bound_l1=None,
            enclosure=(max(0.0, gap - bound), gap + bound),
            parts={
                "initial": self.initial,
                "hyperbolic": self.residual,
                "parabolic": float(np.sqrt(self.eps)) * e_r2,
                "growth": float(np.exp(self.rates.sum() * time)),
            },
            indicators_sq=self.residual * self.residual_cells + 0.5 * self.eps * self.flux_cells,
            assumptions=(*self.equation.stability.assumptions, _UNPROVED),
            unproved=(_UNPROVED,),
            error=self.supremum if exact else None,
            error_final=self.final if exact else None,
            error_energy=energy,
            error_dg=distance(problem, self.grid, self.degree, dg, last.time) if exact else None,
            history={
                "time": times,
                "bound": bounds,
                "alpha": np.diff(alphas, prepend=0.0),
                "beta": np.diff(betas, prepend=0.0),
            },
            facts={
                "e0": self.initial,
                "R1": self.residual,
                "E_r2": e_r2,
                "E_rec": energy,
                "rate": float(self.rates.sum()),
                "steps": steps,
                "slabs": steps,
                "cells": self.grid.cells,
                "degree": self.degree,
                "dofs": self.semi.dofs,
                "lengths": self.grid.lengths,
                "seconds_true_error": self.seconds_true,
            },
        )
