"""Initial values by equation projection: the first rate of change is accurate, too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from stfem.data import as_data
from stfem.problems import Problem
from stfem.semidiscretization.unstructured.scheme import UnstructuredSemidiscretization
from stfem.spaces.broken import Array, Field

__all__ = ["EquationProjection"]

#: Newton steps, and the relative size of the last one.
_MOST_STEPS, _TOLERANCE = 20, 1e-11


class EquationProjection:
    """U_0 with U_0 − τF(0, U_0) = P_h( u_0 − τ ∂_tu(0) ), F = H + P and τ the final time.

    For scalar equations; by Newton's method where they are not linear. The L² projection has the smaller
    error, but its F(0, U_0) can be far from ∂_tu(0) where diffusion is large, and reconstructions in time use
    both. The initial value must meet the boundary conditions, or U_0 has layers at the boundary.

    Parameters
    ----------
    rate
        ∂_tu(0): number or callable of x. Default: g − ∇·f(u_0) − cu_0 + ∇·D∇u_0, where derivatives of the
        initial value are known exactly (`Polynomial`, `Trigonometric`).
    """

    def __init__(self, rate: Callable[..., object] | float | None = None) -> None:
        self.rate = rate

    def of(self, semidiscretization: UnstructuredSemidiscretization) -> Array:
        """U_0 of one scheme; takes a factorisation of its own.

        Raises
        ------
        TypeError, ValueError
            For systems, where ∂_tu(0) is needed and not given, and where Newton's method fails.
        """
        semi, problem = semidiscretization, semidiscretization.problem
        if problem.equation.components > 1:
            name = type(problem.equation).__name__
            raise TypeError(f"equation: expected a scalar one for EquationProjection, got {name}")
        field: Field
        if self.rate is None:
            field = _rate(problem)
        else:
            field = as_data(self.rate, problem.equation.dim, 1, "rate", with_time=False)[0]
        time, start = problem.final_time, semi.project(problem.initial)
        right = start - time * semi.space.project([field])
        if problem.equation.linear:
            zero = np.zeros(semi.shape)
            return semi.linearise(0.0, zero).solve(right + time * semi.rhs(0.0, zero), time)
        for _ in range(_MOST_STEPS):
            defect = right - start + time * semi.rhs(0.0, start)
            step = semi.linearise(0.0, start).solve(defect, time)
            start = start + step
            if semi.space.norm_l2(step) <= _TOLERANCE * semi.space.norm_l2(start):
                return start
        raise ValueError(
            f"EquationProjection: expected Newton's method to converge in {_MOST_STEPS} steps, got a last "
            f"step of size {semi.space.norm_l2(step):.1e}; use the L² projection"
        )

    def __repr__(self) -> str:
        return f"EquationProjection({'' if self.rate is None else repr(self.rate)})"


def _rate(problem: Problem) -> Field:
    """∂_tu(0) from the data of a scalar problem."""
    equation, start, source = problem.equation, problem.initial[0], problem.source[0]
    axes = range(equation.dim)
    try:
        slopes = [start.derivative(i) for i in axes]
        curvatures = [[slope.derivative(j) for j in axes] for slope in slopes]
        diffusion = equation.diffusion
    except TypeError:
        raise ValueError(
            "rate: expected ∂_tu(0) for EquationProjection beside an initial value whose derivatives are not "
            "known exactly, or a diffusion that jumps, got None"
        ) from None

    def rate(x: ArrayLike, t: float) -> Array:
        points, u = np.asarray(x, dtype=np.float64), start(x)[None]
        value = source(x, 0.0) - equation.reaction(x, 0.0) * u[0]
        for divergence in equation.velocity_divergence if equation.linear else ():
            value = value - divergence(x, 0.0) * u[0]
        for i in axes:
            value = value - equation.jacobian_product(u, slopes[i](x)[None], points, 0.0, i)[0]
            for j in axes:
                value = value + diffusion[i, j] * curvatures[i][j](x)
        return np.asarray(value)

    return rate
