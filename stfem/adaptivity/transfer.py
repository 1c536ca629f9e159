"""Discontinuous polynomials from a mesh to the one that takes its place.

On a pair of cells S ⊂ L, with bases that are orthonormal in the mean,

    P_ij = (1/|S|) ∫_S φ_i^S φ_j^L

is exact with a quadrature of degree 2q. The L² projection is u_S = P u_L from L to its parts, which keeps the
function as it is, and u_L = Σ_S (|S|/|L|) Pᵀ u_S from the parts to L, which keeps the mean (φ_0 = 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from stfem.adaptivity.refinement import MeshChange
from stfem.checks import checked_instance, checked_whole, real_array
from stfem.meshes.quadrature import Array
from stfem.meshes.reference import ReferenceCell
from stfem.spaces.polynomials import reference_basis

__all__ = ["transfer"]

MAX_DEGREE = 8


def transfer(change: MeshChange, u: ArrayLike, degree: int) -> Array:
    """L² projection of a discontinuous function from the old mesh to the new one.

    Exact where cells were refined; the mass of every component is kept to round-off in either direction.

    Parameters
    ----------
    change
        Both meshes.
    u
        Coefficients ``(m, modes, C)`` in `BrokenSpace(change.before.mesh(), degree)`.
    degree
        q ≥ 0.

    Returns
    -------
    Array
        Coefficients ``(m, modes, C')`` in `BrokenSpace(change.domain.mesh(), degree)`.

    Raises
    ------
    ValueError
        For coefficients of another shape.
    """
    checked_instance("change", change, MeshChange, "a MeshChange")
    checked_whole("degree", degree, 0, MAX_DEGREE)
    mesh, given = change.before.mesh(), real_array(u, "u")
    modes = reference_basis(mesh.reference, degree).size
    if given.ndim != 3 or given.shape[1:] != (modes, mesh.size):
        raise ValueError(f"u: expected coefficients (m, {modes}, {mesh.size}), got {given.shape}")
    result = np.zeros((len(given), modes, change.domain.mesh().size))
    width, count = len(change.places), len(change.old)
    kinds, kind = np.unique(change.places.reshape(width**2, count), axis=1, return_inverse=True)
    for k, place in enumerate(kinds.T.reshape(-1, width, width)):
        here = np.flatnonzero(kind.ravel() == k)
        table = _projection(mesh.reference, degree, place)
        part = given[:, :, change.old[here]]
        if change.finer:
            result[:, :, change.new[here]] = table @ part
        else:
            # different parents: the parts of one lie at different places in it
            result[:, :, change.new[here]] += (table.T @ part) * change.shares[here]
    return result


def _projection(reference: ReferenceCell, degree: int, place: Array) -> Array:
    """P ``(modes, modes)`` of a cell with corners at these barycentric coordinates of another."""
    basis = reference_basis(reference, degree)
    if np.array_equal(place, np.eye(len(place))):
        return np.eye(basis.size)
    points, weights = reference.quadrature(2 * degree)
    inside = reference.vertices @ place @ reference.shape_values(points)
    return np.asarray((basis.values(points) * (weights / weights.sum())[:, None]).T @ basis.values(inside))
