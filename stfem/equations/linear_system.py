"""Linear symmetrisable hyperbolic systems, among them sound waves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stfem.checks import checked_array, checked_list, checked_number
from stfem.data import Interval
from stfem.data.base import Array
from stfem.equations.base import checked_dimension
from stfem.equations.entropy import CellStates, Entropy
from stfem.equations.states import StateSet
from stfem.equations.system import EntropySystem

__all__ = ["Acoustics", "SymmetricSystem"]

#: Entries of matrices: products of three of them are formed.
_LARGEST = 1e60


class SymmetricSystem(EntropySystem):
    """∂_t u + Σ_i A_i ∂_i u − ∇·(D∇u) = g with constant matrices and a symmetriser H: H A_i symmetric, H > 0.

    Entropy η = ½ u·Hu: the relative entropy is ½ e·He, nothing is left of flux and source, and 2μ = 0. The
    bound holds for all states and takes nothing for granted of the solution.

    Parameters
    ----------
    matrices : sequence of d arrays of shape (m, m)
        A_i, length/time.
    diffusion : float or array of shape (d, d)
        D = εA, in all components.
    symmetrizer : array of shape (m, m), optional
        H, by default the identity.

    Raises
    ------
    ValueError
        For matrices of different shapes, or an H that is not positive definite or does not symmetrise them.
    """

    linear = False
    flux_degree = 1

    def __init__(
        self, matrices: Sequence[object], diffusion: object = 0.0, symmetrizer: object = None
    ) -> None:
        given = [checked_array("matrices", matrix) for matrix in checked_list("matrices", matrices)]
        shapes = {matrix.shape for matrix in given}
        if len(shapes) != 1 or given[0].ndim != 2 or given[0].shape[0] != given[0].shape[1]:
            raise ValueError(f"matrices: expected square ones of one shape, got {sorted(shapes)}")
        count = len(given[0])
        super().__init__(len(given), count, diffusion)
        metric = np.eye(count) if symmetrizer is None else checked_array("symmetrizer", symmetrizer)
        if metric.shape != (count, count):
            raise ValueError(f"symmetrizer: expected shape {(count, count)}, got {metric.shape}")
        for name, matrix in (("symmetrizer", metric), *(("matrices", matrix) for matrix in given)):
            if np.abs(matrix).max() > _LARGEST:
                raise ValueError(f"{name}: expected entries up to {_LARGEST:g}, got {np.abs(matrix).max():g}")
        for matrix in (metric, *(metric @ matrix for matrix in given)):
            if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-13 * np.abs(matrix).max()):
                raise ValueError(f"symmetrizer: expected H and all HA_i symmetric, got {matrix.tolist()}")
        if np.linalg.eigvalsh(metric)[0] <= 0.0:
            raise ValueError(f"symmetrizer: expected a positive definite matrix, got {metric.tolist()}")
        self.matrices, self.symmetrizer = tuple(given), metric
        root = np.linalg.cholesky(metric).T  # RA_iR⁻¹ is symmetric
        self._symmetric = [root @ matrix @ np.linalg.inv(root) for matrix in given]
        self._speeds = [float(np.abs(np.linalg.eigvals(matrix)).max()) for matrix in given]
        self.carry(QuadraticEntropy(metric))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.components} components, dim={self.dim})"

    def flux(self, u: Array, x: Array, t: float, direction: int) -> Array:
        return np.asarray(np.tensordot(self.matrices[direction], u, 1))

    def jacobian_product(self, u: Array, v: Array, x: Array, t: float, direction: int) -> Array:
        return self.flux(v, x, t, direction)

    def wave_speed(self, u: Array, x: Array, t: float, direction: int) -> Array:
        return np.full(u.shape[1:], self._speeds[direction])

    def normal_wave_speed(self, u: Array, x: Array, t: float, normals: Array) -> Array:
        matrices = np.tensordot(np.moveaxis(normals, 0, -1), np.stack(self._symmetric), 1)
        return np.broadcast_to(np.abs(np.linalg.eigvals(matrices)).max(axis=-1), u.shape[1:])


class Acoustics(SymmetricSystem):
    """Sound waves ∂_t p + a∇·v = 0, ∂_t v + a∇p = 0, with diffusion everywhere; u = (p, v_1, …, v_d).

    The pressure is scaled such that the system is symmetric, and H = 1.

    Parameters
    ----------
    speed : float
        Speed of sound a, length/time.
    diffusion : float or array of shape (d, d)
        D = εA.
    dim : int
        Number of space dimensions.

    Raises
    ------
    ValueError
        For a speed that is not a finite number.
    """

    def __init__(self, speed: float = 1.0, diffusion: object = 0.0, dim: int = 1) -> None:
        self.speed, count = (
            checked_number("speed", speed, "a finite number", -_LARGEST, _LARGEST),
            checked_dimension(dim),
        )
        matrices = np.zeros((count, 1 + count, 1 + count))
        for i in range(count):
            matrices[i, 0, 1 + i] = matrices[i, 1 + i, 0] = self.speed
        super().__init__(list(matrices), diffusion)


class QuadraticEntropy(Entropy):
    """η = ½ u·Hu: everything is constant, and nothing but ½ e·He is left of it (T4)."""

    def __init__(self, metric: Array) -> None:
        self._metric = metric
        eigenvalues = np.linalg.eigvalsh(metric)
        self.lower = self.dissipation = self.curved_lower = float(eigenvalues[0]) * (1.0 - 1e-14)
        self.flux_weight = float(eigenvalues[-1]) * (1.0 + 1e-14)
        count = len(metric)
        self.curved = (False,) * count
        everywhere = np.full(count, np.inf)
        self.states = StateSet(-everywhere, everywhere)

    def value(self, u: Array) -> Array:
        return np.asarray(0.5 * (u * np.tensordot(self._metric, u, 1)).sum(axis=0))

    def gradient(self, u: Array) -> Array:
        return np.asarray(np.tensordot(self._metric, u, 1))

    def hessian(self, u: Array) -> Array:
        shape = (*self._metric.shape, *(1,) * (u.ndim - 1))
        return np.broadcast_to(self._metric.reshape(shape), (*self._metric.shape, *u.shape[1:]))

    def residual_weight(self, state: Interval) -> Array:
        return self.hessian(state.lower)

    def initial_weight(self, state: Interval) -> Array:
        return self.hessian(state.lower)

    def rate(self, cells: CellStates) -> Array:
        return np.zeros(cells.state.lower.shape[1:])
