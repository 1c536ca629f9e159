"""Norms of the residual of a slab as quadratic forms of residuals at its nodes (T3, T4.6).

With S the filter, U^t the interpolant of the scheme's values in time and I the Hermite interpolation,

    R = I(R_n, R'_n) + S τ + (N(û) − I N(û)) + (I g − g),      τ = dU^t/dt − I(F_n, A_n),

for any A_n. The first term holds the residual of the reconstruction in space; its integrals over a slab are
Σ_jl H_jl ⟨R_j, R_l⟩ with H the Gram matrix of the Hermite basis, and of the products only those with the new
node are computed on each slab. The other terms are errors of interpolation in time, small with the distance
of the nodes, and enter through bounds of their norms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from stfem.data import Data
from stfem.reconstruction import NodeReconstruction, ReconstructedSlab, RowReconstruction
from stfem.residual.dissipation import DissipativeRates
from stfem.residual.forms import FormValue, NodeForm
from stfem.residual.interpolation import InterpolationError, TimeDefect
from stfem.residual.joint import JointDual, joint_dual
from stfem.residual.levels import residual_levels
from stfem.residual.nodal import NodeEvaluator, NodeFacts
from stfem.residual.norms import FLUX_FAMILY, SlabNorms
from stfem.residual.spectral import SpectralForm, SplitSpectrum
from stfem.resumable import Resumable
from stfem.spaces.legendre import gauss, legendre_values
from stfem.spaces.stencil import Array

UNIT_ROUNDOFF = 2.0**-53
#: Part of a residual that its products may leave out when their points are chosen;
PRODUCTS = 1e-3
#: and beyond which they are chosen again.
TOO_MUCH = 5e-3
#: Part of the errors of interpolation allowed for up to which a coarse bound of each will do;
COARSE = 0.2
#: and modes in time that are so large that their slopes are always bounded closely.
_LARGE = (1, 2)


class QuadraticSplit(Resumable):
    """Slab norms from nodal residuals, for scalar equations with constant coefficients and f of degree ≤ 2.

    Parameters
    ----------
    evaluator
        Residuals at nodes.
    reconstruction
        S, with its operator norms.
    source
        g, which must know its time derivatives.
    final_time
        T.
    cells
        Cells of the scheme, where residuals may be taken apart by frequencies, which takes a definite
        diffusion; else None.
    """

    PAST = ("_rough", "_needed", "_evaluator", "_forms")

    def __init__(
        self,
        evaluator: NodeEvaluator,
        reconstruction: RowReconstruction,
        source: Data,
        final_time: float,
        cells: tuple[int, ...] | None,
    ) -> None:
        self._diffusion = evaluator.diffusion
        self._evaluator, self._grid = evaluator, evaluator.grid
        self.reconstruction, self._norms = reconstruction, reconstruction.norms
        self._source, self._final_time = source, final_time
        self._highest: dict[int, Data] = {0: source}
        self._facts: WeakKeyDictionary[NodeReconstruction, NodeFacts] = WeakKeyDictionary()
        self._needed: dict[float, int] = {}  # points that the nodes at these times asked for
        self._rough = True  # whether S was last seen to take away most of τ
        #: R_H(1), R_H(0), their difference, and D^{-1/2}Φ_0 per direction.
        self._forms = tuple(NodeForm() for _ in range(3 + self._grid.dim))
        self._spectral: SpectralForm | None = None
        if cells is not None:
            whole = self._forms[0]
            self._spectral = SpectralForm(self._grid, self._diffusion, cells, whole, lambda: evaluator.points)

    def facts(self, nodes: Sequence[NodeReconstruction], family: bool = False) -> list[NodeFacts]:
        """Evaluate the fields of nodes, each once unless a later one needs more modes or points."""
        forms = self._forms if family else self._forms[:1]
        while missing := [node for node in nodes if any(node not in form for form in forms)]:
            node = missing[-1]
            fields, self._facts[node] = self._evaluator.evaluate(node, [form.kept for form in forms])
            for form, field in zip(forms, fields, strict=True):
                form.add(node, field)
            if node in self._forms[0]:
                self._choose_points(node, self._facts[node], nodes)
        return [self._facts[node] for node in nodes]

    def _choose_points(
        self, node: NodeReconstruction, facts: NodeFacts, nodes: Sequence[NodeReconstruction]
    ) -> None:
        """As few points for ∇·f(û) as leave out little of R; all residuals start anew where these change.

        What a node has once needed stays known: nodes of one slab that want different numbers would change
        them to and fro without end.
        """
        convection = self._evaluator.convection
        if convection is None:
            return
        size = self._forms[0].size(node) * float(np.sqrt(self._grid.cell_measure))
        fits = facts.products_left_out[:, 0] <= PRODUCTS * size
        fits[: self._evaluator.degree + 1], fits[-1] = False, True
        own = max(self._needed.get(node.time, 0), int(np.argmax(fits)))
        # slabs come in the order of time: nodes that this one has left behind do not return
        known = {other.time: self._needed.get(other.time, 0) for other in nodes}
        self._needed = known | {node.time: own}
        least = max(self._needed.values())
        now = self._evaluator.points
        if least != now and facts.products_left_out[now, 0] > TOO_MUCH * size:
            self._evaluator.points = least
            for form in self._forms[:2]:
                form.restart(renumbered(form.kept, now, least, self._grid.dim))

    def family_gain(self, slab: ReconstructedSlab, level: float) -> float:
        """Relative gain of the flux family over λ = 1 on a slab, at most; from its last node alone.

        α_λ ≥ Δt (‖R_H(1)‖ − (1−λ)‖R_H(1) − R_H(0)‖), and β_λ = (1−λ)² Δt ‖D^{-1/2}Φ_0‖²/2 is added to the
        bound at the start, ``level``.
        """
        self.facts(slab.nodes)
        duration = slab.time.duration
        alone = duration * self._forms[0].size(slab.stop) * float(np.sqrt(self._grid.cell_measure))
        difference, flux = self._evaluator.family_sizes(slab.stop)
        least = min(
            max(0.0, alone - duration * (1.0 - member) * difference)
            + float(np.hypot(level, np.sqrt(0.5 * duration) * (1.0 - member) * flux))
            - level
            for member in FLUX_FAMILY
        )
        return 1.0 - least / alone if alone > 0.0 else 0.0

    def spectral_gain(self, slab: ReconstructedSlab, level: float) -> float:
        """Relative gain of splits by frequencies over λ = 1 on a slab, as its last node tells."""
        if self._spectral is None:
            return 0.0
        self.facts(slab.nodes)
        duration = slab.time.duration
        alone = duration * self._forms[0].size(slab.stop) * float(np.sqrt(self._grid.cell_measure))
        hyperbolic, dual = (part[0] for part in self._spectral.at(slab.stop).splits())
        costs = duration * np.sqrt(hyperbolic) + np.hypot(level, np.sqrt(0.5 * duration * dual)) - level
        return 1.0 - float(costs.min()) / alone if alone > 0.0 else 0.0

    def temporal(self, slab: ReconstructedSlab, defect: TimeDefect, allowed: float) -> tuple[float, float]:
        """Bounds of the errors of interpolation in time in L²(slab × Ω), and of their ∫_Ω in L²(slab).

        S keeps integrals over Ω, and the integral of N(û) vanishes.

        Parameters
        ----------
        slab, defect
            The slab and what its interpolation in time leaves.
        allowed
            What is accepted of the errors. The operator norms of S bound what it makes of a field, coarsely
            where that is rough: then it is measured, unless the bound is a small part.
        """
        times = [node.time for node in slab.nodes]
        error = InterpolationError(slab.time, np.array(times), slab.value_modes)
        root = float(np.sqrt(slab.time.duration))
        total = self._norms.mean_square * defect.rate
        if total > (COARSE if self._rough else 1.0) * allowed:
            coarse, total = total, min(total, defect.filtered_rate)
            self._rough = total < 0.5 * coarse
        if any(self._curvature):
            total += root * self._products(error, defect, COARSE * allowed / root)
        mean = defect.mean
        if self._source.time_dependent:
            highest = self._source_derivative(len(slab.value_modes))
            # the derivative in the error of interpolation is one at some time between the outermost nodes
            largest = highest.sup(min(times), max(times), self._grid.lengths)
            source = root * float(np.sqrt(self._grid.measure)) * error.smooth * largest
            total += source
            mean += float(np.sqrt(self._grid.measure)) * source
        return total, mean

    def _products(self, error: InterpolationError, defect: TimeDefect, enough: float) -> float:
        """Σ_ab ‖(id − I)(L_aL_b)‖ sup|C_a| Σ_i |f_i''| ‖∂_iC_b‖; what matters most is measured first."""
        rest = list(range(len(error.products)))
        while True:
            sizes = np.outer(defect.modes.sups, defect.modes.slopes @ np.array(self._curvature))
            terms = error.products * sizes
            if terms.sum() <= enough or not rest:
                return float(terms.sum())
            worst = max(rest, key=lambda a: terms[a].sum() + terms[:, a].sum())
            rest.remove(worst)
            defect.measure([worst])

    def slope_tails(self, defect: TimeDefect) -> Array:
        """Row n: bounds of sup|∂_iû| on the slab for the part of û in its modes in time n + 1, n + 2, …"""
        defect.measure(_LARGE)
        slopes = defect.modes.sup_slopes
        heights = np.sqrt(2.0 * np.arange(len(slopes)) + 1.0)
        terms = heights[1:, None] * slopes[1:]
        return np.concatenate([np.cumsum(terms[::-1], axis=0)[::-1], np.zeros((1, self._grid.dim))])

    def _source_derivative(self, order: int) -> Data:
        """∂_t^n g."""
        known = max(n for n in self._highest if n <= order)
        datum = self._highest[known]
        for n in range(known + 1, order + 1):
            datum = self._highest[n] = datum.time_derivative()
        return datum

    @property
    def _curvature(self) -> tuple[float, ...]:
        """|f_i''|."""
        convection = self._evaluator.convection
        return (0.0,) * self._grid.dim if convection is None else convection.curvature

    def norms(
        self,
        slab: ReconstructedSlab,
        round_off: float,
        growth: float,
        pieces: int,
        family: bool,
        spectral: bool,
        dissipative: DissipativeRates | None = None,
        scales: bool = True,
    ) -> SlabNorms:
        """Norms of one slab, but for the errors of interpolation in time.

        Parameters
        ----------
        slab
            Its nodes carry accelerations.
        round_off, growth
            As `SlabNorms.remainder` and `SlabNorms.growth`.
        pieces
            Number of equal pieces of the slab for `SlabNorms.pieces`.
        family
            Whether all members of the flux family are wanted, or λ = 1 alone (then all count as λ = 1).
        spectral
            Whether the residual is wanted by frequencies.
        dissipative
            As `SlabNorms.dissipative`.
        scales
            Whether the residual is wanted by scales.
        """
        nodes, facts = slab.nodes, self.facts(slab.nodes, family)
        modes, duration = slab.value_modes, slab.time.duration
        grams = modes.T @ _piece_grams(slab.time.degree, pieces) @ modes
        scale = self._grid.cell_measure * duration
        whole = self._forms[0](grams, nodes)
        rounded, means = whole.size, self._forms[0].means(nodes)
        full = base = self._spread(whole)
        cross = difference = flux = np.zeros_like(full)
        totals = np.stack([whole.pieces, *np.zeros((3, pieces))])
        if family:
            first, second, *fluxes = (form(grams, nodes) for form in self._forms[1:])
            # R_λ² = (1−λ)R_0² + λR_1² − λ(1−λ)D²: too small a D² keeps all of them upper bounds
            base, difference = self._spread(first), second.cells
            cross = 0.5 * (full - base - difference)
            flux = np.sum([self._spread(form) for form in fluxes], axis=0)
            totals[0], totals[2] = first.pieces, second.kept_pieces
            totals[1] = 0.5 * (whole.pieces - totals[0] - totals[2])
            totals[3] = np.sum([form.pieces for form in fluxes], axis=0)
            rounded += first.size + second.size
            means = self._forms[1].means(nodes)
        in_time = modes @ means
        gram = grams.sum(axis=0)
        left_out = np.sqrt(duration * np.diag(gram)) @ np.concatenate([entry.left_out for entry in facts])
        remainder = float(np.sqrt(duration) * left_out + round_off)
        mean = duration * self._grid.cell_measure * float(np.linalg.norm(in_time.sum(axis=1)))
        shape = self._grid.cells
        operations = 64.0 + self._evaluator.points**self._grid.dim  # sums over pairs and modes
        spectrum = self._spectrum(slab, grams, whole) if spectral else None
        levels = None
        if scales and self._spectral is not None:
            cells = scale * np.maximum(whole.cells, 0.0).reshape(self._grid.cells)
            of_whole = (modes @ self._forms[0].means(nodes)).reshape(-1, *self._grid.cells)
            levels = residual_levels(cells, of_whole, self._grid, self._diffusion, duration)
        return SlabNorms(
            slab.time.start,
            slab.time.stop,
            (scale * base).reshape(shape),
            (scale * cross).reshape(shape),
            (scale * difference).reshape(shape),
            (scale * flux).reshape(shape),
            in_time.reshape(-1, *shape),
            remainder,
            mean + float(np.sqrt(self._grid.measure)) * remainder,
            growth,
            rounding_sq=operations * UNIT_ROUNDOFF * scale * rounded,
            spread_sq=scale * whole.rest,
            pieces=scale * totals,
            spectrum=spectrum,
            dissipative=dissipative,
            levels=levels,
            joint=self._joint(slab, pieces, whole, spectrum, dissipative),
        )

    def _spectrum(self, slab: ReconstructedSlab, grams: Array, value: FormValue) -> SplitSpectrum | None:
        if self._spectral is None:
            return None
        return self._spectral(grams, slab.nodes, value, slab.time.duration)

    def _joint(
        self,
        slab: ReconstructedSlab,
        pieces: int,
        value: FormValue,
        known: SplitSpectrum | None,
        rates: DissipativeRates | None,
    ) -> JointDual | None:
        if self._spectral is None or known is None or rates is None:
            return None
        modes = slab.value_modes
        grams = np.stack([modes.T @ gram @ modes for gram in _weighted_grams(slab.time.degree, pieces)])
        times = slab.time.duration, self._final_time
        return joint_dual(self._spectral, grams, slab.nodes, value, rates, known, *times)

    def _spread(self, form: FormValue) -> Array:
        """The form per cell, with what belongs to no cell spread evenly."""
        return np.maximum(form.cells, 0.0) + form.rest / self._grid.size


def renumbered(modes: NDArray[np.intp], before: int, now: int, dim: int) -> NDArray[np.intp]:
    """Numbers of tensor-product modes, as far as they exist, when there are others in every direction."""
    indices = np.array(np.unravel_index(modes, (before,) * dim))
    indices = indices[:, (indices < now).all(axis=0)]
    return np.asarray(np.ravel_multi_index(tuple(indices), (now,) * dim))


def _piece_grams(degree: int, pieces: int) -> Array:
    """∫ L_aL_b over every equal piece of [0, 1], ``(pieces, degree + 1, degree + 1)``."""
    return np.asarray(_weighted_grams(degree, pieces).sum(axis=0))


@lru_cache(maxsize=64)
def _weighted_grams(degree: int, pieces: int) -> Array:
    """The same with the weights 1 − s and s, ``(2, pieces, degree + 1, degree + 1)``."""
    points, weights = gauss(degree + 2)
    local = (np.arange(pieces)[:, None] + points) / pieces
    values = legendre_values(degree, local.ravel()).reshape(pieces, len(points), -1)
    weighted = np.stack([1.0 - local, local]) * weights / pieces
    return np.asarray(np.einsum("pga,wpg,pgb->wpab", values, weighted, values))
