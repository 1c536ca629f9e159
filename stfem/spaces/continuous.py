"""Continuous polynomials on an unstructured mesh: nodal values, shared by all cells that meet in a node.

Kernel layout: nodal values are ``(m, size)``, arrays within the cells ``(m, modes, C)``.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from stfem.meshes.facets import Index
from stfem.meshes.reference import ReferenceCell
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.spaces.broken import Array, BrokenSpace

__all__ = ["ContinuousSpace"]


class ContinuousSpace:
    """P_k on simplices, mapped Q_k on quadrilaterals and hexahedra, continuous across facets.

    The nodes of a cell are the points with coordinates i/k. Two of them are one node if facets lead from the
    one to the other, glued facets among them; that is all it takes for functions to be in H¹.

    Parameters
    ----------
    mesh
        The mesh.
    degree
        k ≥ 1.

    Attributes
    ----------
    broken
        Discontinuous space of the same degree, in which functions are evaluated.
    lattice
        Reference coordinates of the nodes of a cell, ``(d, modes)``.
    nodes
        Numbers of the nodes of every cell, ``(modes, C)``.
    size
        Number of nodes.

    Raises
    ------
    ValueError
        For degrees below 1.
    """

    def __init__(self, mesh: UnstructuredMesh, degree: int) -> None:
        if degree < 1:
            raise ValueError(f"degree: expected at least 1, got {degree}")
        self.mesh, self.degree = mesh, degree
        self.broken = BrokenSpace(mesh, degree)
        self.lattice = _lattice(mesh.reference, degree)
        self.size, self.nodes = self._number()

    def _number(self) -> tuple[int, Index]:
        mesh, facets = self.mesh, self.mesh.facets
        modes, parameters = self.lattice.shape[1], _lattice(mesh.reference.on_facet, self.degree)
        place = {tuple(point): n for n, point in enumerate(self._integers(self.lattice))}
        ends = np.empty((2, parameters.shape[1], facets.interior), dtype=np.intp)
        inner = np.arange(facets.interior)
        for side in (0, 1):
            for local, turned, where in mesh.facet_groups(side, inner):
                points = mesh.reference.facet_points(local, parameters, turned)
                here = np.array([place[tuple(point)] for point in self._integers(points)], dtype=np.intp)
                ends[side][:, where] = here[:, None] * mesh.size + facets.cells[side, where]
        minus, plus = ends.reshape(2, -1)
        total = modes * mesh.size
        links = coo_array((np.ones(len(minus)), (minus, plus)), shape=(total, total))
        size, labels = connected_components(links, directed=False)
        return int(size), np.asarray(labels, dtype=np.intp).reshape(modes, mesh.size)

    def _integers(self, points: Array) -> list[list[int]]:
        return np.rint(self.degree * points.T).astype(int).tolist()  # type: ignore[no-any-return]

    @cached_property
    def _dual(self) -> Array:
        """From values at the nodes of a cell to modes of the reference basis."""
        return np.asarray(np.linalg.inv(self.broken.basis.values(self.lattice)))

    def lagrange(self, points: Array) -> Array:
        """Nodal basis of a cell at reference points ``(d, Q)``: array ``(Q, modes)``."""
        return self.broken.basis.values(points) @ self._dual

    def lagrange_gradients(self, points: Array) -> Array:
        """Gradients of the nodal basis in every cell, ``(d, Q, modes, C)``."""
        slopes = self.broken.basis.gradients(points) @ self._dual
        return np.asarray(np.einsum("jiqc,jqn->iqnc", self.mesh.cell_map(points).inverse, slopes))

    def to_broken(self, values: Array) -> Array:
        """Coefficients ``(m, modes, C)`` in `broken` of nodal values ``(m, size)``."""
        reference = self._dual @ values[:, self.nodes]
        if self.broken.transform is None:
            return reference
        transform = self.broken.transform.transpose(2, 0, 1)
        return np.ascontiguousarray(
            np.linalg.solve(transform, reference.transpose(2, 1, 0)).transpose(2, 1, 0)
        )

    @cached_property
    def hosts(self) -> tuple[Index, Index]:
        """A cell for every node, and the number of the node therein."""
        local, cell = np.divmod(np.arange(self.nodes.size), self.mesh.size)
        host = np.empty(self.size, dtype=np.intp)
        host[self.nodes.ravel()] = np.arange(self.nodes.size)
        return cell[host], local[host]

    @cached_property
    def points(self) -> Array:
        """Coordinates of the nodes, ``(d, size)``, seen from their hosts."""
        cells, local = self.hosts
        return np.ascontiguousarray(self.mesh.points(self.lattice)[:, local, cells])

    def nodes_on(self, facets: Index) -> Index:
        """Numbers of the nodes on some facets, sorted."""
        reference = self.mesh.reference
        parameters = _lattice(reference.on_facet, self.degree)
        place = {tuple(point): n for n, point in enumerate(self._integers(self.lattice))}
        found = [np.zeros(0, dtype=np.intp)]
        for local, turned, where in self.mesh.facet_groups(0, facets):
            points = reference.facet_points(local, parameters, turned)
            here = [place[tuple(point)] for point in self._integers(points)]
            found.append(self.nodes[here][:, self.mesh.facets.cells[0, facets[where]]].ravel())
        return np.unique(np.concatenate(found))

    def assemble(self, blocks: Array) -> csr_array:
        """Matrix ``(size, size)`` from those of the cells, ``(modes, modes, C)``, of the nodal basis."""
        rows = np.broadcast_to(self.nodes[:, None], blocks.shape).ravel()
        columns = np.broadcast_to(self.nodes[None], blocks.shape).ravel()
        return csr_array(coo_array((blocks.ravel(), (rows, columns)), shape=(self.size, self.size)))

    def assemble_load(self, vectors: Array) -> Array:
        """Sums ``(m, size)`` over the cells of vectors ``(m, modes, C)``."""
        numbers = self.nodes.ravel()
        return np.stack([np.bincount(numbers, row.ravel(), minlength=self.size) for row in vectors])

    def __repr__(self) -> str:
        return f"ContinuousSpace({self.mesh!r}, degree={self.degree})"


def _lattice(cell: ReferenceCell, degree: int) -> Array:
    """Points with coordinates i/k of a reference cell, ``(d, points)``."""
    indices = product(range(degree + 1), repeat=cell.dim)
    chosen = [index for index in indices if not cell.simplex or sum(index) <= degree]
    return np.array(chosen, dtype=np.float64).reshape(len(chosen), cell.dim).T / degree
