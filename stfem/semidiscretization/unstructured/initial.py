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


class EquationProjection:
    """U_0 with U_0 − τF(0, U_0) = P_h( u_0 − τ ∂_tu(0) ), F = H + P and τ the final time.

    For linear equations. The L² projection has the smaller error, but its F(0, U_0) can be far from ∂_tu(0)
    where diffusion is large, and reconstructions in time use both. The initial value must meet the boundary
    conditions, or U_0 has layers at the boundary.

    Parameters
    ----------
    rate
        ∂_tu(0): number or callable of x. Default: g − ∇·(bu_0) − cu_0 + ∇·D∇u_0, where derivatives of the
        initial value are known exactly (`Polynomial`, `Trigonometric`).
    """

    def __init__(self, rate: Callable[..., object] | float | None = None) -> None:
        self.rate = rate

    def of(self, semidiscretization: UnstructuredSemidiscretization) -> Array:
        """U_0 of one scheme; takes a factorisation of its own.

        Raises
        ------
        TypeError, ValueError
            For an equation that is not linear, or where ∂_tu(0) is needed and not given.
        """
        semi, problem = semidiscretization, semidiscretization.problem
        if not problem.equation.linear:
            name = type(problem.equation).__name__
            raise TypeError(f"equation: expected a linear one for EquationProjection, got {name}")
        field: Field
        if self.rate is None:
            field = _rate(problem)
        else:
            field = as_data(self.rate, problem.equation.dim, 1, "rate", with_time=False)[0]
        zero, time = np.zeros(semi.shape), problem.final_time
        constant = semi.rhs_hyperbolic(0.0, zero)
        if semi.has_diffusion:
            constant += semi.rhs_parabolic(0.0, zero)
        right = semi.project(problem.initial) + time * (constant - semi.space.project([field]))
        return semi.linearise(0.0, zero).solve(right, time)

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
        value = source(x, 0.0) - equation.reaction(x, 0.0) * start(x)
        for divergence in equation.velocity_divergence:
            value = value - divergence(x, 0.0) * start(x)
        for i in axes:
            value = value - equation.velocity[i](x, 0.0) * slopes[i](x)
            for j in axes:
                value = value + diffusion[i, j] * curvatures[i][j](x)
        return value

    return rate
