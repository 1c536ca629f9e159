"""Eigenvalues of upwind DG transport, which limit explicit steps."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
import skfem
from numpy.typing import NDArray

from stfem.equations import AdvectionDiffusion
from stfem.fluxes import flux_upwind
from stfem.meshes.reference import ReferenceCell
from stfem.meshes.unstructured import from_skfem
from stfem.semidiscretization.unstructured.convection import convection
from stfem.semidiscretization.unstructured.jacobian import convective_jacobian
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.interval import transport

__all__ = ["transport_spectrum"]

Spectrum = NDArray[np.complex128]

#: Directions of the velocity, and phases per direction of space, that are tried on simplices.
_DIRECTIONS, _PHASES = 12, {2: 8, 3: 2}


@lru_cache(maxsize=32)
def transport_spectrum(cell: ReferenceCell, degree: int) -> Spectrum:
    """Eigenvalues of upwind DG transport at the rate ½ Σ_F ∫_F |b·n| / |K| = 1.

    Lines and products of lines have the symbol of one direction. Triangles and tetrahedra are those of a cube
    cut into simplices, repeated for ever, for sampled velocities and phases: affine maps turn every mesh of
    congruent cells into this one.
    """
    if cell.dim == 1 or not cell.simplex:
        return np.asarray(np.linalg.eigvals(transport(degree, 1.0, 0.0).symbol(64)).ravel())
    shape = skfem.MeshTri if cell.dim == 2 else skfem.MeshTet
    mesh = from_skfem(shape.init_tensor(*[np.array([0.0, 1.0])] * cell.dim), range(cell.dim))
    space = BrokenSpace(mesh, degree)
    u = np.zeros((1, space.modes, mesh.size))
    phases = list(product(np.arange(_PHASES[cell.dim]) * (2.0 * np.pi / _PHASES[cell.dim]), repeat=cell.dim))
    minus, plus = mesh.facets.cells
    found = []
    for direction in _directions(cell.dim):
        operator = convection(space, AdvectionDiffusion(direction), flux_upwind, {})
        blocks = convective_jacobian(operator, 0.0, u)
        scale = mesh.cell_measures * operator.wave_rate(0.0, u).max()
        symbols = np.zeros((len(phases), mesh.size, mesh.size, space.modes, space.modes), dtype=complex)
        own = np.arange(mesh.size)
        symbols[:, own, own] += blocks.diagonal
        for symbol, phase in zip(symbols, phases, strict=True):
            turn = np.exp(1j * (np.array(phase) @ mesh.facets.shift))[:, None, None]
            np.add.at(symbol, (minus, plus), blocks.across[0] * turn)
            np.add.at(symbol, (plus, minus), blocks.across[1] * turn.conj())
        symbols /= scale[:, None, None, None]
        size = mesh.size * space.modes
        found.append(np.linalg.eigvals(symbols.transpose(0, 1, 3, 2, 4).reshape(-1, size, size)).ravel())
    return np.concatenate(found)


def _directions(dim: int) -> NDArray[np.float64]:
    """Unit vectors of half a circle, or spread over half a sphere; the mesh is symmetric to its centre."""
    n = np.arange(_DIRECTIONS)
    if dim == 2:
        return np.stack([np.cos(np.pi * n / _DIRECTIONS), np.sin(np.pi * n / _DIRECTIONS)], axis=1)
    height = (n + 0.5) / _DIRECTIONS
    angle, radius = np.pi * (1.0 + 5.0**0.5) * n, np.sqrt(1.0 - height**2)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)
