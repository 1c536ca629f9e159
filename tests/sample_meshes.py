"""Irregular meshes of every shape for tests."""

import numpy as np
import skfem

from stfem.meshes.unstructured import from_skfem

BUILDERS = {
    "line": lambda n: skfem.MeshLine(np.linspace(0.0, 1.0, n + 1)),
    "triangles": lambda n: skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, n + 1)] * 2),
    "quadrilaterals": lambda n: skfem.MeshQuad.init_tensor(*[np.linspace(0.0, 1.0, n + 1)] * 2),
    "tetrahedra": lambda n: skfem.MeshTet.init_tensor(*[np.linspace(0.0, 1.0, n + 1)] * 3),
    "hexahedra": lambda n: skfem.MeshHex.init_tensor(*[np.linspace(0.0, 1.0, n + 1)] * 3),
}
SHAPES = tuple(BUILDERS)


def moved(shape, n, amount=0.2, seed=0):
    """scikit-fem mesh of the unit cube with n cells per side, inner vertices moved by up to amount/n."""
    mesh = BUILDERS[shape](n)
    p = mesh.p.copy()
    inside = ((p > 1e-9) & (p < 1 - 1e-9)).all(axis=0)
    moves = np.random.default_rng(seed).uniform(-amount / n, amount / n, p.shape)
    p[:, inside] += moves[:, inside]
    return type(mesh)(p, mesh.t)


def irregular(shape, n, periodic=(), amount=0.2, seed=0):
    """The same as the library's mesh, with glued sides."""
    return from_skfem(moved(shape, n, amount, seed), periodic)
