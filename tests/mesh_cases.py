"""Meshes that the tests of several folders share: every shape, perturbed, cells turned at random."""

from __future__ import annotations

import numpy as np
import skfem

KINDS = {
    "line": (skfem.MeshLine, 1),
    "triangle": (skfem.MeshTri, 2),
    "quadrilateral": (skfem.MeshQuad, 2),
    "tetrahedron": (skfem.MeshTet, 3),
    "hexahedron": (skfem.MeshHex, 3),
}


def box_mesh(kind, n, perturbation=0.0, turned=False, seed=0):
    """Mesh of the unit cube with n cells (pairs, sixes of cells) per direction and named sides.

    Inner vertices are moved by up to ``perturbation``/n per direction. ``turned`` numbers the vertices of
    every cell anew, so that neighbours see their facet in all orders.
    """
    shape, dim = KINDS[kind]
    axes = [np.linspace(0.0, 1.0, n + 1)] * dim
    mesh = shape(axes[0]) if dim == 1 else shape.init_tensor(*axes)
    rng = np.random.default_rng(seed)
    inner = np.all((mesh.p > 1e-9) & (mesh.p < 1.0 - 1e-9), axis=0)
    vertices, cells = mesh.p.copy(), mesh.t.copy()
    vertices[:, inner] += perturbation / n * rng.uniform(-1.0, 1.0, (dim, int(inner.sum())))
    if turned:
        orders = symmetries(kind)
        for c in range(cells.shape[1]):
            cells[:, c] = cells[orders[rng.integers(len(orders))], c]
    mesh = shape(vertices, cells, sort_t=False) if turned else shape(vertices, cells)
    sides = (("left", "right"), ("bottom", "top"), ("front", "back"))[:dim]
    return mesh.with_boundaries(
        {
            name: (lambda x, i=i, end=end: np.abs(x[i] - end) < 1e-9)
            for i, names in enumerate(sides)
            for name, end in zip(names, (0.0, 1.0), strict=True)
        }
    )


def symmetries(kind):
    """Orders of the vertices that describe the same cell: all of a simplex, the symmetries of a cube."""
    from itertools import permutations, product

    from stfem.meshes import reference

    cell = getattr(reference, kind.upper())
    if cell.simplex:
        return [list(order) for order in permutations(range(cell.vertices.shape[1]))]
    found = []
    for axes in permutations(range(cell.dim)):
        for flips in product((False, True), repeat=cell.dim):
            image = cell.vertices[list(axes)]
            image = np.where(np.array(flips)[:, None], 1.0 - image, image)
            found.append([int(np.argmin(np.abs(cell.vertices - v[:, None]).sum(axis=0))) for v in image.T])
    return found
