"""What a spatial reconstruction hands over at one node in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from stfem.meshes.grid import TensorGrid
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.stencil import Array
from stfem.timestepping import Node


@dataclass(frozen=True, eq=False)
class NodeReconstruction:
    """Reconstruction at a time node in kernel layout.

    Orthonormal Legendre modes on ``grid`` of the bound reconstruction.

    Attributes
    ----------
    node
        The discrete solution (t_n, U_n, F_n) behind it.
    state
        ``(2, m, Q+1, …, N…)``: û_n and ∂_tû_n.
    flux
        One array per direction ``(2, m', …)`` with the scheme flux D∇u_h, filtered, of the diffusing
        components and its time derivative; the own direction has one mode more. Empty where nothing diffuses.
    """

    node: Node
    state: Array
    flux: tuple[Array, ...]

    @property
    def time(self) -> float:
        """t_n."""
        return self.node.time


class BoundReconstruction(Protocol):
    """A spatial reconstruction tied to one semidiscretization."""

    grid: TensorGrid
    degree: int

    def at_node(self, node: Node) -> NodeReconstruction:
        """û, ∂_tû and fluxes at one node."""
        ...

    def field(self, u: Array) -> Array:
        """Û of one coefficient array ``(m, q+1, …, N…)``."""
        ...


class Reconstruction(Protocol):
    """A rule for û: bound to a semidiscretization before use."""

    def bind(self, semidiscretization: Semidiscretization) -> BoundReconstruction:
        """Operators for one grid and degree."""
        ...
