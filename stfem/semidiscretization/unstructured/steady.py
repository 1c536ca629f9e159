"""States of rest, H(U) + P(U) = 0: one sparse solve for linear equations, Newton's method for others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stfem.problems.bounded import Box, Domain, boundary_parts
from stfem.semidiscretization.unstructured.scheme import UnstructuredSemidiscretization
from stfem.semidiscretization.unstructured.solver import (
    Factorisation,
    Linearisation,
    LinearSolver,
    SolveError,
    Vector,
)
from stfem.spaces.block_sparse import from_vector, to_vector
from stfem.spaces.broken import Array
from stfem.spaces.cells import CellRule

__all__ = ["SteadyState", "steady_state"]

#: Relative residual at which Newton's method ends, and the one that counts as a solution where it stalls.
_TOLERANCE, _STALLED = 1e-14, 1e-11
_ITERATIONS = 300
#: First pseudo-time step in units of the convective time, its smallest growth, and that of a rejected one;
#: with these a shock that has to cross the domain takes 40 steps (a growth of 2 or fewer rejections: 250).
_FIRST, _GROWTH, _SHRINK = 10.0, 1.5, 0.3
#: Growth of the residual from which on a step is rejected, and the smallest pseudo-time step in those units.
_REJECTED, _SMALLEST = 4.0, 1e-8
#: Normal velocities, relative to the largest velocity, and integrals, relative to that of the moduli, that
#: count as zero.
_ALONG, _BALANCED = 1e-12, 1e-6
_FINE_ORDER = 16


class SteadyState(NamedTuple):
    """A state of rest.

    Attributes
    ----------
    values
        U ``(m, modes, C)``.
    residual
        ‖H(U) + P(U)‖ in L².
    iterations
        Linear systems that were solved.
    """

    values: Array
    residual: float
    iterations: int


def steady_state(
    semi: UnstructuredSemidiscretization,
    solver: LinearSolver = Factorisation,
    start: Array | None = None,
    mean: float = 0.0,
) -> SteadyState:
    """U with F(U) = H(0, U) + P(0, U) = 0.

    Linear equations take one solve. For others pseudo-time steps (I/τ − J(U)) δ = F(U) with the Jacobian of
    the scheme become Newton's method as τ grows with 1/‖F‖; a step that makes the residual four
    times as large is taken again with a smaller τ.

    Where nothing leaves the domain and nothing reacts, F has no mean and U is determined up to a multiple of
    one function only; of a linear equation the one with the given mean is returned.

    Parameters
    ----------
    semi
        The scheme; data are taken at t = 0.
    solver
        For the linear systems.
    start
        Where Newton's method starts, zero by default.
    mean
        Mean of u, where nothing else determines it.

    Raises
    ------
    ValueError
        For a source and boundary fluxes that do not balance where they have to, with the defect, and for a
        mean that is not free.
    SolveError
        For a system that is singular, or no solution after 300 iterations, with the residual.
    """
    u = np.zeros(semi.shape) if start is None else start
    measures = semi.mesh.cell_measures

    def rate(u: Array) -> Array:
        return semi.rhs(0.0, u)

    def size(f: Array) -> float:
        return float(np.sqrt((measures * f**2).sum()))

    residual, linear = rate(u), semi.problem.equation.linear
    free = linear and _conservative(semi)
    if mean != 0.0 and not free:
        raise ValueError(
            f"mean: expected none, as the equation and its conditions determine the solution, got {mean:g}"
        )
    if linear:
        matrix = semi.linearise(0.0, u).matrix
        r = to_vector(residual * measures)
        if free:
            x = _with_mean(semi, matrix, r, solver, mean - _mean(semi, u))
        else:
            x = solver(-matrix).solve(r)
        u = u + from_vector(x, u.shape)
        return SteadyState(u, size(rate(u)), 1)

    scale = _Scale(semi, size(residual))
    # where nothing moves yet, what the forces start counts
    unit = 1.0 / (max(semi.convective_rate(u), semi.reaction_rate) or semi.convective_rate(residual) or 1.0)
    step, level = _FIRST * unit, size(residual)
    jacobian = semi.linearise(0.0, u)
    for count in range(_ITERATIONS):
        relative = level / scale(jacobian, u)
        if relative <= _TOLERANCE:
            return SteadyState(u, level, count)
        with np.errstate(over="ignore", invalid="ignore"):  # such a step is rejected
            trial = u + jacobian.solve(step * residual, step, solver)
            found = rate(trial)
            new = size(found)
        if not new <= _REJECTED * level:
            if relative <= _STALLED:  # round-off
                return SteadyState(u, level, count)
            step *= _SHRINK
            if step < _SMALLEST * unit:
                break
            continue
        step *= max(_GROWTH, level / new if new > 0.0 else _GROWTH)
        stalled = new > 0.5 * level and relative <= _STALLED
        u, residual, level = trial, found, new
        if stalled:
            return SteadyState(u, level, count + 1)
        jacobian = semi.linearise(0.0, u)
    raise SolveError("Newton's iteration for a state of rest", level / scale(jacobian, u))


class _Scale:
    """What round-off in F(U) is relative to: ‖J‖ ‖U‖ + ‖F(start)‖, with the norm of J by rows."""

    def __init__(self, semi: UnstructuredSemidiscretization, first: float) -> None:
        self._measures, self._first = semi.mesh.cell_measures, first

    def __call__(self, jacobian: Linearisation, u: Array) -> float:
        rows = np.abs(jacobian.matrix.data).sum(axis=2).max(axis=1)
        starts = jacobian.matrix.indptr[:-1]
        largest = float((np.add.reduceat(rows, starts) / self._measures).max())
        return self._first + largest * float(np.sqrt((self._measures * u**2).sum())) or 1.0


def _constant(semi: UnstructuredSemidiscretization) -> Vector:
    """The function 1; its product with |K|·F is ∫F."""
    ones = np.zeros(semi.shape)
    ones[0, 0] = 1.0
    return to_vector(ones)


def _mean(semi: UnstructuredSemidiscretization, u: Array) -> float:
    measures = semi.mesh.cell_measures
    return float((measures * u[0, 0]).sum() / measures.sum())


def _conservative(semi: UnstructuredSemidiscretization) -> bool:
    """Whether ∫F(U) does not depend on U in a scalar equation: nothing reacts, and nothing leaves with u."""
    equation, mesh, domain = semi.problem.equation, semi.mesh, semi.problem.domain
    if semi.shape[0] > 1 or not equation.reaction.is_zero or not isinstance(domain, (Box, Domain)):
        return False
    points = mesh.reference.on_facet.quadrature(2 * semi.degree + 2)[0]
    for part in boundary_parts(mesh, domain.boundary):
        if part.condition.total:
            continue
        transfer = part.condition.transfer(mesh.dim, part.name)
        if semi.has_diffusion and (part.condition.trace or not transfer.is_zero):
            return False
        x, normals = mesh.facet_points(points, part.facets), mesh.facet_normals(points, part.facets)[0]
        velocity = np.stack([b(x, 0.0) for b in equation.velocity])
        along = np.abs((velocity * normals).sum(axis=0)).max(initial=0.0)
        if along > _ALONG * np.abs(velocity).max(initial=0.0):
            return False
    return True


def _with_mean(
    semi: UnstructuredSemidiscretization, matrix: Any, r: Vector, solver: LinearSolver, mean: float
) -> Vector:
    """x with −Jx = r and a given mean, J with a kernel of one dimension.

    One coefficient is fixed; what belongs to the kernel is found from the same factors, and added.
    """
    ones = _constant(semi)
    defect, total = _defect(semi, float(ones @ r), float(ones @ np.abs(r)))
    if abs(defect) > _BALANCED * total:
        raise ValueError(
            "source: expected an integral that balances the given fluxes through the boundary, since nothing "
            f"reacts and no values are given, got a defect of {defect:.6g}"
        )
    measures = to_vector(np.broadcast_to(semi.mesh.cell_measures, semi.shape))
    r = r - ones * measures * float(ones @ r) / float(semi.mesh.cell_measures.sum())
    rows = (-matrix).tocsr()
    reduced = solver(rows[1:, 1:])
    x = np.concatenate([[0.0], reduced.solve(r[1:])])
    kernel = np.concatenate([[1.0], reduced.solve(-rows[1:, :1].toarray()[:, 0])])
    weights = ones * measures / float(semi.mesh.cell_measures.sum())
    return np.asarray(x + (mean - float(weights @ x)) / float(weights @ kernel) * kernel)


def _defect(semi: UnstructuredSemidiscretization, found: float, size: float) -> tuple[float, float]:
    """∫g less what the fluxes take, with a finer rule for g than that of the scheme; ∫|g| and more."""
    (source,) = semi.problem.source
    if source.is_zero:
        return found, size
    integrals = []
    for rule in (semi.rule, CellRule(semi.space, _FINE_ORDER)):
        values = source(rule.x, 0.0) * rule.density * semi.mesh.cell_measures
        integrals.append([float(rule.weights @ f.sum(axis=1)) for f in (values, np.abs(values))])
    (coarse, _), (fine, modulus) = integrals
    return found + fine - coarse, size + modulus
