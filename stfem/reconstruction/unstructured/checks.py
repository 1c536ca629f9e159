"""Checkers of fluxes: each returns the size of a defect that vanishes up to round-off (T2.1, T5)."""

from __future__ import annotations

import numpy as np

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.raviart_thomas import RaviartThomasSpace

__all__ = ["boundary_defect", "divergence_defect", "normal_jump"]


def divergence_defect(space: RaviartThomasSpace, local: Array, scheme: BrokenSpace, expected: Array) -> float:
    """max |(∇·σ, φ)_K/|K| − expected| over cells and basis functions, relative to the largest expected.

    Parameters
    ----------
    space, local
        Where the flux lives, and its coefficients within the cells.
    scheme, expected
        Space of the scheme, and the residual of its form divided by |K|, ``(m, modes, C)``.
    """
    defect = space.divergence_moments(local, scheme) - expected
    return _relative(defect, expected)


def normal_jump(space: RaviartThomasSpace, local: Array, order: int) -> float:
    """max |σ⁻·n − σ⁺·n| at quadrature points of interior facets, relative to the largest |σ|.

    Parameters
    ----------
    space, local
        Where the flux lives, and its coefficients within the cells.
    order
        Order of the quadrature on facets whose points are looked at.
    """
    parameters = space.mesh.reference.on_facet.quadrature(order)[0]
    inner = np.arange(space.mesh.facets.interior)
    normals = space.mesh.facet_normals(parameters, inner)[0]
    minus, plus = (space.traces(local, side, parameters, inner) for side in (0, 1))
    return _relative(np.einsum("iqf,imqf->mqf", normals, minus - plus), minus)


def boundary_defect(
    space: RaviartThomasSpace, local: Array, facets: Index, expected: Array, order: int
) -> float:
    """max |σ·n − expected| at the points of some facets, relative to the largest expected.

    Parameters
    ----------
    space, local
        Where the flux lives, and its coefficients within the cells.
    facets
        Numbers of the facets.
    expected
        Normal component ``(m, Q, F)`` at the points of ``on_facet.quadrature(order)``.
    order
        Order of that quadrature.
    """
    parameters = space.mesh.reference.on_facet.quadrature(order)[0]
    normals = space.mesh.facet_normals(parameters, facets)[0]
    traces = space.traces(local, 0, parameters, facets)
    return _relative(np.einsum("iqf,imqf->mqf", normals, traces) - expected, expected)


def _relative(defect: Array, size: Array) -> float:
    """Largest entry of a defect over the largest of what it belongs to, itself where that vanishes."""
    scale = float(np.abs(size).max(initial=0.0))
    largest = float(np.abs(defect).max(initial=0.0))
    return largest / scale if scale > 0.0 else largest
