"""The numerical solution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stfem.fluxes import ConvectiveFlux, InteriorPenalty
from stfem.meshes.arrays import mesh_arrays
from stfem.problems import Problem
from stfem.reconstruction import AnyRule, reconstructor
from stfem.semidiscretization import AnySemidiscretization, Semidiscretization
from stfem.spaces.field import Field
from stfem.spaces.mesh_field import MeshField
from stfem.spaces.stencil import Array
from stfem.timestepping import Node, Stepper, integrate, number_of_steps, repeat, times_of

#: Relative difference in L² of two runs of one computation that round-off on two machines may explain.
_ROUNDING = 1e-9


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
        Time stepping and upper limit of the step; steps end at the final time exactly, and are equal where
        ``sizes`` says nothing else.
    initial
        U_0 in kernel layout.
    values
        U(T) in kernel layout: ``(m, q+1, …, N…)`` on a torus, ``(m, modes, C)`` elsewhere.
    sizes
        The steps ``(steps,)`` that a `StepControl` has chosen, None for equal ones.
    """

    problem: Problem
    semidiscretization: AnySemidiscretization
    stepper: Stepper
    dt: float
    initial: Array
    values: Array
    stored: tuple[Node, ...] | None = field(default=None, repr=False)
    sizes: Array | None = None

    @property
    def time(self) -> float:
        """Final time T."""
        return self.problem.final_time

    @property
    def steps(self) -> int:
        """Number of time steps."""
        if self.sizes is not None:
            return len(self.sizes)
        return number_of_steps(self.problem.final_time, self.dt)

    @property
    def times(self) -> Array:
        """Times of all nodes, ``(steps + 1,)``."""
        return times_of(self.time, self.steps if self.sizes is None else self.sizes)

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
        """All time nodes: the stored ones, or computed again (bit for bit the same run).

        Raises
        ------
        ValueError
            In place of the last node, where a repeated run does not end at `values`: what is said of the run
            would not hold for them.
        """
        if self.stored is not None:
            return iter(self.stored)
        semi, stepper, final_time = self.semidiscretization, self.stepper, self.problem.final_time
        if self.sizes is not None:
            return self._ending_at_values(repeat(semi, stepper, self.initial, final_time, self.sizes))
        return self._ending_at_values(integrate(semi, stepper, self.initial, final_time, self.dt))

    def _ending_at_values(self, nodes: Iterator[Node]) -> Iterator[Node]:
        steps = self.steps
        for n, node in enumerate(nodes):
            if n == steps:
                difference, size = float(np.linalg.norm(node.values - self.values)), self._size(node.values)
                if not difference <= _ROUNDING * size:
                    raise ValueError(
                        "values: expected those at which the time stepping from the initial values ends, got "
                        f"others: the difference in L² is {difference / size if size else np.inf:.3g} "
                        "of their size"
                    )
            yield node

    def _size(self, values: Array) -> float:
        """What round-off in U(T) is relative to: a run may decay by any factor."""
        return float(max(np.linalg.norm(self.initial), np.linalg.norm(values)))

    @property
    def signature(self) -> float:
        """Σ_k cos(k) U_k(T): a number by which an estimate knows its solution again."""
        return float(np.cos(np.arange(self.values.size)) @ self.values.ravel())

    @property
    def facts(self) -> dict[str, Any]:
        """What an estimate keeps of its solution: the signature and, off the torus, the mesh."""
        semi = self.semidiscretization
        mesh = {} if isinstance(semi, Semidiscretization) else {"mesh": mesh_arrays(semi.mesh.source)}
        return {"signature": self.signature, **mesh}

    def has_signature(self, given: float) -> bool:
        """Whether a number is the signature of this solution, up to round-off."""
        tolerance = _ROUNDING * self._size(self.values) * self.values.size**0.5
        return bool(abs(given - self.signature) <= tolerance)

    def __call__(self, x: Array) -> Array:
        """u_h(x, T) at points x ``(d, …)``; scalar problems return ``x.shape[1:]``, systems ``(m, …)``.

        Points are taken modulo the torus; on a face the value is that of the cell to its right, on
        unstructured meshes that of the cell with the smallest number. Points outside of a mesh are a
        ValueError.
        """
        return self.field(x)

    @property
    def field(self) -> Field | MeshField:
        """u_h(T) as a piecewise polynomial on its cells."""
        semi = self.semidiscretization
        if isinstance(semi, Semidiscretization):
            return Field(semi.grid, semi.degree, self.values)
        return MeshField(semi.space, self.values)

    def reconstruct(self, reconstruction: AnyRule | None = None) -> Field | MeshField:
        """û(T), the continuous function that the bounds of an estimate are about (T2, T5).

        Layers that an estimator adds at ``lifted`` boundaries are not in it.

        Parameters
        ----------
        reconstruction
            That of the estimator; by default that of the default estimator, `Siac()` on a torus,
            `VertexPatches()` on meshes.

        Returns
        -------
        Field or MeshField
            To be called with points, like the solution.

        Raises
        ------
        TypeError, UnsupportedDomainError
            For what is no reconstruction, and for one that belongs to other domains.
        """
        return reconstructor(self.semidiscretization, reconstruction)(self.time, self.values)

    def plot(
        self,
        path: str | Path | None = None,
        points: int | None = None,
        *,
        reconstruction: AnyRule | None = None,
        slices: Sequence[tuple[int, float]] | None = None,
    ) -> Any:
        """u_h(T) cell by cell, jumps shown, and with a reconstruction û(T) too: all is as in `plot_solution`.

        Returns the figure and writes it where a path is given.
        """
        from stfem.plotting import plot_solution

        return plot_solution(self, path, points, reconstruction=reconstruction, slices=slices)

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
        numbers again, and elsewhere the same up to round-off; where it does not, they raise.

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
            damaged, of another kind or of a newer format, or holds values that are not finite.
        OSError
            Where the file cannot be read.
        """
        from stfem.io import load_solution

        return load_solution(path, problem, flux=flux, penalty=penalty, stepper=stepper)

    def __repr__(self) -> str:
        semi = self.semidiscretization
        cells = semi.grid.cells if isinstance(semi, Semidiscretization) else semi.mesh.size
        return (
            f"{type(self).__name__}(cells={cells}, degree={self.semidiscretization.degree}, "
            f"steps={self.steps}, stepper={self.stepper!r}, time={self.time:g})"
        )
