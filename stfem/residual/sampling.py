"""Values of a slab at Gauss points, for residuals that are not linear with constant coefficients (T4.6)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stfem.equations import Equation
from stfem.meshes.grid import TensorGrid
from stfem.reconstruction import ReconstructedSlab
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array, apply_along, apply_everywhere, apply_matrix
from stfem.spaces.tensor import weighted_gauss

#: Projected coefficients of a variable linear equation: velocity per direction (None where constant), factor
#: of û.
Coefficients = tuple[list[Array | None], Array | None]


class Sampler:
    """Values of a slab at Gauss points in time and space.

    ``weighted`` values carry the square roots of the weights.
    """

    def __init__(
        self,
        equation: Equation,
        grid: TensorGrid,
        degree: int,
        slab: ReconstructedSlab,
        times: int,
        points: int,
    ) -> None:
        self.equation, self.grid, self.degree, self.dim = equation, grid, degree, grid.dim
        self.slab, self.times = slab, times
        self.abscissae, weights = weighted_gauss(points, grid.dim)
        self.root = np.sqrt(weights)

    def values(self, modes: Array) -> Array:
        """Plain values at the space points."""
        degree = modes.shape[-2 * self.dim] - 1
        return apply_everywhere(legendre_values(degree, self.abscissae), modes, self.dim)

    def weighted(self, modes: Array) -> Array:
        """Values times the roots of the space weights (time is weighted by the caller's matrix)."""
        return self.values(modes) * self.root

    def in_time(self, degree: int) -> Array:
        """Plain values in time of orthonormal modes."""
        return legendre_values(degree, gauss(self.times)[0])

    def residual(
        self,
        linear: Array,
        states: Array,
        cut: Callable[[Array], Array],
        source: Array | None,
        coefficients: Coefficients | None,
    ) -> Array:
        """Weighted values of R_0.

        Parameters
        ----------
        linear
            Weighted values in time of its linear part, modes in space.
        states
            û and ∂_tû of one node after the other, ``(2k, m, p…, N…)``.
        cut
            Takes the cells in hand out of an array on all cells.
        source
            Projected on these cells.
        coefficients
            Projected data on all cells.
        """
        slab, dim = self.slab, self.dim
        residual = self.values(linear)
        u_modes = apply_along(self.in_time(slab.time.degree) @ slab.value_modes, states, 0)
        roots = np.sqrt(gauss(self.times)[1]).reshape(-1, *(1,) * (2 * dim + 1))
        extra = np.zeros_like(residual)
        if coefficients is not None:
            velocity, zeroth = coefficients
            if zeroth is not None:
                extra += self._coefficient(cut(zeroth)) * self.values(u_modes)
            for i, b in enumerate(velocity):
                if b is not None:
                    extra += self._coefficient(cut(b)) * self._slope(u_modes, i)
        if not self.equation.linear:
            u = np.moveaxis(self.values(u_modes), 1, 0)
            for i in range(dim):
                slope = np.moveaxis(self._slope(u_modes, i), 1, 0)
                x = np.zeros((dim, *(1,) * (u.ndim - 1)))
                extra += np.moveaxis(self.equation.jacobian_product(u, slope, x, slab.time.midpoint, i), 0, 1)
        if source is not None:
            extra -= self._in_space_and_time(source)
        return np.asarray((residual + roots * extra) * self.root)

    def cell_means(self, residual: Array) -> Array:
        """Means over the cells of weighted values ``(time, P…, N…)``, per time row."""
        points = tuple(range(1, 1 + self.dim))
        return np.asarray((residual * self.root).sum(axis=points))

    def _slope(self, modes: Array, i: int) -> Array:
        slope = derivative_matrix(self.degree) / self.grid.spacing[i]
        return self.values(apply_matrix(slope, modes, i, self.dim))

    def _coefficient(self, modes: Array) -> Array:
        """Values (time, 1, P…, N…) of a projected coefficient."""
        return self._in_space_and_time(modes)[:, None]

    def _in_space_and_time(self, modes: Array) -> Array:
        """Plain values of modes ``(time, …, p…, N…)``."""
        return self.values(apply_along(self.in_time(len(modes) - 1), modes, 0))


def weighted_values(degree: int, points: int) -> Array:
    """Values of orthonormal modes at Gauss points times the roots of the weights."""
    abscissae, weights = gauss(points)
    return legendre_values(degree, abscissae) * np.sqrt(weights)[:, None]


def check_autonomous(equation: Equation) -> None:
    """∇·f(û) is evaluated as f'(û)∇û: a nonlinear flux that depends on x or t would leave a part out."""
    rng = np.random.default_rng(13)
    states = equation.probe_states(rng, 8)
    x = rng.uniform(0.0, 1.0, (2, equation.dim, 8))
    for i in range(equation.dim):
        here, there = (equation.flux(states, x[k], 0.37 * k, i) for k in range(2))
        if np.max(np.abs(here - there)) > 1e-12 * np.max(np.abs(here)):
            raise ValueError(
                f"flux, direction {i}: expected f(u) without x and t for a nonlinear equation, "
                f"got {here[:, 0]} and {there[:, 0]} at two points for one state"
            )
