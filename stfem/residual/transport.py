"""∇·f(û) on a mesh: at points, or as modes with what they leave out (T3, T4.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stfem.equations import Equation
from stfem.meshes.quadrature import Array
from stfem.reconstruction.unstructured import MeshSlab
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.legendre import gauss, legendre_values

__all__ = ["ConvectionModes", "SlabConvection", "Transport", "flux_degree"]

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
    """What a nonlinear flux is on a slab: modes, and what these leave out.

    Attributes
    ----------
    divergence
        ∇·f(û), ``(time modes, modes, C)``.
    flux
        f(û) pulled back to the reference cell, ``(d, time modes, modes, C)``; NaN where nobody asks for it.
    left, of_means
        ∫∫_K of the square of what is left out of ∇·f(û), and of the square of its cell means, ``(C,)``.
    left_flux
        ∫∫_K of the square of D^{-1/2} times what is left out of f(û).
    """

    divergence: Array
    flux: Array
    left: Array
    of_means: Array
    left_flux: Array


class ConvectionModes:
    """A nonlinear flux on the slabs of a mesh of affine cells.

    f(û) is a polynomial of degree pk in space and pr in time. Its modes up to the degrees k and r of û join
    those of the linear terms; the rest is orthogonal to all of them, and its square is integrated with rules
    that are exact for it.

    Parameters
    ----------
    equation
        f = f(u).
    target
        Space of û.
    root
        L with |D^{-1/2}Φ|² = |LᵀΦ|² of fluxes pulled back, lower triangular, ``(d, d, C)``; None where f(û)
        itself is not wanted.
    """

    def __init__(self, equation: Equation, target: BrokenSpace, root: Array | None) -> None:
        self._equation, self._target, self._root = equation, target, root
        mesh = target.mesh
        self._degree = flux_degree(equation)
        quadrature, weights = mesh.reference.quadrature(2 * self._degree * target.degree)
        self._weights = weights / mesh.reference.measure
        self._table, self._slopes = target.basis.values(quadrature), target.basis.gradients(quadrature)
        maps = mesh.cell_map(mesh.reference.vertices)
        self._inverse, self._determinant = maps.inverse[:, :, 0], maps.determinant[0]

    def of(self, slab: MeshSlab) -> SlabConvection:
        """Modes and remainders on a slab, block of cells by block."""
        time, mesh = slab.time, self._target.mesh
        times, weights = gauss(self._degree * time.degree + 1)
        in_time = legendre_values(time.degree, times)
        step = max(1, _BLOCK_VALUES // (len(times) * len(self._weights)))
        parts = [
            self._block(slab.state[:, 0], in_time, weights, slice(start, start + step))
            for start in range(0, mesh.size, step)
        ]
        divergence, flux, *squares = (np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
        scale = time.duration * mesh.cell_measures
        return SlabConvection(divergence, flux, *(scale * square for square in squares))

    def _block(self, state: Array, in_time: Array, weights: Array, cells: slice) -> tuple[Array, ...]:
        """What `SlabConvection` holds, on some cells, squares as means over slab and cell."""
        equation, x = self._equation, np.zeros((self._equation.dim, 1, 1))
        now = np.tensordot(in_time, state[:, :, cells], 1)
        values, pulled = self._table @ now, self._slopes[:, None] @ now
        divergence = np.zeros_like(values)
        for i in range(equation.dim):
            slope = np.einsum("jc,jtqc->tqc", self._inverse[:, i, cells], pulled)
            divergence += equation.jacobian_product(values[None], slope[None], x, 0.0, i)[0]
        modes, rest = self._split(divergence, in_time, weights)
        means = np.einsum("q,tqc->tc", self._weights, rest)
        flux, left_flux = self._fluxes(values, in_time, weights, cells)
        return modes, flux, self._mean(rest**2, weights), weights @ means**2, left_flux

    def _fluxes(self, values: Array, in_time: Array, weights: Array, cells: slice) -> tuple[Array, Array]:
        """Modes of f(û) pulled back, and the mean of the square of what they leave out."""
        equation, x, root = self._equation, np.zeros((self._equation.dim, 1, 1)), self._root
        if root is None:
            shape = (equation.dim, in_time.shape[1], self._target.modes, values.shape[-1])
            return np.full(shape, np.nan), np.zeros(values.shape[-1])
        fluxes = np.stack([equation.flux(values[None], x, 0.0, i)[0] for i in range(equation.dim)])
        pull_back = self._inverse[:, :, cells] * self._determinant[cells]
        splits = [self._split(np.einsum("ic,itqc->tqc", row, fluxes), in_time, weights) for row in pull_back]
        left = np.zeros(values.shape[-1])
        for k in range(equation.dim):
            column = sum(root[i, k, cells] * splits[i][1] for i in range(k, equation.dim))
            left += self._mean(np.asarray(column) ** 2, weights)
        return np.stack([modes for modes, _ in splits]), left

    def _split(self, values: Array, in_time: Array, weights: Array) -> tuple[Array, Array]:
        """Modes of values ``(T, Q, C)``, and the values without them."""
        moments = (self._table * self._weights[:, None]).T @ values
        modes = np.tensordot((in_time * weights[:, None]).T, moments, 1)
        return modes, values - self._table @ np.tensordot(in_time, modes, 1)

    def _mean(self, values: Array, weights: Array) -> Array:
        """Means over slab and cell of values ``(T, Q, C)``."""
        return np.asarray(np.einsum("t,q,tqc->c", weights, self._weights, values, optimize=True))


def flux_degree(equation: Equation) -> int:
    """Degree of f in u; `_ASSUMED_DEGREE` stands in for a flux that is no polynomial."""
    degree = equation.flux_degree
    return max(1, _ASSUMED_DEGREE if degree is None else degree)
