"""Exponential layer of width ε at an outflow side: u = e^{−επ²t} sin πy (x − E) with b = (1, 0).

The source e^{−επ²t} sin πy has no layer.
"""

import numpy as np
from sample_meshes import moved
from scipy.sparse.linalg import splu
from small_dg import SmallDG, radau_steps

import stfem
from stfem.problems import Problem
from stfem.spaces.broken import BrokenSpace


def profile(x, eps):
    """E(1 − x)."""
    with np.errstate(under="ignore"):
        return (np.exp((x - 1.0) / eps) - np.exp(-1.0 / eps)) / (1.0 - np.exp(-1.0 / eps))


def layer(eps, n, q, final_time=0.2, steps=8):
    """Problem, scheme and nodes on perturbed triangles."""

    def decay(t):
        return np.exp(-eps * np.pi**2 * t)

    def exact(x, t=0.0):
        return decay(t) * np.sin(np.pi * x[1]) * (x[0] - profile(x[0], eps))

    domain = stfem.Domain(
        moved("triangles", n).with_defaults(),
        dict.fromkeys(("left", "right", "bottom", "top"), stfem.Dirichlet(0.0)),
    )
    problem = Problem(
        stfem.equations.AdvectionDiffusion((1.0, 0.0), eps),
        domain,
        initial=exact,
        final_time=final_time,
        source=lambda x, t: decay(t) * np.sin(np.pi * x[1]),
        exact=exact,
    )
    space = BrokenSpace(domain.mesh(), q)
    dg = SmallDG(space, (1.0, 0.0), eps * np.eye(2))

    def source(t):
        return space.project(problem.source, t)

    # the discrete stationary state: the layer moves no more than the slow decay asks for
    start = splu((-dg.rate).tocsc()).solve(source(0.0).ravel()).reshape(1, space.modes, -1)
    return problem, dg, radau_steps(dg, start, source, final_time, steps)


def graded_rule(eps, cells=48):
    """Points (2, n) and weights on the unit square, graded towards x = 1."""
    s, w = np.polynomial.legendre.leggauss(5)
    thin = 1.0 - np.minimum(eps, 1e-2) * np.concatenate([np.arange(0.0, 12.0, 0.5), 2.0 ** np.arange(4, 24)])
    edges = np.unique(np.concatenate([np.linspace(0.0, 1.0, cells + 1), thin[thin > 0.0]]))
    x, wx = (
        (edges[:-1, None] + np.diff(edges)[:, None] * (s + 1) / 2).ravel(),
        (np.diff(edges)[:, None] * w / 2).ravel(),
    )
    h = 1.0 / cells
    y, wy = ((h * np.arange(cells)[:, None] + h * (s + 1) / 2).ravel(), np.tile(h * w / 2, cells))
    points = np.stack(np.meshgrid(x, y, indexing="ij")).reshape(2, -1)
    return points, np.multiply.outer(wx, wy).ravel()


def values_anywhere(space, u, x):
    """u at physical points (2, n)."""
    mesh = space.mesh
    cells = mesh.source.element_finder()(*x)
    maps = mesh.cell_map(mesh.reference.vertices)
    origin = mesh.points(np.zeros((2, 1)))[:, 0]
    reference = np.einsum("ijn,jn->in", maps.inverse[:, :, 0, cells], x - origin[:, cells])
    return np.einsum("nk,kn->n", space.basis.values(reference), u[0][:, cells])
