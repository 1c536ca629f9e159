"""DG form of −∇·f(u): constant stencils where f is linear with constant velocity, quadrature elsewhere."""

from __future__ import annotations

import numpy as np

from stfem.equations import Equation
from stfem.fluxes import ConvectiveFlux
from stfem.meshes.grid import TensorGrid
from stfem.meshes.periodic import neighbour
from stfem.spaces.compact import CompactOperator
from stfem.spaces.interval import end_values, transport
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array, apply_along, apply_matrix
from stfem.spaces.tensor import point_coordinates


class StencilConvection:
    """Constant velocity: one stencil per direction for a numerical flux a⁻u⁻ + a⁺u⁺."""

    def __init__(self, grid: TensorGrid, degree: int, traces: list[tuple[float, float]]) -> None:
        stencils = [
            (i, transport(degree, minus / h, plus / h))
            for i, (h, (minus, plus)) in enumerate(zip(grid.spacing, traces, strict=True))
            if minus != 0.0 or plus != 0.0
        ]
        self._operator = CompactOperator(stencils, degree, grid.dim)

    def apply(self, t: float, u: Array) -> Array:
        """−(DG form of ∇·(bu))."""
        return self._operator.apply(u)


class QuadratureConvection:
    """Any flux f(u, x, t): Gauss quadrature in cells and on faces.

    With n points per direction the form is exact for a polynomial flux of degree r when 2n − 1 ≥ (r + 1) q.
    """

    def __init__(self, grid: TensorGrid, degree: int, equation: Equation, flux: ConvectiveFlux) -> None:
        self.grid, self.degree, self.equation, self.flux = grid, degree, equation, flux
        order = 3 if equation.flux_degree is None or equation.linear else equation.flux_degree
        points, weights = gauss(max(degree + 1, ((order + 1) * degree) // 2 + 1))
        self._values = legendre_values(degree, points)
        self._test = np.ascontiguousarray((self._values * weights[:, None]).T)
        self._test_slope = np.ascontiguousarray(
            (self._values @ derivative_matrix(degree) * weights[:, None]).T
        )
        self._left, self._right = end_values(degree)
        self._cell_points = point_coordinates(grid, [points] * grid.dim)
        self._face_points = [
            np.squeeze(
                point_coordinates(grid, [points if k != i else np.ones(1) for k in range(grid.dim)]),
                axis=1 + i,
            )
            for i in range(grid.dim)
        ]

    def apply(self, t: float, u: Array) -> Array:
        """−(DG form of ∇·f(u)): volume term minus face terms."""
        dim = self.grid.dim
        at_points = u
        for direction in reversed(range(dim)):
            at_points = apply_matrix(self._values, at_points, direction, dim)
        result = np.zeros_like(u)
        for i, h in enumerate(self.grid.spacing):
            volume = self.equation.flux(at_points, self._cell_points, t, i)
            for k in range(dim):
                volume = apply_matrix(self._test_slope if k == i else self._test, volume, k, dim)
            result += (volume - self._faces(t, u, i)) / h
        return result

    def _faces(self, t: float, u: Array, i: int) -> Array:
        """F·φ(1) − F_previous·φ(0) with the numerical flux F on the faces behind the cells in direction i."""
        dim = self.grid.dim
        mode, cell = 1 + i, 1 + (dim - 1) + i  # after contraction of mode axis i one axis is gone
        minus = np.tensordot(u, self._right, axes=(mode, 0))
        plus = neighbour(np.tensordot(u, self._left, axes=(mode, 0)), 1, cell)
        others = [1 + k for k in range(dim - 1)]
        for axis in others:
            minus, plus = (apply_along(self._values, trace, axis) for trace in (minus, plus))
        face = self.flux(self.equation, minus, plus, self._face_points[i], t, i)
        for axis in others:
            face = apply_along(self._test, face, axis)
        outgoing, incoming = np.expand_dims(face, mode), np.expand_dims(neighbour(face, -1, cell), mode)
        shape = [1] * u.ndim
        shape[mode] = self.degree + 1
        return outgoing * self._right.reshape(shape) - incoming * self._left.reshape(shape)


def linear_traces(equation: Equation, flux: ConvectiveFlux) -> list[tuple[float, float]] | None:
    """Coefficients (a⁻, a⁺) per direction of a numerical flux a⁻u⁻ + a⁺u⁺.

    Or None where it is not of this form.

    A constant velocity makes every shipped flux linear in the traces; a user's own flux is tried at one more
    pair of states.
    """
    if not equation.linear or not all(component.constant for component in equation.velocity):
        return None
    x = np.zeros((equation.dim, 1))
    pairs = []
    for i in range(equation.dim):

        def at(minus: float, plus: float, direction: int = i) -> float:
            value = flux(equation, np.full((1, 1), minus), np.full((1, 1), plus), x, 0.0, direction)
            return float(value[0, 0])

        minus, plus = at(1.0, 0.0), at(0.0, 1.0)
        if not np.isclose(at(-0.7, 2.3), -0.7 * minus + 2.3 * plus, rtol=1e-12, atol=1e-14):
            return None
        pairs.append((minus, plus))
    return pairs
