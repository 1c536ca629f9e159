"""Proved ranges of û and of its slopes over cells × slab, on meshes (T4.6)."""

from __future__ import annotations

import numpy as np

from stfem.data import polynomial_range
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.reference import ReferenceCell
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.legendre import gauss, legendre_values

__all__ = ["FieldRange"]

#: Round-off of the change of basis, relative to the largest coefficient.
_ROUND_OFF = 1e-13
_TIMES = np.linspace(0.0, 1.0, 5)


class FieldRange:
    """Bounds of a field of a discontinuous space that is polynomial in time.

    Simplices are images of cubes, x_i = s_i Π_{j<i} (1 − s_j), and polynomials of total degree k there are of
    degree k in every s_i: so one kind of Bernstein coefficients serves all cells.

    Parameters
    ----------
    space
        The space.
    """

    def __init__(self, space: BrokenSpace) -> None:
        self._space, mesh = space, space.mesh
        # on cells that are not affine J^{-1} det J multiplies ∇̂û, of degree d − 1
        degree = space.degree + (0 if mesh.affine else mesh.dim - 1)
        nodes, weights = gauss(degree + 1)
        cube = np.stack([axis.ravel() for axis in np.meshgrid(*[nodes] * mesh.dim, indexing="ij")])
        self._points = _folded(mesh.reference, cube)
        one = (legendre_values(degree, nodes) * weights[:, None]).T
        self._to_modes = one
        for _ in range(mesh.dim - 1):
            self._to_modes = np.asarray(np.kron(self._to_modes, one), dtype=np.float64)
        self._shape = (degree + 1,) * mesh.dim
        self._values = self._to_modes @ space.basis.values(self._points)
        self._maps = mesh.cell_map(self._points)
        self._gradients = space.basis.gradients(self._points)
        self._slopes = self._to_modes @ self._gradients

    def state(self, modes: Array, cells: Index | slice = slice(None)) -> tuple[float, float]:
        """Range of a field with modes in time ``(r, modes, C)``, on some cells."""
        local = self._space.to_reference(modes[:, :, cells], cells)
        return self._range(self._values @ local)

    def slope(self, modes: Array, direction: Array) -> tuple[float, float]:
        """Range of direction · ∇u over all cells."""
        local, maps = self._space.to_reference(modes), self._maps
        along = np.einsum("i,jiqc->jqc", direction, maps.inverse)
        if self._space.mesh.affine:
            pulled = sum(w * (table @ local) for w, table in zip(along, self._slopes, strict=True))
            return self._range(np.asarray(pulled))
        numerator = self._to_modes @ np.einsum(
            "jqc,jtqc->tqc", along * maps.determinant, self._gradients[:, None] @ local
        )
        determinant = self._to_modes @ maps.determinant
        low, high = (self._quotient(sign * numerator, determinant) for sign in (-1.0, 1.0))
        return -low, high

    def _range(self, modes: Array) -> tuple[float, float]:
        """Range of modes ``(r, p^d, C)``."""
        low, high = polynomial_range(modes.reshape(len(modes), *self._shape, -1), 1 + len(self._shape))
        slack = _ROUND_OFF * float(np.abs(modes).max(initial=0.0)) * modes.shape[0] * modes.shape[1]
        return low - slack, high + slack

    def _quotient(self, numerator: Array, determinant: Array) -> float:
        """Upper bound of N/det: where s is a value of it, s + sup(N − s det)₊ / inf det."""
        back = np.linalg.inv(self._to_modes)
        in_time = legendre_values(len(numerator) - 1, _TIMES)
        values = np.tensordot(in_time, back @ numerator, 1)
        best = float((values / (back @ determinant)).max())
        rest = numerator.copy()
        rest[0] -= best * determinant
        smallest = self._range(determinant[None])[0]
        if smallest <= 0.0:
            raise ValueError(f"mesh: expected cells with det J > 0 everywhere, got down to {smallest:g}")
        return best + max(self._range(rest)[1], 0.0) / smallest


def _folded(cell: ReferenceCell, cube: Array) -> Array:
    """Points of a cell from those of the cube."""
    if not cell.simplex:
        return cube
    rest = np.cumprod(np.concatenate([np.ones((1, cube.shape[1])), 1.0 - cube[:-1]]), axis=0)
    return np.asarray(cube * rest)
