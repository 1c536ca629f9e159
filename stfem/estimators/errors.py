"""True errors against an exact solution, integrated independently of the bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stfem.meshes.grid import TensorGrid
from stfem.problems import Problem
from stfem.reconstruction import ReconstructedSlab, combine
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array, apply_matrix
from stfem.spaces.tensor import point_coordinates, values_at, weighted_gauss

Field = Callable[[Array, float], Array]


class TrueError:
    """Accumulates sup_t ‖u − û‖, its value at the end, and ∫‖D^{1/2}∇(u − û)‖² over a run.

    It needs `Problem.exact`.

    Parameters
    ----------
    problem
        Problem with an exact solution.
    grid, degree
        Grid and degree of û.
    extra_points
        Gauss points per direction beyond degree + 1.
    times
        Gauss points in time per slab; slab ends are added for the supremum.
    """

    def __init__(
        self, problem: Problem, grid: TensorGrid, degree: int, extra_points: int = 2, times: int = 1
    ) -> None:
        self.problem, self.grid, self.degree = problem, grid, degree
        self._abscissae, weights = weighted_gauss(degree + 1 + extra_points, grid.dim)
        self._weights = weights * grid.cell_measure
        self._x = point_coordinates(grid, [self._abscissae] * grid.dim)
        self._times = gauss(times)
        self.supremum = self.final = 0.0
        self.gradient_sq = 0.0
        self._started = False

    def take(self, slab: ReconstructedSlab) -> None:
        """Measure one slab: its ends and the Gauss times inside."""
        states = [node.state[j] for node in slab.nodes for j in range(2)]
        points, weights = self._times
        local = np.concatenate([[] if self._started else [0.0], points, [1.0]])
        self._started = True
        fields = combine(legendre_values(slab.time.degree, local) @ slab.value_modes, states)
        for s, field in zip(local, fields, strict=True):
            time = slab.time.stop if s == 1.0 else slab.time.start + s * slab.time.duration
            self.final = self._norm(self.exact(time) - self._values(field))
            self.supremum = max(self.supremum, self.final)
            if self.problem.exact_gradient is not None and 0.0 < s < 1.0:
                weight = float(weights[int(np.argmin(np.abs(points - s)))]) * slab.time.duration
                self.gradient_sq += weight * self._dissipation(self.problem.exact_gradient, field, time)

    def exact(self, time: float) -> Array:
        """u at the points."""
        if self.problem.exact is None:
            raise ValueError("exact: expected a problem with an exact solution, got None")
        return self.problem.exact(self._x, time)

    @property
    def energy(self) -> float | None:
        """( sup‖e‖² + ∫‖D^{1/2}∇e‖² )^{1/2}, None without an exact gradient."""
        if self.problem.exact_gradient is None:
            return None
        return float(np.sqrt(self.supremum**2 + self.gradient_sq))

    def _values(self, field: Array) -> Array:
        return values_at(field, self.degree, self._abscissae, self.grid.dim)

    def _norm(self, values: Array) -> float:
        return float(np.sqrt((values**2 * self._weights).sum()))

    def _dissipation(self, gradient: Field, field: Array, time: float) -> float:
        """‖D^{1/2}∇e‖² of the diffusing components at one time."""
        equation = self.problem.equation
        if not np.any(equation.diffusion):
            return 0.0
        exact = gradient(self._x, time)
        slope = derivative_matrix(self.degree)
        weights = np.reshape(equation.diffused, (-1, *(1,) * (2 * self.grid.dim)))
        error = [
            (exact[i] - self._values(apply_matrix(slope / h, field, i, self.grid.dim))) * weights
            for i, h in enumerate(self.grid.spacing)
        ]
        total = 0.0
        for i, row in enumerate(equation.diffusion):
            for j, entry in enumerate(row):
                if entry != 0.0:
                    total += float(entry) * float((error[i] * error[j] * self._weights).sum())
        return total


def distance(
    problem: Problem, grid: TensorGrid, degree: int, field: Array, time: float, extra_points: int = 4
) -> float:
    """‖u(t) − v‖ for a piecewise polynomial v, modes ``(m, p…, N…)``, by Gauss quadrature."""
    measure = TrueError(problem, grid, degree, extra_points)
    return measure._norm(measure.exact(time) - measure._values(field))
