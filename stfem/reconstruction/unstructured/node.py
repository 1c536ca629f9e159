"""What a reconstruction on an unstructured mesh hands over at a time node, and on a slab (T2, T5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from stfem.data import Data, Slab
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.reconstruction.slab import stencils
from stfem.reconstruction.unstructured.fluxes import FluxRecovery
from stfem.reconstruction.unstructured.nodal import NodalReconstruction
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.legendre import legendre_values
from stfem.spaces.raviart_thomas import RaviartThomasSpace
from stfem.timestepping import Node

__all__ = [
    "MeshNode",
    "MeshReconstruction",
    "MeshSlab",
    "PatchReconstruction",
    "SchemeFluxes",
    "TimeInterpolant",
    "mesh_slabs",
]


class SchemeFluxes(Protocol):
    """Fluxes of a linear scheme, for the recoveries h̃ and d_A.

    With ``rate`` the arguments are ∂_tu_h, and boundary data are to be replaced by their rates of change.

    Attributes
    ----------
    cell_order, facet_order
        Orders of the quadrature rules on cells and facets.
    """

    cell_order: int
    facet_order: int

    def convective(self, t: float, u: Array, rate: bool) -> tuple[Array, Array]:
        """f(u_h) in the cells ``(d, m, Q, C)``; numerical flux times ds/d(parameter), ``(m, Q, F)``."""

    def diffusive(self, t: float, u: Array, rate: bool) -> tuple[Array, Array, Array, Array]:
        """D∇u_h in the cells; numerical flux times ds/d(parameter); both jumps of `symmetry_moments`."""


class TimeInterpolant(Protocol):
    """Interpolation in time, `Hermite` or `Lagrange`."""

    @property
    def per_node(self) -> int:
        """Arrays that one node contributes: 1 (value) or 2 (value and rate)."""

    @property
    def nodes(self) -> int:
        """Number of nodes in a full stencil."""

    @property
    def look_ahead(self) -> int:
        """Nodes needed to the right of the slab's end."""

    @property
    def look_back(self) -> int:
        """Nodes wanted to the left of the slab's start."""

    def modes(self, times: Sequence[float], start: float, stop: float) -> tuple[Array, Array]:
        """Matrices from node data to Legendre modes of the interpolant and of its derivative."""


@dataclass(frozen=True, eq=False)
class MeshNode:
    """û_n with its fluxes; the first axis of all arrays is (value, rate), or just (value).

    Attributes
    ----------
    node
        The discrete solution behind it.
    state
        Coefficients ``(2, m, modes, C)`` of û_n and ∂_tû_n.
    diffusive
        Candidates for d̃ ≈ D∇û, coefficients within the cells ``(2, m, modes, C)``; empty for D = 0.
    convective
        h̃, likewise; None where the scheme's flux is not used.
    """

    node: Node
    state: Array
    diffusive: tuple[Array, ...]
    convective: Array | None

    @property
    def time(self) -> float:
        """t_n."""
        return self.node.time


class MeshReconstruction(Protocol):
    """A rule for û on a mesh, with the spaces of what it hands over.

    Attributes
    ----------
    space
        Space of the scheme.
    target
        Discontinuous space that holds û.
    diffusive_spaces, convective_space
        Of the fluxes of a `MeshNode`, in the same order.
    """

    space: BrokenSpace
    target: BrokenSpace
    diffusive_spaces: tuple[RaviartThomasSpace, ...]
    convective_space: RaviartThomasSpace | None

    def at_node(self, node: Node) -> MeshNode:
        """û and fluxes at one node."""


class PatchReconstruction:
    """û from a linear nodal rule, with the fluxes d_A and h̃ of the scheme and d_B of û (T5).

    Valid for Dirichlet conditions with data that û meets at all times, and for periodic sides; facets
    and cells are all treated alike and no system is solved.

    Parameters
    ----------
    nodal
        Rule for û, such as `vertex_patches`.
    diffusion
        D ``(d, d)``.
    scheme
        Fluxes of the scheme; None leaves d_B and h̃ = f(û) alone.
    boundary
        Value at the fixed nodes, with a time derivative.
    insulated
        Facets where D∇u·n = 0 is given.
    """

    def __init__(
        self,
        nodal: NodalReconstruction,
        diffusion: Array,
        scheme: SchemeFluxes | None = None,
        boundary: Data | None = None,
        insulated: Index | None = None,
    ) -> None:
        self.nodal, self.diffusion, self._scheme = nodal, diffusion, scheme
        self.space, self.target = nodal.space, nodal.target.broken
        self._boundary, self.insulated = boundary, insulated
        self._slope = boundary.time_derivative() if boundary is not None and boundary.time_dependent else None
        mesh = self.space.mesh
        own = RaviartThomasSpace(mesh, self.space.degree)
        self._averaged = AveragedFlux(self.target, diffusion, insulated)
        self._own = None if scheme is None else FluxRecovery(own, scheme.cell_order, scheme.facet_order)
        self.convective_space = None if scheme is None else own
        diffuses = bool(np.any(diffusion))
        spaces = [self._averaged.space] if scheme is None else [own, self._averaged.space]
        self.diffusive_spaces = tuple(spaces) if diffuses else ()

    def at_node(self, node: Node) -> MeshNode:
        pair = [(node.values, False), (node.rate, True)]
        ends = self.nodal.target.points[:, self.nodal.fixed]
        state = np.stack([self.nodal.field(u, self.given(node.time, ends, rate)) for u, rate in pair])
        convective = None
        diffusive: list[Array] = []
        if self._own is not None and self._scheme is not None:
            scheme, own = self._scheme, self._own
            convective = np.stack(
                [own.space.local(own.interpolate(*scheme.convective(node.time, u, rate))) for u, rate in pair]
            )
            if self.diffusive_spaces:
                diffusive.append(np.stack([self._scheme_flux(node.time, u, rate) for u, rate in pair]))
        if self.diffusive_spaces:
            diffusive.append(np.stack([self._averaged(field) for field in state]))
        return MeshNode(node, state, tuple(diffusive), convective)

    def given(self, t: float, points: Array, rate: bool = False) -> Array | float:
        """Boundary values at points ``(d, n)``, or their rates: ``(1, n)``."""
        data = self._slope if rate else self._boundary
        return 0.0 if data is None else data(points, t)[None]

    def _scheme_flux(self, t: float, u: Array, rate: bool) -> Array:
        if self._own is None or self._scheme is None:  # pragma: no cover (asked for with a scheme only)
            raise ValueError("scheme: expected fluxes of a scheme, got None")
        cells, facets, minus, plus = self._scheme.diffusive(t, u, rate)
        jumps = self._own.symmetry_moments(minus, plus, self.diffusion[:, :, None])
        return self._own.space.local(self._own.interpolate(cells, facets, jumps))


class AveragedFlux:
    """û ↦ d_B, coefficients within the cells, in RT_{k−1} for û of degree k.

    Parameters
    ----------
    target
        Space of û.
    diffusion
        D ``(d, d)``.
    insulated
        Facets where the normal flux is zero.
    """

    def __init__(self, target: BrokenSpace, diffusion: Array, insulated: Index | None) -> None:
        self.space = RaviartThomasSpace(target.mesh, target.degree - 1)
        self._target, self._diffusion = target, diffusion[:, :, None]
        self._recovery = FluxRecovery(self.space)
        self._given: Array | None = None
        if insulated is not None:
            count = len(target.mesh.reference.on_facet.quadrature(self._recovery.facet_order)[1])
            self._given = np.full((1, count, target.mesh.facets.count), np.nan)
            self._given[:, :, insulated] = 0.0

    def __call__(self, field: Array) -> Array:
        flux = self._recovery.averaged(self._target, field, self._diffusion, self._given)
        return self.space.local(flux)


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
    """

    time: Slab
    state: Array
    rate: Array
    diffusive: tuple[Array, ...]
    convective: Array | None
    start: MeshNode
    stop: MeshNode

    def at(self, s: float, modes: Array) -> Array:
        """Coefficients at t_n + s Δt from modes in time."""
        return np.asarray(np.tensordot(legendre_values(self.time.degree, [s])[0], modes, 1))


def mesh_slabs(nodes: Iterable[MeshNode], interpolant: TimeInterpolant) -> Iterator[MeshSlab]:
    """Stream slabs from a stream of nodes; see `stfem.reconstruction.reconstructed_slabs`."""
    for stencil, start, stop in stencils(nodes, interpolant):
        times = [node.time for node in stencil]
        values, rates = interpolant.modes(times, start.time, stop.time)
        count = interpolant.per_node

        def modes(arrays: list[Array], matrix: Array = values, count: int = count) -> Array:
            return np.asarray(np.tensordot(matrix, np.concatenate([array[:count] for array in arrays]), 1))

        fluxes = zip(*(node.diffusive for node in stencil), strict=True)
        convective = [node.convective for node in stencil if node.convective is not None]
        states = [node.state for node in stencil]
        yield MeshSlab(
            Slab(start.time, stop.time, len(values) - 1),
            modes(states),
            modes(states, rates),
            tuple(modes(list(arrays)) for arrays in fluxes),
            modes(convective) if convective else None,
            start,
            stop,
        )
