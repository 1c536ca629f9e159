"""Solutions as mesh, element and coefficient vectors of scikit-fem, and from them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import skfem
from numpy.polynomial import Legendre
from numpy.typing import NDArray

from stfem.checks import checked_flag, checked_whole, real_array
from stfem.fluxes import ConvectiveFlux, InteriorPenalty, flux_rusanov
from stfem.io.levels import RecordedLevels
from stfem.io.skfem_meshes import MeshProjection, OrthonormalElement, cells_of, mesh_vectors
from stfem.meshes.grid import TensorGrid
from stfem.problems import Problem, Torus
from stfem.semidiscretization import Semidiscretization, semidiscretize
from stfem.solution import Solution
from stfem.spaces.legendre import gauss
from stfem.spaces.stencil import Array
from stfem.timestepping import NonFiniteError

__all__ = ["LegendreElement", "SkfemField", "from_skfem", "to_skfem"]

#: Meshes of tensor grids by dimension.
MESHES: dict[int, Any] = {1: skfem.MeshLine1, 2: skfem.MeshQuad1, 3: skfem.MeshHex1}
#: Relative difference up to which points and values count as equal.
_TOLERANCE = 1e-9
_MAX_DEGREE = 16


class LegendreElement(skfem.ElementH1):  # type: ignore[misc]  # scikit-fem has no types
    """Q_q without continuity: products of Legendre polynomials, orthonormal on [0, 1], for scikit-fem.

    The mass matrix is |K|, and degrees of freedom of a cell are those of `Solution.coefficients`.

    Parameters
    ----------
    refdom
        Reference cell of scikit-fem: the interval, square or cube.
    degree
        q ≥ 0.
    """

    def __init__(self, refdom: Any, degree: int) -> None:
        self.refdom, self.degree = refdom, checked_whole("degree", degree, 0, _MAX_DEGREE)
        self.maxdeg = max(degree, 1)  # chooses quadrature rules, and there is none for 0
        lines = [sqrt(2 * k + 1) * Legendre.basis(k, domain=[0.0, 1.0]) for k in range(degree + 1)]
        self._factors = list(product([(line, line.deriv()) for line in lines], repeat=refdom.dim()))
        self.interior_dofs = len(self._factors)
        self.dofnames = ["u"] * self.interior_dofs
        self.doflocs = np.full((self.interior_dofs, refdom.dim()), np.nan)  # moments sit nowhere

    def lbasis(self, X: Array, i: int) -> tuple[Array, Array]:
        """Values and gradients of function i at reference points ``(d, …)``."""
        lines = [line(x) for (line, _), x in zip(self._factors[i], X, strict=True)]
        slopes = [slope(x) for (_, slope), x in zip(self._factors[i], X, strict=True)]
        gradient = [np.prod([*lines[:j], slopes[j], *lines[j + 1 :]], axis=0) for j in range(len(lines))]
        return np.prod(lines, axis=0), np.array(gradient)


class SkfemField(NamedTuple):
    """A field as scikit-fem has it.

    Attributes
    ----------
    mesh
        On a torus `skfem.MeshLine1`, `MeshQuad1` or `MeshHex1` of the box: scikit-fem does not know that it
        is periodic, and fields without continuity need not. On other domains their mesh.
    element
        Its basis functions belong to one cell each.
    coefficients
        Vector ``(dofs,)``; of a system ``(m, dofs)``; of a history with the time levels in front.
    """

    mesh: Any
    element: Any
    coefficients: Array


def to_skfem(solution: Solution, *, history: bool = False) -> SkfemField:
    """u_h(T), the same function for scikit-fem, on a torus to the last bit of its coefficients.

    ``skfem.Basis(mesh, element)`` is then ready for forms, functionals and pictures. Cells are numbered as in
    ``Estimate.indicators_sq.ravel()``, which is therefore an array per element of the mesh.

    Parameters
    ----------
    solution
        The solution.
    history
        All its time nodes, not only the last.

    Raises
    ------
    TypeError
        For anything that is not a solution.
    """
    if not isinstance(solution, Solution):
        raise TypeError(f"solution: expected a Solution, got {type(solution).__name__}")
    checked_flag("history", history)
    semi = solution.semidiscretization
    levels = [node.values for node in solution.nodes()] if history else [solution.values]
    if isinstance(semi, Semidiscretization):
        mesh = _mesh(semi.grid)
        element: Any = LegendreElement(mesh.elem.refdom, semi.degree)
        vectors = np.stack([_vectors(values, semi.grid.dim) for values in levels])
    else:
        mesh = semi.mesh.source
        element = OrthonormalElement(mesh.elem.refdom, semi.mesh.reference, semi.degree)
        vectors = np.stack([mesh_vectors(semi, values) for values in levels])
    if len(levels[0]) == 1:
        vectors = vectors[:, 0]
    return SkfemField(mesh, element, vectors if history else vectors[0])


def from_skfem(
    problem: Problem,
    mesh: Any,
    element: Any,
    coefficients: Sequence[Array] | Array,
    *,
    degree: int,
    order: int = 1,
    flux: ConvectiveFlux = flux_rusanov,
    penalty: InteriorPenalty | None = None,
) -> Solution:
    """A solution from its time levels in scikit-fem, wherever they come from.

    `stfem.estimate` bounds its error as it does for its own: the residual is measured, not assumed. The bound
    is sharp where the levels solve nearly the same equations.

    Parameters
    ----------
    problem
        The problem they belong to.
    mesh
        On a torus intervals, quadrilaterals or hexahedra that are the cells of a uniform grid, numbered in
        any way. Else the mesh of the domain.
    element
        Scalar element of scikit-fem, continuous or not, whose functions are in the space of degree q on every
        cell.
    coefficients
        Vectors of at least two time levels from 0 to the final time, with equal steps: ``(levels, dofs)``; of
        a system ``(levels, m, dofs)``.
    degree
        q of the solution.
    order
        Order of the time stepping that computed them; it chooses the interpolation in time.
    flux, penalty
        Numerical fluxes that the estimate reconstructs with; best those of the computation.

    Returns
    -------
    Solution
        Its time stepping is a `RecordedLevels`.

    Raises
    ------
    ValueError, TypeError
        For another mesh, arrays that do not fit or are complex, and fields that are not in the space.
    NonFiniteError
        For levels that are not finite.
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem: expected a Problem, got {type(problem).__name__}")
    domain, components = problem.domain, problem.equation.components
    cells = _cells(mesh, domain.lengths) if isinstance(domain, Torus) else cells_of(problem, mesh)
    semi = semidiscretize(problem, cells, degree, flux, penalty)
    projection: _Projection | MeshProjection
    if isinstance(semi, Semidiscretization):
        projection = _Projection(semi.grid, semi.degree, mesh, element)
    else:
        projection = MeshProjection(semi, mesh, element)
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 1:
        raise ValueError(f"order: expected a whole number from 1 on, got {order!r}")
    vectors = real_array(coefficients, "coefficients")
    if vectors.ndim == 2 and components == 1:
        vectors = vectors[:, None]
    if vectors.ndim != 3 or vectors.shape[1:] != (components, projection.size) or len(vectors) < 2:
        shape = (projection.size,) if components == 1 else (components, projection.size)
        raise ValueError(
            f"coefficients: expected an array of shape {('levels', *shape)} with two levels or more, "
            f"got {np.shape(coefficients)}"
        )
    finite = np.isfinite(vectors).all(axis=(1, 2))
    if not finite.all():
        first = int(np.argmin(finite))
        raise NonFiniteError("level", first * problem.final_time / (len(vectors) - 1), first)
    levels = np.stack([[projection(vector) for vector in level] for level in vectors])
    levels.flags.writeable = False
    stepper = RecordedLevels(levels, int(order))
    dt = problem.final_time / (len(levels) - 1)
    return Solution(problem, semi, stepper, dt, levels[0], levels[-1])


def _mesh(grid: TensorGrid) -> Any:
    """The cells of a grid in its order, each the image of the reference cell without a turn."""
    kind = MESHES[grid.dim]
    nodes = tuple(count + 1 for count in grid.cells)
    lines = [np.linspace(0.0, length, n) for length, n in zip(grid.lengths, nodes, strict=True)]
    points = np.stack([x.ravel() for x in np.meshgrid(*lines, indexing="ij")])
    first = np.indices(grid.cells).reshape(grid.dim, -1)
    corners = kind.elem.refdom.p.astype(int).T  # (vertices, d)
    cells = [np.ravel_multi_index(tuple(first + corner[:, None]), nodes) for corner in corners]
    return kind(points, np.array(cells, dtype=np.int32))


def _vectors(values: Array, dim: int) -> Array:
    """From kernel layout ``(m, q+1, …, N…)`` to vectors ``(m, dofs)``, the modes of a cell together."""
    return np.moveaxis(values, range(1, 1 + dim), range(-dim, 0)).reshape(len(values), -1)


def _cells(mesh: Any, lengths: Sequence[float]) -> tuple[int, ...]:
    """Numbers of cells of the grid that has a cell as large as the first of the mesh."""
    kind = MESHES[len(lengths)]
    if not isinstance(mesh, skfem.Mesh) or mesh.elem.refdom is not kind.elem.refdom:
        raise TypeError(f"mesh: expected a skfem.{kind.__name__}, got {type(mesh).__name__}")
    sizes = np.ptp(mesh.p[:, mesh.t], axis=1)  # (d, cells)
    size = sizes[:, 0]
    if not np.all(size > 0.0):
        raise ValueError(f"mesh: expected cells along the axes, got one of the size {tuple(size.tolist())}")
    for i, length in enumerate(lengths):
        least, most = float(sizes[i].min()), float(sizes[i].max())
        if most - least > _TOLERANCE * length:
            raise ValueError(
                "mesh: expected the equal cells of a grid, got cells of sizes from "
                f"{least:.3g} to {most:.3g} in direction {i}"
            )
    return tuple(max(1, int(count)) for count in np.rint(lengths / size))


class _Projection:
    """Modes of the field of a coefficient vector, which has to be in Q_q on every cell of a grid."""

    def __init__(self, grid: TensorGrid, degree: int, mesh: Any, element: Any) -> None:
        if not isinstance(element, skfem.Element):
            raise TypeError(f"element: expected an element of scikit-fem, got {element!r}")
        self._grid, self._degree = grid, degree
        # enough points to notice what is not in Q_q, and cells that are not boxes
        line, weights = gauss(max(degree, int(element.maxdeg), int(mesh.elem.maxdeg)) + 1)
        points = np.stack([x.ravel() for x in np.meshgrid(*[line] * grid.dim, indexing="ij")])
        self._weights = np.array([np.prod(entry) for entry in product(weights, repeat=grid.dim)])
        self._basis = skfem.CellBasis(mesh, element, quadrature=(points, self._weights))
        self.size = int(self._basis.N)
        self._cells, self._order = _located(grid, self._basis, line)
        own = LegendreElement(MESHES[grid.dim].elem.refdom, degree)
        self._table = np.stack([own.lbasis(points, i)[0] for i in range(own.interior_dofs)])

    def __call__(self, vector: Array) -> Array:
        """Modes ``(q+1, …, N…)``.

        c_k = 1/|K| ∫_K u φ_k, and u = Σ c_k φ_k at all points of the quadrature.
        """
        given = np.asarray(self._basis.interpolate(vector))
        if given.shape != self._order.shape:
            raise TypeError("element: expected a scalar one, got one with several components")
        values = np.empty(given.shape)
        np.put_along_axis(values, self._order, given, axis=1)
        modes = (self._table * self._weights) @ values.T
        difference = np.abs(modes.T @ self._table - values).max(initial=0.0)
        if difference > _TOLERANCE * np.abs(values).max(initial=0.0):
            raise ValueError(
                f"coefficients: expected polynomials of degree {self._degree} in every direction of a cell, "
                f"got a field that differs from its projection by {difference:.3g}"
            )
        result = np.empty(modes.shape)
        result[:, self._cells] = modes
        return result.reshape(*(self._degree + 1,) * self._grid.dim, *self._grid.cells)


def _located(grid: TensorGrid, basis: Any, line: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Numbers of the cells of a mesh in a grid, ``(cells,)``, and of their points, ``(cells, points)``.

    The points of a cell are those of the tensor product of a line in some order.
    """
    spacing, limits = (np.reshape(given, (-1, 1, 1)) for given in (grid.spacing, grid.cells))
    scaled = np.asarray(basis.global_coordinates()) / spacing
    first = np.floor(scaled.mean(axis=2, keepdims=True))
    nearest = np.searchsorted(0.5 * (line[1:] + line[:-1]), scaled - first)
    cells = np.ravel_multi_index(tuple(first[:, :, 0].astype(int)), grid.cells, mode="clip")
    fits = (
        np.all((first >= 0) & (first < limits))
        and np.all(np.abs(scaled - first - line[nearest]) < _TOLERANCE * limits)
        and np.all(np.bincount(cells, minlength=grid.size) == 1)
    )
    if not fits:
        counts, box = " × ".join(map(str, grid.cells)), _box([(0.0, length) for length in grid.lengths])
        raise ValueError(
            f"mesh: expected the {counts} equal cells of a grid on {box}, got {_found(grid, basis)}"
        )
    return cells, np.ravel_multi_index(tuple(nearest), (len(line),) * grid.dim)


def _found(grid: TensorGrid, basis: Any) -> str:
    """What a mesh that is not the grid has in place of its cells."""
    points = basis.mesh.p[:, basis.mesh.t]
    ends = np.stack([points.min(axis=(1, 2)), points.max(axis=(1, 2))], axis=1)
    wanted = np.stack([np.zeros(grid.dim), grid.lengths], axis=1)
    count, same_box = (
        points.shape[2],
        np.allclose(ends, wanted, rtol=0.0, atol=_TOLERANCE * max(grid.lengths)),
    )
    return (
        "cells of another shape"
        if same_box and count == grid.size
        else f"{count} cells on {_box(ends.tolist())}"
    )


def _box(ends: Sequence[Sequence[float]]) -> str:
    return " × ".join(f"({start:.10g}, {stop:.10g})" for start, stop in ends)
