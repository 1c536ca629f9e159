"""Ways to measure a residual on a mesh, from its terms in any representation (T5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from stfem.meshes.quadrature import Array

__all__ = ["Representation", "Terms", "Way", "lower_root", "squares"]


@dataclass(frozen=True)
class Way:
    """A way to measure: L, F or P of `MeshResidual` with the candidate d̃ of the given number (−1 for D = 0).

    Attributes
    ----------
    convective
        Whether h̃ is the scheme's flux (F).
    means
        Whether only the cell means are measured in L² (P).
    diffusive
        Number of d̃.
    """

    convective: bool
    means: bool
    diffusive: int


class Representation(Protocol):
    """Numbers that stand for scalar fields, the last axis the cells: values at points, or modes."""

    def square(self, field: Array) -> Array:
        """∫_K f², ``(C,)``."""

    def mean_square(self, field: Array) -> Array:
        """∫_K (mean of f on K)², ``(C,)``."""

    def spread_square(self, field: Array) -> Array:
        """∫_K (f − mean of f on K)², ``(C,)``."""


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms of the residual; fluxes are ``(d, …, C)``.

    Attributes
    ----------
    scalar
        ∂_tû + ∇·(bû) + cû − g.
    with_flux
        The same with ∇·h̃ instead of ∇·(bû).
    divergences, defects
        ∇·d̃ and d̃ − D∇û of every candidate.
    gap
        bû − h̃.
    root
        Lower triangular L ``(d, d, …, C)``: |D^{-1/2}Φ|² = |LᵀΦ|² in the coordinates of the fluxes.
    added
        What is added up, for the size of round-off.
    """

    scalar: Array
    with_flux: Array
    divergences: Sequence[Array]
    defects: Sequence[Array]
    gap: Array
    root: Array
    added: Sequence[Array]


def squares(ways: Sequence[Way], terms: Terms, representation: Representation) -> Array:
    """‖R_H‖², ‖D^{-1/2}Φ‖² and (P) ‖S − mean S‖² on every cell for every way, ``(ways, 3, C)``."""
    found = np.zeros((len(ways), 3, terms.scalar.shape[-1]))
    for n, way in enumerate(ways):
        residual = terms.with_flux if way.convective else terms.scalar
        if way.diffusive >= 0:
            residual = residual - terms.divergences[way.diffusive]
            flux = terms.defects[way.diffusive] + (terms.gap if way.convective else 0.0)
            found[n, 1] = _square_of_flux(flux, terms.root, representation)
        if way.means:
            found[n, 0] = representation.mean_square(residual)
            found[n, 2] = representation.spread_square(residual)
        else:
            found[n, 0] = representation.square(residual)
    return found


def lower_root(diffusion: Array, maps: Array) -> Array:
    """Lower triangular L with LLᵀ = MᵀD^{-1}M, for D positive definite and M, both ``(d, d, C)``.

    With D = CCᵀ it is the transpose of the triangular factor of C^{-1}M: on cells of any aspect ratio no
    condition number is squared.
    """
    factor = np.linalg.cholesky(np.moveaxis(diffusion, -1, 0))
    triangle: Array = np.asarray(np.linalg.qr(np.linalg.solve(factor, np.moveaxis(maps, -1, 0)), mode="r"))
    return np.ascontiguousarray(triangle.transpose(2, 1, 0))


def _square_of_flux(flux: Array, lower: Array, representation: Representation) -> Array:
    """By the columns of L, so that squares are added and nothing cancels."""
    total = np.zeros(flux.shape[-1])
    for k in range(len(flux)):
        column = sum((lower[i, k] * flux[i] for i in range(k, len(flux))), np.zeros(1))
        total += representation.square(column)
    return total
