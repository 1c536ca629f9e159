"""The same right-hand sides in NGSolve, matrix-free and generic, on squares of the same number of unknowns.

The fastest of: integrals over element boundaries, integrals over the skeleton, and for the linear equation
an assembled matrix; each followed by the inverse mass matrix. The square is not periodic there, which saves
NGSolve a little. One thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import timing

import ngsolve as ng  # isort: skip
from ngsolve.meshes import MakeStructured2DMesh  # isort: skip

ng.SetNumThreads(1)

FORMS = ("linear", "Burgers", "Burgers + SIPG")
_DIFFUSION = 1e-3


def rate(name: str, degree: int, cells: int, seconds: float) -> float:
    """Million unknowns per second of the fastest way."""
    mesh = MakeStructured2DMesh(quads=True, nx=cells, ny=cells)
    return max(
        space.ndof / timing.measure(work, space_vector(space), seconds).seconds / 1e6
        for space, work in _ways(mesh, name, degree, 1.0 / cells)
    )


def space_vector(space: ng.FESpace):
    """A numpy array of the size of the space."""
    return ng.GridFunction(space).vec.FV().NumPy()


def _ways(mesh: ng.Mesh, name: str, degree: int, h: float) -> Iterator[tuple[ng.FESpace, Callable[[], None]]]:
    assembled = (False, True) if name == "linear" else (False,)
    for skeleton in (False, True):
        for matrix in assembled if skeleton else (False,):
            diffusion = _DIFFUSION if name.endswith("SIPG") else 0.0
            space = ng.L2(mesh, order=degree, dgjumps=matrix or diffusion > 0.0)
            form = ng.BilinearForm(space, nonassemble=not matrix)
            volume, face = _integrands(space, name, diffusion, h, degree, skeleton)
            form += volume * ng.dx
            form += face * (ng.dx(skeleton=True) if skeleton else ng.dx(element_boundary=True))
            if matrix:
                form.Assemble()
            inverse = space.Mass(1).Inverse()
            state = ng.GridFunction(space)
            state.Set(1.0 + 0.05 * ng.sin(6.0 * ng.x))
            out = state.vec.CreateVector()

            def work(inverse=inverse, form=form, state=state, out=out) -> None:
                out.data = inverse * (form.mat * state.vec)

            yield space, work


def _integrands(space: ng.FESpace, name: str, diffusion: float, h: float, degree: int, skeleton: bool):
    """Volume and face integrand; the test function of a face is a jump on the skeleton."""
    (u, v), n = space.TnT(), ng.specialcf.normal(2)
    other = u.Other() if skeleton else u.Other(bnd=1.0)
    test = v - v.Other() if skeleton else v
    if name == "linear":
        velocity = ng.CF((1.0, 0.5))
        normal = velocity * n
        return -u * (velocity * ng.grad(v)), normal * ng.IfPos(normal, u, other) * test
    diagonal = ng.CF((1.0, 1.0))
    normal = diagonal * n
    speed = ng.IfPos(u * u - other * other, ng.sqrt(u * u), ng.sqrt(other * other)) * ng.sqrt(normal * normal)
    flux = 0.25 * (u * u + other * other) * normal + 0.5 * speed * (u - other)
    volume = -0.5 * u * u * (diagonal * ng.grad(v))
    if diffusion:
        penalty = 2.0 * (degree + 1) ** 2 / h
        mean = 0.5 * (ng.grad(u) + ng.grad(u.Other())) * n
        slope = 0.5 * (ng.grad(v) + ng.grad(v.Other())) * n if skeleton else 0.5 * ng.grad(v) * n
        volume += diffusion * ng.grad(u) * ng.grad(v)
        return volume, (
            flux * test + diffusion * ((penalty * (u - other) - mean) * test - slope * (u - other))
        )
    return volume, flux * test
