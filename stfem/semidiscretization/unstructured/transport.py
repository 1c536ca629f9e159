"""Transport by a constant velocity on affine cells: a few products with small matrices per block of cells.

Integrated by parts once more, the DG form of −∇·(bu) with a consistent flux a⁻u⁻ + a⁺u⁺ is, on every cell,

    −Σ_j c_j ∂̂_ju − (1/|K|) Σ_F ∫_F w_F (u − u_beyond) φ,        c = J^{-1}b,

with w = a⁺ as seen from the cell: nothing is left where the flow leaves. Derivatives have fewer modes than u.
"""

from __future__ import annotations

import numpy as np

from stfem.meshes.facets import Index
from stfem.spaces.blocks import slices
from stfem.spaces.broken import Array, BrokenSpace

__all__ = ["ConstantTransport", "constant_transport"]

#: Entries of matrices of derivatives that count as zero.
_ZERO = 1e-12
#: Difference, relative to |b·n|, up to which F(u, u) and f(u)·n are the same.
_CONSISTENT = 1e-12


class ConstantTransport:
    """u ↦ the above, with u_beyond = 0 on the boundary.

    Parameters
    ----------
    space
        On affine cells.
    order
        Polynomial degree that the quadrature on facets integrates exactly.
    speeds
        c, ``(d, C)``.
    weights
        w ds/d(parameter)/|K|, ``(sides, C)``.
    """

    def __init__(self, space: BrokenSpace, order: int, speeds: Array, weights: Array) -> None:
        reference, basis = space.mesh.reference, space.basis
        parameters, quadrature = reference.on_facet.quadrature(order)
        across, turned = _across(space)
        places = [reference.facet_points(facet, parameters, turn) for facet, turn in turned]
        table = np.stack([basis.values(points) for points in places], axis=1)  # (Q, turned sides, modes)
        own = table[:, : len(reference.facets)] * quadrature[:, None, None]
        self._traces = table.reshape(-1, space.modes)
        self._lift = np.ascontiguousarray(own.reshape(-1, space.modes).T)
        self._slopes, count = _derivatives(space)
        # traces on Q arrays (turned sides, C + 1), whose last column, beyond the boundary, is zero
        self._values = np.zeros((len(quadrature), len(turned), space.mesh.size + 1))
        values = 2 * space.modes + self._values.shape[1] + 2 * (len(self._lift[0]) + len(self._slopes))
        self._blocks = [
            (
                part,
                np.ascontiguousarray(across[:, part]).ravel(),
                np.ascontiguousarray(weights[:, part]).ravel(),
                np.ascontiguousarray(-speeds[:, None, part]),
            )
            for part in slices(space.mesh.size, values)
        ]
        widest = max(part.stop - part.start for part, *_ in self._blocks)
        self._jumps = np.empty(len(self._lift[0]) * widest)
        self._derivatives = np.empty(len(speeds) * count * widest)

    def __call__(self, u: Array) -> Array:
        """Rate ``(m, modes, C)``."""
        rate = np.empty(u.shape)
        for field, target in zip(u, rate, strict=True):
            self._apply(field, target)
        return rate

    def _apply(self, u: Array, rate: Array) -> None:
        values = self._values
        points, sides, _ = values.shape
        traces = values.reshape(points * sides, -1)
        for part, *_ in self._blocks:
            np.matmul(self._traces, u[:, part], out=traces[:, part])
        rows = values.reshape(points, -1)
        for part, across, weights, speeds in self._blocks:
            cells = part.stop - part.start
            jumps = self._jumps[: points * len(across)].reshape(points, -1)
            np.take(rows, across, axis=1, out=jumps, mode="clip")  # places are right: nothing to check
            own = jumps.reshape(points, -1, cells)
            np.subtract(values[:, : own.shape[1], part], own, out=own)
            jumps *= weights
            np.matmul(self._lift, jumps.reshape(-1, cells), out=rate[:, part])
            flat = self._derivatives[: len(self._slopes) * cells].reshape(-1, cells)
            np.matmul(self._slopes, u[:, part], out=flat)
            slopes = flat.reshape(len(speeds), -1, cells)
            slopes *= speeds
            low = rate[: slopes.shape[1], part]
            for slope in slopes:
                low += slope


def constant_transport(
    space: BrokenSpace, order: int, velocity: Array, own: Array, other: Array
) -> ConstantTransport | None:
    """The operator of a numerical flux; None for one that is not consistent.

    Parameters
    ----------
    space, order
        As in `ConstantTransport`.
    velocity
        b ``(d,)``.
    own, other
        Coefficients of the own and the other trace in the flux out of every cell, times
        ds/d(parameter)/|K|: ``(sides, C)``; those of the other count between cells alone.
    """
    mesh = space.mesh
    maps = mesh.cell_map(mesh.reference.vertices)
    speeds = np.einsum("jic,i->jc", maps.inverse[:, :, 0], velocity)
    outward = (mesh.reference.facet_normals.T @ speeds) * (maps.determinant[0] / mesh.cell_measures)
    inner = mesh.facets.of_cells(mesh.size, len(own)) < mesh.facets.interior
    gap = np.abs(own + other - outward)[inner]
    if np.any(gap > _CONSISTENT * np.abs(outward).max()):
        return None
    return ConstantTransport(space, order, speeds, np.where(inner, other, outward - own))


def _across(space: BrokenSpace) -> tuple[Index, list[tuple[int, int]]]:
    """What lies across every side of every cell, and the sides as cells see those of their neighbours.

    Returns
    -------
    across
        Positions ``(sides, C)`` in ``(turned sides, C + 1)``; the last column on the boundary.
    turned
        Numbers of sides with their orientations; the sides as they are come first.
    """
    mesh, facets = space.mesh, space.mesh.facets
    permutations = mesh.reference.facet_permutations
    back = np.array([permutations.index(tuple(np.argsort(order))) for order in permutations])
    inner = slice(0, facets.interior)
    cells, local, orientation = facets.cells[:, inner], facets.local[:, inner], facets.orientation[inner]
    sides = len(mesh.reference.facets)
    across = np.full((sides, mesh.size), mesh.size)
    codes = orientation * sides + local[1], back[orientation] * sides + local[0]
    known = np.union1d(np.arange(sides), np.concatenate(codes))
    for side, code in enumerate(codes):
        place = np.searchsorted(known, code) * (mesh.size + 1) + cells[1 - side]
        across[local[side], cells[side]] = place
    return across, [(int(code) % sides, int(code) // sides) for code in known]


def _derivatives(space: BrokenSpace) -> tuple[Array, int]:
    """Matrices of ∂̂_j one below the other, without the modes that none of them reaches; how many are left."""
    reference = space.mesh.reference
    points, weights = reference.quadrature(2 * space.degree)
    project = (space.basis.values(points) * weights[:, None]).T / reference.measure
    matrices = project @ space.basis.gradients(points)
    reached = np.flatnonzero(np.abs(matrices).max(axis=(0, 2)) > _ZERO)
    count = int(reached.max(initial=-1)) + 1
    return np.ascontiguousarray(matrices[:, :count].reshape(-1, space.modes)), count
