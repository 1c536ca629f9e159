"""What a spatial reconstruction hands over at one node in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from stfem.meshes.grid import TensorGrid
from stfem.reconstruction.multiplier import FilterNorms
from stfem.reconstruction.symbol import FilterSymbol
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.stencil import Array, cell_rows, refined_rows
from stfem.timestepping import Node


@dataclass(frozen=True, eq=False)
class NodeReconstruction:
    """Reconstruction at a time node in kernel layout.

    Orthonormal Legendre modes on ``grid`` of the bound reconstruction. On all cells, ``state`` and ``flux``
    are kept once they are asked for. On some rows of cells û is taken from there, or else computed anew, as
    the flux is, without holding anything whole.

    Parameters
    ----------
    node
        The discrete solution (t_n, U_n, F_n) behind it.
    reconstruct_state, reconstruct_flux
        Give ``state`` and ``flux`` for arrays ``(k, m, q+1, …, N…)`` such as the pair of U_n and F_n.
    by_rows
        Whether they take a second argument: the range of rows of cells of the scheme that is wanted.
    """

    node: Node
    reconstruct_state: Callable[..., Array]
    reconstruct_flux: Callable[..., tuple[Array, ...]]
    by_rows: bool = False

    @cached_property
    def state(self) -> Array:
        """û_n and ∂_tû_n, ``(2, m, Q+1, …, N…)``."""
        return self.reconstruct_state(self._pair)

    @cached_property
    def flux(self) -> tuple[Array, ...]:
        """The scheme flux D∇u_h, filtered, of the diffusing components, and its time derivative.

        One array per direction ``(2, m', …)``; the own direction has one mode more. Empty where nothing
        diffuses.
        """
        return self.reconstruct_flux(self._pair)

    @property
    def kept(self) -> tuple[str, ...]:
        """Which of ``state`` and ``flux`` are known on all cells."""
        return tuple(name for name in ("state", "flux") if name in vars(self))

    def keep(self, names: Sequence[str]) -> None:
        """Compute these on all cells."""
        if not {*names} <= {"state", "flux"}:
            raise ValueError(f"names: expected state and flux, got {names}")
        for name in names:
            getattr(self, name)

    def state_on(self, rows: slice) -> Array:
        """``state`` on a range of rows of cells of the scheme."""
        if "state" in vars(self) or not self.by_rows:
            return self._cut(self.state, rows)
        return np.concatenate([self.reconstruct_state(entry, rows) for entry in self._entries])

    def flux_on(self, rows: slice) -> tuple[Array, ...]:
        """``flux`` on a range of rows of cells of the scheme."""
        if not self.by_rows:
            return tuple(self._cut(component, rows) for component in self.flux)
        value, rate = (self.reconstruct_flux(entry, rows) for entry in self._entries)
        return tuple(np.concatenate(both) for both in zip(value, rate, strict=True))

    def _cut(self, field: Array, rows: slice) -> Array:
        """Some rows of cells of the scheme out of a whole field."""
        dim = self.node.values.ndim // 2
        return cell_rows(field, refined_rows(rows, field.shape[-dim] // self.node.values.shape[-dim]), dim)

    @property
    def _entries(self) -> tuple[Array, Array]:
        return self.node.values[None], self.node.rate[None]

    @property
    def _pair(self) -> Array:
        return np.concatenate(self._entries)

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

    def field_rows(self, u: Array | Sequence[Array]) -> Callable[[slice], Array]:
        """û on ranges of rows of cells of the scheme, asked for one after the other.

        Of several arrays they make up a first axis.
        """
        ...

    def flux_rows(self, u: Array | Sequence[Array]) -> Callable[[slice], tuple[Array, ...]]:
        """Scheme flux of the diffusing components there, per direction."""
        ...


class Reconstruction(Protocol):
    """A rule for û: bound to a semidiscretization before use."""

    def bind(self, semidiscretization: Semidiscretization) -> BoundReconstruction:
        """Operators for one grid and degree."""
        ...
