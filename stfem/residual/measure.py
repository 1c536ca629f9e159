"""Integrals of the residual parts over one slab, block of cells by block of cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stfem.data import Data, Slab
from stfem.reconstruction import ReconstructedSlab
from stfem.residual.entropy import SlabEntropy
from stfem.residual.sampling import Coefficients, Sampler, weighted_values
from stfem.residual.terms import LinearTerms, joined
from stfem.spaces.rows import flat_cells, row_blocks
from stfem.spaces.stencil import Array, apply_along, cell_rows, refined_rows

if TYPE_CHECKING:
    from stfem.residual.split import ResidualSplit

#: Values held at once while a slab is measured at Gauss points; a block of this size stays in the cache.
BLOCK_VALUES = 1 << 18
#: Degree up to which velocity and reaction are expanded on a cell; their remainder is bounded (T4.6).
COEFFICIENT_DEGREE = 8
#: Part of the residual that the expansion of the source may leave to its remainder bound.
SOURCE_TOLERANCE = 1e-3


@dataclass(eq=False)
class SlabMeasure:
    """Accumulates the integrals of one slab, block of cells by block of cells.

    Parameters
    ----------
    split, slab
        What is measured.
    family
        Whether all members of the flux family are wanted, or λ = 1 alone (then all count as λ = 1).
    entropy
        Weights of the residual of a system.

    Attributes
    ----------
    residual_sq, cross, difference_sq, flux_sq
        As of `SlabNorms`, without the measure of a cell and the duration; cells in a row.
    cell_means
        As of `SlabNorms`, cells in a row.
    remainder
        Bound of ∫_slab of what data leave out of R_0 in L².
    mean
        Bound of ∫_slab |∫_Ω R|.
    sizes, magnitude
        Norms of the coefficients of û and ∂_tû at every node, and of what is added up in the residual there,
        ``(2k,)``.
    """

    split: ResidualSplit
    slab: ReconstructedSlab
    family: bool
    entropy: SlabEntropy | None = None

    def run(self) -> None:
        """Measure with the source in the degrees of û.

        Once more in higher ones where those leave out too much.
        """
        split, slab = self.split, self.slab
        times = slab.time.degree + 1 if split.modal else split.times_needed(slab.time)
        points = split.degree + 1 if split.modal else split.points_needed()
        coefficients, left_out = self._coefficients()
        # the highest degrees whose squares the Gauss points integrate exactly, up to twice those of û
        high = (min(2 * split.degree, points - 1), min(2 * slab.time.degree, times - 1))
        for degrees in dict.fromkeys(((split.degree, slab.time.degree), high)):
            source, beyond = self._source(*degrees)
            self._all_cells(times, points, source, coefficients)
            size = float(np.sqrt(self.residual_sq.sum() * split.grid.cell_measure)) * slab.time.duration
            if beyond <= SOURCE_TOLERANCE * size:
                break
        self.remainder = beyond + self._left_out(*left_out)
        if self.entropy is not None:
            self.remainder += float(np.sqrt(slab.time.duration)) * self.entropy.left_out
        self.mean += float(np.sqrt(split.grid.measure)) * self.remainder

    def _all_cells(
        self,
        times: int,
        points: int,
        source: Callable[[slice], Array] | None,
        coefficients: Coefficients | None,
    ) -> None:
        """Sums over all cells: fields on some rows of cells, squares in blocks that stay in the cache."""
        split, slab, dim = self.split, self.slab, self.split.dim
        count, entries = split.grid.size, 2 * len(slab.nodes)
        self.residual_sq, self.cross, self.difference_sq, self.flux_sq = np.zeros((4, count))
        self.cell_means = np.zeros((times, count))
        self._squares, self._speeds = np.zeros((3 + dim, entries)), np.zeros(entries)
        pieces = split.grid.cells[0] // split.scheme_grid.cells[0]
        degree, components = slab.time.degree, split.equation.components
        in_time = np.eye(times) if split.modal else weighted_values(degree, times)
        sampler = (
            None if split.modal else Sampler(split.equation, split.grid, split.degree, slab, times, points)
        )
        step = max(1, BLOCK_VALUES // (times * points**dim * components))
        values = entries * components * (split.degree + 1) ** dim
        for rows, cells in row_blocks(split.scheme_grid, split.grid, values):
            terms = self._terms(rows, cells)
            given = None if source is None else flat_cells(source(refined_rows(rows, pieces)), dim)
            for first in range(cells.start, cells.stop, step):
                block = slice(first, min(first + step, cells.stop))
                part = slice(block.start - cells.start, block.stop - cells.start)
                own = None if given is None else cell_rows(given, part, dim)
                self._block(block, terms(block), in_time, sampler, own, coefficients)
        mean = self.cell_means.sum(axis=1)
        self.mean = slab.time.duration * split.grid.cell_measure * float(np.linalg.norm(mean))

    def _terms(self, rows: slice, cells: slice) -> Callable[[slice], LinearTerms]:
        """Terms on ranges of the cells in some rows.

        Where all slabs are measured here, a node's terms serve all its slabs; else they come and go.
        """
        split, slab, dim = self.split, self.slab, self.split.dim
        if not split.from_nodes:
            kept = [split.node_terms(node) for node in slab.nodes]
            self._squares = np.concatenate([entry.squares for entry in kept], axis=1)
            return lambda block: joined([entry.on(block, dim) for entry in kept])
        state = flat_cells(slab.states_on(rows), dim)
        fluxes = tuple(flat_cells(flux, dim) for flux in (slab.fluxes_on(rows) if self.family else ()))

        def build(block: slice) -> LinearTerms:
            part = slice(block.start - cells.start, block.stop - cells.start)
            return split.terms.build(
                cell_rows(state, part, dim), tuple(cell_rows(flux, part, dim) for flux in fluxes)
            )

        return build

    @property
    def sizes(self) -> Array:
        """Norms of û and ∂_tû at every node."""
        return np.asarray(np.sqrt(self._squares[0]))

    @property
    def magnitude(self) -> Array:
        """Norms of the terms of the residual there, f'(û)∇û with the largest wave speed."""
        roots = np.sqrt(self._squares[1:])
        return np.asarray(roots[0] + roots[1] + self._speeds * roots[2:].sum(axis=0))

    def _source(self, degree: int, degree_time: int) -> tuple[Callable[[slice], Array] | None, float]:
        """Modes ``(time, m, p…, N…)`` of the projected source on rows, and what they leave out (T4.6).

        The latter as a bound of its ∫_slab.
        """
        split, slab = self.split, self.slab
        if all(g.is_zero for g in split.problem.source):
            return None, 0.0
        time = Slab(slab.time.start, slab.time.stop, degree_time)
        projections = [g.project_rows(split.grid, degree, time) for g in split.problem.source]
        left_out = self._root_weight * np.sqrt(sum(p.remainder_l2**2 for p in projections))

        def modes(rows: slice) -> Array:
            return np.stack([p.on(rows) for p in projections], axis=1)

        return modes, float(np.sqrt(slab.time.duration) * left_out)

    def _coefficients(self) -> tuple[Coefficients | None, tuple[Array, float]]:
        """Projected velocity (with ∇·b and c joined, since both multiply û) for variable linear problems.

        And what that leaves out of b in every direction, and of ∇·b and c together.
        """
        split = self.split
        velocity: list[Array | None] = [None] * split.dim
        zeroth: Array | None = None
        of_velocity, of_zeroth = np.zeros(split.dim), 0.0
        if not split.has_coefficients:
            return None, (of_velocity, of_zeroth)
        varying = split.equation.linear and not split.constant_velocity
        if varying:
            for i, b in enumerate(split.equation.velocity):
                velocity[i], of_velocity[i] = self._expanded(b)
        factors = list(split.equation.velocity_divergence) if varying else []
        if split.variable_reaction is not None:
            factors.append(split.variable_reaction)
        for datum in factors:
            if not datum.is_zero:
                modes, remainder = self._expanded(datum)
                zeroth = modes if zeroth is None else zeroth + modes
                of_zeroth += remainder
        return (velocity, zeroth), (of_velocity, of_zeroth)

    def _left_out(self, of_velocity: Array, of_zeroth: float) -> float:
        """∫_slab of what the coefficients leave out, times ∇û and û (T4.6)."""
        split, slab = self.split, self.slab
        size = self._root_weight * float(np.sqrt(split.grid.cell_measure)) * slab.time.duration
        roots = np.sqrt(self._squares)
        terms = of_velocity @ roots[3:] + of_zeroth * roots[0]
        return size * float(np.abs(slab.value_modes).sum(axis=0) @ terms)

    def _expanded(self, datum: Data) -> tuple[Array, float]:
        time = self.slab.time
        degree = COEFFICIENT_DEGREE if self.split.coefficients_in_time() else 0
        projection = datum.project(self.split.grid, COEFFICIENT_DEGREE, Slab(time.start, time.stop, degree))
        return projection.coefficients, projection.remainder_sup

    def _block(
        self,
        block: slice,
        terms: LinearTerms,
        in_time: Array,
        sampler: Sampler | None,
        source: Array | None,
        coefficients: Coefficients | None,
    ) -> None:
        """Add the integrals over a range of cells."""
        split, slab = self.split, self.slab
        states = terms.state
        self._squares += terms.squares
        residual = apply_along(in_time @ slab.rate_modes, states, 0)
        residual += apply_along(in_time @ slab.value_modes, terms.linear, 0)
        if sampler is None:
            if source is not None:
                residual -= source
            means = residual[:, 0].reshape(len(in_time), (split.degree + 1) ** split.dim, -1)[:, 0]
        else:
            speed = split.speed_bound(states[::2], slab.time)
            self._speeds = np.maximum(self._speeds, np.repeat(speed, 2))
            residual = sampler.residual(residual, states, lambda f: self._cut(f, block), source, coefficients)
            means = sampler.cell_means(residual[:, 0])
        self.cell_means[:, block] = means.reshape(len(in_time), -1)
        chosen = [c for c, w in enumerate(split.equation.diffused) if w]
        difference = None
        if terms.difference is not None:
            difference = apply_along(in_time @ slab.value_modes, terms.difference, 0)
            difference = difference if sampler is None else sampler.weighted(difference)
        if self.entropy is not None:
            roots = self.entropy.roots[..., block]
            residual = _weighted(roots, residual)
            difference = None if difference is None else _weighted(roots[:, chosen], difference)
            chosen = list(range(split.equation.components))
        _add(self.residual_sq[block], residual, residual)
        if difference is None:
            return
        _add(self.cross[block], residual[:, chosen], difference)
        _add(self.difference_sq[block], difference, difference)
        self._add_flux(block, terms.flux)

    def _add_flux(self, block: slice, fluxes: tuple[Array, ...]) -> None:
        """∫∫|D^{-1/2}Φ_0|², always in modes."""
        inverse = self.split.inverse_diffusion
        flux = [apply_along(self.slab.value_modes, component, 0) for component in fluxes]
        for i, first in enumerate(flux):
            _add(self.flux_sq[block], first * inverse[i, i], first)
            for j, second in enumerate(flux[:i]):
                if inverse[i, j] != 0.0:
                    common = tuple(
                        slice(0, min(a, b)) for a, b in zip(first.shape, second.shape, strict=True)
                    )
                    _add(self.flux_sq[block], 2.0 * inverse[i, j] * first[common], second[common])

    @property
    def _root_weight(self) -> float:
        """Largest factor by which the weights stretch a residual."""
        return 1.0 if self.entropy is None else self.entropy.root_weight

    def _cut(self, field: Array, block: slice) -> Array:
        """A range of cells of a field on all cells."""
        return cell_rows(flat_cells(field, self.split.dim), block, self.split.dim)


def _weighted(roots: Array, field: Array) -> Array:
    """Matrices ``(m, k, C)`` times a field ``(time, k, …, C)``, cell by cell."""
    flat = field.reshape(len(field), field.shape[1], -1, roots.shape[2])
    product = np.einsum("ikc,tkpc->tipc", roots, flat)
    return np.asarray(product.reshape(len(field), len(roots), *field.shape[2:]))


def _add(target: Array, first: Array, second: Array) -> None:
    """Products of two fields, summed per cell."""
    target += np.einsum("ij,ij->j", first.reshape(-1, len(target)), second.reshape(-1, len(target)))
