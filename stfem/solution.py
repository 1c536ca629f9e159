"""The numerical solution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stfem.problems import Problem
from stfem.semidiscretization import AnySemidiscretization, Semidiscretization
from stfem.spaces.legendre import legendre_values
from stfem.spaces.stencil import Array
from stfem.timestepping import Node, Stepper, integrate, number_of_steps


@dataclass(frozen=True, eq=False)
class Solution:
    """A discontinuous Galerkin solution at the final time, and the recipe that reproduces its whole history.

    Attributes
    ----------
    problem
        The problem.
    semidiscretization
        Grid, space and fluxes.
    stepper, dt
        Time stepping and upper limit of the step; steps are equal and end at the final time exactly.
    initial
        U_0 in kernel layout.
    values
        U(T) in kernel layout: ``(m, q+1, …, N…)`` on a torus, ``(m, modes, C)`` elsewhere.
    """

    problem: Problem
    semidiscretization: AnySemidiscretization
    stepper: Stepper
    dt: float
    initial: Array
    values: Array
    stored: tuple[Node, ...] | None = field(default=None, repr=False)

    @property
    def time(self) -> float:
        """Final time T."""
        return self.problem.final_time

    @property
    def steps(self) -> int:
        """Number of time steps."""
        return number_of_steps(self.problem.final_time, self.dt)

    @property
    def coefficients(self) -> Array:
        """Orthonormal coefficients at T (Legendre on a torus), axes (component, cell…, mode): a view."""
        if not isinstance(self.semidiscretization, Semidiscretization):
            return self.values.transpose(0, 2, 1)
        dim = self.semidiscretization.grid.dim
        cells = self.values.shape[1 + dim :]
        order = (0, *range(1 + dim, 1 + 2 * dim), *range(1, 1 + dim))
        return self.values.transpose(order).reshape(self.values.shape[0], *cells, -1)

    def nodes(self) -> Iterator[Node]:
        """All time nodes: the stored ones, or computed again (bit for bit the same run)."""
        if self.stored is not None:
            return iter(self.stored)
        return integrate(
            self.semidiscretization, self.stepper, self.initial, self.problem.final_time, self.dt
        )

    def __call__(self, x: Array) -> Array:
        """u_h(x, T) at points x ``(d, …)``; scalar problems return ``x.shape[1:]``, systems ``(m, …)``.

        Points are taken modulo the torus; on a face the value is that of the cell to its right, on
        unstructured meshes that of one of its cells. Points outside of a mesh are a ValueError.
        """
        points, semi = np.asarray(x, dtype=float), self.semidiscretization
        if isinstance(semi, Semidiscretization):
            values = evaluate(self.values, semi, points)
        else:
            values = semi.evaluate(self.values, points)
        return values[0] if self.problem.equation.components == 1 else values

    def plot(self, path: str | Path | None = None) -> Any:
        """u_h(T) cell by cell, jumps shown (1D and 2D).

        Returns the figure and writes it where a path is given.
        """
        from stfem.plotting import plot_solution

        return plot_solution(self, path)

    def __repr__(self) -> str:
        semi = self.semidiscretization
        cells = semi.grid.cells if isinstance(semi, Semidiscretization) else semi.mesh.size
        return (
            f"Solution(cells={cells}, degree={self.semidiscretization.degree}, steps={self.steps}, "
            f"stepper={self.stepper!r}, time={self.time:g})"
        )


def evaluate(values: Array, semidiscretization: Semidiscretization, x: Array) -> Array:
    """u_h at arbitrary points ``(d, …)``: array ``(m, …)``."""
    grid = semidiscretization.grid
    if x.ndim == 0 or x.shape[0] != grid.dim:
        raise ValueError(f"x: expected shape ({grid.dim}, ...), got {x.shape}")
    points = x.reshape(grid.dim, -1)
    index, basis = [], []
    for i, (h, count) in enumerate(zip(grid.spacing, grid.cells, strict=True)):
        scaled = points[i] / h
        cell = np.floor(scaled)
        index.append(cell.astype(int) % count)
        basis.append(legendre_values(semidiscretization.degree, scaled - cell))
    local = values[(slice(None),) * (1 + grid.dim) + tuple(index)]  # (m, modes…, points)
    for table in basis:
        local = np.einsum("mk...p,pk->m...p", local, table)
    return np.asarray(local.reshape(values.shape[0], *x.shape[1:]))
