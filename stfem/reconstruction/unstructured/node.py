"""What a reconstruction on an unstructured mesh hands over at a time node (T2, T5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from stfem.data import Constant
from stfem.meshes.quadrature import Array
from stfem.reconstruction.unstructured.fluxes import FluxRecovery
from stfem.reconstruction.unstructured.given import BoundaryValues
from stfem.reconstruction.unstructured.natural import NaturalConditions, NaturalFluxes
from stfem.reconstruction.unstructured.nodal import NodalReconstruction
from stfem.spaces.broken import BrokenSpace
from stfem.spaces.raviart_thomas import RaviartThomasSpace
from stfem.timestepping import Node

__all__ = ["AveragedFlux", "LocalReconstruction", "MeshNode", "MeshReconstruction", "SchemeFluxes"]


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
    def nodal(self) -> NodalReconstruction:
        """The rule, linear in u_h, that û starts from."""

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
    natural
        Conditions that give a flux q(û): the normal component of d_A, and of d_B where residuals are lifted
        (T5.11).
    rates
        Whether fluxes are made of the rates as well, for interpolants that take rates.
    """

    def __init__(
        self,
        nodal: NodalReconstruction,
        diffusion: Array,
        scheme: SchemeFluxes | None = None,
        boundary: BoundaryValues | None = None,
        natural: NaturalConditions | None = None,
        rates: bool = True,
    ) -> None:
        self.per_node = 2 if rates else 1
        self.nodal, self._scheme, self.natural = nodal, scheme, natural
        self.space, self.target = nodal.space, nodal.target.broken
        self.diffusion = np.reshape(diffusion, (*diffusion.shape[:2], -1))
        mesh = self.space.mesh
        self.boundary = boundary or BoundaryValues([(nodal.dirichlet, Constant(0.0, mesh.dim))])
        self._given = self.boundary.at(nodal.target)
        own = RaviartThomasSpace(mesh, self.space.degree)
        self._averaged = AveragedFlux(self.target, self.diffusion, natural)
        self._own = None if scheme is None else FluxRecovery(own, scheme.cell_order, scheme.facet_order)
        self._natural: NaturalFluxes | None = None
        if scheme is not None and natural is not None and len(natural):
            self._natural = natural.at(mesh.reference.on_facet.quadrature(scheme.facet_order)[0])
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
            both = [(u, field, rate) for (u, rate), field in zip(taken, state, strict=False)]
            data = [scheme.convective(t, node.values, False)]
            if len(taken) > 1:
                data.append(scheme.convective_rate(t, node.values, node.rate))
            fluxes = [
                self._convective(own, moments, t, *entry[1:])
                for moments, entry in zip(data, both, strict=True)
            ]
            convective = np.stack([own.space.local(flux) for flux in fluxes])
            if self.diffusive_spaces:
                diffusive.append(np.stack([self._scheme_flux(scheme, own, t, *entry) for entry in both]))
        if self.diffusive_spaces:
            averaged = [self._averaged(f, t, rate) for f, (_, rate) in zip(state, taken, strict=False)]
            diffusive.append(np.stack(averaged))
        return MeshNode(node, state, tuple(diffusive), convective)

    def defect_size(self, defect: Array) -> float:
        return self.target.norm_l2(self.nodal.field(defect))

    def _convective(
        self, own: FluxRecovery, moments: tuple[Array, Array], t: float, field: Array, rate: bool
    ) -> Array:
        """h̃, with f(û)·n where the scheme has the total flux for its convective one."""
        cells, facets = moments
        if self._natural is not None:
            for part, trace, _ in self._natural.of(self.target, field, t, rate):
                if part.condition.total:
                    facets[:, :, part.facets] = part.along(t) * trace * part.density
        return own.interpolate(cells, facets)

    def _scheme_flux(
        self, scheme: SchemeFluxes, own: FluxRecovery, t: float, u: Array, field: Array, rate: bool
    ) -> Array:
        """d_A, coefficients within the cells."""
        cells, facets, minus, plus = scheme.diffusive(t, u, rate)
        if self._natural is not None:
            for part, _, flux in self._natural.of(self.target, field, t, rate):
                facets[:, :, part.facets] = flux
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
    natural
        Conditions that give the normal flux.
    """

    def __init__(self, target: BrokenSpace, diffusion: Array, natural: NaturalConditions | None) -> None:
        self.space = RaviartThomasSpace(target.mesh, target.degree - 1)
        self._target, self._diffusion = target, diffusion
        self._recovery = FluxRecovery(self.space)
        self._natural: NaturalFluxes | None = None
        if natural is not None and len(natural):
            points = target.mesh.reference.on_facet.quadrature(self._recovery.facet_order)[0]
            self._natural = natural.at(points)
            self._absorbing = np.setdiff1d(natural.facets, natural.met)

    def __call__(self, field: Array, t: float, rate: bool = False) -> Array:
        given = None
        if self._natural is not None:
            given = self._natural.given(self._target, field, t, rate)
            given[:, :, self._absorbing] = np.nan  # D∇û·n as it is
        return self.space.local(self._recovery.averaged(self._target, field, self._diffusion, given))
