"""True errors of runs on a torus, integrated independently of the library, and what lies below them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import legendre
from random_problems import Array, Case

from stfem import SplitEstimator
from stfem.reconstruction import ReconstructedSlab, reconstructed_slabs
from stfem.solution import Solution

GAUSS_TIMES, RANDOM_TIMES = 6, 5
EXTRA_POINTS, LEAST_CELLS, SUBCELLS_L1 = 6, 8, 4
RELATIVE_SLACK, ROUND_OFF = 1e-9, 1e-14


@dataclass(frozen=True)
class Accuracy:
    """How true errors are integrated.

    Attributes
    ----------
    extra_points
        Gauss points per piece beyond the degree of û.
    least_cells
        Pieces per direction at least.
    gauss_times, random_times
        Times at which a slab is looked at, besides its ends.
    subcells_l1
        Pieces per direction of each of these, where |e| has kinks.
    """

    extra_points: int = EXTRA_POINTS
    least_cells: int = LEAST_CELLS
    gauss_times: int = GAUSS_TIMES
    random_times: int = RANDOM_TIMES
    subcells_l1: int = SUBCELLS_L1


COMPLETE = Accuracy()


class Quadrature:
    """Composite Gauss rule on the cells of a grid, with tables of Legendre modes at its points.

    Parameters
    ----------
    lengths, cells, degree
        Grid, and degree of the piecewise polynomials.
    finer
        Sub-cells beyond those that coarse grids get anyway, for all directions or for each.
    accuracy
        Points and pieces.
    """

    def __init__(
        self,
        lengths: Sequence[float],
        cells: Sequence[int],
        degree: int,
        finer: Sequence[int] | int = 1,
        accuracy: Accuracy = COMPLETE,
    ) -> None:
        z, w = legendre.leggauss(degree + accuracy.extra_points)
        norms = np.sqrt(2.0 * np.arange(degree + 1) + 1.0)
        slopes = legendre.legder(np.eye(degree + 1)) if degree else np.zeros((1, 1))
        self.axes, self.weights, self._tables, self._slopes = [], [], [], []
        for length, count, more in zip(
            lengths, cells, np.broadcast_to(finer, len(cells)).tolist(), strict=True
        ):
            pieces = more * math.ceil(accuracy.least_cells / count)
            local = ((np.arange(pieces)[:, None] + 0.5 * (1.0 + z)) / pieces).ravel()
            h = length / count
            self.axes.append(((np.arange(count)[:, None] + local) * h).ravel())
            self.weights.append(np.tile(np.tile(0.5 * w / pieces, pieces) * h, count))
            self._tables.append(legendre.legvander(2.0 * local - 1.0, degree) * norms)
            slope = legendre.legvander(2.0 * local - 1.0, max(degree - 1, 0)) @ slopes
            self._slopes.append(slope * norms * (2.0 / h))

    def values(self, modes: Array, direction: int | None = None) -> Array:
        """A field ``(times, p…, N…)``, or its derivative, at the points: array (times, points…)."""
        dim = len(self.axes)
        values = modes
        for i in range(dim):
            table = self._slopes[i] if i == direction else self._tables[i]
            values = np.moveaxis(np.tensordot(table, values, (1, 1 + i)), 0, 1 + i)
        pairs = [axis for i in range(dim) for axis in (1 + dim + i, 1 + i)]
        return np.asarray(values.transpose(0, *pairs).reshape(len(modes), *(len(axis) for axis in self.axes)))

    def integral(self, values: Array) -> Array:
        """Integrals over Ω of values (times, points…)."""
        for weights in reversed(self.weights):
            values = np.asarray(values @ weights)
        return values


def sizes(values: Array, integral: Callable[[Array], Array]) -> Array:
    """Norms in L² of values (times, points…); squares of tiny and of huge ones stay inside of the range."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest * np.sqrt(integral((values / largest) ** 2)) if largest > 0.0 else np.zeros(len(values))


class Truth:
    """True errors of one run, sampled at Gauss times, random times and both ends of every slab.

    Parameters
    ----------
    case
        With the exact solution, of which `Case.reach` are the largest wave numbers that the quadrature must
        resolve beyond what it does on any grid.
    solution
        With its history.
    estimator
        Whose slabs these are.
    ends
        Times at which slabs end.
    accuracy
        Points and times.

    Attributes
    ----------
    size, supremum, final, energy, l1, dg
        sup‖u‖, sup‖u − û‖, the same at T, in the energy norm, in L¹ (NaN for systems), and ‖u(T) − u_h(T)‖.
    """

    def __init__(
        self,
        case: Case,
        solution: Solution,
        estimator: SplitEstimator,
        ends: Iterable[float],
        accuracy: Accuracy = COMPLETE,
    ) -> None:
        self.case, self.solution, self._accuracy = case, solution, accuracy
        siac = case.reconstruction.bind(solution.semidiscretization)
        nodes, times = list(solution.nodes()), {0.0, *ends}
        chosen = [node for node in nodes if node.time in times]
        interpolant = estimator.interpolant_for(solution.stepper.order)
        lengths = case.problem.domain.lengths
        finer = self._pieces(siac.grid.spacing, siac.degree)
        self._quadrature = Quadrature(lengths, siac.grid.cells, siac.degree, finer, accuracy)
        self._diffused = np.flatnonzero(case.problem.equation.diffused)
        self._rng = np.random.default_rng([case.seed, 1])
        self.size = self.supremum = self._dissipated = 0.0
        for slab in reconstructed_slabs((siac.at_node(node) for node in chosen), interpolant):
            self._take(slab)
        end = np.array([case.problem.final_time])
        last = siac.at_node(nodes[-1]).state[0]
        self.final = self._norm(self._quadrature, last, end)
        coarse = self._pieces(solution.semidiscretization.grid.spacing, case.degree)
        self.dg = self._norm(
            Quadrature(lengths, case.cells, case.degree, coarse, accuracy), nodes[-1].values, end
        )
        self.l1 = math.nan
        if len(case.fields) == 1:
            fine = Quadrature(
                lengths, siac.grid.cells, siac.degree, [accuracy.subcells_l1 * n for n in finer], accuracy
            )
            gap = case.fields[0](fine.axes, end) - fine.values(last)
            self.l1 = float(fine.integral(np.abs(gap))[0])
        self.energy = math.hypot(self.supremum, self._dissipated)

    def _pieces(self, spacing: Sequence[float], degree: int) -> list[int]:
        """Sub-cells on which the square of u turns by as many radians as there are points, or less."""
        turns = [2.0 * k * h for k, h in zip(self.case.reach.tolist(), spacing, strict=True)]
        return [max(1, math.ceil(turn / (degree + self._accuracy.extra_points))) for turn in turns]

    def _norm(self, quadrature: Quadrature, modes: Array, times: Array) -> float:
        gaps = (
            field(quadrature.axes, times) - quadrature.values(part[None])
            for field, part in zip(self.case.fields, modes, strict=True)
        )
        return math.hypot(*(float(sizes(gap, quadrature.integral)[0]) for gap in gaps))

    def _take(self, slab: ReconstructedSlab) -> None:
        quadrature, matrix = self._quadrature, self.case.problem.equation.diffusion
        count = self._accuracy.gauss_times
        z, weights = legendre.leggauss(count)
        local = np.concatenate([z, self._rng.uniform(-1.0, 1.0, self._accuracy.random_times), [-1.0, 1.0]])
        degree = slab.time.degree
        in_time = legendre.legvander(local, degree) * np.sqrt(2.0 * np.arange(degree + 1) + 1.0)
        data = np.concatenate([node.state for node in slab.nodes])
        modes = np.moveaxis(np.tensordot(in_time @ slab.value_modes, data, axes=1), 1, 0)
        times = slab.time.start + 0.5 * (1.0 + local) * slab.time.duration
        size, error = np.zeros((2, len(times)))
        for field, part in zip(self.case.fields, modes, strict=True):
            exact = field(quadrature.axes, times)
            size = np.hypot(size, sizes(exact, quadrature.integral))
            error = np.hypot(error, sizes(exact - quadrature.values(part), quadrature.integral))
        self.size = max(self.size, float(size.max()))
        self.supremum = max(self.supremum, float(error.max()))
        if not matrix.any():
            return
        inner_times, root = times[:count], np.sqrt(0.5 * slab.time.duration * weights)
        for c in self._diffused:
            field, inner = self.case.fields[c], modes[c, :count]
            slopes = np.stack(
                [
                    field(quadrature.axes, inner_times, i) - quadrature.values(inner, i)
                    for i in range(len(matrix))
                ]
            )
            for row in root_of(matrix):
                normal = sizes(np.tensordot(row, slopes, 1), quadrature.integral)
                self._dissipated = math.hypot(self._dissipated, *(root * normal))


def root_of(matrix: Array) -> Array:
    """B with BᵀB = D, also where its entries are denormal; no row of it vanishes."""
    largest = float(np.abs(matrix).max())
    eigenvalues, vectors = np.linalg.eigh(matrix / largest)
    rows = math.sqrt(largest) * np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T
    return np.asarray(rows[rows.any(axis=1)])


def violations(
    pairs: Mapping[str, tuple[float, float]], size: float, slack: float = RELATIVE_SLACK
) -> list[str]:
    """Names of the pairs (upper, lower) with upper below lower by more than round-off; size is ‖u‖."""
    return [
        name
        for name, (upper, lower) in pairs.items()
        if not upper * (1.0 + slack) + ROUND_OFF * size >= lower
    ]
