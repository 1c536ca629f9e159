"""The residual of a reconstructed slab, split and measured (T3.1–T3.5, T4.6).

Squared norms are plain sums of squares in an orthonormal *representation*. Where every term is linear with
constant coefficients the representation is the modal one: no quadrature at all. Elsewhere it is the values at
Gauss points (in space and time) that integrate the square of the polynomial residual exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np

from stfem.data import Data, Slab
from stfem.reconstruction import (
    BoundReconstruction,
    NodeReconstruction,
    ReconstructedSlab,
    RowReconstruction,
    combine,
)
from stfem.residual.analytic import unproved_quadrature
from stfem.residual.dissipation import DissipativeGrowth, definite
from stfem.residual.entropy import EntropyMeasure, SlabEntropy
from stfem.residual.expansion import Expansion
from stfem.residual.growth import GrowthRate
from stfem.residual.interpolation import TimeDefect
from stfem.residual.measure import COEFFICIENT_DEGREE, SlabMeasure
from stfem.residual.nodal import NodeEvaluator
from stfem.residual.norms import SlabNorms
from stfem.residual.quadratic import QuadraticSplit
from stfem.residual.rounding import rounding
from stfem.residual.sampling import check_autonomous
from stfem.residual.terms import LinearTerms, TermBuilder
from stfem.resumable import Resumable
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.rows import row_blocks
from stfem.spaces.stencil import Array, apply_along, refined_rows

#: Errors of interpolation in time, relative to what a slab adds to the bound, beyond which it is measured
#: itself;
TEMPORAL_TOLERANCE = 0.015
#: a slab shorter than this part of the run may leave more, because it counts less.
SHORT = 0.03
#: What a slab that is measured itself, and so in one piece, loses by decay or growth, per unit of exponent.
LOSS = 0.1
#: Decay or growth exponent wanted on one piece of a slab, and the largest number of pieces.
CHANGE, MOST_PIECES = 0.01, 16
#: Change of 2μT that modes in time may make which are left out of the slopes of û, but for their bound.
SLOPE_TOLERANCE = 1e-3
#: Modes in time that are formed before they are filtered; more of them would take too much memory.
FEW_MODES = 4


class ResidualSplit(Resumable):
    """Measures slabs of one reconstruction of one semidiscretization.

    Parameters
    ----------
    semidiscretization
        The scheme (for its problem and grid).
    reconstruction
        The bound spatial reconstruction.
    spectral
        Whether residuals are split by frequency, and growth rates lowered by diffusion, where that is known.
    """

    PAST = ("_unproved", "_growth_rate", "_quadratic", "_expansion", "_dissipative", "_entropy")

    def __init__(
        self,
        semidiscretization: Semidiscretization,
        reconstruction: BoundReconstruction,
        spectral: bool = True,
    ) -> None:
        self.problem = semidiscretization.problem
        equation = self.equation = self.problem.equation
        self.grid, self.degree, self.dim = reconstruction.grid, reconstruction.degree, reconstruction.grid.dim
        self._by_frequency = spectral and definite(equation.diffusion, max(self.grid.lengths))
        self._unproved: dict[str, None] = {}
        self._known: WeakKeyDictionary[NodeReconstruction, LinearTerms] = WeakKeyDictionary()
        self._growth_rate = GrowthRate(self.problem, self.grid, self.degree)
        self.constant_velocity = equation.linear and all(b.constant for b in equation.velocity)
        velocity = tuple(b.constant_value() for b in equation.velocity) if self.constant_velocity else None
        reaction = equation.reaction.constant_value() if equation.reaction.constant else 0.0
        self.variable_reaction = None if equation.reaction.constant else equation.reaction
        self.modal = self.constant_velocity and self.variable_reaction is None
        self.terms = TermBuilder(
            self.grid, self.degree, velocity, reaction, equation.diffusion, tuple(equation.diffused)
        )
        self._note(*self.problem.source)
        if not self.constant_velocity and equation.linear:
            self._note(*equation.velocity, *equation.velocity_divergence)
        if self.variable_reaction is not None:
            self._note(self.variable_reaction)
        self.inverse_diffusion = semidiscretization.diffusion.inverse
        self.scheme_grid = semidiscretization.grid
        self._quadratic = self._quadratic_split(reconstruction)
        self._expansion = Expansion.of(self.problem, self._growth_rate)
        self._dissipative: DissipativeGrowth | None = None
        if self._by_frequency:
            self._dissipative = DissipativeGrowth.of(self.problem, self._growth_rate, self.scheme_grid.cells)
        self._filter = reconstruction if isinstance(reconstruction, RowReconstruction) else None
        self._entropy: EntropyMeasure | None = None
        if equation.entropy is not None:
            self._entropy = EntropyMeasure(self.problem, equation.entropy, self.grid, self.degree)
        if not equation.linear:
            check_autonomous(equation)
        if not equation.linear and equation.flux_degree is None and self._entropy is None:
            self._unproved.setdefault(unproved_quadrature(self.points_needed()))

    @property
    def from_nodes(self) -> bool:
        """Whether slabs can be put together from residuals at their nodes, which then need accelerations."""
        return self._quadratic is not None

    def family_gain(self, slab: ReconstructedSlab, level: float) -> float:
        """Most that the flux family can gain over λ = 1 on a slab, relative to it, as its last node tells.

        1 where that is not known cheaply; ``level`` is the error bound at the start of the slab.
        """
        if self._quadratic is None or slab.stop.node.acceleration is None:
            return 1.0
        return self._quadratic.family_gain(slab, level) if self.terms.diffuses else 0.0

    def spectral_gain(self, slab: ReconstructedSlab, level: float) -> float:
        """What splits by frequencies gain over λ = 1 on a slab, relative to it, as its last node tells."""
        known = self._quadratic is not None and slab.stop.node.acceleration is not None
        return self._quadratic.spectral_gain(slab, level) if self._quadratic is not None and known else 0.0

    @property
    def energy_factor(self) -> float:
        """‖D^{1/2}∇e‖ ≤ energy_factor times the root of the dissipation in T4.1."""
        return 1.0 if self._entropy is None else self._entropy.energy_factor

    @property
    def unproved(self) -> tuple[str, ...]:
        """Sentences about what the norms and rates take for granted (T4.6)."""
        of_entropy = () if self._entropy is None else self._entropy.unproved
        return (*self._unproved, *of_entropy, *self._growth_rate.unproved)

    def _note(self, *data: Data) -> None:
        for datum in data:
            if datum.assumption is not None:
                self._unproved.setdefault(datum.assumption)

    def _flux_factor(self) -> int:
        """Degree of the convective term in û (2 stands in for a flux that is not polynomial)."""
        if self.equation.linear:
            return 1
        return self.equation.flux_degree if self.equation.flux_degree is not None else 2

    def points_needed(self) -> int:
        """Gauss points per direction that integrate the square of a residual of degree points − 1."""
        degree = self.degree + (COEFFICIENT_DEGREE if self.has_coefficients else 0)
        return max(self._flux_factor() * self.degree, degree) + 1

    def times_needed(self, time: Slab) -> int:
        extra = COEFFICIENT_DEGREE if self.coefficients_in_time() else 0
        return max(self._flux_factor() * time.degree, time.degree + extra) + 1

    @property
    def has_coefficients(self) -> bool:
        """Whether û or ∇û is multiplied with data that are expanded on the cells."""
        return self.variable_reaction is not None or (self.equation.linear and not self.constant_velocity)

    def coefficients_in_time(self) -> bool:
        velocity = self.equation.velocity if self.equation.linear else ()
        return any(datum.time_dependent for datum in (*velocity, self.equation.reaction))

    def norms(
        self, slab: ReconstructedSlab, family: bool = True, level: float = 0.0, spectral: bool = True
    ) -> SlabNorms:
        """Squared norms per cell, remainders, mean defect and growth rate of one slab.

        They come from residuals at the nodes where these carry accelerations and the errors of interpolation
        in time are small beside them; else from the residual on the slab itself.

        Parameters
        ----------
        slab
            Reconstructed slab.
        family
            Whether all members of the flux family are wanted; with False all may count as λ = 1.
        level
            Error bound at the start of the slab: tells how much the parts of the residual matter.
        spectral
            Whether splits by frequencies are wanted.
        """
        found = self._norms(slab, family, level, spectral)
        if self._expansion is None:
            return found
        return replace(found, expansion=self._expansion.on(slab.time))

    def _norms(self, slab: ReconstructedSlab, family: bool, level: float, spectral: bool) -> SlabNorms:
        temporal, rates = 0.0, np.zeros(3)
        combined: SlabNorms | None = None
        if all(entry.node.acceleration is not None for entry in slab.nodes):
            defect = TimeDefect(slab, self.scheme_grid, self._filter)
            temporal, rates = defect.rate, defect.rates
            if self._quadratic is not None:
                norms = self._from_nodes(self._quadratic, slab, defect, (family, spectral), level)
                combined = replace(norms, rates=rates)
                if norms.temporal <= self._allowance(norms, level):
                    return combined
                temporal = norms.temporal
        # where gains of the family are not known beforehand, they are not left out either
        whole = self.terms.diffuses and (family or not self.from_nodes)
        entropy = self.entropy_of(slab)
        measured = SlabMeasure(self, slab, whole, entropy)
        measured.run()
        scale, shape = self.grid.cell_measure * slab.time.duration, self.grid.cells
        root_weight = 1.0 if entropy is None else entropy.root_weight
        round_off = root_weight * rounding(slab, measured.sizes, measured.magnitude, self.grid, self.degree)
        parabolic = 1.0 if self._entropy is None else self._entropy.parabolic_factor
        own = SlabNorms(
            slab.time.start,
            slab.time.stop,
            (measured.residual_sq * scale).reshape(shape),
            (measured.cross * scale).reshape(shape),
            (measured.difference_sq * scale).reshape(shape),
            (measured.flux_sq * (parabolic * scale)).reshape(shape),
            measured.cell_means.reshape(-1, *shape),
            measured.remainder + round_off,
            measured.mean + float(np.sqrt(self.grid.measure)) * round_off,
            self._growth_rate.rate(slab.time, partial(self._modes, slab))
            if entropy is None
            else entropy.growth,
            temporal,
            rates=rates,
            coupling=0.0 if entropy is None else entropy.coupling,
        )
        if combined is None:
            return own
        return min(own, combined, key=lambda norms: norms.after(level))

    def node_terms(self, node: NodeReconstruction) -> LinearTerms:
        """Terms of û and its rate of change at a node on all cells, built once."""
        if node not in self._known:
            self._known[node] = self.terms.build(node.state, node.flux)
        return self._known[node]

    def _modes(self, slab: ReconstructedSlab) -> Iterator[Array]:
        """Modes in time of û, rows of cells by rows of cells."""
        return (modes for _, modes in self._row_modes(slab))

    def _row_modes(self, slab: ReconstructedSlab) -> Iterator[tuple[slice, Array]]:
        """The same with the rows, on the grid of û."""
        values = 2 * len(slab.nodes) * self.equation.components * (self.degree + 1) ** self.dim
        pieces = self.grid.cells[0] // self.scheme_grid.cells[0]
        for rows, _ in row_blocks(self.scheme_grid, self.grid, values):
            yield refined_rows(rows, pieces), apply_along(slab.value_modes, slab.states_on(rows), 0)

    def entropy_of(self, slab: ReconstructedSlab) -> SlabEntropy | None:
        """What the entropy of a system needs to know of a slab."""
        if self._entropy is None:
            return None
        points, times = self.points_needed(), self.times_needed(slab.time)
        return self._entropy.on(slab.time, self._row_modes(slab), points, times)

    def _quadratic_split(self, reconstruction: BoundReconstruction) -> QuadraticSplit | None:
        """The short cut through residuals at nodes, where the equation, the data and û allow it."""
        equation, source = self.equation, self.problem.source[0]
        constant = self.constant_velocity or not equation.linear
        quadratic = equation.linear or (equation.flux_degree is not None and equation.flux_degree <= 2)
        if equation.components > 1 or equation.entropy is not None or self.variable_reaction is not None:
            return None
        if not isinstance(reconstruction, RowReconstruction):
            return None
        try:
            source.time_derivative()
        except TypeError:
            return None
        if not (constant and quadratic):
            return None
        rows = self.scheme_grid.cells[0]
        evaluator = NodeEvaluator(equation, source, reconstruction, self.terms, self.inverse_diffusion, rows)
        cells = self.scheme_grid.cells if self._by_frequency else None
        return QuadraticSplit(evaluator, reconstruction, source, self.problem.final_time, cells)

    def _from_nodes(
        self,
        quadratic: QuadraticSplit,
        slab: ReconstructedSlab,
        defect: TimeDefect,
        wanted: tuple[bool, bool],
        level: float,
    ) -> SlabNorms:
        facts = quadratic.facts(slab.nodes)
        sizes, magnitude = (
            np.concatenate([getattr(entry, name) for entry in facts]) for name in ("sizes", "magnitude")
        )
        round_off = rounding(slab, sizes, magnitude, self.grid, self.degree)
        slow = self._slow_modes(quadratic, slab, defect)
        growth = self._growth_rate.rate(slab.time, *slow)
        dissipative = self._dissipative.rates(slab.time, growth, *slow) if self._dissipative else None
        pieces = min(max(1, int(np.ceil(self._exponent(slab.time.duration, growth) / CHANGE))), MOST_PIECES)
        family, spectral = wanted[0] and self.terms.diffuses, wanted[1] or dissipative is not None
        wants = family, spectral, dissipative, self._expansion is not None
        norms = quadratic.norms(slab, round_off, growth, pieces, *wants)
        return norms.with_temporal(*quadratic.temporal(slab, defect, self._allowance(norms, level)))

    def _slow_modes(
        self, quadratic: QuadraticSplit, slab: ReconstructedSlab, defect: TimeDefect
    ) -> tuple[Callable[[], Iterator[Array]], Array | None]:
        """The modes in time of û that matter for its slopes, and a bound of the slopes of the others."""
        kept = len(slab.value_modes)
        beyond: Array | None = None
        if self._growth_rate.follows_slopes:
            tails = quadratic.slope_tails(defect)
            small = tails.sum(axis=1) * self.problem.final_time <= SLOPE_TOLERANCE
            if small.any():
                kept = int(np.argmax(small)) + 1
                beyond = tails[kept - 1 : kept]

        def modes() -> Iterator[Array]:
            weights = slab.value_modes[:kept]
            data = [array for entry in slab.nodes for array in (entry.node.values, entry.node.rate)]
            few = kept <= FEW_MODES
            state = quadratic.reconstruction.field_rows(combine(weights, data) if few else data)
            for rows, _ in row_blocks(self.scheme_grid, self.grid, len(data) * (self.degree + 1) ** self.dim):
                yield state(rows) if few else apply_along(weights, state(rows), 0)

        return modes, beyond

    def _exponent(self, duration: float, growth: float) -> float:
        """How much decays or grows on a slab."""
        decay = float(np.diag(self.equation.diffusion).max()) * (2.0 * np.pi / max(self.grid.lengths)) ** 2
        return (decay + 0.5 * abs(growth)) * duration

    def _allowance(self, norms: SlabNorms, level: float) -> float:
        """Errors of interpolation in time that are accepted, in L²(slab × Ω)."""
        final_time, exponent = self.problem.final_time, self._exponent(norms.duration, norms.growth)
        part = TEMPORAL_TOLERANCE * max(1.0, SHORT * final_time / norms.duration) + LOSS * exponent
        return part * norms.cost(level, final_time) / float(np.sqrt(norms.duration))

    def speed_bound(self, states: Array, time: Slab) -> Array:
        """Sizes of f'(û) for fields ``(k, m, p…, cells…)``, 0 where it is not evaluated at points."""
        if self.equation.linear:
            velocity = () if self.constant_velocity else self.equation.velocity
            sups = [b.sup(time.start, time.stop, self.grid.lengths) for b in velocity]
            return np.full(len(states), max(sups, default=0.0))
        means = states.reshape(*states.shape[:2], (self.degree + 1) ** self.dim, -1)[:, :, 0]
        x, directions = np.zeros((self.dim, 1)), range(self.dim)
        return np.array(
            [max(self.equation.wave_speed(mean, x, 0.0, i).max() for i in directions) for mean in means]
        )
