"""From nodes on an unstructured mesh to slabs with polynomials in time (T2, T5)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from stfem.data import Slab
from stfem.meshes.quadrature import Array
from stfem.reconstruction.slab import Interpolant, Stencils
from stfem.reconstruction.unstructured.node import MeshNode
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.legendre import legendre_values

__all__ = ["DiscreteSlab", "MeshSlab", "TimeInterpolant", "mesh_slab_of", "mesh_slabs"]


class TimeInterpolant(Interpolant, Hashable, Protocol):
    """Interpolation in time, `Hermite` or `Lagrange`."""

    @property
    def degree(self) -> int:
        """Polynomial degree."""

    @property
    def per_node(self) -> int:
        """Arrays that one node contributes: 1 (value) or 2 (value and rate)."""

    def modes(self, times: Sequence[float], start: float, stop: float) -> tuple[Array, Array]:
        """Matrices from node data to Legendre modes of the interpolant and of its derivative."""


@dataclass(frozen=True, eq=False)
class DiscreteSlab:
    """The interpolant U^t of u_h on a slab.

    Attributes
    ----------
    time
        Slab with the polynomial degree in time.
    arrays
        Coefficients at the nodes of the stencil: u_h, and its rate where the interpolant takes rates.
    values, rates
        Matrices from these to Legendre modes of U^t and of its derivative.
    """

    time: Slab
    arrays: Sequence[Array]
    values: Array
    rates: Array

    def at(self, s: float) -> tuple[Array, Array]:
        """U^t and dU^t/dt at t_n + s Δt, ``(m, modes, C)``."""
        row = legendre_values(self.time.degree, [s])[0]
        return self._combined(row @ self.values), self._combined(row @ self.rates)

    def rate_sizes(self, space: BrokenSpace) -> Array:
        """Norms in L²(slab × Ω) of the first three modes in time of dU^t/dt; 0 where there are fewer."""
        sizes = [space.norm_l2(self._combined(row)) for row in self.rates[:3]]
        return float(np.sqrt(self.time.duration)) * np.array([*sizes, 0.0, 0.0, 0.0][:3])

    def _combined(self, weights: Array) -> Array:
        total = np.zeros_like(self.arrays[0])
        for weight, array in zip(weights.tolist(), self.arrays, strict=True):
            total += weight * array
        return total


@dataclass(frozen=True, eq=False)
class MeshSlab:
    """û and fluxes on [t_n, t_{n+1}]: Legendre modes in time, first axis, of the arrays of `MeshNode`.

    Attributes
    ----------
    time
        Slab with the polynomial degree in time.
    state, diffusive, convective
        As in `MeshNode`, ``(degree + 1, m, modes, C)``.
    rate
        Modes of ∂_tû.
    start, stop
        Nodes at the ends.
    discrete
        Interpolant of u_h, where it is known.
    """

    time: Slab
    state: Array
    rate: Array
    diffusive: tuple[Array, ...]
    convective: Array | None
    start: MeshNode
    stop: MeshNode
    discrete: DiscreteSlab | None = None

    def at(self, s: float, modes: Array) -> Array:
        """Coefficients at t_n + s Δt from modes in time."""
        return np.asarray(np.tensordot(legendre_values(self.time.degree, [s])[0], modes, 1))


def mesh_slabs(nodes: Iterable[MeshNode], interpolant: TimeInterpolant) -> Iterator[MeshSlab]:
    """Stream slabs from a stream of nodes; see `stfem.reconstruction.reconstructed_slabs`.

    Raises
    ------
    ValueError
        For an interpolant that takes rates, of fluxes without.
    """
    for stencil, start, stop in Stencils(nodes, interpolant):
        yield mesh_slab_of(stencil, start, stop, interpolant)


def mesh_slab_of(
    stencil: tuple[MeshNode, ...], start: MeshNode, stop: MeshNode, interpolant: TimeInterpolant
) -> MeshSlab:
    """The slab between two nodes of a stencil; raises as `mesh_slabs`."""
    values, rates = interpolant.modes([node.time for node in stencil], start.time, stop.time)
    count = interpolant.per_node

    def modes(arrays: list[Array], matrix: Array = values) -> Array:
        return np.asarray(np.tensordot(matrix, np.concatenate([array[:count] for array in arrays]), 1))

    fluxes = zip(*(node.diffusive for node in stencil), strict=True)
    convective = [node.convective for node in stencil if node.convective is not None]
    if any(len(flux) < count for flux in (*start.diffusive, *convective)):
        raise ValueError("interpolant: expected one of values, for nodes without rates, got one of both")
    states = [node.state for node in stencil]
    time = Slab(start.time, stop.time, len(values) - 1)
    discrete = [array for node in stencil for array in (node.node.values, node.node.rate)[:count]]
    return MeshSlab(
        time,
        modes(states),
        modes(states, rates),
        tuple(modes(list(arrays)) for arrays in fluxes),
        modes(convective) if convective else None,
        start,
        stop,
        DiscreteSlab(time, discrete, values, rates),
    )
