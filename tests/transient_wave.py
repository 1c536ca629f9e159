"""The transient wave of T5: u = sin πx sin πy cos(2πx + πy − 2.5πt), zero on the boundary, b = (1, ½)."""

import numpy as np
from sample_meshes import moved
from scipy.sparse.linalg import splu
from small_dg import SmallDG, radau_steps

import stfem
from stfem.problems import Problem
from stfem.spaces.broken import BrokenSpace

PI = np.pi


def parts(x, t):
    phase = 2 * PI * x[0] + PI * x[1] - 2.5 * PI * t
    bump = np.sin(PI * x[0]) * np.sin(PI * x[1])
    slopes = PI * np.cos(PI * x[0]) * np.sin(PI * x[1]), PI * np.sin(PI * x[0]) * np.cos(PI * x[1])
    return bump, slopes, np.cos(phase), np.sin(phase)


def exact(x, t=0.0):
    bump, _, cos, _ = parts(x, t)
    return bump * cos


def gradient(x, t=0.0):
    bump, (bx, by), cos, sin = parts(x, t)
    return np.stack([bx * cos - 2 * PI * bump * sin, by * cos - PI * bump * sin])


def slope_in_time(x):
    return 2.5 * PI * parts(x, 0.0)[0] * parts(x, 0.0)[3]


def source(eps):
    def g(x, t=0.0):
        bump, (bx, by), cos, sin = parts(x, t)
        laplacian = -7 * PI**2 * bump * cos - 2 * sin * (2 * PI * bx + PI * by)
        return (bx + 0.5 * by) * cos - eps * laplacian

    return g


def wave(eps, n, q, final_time, steps):
    """Problem, scheme and nodes on perturbed triangles."""
    domain = stfem.Domain(moved("triangles", n), stfem.Dirichlet(0.0))
    problem = Problem(
        stfem.equations.AdvectionDiffusion((1.0, 0.5), eps),
        domain,
        initial=exact,
        final_time=final_time,
        source=source(eps),
        exact=exact,
        exact_gradient=gradient,
    )
    space = BrokenSpace(domain.mesh(), q)
    dg = SmallDG(space, (1.0, 0.5), eps * np.eye(2))
    g = problem.source
    # equation projection (T5): (1 + L_h) U_0 = P(u_0 + b·∇u_0 − εΔu_0) keeps the rate at t = 0 accurate
    load = space.project([lambda x, t: exact(x) + g[0](x, 0.0) - slope_in_time(x)])
    start = splu(dg.implicit_matrix(1.0)).solve(load.ravel()).reshape(load.shape)
    return problem, dg, radau_steps(dg, start, lambda t: space.project(g, t), final_time, steps)
