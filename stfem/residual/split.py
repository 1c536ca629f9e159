"""The residual of a reconstructed slab, split and measured (T3.1–T3.5, T4.6).

Squared norms are plain sums of squares in an orthonormal *representation*. Where every term is linear with
constant coefficients the representation is the modal one: no quadrature at all. Elsewhere it is the values at
Gauss points (in space and time) that integrate the square of the polynomial residual exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from stfem.data import Data, Slab
from stfem.reconstruction import BoundReconstruction, NodeReconstruction, ReconstructedSlab, combine
from stfem.residual.growth import GrowthRate
from stfem.residual.norms import SlabNorms
from stfem.residual.sampling import Coefficients, Sampler, check_autonomous, weighted_values
from stfem.residual.terms import NodeTerms, TermBuilder
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import point_coordinates

UNIT_ROUNDOFF = 2.0**-53
#: Values held at once while a slab is measured at Gauss points; a block of this size stays in the cache.
BLOCK_VALUES = 1 << 18
#: Degree up to which velocity and reaction are expanded on a cell; their remainder is bounded (T4.6).
COEFFICIENT_DEGREE = 8
#: Part of the residual that the expansion of the source may leave to its remainder bound.
SOURCE_TOLERANCE = 1e-3


class ResidualSplit:
    """Measures slabs of one reconstruction of one semidiscretization.

    Parameters
    ----------
    semidiscretization
        The scheme (for its problem and grid).
    reconstruction
        The bound spatial reconstruction.
    """

    def __init__(self, semidiscretization: Semidiscretization, reconstruction: BoundReconstruction) -> None:
        self.problem = semidiscretization.problem
        self.equation = self.problem.equation
        self.grid, self.degree = reconstruction.grid, reconstruction.degree
        self.dim = self.grid.dim
        self._unproved: dict[str, None] = {}
        self._growth_rate = GrowthRate(self.problem, self.grid, self.degree)
        equation = self.equation
        self._constant = equation.linear and all(b.constant for b in equation.velocity)
        velocity = tuple(_number(b) for b in equation.velocity) if self._constant else None
        reaction = _number(equation.reaction) if equation.reaction.constant else 0.0
        self._variable_reaction = None if equation.reaction.constant else equation.reaction
        self.modal = self._constant and self._variable_reaction is None
        self.terms = TermBuilder(
            self.grid, self.degree, velocity, reaction, equation.diffusion, tuple(equation.diffused)
        )
        self._cache: WeakKeyDictionary[NodeReconstruction, NodeTerms] = WeakKeyDictionary()
        self._note(*self.problem.source)
        if not self._constant and equation.linear:
            self._note(*equation.velocity, *equation.velocity_divergence)
        if self._variable_reaction is not None:
            self._note(self._variable_reaction)
        self.inverse_diffusion = semidiscretization.diffusion.inverse
        self.source_weights = tuple(
            float(np.sqrt(bound))
            for bound in equation.stability.residual_weight_bound or (1.0,) * equation.components
        )
        self.root_weight = max(self.source_weights)
        self.residual_size = 0.0  # ‖R_0‖ on the last slab, root mean square in time
        if not equation.linear:
            check_autonomous(equation)
        if not equation.linear and equation.flux_degree is None:
            self._unproved.setdefault(
                f"the flux is not polynomial: residual integrated with {self._points_needed()} Gauss points "
                "per direction and cell, not proved exact"
            )

    @property
    def unproved(self) -> tuple[str, ...]:
        """Sentences about what the norms and rates take for granted (T4.6)."""
        return (*self._unproved, *self._growth_rate.unproved)

    def _note(self, *data: Data) -> None:
        for datum in data:
            if datum.assumption is not None:
                self._unproved.setdefault(datum.assumption)

    def _flux_factor(self) -> int:
        """Degree of the convective term in û (2 stands in for a flux that is not polynomial)."""
        if self.equation.linear:
            return 1
        return self.equation.flux_degree if self.equation.flux_degree is not None else 2

    def _points_needed(self) -> int:
        """Gauss points per direction that integrate the square of a residual of degree points − 1."""
        extra = COEFFICIENT_DEGREE if self._has_coefficients else 0
        return max(self._flux_factor() * self.degree, self.degree + extra) + 1

    def _times_needed(self, time: Slab) -> int:
        extra = COEFFICIENT_DEGREE if self._coefficients_in_time() else 0
        return max(self._flux_factor() * time.degree, time.degree + extra) + 1

    @property
    def _has_coefficients(self) -> bool:
        """Whether û or ∇û is multiplied with data that are expanded on the cells."""
        return self._variable_reaction is not None or (self.equation.linear and not self._constant)

    def _coefficients_in_time(self) -> bool:
        velocity = self.equation.velocity if self.equation.linear else ()
        return any(datum.time_dependent for datum in (*velocity, self.equation.reaction))

    def node_terms(self, node: NodeReconstruction) -> NodeTerms:
        """Linear terms of a node, built once for all slabs that share it."""
        terms = self._cache.get(node)
        if terms is None:
            terms = self._cache[node] = self.terms.build(node)
        return terms

    def norms(self, slab: ReconstructedSlab) -> SlabNorms:
        """Squared norms per cell, remainders, mean defect and growth rate of one slab."""
        terms = [self.node_terms(node) for node in slab.nodes]
        measured = _Measured(self, slab, terms)
        measured.run()
        duration = slab.time.duration
        scale = self.grid.cell_measure * duration
        states = [terms_k.state[j] for terms_k in terms for j in range(2)]
        self.residual_size = float(np.sqrt(measured.residual_sq.sum() * self.grid.cell_measure))
        round_off = self.root_weight * self._round_off(slab, terms, states)
        return SlabNorms(
            slab.time.start,
            slab.time.stop,
            measured.residual_sq * scale,
            measured.cross * scale,
            measured.difference_sq * scale,
            measured.flux_sq * scale,
            measured.remainder + round_off,
            measured.mean + float(np.sqrt(self.grid.measure)) * round_off,
            self._growth_rate.rate(slab.time, lambda: combine(slab.value_modes, states)),
        )

    def _round_off(self, slab: ReconstructedSlab, terms: list[NodeTerms], states: list[Array]) -> float:
        """Σ C u ∫_slab of the sizes of what is added up (T4.6); C counts the operations of each sum."""
        scale = np.sqrt(self.grid.cell_measure)
        sizes = np.array([np.sqrt(np.vdot(state, state)) for state in states])
        linear = np.concatenate([term.magnitude for term in terms])
        values = np.abs(slab.value_modes).max(axis=0)
        rates = np.abs(slab.rate_modes).max(axis=0)
        # û is what the stored numbers say, so only the sums of this module round: 2k terms in time, and
        # derivatives in space
        in_time = 2.0 * len(slab.nodes) + 3.0
        in_space = in_time + 2.0 * (self.degree + 2) * self.dim
        convective = 0.0 if self.modal else float(values @ self._convective_sizes(terms, slab.time))
        rounded = in_time * float(rates @ sizes) + in_space * (float(values @ linear) + convective)
        return float(UNIT_ROUNDOFF * slab.time.duration * scale * rounded)

    def _convective_sizes(self, terms: list[NodeTerms], time: Slab) -> Array:
        """Sizes of f'(û)∇û with the largest wave speed at the node values."""
        sizes = []
        for term in terms:
            gradient = self.terms.gradient(term.state)
            speed = self._speed_bound(term.state[0], time)
            sizes += [speed * sum(float(np.sqrt(np.vdot(g[j], g[j]))) for g in gradient) for j in range(2)]
        return np.array(sizes)

    def _speed_bound(self, state: Array, time: Slab) -> float:
        if self.equation.linear:
            return max(b.sup(time.start, time.stop, self.grid.lengths) for b in self.equation.velocity)
        means = state.reshape(len(state), -1, *self.grid.cells)[:, 0]
        x = point_coordinates(self.grid, [np.full(1, 0.5)] * self.dim).reshape(self.dim, *self.grid.cells)
        return max(float(np.max(self.equation.wave_speed(means, x, 0.0, i))) for i in range(self.dim))


@dataclass(eq=False)
class _Measured:
    """Accumulates the integrals of one slab, block of cells by block of cells."""

    split: ResidualSplit
    slab: ReconstructedSlab
    terms: list[NodeTerms]

    def __post_init__(self) -> None:
        cells = self.split.grid.cells
        self.residual_sq, self.cross, self.difference_sq, self.flux_sq = (np.zeros(cells) for _ in range(4))
        self.remainder = 0.0
        self.mean = 0.0

    def run(self) -> None:
        """All blocks, then the pieces that are sums over the whole grid."""
        split, slab = self.split, self.slab
        times = slab.time.degree + 1 if split.modal else split._times_needed(slab.time)
        points = split.degree + 1 if split.modal else split._points_needed()
        source = self._source(times, points)
        coefficients = self._coefficients()
        mean = np.zeros(times)
        rows = split.grid.cells[0]
        per_row = (
            times
            * points**split.dim
            * split.equation.components
            * int(np.prod(split.grid.cells[1:], dtype=int))
        )
        step = max(1, min(rows, BLOCK_VALUES // max(1, per_row)))
        for start in range(0, rows, step):
            block = slice(start, min(start + step, rows))
            mean += self._block(block, times, points, source, coefficients)
        measure = split.grid.cell_measure
        self.mean = (
            slab.time.duration * measure * float(np.linalg.norm(mean))
            + np.sqrt(split.grid.measure) * self.remainder
        )

    def _cut(self, field: Array, block: slice) -> Array:
        return _cells(field, block, self.split.dim)

    def _nodes(self, arrays: list[Array], block: slice) -> list[Array]:
        """(value, derivative) of each node, one block of cells."""
        return [self._cut(array[j], block) for array in arrays for j in range(2)]

    def _source(self, times: int, points: int) -> Array | None:
        """Modes ``(time, m, p…, N…)`` of the projected source; its remainder goes into the bound (T4.6).

        Its degrees are those of û, or, where that leaves out more than a small part of the residual, the highest
        whose squares the Gauss points integrate exactly, up to twice those of û.
        """
        split, slab = self.split, self.slab
        if all(g.is_zero for g in split.problem.source):
            return None
        enough = SOURCE_TOLERANCE * split.residual_size * np.sqrt(slab.time.duration)
        low = (split.degree, slab.time.degree)
        high = (min(2 * split.degree, points - 1), min(2 * slab.time.degree, times - 1))
        for degree, degree_time in dict.fromkeys((low, high)):
            time = Slab(slab.time.start, slab.time.stop, degree_time)
            projections = [g.project(split.grid, degree, time) for g in split.problem.source]
            pairs = zip(split.source_weights, projections, strict=True)
            left_out = np.sqrt(sum((w * p.remainder_l2) ** 2 for w, p in pairs))
            if left_out <= enough:
                break
        self.remainder += float(np.sqrt(slab.time.duration) * left_out)
        return np.stack([p.coefficients for p in projections], axis=1)

    def _coefficients(self) -> Coefficients | None:
        """Projected velocity (with ∇·b and c joined, since both multiply û) for variable linear problems."""
        split, slab = self.split, self.slab
        if not split._has_coefficients:
            return None
        velocity: list[Array | None] = [None] * split.dim
        zeroth: Array | None = None
        states = [term.state for term in self.terms]
        values = np.abs(slab.value_modes)
        size = split.root_weight * np.sqrt(split.grid.cell_measure)
        varying = split.equation.linear and not split._constant
        if varying:
            for i, b in enumerate(split.equation.velocity):
                velocity[i], remainder = self._expanded(b)
                slopes = [split.terms.gradient(state)[i] for state in states]
                total = values.sum(axis=0) @ np.array(
                    [np.sqrt(np.vdot(s[j], s[j])) for s in slopes for j in range(2)]
                )
                self.remainder += remainder * slab.time.duration * size * float(total)
        factors = list(split.equation.velocity_divergence) if varying else []
        if split._variable_reaction is not None:
            factors.append(split._variable_reaction)
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
        degree = COEFFICIENT_DEGREE if self.split._coefficients_in_time() else 0
        projection = datum.project(self.split.grid, COEFFICIENT_DEGREE, Slab(time.start, time.stop, degree))
        return projection.coefficients, projection.remainder_sup

    def _block(
        self,
        block: slice,
        times: int,
        points: int,
        source: Array | None,
        coefficients: Coefficients | None,
    ) -> Array:
        """Integrals over one block of cells; returns Σ_cells of the means of R_0 at each time row."""
        split, slab, dim = self.split, self.slab, self.split.dim
        in_time = np.eye(times) if split.modal else weighted_values(slab.time.degree, times)
        states = self._nodes([term.state for term in self.terms], block)
        rates = np.concatenate([in_time @ slab.rate_modes, in_time @ slab.value_modes], axis=1)
        residual = combine(rates, states + self._nodes([term.linear for term in self.terms], block))
        if split.modal:
            if source is not None:
                residual -= self._cut(source, block)
            modes = residual[:, 0].reshape(times, (split.degree + 1) ** dim, -1)
            mean = np.asarray(modes[:, 0].sum(axis=1))
        else:
            sampler = Sampler(split.equation, split.grid, split.degree, slab, times, points)
            residual = sampler.residual(residual, states, lambda f: self._cut(f, block), source, coefficients)
            mean = sampler.mean(residual[:, 0])
        differences = [term.difference for term in self.terms if term.difference is not None]
        chosen = [c for c, w in enumerate(split.equation.diffused) if w]
        difference = None
        if differences:
            difference = combine(in_time @ slab.value_modes, self._nodes(differences, block))
            difference = difference if split.modal else sampler.weighted(difference)
        weight = split.equation.stability.residual_weight
        if weight is not None and not split.modal:
            roots = np.sqrt(sampler.weight(weight, states))
            residual *= roots
            if difference is not None:
                difference *= roots[:, chosen]
        self._add(self.residual_sq, block, residual, residual)
        if difference is None:
            return mean
        self._add(self.cross, block, residual[:, chosen], difference)
        self._add(self.difference_sq, block, difference, difference)
        self._add_flux(block)
        return mean

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


def _cells(field: Array, block: slice, dim: int) -> Array:
    """View of a block of cells (a range of the first cell axis)."""
    index: list[slice] = [slice(None)] * field.ndim
    index[field.ndim - dim] = block
    return field[tuple(index)]


def _number(datum: Data) -> float:
    """Value of constant data."""
    return float(datum(np.zeros((datum.dim, 1)))[0])
