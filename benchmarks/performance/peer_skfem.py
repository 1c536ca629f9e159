"""SIPG and upwind convection on triangles, assembled by scikit-fem through forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import skfem
from skfem.helpers import dot, grad, jump

_DIFFUSION = 1e-3
_ELEMENTS = {1: skfem.ElementTriP1, 2: skfem.ElementTriP2, 3: skfem.ElementTriP3, 4: skfem.ElementTriP4}


def assembly(mesh: skfem.MeshTri, degree: int) -> Callable[[], None]:
    """Assembles the matrix, bases included."""
    element = skfem.ElementTriDG(_ELEMENTS[degree]())
    velocity, penalty = np.array([1.0, 0.5]), 2.0 * (degree + 1) ** 2

    @skfem.BilinearForm
    def volume(u, v, w):
        return _DIFFUSION * dot(grad(u), grad(v)) - u * _along(velocity, grad(v))

    @skfem.BilinearForm
    def interior(u, v, w):
        ju, jv = jump(w, u, v)
        speed = _along(velocity, w.n)
        own = (speed > 0.0) if w.idx[0] == 0 else (speed <= 0.0)
        means = 0.5 * dot(grad(u), w.n) * jv + 0.5 * dot(grad(v), w.n) * ju
        return _DIFFUSION * (penalty / w.h * ju * jv - means) + speed * own * u * jv

    @skfem.BilinearForm
    def boundary(u, v, w):
        speed = np.maximum(_along(velocity, w.n), 0.0)
        means = dot(grad(u), w.n) * v + dot(grad(v), w.n) * u
        return _DIFFUSION * (penalty / w.h * u * v - means) + speed * u * v

    def work() -> None:
        sides = [skfem.InteriorFacetBasis(mesh, element, side=side) for side in (0, 1)]
        matrix = volume.assemble(skfem.Basis(mesh, element))
        matrix += skfem.asm(interior, sides, sides)
        matrix += boundary.assemble(skfem.BoundaryFacetBasis(mesh, element))

    return work


def _along(velocity, field):
    return velocity[0] * field[0] + velocity[1] * field[1]
