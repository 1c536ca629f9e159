"""First meshes of a search: simplices, which can be bisected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import skfem

from stfem.problems import Box, Domain

__all__ = ["first_domain", "too_small"]

#: Shapes of cells that `refine` bisects.
_SIMPLICES = ("line", "triangle", "tetrahedron")
#: Cells per direction of a box, where nothing is asked for.
_FIRST = 4
#: Diameters, relative to the largest coordinate, below which corners of a cell have few digits to differ in.
_SMALLEST = 2.0**-40


def first_domain(domain: Box | Domain, cells: int | Sequence[int] | None = None) -> Domain:
    """A domain with a mesh of lines, triangles or tetrahedra, as `refine` takes it.

    Parameters
    ----------
    domain
        A `Domain`, which is returned as it is, or a `Box`, whose equal cells are cut into simplices.
    cells
        Cells per direction of a box, 4 by default.

    Raises
    ------
    TypeError
        For cells of a `Domain`, which has its mesh.
    ValueError
        For a `Domain` of quadrilaterals or hexahedra.
    """
    if isinstance(domain, Box):
        return Domain(
            _simplices(domain, _FIRST if cells is None else cells), domain.boundary, domain.periodic
        )
    shape = domain.mesh(cells).reference.name
    if shape not in _SIMPLICES:
        raise ValueError(
            f"domain: expected a mesh of {', '.join(_SIMPLICES)} cells to refine, got one of {shape} cells; "
            "to_meshtri() of scikit-fem cuts quadrilaterals"
        )
    return domain


def _simplices(box: Box, cells: int | Sequence[int]) -> Any:
    """The cells of a box cut into simplices, its sides with their names."""
    source: Any = box.mesh(cells).source
    if box.dim == 1:
        return source
    mesh = (skfem.MeshTri, skfem.MeshTet)[box.dim - 2].init_tensor(*map(np.unique, source.p))
    sides = {}
    for name, facets in source.boundaries.items():
        corners = source.p[:, source.facets[:, facets]].reshape(box.dim, -1)
        across = int(np.argmin(np.ptp(corners, axis=1)))
        sides[name] = np.flatnonzero((mesh.p[across][mesh.facets] == corners[across, 0]).all(axis=0))
    return mesh.with_boundaries(sides)


def too_small(domain: Domain) -> str:
    """Why the cells of a mesh should not be bisected any more: rounding errors; mostly nothing."""
    mesh = domain.mesh()
    least = float(mesh.cell_diameters.min())
    if least >= _SMALLEST * float(np.abs(mesh.vertices).max()):
        return ""
    return f"the smallest cells, of diameter {least:.2g}, have reached the size of rounding errors"
