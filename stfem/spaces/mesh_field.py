"""Functions of a discontinuous space on an unstructured mesh, as functions of points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from stfem.meshes.unstructured import UnstructuredMesh
from stfem.spaces.broken import Array, BrokenSpace
from stfem.spaces.field import checked_points

__all__ = ["MeshField"]


@dataclass(frozen=True, eq=False, repr=False)
class MeshField:
    """A piecewise polynomial on an unstructured mesh, such as u_h(T) or û(T), as a function of points.

    Attributes
    ----------
    space
        Space with the mesh.
    values
        Coefficients in kernel layout ``(m, modes, C)``.
    """

    space: BrokenSpace
    values: Array

    @property
    def mesh(self) -> UnstructuredMesh:
        """The mesh."""
        return self.space.mesh

    @property
    def degree(self) -> int:
        """Polynomial degree, on cubes in every variable of the reference cell."""
        return self.space.degree

    @property
    def components(self) -> int:
        """Number of components m."""
        return int(self.values.shape[0])

    def __call__(self, x: ArrayLike) -> Array:
        """Values at points x ``(d, …)``; of one component ``x.shape[1:]``, of several ``(m, …)``.

        On a facet the value is that of the cell with the smallest number. Points are those of the mesh also
        where it is periodic.

        Raises
        ------
        ValueError, TypeError
            For points outside of the mesh, of another dimension, that are not finite, and for what is no
            real number.
        """
        points = checked_points(x, self.mesh.dim)
        cells, local = self.mesh.locate(points.reshape(self.mesh.dim, -1))
        values = self.in_cells(cells, local)
        shape = points.shape[1:]
        return values.reshape(shape) if self.components == 1 else values.reshape(self.components, *shape)

    def in_cells(self, cells: np.ndarray, points: Array) -> Array:
        """Values ``(m, n)`` at one reference point ``(d, n)`` in each of the cells ``(n,)``."""
        table = self.space.basis.values(points)  # (n, modes)
        return np.asarray(np.einsum("nk,mkn->mn", table, self._reference[:, :, cells]))

    def at(self, points: Array) -> Array:
        """Values ``(m, Q, C)`` at reference points ``(d, Q)`` of every cell."""
        return np.asarray(self.space.basis.values(points) @ self._reference)

    @cached_property
    def _reference(self) -> Array:
        """Coefficients of the mapped reference basis."""
        return self.space.to_reference(self.values)

    def __repr__(self) -> str:
        return f"MeshField(cells={self.mesh.size}, degree={self.degree}, components={self.components})"
