"""Polynomials on patches of cells around vertices, by least squares of moments (T5)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.sparse import coo_array, csr_array

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.continuous import ContinuousSpace

__all__ = ["patch_matrix"]

#: Moments wanted per coefficient, and the smallest singular value, relative to the largest.
_SURPLUS, _RANK = 1.5, 1e-5
#: Layers added before a patch is taken as it is (a mesh may be too small for any better).
_LAYERS = 4


@dataclass(frozen=True, eq=False)
class _Patches:
    """Cells around vertices, sorted by vertex; a cell may come twice where a period is short.

    Attributes
    ----------
    vertex, cell
        Of every pair, ``(n,)``.
    centre
        The vertex as seen from the cell, ``(d, n)``: across a seam it is moved by the period.
    """

    vertex: Index
    cell: Index
    centre: Array

    def of(self, vertices: Index) -> _Patches:
        chosen = np.isin(self.vertex, vertices)
        return _Patches(self.vertex[chosen], self.cell[chosen], self.centre[:, chosen])


class _Corners:
    """Vertices of the cells, numbered such that glued ones are the same."""

    def __init__(self, space: BrokenSpace) -> None:
        self.linear = ContinuousSpace(space.mesh, 1)
        self.points = space.mesh.points(self.linear.lattice)  # (d, corners, C)
        self._scale = space.mesh.cell_diameters
        corners, cells = self.linear.nodes.shape
        every = np.tile(np.arange(cells), corners)
        self.stars = self._sorted(self.linear.nodes.ravel(), every, self.points.reshape(space.mesh.dim, -1))

    def _sorted(self, vertex: Index, cell: Index, centre: Array) -> _Patches:
        # the same cell reached in two ways is the same, its copy in another period is not
        from_corner = np.rint(1e3 * (centre - self.points[:, 0, cell]) / self._scale[cell]).astype(np.intp)
        keys = np.stack([vertex, cell, *from_corner])
        first = np.unique(keys, axis=1, return_index=True)[1]
        return _Patches(vertex[first], cell[first], centre[:, first])

    def enlarged(self, patches: _Patches) -> _Patches:
        """The same with all cells that share a vertex with one of the patch."""
        stars, nodes = self.stars, self.linear.nodes
        first = np.searchsorted(stars.vertex, np.arange(self.linear.size + 1))
        grown = [patches]
        for corner in range(len(nodes)):
            shared = nodes[corner, patches.cell]
            count = np.diff(first)[shared]
            origin = np.repeat(np.arange(len(shared)), count)
            start = np.cumsum(count) - count
            member = first[shared][origin] + np.arange(len(origin)) - start[origin]
            moved = stars.centre[:, member] - self.points[:, corner, patches.cell[origin]]
            centre = patches.centre[:, origin] + moved
            grown.append(_Patches(patches.vertex[origin], stars.cell[member], centre))
        return self._sorted(
            np.concatenate([part.vertex for part in grown]),
            np.concatenate([part.cell for part in grown]),
            np.concatenate([part.centre for part in grown], axis=1),
        )


def patch_matrix(space: BrokenSpace, target: ContinuousSpace) -> csr_array:
    """From u_h ``(modes · C,)`` to Σ_v λ_v p_v at the nodes of a continuous space, ``(size, modes · C)``.

    Parameters
    ----------
    space
        Discontinuous space.
    target
        Continuous space; the p_v have its degree.
    """
    corners = _Corners(space)
    powers = _powers(space.mesh.dim, target.degree)
    scales, fit = _least_squares(space, corners, powers)
    # value at a node: Σ over the corners of its host of λ · monomials · coefficients
    cells, local = target.hosts
    hats = corners.linear.lagrange(target.lattice)[local]  # (nodes, corners)
    vertices = corners.linear.nodes[:, cells].T
    offset = target.points[:, :, None] - corners.points[:, :, cells].transpose(0, 2, 1)
    values = _monomials(offset / scales[vertices], powers) * hats[..., None]
    count = len(powers)
    places = (
        np.broadcast_to(np.arange(target.size)[:, None, None], values.shape).ravel(),
        (vertices[..., None] * count + np.arange(count)).ravel(),
    )
    shape = (target.size, corners.linear.size * count)
    return csr_array(csr_array(coo_array((values.ravel(), places), shape=shape)) @ fit)


def _least_squares(space: BrokenSpace, corners: _Corners, powers: Index) -> tuple[Array, csr_array]:
    """Radius of every patch, and the matrix from u_h to the coefficients of all p_v."""
    patches, vertices = corners.stars, corners.linear.size
    scales = np.zeros(vertices)
    rows: list[Index] = []
    columns: list[Index] = []
    entries: list[Array] = []
    for layer in range(_LAYERS + 1):
        count = np.bincount(patches.vertex, minlength=vertices)
        failed = [np.flatnonzero((count > 0) & (count * space.modes < _SURPLUS * len(powers)))]
        last = layer == _LAYERS
        for width in np.unique(count[count > 0]):
            if width * space.modes < _SURPLUS * len(powers) and not last:
                continue
            members = np.flatnonzero(count == width)
            group = patches.of(members)
            cells = group.cell.reshape(len(members), width)
            moments, radii = _moments(space, corners, group, powers, width)
            left, sizes, right = np.linalg.svd(moments, full_matrices=False)
            good = (sizes[:, -1] > _RANK * sizes[:, 0]) | last
            failed.append(members[~good])
            inverse = np.where(sizes > _RANK * sizes[:, :1], 1.0 / np.maximum(sizes, 1e-300), 0.0)
            solution = (right.transpose(0, 2, 1) * inverse[:, None]) @ left.transpose(0, 2, 1)
            solution = solution[good].reshape(-1, len(powers), width, space.modes)
            scales[members[good]] = radii[good]
            row = members[good][:, None] * len(powers) + np.arange(len(powers))
            column = cells[good][:, :, None] + np.arange(space.modes) * space.mesh.size
            rows.append(np.broadcast_to(row[:, :, None, None], solution.shape).ravel())
            columns.append(np.broadcast_to(column[:, None], solution.shape).ravel())
            entries.append(solution.ravel())
        rest = np.concatenate(failed)
        if last or len(rest) == 0:
            break
        patches = corners.enlarged(patches.of(rest))
    places = (np.concatenate(rows), np.concatenate(columns))
    shape = (vertices * len(powers), space.modes * space.mesh.size)
    return scales, csr_array(coo_array((np.concatenate(entries), places), shape=shape))


def _moments(
    space: BrokenSpace, corners: _Corners, group: _Patches, powers: Index, width: int
) -> tuple[Array, Array]:
    """Moments of the monomials, ``(vertices, width · modes, monomials)``, and the radii of the patches."""
    mesh = space.mesh
    reach = np.linalg.norm(corners.points[:, :, group.cell] - group.centre[:, None], axis=0).max(axis=0)
    radii = reach.reshape(-1, width).max(axis=1)
    degree = int(powers.sum(axis=1).max())
    # on cells that are not affine, x has degree 1 in every variable, and so has the determinant
    order = space.degree + degree if mesh.affine else space.degree + degree * mesh.dim + mesh.dim
    points, weights = mesh.reference.quadrature(order)
    offset = mesh.points(points, group.cell) - group.centre[:, None]  # (d, Q, pairs)
    values = _monomials(offset / np.repeat(radii, width), powers)  # (Q, pairs, monomials)
    maps = mesh.cell_map(points, group.cell)
    values *= (maps.determinant / mesh.cell_measures[group.cell])[..., None]
    table = space.basis.values(points) * weights[:, None]
    moments = np.tensordot(values, table, (0, 0))  # (pairs, monomials, modes)
    if space.transform is not None:
        moments = np.einsum("jic,cpj->cpi", space.transform[:, :, group.cell], moments)
    shaped = moments.reshape(-1, width, len(powers), space.modes).transpose(0, 1, 3, 2)
    return shaped.reshape(len(radii), width * space.modes, len(powers)), radii


def _powers(dim: int, degree: int) -> Index:
    """Exponents of the monomials up to a total degree, ``(monomials, d)``."""
    chosen = [k for k in product(range(degree + 1), repeat=dim) if sum(k) <= degree]
    return np.array(chosen, dtype=np.intp).reshape(len(chosen), dim)


def _monomials(x: Array, powers: Index) -> Array:
    """Monomials at x ``(d, …)``: array ``(…, monomials)``."""
    return np.stack([np.prod([c**k for c, k in zip(x, row, strict=True)], axis=0) for row in powers], axis=-1)
