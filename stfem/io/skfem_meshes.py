"""Functions on unstructured meshes for scikit-fem, and its functions for this package."""

from __future__ import annotations

from typing import Any

import numpy as np
import skfem

from stfem.meshes.reference import ReferenceCell
from stfem.problems import Box, Problem
from stfem.semidiscretization import UnstructuredSemidiscretization
from stfem.spaces.polynomials import reference_basis
from stfem.spaces.stencil import Array

__all__ = ["MeshProjection", "OrthonormalElement", "cells_of", "mesh_vectors"]

#: Relative difference up to which points and values count as equal.
_TOLERANCE = 1e-9


class OrthonormalElement(skfem.ElementH1):  # type: ignore[misc]  # scikit-fem has no types
    """P_q or mapped Q_q without continuity, with the basis of this package on the reference cell.

    The basis is orthonormal in the mean there, so that the mass matrix is |K| on affine cells.

    Parameters
    ----------
    refdom
        Reference cell of scikit-fem.
    cell
        The same of this package.
    degree
        q ≥ 0.
    """

    def __init__(self, refdom: Any, cell: ReferenceCell, degree: int) -> None:
        self.refdom, self.degree = refdom, degree
        self.maxdeg = max(degree, 1)  # chooses quadrature rules, and there is none for 0
        self._basis = reference_basis(cell, degree)
        self.interior_dofs = self._basis.size
        self.dofnames = ["u"] * self.interior_dofs
        self.doflocs = np.full((self.interior_dofs, cell.dim), np.nan)  # moments sit nowhere

    def lbasis(self, X: Array, i: int) -> tuple[Array, Array]:
        """Values and gradients of function i at reference points ``(d, …)``."""
        points = np.ascontiguousarray(X, dtype=np.float64).reshape(len(X), -1)
        values = self._basis.values(points)[:, i]
        gradients = self._basis.gradients(points)[:, :, i]
        return values.reshape(X.shape[1:]), gradients.reshape(X.shape)


def mesh_vectors(semi: UnstructuredSemidiscretization, values: Array) -> Array:
    """From kernel layout ``(m, modes, C)`` to vectors ``(m, dofs)``, the modes of a cell together."""
    return np.swapaxes(semi.space.to_reference(values), 1, 2).reshape(len(values), -1)


def cells_of(problem: Problem, mesh: Any) -> tuple[int, ...] | None:
    """Cells per direction of a `Box` that may have this mesh, None for a domain with its own."""
    if not isinstance(problem.domain, Box):
        return None
    if not isinstance(mesh, skfem.Mesh):
        raise TypeError(f"mesh: expected a mesh of scikit-fem, got {type(mesh).__name__}")
    return tuple(max(1, len(np.unique(x)) - 1) for x in mesh.p[: problem.domain.dim])


class MeshProjection:
    """Coefficients of the field of a vector, which has to be in the space of a scheme.

    Parameters
    ----------
    semi
        The scheme.
    mesh, element
        Those of the vector; the mesh is that of the scheme.

    Raises
    ------
    TypeError, ValueError
        For what is no element, and for another mesh.
    """

    def __init__(self, semi: UnstructuredSemidiscretization, mesh: Any, element: Any) -> None:
        if not isinstance(element, skfem.Element):
            raise TypeError(f"element: expected an element of scikit-fem, got {element!r}")
        self._space, own = semi.space, semi.mesh.source
        size = float(np.ptp(own.p, axis=1).max())
        same = (
            type(mesh) is type(own)
            and np.array_equal(mesh.t, own.t)
            and mesh.p.shape == own.p.shape
            and np.abs(mesh.p - own.p).max() <= _TOLERANCE * size
        )
        if not same:
            raise ValueError(
                f"mesh: expected that of the domain, a {type(own).__name__} with {own.t.shape[1]} cells, "
                f"got another one: a {type(mesh).__name__}"
                + (f" with {mesh.t.shape[1]} cells" if isinstance(mesh, skfem.Mesh) else "")
            )
        # enough points to notice what is not in the space
        self._order = 2 * max(semi.degree, int(element.maxdeg)) + 2
        self._points, weights = semi.mesh.reference.quadrature(self._order)
        self._basis = skfem.CellBasis(mesh, element, quadrature=(self._points, weights))
        self.size = int(self._basis.N)

    def __call__(self, vector: Array) -> Array:
        """Coefficients ``(modes, C)``."""
        given = np.asarray(self._basis.interpolate(vector)).T
        if given.shape != (self._points.shape[1], self._space.mesh.size):
            raise TypeError("element: expected a scalar one, got one with several components")
        coefficients = self._space.project_values(given[None], self._order)
        difference = np.abs(self._space.values(coefficients, self._points)[0] - given).max(initial=0.0)
        if difference > _TOLERANCE * np.abs(given).max(initial=0.0):
            raise ValueError(
                f"coefficients: expected polynomials of degree {self._space.degree} in every cell, "
                f"got a field that differs from its projection by {difference:.3g}"
            )
        return np.asarray(coefficients[0])
