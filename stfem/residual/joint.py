"""The residual in the dual norm of growth and dissipation together (T4).

With B as in `stfem.residual.growth_form` and any σ for which σ + B is positive on errors with mean zero,

    −⟨R, e⟩ ≤ ⟨(σ + B)e, e⟩ + ¼⟨R, (σ + B)^{-1}R⟩,      so that      y' ≤ 2σy + ½⟨R, (σ + B)^{-1}R⟩ :

no share of the dissipation is set aside for either of growth and residual. (σ + B)^{-1} is convex in c_f, so
that between the ends of a slab it is at most the linear interpolation of those there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stfem.reconstruction.symbol import ROUNDING
from stfem.residual.dissipation import DissipativeRates, exponents
from stfem.residual.forms import FormValue
from stfem.residual.spectral import SpectralForm, SplitSpectrum
from stfem.spaces.stencil import Array

#: σ above the largest growth rate, in units of 1/T.
OFFSETS = np.array([0.03, 0.1, 0.3, 1.0, 3.0, 10.0])


@dataclass(frozen=True, eq=False)
class JointDual:
    """Costs of a slab for several σ.

    Attributes
    ----------
    start, stop
        2σ at the ends of the slab, linear in between, ``(C,)``.
    squares
        ∫_piece ⟨R, (σ + B)^{-1}R⟩, ``(pieces, C)``.
    rest
        ∫_piece of the square of what stays in L², ``(pieces,)``: the mean, and what no frequency holds.
    """

    start: Array
    stop: Array
    squares: Array
    rest: Array

    def costs(self, duration: float) -> tuple[Array, Array, Array]:
        """α, β and m = ∫μ on every piece, ``(pieces, C)``."""
        pieces, ways = self.squares.shape
        alpha = np.sqrt(duration / pieces * self.rest)
        return (
            np.tile(alpha[:, None], ways),
            0.5 * self.squares,
            exponents(self.start, self.stop, pieces, duration),
        )


def joint_dual(
    spectral: SpectralForm,
    grams: Array,
    nodes: Sequence[object],
    value: FormValue,
    rates: DissipativeRates,
    known: SplitSpectrum,
    duration: float,
    final_time: float,
) -> JointDual | None:
    """Costs of a slab, or None where the matrices are too small.

    Parameters
    ----------
    spectral
        Residuals at the nodes by frequencies.
    grams
        As `NodeForm.__call__` has them, with the weights 1 − s and s, ``(2, pieces, 2k, 2k)``.
    nodes, value
        Of the slab, and what the form gives for it.
    rates
        What growth and dissipation do on the slab.
    known
        The residual by groups of frequencies.
    duration, final_time
        Δt, T.
    """
    offsets = OFFSETS / final_time
    squares = np.zeros((grams.shape[1], len(offsets)))
    ends, least = [], np.full(len(offsets), np.inf)
    for gram, growth in zip(grams, rates.forms, strict=True):
        bounds = growth.bounded_below(offsets)
        if bounds is None:
            return None
        sigma, eigenvalues, beyond = bounds
        ends.append(2.0 * sigma + rates.deviation)
        least = np.minimum(least, beyond)
        low = np.concatenate([spectral.low(node, growth.numbers) for node in nodes])
        parts = growth.project(low)
        products = parts.real[:, None] * parts.real + parts.imag[:, None] * parts.imag
        matrices = np.einsum("jlm,cm->cjl", products, 1.0 / eigenvalues)
        matrices += spectral.high(nodes, growth.highest, beyond)
        squares += duration * np.einsum("pjl,cjl->pc", gram, matrices)
    tail = known.squares[:, -1:] / (known.rates[-1] + least)
    rounding = ROUNDING * spectral.cell_measure * duration * value.size / offsets
    return JointDual(ends[0], ends[1], np.maximum(squares, 0.0) + tail + rounding, known.rest + known.mean)
