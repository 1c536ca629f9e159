"""What it costs to carry a function on a facet into its cell as a flux (T5.13)."""

from __future__ import annotations

import numpy as np

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh

__all__ = ["lift_constants"]


def lift_constants(mesh: UnstructuredMesh, facets: Index) -> tuple[Array, Array]:
    """Constants ``(F,)`` of ‖∇·τ‖²_K ≤ c_1 ‖r‖²_F and ‖τ‖²_K ≤ c_2 ‖r‖²_F, τ·n = r on F, 0 on other facets.

    With the height H of a simplex over F and the distance ℓ ≤ L of its apex a from F, r constant on rays,

        τ = (x − a) r/H,   c_1 = d/H,   c_2 = L²/((d + 2)H);

    on cubes, along the edges from the opposite facet to F, of length L at most, c_1 = 1/H, c_2 = L²/(3H).
    Mapped cubes have τ = J τ̂/|det J|, and H is the least of |det J|/ρ, ρ = ds/d(parameter), at the vertices:
    a bound in two dimensions, where det J and J e are affine.

    Parameters
    ----------
    mesh, facets
        The mesh, and numbers of boundary facets.
    """
    reference, dim = mesh.reference, mesh.dim
    cells = mesh.facets.cells[0, facets]
    corners = mesh.cell_map(reference.vertices, cells)
    determinant = np.broadcast_to(corners.determinant, (reference.vertices.shape[1], len(facets)))
    density = mesh.facet_normals(reference.on_facet.vertices, facets)[1].max(axis=0)
    height = determinant.min(axis=0) / density
    length = np.zeros(len(facets))
    for local, turned, where in mesh.facet_groups(0, facets):
        ends = reference.facet_points(local, reference.on_facet.vertices, turned)
        if reference.simplex:
            apart = np.abs(reference.vertices[:, :, None] - ends[:, None]).sum(axis=0).min(axis=1)
            apex = reference.vertices[:, apart > 0.5]
            edges = mesh.points(ends, cells[where]) - mesh.points(apex, cells[where])
        else:
            jacobian = mesh.cell_map(reference.vertices, cells[where]).jacobian
            edges = np.einsum("ijqc,j->iqc", jacobian, reference.facet_normals[:, local])
        length[where] = np.sqrt((edges**2).sum(axis=0)).max(axis=0)
    first, second = (dim, dim + 2) if reference.simplex else (1, 3)
    return first / height, length**2 / (second * height)
