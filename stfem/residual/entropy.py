"""What the entropy of a system needs to know of û on a slab: proved ranges, cell by cell (T4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stfem.data import Interval, PolynomialRange, Slab, cell_ranges
from stfem.equations import CellStates, Entropy, GrowthForm
from stfem.meshes.grid import TensorGrid
from stfem.problems import Problem
from stfem.residual.analytic import interpolation_defect_sq, unproved_quadrature
from stfem.resumable import Resumable
from stfem.spaces.legendre import derivative_matrix
from stfem.spaces.stencil import Array, apply_along

#: Rows of cells of the grid of û, and the modes of û there ``(time, m, p…, cells…)``.
Block = tuple[slice, Array]


@dataclass(frozen=True, eq=False)
class SlabEntropy:
    """Weights, rates and factors of one slab (T4).

    Attributes
    ----------
    roots
        M per cell, ``(m, m, C)``: ∫|MR|² is the square of the hyperbolic part.
    root_weight
        Largest norm of M.
    growth
        2μ.
    coupling
        Factor of p/√ε, as `SlabNorms` holds it, in a.
    left_out
        Bound of the norm of M(∇·f(û) − its interpolation) in L²(slab × Ω); 0 where the flux is a polynomial,
        or where `EntropyMeasure.unproved` says that there is none.
    """

    roots: Array
    root_weight: float
    growth: float
    coupling: float
    left_out: float


class EntropyMeasure(Resumable):
    """Ranges of û and what follows from them, slab by slab.

    Parameters
    ----------
    problem
        Its equation carries the entropy.
    entropy
        That entropy.
    grid, degree
        Grid and degree of û.
    """

    PAST = ("_share", "_unproved")

    def __init__(self, problem: Problem, entropy: Entropy, grid: TensorGrid, degree: int) -> None:
        self._problem, self._entropy = problem, entropy
        self._grid, self._degree, self._dim = grid, degree, grid.dim
        equation = problem.equation
        self._diffuses = bool(np.any(equation.diffusion)) and any(equation.diffused)
        self._share: float | None = None  # θ_X, chosen with the first slab
        self._unproved: dict[str, None] = {}
        if entropy.assumption is not None:
            self._unproved.setdefault(entropy.assumption)
        ones = np.ones((equation.components, 1))
        self._polynomial = equation.flux_degree is not None
        self._bounded = equation.jacobian_bound(ones, ones, ones, 0) is not None
        curved = [c for c, bent in enumerate(entropy.curved) if bent and self._diffuses and entropy.bent]
        self._slopes = [
            _slope(equation.components, self._dim, c, i) for i in range(self._dim) for c in curved
        ]

    @property
    def unproved(self) -> tuple[str, ...]:
        """Sentences about constants and quadrature that are not proved (T4.6)."""
        return tuple(self._unproved)

    @property
    def parabolic_factor(self) -> float:
        """Factor of p²/ε (T4)."""
        return self._entropy.parabolic_factor(self._share or 0.0)

    @property
    def energy_factor(self) -> float:
        """Factor of the root of the dissipation (T4)."""
        return self._entropy.energy_factor(self._share or 0.0)

    def on(self, time: Slab, blocks: Iterable[Block], points: int, times: int) -> SlabEntropy:
        """Measure one slab.

        Parameters
        ----------
        time
            The slab.
        blocks
            All cells, in their order.
        points, times
            Gauss points per direction and in time at which the residual is evaluated.

        Raises
        ------
        ValueError
            Where û leaves the state set on which the constants hold.
        """
        entropy, equation = self._entropy, self._problem.equation
        sources = self._projected(time)
        sets = _StateCheck(entropy, self._dim)
        states, forms, slopes, defects = [], [], [], []
        for rows, modes in blocks:
            flat = np.moveaxis(modes, 1, 1 + self._dim)
            flat = flat.reshape(*flat.shape[: 2 + self._dim], -1)
            sets.take(flat)
            states.append(cell_ranges(flat, 1 + self._dim))
            forms.append(self._ranges(entropy.forms, modes, rows, sources))
            slopes.append(self._ranges(self._slopes, modes, rows, {}))
            if self._bounded and not self._polynomial:
                defects.append(interpolation_defect_sq(equation, self._grid, modes, points, times))
        sets.raise_outside(time)
        cells = CellStates(_joined(states), _joined(forms))
        steepness = self._steepness(_joined(slopes))
        if self._share is None:
            steepest = float(steepness.max())
            self._share = entropy.best_share(steepest, self._problem.final_time) if self._diffuses else 0.0
        rate = float((entropy.rate(cells) + entropy.cross_rate(steepness, self._share or 1.0)).max())
        weight = entropy.residual_weight(cells.state)
        roots, largest = _roots(weight)
        missing = sum(float(part.sum()) for part in defects)
        if not (self._polynomial or (self._bounded and np.isfinite(missing))):
            self._unproved.setdefault(unproved_quadrature(points))
            missing = 0.0
        root_weight = float(largest.max())
        factor = float(np.sqrt(self.parabolic_factor))
        return SlabEntropy(
            roots,
            root_weight,
            rate,
            entropy.coupling(float(steepness.max())) / factor if self._diffuses else 0.0,
            root_weight * float(np.sqrt(missing * self._grid.cell_measure * time.duration)),
        )

    def _projected(self, time: Slab) -> dict[int, tuple[Array, float]]:
        """Modes and remainders of the components of the source that forms need."""
        needed = {int(c) for form in self._entropy.forms for c in np.flatnonzero(form.source)}
        result = {}
        for c in sorted(needed):
            source = self._problem.source[c]
            if not source.is_zero:
                projection = source.project(self._grid, self._degree, time)
                result[c] = projection.coefficients, projection.remainder_sup
        return result

    def _ranges(
        self, forms: Iterable[GrowthForm], modes: Array, rows: slice, sources: dict[int, tuple[Array, float]]
    ) -> Interval:
        """Ranges per cell of forms, ``(F, C)``."""
        found = [self._range(form, modes, rows, sources) for form in forms]
        count = int(np.prod(modes.shape[-self._dim :]))
        return Interval.stack(found) if found else Interval(*np.zeros((2, 0, count)))

    def _range(
        self, form: GrowthForm, modes: Array, rows: slice, sources: dict[int, tuple[Array, float]]
    ) -> Interval:
        total = np.zeros((len(modes), *modes.shape[2:]))
        for i, h in enumerate(self._grid.spacing):
            if np.any(form.gradient[:, i]):
                weighted = np.tensordot(form.gradient[:, i], modes, axes=(0, 1))
                total += apply_along(derivative_matrix(self._degree) / h, weighted, 1 + i)
        remainder = 0.0
        for c, (coefficients, beyond) in sources.items():
            if form.source[c] != 0.0:
                part = np.moveaxis(coefficients, -self._dim, 0)[rows]
                total += form.source[c] * np.moveaxis(part, 0, -self._dim)
                remainder += abs(form.source[c]) * beyond
        ranges = cell_ranges(total.reshape(*total.shape[: 1 + self._dim], -1), 1 + self._dim)
        return Interval(ranges.lower - remainder, ranges.upper + remainder)

    def _steepness(self, slopes: Interval) -> Array:
        """Bounds per cell of |D^{1/2}∇û|² of the curved components."""
        sizes = slopes.magnitude.reshape(self._dim, -1, slopes.lower.shape[-1])
        matrix = np.abs(self._problem.equation.diffusion)
        return np.asarray(np.einsum("ij,icn,jcn->n", matrix, sizes, sizes))


class _StateCheck:
    """Whether û stays in the state set, by Bernstein bounds of its components and constraints."""

    def __init__(self, entropy: Entropy, dim: int) -> None:
        self._states = states = entropy.states
        limited = np.isfinite(states.lower) | np.isfinite(states.upper)
        self._rows = np.concatenate([np.eye(len(limited))[limited], states.constraints])
        self._lower = np.concatenate([states.lower[limited], np.zeros(len(states.constraints))])
        self._upper = np.concatenate([states.upper[limited], np.full(len(states.constraints), np.inf)])
        self._ranges = [PolynomialRange(dim + 1) for _ in self._rows]

    def take(self, modes: Array) -> None:
        """Cells with modes ``(time, p…, m, C)``."""
        for row, found in zip(self._rows, self._ranges, strict=True):
            found.take(np.tensordot(modes, row, axes=(modes.ndim - 2, 0)))

    def raise_outside(self, time: Slab) -> None:
        for row, low, high, found in zip(self._rows, self._lower, self._upper, self._ranges, strict=True):
            lower, upper = found.value()
            if lower < low or upper > high:
                terms = [f"{a:g}·u_{c}" if a != 1.0 else f"u_{c}" for c, a in enumerate(row) if a != 0.0]
                raise ValueError(
                    f"state set: expected the reconstruction within {low:g} ≤ {' + '.join(terms)} "
                    f"≤ {high:g}, got {lower:.6g} … {upper:.6g} on [{time.start:g}, {time.stop:g}]; "
                    "refine the grid or enlarge the state set of the equation"
                )


def _slope(components: int, dim: int, component: int, direction: int) -> GrowthForm:
    """∂_iû_c."""
    gradient = np.zeros((components, dim))
    gradient[component, direction] = 1.0
    return GrowthForm(gradient, (), np.zeros(components))


def _joined(parts: list[Interval]) -> Interval:
    """Ranges of blocks of cells, one after the other."""
    return Interval(
        *(np.concatenate([getattr(p, end) for p in parts], axis=-1) for end in ("lower", "upper"))
    )


def _roots(weight: Array) -> tuple[Array, Array]:
    """Symmetric roots of matrices ``(m, m, C)``, rounded up, and their norms."""
    values, vectors = np.linalg.eigh(np.moveaxis(weight, -1, 0))
    stretched = np.sqrt(np.maximum(values, 0.0) + 1e-13 * values[:, -1:])
    roots = (vectors * stretched[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return np.ascontiguousarray(np.moveaxis(roots, 0, -1)), stretched[:, -1]
