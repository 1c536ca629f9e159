"""Strategies of valid arguments that several tables use."""

import math

import numpy as np
import skfem
from hypothesis import strategies as st

import stfem
from stfem import data, equations
from stfem.data import Polynomial, cosine, sine

floats = st.floats(-10.0, 10.0, allow_subnormal=False)
unit = st.floats(0.05, 1.0)
times = st.sampled_from([1e-3, 0.1, 1, np.float32(0.5)])
dims = st.sampled_from([1, 2, 3, np.int64(2)])
two_pi = 2.0 * math.pi


def choice(*values):
    return st.sampled_from(values)


def made(*makers):
    """Values that are made anew."""
    return st.sampled_from(makers).map(lambda make: make())


def points(dim, count=4):
    return st.integers(0, 9).map(lambda seed: np.random.default_rng(seed).uniform(0.0, 1.0, (dim, count)))


def smooth(x, t=0.0):
    return np.sin(two_pi * np.asarray(x)[0])


def mesh(kind, refined=1):
    made_mesh = {"line": skfem.MeshLine(), "triangle": skfem.MeshTri(), "quad": skfem.MeshQuad()}[kind]
    return made_mesh.refined(refined)


#: Data of scalar problems in one dimension.
scalar_data = made(
    *(lambda: 0, lambda: 1.5, lambda: np.float32(2), lambda: np.array([3]), lambda: (1.0,)),
    *(lambda: sine(two_pi), lambda: cosine(two_pi, -1.0), lambda: Polynomial([[1.0], [2.0]])),
    *(lambda: data.Constant(2.0, 1), lambda: data.Approximated(sine(two_pi), 1e-3)),
)
functions = made(lambda: smooth, lambda: lambda x, t=0.0: 1, lambda: lambda x, t=0.0: [x[0]])
conditions = made(
    *(lambda: stfem.Dirichlet(0.0), lambda: stfem.Neumann(0), lambda: stfem.TotalFlux(0.0)),
    *(lambda: stfem.Robin(1.0, 0.0), lambda: stfem.Dirichlet(smooth)),
)
domains = made(
    *(lambda: stfem.Torus(1.0), lambda: stfem.Box(0.0, 1.0, stfem.Dirichlet(0.0))),
    lambda: stfem.Domain(mesh("line"), stfem.Dirichlet(0.0)),
)
bounded = made(
    lambda: stfem.Box(0.0, 1.0, stfem.Dirichlet(0.0)),
    lambda: stfem.Domain(mesh("line"), stfem.Dirichlet(0.0)),
)
advection = made(lambda: equations.AdvectionDiffusion(1.0, 1e-3))
