"""Discontinuous Galerkin semidiscretization dU/dt = H(t, U) + P(t, U) on unstructured meshes (T1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stfem.data import Data
from stfem.fluxes import ConvectiveFlux, InteriorPenalty, flux_rusanov
from stfem.meshes.grid import TensorGrid
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.problems import Box, Domain, Problem
from stfem.semidiscretization.arguments import check_scheme, checked_degree
from stfem.semidiscretization.memory import require_memory
from stfem.semidiscretization.unstructured.boundary import FixedInTime
from stfem.semidiscretization.unstructured.convection import LinearConvection, convection
from stfem.semidiscretization.unstructured.diffusion import Diffusion
from stfem.semidiscretization.unstructured.fluxes import SchemeFluxes
from stfem.semidiscretization.unstructured.jacobian import jacobian
from stfem.semidiscretization.unstructured.solver import Linearisation
from stfem.semidiscretization.unstructured.spectrum import transport_spectrum
from stfem.spaces.broken import Array, BrokenSpace
from stfem.spaces.cells import CellRule

__all__ = ["UnstructuredSemidiscretization"]

#: Largest degree that is tested.
MAX_DEGREE = 4
#: Polynomial degree, beyond twice that of the space, up to which sources are integrated exactly.
_EXTRA_ORDER = 3
_TIMES = 9


class UnstructuredSemidiscretization:
    """DG space P_q (simplices) or mapped Q_q (quadrilaterals, hexahedra), and both right-hand sides of T1.2.

    Coefficients ``(m, modes, C)`` belong to bases that are orthonormal in the mean: the mass matrix is |K|.
    P(t, U) = LU + ℓ(t) holds the boundary data of diffusion.

    Parameters
    ----------
    problem
        Problem on a `Box` or `Domain`.
    cells
        Number of cells of a `Box`, None for a `Domain`.
    degree
        Polynomial degree q, 0 to 4.
    flux
        Convective numerical flux ``flux(equation, u_minus, u_plus, x, t, direction)``; the equation it meets
        is the one along the normal, as direction 0.
    penalty
        Interior penalty rule.

    Raises
    ------
    ValueError, TypeError
        For cells that do not fit, and for degree 0 with diffusion where the two-point flux is not consistent.
    """

    def __init__(
        self,
        problem: Problem,
        cells: int | tuple[int, ...] | None,
        degree: int,
        flux: ConvectiveFlux = flux_rusanov,
        penalty: InteriorPenalty | None = None,
    ) -> None:
        chosen = check_scheme(problem, flux, penalty)
        domain, equation = problem.domain, problem.equation
        if not isinstance(domain, (Box, Domain)):
            raise TypeError(f"domain: expected a Box or Domain, got {domain!r}")
        self.problem, self.degree, self.flux = problem, checked_degree(degree, MAX_DEGREE), flux
        if isinstance(domain, Box) and cells is not None:
            sides = [b - a for a, b in zip(domain.lower, domain.upper, strict=True)]
            require_memory(TensorGrid(sides, cells), equation.components, self.degree)
        self.mesh: UnstructuredMesh = domain.mesh(cells)
        self.space = BrokenSpace(self.mesh, self.degree)
        self.convection = convection(self.space, equation, flux, domain.boundary)
        self.diffusion = Diffusion(self.space, equation, chosen, domain.boundary)
        self.has_diffusion = self.diffusion.present
        self._rule = CellRule(self.space, 2 * self.degree + _EXTRA_ORDER)
        self._source = None
        if not all(g.is_zero for g in problem.source):
            self._source = _Source(self._rule, problem.source)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a coefficient array."""
        return (self.problem.equation.components, self.space.modes, self.mesh.size)

    @property
    def dofs(self) -> int:
        """Number of unknowns."""
        return int(np.prod(self.shape))

    @property
    def rule(self) -> CellRule:
        """Quadrature of sources and reactions."""
        return self._rule

    def project(self, fields: Sequence[Data], t: float = 0.0) -> Array:
        """L² projection of one `Data` per component at a fixed time."""
        return self.space.project(fields, t)

    def rhs(self, t: float, u: Array) -> Array:
        """H(t, U) + P(t, U)."""
        rate = self.rhs_hyperbolic(t, u)
        if self.has_diffusion:
            rate += self.rhs_parabolic(t, u)
        return rate

    def rhs_hyperbolic(self, t: float, u: Array) -> Array:
        """H(t, U) = −(DG form of ∇·f(u)) + projections of g − cu."""
        rate = self.convection.apply(t, u)
        reaction = self.problem.equation.reaction
        if reaction.constant and not reaction.is_zero:
            rate -= reaction.constant_value() * u
        elif not reaction.is_zero:
            rate -= self._rule.moments(self._rule.values(u) * reaction(self._rule.x, t))
        if self._source is not None:
            rate += self._source(t)
        return rate

    def rhs_parabolic(self, t: float, u: Array) -> Array:
        """P(t, U) = LU + ℓ(t), interior penalty, on the components that diffuse."""
        rate = self.diffusion.apply(u)
        if self.diffusion.driven:
            rate += self.diffusion.load(t)
        return rate

    def parabolic_load(self, t: float) -> Array | float:
        """ℓ(t) = P(t, 0)."""
        return self.diffusion.load(t) if self.diffusion.driven else 0.0

    def solve_parabolic(self, rhs: Array, shift: float) -> Array:
        """Solve (I − shift·L) x = rhs; the factors are kept."""
        return self.diffusion.solve(rhs, shift)

    @cached_property
    def linear(self) -> bool:
        """Whether H + P is affine in U with a matrix that does not depend on time."""
        equation = self.problem.equation
        return (
            isinstance(self.convection, LinearConvection)
            and not any(b.time_dependent for b in equation.velocity)
            and not equation.reaction.time_dependent
        )

    def linearise(self, t: float, u: Array) -> Linearisation:
        """∂(H + P)/∂U at (t, U), made once where it is always the same."""
        return self._constant if self.linear else self._linearised(t, u)

    @cached_property
    def _constant(self) -> Linearisation:
        return self._linearised(0.0, np.zeros(self.shape))

    def _linearised(self, t: float, u: Array) -> Linearisation:
        reaction = self.problem.equation.reaction
        matrix = jacobian(self.convection, self.diffusion, reaction, self._rule, t, u)
        return Linearisation(matrix, self.diffusion.pattern)

    @cached_property
    def fluxes(self) -> SchemeFluxes:
        """Fluxes in cells and on facets, of a scalar scheme."""
        return SchemeFluxes(self.convection, self.diffusion, self.problem.final_time)

    @property
    def transport_spectrum(self) -> NDArray[np.complex128]:
        """Eigenvalues of the DG upwind operator at `convective_rate` 1."""
        return transport_spectrum(self.mesh.reference, self.degree)

    def samples(self, u: Array) -> tuple[Array, Array]:
        """States ``(m, P, C)`` at P points of every cell, vertices included, and the points ``(d, P, C)``."""
        points = np.hstack([self.mesh.reference.vertices, self._rule.points])
        values = self.space.basis.values(points) @ self.space.to_reference(u)
        return np.asarray(values), self.mesh.points(points)

    def convective_rate(self, u: Array) -> float:
        """Largest rate ½ Σ_F ∫_F λ / |K| of all cells at the state u (times are sampled), in 1/time."""
        steady = isinstance(self.convection, LinearConvection) and self.linear
        times = (0.0,) if steady else np.linspace(0.0, self.problem.final_time, _TIMES)
        return max(float(self.convection.wave_rate(t, u).max()) for t in times)

    @property
    def reaction_rate(self) -> float:
        """Largest |c| at the quadrature points of sampled times, in 1/time."""
        reaction = self.problem.equation.reaction
        times = np.linspace(0.0, self.problem.final_time, _TIMES if reaction.time_dependent else 1)
        return max(float(np.abs(reaction(self._rule.x, t)).max()) for t in times)

    def __repr__(self) -> str:
        return f"UnstructuredSemidiscretization({self.mesh!r}, degree={self.degree})"


class _Source:
    """Moments of the sources, kept where they do not depend on time."""

    def __init__(self, rule: CellRule, data: Sequence[Data]) -> None:
        self._rule, self._values = rule, FixedInTime(data, rule.x)
        self._kept: Array | None = None

    def __call__(self, t: float) -> Array:
        if self._kept is not None:
            return self._kept
        moments = self._rule.moments(self._values(t))
        if not self._values.time_dependent:
            self._kept = moments
        return moments
