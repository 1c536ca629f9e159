"""Fluxes in H(div) from the data of a discontinuous solution, facet by facet and cell by cell (T2.1, T5).

Facet data are values times ds/d(parameter), ``(m, Q, F)``, at the points of the rule for facets, as the
schemes make them; cell data are values ``(d, m, Q, C)`` at the points of the rule for cells.
"""

from __future__ import annotations

import numpy as np

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.raviart_thomas import RaviartThomasSpace

__all__ = ["FluxRecovery"]


class FluxRecovery:
    """Raviart–Thomas fluxes with given moments.

    For all test functions ψ on facets and w = J^{-T}ŵ in the cells,

        ∫_F h̃·n ψ = ∫_F F ψ,                       ∫_K h̃·w = ∫_K f(u_h)·w,
        ∫_F d_A·n ψ = ∫_F ({D∇u_h}·n − σ[u_h]) ψ,  ∫_K d_A·w = ∫_K D∇u_h·w − ∫_∂K ω_K (u_K − u_beyond) Dw·n_K,
        ∫_F d_B·n ψ = ∫_F {D∇û}·n ψ,               ∫_K d_B·w = ∫_K D∇û·w .

    Since the w contain the gradients of the local functions φ of degree q, ∫_K ∇·h̃ φ is the DG form of ∇·f
    and ∫_K ∇·d_A φ the interior penalty form, on every cell, with the quadrature of the given data. On affine
    cells the divergence itself is their Riesz representative.

    Cost: one small matrix product per facet and cell; no system is solved.

    Parameters
    ----------
    space
        RT_q for solutions of degree q (h̃, d_A), RT_{k−1} for û of degree k (d_B).
    cell_order, facet_order
        Orders of the rules ``reference.quadrature`` and ``reference.on_facet.quadrature`` that the data
        belong to; 2q + 2 by default.
    """

    def __init__(
        self, space: RaviartThomasSpace, cell_order: int | None = None, facet_order: int | None = None
    ) -> None:
        self.space = space
        self.cell_order = 2 * space.degree + 2 if cell_order is None else cell_order
        self.facet_order = 2 * space.degree + 2 if facet_order is None else facet_order

    def interpolate(self, cells: Array, facets: Array, jumps: Array | None = None) -> Array:
        """The flux with these moments, global coefficients ``(m, size)``.

        Parameters
        ----------
        cells
            f(u_h), D∇u_h or D∇û, ``(d, m, Q, C)``.
        facets
            Numerical flux out of the minus cell times ds/d(parameter), ``(m, Q, F)``.
        jumps
            What the symmetry term of d_A needs, see `symmetry_moments`, subtracted from the interior moments.
        """
        inner = self.space.inner_moments(cells, self.cell_order)
        if jumps is not None:
            inner = inner - jumps
        return self.space.join(self.space.facet_moments(facets, self.facet_order), inner)

    def symmetry_moments(self, minus: Array, plus: Array, diffusion: Array) -> Array:
        """Σ_F ∫_F ω_K (u_K − u_beyond) Dw·n_K over the facets of every cell, ``(m, inner modes, C)``.

        Parameters
        ----------
        minus
            ω_K (u_K − u_beyond) for the minus cells, ``(m, Q, F)``: ω = ½, or the weight of the flux; on
            the boundary ω = 1 and u_K − g where u is given, 0 elsewhere.
        plus
            The same for the plus cells of the interior facets, ``(m, Q, interior F)``.
        diffusion
            D ``(d, d, C)``, or ``(d, d, 1)`` where it is the same in all cells.
        """
        mesh, local = self.space.mesh, self.space.local_space
        reference = mesh.reference
        parameters, weights = reference.on_facet.quadrature(self.facet_order)
        result = np.zeros((len(minus), local.inner_modes, mesh.size))
        for side, jumps in ((0, minus), (1, plus)):
            for number, turned, where in mesh.facet_groups(side, np.arange(jumps.shape[2])):
                points = reference.facet_points(number, parameters, turned)
                cells = mesh.facets.cells[side, where]
                maps = mesh.cell_map(points, cells)
                # n ds = |det J| J^{-T} n̂ d(parameter), and Dw·n = ŵ·J^{-1}D n
                normal = np.einsum("jiqc,j->iqc", maps.inverse, reference.facet_normals[:, number])
                matrix = np.broadcast_to(diffusion, (*diffusion.shape[:2], mesh.size))[:, :, cells]
                along = np.einsum("jiqc,ikc,kqc->jqc", maps.inverse, matrix, normal * maps.determinant)
                test = local.test_values(points) * weights[:, None] / reference.measure
                result[:, :, cells] += np.einsum("jql,jqc,mqc->mlc", test, along, jumps[:, :, where])
        return result

    def averaged(self, space: BrokenSpace, u: Array, diffusion: Array, given: Array | None = None) -> Array:
        """d_B, the averaged gradient of û ``(m, modes, C)`` of a discontinuous space (T5).

        Parameters
        ----------
        space, u
            Where û lives, of degree k at most one above that of the fluxes, and its coefficients.
        diffusion
            D ``(d, d, C)`` or ``(d, d, 1)``.
        given
            Normal flux D∇u·n times ds/d(parameter) ``(m, Q, F)`` to take instead; NaN where none is given.
        """
        mesh = space.mesh
        matrix = np.broadcast_to(diffusion, (*diffusion.shape[:2], mesh.size))
        gradients = space.gradients(u, mesh.reference.quadrature(self.cell_order)[0])
        cells = np.einsum("ikc,kmqc->imqc", matrix, gradients)
        parameters = mesh.reference.on_facet.quadrature(self.facet_order)[0]
        # the diffusive flux of û, itself a discontinuous field, is seen from both sides
        normals, densities = mesh.facet_normals(parameters)
        facets = np.zeros((len(u), parameters.shape[1], mesh.facets.count))
        inner = np.arange(mesh.facets.interior)
        for side, members, weight in ((0, np.arange(mesh.facets.count), 1.0), (1, inner, 0.5)):
            slopes = gradient_traces(space, u, side, parameters, members)
            flux = np.einsum("ikf,kmqf->imqf", matrix[:, :, mesh.facets.cells[side, members]], slopes)
            along = np.einsum("iqf,imqf->mqf", normals[:, :, members], flux) * densities[:, members]
            facets[:, :, members] += weight * along
            if side == 0:
                facets[:, :, inner] *= 0.5
        if given is not None:
            facets = np.where(np.isnan(given), facets, given)
        return self.interpolate(cells, facets)


def gradient_traces(space: BrokenSpace, u: Array, side: int, parameters: Array, facets: Index) -> Array:
    """∇u at parameters of facets from the minus (0) or plus (1) side: array ``(d, m, Q, F)``."""
    mesh = space.mesh
    result = np.empty((mesh.dim, len(u), parameters.shape[1], len(facets)))
    for local, turned, where in mesh.facet_groups(side, facets):
        points = mesh.reference.facet_points(local, parameters, turned)
        cells = mesh.facets.cells[side, facets[where]]
        slopes = space.basis.gradients(points)[:, None] @ space.to_reference(u[:, :, cells], cells)
        result[..., where] = np.einsum("jiqc,jmqc->imqc", mesh.cell_map(points, cells).inverse, slopes)
    return result
