"""Raviart–Thomas spaces RT_q: vector fields with normal components that fit across facets (T5).

Layout. A field is one array of global coefficients ``(m, size)``: first the normal moments of every facet,
``(facet modes, F)``, then the interior moments of every cell, ``(inner modes, C)``. The coefficients within a
cell, against the basis dual to its own moments, are ``(m, modes, C)``; values are ``(d, m, Q, C)``.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from stfem.meshes.facets import Index
from stfem.meshes.reference import ReferenceCell
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.polynomials import reference_basis, tables

__all__ = ["RaviartThomasSpace", "ReferenceFluxes", "reference_fluxes"]

Array = NDArray[np.float64]


class ReferenceFluxes:
    """Local space on the reference cell, [P_q]^d + x P̃_q or Q_{q+1,q} × Q_{q,q+1}, dual to its moments

        (1/|ŝ|) ∫_f (v·n̂_f) ψ_m ds          for every facet f, ψ_m orthonormal on its parameter cell,
        (1/|K̂|) ∫_K̂ v·w_l dX                w_l ∈ [P_{q−1}]^d or Q_{q−1,q} × Q_{q,q−1}.

    The interior test functions contain ∇̂ of P_q or Q_q.

    Parameters
    ----------
    cell
        Reference cell.
    degree
        q ≥ 0.
    """

    def __init__(self, cell: ReferenceCell, degree: int) -> None:
        self.cell, self.degree = cell, degree
        self.facet_basis = reference_basis(cell.on_facet, degree)
        points, weights = cell.quadrature(2 * degree + 2)
        test = self.test_values(points) * weights[:, None] / cell.measure
        rows = [self._facet_moments(facet) for facet in range(len(cell.facets))]
        rows.append(np.einsum("iql,iqn->ln", test, self._raw(points)[0]))
        self._dual = np.linalg.inv(np.concatenate(rows))

    @property
    def facet_modes(self) -> int:
        """Normal moments per facet."""
        return self.facet_basis.size

    @property
    def inner_modes(self) -> int:
        """Interior moments."""
        return self.modes - self.facet_modes * len(self.cell.facets)

    @property
    def modes(self) -> int:
        """Dimension of the local space."""
        return len(self._dual)

    def values(self, points: Array) -> Array:
        """Basis at points ``(d, Q)``: array ``(d, Q, modes)``, read-only; moments of the facets first."""
        return tables(self, points)[0]

    def divergences(self, points: Array) -> Array:
        """∇̂· of the basis: array ``(Q, modes)``, read-only."""
        return tables(self, points)[1]

    def tabulate(self, points: Array) -> tuple[Array, Array]:
        """Basis and its divergence."""
        values, divergences = self._raw(points)
        return values @ self._dual, divergences @ self._dual

    def test_values(self, points: Array) -> Array:
        """w_l of the interior moments at points ``(d, Q)``: array ``(d, Q, inner modes)``."""
        dim, count = points.shape
        if self.degree == 0:
            return np.zeros((dim, count, 0))
        basis = reference_basis(self.cell, self.degree)
        scalar, powers = basis.values(points), np.array(basis.powers).reshape(basis.size, dim)
        lower = powers.sum(axis=1, keepdims=True) if self.cell.simplex else powers
        return _components(scalar, np.broadcast_to(lower < self.degree, powers.shape).T)

    def turned(self, orientation: int) -> Array:
        """Matrix from moments in the parameter of a facet to those in the order listed by the cell."""
        on_facet = self.cell.on_facet
        points, weights = on_facet.quadrature(2 * self.degree)
        corners = on_facet.vertices[:, list(self.cell.facet_permutations[orientation])]
        listed = corners @ on_facet.shape_values(points)
        weighted = self.facet_basis.values(points) * weights[:, None] / on_facet.measure
        return np.asarray(self.facet_basis.values(listed).T @ weighted)

    def _facet_moments(self, facet: int) -> Array:
        on_facet = self.cell.on_facet
        points, weights = on_facet.quadrature(2 * self.degree + 2)
        values = self._raw(self.cell.facet_points(facet, points))[0]
        normal = np.einsum("i,iqn->qn", self.cell.facet_normals[:, facet], values)
        return np.asarray((self.facet_basis.values(points) * weights[:, None]).T @ normal / on_facet.measure)

    def _raw(self, points: Array) -> tuple[Array, Array]:
        """Some basis ``(d, Q, modes)`` and its divergence ``(Q, modes)``."""
        dim = len(points)
        basis = reference_basis(self.cell, self.degree + (not self.cell.simplex))
        scalar, slopes = basis.values(points), basis.gradients(points)
        powers = np.array(basis.powers).reshape(basis.size, dim)
        if not self.cell.simplex:
            chosen = np.array([(np.delete(powers, i, axis=1) <= self.degree).all(axis=1) for i in range(dim)])
            divergence = np.concatenate([slopes[i][:, chosen[i]] for i in range(dim)], axis=1)
            return _components(scalar, chosen), divergence
        full = _components(scalar, np.ones((dim, basis.size), dtype=np.bool_))
        # orthogonal polynomials of degree q instead of homogeneous ones: they differ by [P_q]^d
        top = powers.sum(axis=1) == self.degree
        radial = points[:, :, None] * scalar[:, top]
        of_radial = dim * scalar[:, top] + np.einsum("iq,iqn->qn", points, slopes[:, :, top])
        return (
            np.concatenate([full, radial], axis=2),
            np.concatenate([*slopes, of_radial], axis=1),
        )


def _components(scalar: Array, chosen: NDArray[np.bool_]) -> Array:
    """Vector fields e_i φ_n for the chosen ``(d, modes)``, from φ ``(Q, modes)``."""
    blocks = []
    for i, members in enumerate(chosen):
        block = np.zeros((len(chosen), len(scalar), int(members.sum())))
        block[i] = scalar[:, members]
        blocks.append(block)
    return np.concatenate(blocks, axis=2)


@lru_cache(maxsize=64)
def reference_fluxes(cell: ReferenceCell, degree: int) -> ReferenceFluxes:
    """The local space, made once."""
    return ReferenceFluxes(cell, degree)


class RaviartThomasSpace:
    """RT_q (lowest order RT_0) on lines, triangles, quadrilaterals, tetrahedra or hexahedra.

    A field is mapped to the cells by v(x) = J v̂/|det J|, so that with n ds = |det J| J^{-T} n̂ dŝ

        v·n ds = v̂·n̂ dŝ,   ∇·v = ∇̂·v̂/|det J|,   ∫_K v·J^{-T}ŵ = ∫_K̂ v̂·ŵ,

    and the global coefficients are, ρ = ds/d(parameter), n out of the minus cell,

        (1/|ŝ|) ∫ (v·n) ρ ψ_m d(parameter)   and   (1/|K̂|) ∫_K v·J^{-T}ŵ_l .

    Facets have one set of moments for both sides, glued ones among them: fields are in H(div).

    Parameters
    ----------
    mesh
        The mesh.
    degree
        q ≥ 0.
    """

    def __init__(self, mesh: UnstructuredMesh, degree: int) -> None:
        self.mesh, self.degree = mesh, degree
        self.local_space = reference_fluxes(mesh.reference, degree)

    @property
    def facet_size(self) -> int:
        """Number of facet coefficients; those of the interior follow."""
        return self.local_space.facet_modes * self.mesh.facets.count

    @property
    def size(self) -> int:
        """Number of global coefficients."""
        return self.facet_size + self.local_space.inner_modes * self.mesh.size

    def join(self, facets: Array, inner: Array) -> Array:
        """Global coefficients from moments ``(m, facet modes, F)`` and ``(m, inner modes, C)``."""
        return np.concatenate([facets.reshape(len(facets), -1), inner.reshape(len(inner), -1)], axis=1)

    def facet_moments(self, values: Array, order: int) -> Array:
        """Moments ``(m, facet modes, F)`` of normal components times ds/d(parameter).

        ``values`` ``(m, Q, F)`` belong to the points of ``on_facet.quadrature(order)``.
        """
        on_facet = self.mesh.reference.on_facet
        points, weights = on_facet.quadrature(order)
        table = self.local_space.facet_basis.values(points) * weights[:, None] / on_facet.measure
        return np.asarray(table.T @ values)

    def inner_moments(self, values: Array, order: int) -> Array:
        """Moments ``(m, inner modes, C)`` of values ``(d, m, Q, C)`` at ``reference.quadrature(order)``."""
        points, weights = self.mesh.reference.quadrature(order)
        maps = self.mesh.cell_map(points)
        pulled = np.einsum("jiqc,imqc->jmqc", maps.inverse, values)
        test = self.local_space.test_values(points) * weights[:, None] / self.mesh.reference.measure
        return np.asarray((test.transpose(0, 2, 1)[:, None] @ (pulled * maps.determinant)).sum(axis=0))

    @cached_property
    def gather(self) -> csr_array[np.float64]:
        """From global coefficients to those within the cells, ``(modes · C, size)``."""
        local, facets = self.local_space, self.mesh.facets
        count, cells, modes = facets.count, self.mesh.size, local.facet_modes
        rows: list[Index] = []
        columns: list[Index] = []
        entries: list[Array] = []
        for side, members in ((0, np.arange(count)), (1, np.arange(facets.interior))):
            for number, turned, where in self.mesh.facet_groups(side, members):
                block = (-1.0) ** side * local.turned(turned)
                at = np.arange(modes)
                row = ((number * modes + at)[:, None, None] * cells) + facets.cells[side, where]
                column = at[None, :, None] * count + where
                shape = (modes, modes, len(where))
                rows.append(np.broadcast_to(row, shape).ravel())
                columns.append(np.broadcast_to(column, shape).ravel())
                entries.append(np.broadcast_to(block[:, :, None], shape).ravel())
        inner = np.arange(local.inner_modes * cells)
        rows.append(len(self.mesh.reference.facets) * modes * cells + inner)
        columns.append(self.facet_size + inner)
        entries.append(np.ones(len(inner)))
        places = (np.concatenate(rows), np.concatenate(columns))
        matrix = csr_array(
            coo_array((np.concatenate(entries), places), shape=(local.modes * cells, self.size))
        )
        matrix.eliminate_zeros()
        return matrix

    def local(self, v: Array) -> Array:
        """Coefficients within the cells, ``(m, modes, C)``, of global ones ``(m, size)``."""
        return np.ascontiguousarray((self.gather @ v.T).T).reshape(len(v), -1, self.mesh.size)

    def values(self, local: Array, points: Array) -> Array:
        """v at reference points ``(d, Q)`` of every cell, from coefficients within the cells."""
        return self._mapped(local, points, slice(None))

    def divergence(self, local: Array, points: Array) -> Array:
        """∇·v at reference points ``(d, Q)`` of every cell: array ``(m, Q, C)``."""
        slopes = self.local_space.divergences(points) @ local
        return np.asarray(slopes / self.mesh.cell_map(points).determinant)

    def divergence_moments(self, local: Array, space: BrokenSpace) -> Array:
        """L² projection of ∇·v to a discontinuous space, ``(m, modes, C)``: ∇·v itself on affine cells."""
        points, weights = self.mesh.reference.quadrature(self.degree + space.degree + 1)
        table = (space.basis.values(points) * weights[:, None]).T @ self.local_space.divergences(points)
        return space.from_moments(table @ local / self.mesh.cell_measures)

    def traces(self, local: Array, side: int, parameters: Array, facets: Index) -> Array:
        """v at parameters of facets from the minus (0) or plus (1) side: array ``(d, m, Q, F)``."""
        result = np.empty((self.mesh.dim, len(local), parameters.shape[1], len(facets)))
        for number, turned, where in self.mesh.facet_groups(side, facets):
            points = self.mesh.reference.facet_points(number, parameters, turned)
            cells = self.mesh.facets.cells[side, facets[where]]
            result[..., where] = self._mapped(local[:, :, cells], points, cells)
        return result

    def _mapped(self, local: Array, points: Array, cells: Index | slice) -> Array:
        maps = self.mesh.cell_map(points, cells)
        reference = self.local_space.values(points)[:, None] @ local
        return np.asarray(np.einsum("ijqc,jmqc->imqc", maps.jacobian / maps.determinant, reference))

    def __repr__(self) -> str:
        return f"RaviartThomasSpace({self.mesh!r}, degree={self.degree})"
