"""∇·f(û) on a mesh: at points, or as modes with what they leave out (T3, T4.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stfem.data import Data
from stfem.equations import Equation
from stfem.meshes.quadrature import Array
from stfem.reconstruction.unstructured import MeshSlab
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.legendre import gauss, legendre_values

__all__ = ["ConvectionModes", "SlabConvection", "Transport"]

#: Degree in u that is assumed of a flux that is no polynomial.
_ASSUMED_DEGREE = 2
#: Values that are handled at once.
_BLOCK_VALUES = 1 << 18


class Transport:
    """f(û) and ∇·f(û) of a scalar equation at points.

    Parameters
    ----------
    equation
        Linear, or with f = f(u).
    x
        Points ``(d, Q, C)``.
    """

    def __init__(self, equation: Equation, x: Array) -> None:
        self._equation, self._x = equation, x

    @property
    def degree(self) -> int:
        """Degree of f in u (`_ASSUMED_DEGREE` stands in for a flux that is no polynomial)."""
        degree = self._equation.flux_degree
        return max(1, _ASSUMED_DEGREE if degree is None else degree)

    @property
    def constant(self) -> bool:
        """Whether no coefficient depends on x or t."""
        equation = self._equation
        velocity = equation.velocity if equation.linear else ()
        return all(entry.constant for entry in (*velocity, equation.reaction))

    def flux(self, values: Array, t: float) -> Array:
        """f(û), ``(d, Q, C)``."""
        equation = self._equation
        return np.stack([equation.flux(values[None], self._x, t, i)[0] for i in range(equation.dim)])

    def divergence(self, values: Array, slopes: Array, t: float) -> Array:
        """∇·f(û) from û ``(Q, C)`` and ∇û ``(d, Q, C)``."""
        equation = self._equation
        result = np.zeros_like(values)
        for i, slope in enumerate(slopes):
            result += equation.jacobian_product(values[None], slope[None], self._x, t, i)[0]
        for divergence in equation.velocity_divergence if equation.linear else ():
            result += divergence(self._x, t) * values
        return result


@dataclass(frozen=True, eq=False)
class SlabConvection:
    """What a nonlinear flux and the source are on a slab: modes, and what these leave out.

    Attributes
    ----------
    divergence, source
        ∇·f(û) and g, ``(time modes, modes, C)``.
    flux
        f(û) pulled back to the reference cell, ``(d, time modes, modes, C)``; NaN where nobody asks for it.
    left, of_means
        ∫∫_K of the square of what is left out of ∇·f(û) − g, and of the square of its cell means, ``(C,)``.
    left_source, left_flux
        ∫∫_K of what is left out of g, and of the square of D^{-1/2}f(û).
    """

    divergence: Array
    source: Array
    flux: Array
    left: Array
    of_means: Array
    left_source: Array
    left_flux: Array


class ConvectionModes:
    """Nonlinear flux and source on the slabs of a mesh of affine cells.

    f(û) is a polynomial of degree pk in space and pr in time. Its modes up to the degrees k and r of û join
    those of the linear terms; the rest is orthogonal to all of them, and its square is integrated with rules
    that are exact for it.

    Parameters
    ----------
    equation, source
        f = f(u), and g.
    target
        Space of û.
    order, points
        Order of the quadrature in space, and points in time beyond the degree r there for g.
    metric
        |D^{-1/2}Φ|² of fluxes pulled back, ``(d, d, C)``; None where f(û) itself is not wanted.
    """

    def __init__(
        self,
        equation: Equation,
        source: Data,
        target: BrokenSpace,
        order: int,
        points: int,
        metric: Array | None,
    ) -> None:
        self._equation, self._source, self._target, self._extra = equation, source, target, points
        mesh, self._metric = target.mesh, metric
        quadrature, self._weights = mesh.reference.quadrature(order)
        self._weights = self._weights / mesh.reference.measure
        self._x = mesh.points(quadrature)
        self._x.flags.writeable = False
        self._table = target.basis.values(quadrature)
        self._slopes = target.basis.gradients(quadrature)
        maps = mesh.cell_map(mesh.reference.vertices)
        self._inverse, self._determinant = maps.inverse[:, :, 0], maps.determinant[0]
        self._degree = Transport(equation, self._x).degree

    def of(self, slab: MeshSlab) -> SlabConvection:
        """Modes and remainders on a slab, block of cells by block."""
        time, count = slab.time, self._target.mesh.size
        times, weights = gauss(max(self._degree * time.degree, time.degree + self._extra) + 1)
        in_time = legendre_values(time.degree, times)
        step = max(1, _BLOCK_VALUES // (len(times) * len(self._weights)))
        blocks = [slice(start, start + step) for start in range(0, count, step)]
        given = None
        if not self._source.is_zero:
            given = np.stack([self._source(self._x, time.start + s * time.duration) for s in times])
        parts = [
            self._block(slab.state[:, 0], in_time, weights, None if given is None else given[..., part], part)
            for part in blocks
        ]
        joined = [np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)]
        scale = time.duration * self._target.mesh.cell_measures
        divergence, source, flux, *squares = joined
        return SlabConvection(divergence, source, flux, *(scale * square for square in squares))

    def _block(
        self, state: Array, in_time: Array, weights: Array, source: Array | None, cells: slice
    ) -> tuple[Array, ...]:
        """What `SlabConvection` holds, on some cells, squares as means over slab and cell."""
        equation, x = self._equation, self._x[:, :, cells]
        now = np.tensordot(in_time, state[:, :, cells], 1)
        values, inverse = self._table @ now, self._inverse[:, :, cells]
        pulled = self._slopes[:, None] @ now
        divergence = np.zeros_like(values)
        for i in range(equation.dim):
            slope = sum(row[i] * entry for row, entry in zip(inverse, pulled, strict=True))
            divergence += equation.jacobian_product(values[None], np.asarray(slope)[None], x, 0.0, i)[0]
        modes, rest = self._split(divergence, in_time, weights)
        of_source, rest_of_source = np.zeros_like(modes), np.zeros((1, 1, modes.shape[-1]))
        if source is not None:
            of_source, rest_of_source = self._split(source, in_time, weights)
        rest -= rest_of_source
        means = np.einsum("q,tqc->tc", self._weights, rest)
        flux, left_flux = np.full((equation.dim, *modes.shape), np.nan), np.zeros(modes.shape[-1])
        if self._metric is not None:
            flux, left_flux = self._fluxes(values, in_time, weights, cells)
        left, left_source = self._mean(rest**2, weights), self._mean(rest_of_source**2, weights)
        return modes, of_source, flux, left, weights @ means**2, left_source, left_flux

    def _fluxes(self, values: Array, in_time: Array, weights: Array, cells: slice) -> tuple[Array, Array]:
        """Modes of f(û) pulled back, and the mean of the square of what they leave out."""
        equation, x, metric = self._equation, self._x[:, :, cells], self._metric
        if metric is None:
            raise ValueError("metric: expected one where fluxes are wanted, got None")
        fluxes = [equation.flux(values[None], x, 0.0, i)[0] for i in range(equation.dim)]
        splits = []
        for row in self._inverse[:, :, cells] * self._determinant[cells]:
            pulled = sum(factor * flux for factor, flux in zip(row, fluxes, strict=True))
            splits.append(self._split(np.asarray(pulled), in_time, weights))
        left = np.zeros(values.shape[-1])
        for k, (_, one) in enumerate(splits):
            for m, (_, other) in enumerate(splits):
                left += metric[k, m, cells] * self._mean(one * other, weights)
        return np.stack([modes for modes, _ in splits]), np.maximum(left, 0.0)

    def _split(self, values: Array, in_time: Array, weights: Array) -> tuple[Array, Array]:
        """Modes of values ``(T, Q, C)``, and the values without them."""
        moments = (self._table * self._weights[:, None]).T @ values
        modes = np.tensordot((in_time * weights[:, None]).T, moments, 1)
        return modes, values - self._table @ np.tensordot(in_time, modes, 1)

    def _mean(self, values: Array, weights: Array) -> Array:
        """Means over slab and cell; values that are the same everywhere may come as one."""
        if values.shape[:2] == (1, 1):
            return np.asarray(values[0, 0])
        return np.einsum("t,q,tqc->c", weights, self._weights, values, optimize=True)
