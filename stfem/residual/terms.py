"""Linear parts of the residual, once per time node.

Derivatives of polynomials are small matrices on their modes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stfem.meshes.grid import TensorGrid
from stfem.reconstruction import NodeReconstruction
from stfem.spaces.legendre import derivative_matrix
from stfem.spaces.stencil import Array, apply_matrix


@dataclass(frozen=True, eq=False)
class NodeTerms:
    """Terms that are linear in (U_n, F_n); every array starts with the axis (value, time derivative).

    Attributes
    ----------
    state
        û.
    linear
        b·∇û + cû (where b and c are constant) − ∇·(K*σ_h): what R_0 holds besides ∂_tû, g and the nonlinear
        flux.
    difference
        D-part R_H(1) − R_H(0) = ∇·(K*σ_h − D∇û) of the diffusing components (None without diffusion).
    flux
        Φ_0 = K*σ_h − D∇û per direction.
    magnitude
        Σ of the norms of the terms in ``linear`` (sizes of what may round off), one number for each of the
        pair.
    """

    state: Array
    linear: Array
    difference: Array | None
    flux: tuple[Array, ...]
    magnitude: Array


class TermBuilder:
    """Builds `NodeTerms` from a `NodeReconstruction`.

    Parameters
    ----------
    grid, degree
        Grid and degree of û.
    velocity
        Constant velocity b, or None where the convective term is evaluated at points.
    reaction
        Constant c.
    matrix
        Diffusion matrix D.
    diffused
        Weight per component.
    """

    def __init__(
        self,
        grid: TensorGrid,
        degree: int,
        velocity: tuple[float, ...] | None,
        reaction: float,
        matrix: Array,
        diffused: tuple[float, ...],
    ) -> None:
        self.grid, self.degree, self.velocity, self.reaction = grid, degree, velocity, reaction
        self._chosen = [c for c, weight in enumerate(diffused) if weight]
        self._weights = np.reshape([w for w in diffused if w], (-1, *(1,) * 2 * grid.dim))
        self._matrix = matrix

    @property
    def diffuses(self) -> bool:
        """Whether there is diffusion at all."""
        return bool(self._chosen) and bool(np.any(self._matrix))

    def gradient(self, field: Array) -> list[Array]:
        """∂_i of a modal field of degree Q, same modes."""
        slope = derivative_matrix(self.degree)
        return [apply_matrix(slope / h, field, i, self.grid.dim) for i, h in enumerate(self.grid.spacing)]

    def whole(self, state: Array) -> tuple[Array, Array]:
        """b·∇û + cû − ∇·(D∇û) of a scalar field, and the norms of its terms added up, one for each entry."""
        sizes = np.zeros(len(state))
        total: Array | None = None
        for operator in self._operators:
            term = state
            for direction, matrix in operator:
                term = apply_matrix(matrix, term, direction, self.grid.dim)
            sizes += [_norm(entry) for entry in term]
            total = term if total is None else np.add(total, term, out=total)
        return np.zeros_like(state) if total is None else total, sizes

    @cached_property
    def _operators(self) -> list[list[tuple[int, Array]]]:
        """Products of matrices on the modes of single directions, whose sum is the operator of `whole`."""
        slopes = [derivative_matrix(self.degree) / h for h in self.grid.spacing]
        matrix = self._matrix if self.diffuses else np.zeros_like(self._matrix)
        operators = []
        for i, slope in enumerate(slopes):
            own = -matrix[i, i] * slope @ slope
            if self.velocity is not None:
                own = own + self.velocity[i] * slope
            operators.append([(i, own)])
            operators += [[(i, slope * (-2.0 * matrix[i, j])), (j, slopes[j])] for j in range(i)]
        operators.append([(0, self.reaction * np.eye(self.degree + 1))])
        return [factors for factors in operators if all(np.any(entry) for _, entry in factors)]

    def local(self, state: Array) -> tuple[Array, Array, tuple[Array, ...]]:
        """b·∇û + cû (as far as b and c are constant), ∇·(D∇û) and D∇û; the latter of diffusing components."""
        gradient = self.gradient(state)
        linear = self.reaction * state
        for i, b in enumerate(self.velocity or ()):
            linear += b * gradient[i]
        flux = tuple(self._diffusive_flux(gradient, i) for i in range(self.grid.dim))
        return linear, self.divergence(flux), flux

    def build(self, node: NodeReconstruction) -> NodeTerms:
        """All terms of one node."""
        linear, laplacian, own = self.local(node.state)
        magnitude = np.array([_norm(linear[k]) for k in range(2)])
        if not node.flux:
            return NodeTerms(node.state, linear, None, (), magnitude)
        divergence = self.divergence(node.flux)
        linear[:, self._chosen] -= divergence
        magnitude += np.array([_norm(divergence[k]) for k in range(2)])
        flux = tuple(subtract(component, own[i], self.grid.dim) for i, component in enumerate(node.flux))
        return NodeTerms(node.state, linear, divergence - laplacian, flux, magnitude)

    def _diffusive_flux(self, gradient: list[Array], i: int) -> Array:
        """(D∇û)_i of the diffusing components."""
        total = sum(
            self._matrix[i, j] * slope for j, slope in enumerate(gradient) if self._matrix[i, j] != 0.0
        )
        field = total if isinstance(total, np.ndarray) else np.zeros_like(gradient[0])
        return np.asarray(field[:, self._chosen] * self._weights)

    def divergence(self, flux: tuple[Array, ...]) -> Array:
        """Σ ∂_i of flux components in modes of degree Q.

        A component may have one mode more in its own direction; the derivative loses it.
        """
        leading, cells = flux[0].shape[: -2 * self.grid.dim], flux[0].shape[-self.grid.dim :]
        total = np.zeros((*leading, *(self.degree + 1,) * self.grid.dim, *cells))
        for i, (component, h) in enumerate(zip(flux, self.grid.spacing, strict=True)):
            own = component.shape[component.ndim - 2 * self.grid.dim + i]
            slope = derivative_matrix(own - 1)[: self.degree + 1] / h
            total += apply_matrix(slope, component, i, self.grid.dim)
        return total


def subtract(flux: Array, own: Array, dim: int) -> Array:
    """flux − own, where ``own`` may have fewer modes."""
    first = flux.ndim - 2 * dim
    leading = tuple(slice(0, own.shape[first + i]) for i in range(dim))
    result = flux.copy()
    result[(*(slice(None),) * first, *leading)] -= own
    return result


def padded(field: Array, modes: int, dim: int) -> Array:
    """The field with zero modes up to ``modes`` in every direction."""
    first = field.ndim - 2 * dim
    given = field.shape[first : first + dim]
    result = np.zeros((*field.shape[:first], *(modes,) * dim, *field.shape[-dim:]))
    result[(*(slice(None),) * first, *(slice(0, count) for count in given))] = field
    return result


def _norm(field: Array) -> float:
    return float(np.sqrt(np.vdot(field, field)))
