"""True errors against an exact solution, measured independently of the bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from stfem.equations import is_diagonal
from stfem.meshes.grid import TensorGrid
from stfem.problems import ExactData, Problem
from stfem.reconstruction import ReconstructedSlab
from stfem.resumable import Resumable
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array, apply_matrix
from stfem.spaces.tensor import point_coordinates, values_at, weighted_gauss

Field = Callable[[Array, float], Array]
#: Σ weight · entry of an exact field, and the polynomial ``(p_1, …, p_d, N_1, …, N_d)`` it is compared with.
Pair = tuple[list[tuple[float, tuple[int, ...]]], Array]

_NEGLIGIBLE = 1e-8  # share in a squared error of what the modes of u leave out
_MORE_DEGREES = (0, 2, 4, 8)  # of these modes beyond those of û, as far as that share needs
_BLOCK = 1 << 20  # points held at once


class TrueError(Resumable):
    """Accumulates sup_t ‖u − û‖, its value at the end, and ∫‖D^{1/2}∇(u − û)‖² over a run.

    It needs `Problem.exact`. Against `ExactData` there is no quadrature in space.

    Parameters
    ----------
    problem
        Problem with an exact solution.
    grid, degree
        Grid and degree of û.
    extra_points
        Gauss points per direction beyond degree + 1, for exact solutions that only have values.
    times
        Gauss points in time per slab. The supremum is the largest of samples: slab ends are added, and tops
        that the samples tell of.
    """

    PAST = ("supremum", "final", "gradient_sq", "_started")

    def __init__(
        self, problem: Problem, grid: TensorGrid, degree: int, extra_points: int = 2, times: int = 1
    ) -> None:
        if problem.exact is None:
            raise ValueError("exact: expected a problem with an exact solution, got None")
        self.exact, self.exact_gradient = problem.exact, problem.exact_gradient
        self.grid, self.degree = grid, degree
        self._points = degree + 1 + extra_points
        self._times = gauss(times)
        self._root = _root(problem.equation.diffusion)
        self._diffused = np.flatnonzero(problem.equation.diffused)
        self.supremum = self.final = 0.0
        self.gradient_sq = 0.0
        self._started = False

    def take(self, slab: ReconstructedSlab) -> None:
        """Measure one slab: its ends, of which neighbours share one, and the Gauss times inside.

        Where a parabola through start, middle and stop has its top inside of the slab, above all errors so
        far, the error is measured there too: on long slabs it may be well above the others.
        """
        if not self._started:
            self._measure(slab.start.state[0], slab.time.start)
            self._started = True
        begin, inside = self.final, []
        points, weights = self._times
        for s, weight in zip(points.tolist(), weights.tolist(), strict=True):
            field, time = self._within(slab, s)
            inside.append(self._measure(field, time))
            self.gradient_sq += weight * slab.time.duration * self._dissipation(field, time)
        end = self._measure(slab.stop.state[0], slab.time.stop)
        middle = len(inside) // 2
        top = self._top(float(points[middle]), (begin, inside[middle], end))
        if top is not None:
            self._measure(*self._within(slab, top))
            self.final = end

    def _top(self, middle: float, errors: tuple[float, float, float]) -> float | None:
        """Where the parabola through errors at 0, `middle` and 1 has a top that exceeds the supremum."""
        constant, slope, curvature = np.polynomial.polynomial.polyfit((0.0, middle, 1.0), errors, 2).tolist()
        if not curvature < 0.0 < slope < -2.0 * curvature:
            return None
        top = -0.5 * slope / curvature
        return top if constant + 0.5 * slope * top > (1.0 + _NEGLIGIBLE) * self.supremum else None

    def _within(self, slab: ReconstructedSlab, s: float) -> tuple[Array, float]:
        """û and the time at the part s of a slab."""
        states = [node.state[j] for node in slab.nodes for j in range(2)]
        combination = legendre_values(slab.time.degree, np.array([s]))[0] @ slab.value_modes
        return _combined(combination, states), slab.time.start + s * slab.time.duration

    def _measure(self, field: Array, time: float) -> float:
        self.final = self.distance(field, time)
        if not math.isfinite(self.final):
            raise ValueError(f"exact: expected finite values, got others at t = {time:g}")
        self.supremum = max(self.supremum, self.final)
        return self.final

    def distance(self, field: Array, time: float) -> float:
        """‖u(t) − v‖ for a modal field v ``(m, p_1, …, p_d, N_1, …, N_d)``."""
        pairs: Iterator[Pair] = (([(1.0, (c,))], modes) for c, modes in enumerate(field))
        return math.sqrt(_distance_sq(self.exact, pairs, self.grid, time, self._points))

    @property
    def energy(self) -> float | None:
        """( sup‖e‖² + ∫‖D^{1/2}∇e‖² )^{1/2}, None without an exact gradient."""
        if self.exact_gradient is None:
            return None
        return math.sqrt(self.supremum**2 + self.gradient_sq)

    def _dissipation(self, field: Array, time: float) -> float:
        """‖D^{1/2}∇e‖² of the diffusing components at one time."""
        if self.exact_gradient is None or not len(self._root):
            return 0.0
        return _distance_sq(self.exact_gradient, self._slopes(field), self.grid, time, self._points)

    def _slopes(self, field: Array) -> Iterator[Pair]:
        """Σ_i B_ri ∂_i of exact solution and field, for the rows of B with BᵀB = D."""
        dim = self.grid.dim
        slope = derivative_matrix(field.shape[1] - 1)
        for row in self._root:
            used = np.flatnonzero(row).tolist()
            for c in self._diffused.tolist():
                modes = [
                    apply_matrix(slope * (row[i] / self.grid.spacing[i]), field[c], i, dim) for i in used
                ]
                yield [(float(row[i]), (i, c)) for i in used], sum(modes[1:], modes[0])


def distance(
    problem: Problem, grid: TensorGrid, degree: int, field: Array, time: float, extra_points: int = 4
) -> float:
    """‖u(t) − v‖ for a piecewise polynomial v, modes ``(m, p…, N…)``."""
    return TrueError(problem, grid, degree, extra_points).distance(field, time)


def _root(matrix: Array) -> Array:
    """B with BᵀB = D and no vanishing rows, sparse where D is."""
    if is_diagonal(matrix):
        root = np.diag(np.sqrt(np.diag(matrix)))
    else:
        eigenvalues, vectors = np.linalg.eigh(matrix)
        root = np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T
    return np.asarray(root[np.any(root != 0.0, axis=1)])


def _combined(weights: Array, arrays: list[Array]) -> Array:
    """Linear combination that holds one more array than its result."""
    total = weights[0] * arrays[0]
    for weight, array in zip(weights[1:], arrays[1:], strict=True):
        total += weight * array
    return np.asarray(total)


def _distance_sq(exact: Field, pairs: Iterable[Pair], grid: TensorGrid, time: float, points: int) -> float:
    """Sum over the pairs of ‖f − v‖²."""
    if isinstance(exact, ExactData):
        return sum(_by_modes(exact, pair, grid, time) for pair in pairs)
    return _by_points(exact, list(pairs), grid, time, points)


def _by_modes(exact: ExactData, pair: Pair, grid: TensorGrid, time: float) -> float:
    """‖f − v‖² = |K| Σ (f_k − v_k)² + ‖(I−P)f‖² (Parseval), with modes of f known in closed form.

    The last term is bounded from above, so that a true error is never too small; the modes go as far as it
    takes to make it negligible.
    """
    terms, modes = pair
    for more in _MORE_DEGREES:
        degree = modes.shape[0] - 1 + more
        parts = [exact.project(index, grid, degree, time) for _, index in terms]
        difference = _combined(np.array([weight for weight, _ in terms]), [part[0] for part in parts])
        difference[(slice(modes.shape[0]),) * grid.dim] -= modes
        kept = grid.cell_measure * float(np.vdot(difference, difference))
        left_out = sum(abs(weight) * part[1] for (weight, _), part in zip(terms, parts, strict=True)) ** 2
        if left_out <= _NEGLIGIBLE * kept:
            break
    return kept + left_out


def _by_points(exact: Field, pairs: list[Pair], grid: TensorGrid, time: float, points: int) -> float:
    """‖f − v‖² by Gauss quadrature, in blocks of cells along the first direction."""
    dim, degree = grid.dim, pairs[0][1].shape[0] - 1
    abscissae, weights = weighted_gauss(points, dim)
    layers = max(1, _BLOCK // (points**dim * math.prod(grid.cells[1:])))
    corner = np.zeros((dim,) + (1,) * (2 * dim))
    total = 0.0
    for start in range(0, grid.cells[0], layers):
        count = min(layers, grid.cells[0] - start)
        corner[0] = start * grid.spacing[0]
        block = TensorGrid((count * grid.spacing[0], *grid.lengths[1:]), (count, *grid.cells[1:]))
        values = exact(point_coordinates(block, [abscissae] * dim) + corner, time)
        for terms, modes in pairs:
            part = modes[(slice(None),) * dim + (slice(start, start + count),)]
            error = sum(weight * values[index] for weight, index in terms)
            error = error - values_at(part, degree, abscissae, dim)
            total += float((error**2 * weights).sum())
    return total * grid.cell_measure
