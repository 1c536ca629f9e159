"""Integrals of the residual parts over one slab, block of cells by block of cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stfem.data import Data, Slab
from stfem.reconstruction import ReconstructedSlab, combine
from stfem.residual.sampling import Coefficients, Sampler, weighted_values
from stfem.residual.terms import NodeTerms
from stfem.spaces.stencil import Array, cell_rows

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
    """Accumulates the integrals of one slab, block of cells by block of cells."""

    split: ResidualSplit
    slab: ReconstructedSlab
    terms: list[NodeTerms]

    def __post_init__(self) -> None:
        self.remainder = 0.0
        self.mean = 0.0

    def run(self) -> None:
        """Measure with the source in the degrees of û.

        Once more in higher ones where those leave out too much.
        """
        split, slab = self.split, self.slab
        times = slab.time.degree + 1 if split.modal else split.times_needed(slab.time)
        points = split.degree + 1 if split.modal else split.points_needed()
        coefficients = self._coefficients()
        given = self.remainder
        # the highest degrees whose squares the Gauss points integrate exactly, up to twice those of û
        high = (min(2 * split.degree, points - 1), min(2 * slab.time.degree, times - 1))
        for degrees in dict.fromkeys(((split.degree, slab.time.degree), high)):
            source, left_out = self._source(*degrees)
            self._all_blocks(times, points, source, coefficients)
            size = float(np.sqrt(self.residual_sq.sum() * split.grid.cell_measure)) * slab.time.duration
            self.remainder = given + left_out
            if left_out <= SOURCE_TOLERANCE * size:
                break
        self.mean += float(np.sqrt(split.grid.measure)) * self.remainder

    def _all_blocks(
        self, times: int, points: int, source: Array | None, coefficients: Coefficients | None
    ) -> None:
        """Sums over all cells, in blocks that stay in the cache."""
        split = self.split
        cells = split.grid.cells
        self.residual_sq, self.cross, self.difference_sq, self.flux_sq = (np.zeros(cells) for _ in range(4))
        per_row = times * points**split.dim * split.equation.components * int(np.prod(cells[1:], dtype=int))
        step = max(1, min(cells[0], BLOCK_VALUES // max(1, per_row)))
        self.cell_means = np.zeros((times, *cells))
        degree = self.slab.time.degree
        in_time = np.eye(times) if split.modal else weighted_values(degree, times)
        sampler = (
            None
            if split.modal
            else Sampler(split.equation, split.grid, split.degree, self.slab, times, points)
        )
        for start in range(0, cells[0], step):
            block = slice(start, min(start + step, cells[0]))
            self._block(block, in_time, sampler, source, coefficients)
        mean = self.cell_means.reshape(times, -1).sum(axis=1)
        self.mean = self.slab.time.duration * split.grid.cell_measure * float(np.linalg.norm(mean))

    def _cut(self, field: Array, block: slice) -> Array:
        return cell_rows(field, block, self.split.dim)

    def _nodes(self, arrays: list[Array], block: slice) -> list[Array]:
        """(value, derivative) of each node, one block of cells."""
        return [self._cut(array[j], block) for array in arrays for j in range(2)]

    def _source(self, degree: int, degree_time: int) -> tuple[Array | None, float]:
        """Modes ``(time, m, p…, N…)`` of the projected source, and ∫_slab of what they leave out (T4.6)."""
        split, slab = self.split, self.slab
        if all(g.is_zero for g in split.problem.source):
            return None, 0.0
        time = Slab(slab.time.start, slab.time.stop, degree_time)
        projections = [g.project(split.grid, degree, time) for g in split.problem.source]
        pairs = zip(split.source_weights, projections, strict=True)
        left_out = np.sqrt(sum((w * p.remainder_l2) ** 2 for w, p in pairs))
        modes = np.stack([p.coefficients for p in projections], axis=1)
        return modes, float(np.sqrt(slab.time.duration) * left_out)

    def _coefficients(self) -> Coefficients | None:
        """Projected velocity (with ∇·b and c joined, since both multiply û) for variable linear problems."""
        split, slab = self.split, self.slab
        if not split.has_coefficients:
            return None
        velocity: list[Array | None] = [None] * split.dim
        zeroth: Array | None = None
        states = [term.state for term in self.terms]
        values = np.abs(slab.value_modes)
        size = split.root_weight * np.sqrt(split.grid.cell_measure)
        varying = split.equation.linear and not split.constant_velocity
        if varying:
            for i, b in enumerate(split.equation.velocity):
                velocity[i], remainder = self._expanded(b)
                slopes = [split.terms.gradient(state)[i] for state in states]
                total = values.sum(axis=0) @ np.array(
                    [np.sqrt(np.vdot(s[j], s[j])) for s in slopes for j in range(2)]
                )
                self.remainder += remainder * slab.time.duration * size * float(total)
        factors = list(split.equation.velocity_divergence) if varying else []
        if split.variable_reaction is not None:
            factors.append(split.variable_reaction)
        for datum in factors:
            if datum.is_zero:
                continue
            modes, remainder = self._expanded(datum)
            zeroth = modes if zeroth is None else zeroth + modes
            total = values.sum(axis=0) @ np.array(
                [np.sqrt(np.vdot(s[j], s[j])) for s in states for j in range(2)]
            )
            self.remainder += remainder * slab.time.duration * size * float(total)
        return velocity, zeroth

    def _expanded(self, datum: Data) -> tuple[Array, float]:
        time = self.slab.time
        degree = COEFFICIENT_DEGREE if self.split.coefficients_in_time() else 0
        projection = datum.project(self.split.grid, COEFFICIENT_DEGREE, Slab(time.start, time.stop, degree))
        return projection.coefficients, projection.remainder_sup

    def _block(
        self,
        block: slice,
        in_time: Array,
        sampler: Sampler | None,
        source: Array | None,
        coefficients: Coefficients | None,
    ) -> None:
        """Add the integrals over one block of cells."""
        split, slab = self.split, self.slab
        states = self._nodes([term.state for term in self.terms], block)
        rates = np.concatenate([in_time @ slab.rate_modes, in_time @ slab.value_modes], axis=1)
        residual = combine(rates, states + self._nodes([term.linear for term in self.terms], block))
        if sampler is None:
            if source is not None:
                residual -= self._cut(source, block)
            means = residual[:, 0].reshape(len(in_time), (split.degree + 1) ** split.dim, -1)[:, 0]
        else:
            residual = sampler.residual(residual, states, lambda f: self._cut(f, block), source, coefficients)
            means = sampler.cell_means(residual[:, 0])
        self._cut(self.cell_means, block)[...] = means.reshape(self._cut(self.cell_means, block).shape)
        differences = [term.difference for term in self.terms if term.difference is not None]
        chosen = [c for c, w in enumerate(split.equation.diffused) if w]
        difference = None
        if differences:
            difference = combine(in_time @ slab.value_modes, self._nodes(differences, block))
            difference = difference if sampler is None else sampler.weighted(difference)
        weight = split.equation.stability.residual_weight
        if weight is not None and sampler is not None:
            roots = np.sqrt(sampler.weight(weight, states))
            residual *= roots
            if difference is not None:
                difference *= roots[:, chosen]
        self._add(self.residual_sq, block, residual, residual)
        if difference is None:
            return
        self._add(self.cross, block, residual[:, chosen], difference)
        self._add(self.difference_sq, block, difference, difference)
        self._add_flux(block)

    def _add_flux(self, block: slice) -> None:
        """∫∫|D^{-1/2}Φ_0|², always in modes."""
        inverse = self.split.inverse_diffusion
        flux = [
            combine(self.slab.value_modes, self._nodes([term.flux[i] for term in self.terms], block))
            for i in range(self.split.dim)
        ]
        for i, first in enumerate(flux):
            self._add(self.flux_sq, block, first * inverse[i, i], first)
            for j, second in enumerate(flux[:i]):
                if inverse[i, j] != 0.0:
                    common = tuple(
                        slice(0, min(a, b)) for a, b in zip(first.shape, second.shape, strict=True)
                    )
                    self._add(self.flux_sq, block, 2.0 * inverse[i, j] * first[common], second[common])

    def _add(self, target: Array, block: slice, first: Array, second: Array) -> None:
        product = np.einsum(
            "ij,ij->j", *(f.reshape(-1, int(np.prod(f.shape[-self.split.dim :]))) for f in (first, second))
        )
        self._cut(target, block)[...] += product.reshape(self._cut(target, block).shape)
