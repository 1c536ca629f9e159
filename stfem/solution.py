"""The numerical solution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stfem.fluxes import ConvectiveFlux, InteriorPenalty
from stfem.problems import Problem
from stfem.reconstruction import Reconstruction, Siac
from stfem.semidiscretization import AnySemidiscretization, Semidiscretization, on_torus
from stfem.spaces.field import Field
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
        if isinstance(self.semidiscretization, Semidiscretization):
            return self.field(x)
        values = self.semidiscretization.evaluate(self.values, np.asarray(x, dtype=float))
        return values[0] if self.problem.equation.components == 1 else values

    @property
    def field(self) -> Field:
        """u_h(T) as a piecewise polynomial on its cells, on a torus."""
        semi = on_torus(self.semidiscretization, "field")
        return Field(semi.grid, semi.degree, self.values)

    def reconstruct(self, reconstruction: Reconstruction | None = None) -> Field:
        """û(T), the smooth function that the bounds of an estimate are about (T2).

        Parameters
        ----------
        reconstruction
            That of the estimator; `Siac()` by default, as for the default estimator.

        Returns
        -------
        Field
            To be called with points, like the solution.
        """
        semi = on_torus(self.semidiscretization, "reconstruct")
        bound = (reconstruction if reconstruction is not None else Siac()).bind(semi)
        return Field(bound.grid, bound.degree, bound.field(self.values))

    def plot(self, path: str | Path | None = None, *, reconstruction: Reconstruction | None = None) -> Any:
        """u_h(T) cell by cell, jumps shown, and with a reconstruction û(T) too: see `plot_solution`.

        Returns the figure and writes it where a path is given.
        """
        from stfem.plotting import plot_solution

        return plot_solution(self, path, reconstruction=reconstruction)

    def save(self, path: str | Path) -> Path:
        """Write the solution, how it was computed, and its history if that is stored.

        The file is an npz archive of plain arrays with a text that describes them; nothing in it is ever
        executed. It appears when it is complete, in place of an older one of that name.

        Parameters
        ----------
        path
            Name that ends in .npz, in an existing folder.

        Returns
        -------
        Path
            Where it was written.

        Raises
        ------
        ValueError, OSError
            For another ending, and where the file cannot be written.
        """
        from stfem.io import save_solution

        return save_solution(self, path)

    @staticmethod
    def load(
        path: str | Path,
        problem: Problem | None = None,
        *,
        flux: ConvectiveFlux | None = None,
        penalty: InteriorPenalty | None = None,
        stepper: Stepper | None = None,
    ) -> Solution:
        """Read a solution that `save` has written: the same numbers, bit for bit.

        `nodes`, and thereby an estimate, repeat the computation, which on the same machine gives the same
        numbers again.

        Parameters
        ----------
        path
            The file, whatever it is called now.
        problem
            Needed where initial values, sources, velocities or exact solutions are functions, or the equation
            is a user's own: a file holds none of these. It is compared with the samples that the file has.
        flux, penalty, stepper
            Needed, and compared, where they were a user's own.

        Raises
        ------
        ValueError
            Naming what is missing or differs from what the solution was computed with; for a file that is
            damaged, of another kind or of a newer format.
        OSError
            Where the file cannot be read.
        """
        from stfem.io import load_solution

        return load_solution(path, problem, flux=flux, penalty=penalty, stepper=stepper)

    def __repr__(self) -> str:
        semi = self.semidiscretization
        cells = semi.grid.cells if isinstance(semi, Semidiscretization) else semi.mesh.size
        return (
            f"Solution(cells={cells}, degree={self.semidiscretization.degree}, steps={self.steps}, "
            f"stepper={self.stepper!r}, time={self.time:g})"
        )
