"""∇·f(û) of a quadratic flux and its rate of change, in modes, with a bound of the modes left out (T4.6)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from stfem.equations import Equation
from stfem.meshes.grid import TensorGrid
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import Array, apply_everywhere, apply_matrix
from stfem.spaces.tensor import mode_heights

#: State at which f' of degree 1 is its slope; a power of two.
_FAR = 2.0**200


class QuadraticConvection:
    """∇·f(û) = Σ_i f_i'(û) ∂_iû of a scalar equation whose f_i have degree at most 2.

    With û = Σ_k û_k, k the largest degree of a mode in any direction, û_a ∂_iû_b has degree at most a + b.
    On n Gauss points per direction everything of degree below n is exact; for what is left, Q, the sum over
    a + b ≥ n,

        ‖N − I_nN‖ = ‖Q − I_nQ‖ ≤ 2 ( Σ_K |K| sup_K|Q|² )^{1/2},

    I_n the interpolation at the points, because ‖I_nQ‖ is the discrete norm of Q.

    Parameters
    ----------
    equation
        f.
    grid, degree
        Grid and degree Q of û.
    """

    def __init__(self, equation: Equation, grid: TensorGrid, degree: int) -> None:
        self._equation, self._grid, self._degree, self._dim = equation, grid, degree, grid.dim
        self._second = tuple(_second_derivative(equation, i) for i in range(grid.dim))
        #: |f_i''|.
        self.curvature = tuple(abs(second) for second in self._second)
        shape = (degree + 1,) * grid.dim
        indices = np.indices(shape).reshape(grid.dim, -1)
        heights = mode_heights(shape).ravel()
        groups = np.arange(degree + 1)[:, None] == indices.max(axis=0)
        #: sup|û_k| ≤ Σ heights |mode|, and Σ_i |f_i''| sup|∂_iû_k| likewise.
        self._heights = groups * heights
        steepness = sum(
            c * k * (k + 1.0) / h for c, k, h in zip(self.curvature, indices, grid.spacing, strict=True)
        )
        self._slopes = self._heights * steepness

    @property
    def most_points(self) -> int:
        """Points per direction that leave nothing out."""
        return 2 * self._degree + 1

    def left_out_sq(self, pair: Array) -> Array:
        """Σ_K 4 |K| sup_K|Q|² for value and rate, row n: with n points, up to `most_points`.

        No bound (infinite) for fewer points than modes in a direction.

        Parameters
        ----------
        pair
            Modes ``(2, 1, p…, N…)`` of û and ∂_tû, on all cells or some.
        """
        size = np.abs(pair).reshape(2, self._heights.shape[1], -1)
        sups, slopes = self._heights @ size, self._slopes @ size
        tails = np.cumsum(slopes[:, ::-1], axis=1)[:, ::-1]
        sums = np.full((self.most_points + 1, 2), np.inf)
        sums[-1] = 0.0
        for n in range(self._degree + 1, self.most_points):
            least = n - self._degree
            (u, v), (du, dv) = sups[:, least:], tails[:, : least - 1 : -1]  # a + b ≥ n
            value = np.einsum("ac,ac->c", u, du)
            rate = np.einsum("ac,ac->c", v, du) + np.einsum("ac,ac->c", u, dv)
            sums[n] = value @ value, rate @ rate
        return 4.0 * self._grid.cell_measure * sums

    def modes(self, pair: Array, points: int) -> tuple[Array, Array, Array]:
        """Modes ``(2, 1, n…, N…)`` of I_nN and of its rate; what tells the sizes of their terms.

        With v = ∂_tû the rate is Σ f_i'' v ∂_iû + f_i'(û) ∂_iv.

        Returns
        -------
        the modes; Σ_i ‖∂_iû‖² coefficientwise and the same of v; largest |f_i'(û)| and |f_i'' v|
        """
        value, slope, test = _tables(self._degree, points)
        equation, dim = self._equation, self._dim
        state, rate = np.moveaxis(apply_everywhere(value, pair, dim), 1, 0)[0]
        state, rate = state[None], rate[None]
        total = np.zeros((2, *state.shape))
        squares, speeds = np.zeros((2, 2))
        x = np.zeros((dim, *(1,) * (state.ndim - 1)))
        ends = np.array([[state.min(), state.max()]])  # f' is linear
        for i, h in enumerate(self._grid.spacing):
            slopes = pair
            for k in reversed(range(dim)):
                slopes = apply_matrix(slope / h if k == i else value, slopes, k, dim)
            total[0] += equation.jacobian_product(state, slopes[0], x, 0.0, i)
            total[1] += equation.jacobian_product(state, slopes[1], x, 0.0, i)
            total[1] += self._second[i] * rate * slopes[0]
            squares += [np.vdot(s, s) for s in slopes]
            speeds[0] = max(speeds[0], equation.wave_speed(ends, np.zeros((dim, 1)), 0.0, i).max())
        speeds[1] = max(self.curvature) * np.abs(rate).max()
        return apply_everywhere(test, total, dim), squares / points**dim, speeds


@lru_cache(maxsize=32)
def _tables(degree: int, points: int) -> tuple[Array, Array, Array]:
    """Values and slopes of modes at Gauss points, and from values at the points to modes."""
    abscissae, weights = gauss(points)
    value = legendre_values(degree, abscissae)
    test = (legendre_values(points - 1, abscissae) * weights[:, None]).T
    return value, value @ derivative_matrix(degree), np.ascontiguousarray(test)


def _second_derivative(equation: Equation, direction: int) -> float:
    """f_i'' of a scalar equation with f_i of degree at most 2: slope of f_i', however large f_i'(0) is."""
    one, x = np.ones((1, 1)), np.zeros((equation.dim, 1))
    far, near = (equation.jacobian_product(u, one, x, 0.0, direction) for u in (_FAR * one, 0.0 * one))
    return float((far - near)[0, 0]) / _FAR
