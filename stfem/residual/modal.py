"""The residual on affine cells with constant coefficients as modes in time and space: no quadrature (T5).

All terms but the source are polynomials of the degree k of û on every cell, with coefficients against the
orthonormal basis; squares of norms are sums of squares. Fluxes stay in reference coordinates, where
v = J v̂/|det J|.
"""

from __future__ import annotations

import numpy as np

from stfem.equations import Equation
from stfem.meshes.quadrature import Array
from stfem.reconstruction.unstructured import MeshReconstruction, MeshSlab
from stfem.residual.transport import SlabConvection
from stfem.residual.ways import Terms, lower_root
from stfem.spaces.raviart_thomas import RaviartThomasSpace

__all__ = ["ModalTerms"]


class ModalTerms:
    """Terms of the residual of a slab, ``(time modes, modes, C)`` each.

    It is its own `Representation`: ∫∫ of a square over slab and cell is Δt|K| times the sum of squares.

    Parameters
    ----------
    equation
        Scalar, linear with constant b and c, or with f = f(u): then `of` takes its modes.
    reconstruction
        On affine cells.
    diffusion
        D ``(d, d, C)`` or ``(d, d, 1)``.
    """

    def __init__(self, equation: Equation, reconstruction: MeshReconstruction, diffusion: Array) -> None:
        self._target = target = reconstruction.target
        mesh = target.mesh
        maps = mesh.cell_map(mesh.reference.vertices)
        jacobian, inverse = maps.jacobian[:, :, 0], maps.inverse[:, :, 0]
        self._determinant = maps.determinant[0]
        velocity = [b.constant_value() for b in equation.velocity] if equation.linear else [0.0] * mesh.dim
        self._along = np.einsum("jic,i->jc", inverse, np.array(velocity))
        self._reaction = equation.reaction.constant_value()
        matrix = np.broadcast_to(diffusion, (*diffusion.shape[:2], mesh.size))
        self._pulled = np.einsum("jic,ikc,lkc->jlc", inverse, matrix, inverse) * self._determinant
        #: L with |D^{-1/2}Φ|² = |LᵀΦ|² of fluxes pulled back, lower triangular, ``(d, d, C)``.
        self.root = np.zeros((mesh.dim, mesh.dim, mesh.size))
        if np.any(diffusion):
            self.root = lower_root(matrix, jacobian / self._determinant)
        points, weights = mesh.reference.quadrature(2 * target.degree + 1)
        self._points = points
        self._project = (target.basis.values(points) * weights[:, None]).T / mesh.reference.measure
        self._slopes = [self._project @ slope for slope in target.basis.gradients(points)]
        self._diffusive = [self._tables(space) for space in reconstruction.diffusive_spaces]
        convective = reconstruction.convective_space
        self._convective = None if convective is None else self._tables(convective)
        self._duration = 1.0

    def _tables(self, space: RaviartThomasSpace) -> tuple[list[Array], Array]:
        """From coefficients of a flux to modes of its reference components, and of ∇̂·v̂."""
        local = space.local_space
        values = [self._project @ component for component in local.values(self._points)]
        return values, self._project @ local.divergences(self._points)

    def of(self, slab: MeshSlab, source: Array | None, convection: SlabConvection | None = None) -> Terms:
        """The terms on a slab; ``source`` are the modes of g, None for zero.

        ``convection`` holds those of a nonlinear flux.
        """
        state, rate = slab.state[:, 0], slab.rate[:, 0]
        self._duration = slab.time.duration
        slopes = np.stack([table @ state for table in self._slopes])
        if convection is None:
            transport = (self._along[:, None, None] * slopes).sum(axis=0)
            carried = (self._along * self._determinant)[:, None, None] * state
        else:
            transport, carried = convection.divergence, convection.flux
        added = [rate, transport]
        if self._reaction != 0.0:
            added.append(self._reaction * state)
        if source is not None:
            added.append(-source)
        scalar = np.sum(added, axis=0)
        with_flux, gap = scalar, np.zeros_like(slopes)
        if self._convective is not None and slab.convective is not None:
            components, divergence = self._convective
            flux = slab.convective[:, 0]
            with_flux = scalar - transport + (divergence @ flux) / self._determinant
            gap = carried - np.stack([table @ flux for table in components])
        diffused = np.einsum("jlc,ltnc->jtnc", self._pulled, slopes)
        divergences, defects = [], []
        for (components, divergence), modes in zip(self._diffusive, slab.diffusive, strict=True):
            flux = modes[:, 0]
            divergences.append((divergence @ flux) / self._determinant)
            defects.append(np.stack([table @ flux for table in components]) - diffused)
        root = self.root[:, :, None, None]
        return Terms(scalar, with_flux, divergences, defects, gap, root, [*added, *divergences])

    def square(self, field: Array) -> Array:
        measures = self._target.mesh.cell_measures
        return np.asarray(self._duration * measures * (field**2).sum(axis=(0, 1)))

    def mean_square(self, field: Array) -> Array:
        return self.square(field[:, :1])

    def spread_square(self, field: Array) -> Array:
        return self.square(field[:, 1:])
