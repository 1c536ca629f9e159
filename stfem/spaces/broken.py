"""Discontinuous polynomials on an unstructured mesh.

Kernel layout: coefficients are ``(m, modes, C)``, values at Q points of every cell ``(m, Q, C)``, values on
facets ``(m, Q, F)``; components first, cells last.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stfem.meshes.facets import Index
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.spaces.polynomials import ReferenceBasis, reference_basis

__all__ = ["BrokenSpace", "Field"]

Array = NDArray[np.float64]

#: Polynomial degree that quadrature of given functions integrates exactly beyond twice that of the space.
_EXTRA_ORDER = 6


class Field(Protocol):
    """A scalar function of x ``(d, …)`` and t."""

    def __call__(self, x: ArrayLike, t: float, /) -> Array:
        """Values ``x.shape[1:]``."""


class BrokenSpace:
    """P_q on simplices, mapped Q_q on quadrilaterals and hexahedra, without continuity.

    The basis of every cell is orthonormal in the mean, (1/|K|) ∫_K φ_i φ_j = δ_ij with φ_0 = 1: the mass
    matrix is |K|, ‖u‖² = Σ_K |K| |coefficients|², and coefficient 0 is the mean value. On affine cells it is
    the mapped basis φ̂ of the reference cell; on others φ_i = Σ_j φ̂_j transform[j, i] with an upper
    triangular matrix per cell.

    Parameters
    ----------
    mesh
        The mesh.
    degree
        q ≥ 0.
    """

    def __init__(self, mesh: UnstructuredMesh, degree: int) -> None:
        self.mesh, self.degree = mesh, degree
        self.basis: ReferenceBasis = reference_basis(mesh.reference, degree)

    @property
    def modes(self) -> int:
        """Basis functions per cell."""
        return self.basis.size

    @cached_property
    def transform(self) -> Array | None:
        """From coefficients of φ to those of φ̂, ``(modes, modes, C)``; None where both are the same."""
        if self.mesh.affine:
            return None
        points, weights = self.mesh.reference.quadrature(2 * self.degree + self.mesh.dim)
        density = self.mesh.cell_map(points).determinant / self.mesh.cell_measures
        table = self.basis.values(points)
        gram = np.einsum("q,qc,qi,qj->cij", weights, density, table, table, optimize=True)
        inverse = np.linalg.inv(np.linalg.cholesky(gram))
        return np.ascontiguousarray(inverse.transpose(2, 1, 0))

    def to_reference(self, u: Array, cells: Index | slice = slice(None)) -> Array:
        """Coefficients of the mapped reference basis, ``(m, modes, C)``, of some cells (u of just these)."""
        if self.transform is None:
            return u
        return np.asarray(np.einsum("jic,mic->mjc", self.transform[:, :, cells], u))

    def from_moments(self, moments: Array, cells: Index | slice = slice(None)) -> Array:
        """Moments against φ from those against φ̂, of some cells."""
        if self.transform is None:
            return moments
        return np.asarray(np.einsum("jic,mjc->mic", self.transform[:, :, cells], moments))

    def values(self, u: Array, points: Array) -> Array:
        """u at reference points ``(d, Q)`` of every cell: array ``(m, Q, C)``."""
        return self.basis.values(points) @ self.to_reference(u)

    def gradients(self, u: Array, points: Array) -> Array:
        """∇u at reference points ``(d, Q)`` of every cell: array ``(d, m, Q, C)``."""
        slopes = self.basis.gradients(points)[:, None] @ self.to_reference(u)
        return np.asarray(np.einsum("jiqc,jmqc->imqc", self.mesh.cell_map(points).inverse, slopes))

    def traces(self, u: Array, side: int, parameters: Array, facets: Index) -> Array:
        """u at parameters ``(d − 1, Q)`` of facets, from the minus (0) or plus (1) side: ``(m, Q, F)``."""
        result = np.empty((len(u), parameters.shape[1], len(facets)))
        for local, turned, where in self.mesh.facet_groups(side, facets):
            cells = self.mesh.facets.cells[side, facets[where]]
            table = self.basis.values(self.mesh.reference.facet_points(local, parameters, turned))
            result[:, :, where] = table @ self.to_reference(u[:, :, cells], cells)
        return result

    def project_values(self, values: Array, order: int) -> Array:
        """L² projection of values ``(m, Q, C)`` at the points of ``reference.quadrature(order)``."""
        points, weights = self.mesh.reference.quadrature(order)
        density = self.mesh.cell_map(points).determinant / self.mesh.cell_measures
        table = self.basis.values(points) * weights[:, None]
        return self.from_moments(table.T @ (values * density))

    def project(self, fields: Sequence[Field], t: float = 0.0, order: int | None = None) -> Array:
        """L² projection ``(m, modes, C)`` of one function per component, by quadrature.

        Parameters
        ----------
        fields
            Functions f(x, t).
        t
            Time.
        order
            Polynomial degree that the quadrature integrates exactly, 2q + 6 by default.
        """
        chosen = 2 * self.degree + _EXTRA_ORDER if order is None else order
        x = self.mesh.points(self.mesh.reference.quadrature(chosen)[0])
        return self.project_values(np.stack([field(x, t) for field in fields]), chosen)

    def norm_l2(self, u: Array) -> float:
        """L² norm of a function of the space, all components together."""
        return float(np.sqrt((u**2).sum(axis=(0, 1)) @ self.mesh.cell_measures))

    def __repr__(self) -> str:
        return f"BrokenSpace({self.mesh!r}, degree={self.degree})"
