"""The residual as a measure: its total variation bounds the error in L¹ on meshes (T4.4, T5.15)."""

from __future__ import annotations

import numpy as np

from stfem.meshes.quadrature import Array
from stfem.reconstruction.unstructured import MeshReconstruction, MeshSlab
from stfem.reconstruction.unstructured.fluxes import gradient_traces
from stfem.residual.exactness import DATA_POINTS
from stfem.residual.natural import NaturalResidual
from stfem.spaces.legendre import gauss

__all__ = ["TotalVariation"]


class TotalVariation:
    """∫_slab of Σ_K ∫_K|R| + Σ_F ∫_F |[D∇û·n]| + Σ_{F on Γ} ∫_F |D∇û·n − q(û)|.

    R within the cells, F the facets between them and those where a flux is given. Every integral is bounded
    by ∫_M|f| ≤ (|M| ∫_M f²)^{1/2}; no d̃ is needed, as jumps are as good as functions here.

    On affine cells, where D∇û is a polynomial.

    Parameters
    ----------
    reconstruction
        Gives û.
    diffusion
        D ``(d, d, C)`` or ``(d, d, 1)``.
    natural
        Conditions that give a flux.
    """

    def __init__(
        self, reconstruction: MeshReconstruction, diffusion: Array, natural: NaturalResidual
    ) -> None:
        self._target = target = reconstruction.target
        self._natural = natural
        mesh = target.mesh
        self._matrix = np.broadcast_to(diffusion, (*diffusion.shape[:2], mesh.size))
        self._diffuses = bool(np.any(diffusion))
        self._inner = inner = np.arange(mesh.facets.interior)
        self._parameters, self._weights = mesh.reference.on_facet.quadrature(2 * target.degree)
        normals, density = mesh.facet_normals(self._parameters, inner)
        self._density = density[0]
        #: Dn on both sides of the facets, ``(d, Q, interior F)`` each.
        self._along = [
            np.einsum("iqf,ijf->jqf", normals, self._matrix[:, :, cells[inner]])
            for cells in mesh.facets.cells
        ]
        points, weights = mesh.reference.quadrature(2 * target.degree)
        project = (target.basis.values(points) * weights[:, None]).T / mesh.reference.measure
        self._slopes = [project @ slope for slope in target.basis.gradients(points)]
        inverse = mesh.cell_map(mesh.reference.vertices).inverse[:, :, 0]
        self._pulled = np.einsum("jic,ikc,lkc->jlc", inverse, self._matrix, inverse)

    def diffused(self, modes: Array) -> Array:
        """Modes of ∇·(D∇û) within the cells from those of û, ``(…, modes, C)`` each."""
        slopes = [table @ modes for table in self._slopes]
        flux = [sum(self._pulled[j, k] * slope for k, slope in enumerate(slopes)) for j in range(len(slopes))]
        return np.asarray(sum(table @ entry for table, entry in zip(self._slopes, flux, strict=True)))

    def of(self, slab: MeshSlab, cells: Array) -> float:
        """The variation, from ∫_slab∫_K R² within the cells ``(C,)``."""
        mesh, duration = self._target.mesh, slab.time.duration
        total = float(np.sqrt(duration * mesh.cell_measures * cells).sum())
        if self._diffuses and len(self._inner):
            total += float(np.sqrt(duration * mesh.facet_measures[self._inner] * self._jumps(slab)).sum())
        return total + self._boundary(slab)

    def _jumps(self, slab: MeshSlab) -> Array:
        """∫_slab∫_F [D∇û·n]², ``(interior F,)``: a sum over the modes in time."""
        jump = np.zeros(1)
        for side, sign in ((0, 1.0), (1, -1.0)):
            slopes = gradient_traces(self._target, slab.state[:, 0], side, self._parameters, self._inner)
            jump = jump + sign * (self._along[side][:, None] * slopes).sum(axis=0)
        return np.asarray(slab.time.duration * self._density * (self._weights @ np.square(jump).sum(axis=0)))

    def _boundary(self, slab: MeshSlab) -> float:
        mesh, natural = self._target.mesh, self._natural
        times, weights = gauss(slab.time.degree + 1 + DATA_POINTS)
        total = 0.0
        for part in natural.parts:
            squares = np.zeros(len(part.facets))
            matrix = self._matrix[:, :, mesh.facets.cells[0, part.facets]]
            for s, weight in zip(times, weights * slab.time.duration, strict=True):
                field = slab.at(float(s), slab.state)
                trace = self._target.traces(field, 0, natural.points, part.facets)
                slopes = gradient_traces(self._target, field, 0, natural.points, part.facets)[:, 0]
                flux = np.einsum("iqf,ijf,jqf->qf", part.normals, matrix, slopes, optimize=True)
                r = flux - part.flux(slab.time.start + float(s) * slab.time.duration, trace)[0]
                squares += weight * (natural.weights[:, None] * part.density * r**2).sum(axis=0)
            total += float(np.sqrt(slab.time.duration * mesh.facet_measures[part.facets] * squares).sum())
        return total
