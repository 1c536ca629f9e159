"""Solutions, reconstructions and indicators as cells with values at nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stfem.estimators import Estimate
from stfem.io.cells import MAX_DEGREE, SHAPES, Cells
from stfem.reconstruction import Reconstruction, prolong
from stfem.semidiscretization import on_torus
from stfem.solution import Solution
from stfem.spaces.stencil import Array
from stfem.spaces.tensor import point_coordinates, values_at

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
        One per component, in place of "u".
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
        solution: Solution,
        estimate: Estimate | None = None,
        reconstruction: Reconstruction | None = None,
        names: Sequence[str] | None = None,
        degree: int | None = None,
    ) -> None:
        if not isinstance(solution, Solution):
            raise TypeError(
                f"solution: expected a Solution, got {type(solution).__name__}; "
                "of a certificate pass result.solution, and result itself as estimate"
            )
        if estimate is not None and not isinstance(estimate, Estimate):
            raise TypeError(f"estimate: expected an Estimate, got {type(estimate).__name__}")
        if reconstruction is not None and not hasattr(reconstruction, "bind"):
            raise TypeError(f"reconstruction: expected one such as Siac(), got {reconstruction!r}")
        semi = on_torus(solution.semidiscretization, "files of fields")
        self._semi = semi
        self._bound = None if reconstruction is None else reconstruction.bind(semi)
        self._grid = semi.grid if self._bound is None else self._bound.grid
        self._names = _component_names(names, solution.problem.equation.components)
        highest = semi.degree if self._bound is None else self._bound.degree
        self._degree = _checked_degree(degree) if degree is not None else min(max(1, highest), MAX_DEGREE)
        self._shape = SHAPES[semi.grid.dim]
        self._nodes = self._shape.numbering(self._degree)
        self._abscissae = np.linspace(0.0, 1.0, self._degree + 1)
        coordinates = point_coordinates(self._grid, [self._abscissae] * semi.grid.dim)
        self._points = np.ascontiguousarray(np.moveaxis(self._at_nodes(coordinates), 0, -1))
        self._cell_data = {} if estimate is None else self._indicators(estimate)

    def at(self, values: Array) -> Cells:
        """The cells with the field of modes ``(m, q+1, …, N…)``."""
        if self._bound is None:
            point_data = self._sampled(values, self._semi.degree, "h")
        else:
            whole = prolong(values, self._semi.grid.cells, self._semi.degree, self._bound)
            point_data = self._sampled(whole, self._semi.degree, "h")
            point_data |= self._sampled(self._bound.field(values), self._bound.degree, "hat")
        return Cells(self._shape, self._degree, self._points, point_data, self._cell_data)

    def _sampled(self, field: Array, degree: int, ending: str) -> dict[str, Array]:
        values = self._at_nodes(values_at(field, degree, self._abscissae, self._grid.dim))
        return {f"{name}_{ending}": component for name, component in zip(self._names, values, strict=True)}

    def _at_nodes(self, field: Array) -> Array:
        """From kernel layout ``(m, p+1, …, N…)`` to nodes in the order of VTK, ``(m, cells, nodes)``."""
        chosen = field[(slice(None), *self._nodes.T)]
        return np.swapaxes(chosen.reshape(*chosen.shape[:2], -1), 1, 2)

    def _indicators(self, estimate: Estimate) -> dict[str, Array]:
        squares = estimate.indicators_sq
        if squares.shape != self._semi.grid.cells:
            raise ValueError(
                f"estimate: expected indicators of {self._semi.grid.cells} cells, those of the solution, "
                f"got {squares.shape}"
            )
        for axis, (fine, coarse) in enumerate(zip(self._grid.cells, squares.shape, strict=True)):
            squares = np.repeat(squares, fine // coarse, axis)
        return {"eta": np.sqrt(squares).ravel(), "eta_sq": squares.ravel()}


def _component_names(names: Sequence[str] | None, components: int) -> list[str]:
    if names is None:
        return ["u"] if components == 1 else [f"u_{i + 1}" for i in range(components)]
    given = [names] if isinstance(names, str) else list(names)
    if len(given) != components or len(set(given)) != components:
        raise ValueError(f"names: expected {components} different ones, got {names!r}")
    if not all(isinstance(name, str) for name in given):
        raise TypeError(f"names: expected strings, got {names!r}")
    return given


def _checked_degree(degree: object) -> int:
    if isinstance(degree, bool) or not isinstance(degree, (int, np.integer)):
        raise TypeError(f"degree: expected a whole number, got {degree!r}")
    if not 1 <= degree <= MAX_DEGREE:
        raise ValueError(f"degree: expected 1 to {MAX_DEGREE}, got {degree}")
    return int(degree)
