"""What a spatial reconstruction hands over at one node in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from stfem.meshes.grid import TensorGrid
from stfem.reconstruction.multiplier import FilterNorms
from stfem.reconstruction.symbol import FilterSymbol
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.stencil import Array
from stfem.timestepping import Node


@dataclass(frozen=True, eq=False)
class NodeReconstruction:
    """Reconstruction at a time node in kernel layout.

    Orthonormal Legendre modes on ``grid`` of the bound reconstruction, computed when they are first asked
    for.

    Parameters
    ----------
    node
        The discrete solution (t_n, U_n, F_n) behind it.
    reconstruct_state, reconstruct_flux
        Give ``state`` and ``flux`` for the pair ``(2, m, q+1, …, N…)`` of U_n and F_n.

    Attributes
    ----------
    state
        ``(2, m, Q+1, …, N…)``: û_n and ∂_tû_n.
    flux
        One array per direction ``(2, m', …)`` with the scheme flux D∇u_h, filtered, of the diffusing
        components and its time derivative; the own direction has one mode more. Empty where nothing diffuses.
    """

    node: Node
    reconstruct_state: Callable[[Array], Array]
    reconstruct_flux: Callable[[Array], tuple[Array, ...]]

    @cached_property
    def state(self) -> Array:
        """û_n and ∂_tû_n."""
        return self.reconstruct_state(self._pair)

    @cached_property
    def flux(self) -> tuple[Array, ...]:
        """The filtered scheme flux of both, per direction."""
        return self.reconstruct_flux(self._pair)

    @property
    def _pair(self) -> Array:
        return np.stack([self.node.values, self.node.rate])

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
        """û of one coefficient array ``(m, q+1, …, N…)``."""
        ...


@runtime_checkable
class RowReconstruction(BoundReconstruction, Protocol):
    """A linear reconstruction, the same at all times, that works on some rows of cells at a time.

    Slabs of such reconstructions can be put together from residuals at their nodes.
    """

    norms: FilterNorms
    symbol: FilterSymbol

    def field_rows(self, u: Array) -> Callable[[slice], Array]:
        """û on ranges of rows of cells of the scheme, asked for one after the other."""
        ...

    def flux_rows(self, u: Array) -> Callable[[slice], tuple[Array, ...]]:
        """Scheme flux of the diffusing components there, per direction."""
        ...


class Reconstruction(Protocol):
    """A rule for û: bound to a semidiscretization before use."""

    def bind(self, semidiscretization: Semidiscretization) -> BoundReconstruction:
        """Operators for one grid and degree."""
        ...
