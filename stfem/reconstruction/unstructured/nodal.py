"""Continuous reconstructions that are linear in the discrete solution: one sparse matrix (T5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.reconstruction.unstructured.patches import patch_matrix
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.continuous import ContinuousSpace

__all__ = ["NodalReconstruction", "averaging", "vertex_patches"]


@dataclass(frozen=True, eq=False)
class NodalReconstruction:
    """û = nodal values ``matrix`` · u_h, with given values at some nodes.

    Any matrix makes û continuous, hence a valid reconstruction, as long as the nodes on the Dirichlet
    boundary carry the data: then u − û vanishes there. û(t) inherits its smoothness in time from u_h and the
    data.

    Attributes
    ----------
    space
        Discontinuous space of u_h.
    target
        Continuous space of û.
    matrix
        ``(nodes, modes · C)``.
    dirichlet
        Facets on which values are given.
    """

    space: BrokenSpace
    target: ContinuousSpace
    matrix: csr_array
    dirichlet: Index

    @cached_property
    def fixed(self) -> Index:
        """Nodes whose values are given."""
        return self.target.nodes_on(self.dirichlet)

    def nodal(self, u: Array, given: Array | float = 0.0) -> Array:
        """Nodal values ``(m, size)`` of û.

        Parameters
        ----------
        u
            Coefficients ``(m, modes, C)`` of u_h, or of ∂_tu_h for those of ∂_tû.
        given
            Values ``(m, len(fixed))`` at the fixed nodes (or their rates).
        """
        values = np.ascontiguousarray((self.matrix @ u.reshape(len(u), -1).T).T)
        values[:, self.fixed] = given
        return values

    def field(self, u: Array, given: Array | float = 0.0) -> Array:
        """Coefficients ``(m, modes, C)`` of û in ``target.broken``."""
        return self.target.to_broken(self.nodal(u, given))


def averaging(
    space: BrokenSpace, degree: int | None = None, dirichlet: Index | None = None
) -> NodalReconstruction:
    """Nodal averaging (Oswald): the value at a node is the mean over the cells that meet there (T5).

    Sharp in the energy norm where diffusion dominates (ε ~ 1). For ε → 0 the bound is one order short of the
    error, since the cell-random part of u_h enters the residual through its derivatives along b: use
    `vertex_patches` there.

    Cost: one product with a matrix that has about (cells at a node) · modes entries per node.

    Parameters
    ----------
    space
        Discontinuous space, degree q.
    degree
        Degree of û, q + 1 by default.
    dirichlet
        Facets on which values are given.
    """
    target = ContinuousSpace(space.mesh, space.degree + 1 if degree is None else degree)
    table = space.basis.values(target.lattice)  # (nodes of a cell, modes)
    entries = np.broadcast_to(table[:, :, None], (*table.shape, space.mesh.size))
    if space.transform is not None:
        entries = np.einsum("nj,jkc->nkc", table, space.transform)
    count = np.bincount(target.nodes.ravel(), minlength=target.size)
    entries = entries / count[target.nodes][:, None]
    columns = np.arange(space.modes * space.mesh.size).reshape(1, space.modes, -1)
    places = (
        np.broadcast_to(target.nodes[:, None], entries.shape).ravel(),
        np.broadcast_to(columns, entries.shape).ravel(),
    )
    shape = (target.size, space.modes * space.mesh.size)
    matrix = csr_array(coo_array((entries.ravel(), places), shape=shape))
    return NodalReconstruction(space, target, matrix, _facets(dirichlet))


def vertex_patches(
    space: BrokenSpace, degree: int | None = None, dirichlet: Index | None = None
) -> NodalReconstruction:
    """Vertex-patch least squares, the local default (T5).

    For every vertex v a polynomial p_v of degree q + 1 whose moments against the functions of the space come
    closest to those of u_h on the cells around v; then, with the hat functions λ_v,

        û(x) = Σ_v λ_v(x) p_v(x)    at the nodes of the continuous space of degree q + 1.

    Patches grow by layers of cells until they hold 1.5 times as many moments as p_v has coefficients.
    û = u_h where u_h is the projection of a polynomial of degree q + 1; the error is of order q + 2 where u_h
    is as close to the projection of u, and so is the residual of order q + 1 for every ε, 0 included.

    Cost: one product with a matrix that has about (cells of the patches of a cell) · modes entries per node;
    set up by one small least-squares problem per vertex.

    Parameters
    ----------
    space
        Discontinuous space, degree q.
    degree
        Degree of p_v and û, q + 1 by default.
    dirichlet
        Facets on which values are given.
    """
    target = ContinuousSpace(space.mesh, space.degree + 1 if degree is None else degree)
    return NodalReconstruction(space, target, patch_matrix(space, target), _facets(dirichlet))


def _facets(given: Index | None) -> Index:
    return np.zeros(0, dtype=np.intp) if given is None else given
