"""Solutions, reconstructions and indicators as cells with values at nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stfem.checks import checked_list
from stfem.estimators import Estimate
from stfem.io.cells import MAX_DEGREE, MESH_SHAPES, SHAPES, Cells
from stfem.meshes.grid import TensorGrid
from stfem.reconstruction import AnyRule, prolong, reconstructor
from stfem.semidiscretization import Semidiscretization, UnstructuredSemidiscretization
from stfem.solution import Solution
from stfem.spaces.field import Field
from stfem.spaces.mesh_field import MeshField
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import point_coordinates, values_at
from stfem.stationary import StationarySolution

__all__ = ["SolutionCells"]


class SolutionCells:
    """The cells of a solution; values at any time of it.

    Parameters
    ----------
    solution
        u_h, point data ``u_h``; of a system ``u_1_h``, ``u_2_h``, ….
    estimate
        Its local indicators become cell data: ``eta`` is η_K, ``eta_sq`` its square (T4.7).
    reconstruction
        Adds û, point data ``u_hat``. Where it splits cells, so does the file, and every piece has the
        indicator of its cell.
    names
        One per component, in place of "u"; the only one may be given as it is.
    degree
        Degree of the interpolation between the nodes, 1 to 10. Default: that of u_h, or of û if there is one,
        within these limits.

    Raises
    ------
    TypeError, ValueError
        For arguments that do not fit the solution.
    """

    def __init__(
        self,
        solution: Solution | StationarySolution,
        estimate: Estimate | None = None,
        reconstruction: AnyRule | None = None,
        names: Sequence[str] | None = None,
        degree: int | None = None,
    ) -> None:
        resting = isinstance(solution, StationarySolution)
        if not isinstance(solution, (Solution, StationarySolution)):
            raise TypeError(
                f"solution: expected a Solution, got {type(solution).__name__}; "
                "of a certificate pass result.solution, and result itself as estimate"
            )
        if estimate is not None and not isinstance(estimate, Estimate):
            raise TypeError(f"estimate: expected an Estimate, got {type(estimate).__name__}")
        semi = solution.semidiscretization
        rule = reconstruction
        self._reconstruct = None if rule is None else reconstructor(semi, rule, resting)
        smooth = None if self._reconstruct is None else self._reconstruct(solution.time, solution.values)
        self._names = _component_names(names, solution.problem.equation.components)
        highest = semi.degree if smooth is None else smooth.degree
        self._degree = _checked_degree(degree) if degree is not None else min(max(1, highest), MAX_DEGREE)
        self._places: _Grid | _Mesh
        if isinstance(semi, Semidiscretization):
            finest = smooth if smooth is not None else solution.field
            self._places = _Grid(semi, finest, self._degree)
        else:
            self._places = _Mesh(semi, self._degree)
        self._cell_data = {} if estimate is None else self._indicators(solution, estimate)

    def at(self, time: float, values: Array) -> Cells:
        """The cells with the field of coefficients of the scheme, at their time."""
        point_data = self._named(self._places.solution(values), "h")
        if self._reconstruct is not None:
            point_data |= self._named(self._places.sampled(self._reconstruct(time, values)), "hat")
        return Cells(self._places.shape, self._degree, self._places.points, point_data, self._cell_data)

    def _named(self, values: Array, ending: str) -> dict[str, Array]:
        return {f"{name}_{ending}": component for name, component in zip(self._names, values, strict=True)}

    def _indicators(self, solution: Solution | StationarySolution, estimate: Estimate) -> dict[str, Array]:
        squares, expected = estimate.indicators_sq, self._places.scheme_cells
        if squares.shape != expected:
            raise ValueError(
                f"estimate: expected indicators of {expected} cells, those of the solution, "
                f"got {squares.shape}"
            )
        signature = estimate.facts.get("signature")
        if signature is not None and not solution.has_signature(signature):
            raise ValueError("estimate: expected one of the solution, got that of another solution")
        squares = self._places.in_pieces(squares)
        return {"eta": np.sqrt(squares), "eta_sq": squares}


class _Grid:
    """Nodes in the cells of a grid, or in the pieces of them that a reconstruction has."""

    def __init__(self, semi: Semidiscretization, finest: Any, degree: int) -> None:
        grid: TensorGrid = finest.grid
        self._semi, self._grid, self._finest = semi, grid, finest
        self.scheme_cells = semi.grid.cells
        self.shape = SHAPES[grid.dim]
        self._nodes = self.shape.numbering(degree)
        self._abscissae = np.linspace(0.0, 1.0, degree + 1)
        coordinates = point_coordinates(grid, [self._abscissae] * grid.dim)
        self.points = np.ascontiguousarray(np.moveaxis(self._at_nodes(coordinates), 0, -1))

    def solution(self, values: Array) -> Array:
        """u_h at the nodes, ``(m, cells, nodes)``."""
        if self._grid.cells != self.scheme_cells:
            values = prolong(values, self.scheme_cells, self._semi.degree, self._finest)
        return self.sampled(Field(self._grid, self._semi.degree, values))

    def sampled(self, field: Any) -> Array:
        """A field at the nodes, ``(m, cells, nodes)``."""
        return self._at_nodes(values_at(field.values, field.degree, self._abscissae, self._grid.dim))

    def in_pieces(self, squares: Array) -> Array:
        """Every piece has the number of its cell."""
        for axis, (fine, coarse) in enumerate(zip(self._grid.cells, squares.shape, strict=True)):
            squares = np.repeat(squares, fine // coarse, axis)
        return squares.ravel()

    def _at_nodes(self, field: Array) -> Array:
        """From kernel layout ``(m, p+1, …, N…)`` to nodes in the order of VTK, ``(m, cells, nodes)``."""
        chosen = field[(slice(None), *self._nodes.T)]
        return np.swapaxes(chosen.reshape(*chosen.shape[:2], -1), 1, 2)


class _Mesh:
    """Nodes in the cells of an unstructured mesh: images of those of the reference cell."""

    def __init__(self, semi: UnstructuredSemidiscretization, degree: int) -> None:
        self._semi = semi
        self.scheme_cells = (semi.mesh.size,)
        self.shape = MESH_SHAPES[semi.mesh.reference.name]
        self._nodes = self.shape.numbering(degree).T / degree
        self.points = np.ascontiguousarray(semi.mesh.points(self._nodes).T)

    def solution(self, values: Array) -> Array:
        """u_h at the nodes, ``(m, cells, nodes)``."""
        return self.sampled(MeshField(self._semi.space, values))

    def sampled(self, field: Any) -> Array:
        """A field at the nodes, ``(m, cells, nodes)``."""
        return np.asarray(np.swapaxes(field.at(self._nodes), 1, 2))

    def in_pieces(self, squares: Array) -> Array:
        """The cells are those of the scheme."""
        return squares


def _component_names(names: Sequence[str] | None, components: int) -> list[str]:
    if names is None:
        return ["u"] if components == 1 else [f"u_{i + 1}" for i in range(components)]
    given = [names] if isinstance(names, str) else checked_list("names", names)
    if not all(isinstance(name, str) for name in given):
        raise TypeError(f"names: expected strings, got {names!r}")
    if len(given) != components or len(set(given)) != components:
        raise ValueError(f"names: expected {components} different ones, got {names!r}")
    return given


def _checked_degree(degree: object) -> int:
    if isinstance(degree, bool) or not isinstance(degree, (int, np.integer)):
        raise TypeError(f"degree: expected a whole number, got {degree!r}")
    if not 1 <= degree <= MAX_DEGREE:
        raise ValueError(f"degree: expected 1 to {MAX_DEGREE}, got {degree}")
    return int(degree)
