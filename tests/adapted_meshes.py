"""Domains of every shape that can be refined, with names that overlap, lie inside or are empty."""

import numpy as np
import skfem
from sample_meshes import moved

from stfem.adaptivity import refine
from stfem.problems import Dirichlet, Domain, Outflow

CELLS = {"line": 5, "triangles": 3, "tetrahedra": 2}


def named_domain(shape, n=None):
    """The unit cube with conditions on left and the rest."""
    mesh = moved(shape, n or CELLS[shape])
    x = mesh.p[:, mesh.facets].mean(axis=1)
    outer = np.zeros(mesh.facets.shape[1], dtype=bool)
    outer[mesh.boundary_facets()] = True
    left = outer & (x[0] < 1e-9)
    inside = np.flatnonzero(~outer)
    names = {"left": np.flatnonzero(left), "rest": np.flatnonzero(outer & ~left), "inside": inside[::3]}
    names |= {"lower half": np.flatnonzero(outer & (x[-1] < 0.5)), "nowhere": np.zeros(0, dtype=np.intp)}
    mesh = mesh.with_boundaries(names).with_subdomains(
        {"wall": lambda x: x[0] < 0.4, "core": lambda x: x[0] >= 0.4, "corner": lambda x: x.sum(axis=0) < 0.9}
    )
    return Domain(mesh, {"left": Dirichlet(1.0), "rest": Outflow()})


def refined_at_random(domain, times, seed=0, part=5):
    """Some cells refined, so many times."""
    rng = np.random.default_rng(seed)
    for _ in range(times):
        size = domain.mesh().size
        domain = refine(domain, rng.choice(size, max(1, size // part), replace=False)).domain
    return domain


def measures(mesh):
    """Measure of every boundary, of the whole of it, and of every subdomain."""
    facets, cells = mesh.facet_measures, mesh.cell_measures
    return (
        {name: facets[members].sum() for name, members in mesh.facets.names.items()}
        | {"boundary of the mesh": facets[mesh.facets.boundary].sum()}
        | {name: cells[members].sum() for name, members in mesh.subdomains.items()}
    )


def corners(mesh, cells):
    """Coordinates ``(d, d + 1, n)`` of the vertices of cells."""
    return mesh.vertices[:, mesh.cells[:, cells]]


def periodic_domain(shape, n, periodic, amount=0.1):
    """The unit cube, glued in some directions."""
    mesh = moved(shape, n, amount)
    free = len(periodic) < mesh.p.shape[0]
    return Domain(mesh, Dirichlet(0.0) if free else None, periodic)


def right_triangles(n):
    """The unit square in 2n² equal triangles."""
    return Domain(skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, n + 1)] * 2), Dirichlet(0.0))
