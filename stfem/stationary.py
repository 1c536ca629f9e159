"""solve_stationary: problems without time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from stfem.checks import checked_array
from stfem.determinism import deterministic
from stfem.estimators import Estimate, MeshEstimator, stationary_estimate
from stfem.estimators.estimate import attributes
from stfem.fluxes import ConvectiveFlux, InteriorPenalty, flux_rusanov
from stfem.meshes.arrays import mesh_arrays
from stfem.problems import Problem, StationaryProblem
from stfem.reconstruction import AnyRule, reconstructor
from stfem.semidiscretization import (
    Factorisation,
    LinearSolver,
    UnstructuredSemidiscretization,
    checked_solver,
    steady_state,
)
from stfem.spaces.mesh_field import MeshField
from stfem.spaces.stencil import Array

__all__ = ["StationaryCertificate", "StationarySolution", "solve_stationary"]

#: Relative difference in L² of two solutions that round-off on two machines may explain.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class StationarySolution:
    """A discontinuous Galerkin solution of a stationary problem.

    Attributes
    ----------
    problem
        The problem.
    semidiscretization
        Mesh, space and fluxes, of the problem in time that comes to rest at the solution.
    values
        U ``(m, modes, C)``.
    residual
        ‖H(U) + P(U)‖ in L², what the linear or nonlinear solver left.
    iterations
        Linear systems that were solved.
    """

    problem: StationaryProblem
    semidiscretization: UnstructuredSemidiscretization
    values: Array
    residual: float
    iterations: int

    @property
    def coefficients(self) -> Array:
        """Orthonormal coefficients, axes (component, cell, mode): a view."""
        return self.values.transpose(0, 2, 1)

    @property
    def signature(self) -> float:
        """Σ_k cos(k) U_k: a number by which an estimate knows its solution again."""
        return float(np.cos(np.arange(self.values.size)) @ self.values.ravel())

    @property
    def time(self) -> float:
        """0: nothing depends on it, but for files and pictures it takes the place of that of a `Solution`."""
        return 0.0

    def has_signature(self, given: float) -> bool:
        """Whether a number is the signature of this solution, up to round-off."""
        tolerance = _ROUNDING * float(np.linalg.norm(self.values)) * self.values.size**0.5
        return bool(abs(given - self.signature) <= tolerance)

    @property
    def facts(self) -> dict[str, Any]:
        """What an estimate keeps of its solution: the signature and the mesh."""
        mesh = mesh_arrays(self.semidiscretization.mesh.source)
        return {"signature": self.signature, "mesh": mesh}

    def __call__(self, x: Array) -> Array:
        """u_h(x) at points x ``(d, …)``; scalar problems return ``x.shape[1:]``, systems ``(m, …)``.

        On a facet the value is that of one of its cells; points outside of the mesh are a ValueError.
        """
        return self.field(x)

    @property
    def field(self) -> MeshField:
        """u_h as a piecewise polynomial on its cells."""
        return MeshField(self.semidiscretization.space, self.values)

    def reconstruct(self, reconstruction: AnyRule | None = None) -> MeshField:
        """û, the continuous function that the bounds of an estimate are about (T5).

        Layers that an estimator adds at ``lifted`` boundaries are not in it.

        Parameters
        ----------
        reconstruction
            That of the estimator, `VertexPatches()` by default; a search for a tolerance has its own, see
            `stfem.adaptivity.sharp_estimator`.

        Raises
        ------
        TypeError, UnsupportedDomainError
            For what is no reconstruction, and for one that belongs to the torus.
        """
        made = reconstructor(self.semidiscretization, reconstruction, resting=True)
        return cast(MeshField, made(self.time, self.values))

    def plot(
        self,
        path: str | Path | None = None,
        points: int | None = None,
        *,
        reconstruction: AnyRule | None = None,
        slices: Sequence[tuple[int, float]] | None = None,
    ) -> Any:
        """u_h cell by cell, jumps shown, and with a reconstruction û too: all is as in `plot_solution`.

        Returns the figure and writes it where a path is given.
        """
        from stfem.plotting import plot_solution

        return plot_solution(self, path, points, reconstruction=reconstruction, slices=slices)

    def save(self, path: str | Path) -> Path:
        """Write the solution and how it was computed, for `load`; its name ends in .npz.

        All is as for `Solution.save`.
        """
        from stfem.io import save_stationary

        return save_stationary(self, path)

    @staticmethod
    def load(
        path: str | Path,
        problem: StationaryProblem | None = None,
        *,
        flux: ConvectiveFlux | None = None,
        penalty: InteriorPenalty | None = None,
    ) -> StationarySolution:
        """Read a solution that `save` has written: the same numbers, bit for bit.

        Parameters
        ----------
        path, problem, flux, penalty
            As for `Solution.load`: a problem that is made of functions is needed again. Its mesh is that of
            the file, such as the last one of a search.

        Raises
        ------
        ValueError, OSError
            As `Solution.load`.
        """
        from stfem.io import load_stationary

        return load_stationary(path, problem, flux=flux, penalty=penalty)

    def estimate(self, estimator: object = None) -> Estimate:
        """Bounds of the error, see `stfem.estimate`."""
        chosen = MeshEstimator() if estimator is None else estimator
        if not isinstance(chosen, MeshEstimator):
            raise TypeError(
                f"estimator: expected a MeshEstimator for a stationary problem, got {type(chosen).__name__}"
            )
        result = stationary_estimate(
            chosen, self.problem, self.semidiscretization, self.values, self.residual
        )
        return replace(result, facts={**result.facts, **self.facts})

    def __repr__(self) -> str:
        semi = self.semidiscretization
        return (
            f"StationarySolution(cells={semi.mesh.size}, degree={semi.degree}, residual={self.residual:.1e})"
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StationaryCertificate(Estimate):
    """An estimate together with the stationary solution it is about.

    Attributes
    ----------
    solution
        The numerical solution; all other attributes are those of `Estimate`.
    """

    solution: StationarySolution

    @property
    def estimate(self) -> Estimate:
        """The estimate alone."""
        return Estimate(**attributes(self, Estimate))


@deterministic
def solve_stationary(
    problem: StationaryProblem,
    *,
    cells: int | tuple[int, ...] | None = None,
    degree: int,
    flux: ConvectiveFlux = flux_rusanov,
    penalty: InteriorPenalty | None = None,
    solver: LinearSolver | None = None,
    start: Array | None = None,
) -> StationarySolution:
    """Solve ∇·f(u) + cu − ∇·(D∇u) = g with the discontinuous Galerkin method.

    Linear equations take one sparse solve, others Newton's method with pseudo-time steps.

    Parameters
    ----------
    problem
        What to solve.
    cells
        Cells per direction of a `Box`; none for a `Domain`, which has its mesh.
    degree
        Polynomial degree q, 0 to 4.
    flux, penalty
        Numerical fluxes.
    solver
        For linear systems, such as `Gmres()`; direct factors by default.
    start
        Coefficients ``(m, modes, C)`` at which Newton's method starts, zero by default; such as those of
        another solution on the same mesh.

    Returns
    -------
    StationarySolution
        For `estimate`.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range, and where nothing reacts and no values are given on the boundary, for
        data that do not balance, with the defect.
    SolveError
        For a system that is singular, or a solver that does not converge, with the residual.
    """
    given: object = problem
    if not isinstance(given, StationaryProblem):
        hint = "; solve(…) takes problems in time" if isinstance(given, Problem) else ""
        raise TypeError(f"problem: expected a StationaryProblem, got a {type(given).__name__}{hint}")
    if isinstance(degree, (float, np.floating)) and float(degree).is_integer():
        degree = int(degree)
    resting = problem.in_time(memory_time(problem))
    semi = UnstructuredSemidiscretization(resting, cells, degree, flux, penalty)
    if start is not None:
        start = checked_array("start", start)
        if start.shape != semi.shape:
            raise ValueError(f"start: expected coefficients of shape {semi.shape}, got {start.shape}")
    found = steady_state(
        semi, Factorisation if solver is None else checked_solver(solver), start, problem.mean
    )
    return StationarySolution(problem, semi, *found)


def memory_time(problem: StationaryProblem) -> float:
    """T such that κ = (5/T)² of T5.1 is c², c the rate at which an evolution forgets, with some diffusion.

    The rate is c + ½∇·b + π²D/L² or, where more, |b|/L, on average over a few points, L the size of the
    domain. It is a weight in reconstructions, all of which are valid.
    """
    equation, domain = problem.equation, problem.domain
    x = domain.sample(np.random.default_rng(9), 64)
    length = domain.measure ** (1.0 / domain.dim)
    rate = float(np.mean(equation.reaction(x, 0.0)))
    carried = 0.0
    if equation.linear:
        rate += sum(0.5 * float(np.mean(d(x, 0.0))) for d in equation.velocity_divergence)
        carried = math.sqrt(float(np.mean(sum(b(x, 0.0) ** 2 for b in equation.velocity)))) / length
    if equation.subdomain_diffusion is None:
        rate += float(np.trace(equation.diffusion)) * (math.pi / length) ** 2 / domain.dim
    rate = max(rate, carried)
    return 5.0 / rate if rate > 0.0 else 5.0
