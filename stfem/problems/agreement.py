"""Whether an exact solution fits the initial and the boundary data of its problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from stfem.data.base import Array
from stfem.equations.normal import NormalEquation
from stfem.meshes.facets import Index
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.problems.bounded import BoundaryPart, Box, Domain, boundary_parts, cell_numbers

if TYPE_CHECKING:
    from stfem.problems.problem import Problem

__all__ = ["check_boundary", "check_initial"]

#: Differences that count, relative to the largest value: of values, and of fluxes (of numerical gradients).
_TOLERANCE, _FLUX_TOLERANCE = 1e-8, 1e-5
#: and never those of denormal numbers, which have few digits.
_LEAST = np.finfo(np.float64).tiny
#: Share of the points at which data may differ: at and near jumps.
_SHARE = 0.25
#: Facets that are looked at per boundary, order of their points, and fractions of the final time.
_FACETS, _ORDER, _TIMES = 64, 20, (0.13, 0.61, 1.0)
#: Normal velocity, relative to the largest one, from which on a flow counts as entering.
_ENTERING = 1e-6


def check_initial(problem: Problem, exact: Callable[..., Array]) -> None:
    """An exact solution with another initial value would make every reported error meaningless.

    Raises
    ------
    ValueError
        Naming a point where it differs from u_0.
    """
    x = problem.domain.sample(np.random.default_rng(5), 32)
    start = np.stack([datum(x, 0.0) for datum in problem.initial])
    values = exact(x, 0.0)
    scale = max(_largest(start), _largest(values))
    where = _differing(start - values, _TOLERANCE * scale)
    if where is not None:
        raise ValueError(
            f"exact: expected the initial value {start[:, where]} at t = 0, got {values[:, where]} "
            f"at x = {x[:, where].tolist()}"
        )


def check_boundary(problem: Problem, exact: Callable[..., Array]) -> None:
    """The exact solution must meet the conditions: given values, and given fluxes where ∇u is known.

    Points of up to 64 facets per boundary are looked at, at three times after the start, where u_0 may
    still contradict the boundary data. Given values count where D or the flow carries them into the domain.

    Raises
    ------
    ValueError
        Naming the boundary and the point of the largest difference.
    """
    domain = problem.domain
    if not isinstance(domain, (Box, Domain)):
        return
    mesh = domain.mesh((1,) * domain.dim if isinstance(domain, Box) else None)
    inside = domain.sample(np.random.default_rng(6), 32)
    for part in boundary_parts(mesh, domain.boundary):
        boundary = _Boundary(problem, mesh, part)
        for fraction in _TIMES:
            _check(boundary, exact, inside, fraction * problem.final_time)


class _Boundary:
    """Some points of one boundary, with normals and diffusion there."""

    def __init__(self, problem: Problem, mesh: UnstructuredMesh, part: BoundaryPart) -> None:
        self.problem, self.condition, self.name = problem, part.condition, part.name
        rng = np.random.default_rng(7)
        few = len(part.facets) <= _FACETS
        facets = part.facets if few else rng.choice(part.facets, _FACETS, replace=False)
        parameters, _ = mesh.reference.on_facet.quadrature(_ORDER)
        points = mesh.facet_points(parameters, facets)
        normals = np.broadcast_to(mesh.facet_normals(parameters, facets)[0], points.shape)
        matrix = np.broadcast_to(
            _diffusion(problem, mesh, mesh.facets.cells[0, facets])[:, :, None],
            (mesh.dim, mesh.dim, *points.shape[1:]),
        )
        self.x, self.normals = points.reshape(mesh.dim, -1), normals.reshape(mesh.dim, -1)
        self.matrix = matrix.reshape(mesh.dim, mesh.dim, -1)

    def given(self, t: float) -> Array:
        """g ``(m, n)``."""
        equation = self.problem.equation
        data = self.condition.data(equation.dim, equation.components, f"boundary {self.name!r}")
        return np.stack([datum(self.x, t) for datum in data])

    def counts(self, u: Array, t: float) -> Array:
        """Where given values matter, ``(m, n)``: of systems only for components that diffuse."""
        equation, n = self.problem.equation, self.normals
        diffuses = np.einsum("in,ijn,jn->n", n, self.matrix, n) > 0.0
        result = np.outer(np.array(equation.diffused) > 0.0, diffuses)
        if equation.components == 1:
            along = NormalEquation(equation, n).jacobian_product(u, np.ones_like(u), self.x, t)
            result |= along < -_ENTERING * np.abs(along).max(initial=0.0)
        return result

    def flux(self, slopes: Array) -> Array:
        """D∇u·n ``(m, n)`` of ∇u ``(d, m, n)``."""
        weights = np.array(self.problem.equation.diffused)[:, None]
        return np.asarray(np.einsum("in,ijn,jmn->mn", self.normals, self.matrix, slopes) * weights)


def _check(part: _Boundary, exact: Callable[..., Array], inside: Array, t: float) -> None:
    condition, gradient, equation = part.condition, part.problem.exact_gradient, part.problem.equation
    u, g = exact(part.x, t), part.given(t)
    if condition.trace:
        difference = np.where(part.counts(u, t), u - g, 0.0)
        scale = max(_largest(u), _largest(g), _largest(exact(inside, t)))
        _refuse(part, difference, _TOLERANCE * scale, t, "values")
    elif gradient is not None:
        through = part.flux(gradient(part.x, t))
        sizes = [_largest(part.matrix) * _largest(gradient(y, t)) for y in (part.x, inside)]
        found = through
        if condition.total:
            found = NormalEquation(equation, part.normals).flux(u, part.x, t) - through
            # not its normal component: that may be round-off
            sizes += [_largest(equation.flux(u, part.x, t, i)) for i in range(equation.dim)]
        transfer = condition.transfer(equation.dim, part.name)
        if not transfer.is_zero:
            absorbed = transfer(part.x, t) * u
            found = found + absorbed
            sizes.append(_largest(absorbed))
        _refuse(part, found - g, _FLUX_TOLERANCE * max(_largest(g), *sizes), t, "fluxes")


def _refuse(part: _Boundary, difference: Array, tolerance: float, t: float, what: str) -> None:
    where = _differing(difference, tolerance + _LEAST)
    if where is not None:
        raise ValueError(
            f"exact: expected the {what} of {type(part.condition).__name__} at boundary {part.name!r}, "
            f"got a difference of {np.abs(difference[:, where]).max():g} at x = {part.x[:, where].tolist()}, "
            f"t = {t:g}"
        )


def _differing(difference: Array, tolerance: float) -> int | None:
    """The point with the largest difference, if there is one component with too many that differ."""
    size = np.abs(difference)
    if np.isfinite(size).all() and not np.any((size > tolerance).mean(axis=1) > _SHARE):
        return None
    return int(np.argmax(np.where(np.isfinite(size), size, np.inf).max(axis=0)))


def _diffusion(problem: Problem, mesh: UnstructuredMesh, cells: Index) -> Array:
    """D ``(d, d, n)`` in some cells."""
    parts = problem.equation.subdomain_diffusion
    if parts is None:
        return np.repeat(problem.equation.diffusion[:, :, None], len(cells), axis=2)
    return np.stack(list(parts.values()), axis=2)[:, :, cell_numbers(mesh, list(parts))[cells]]


def _largest(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))
