"""What a reconstruction on an unstructured mesh hands over at a time node, and on a slab (T2, T5)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from stfem.data import Constant, Slab
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.reconstruction.slab import Interpolant, stencils
from stfem.reconstruction.unstructured.fluxes import FluxRecovery
from stfem.reconstruction.unstructured.given import BoundaryValues
from stfem.reconstruction.unstructured.nodal import NodalReconstruction
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.legendre import legendre_values
from stfem.spaces.raviart_thomas import RaviartThomasSpace
from stfem.timestepping import Node

__all__ = [
    "DiscreteSlab",
    "LocalReconstruction",
    "MeshNode",
    "MeshReconstruction",
    "MeshSlab",
    "SchemeFluxes",
    "TimeInterpolant",
    "mesh_slabs",
]


class SchemeFluxes(Protocol):
    """Fluxes of a scheme, for the recoveries h̃ and d_A.

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

    def convective_rate(self, t: float, u: Array, change: Array) -> tuple[Array, Array]:
        """The rates of change of both, where u_h changes at a rate."""

    def diffusive(self, t: float, u: Array, rate: bool) -> tuple[Array, Array, Array, Array]:
        """D∇u_h in the cells; numerical flux times ds/d(parameter); both jumps of `symmetry_moments`."""


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
class MeshNode:
    """û_n with its fluxes; the first axis of all arrays is (value, rate), or just (value) of fluxes.

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
    per_node
        Arrays at every node: 2 (values and rates), or 1 (values).
    space
        Space of the scheme.
    target
        Discontinuous space that holds û.
    diffusive_spaces, convective_space
        Of the fluxes of a `MeshNode`, in the same order.
    """

    per_node: int
    space: BrokenSpace
    target: BrokenSpace
    convective_space: RaviartThomasSpace | None

    @property
    def diffusive_spaces(self) -> tuple[RaviartThomasSpace, ...]:
        """Spaces of the candidates for d̃."""

    def at_node(self, node: Node) -> MeshNode:
        """û and fluxes at one node."""

    def defect_size(self, defect: Array) -> float:
        """‖·‖ of what û makes of a defect of ∂_tu_h ``(m, modes, C)``: for the choice of slabs alone."""


class LocalReconstruction:
    """û from a linear nodal rule, with the fluxes d_A and h̃ of the scheme and d_B of û (T5).

    No system is solved: cells and facets are all treated alike.

    Parameters
    ----------
    nodal
        Rule for û, with the facets where u is given.
    diffusion
        D ``(d, d)``, or of every cell ``(d, d, C)``.
    scheme
        Fluxes of the scheme; None leaves d_B and h̃ = f(û) alone.
    boundary
        The given values; zero by default.
    insulated
        Facets where D∇u·n = 0 is given.
    rates
        Whether fluxes are made of the rates as well, for interpolants that take rates.
    """

    def __init__(
        self,
        nodal: NodalReconstruction,
        diffusion: Array,
        scheme: SchemeFluxes | None = None,
        boundary: BoundaryValues | None = None,
        insulated: Index | None = None,
        rates: bool = True,
    ) -> None:
        self.per_node = 2 if rates else 1
        self.nodal, self._scheme, self.insulated = nodal, scheme, insulated
        self.space, self.target = nodal.space, nodal.target.broken
        self.diffusion = np.reshape(diffusion, (*diffusion.shape[:2], -1))
        mesh = self.space.mesh
        self.boundary = boundary or BoundaryValues([(nodal.dirichlet, Constant(0.0, mesh.dim))])
        self._given = self.boundary.at(nodal.target)
        own = RaviartThomasSpace(mesh, self.space.degree)
        self._averaged = AveragedFlux(self.target, self.diffusion, insulated)
        self._own = None if scheme is None else FluxRecovery(own, scheme.cell_order, scheme.facet_order)
        self.convective_space = None if scheme is None else own
        spaces = [self._averaged.space] if scheme is None else [own, self._averaged.space]
        self._spaces = tuple(spaces) if np.any(self.diffusion) else ()

    @property
    def diffusive_spaces(self) -> tuple[RaviartThomasSpace, ...]:
        """Of d_A, where the scheme's fluxes are known, and d_B."""
        return self._spaces

    def at_node(self, node: Node) -> MeshNode:
        pair, t = [(node.values, False), (node.rate, True)], node.time
        state = np.stack([self.nodal.field(u, self._given(t, rate)) for u, rate in pair])
        taken = pair[: self.per_node]
        convective = None
        diffusive: list[Array] = []
        if self._own is not None and self._scheme is not None:
            scheme, own = self._scheme, self._own
            data = [scheme.convective(t, node.values, False)]
            if len(taken) > 1:
                data.append(scheme.convective_rate(t, node.values, node.rate))
            convective = np.stack([own.space.local(own.interpolate(*entry)) for entry in data])
            if self.diffusive_spaces:
                diffusive.append(np.stack([self._scheme_flux(scheme, own, t, u, rate) for u, rate in taken]))
        if self.diffusive_spaces:
            diffusive.append(np.stack([self._averaged(field) for field in state[: self.per_node]]))
        return MeshNode(node, state, tuple(diffusive), convective)

    def defect_size(self, defect: Array) -> float:
        return self.target.norm_l2(self.nodal.field(defect))

    def _scheme_flux(self, scheme: SchemeFluxes, own: FluxRecovery, t: float, u: Array, rate: bool) -> Array:
        """d_A, coefficients within the cells."""
        cells, facets, minus, plus = scheme.diffusive(t, u, rate)
        jumps = own.symmetry_moments(minus, plus, self.diffusion)
        return own.space.local(own.interpolate(cells, facets, jumps))


class AveragedFlux:
    """û ↦ d_B, coefficients within the cells, in RT_{k−1} for û of degree k.

    Parameters
    ----------
    target
        Space of û.
    diffusion
        D ``(d, d, C)`` or ``(d, d, 1)``.
    insulated
        Facets where the normal flux is zero.
    """

    def __init__(self, target: BrokenSpace, diffusion: Array, insulated: Index | None) -> None:
        self.space = RaviartThomasSpace(target.mesh, target.degree - 1)
        self._target, self._diffusion = target, diffusion
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
    for stencil, start, stop in stencils(nodes, interpolant):
        times = [node.time for node in stencil]
        values, rates = interpolant.modes(times, start.time, stop.time)
        count = interpolant.per_node

        def modes(arrays: list[Array], matrix: Array = values, count: int = count) -> Array:
            return np.asarray(np.tensordot(matrix, np.concatenate([array[:count] for array in arrays]), 1))

        fluxes = zip(*(node.diffusive for node in stencil), strict=True)
        convective = [node.convective for node in stencil if node.convective is not None]
        if any(len(flux) < count for flux in (*start.diffusive, *convective)):
            raise ValueError("interpolant: expected one of values, for nodes without rates, got one of both")
        states = [node.state for node in stencil]
        time = Slab(start.time, stop.time, len(values) - 1)
        discrete = [array for node in stencil for array in (node.node.values, node.node.rate)[:count]]
        yield MeshSlab(
            time,
            modes(states),
            modes(states, rates),
            tuple(modes(list(arrays)) for arrays in fluxes),
            modes(convective) if convective else None,
            start,
            stop,
            DiscreteSlab(time, discrete, values, rates),
        )
