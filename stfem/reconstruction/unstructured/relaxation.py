"""Relaxation of fluxes on patches: local least squares around the vertices, a few sweeps (T5.7)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.continuous import ContinuousSpace
from stfem.spaces.raviart_thomas import RaviartThomasSpace

__all__ = ["FluxRelaxation"]

#: Sweeps over the patches; with more of them nothing is gained.
_SWEEPS = 3
#: Largest over smallest eigenvalue that the sweeps aim at: what is smoother is no defect of the first guess.
_SPREAD = 8.0
#: Order of the quadrature beyond twice the degree, for wanted divergences that are no polynomials.
_DATA_ORDER = 4


class FluxRelaxation:
    """Sweeps towards the minimiser over RT_q of a functional (T5.7).

    It is, with a wanted divergence f,

        ‖D^{-1/2}(d − D∇û)‖² + Σ_K h_K²/(π²λ_K) ‖f − ∇·d − mean‖²_K + L²/(π²λ) Σ_K ‖mean_K(f − ∇·d)‖²

    with λ_K the smallest eigenvalue of D in K and λ that of all, L the size of the domain: what
    the flux and, by the inequalities of Poincaré, its divergence cost in a bound.

    The interior moments are eliminated cell by cell. With S_a the block, for the facets at a vertex a, of the
    matrix that is left for the facet moments, Σ_a S_a^{-1} is the preconditioner. Its eigenvalues reach up to
    the number of vertices of a cell at most; steps are those of Chebyshev for the upper part of the spectrum.

    Cost: set up by one small inverse per cell and vertex; a sweep is a product with a sparse matrix and one
    with these inverses.

    Parameters
    ----------
    space
        RT_q.
    target
        Space of û.
    diffusion
        D ``(d, d, C)`` or ``(d, d, 1)``, positive definite.
    kept
        Facets whose moments do not change; none by default.

    Attributes
    ----------
    points
        Reference points ``(d, Q)`` at which wanted divergences are given.
    """

    def __init__(
        self, space: RaviartThomasSpace, target: BrokenSpace, diffusion: Array, kept: Index | None = None
    ) -> None:
        self.space, self._target = space, target
        mesh, local = space.mesh, space.local_space
        self._outer = local.modes - local.inner_modes
        self.points, weights = mesh.reference.quadrature(2 * target.degree + _DATA_ORDER)
        self._density = weights[:, None] * mesh.cell_map(self.points).determinant / mesh.cell_measures
        smallest = np.linalg.eigvalsh(np.moveaxis(diffusion, -1, 0))[:, 0]
        size = float(np.linalg.norm(np.ptp(mesh.vertices, axis=1)))
        self._rest = (mesh.cell_diameters / np.pi) ** 2 / smallest
        self._mean = (size / np.pi) ** 2 / float(smallest.min()) - self._rest
        # ∫_K ∇û·τ and ∫_K f ∇·τ are integrals on the reference cell
        slopes = target.basis.gradients(self.points)
        self._slopes = np.einsum("q,iqn,iqm->nm", weights, local.values(self.points), slopes)
        self._divergence = (local.divergences(self.points) * weights[:, None]).T
        blocks = self._blocks(diffusion, weights)
        self._inner = np.linalg.inv(blocks[:, self._outer :, self._outer :])
        self._coupling = self._inner @ blocks[:, self._outer :, : self._outer]
        outer = blocks[:, : self._outer, : self._outer]
        outer -= blocks[:, : self._outer, self._outer :] @ self._coupling
        self._gather = csr_array(space.gather[: self._outer * mesh.size, : space.facet_size])
        #: Cells at the facet of every moment.
        self._shared = np.tile(1.0 + (mesh.facets.cells[1] >= 0), local.facet_modes)
        self._matrix = self._assembled(outer)
        self._patches = self._inverted_patches(kept)

    def _blocks(self, diffusion: Array, weights: Array) -> Array:
        """Matrices of the functional within the cells, ``(C, modes, modes)``."""
        mesh, local = self.space.mesh, self.space.local_space
        maps = mesh.cell_map(self.points)
        inverse = np.moveaxis(np.linalg.inv(np.moveaxis(diffusion, -1, 0)), 0, -1)
        metric = np.einsum("ijqc,ikc,klqc->jlqc", maps.jacobian, inverse, maps.jacobian) / maps.determinant
        values = local.values(self.points)
        blocks = np.einsum("q,jqn,jlqc,lqm->cnm", weights, values, metric, values, optimize=True)
        slopes, integrals = local.divergences(self.points), self._divergence.sum(axis=1)
        squares = np.einsum(
            "qc,qn,qm->cnm", weights[:, None] / maps.determinant, slopes, slopes, optimize=True
        )
        blocks += self._rest[:, None, None] * squares
        blocks += (self._mean / mesh.cell_measures)[:, None, None] * np.outer(integrals, integrals)
        return np.asarray(blocks)

    def _assembled(self, blocks: Array) -> csr_array:
        """Matrix of the facet moments."""
        cells, modes = blocks.shape[:2]
        number = np.arange(modes * cells).reshape(modes, cells).T
        places = (
            np.broadcast_to(number[:, :, None], blocks.shape).ravel(),
            np.broadcast_to(number[:, None], blocks.shape).ravel(),
        )
        local = csr_array(coo_array((blocks.ravel(), places), shape=(modes * cells, modes * cells)))
        return csr_array(self._gather.T @ (local @ self._gather))

    def _inverted_patches(self, kept: Index | None) -> list[tuple[Index, Array]]:
        """Groups of patches of one size: moments ``(patches, n)``, inverses ``(patches, n, n)``."""
        mesh, modes = self.space.mesh, self.space.local_space.facet_modes
        facets, corners = mesh.facets, ContinuousSpace(mesh, 1)
        places = np.linalg.norm(corners.lattice[:, None] - mesh.reference.vertices[:, :, None], axis=0)
        of_facets = places.argmin(axis=1)[np.array(mesh.reference.facets)][facets.local[0]].T
        vertices = corners.nodes[of_facets, facets.cells[0]]
        free = np.ones(facets.count, dtype=np.bool_)
        free[np.zeros(0, dtype=np.intp) if kept is None else kept] = False
        pairs = np.stack([vertices, np.broadcast_to(np.arange(facets.count), vertices.shape)])[:, :, free]
        vertex, facet = np.unique(pairs.reshape(2, -1), axis=1)
        count = np.bincount(vertex, minlength=corners.size)
        groups = []
        for size in np.unique(count[count > 0]):
            members = facet[count[vertex] == size].reshape(-1, 1, size)
            moments = (members + facets.count * np.arange(modes)[:, None]).reshape(len(members), -1)
            n = moments.shape[1]
            rows, columns = (np.repeat(moments, n, axis=1), np.tile(moments, n))
            blocks = np.asarray(self._matrix[rows.ravel(), columns.ravel()]).reshape(-1, n, n)
            groups.append((moments, np.linalg.inv(blocks)))
        return groups

    def facet_moments(self, local: Array) -> Array:
        """Facet moments ``(m, facet size)`` of a flux, from its coefficients within the cells."""
        outer = local[:, : self._outer].reshape(len(local), -1)
        # the blocks of the gathering matrix are orthogonal, one for each cell at a facet
        return np.asarray((self._gather.T @ outer.T / self._shared[:, None]).T)

    def __call__(self, start: Array, state: Array, wanted: Array, sweeps: int = _SWEEPS) -> Array:
        """d, coefficients within the cells ``(m, modes, C)``.

        Parameters
        ----------
        start
            First guess of the facet moments, global coefficients ``(m, facet size)``.
        state
            Coefficients of û ``(m, modes, C)``.
        wanted
            f at the points ``(m, Q, C)``.
        sweeps
            Number of them.
        """
        count = len(start)
        load = self._slopes @ self._target.to_reference(state)
        load += self._rest * (self._divergence @ wanted)
        mean = self._mean * (self._density * wanted).sum(axis=1)
        load += self._divergence.sum(axis=1)[:, None] * mean[:, None]
        inner = np.einsum("cij,mjc->mic", self._inner, load[:, self._outer :])
        outer = load[:, : self._outer] - np.einsum("cij,mic->mjc", self._coupling, load[:, self._outer :])
        facets = self._swept(start.T, self._gather.T @ outer.reshape(count, -1).T, sweeps)
        around = np.ascontiguousarray((self._gather @ facets).T).reshape(count, self._outer, -1)
        inner -= np.einsum("cij,mjc->mic", self._coupling, around)
        return np.concatenate([around, inner], axis=1)

    def _swept(self, facets: Array, load: Array, sweeps: int) -> Array:
        """Facet moments ``(size, m)`` after some steps of Chebyshev's iteration."""
        largest = float(self.space.mesh.reference.vertices.shape[1])
        centre, radius = 0.5 * largest * (1.0 + 1.0 / _SPREAD), 0.5 * largest * (1.0 - 1.0 / _SPREAD)
        step, ratio = np.zeros_like(facets), 0.0
        for sweep in range(sweeps):
            correction = self._corrected(load - self._matrix @ facets)
            last, ratio = ratio, (radius / centre if sweep == 0 else 1.0 / (2.0 * centre / radius - ratio))
            step = correction / centre if sweep == 0 else ratio * (last * step + 2.0 / radius * correction)
            facets = facets + step
        return facets

    def _corrected(self, defect: Array) -> Array:
        """Σ_a S_a^{-1} of a defect."""
        result = np.zeros_like(defect)
        for moments, inverses in self._patches:
            np.add.at(result, moments, inverses @ defect[moments])
        return result
