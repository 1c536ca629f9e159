"""The residual on affine cells with constant coefficients as modes in time and space: no quadrature (T5).

All terms but the source are polynomials of the degree k of û on every cell, with coefficients against the
orthonormal basis; squares of norms are sums of squares. Fluxes stay in reference coordinates, where
v = J v̂/|det J|.
"""

from __future__ import annotations

import numpy as np

from stfem.data import Data, Slab
from stfem.equations import Equation
from stfem.meshes.quadrature import Array
from stfem.reconstruction.unstructured import MeshReconstruction, MeshSlab
from stfem.residual.ways import Terms, lower_root
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.legendre import gauss, legendre_values
from stfem.spaces.raviart_thomas import RaviartThomasSpace

__all__ = ["ModalTerms", "SourceModes"]


class ModalTerms:
    """Terms of the residual of a slab, ``(time modes, modes, C)`` each.

    It is its own `Representation`: ∫∫ of a square over slab and cell is Δt|K| times the sum of squares.

    Parameters
    ----------
    equation
        Scalar, linear, with constant b and c.
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
        velocity = np.array([b.constant_value() for b in equation.velocity])
        self._along = np.einsum("jic,i->jc", inverse, velocity)
        self._reaction = equation.reaction.constant_value()
        matrix = np.broadcast_to(diffusion, (*diffusion.shape[:2], mesh.size))
        self._pulled = np.einsum("jic,ikc,lkc->jlc", inverse, matrix, inverse) * self._determinant
        self._root = np.zeros((mesh.dim, mesh.dim, mesh.size))
        if np.any(diffusion):
            self._root = lower_root(matrix, jacobian / self._determinant)
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

    def of(self, slab: MeshSlab, source: Array | None) -> Terms:
        """The terms on a slab; ``source`` are the modes of g, None for zero."""
        state, rate = slab.state[:, 0], slab.rate[:, 0]
        self._duration = slab.time.duration
        slopes = np.stack([table @ state for table in self._slopes])
        transport = (self._along[:, None, None] * slopes).sum(axis=0)
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
            carried = (self._along * self._determinant)[:, None, None] * state
            gap = carried - np.stack([table @ flux for table in components])
        diffused = np.einsum("jlc,ltnc->jtnc", self._pulled, slopes)
        divergences, defects = [], []
        for (components, divergence), modes in zip(self._diffusive, slab.diffusive, strict=True):
            flux = modes[:, 0]
            divergences.append((divergence @ flux) / self._determinant)
            defects.append(np.stack([table @ flux for table in components]) - diffused)
        root = self._root[:, :, None, None]
        return Terms(scalar, with_flux, divergences, defects, gap, root, [*added, *divergences])

    def square(self, field: Array) -> Array:
        measures = self._target.mesh.cell_measures
        return np.asarray(self._duration * measures * (field**2).sum(axis=(0, 1)))

    def mean_square(self, field: Array) -> Array:
        return self.square(field[:, :1])

    def spread_square(self, field: Array) -> Array:
        return self.square(field[:, 1:])


class SourceModes:
    """Modes of g in time and space on a slab, and what they leave out.

    Parameters
    ----------
    source
        g.
    target
        Space whose degree is taken.
    order, points
        Order of the quadrature in space, and points in time beyond the degree there.
    """

    def __init__(self, source: Data, target: BrokenSpace, order: int, points: int) -> None:
        self._source, self._target, self._extra = source, target, points
        mesh = target.mesh
        quadrature, self._weights = mesh.reference.quadrature(order)
        self._x = mesh.points(quadrature)
        self._x.flags.writeable = False
        self._table = target.basis.values(quadrature)
        self._density = mesh.cell_measures / mesh.reference.measure

    def of(self, time: Slab) -> tuple[Array | None, Array, Array]:
        """Modes ``(time modes, modes, C)``, ∫∫(g − modes)² and the same of the cell means, ``(C,)`` each."""
        if self._source.is_zero:
            zero = np.zeros(self._target.mesh.size)
            return None, zero, zero
        times, weights = gauss(time.degree + 1 + self._extra)
        values = np.stack([self._source(self._x, time.start + s * time.duration) for s in times])
        in_time = legendre_values(time.degree, times)
        moments = (self._table * self._weights[:, None]).T @ values / self._target.mesh.reference.measure
        modes = np.tensordot((in_time * weights[:, None]).T, moments, 1)
        rest = values - self._table @ np.tensordot(in_time, modes, 1)
        left = np.einsum("t,q,tqc->c", weights, self._weights, rest**2, optimize=True)
        means = np.einsum("q,tqc->tc", self._weights, rest) / self._target.mesh.reference.measure
        measures = self._target.mesh.cell_measures
        return modes, time.duration * self._density * left, time.duration * measures * (weights @ means**2)
