"""The same right-hand sides in NGSolve, matrix-free and generic, on squares or triangles, and its assembly.

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


def rate(name: str, degree: int, cells: int, seconds: float, quads: bool = True) -> float:
    """Million unknowns per second of the fastest way."""
    mesh = MakeStructured2DMesh(quads=quads, nx=cells, ny=cells)
    return max(
        space.ndof / timing.measure(work, space_vector(space), seconds).seconds / 1e6
        for space, work in _ways(mesh, name, degree, 1.0 / cells)
    )


def assembly(degree: int, cells: int) -> Callable[[], None]:
    """Assembles SIPG and upwind convection on triangles, space and pattern included."""
    mesh = MakeStructured2DMesh(quads=False, nx=cells, ny=cells)
    h, velocity, n = ng.specialcf.mesh_size, ng.CF((1.0, 0.5)), ng.specialcf.normal(2)
    penalty = 2.0 * (degree + 1) ** 2 / h

    def work() -> None:
        space = ng.L2(mesh, order=degree, dgjumps=True)
        u, v = space.TnT()
        form = ng.BilinearForm(space)
        form += (_DIFFUSION * ng.grad(u) * ng.grad(v) - u * (velocity * ng.grad(v))) * ng.dx
        jump, test = u - u.Other(), v - v.Other()
        mean = 0.5 * n * (ng.grad(u) + ng.grad(u.Other())), 0.5 * n * (ng.grad(v) + ng.grad(v.Other()))
        upwind = velocity * n * ng.IfPos(velocity * n, u, u.Other())
        face = _DIFFUSION * (penalty * jump * test - mean[0] * test - mean[1] * jump) + upwind * test
        form += face * ng.dx(skeleton=True)
        outer = _DIFFUSION * (penalty * u * v - n * ng.grad(u) * v - n * ng.grad(v) * u)
        outer += ng.IfPos(velocity * n, velocity * n, 0.0) * u * v
        form += outer * ng.ds(skeleton=True)
        form.Assemble()

    return work


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
