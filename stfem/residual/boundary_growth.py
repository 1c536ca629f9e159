"""Growth of errors through a boundary where their weight is negative, held by diffusion (T5.14)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array
from scipy.sparse.linalg import splu

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.spaces.raviart_thomas import RaviartThomasSpace

__all__ = ["SPENT", "boundary_growth"]

#: Share θ of the dissipation that is spent on it.
SPENT = 0.5
#: Margin for round-off.
_MARGIN = 1.0 + 1e-9


def boundary_growth(mesh: UnstructuredMesh, diffusion: Array, excess: Array, free: Index) -> float:
    """2μ that a negative weight of e² on the boundary adds, in 1/time.

    With m ∈ H(div), m·n ≥ σ_− on the facets F where u is not given,

        ∫_Γ σ_− e² ≤ ∫_Ω ∇·(m e²) ≤ A‖e‖² + 2B‖e‖ ‖D^{1/2}∇e‖,   A = sup(∇·m)_+,  B = sup|D^{-1/2}m|,

    so that 2∫_Γ σ_− e² ≤ 2θ‖D^{1/2}∇e‖² + (2A + 2B²/θ)‖e‖². Any m will do; it is the RT_0 function with
    the smallest L²‖∇·m‖² + ‖m‖², L the diameter of the domain.

    Parameters
    ----------
    mesh, diffusion
        The mesh, and D ``(d, d, C)``, positive definite.
    excess
        Largest σ_− on every facet, ``(F,)``.
    free
        Facets where u is not given.
    """
    space = RaviartThomasSpace(mesh, 0)
    points, weights = mesh.reference.quadrature(2 + 2 * mesh.dim)
    fields, divergences = _tables(space, points)
    measure = weights[:, None] * mesh.cell_map(points).determinant
    size_sq = float((np.ptp(mesh.vertices, axis=1) ** 2).sum())
    blocks = np.einsum("iqnc,iqmc,qc->nmc", fields, fields, measure, optimize=True)
    blocks += size_sq * np.einsum("qnc,qmc,qc->nmc", divergences, divergences, measure, optimize=True)
    number = np.arange(len(blocks) * mesh.size).reshape(len(blocks), mesh.size)
    rows, columns = (np.broadcast_to(part, blocks.shape).ravel() for part in (number[:, None], number[None]))
    local = csr_array(coo_array((blocks.ravel(), (rows, columns)), shape=(number.size, number.size)))
    matrix = csr_array(space.gather.T @ local @ space.gather)
    order = 2
    parameters = mesh.reference.on_facet.quadrature(order)[0]
    density = mesh.facet_normals(mesh.reference.on_facet.vertices)[1].max(axis=0)
    wanted = np.broadcast_to(_MARGIN * excess * density, (1, parameters.shape[1], mesh.facets.count))
    values = space.facet_moments(np.asarray(wanted), order)[0, 0]
    others = np.setdiff1d(np.arange(space.size), free)
    chosen = np.where(np.isin(np.arange(space.size), free), values, 0.0)
    if len(others):
        load = -(matrix[others][:, free] @ values[free])
        chosen[others] = splu(csc_array(matrix[others][:, others])).solve(load)
    coefficients = space.local(chosen[None])
    # m is affine, ∇·m constant on affine cells: the extremes are at the vertices
    fields, divergences = _tables(space, mesh.reference.vertices)
    field = np.einsum("iqnc,nc->iqc", fields, coefficients[0])
    divergence = np.einsum("qnc,nc->qc", divergences, coefficients[0]).max()
    largest = float(np.abs(diffusion).max())  # denormal numbers have no reciprocal
    inverse = np.moveaxis(np.linalg.inv(np.moveaxis(diffusion / largest, -1, 0)), 0, -1)
    steepest = float(np.einsum("iqc,ijc,jqc->qc", field, inverse, field, optimize=True).max()) / largest
    return float(_MARGIN * (2.0 * max(divergence, 0.0) + 2.0 * steepest / SPENT))


def _tables(space: RaviartThomasSpace, points: Array) -> tuple[Array, Array]:
    """Fields ``(d, Q, modes, C)`` and divergences ``(Q, modes, C)`` of the local basis."""
    mesh, local = space.mesh, space.local_space
    maps = mesh.cell_map(points)
    shape = (mesh.dim, mesh.dim, points.shape[1], mesh.size)
    scaled = np.broadcast_to(maps.jacobian / maps.determinant, shape)
    fields = np.einsum("ijqc,jqn->iqnc", scaled, local.values(points))
    divergences = local.divergences(points)[:, :, None] / maps.determinant[:, None]
    return fields, np.broadcast_to(divergences, (*divergences.shape[:2], mesh.size))
