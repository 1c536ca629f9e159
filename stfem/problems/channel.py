"""Hemker's cylinder in a channel: constant data, and no exact solution."""

from __future__ import annotations

from typing import Any

from stfem.equations import AdvectionDiffusion
from stfem.problems.arguments import checked_eps
from stfem.problems.bounded import Domain
from stfem.problems.conditions import Dirichlet, Neumann, Outflow
from stfem.problems.shapes import mesh_around_disc
from stfem.problems.stationary import StationaryProblem

__all__ = ["hemker_channel"]


def hemker_channel(eps: float = 1e-2, cells: int = 2, mesh: Any = None) -> StationaryProblem:
    """Hemker's problem in a channel: cold inflow, a warm cylinder with its boundary layer and its wake.

    b = (1, 0) on (−3, 9) × (−3, 3) without the unit disc, whose circle is a polygon; u = 1 on the cylinder,
    u = 0 at the inflow, and no diffusive flux through the other sides. The layer in front of the cylinder has
    the width ε, those that leave its sides √ε. All data are constant. The exact solution is not known.

    Parameters
    ----------
    eps : float
        Diffusion parameter ε ≥ 0.
    cells : int
        Cells between the cylinder and the side of the square around it; see `mesh_around_disc`.
    mesh : skfem.Mesh, optional
        Another mesh, with the boundaries ``left``, ``right``, ``bottom``, ``top`` and ``cylinder``.

    Raises
    ------
    ValueError, TypeError
        For arguments out of range or of another type.
    """
    eps = checked_eps(eps)
    still = Neumann(0.0)
    sides = {"left": Dirichlet(0.0), "right": Outflow(), "bottom": still, "top": still}
    covered = mesh_around_disc(cells, named=True) if mesh is None else mesh
    domain = Domain(covered, {**sides, "cylinder": Dirichlet(1.0)})
    return StationaryProblem(AdvectionDiffusion((1.0, 0.0), eps), domain)
