"""Discontinuous Galerkin semidiscretization dU/dt = H(t, U) + P(t, U) on a periodic tensor grid (T1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stfem.data import Data
from stfem.fluxes import ConvectiveFlux, InteriorPenalty, flux_rusanov
from stfem.meshes.grid import TensorGrid
from stfem.problems import Problem
from stfem.semidiscretization.arguments import check_scheme, checked_degree
from stfem.semidiscretization.convection import StencilConvection, linear_traces
from stfem.semidiscretization.diffusion import Diffusion
from stfem.semidiscretization.memory import require_memory
from stfem.semidiscretization.quadrature import QuadratureConvection
from stfem.semidiscretization.source import source
from stfem.spaces.interval import transport
from stfem.spaces.legendre import gauss, legendre_values
from stfem.spaces.stencil import Array, apply_everywhere
from stfem.spaces.tensor import point_coordinates, values_at

#: Largest degree that is tested; with it the bound reaches round-off on grids of 16 cells already.
MAX_DEGREE = 5
#: Relative change of the state in differences along its rate.
_RATE_STEP = 1e-3
#: Shortest time in which the state is taken to change, as part of the run.
_LEAST_TIME = 1e-6


class Semidiscretization:
    """DG space Q_q, numerical fluxes and the two right-hand sides H (hyperbolic) and P (parabolic) of T1.2.

    Coefficients are orthonormal Legendre modes in kernel layout ``(m, q+1, …, q+1, N_1, …, N_d)``: the mass
    matrix is |K|.

    Work arrays are kept from call to call, so that one object must not be used in two threads at once. A
    given ``out`` is contiguous and not the argument itself.

    Parameters
    ----------
    problem
        Problem on a `Torus`.
    cells
        Number of cells, one for all directions or one per direction.
    degree
        Polynomial degree q per direction, 0 to 5.
    flux
        Convective numerical flux ``flux(equation, u_minus, u_plus, x, t, direction)``; Rusanov by default.
    penalty
        Interior penalty rule.

    Raises
    ------
    ValueError, TypeError
        For a degree or cell numbers out of range, and for more unknowns than the machine has memory for.
    """

    takes_out = True  # the right-hand sides write to given arrays

    def __init__(
        self,
        problem: Problem,
        cells: int | tuple[int, ...] | None,
        degree: int,
        flux: ConvectiveFlux = flux_rusanov,
        penalty: InteriorPenalty | None = None,
    ) -> None:
        chosen = check_scheme(problem, flux, penalty)
        equation = problem.equation
        self.problem, self.degree, self.flux = problem, checked_degree(degree, MAX_DEGREE), flux
        grid = problem.domain.mesh(cells)
        if not isinstance(grid, TensorGrid):
            raise TypeError(f"domain: expected a Torus, got {problem.domain!r}")
        self.grid = grid
        require_memory(self.grid, equation.components, self.degree)
        self.penalty = chosen
        self.diffusion = Diffusion(self.grid, self.degree, equation.diffusion, self.penalty)
        self.has_diffusion = bool(self.diffusion.terms) and any(equation.diffused)
        traces = linear_traces(equation, flux)
        self._traces = traces
        self._convection = (
            QuadratureConvection(self.grid, self.degree, equation, flux)
            if traces is None
            else StencilConvection(self.grid, self.degree, traces)
        )
        self._source = [
            (c, source(g, self.grid, self.degree)) for c, g in enumerate(problem.source) if not g.is_zero
        ]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a coefficient array."""
        return (self.problem.equation.components, *(self.degree + 1,) * self.grid.dim, *self.grid.cells)

    @property
    def dofs(self) -> int:
        """Number of unknowns."""
        return int(np.prod(self.shape))

    def project(self, fields: Sequence[Data], t: float = 0.0) -> Array:
        """L² projection of one `Data` per component at a fixed time."""
        return np.stack([field.project(self.grid, self.degree, t).coefficients for field in fields])

    def rhs_hyperbolic(self, t: float, u: Array, out: Array | None = None) -> Array:
        """H(t, U) = −(DG form of ∇·f(u)) + projections of g − cu, in ``out`` if given."""
        rate = self._convection.apply(t, u, out)
        self._add_sources(t, u, rate)
        return rate

    def rhs_parabolic(self, t: float, u: Array, out: Array | None = None) -> Array:
        """P(t, U) = ε L_h U, interior penalty, on the components that diffuse, in ``out`` if given."""
        rate = np.empty(u.shape) if out is None else out
        for component, weight in enumerate(self.problem.equation.diffused):
            if weight:
                self.diffusion.apply(u[component], rate[component])
            else:
                rate[component] = 0.0
        return rate

    def rhs(self, t: float, u: Array, out: Array | None = None) -> Array:
        """H(t, U) + P(t, U), in ``out`` if given."""
        rate = self._without_sources(t, u, out)
        self._add_sources(t, u, rate)
        return rate

    def _without_sources(self, t: float, u: Array, out: Array | None = None) -> Array:
        """Convection and diffusion."""
        if self._both is not None:
            rate = self._both.apply(t, u, out)
        else:
            rate = self._convection.apply(t, u, out)
            for component, weight in enumerate(self.problem.equation.diffused):
                if weight and self.has_diffusion:
                    self.diffusion.apply(u[component], rate[component], add=True)
        return rate

    @cached_property
    def _both(self) -> StencilConvection | QuadratureConvection | None:
        """Convection and diffusion in one pass, where that pays."""
        if not (self.has_diffusion and self.diffusion.diagonal and all(self.problem.equation.diffused)):
            return None
        return self._convection.with_diffusion(self.diffusion)

    def _add_sources(self, t: float, u: Array, rate: Array) -> None:
        for component, datum in self._source:
            datum.add(t, rate[component])
        reaction = self.problem.equation.reaction
        if not reaction.is_zero:
            rate -= self._reaction(reaction, t, u)

    def rhs_rate(self, t: float, u: Array, rate: Array) -> Array:
        """d/dt of H(t, U) + P(t, U) along a solution with dU/dt = ``rate``, for coefficients free of t.

        A central difference of convection and diffusion along the rate, exact for fluxes of degree at most 2
        (numerical fluxes aside), less c times the rate, plus the projection of ∂_tg.

        Raises
        ------
        TypeError
            For a source without a known time derivative.
        """
        size = float(np.linalg.norm(rate))
        if size == 0.0:
            result = np.zeros_like(u)
        else:
            # a run that starts from nothing has no time scale but its own length
            least = _LEAST_TIME * self.problem.final_time
            step = _RATE_STEP * max(float(np.linalg.norm(u)) / size, least)
            result, behind, moved = (np.empty(u.shape) for _ in range(3))
            for s, target in ((step, result), (-step, behind)):
                np.multiply(rate, s, out=moved)
                moved += u
                self._without_sources(t, moved, target)
            result -= behind
            result /= 2.0 * step
            reaction = self.problem.equation.reaction
            if not reaction.is_zero:
                result -= self._reaction(reaction, t, rate)
        for component, datum in enumerate(self.problem.source):
            if datum.time_dependent:
                slope = datum.time_derivative()
                result[component] += slope.project(self.grid, self.degree, t).coefficients
        return result

    def solve_parabolic(self, rhs: Array, shift: float, out: Array | None = None) -> Array:
        """Solve (I − shift·P) x = rhs, by Fourier blocks; x in ``out`` if given."""
        x = np.empty(rhs.shape) if out is None else out
        for component, weight in enumerate(self.problem.equation.diffused):
            if weight:
                self.diffusion.solve(rhs[component], shift, x[component])
            else:
                x[component] = rhs[component]
        return x

    def _reaction(self, reaction: Data, t: float, u: Array) -> Array:
        if reaction.constant:
            return u * float(reaction(np.zeros((self.grid.dim, 1)), t)[0])
        points = gauss(self.degree + 2)[0]
        values = values_at(u, self.degree, points, self.grid.dim) * reaction(self._points(self.degree + 2), t)
        return self.project_values(values, self.degree + 2)

    def project_values(self, values: Array, points: int) -> Array:
        """Modes of a field given at ``points`` Gauss points per direction."""
        abscissae, weights = gauss(points)
        return apply_everywhere(
            (legendre_values(self.degree, abscissae) * weights[:, None]).T, values, self.grid.dim
        )

    def _points(self, points: int) -> Array:
        return point_coordinates(self.grid, [gauss(points)[0]] * self.grid.dim)

    @cached_property
    def transport_spectrum(self) -> NDArray[np.complex128]:
        """Eigenvalues of the DG upwind operator for unit velocity on unit cells (sampled Fourier symbol)."""
        return np.asarray(np.linalg.eigvals(transport(self.degree, 1.0, 0.0).symbol(64)).ravel())

    @property
    def reaction_rate(self) -> float:
        """Bound of |c|, in 1/time."""
        return self.problem.equation.reaction.sup(0.0, self.problem.final_time, self.grid.lengths)

    def samples(self, u: Array) -> tuple[Array, Array]:
        """States ``(m, P, C)`` at P points of every cell, vertices included, and the points ``(d, P, C)``."""
        points, dim = np.append(np.insert(gauss(self.degree + 2)[0], 0, 0.0), 1.0), self.grid.dim
        values = values_at(u, self.degree, points, dim)
        shape = (len(points) ** dim, int(np.prod(self.grid.cells)))
        x = point_coordinates(self.grid, [points] * dim)
        return values.reshape(len(values), *shape), x.reshape(dim, *shape)

    def convective_rate(self, u: Array) -> float:
        """Largest Σ_i λ_i / h_i over all points, in 1/time.

        How fast waves cross cells at the state u (all times sampled).
        """
        points = self.degree + 2
        values = values_at(u, self.degree, gauss(points)[0], self.grid.dim)
        x = self._points(points)
        times = (0.0,) if self._traces is not None else np.linspace(0.0, self.problem.final_time, 9)
        speed = self.problem.equation.wave_speed
        return max(
            float(np.max(sum(speed(values, x, t, i) / h for i, h in enumerate(self.grid.spacing))))
            for t in times
        )
