"""A third candidate for d̃: the scheme's flux relaxed towards D∇û on patches (T5.7), for ε ≳ hb/30."""

from __future__ import annotations

import numpy as np

from stfem.equations import Equation
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.problems import Problem
from stfem.reconstruction.unstructured.node import LocalReconstruction, MeshNode
from stfem.reconstruction.unstructured.relaxation import FluxRelaxation
from stfem.spaces.raviart_thomas import RaviartThomasSpace
from stfem.timestepping import Node

__all__ = ["RelaxedFlux", "seen_by_cells"]

#: Largest h|b|/ε of a cell with which d_R is worth its cost.
_PECLET = 30.0


class RelaxedFlux(LocalReconstruction):
    """A local reconstruction with one more flux d_R, made from d_A by local least squares.

    d_A has the divergence of the scheme, which is good, but d_A − D∇u is of order q only for u_h of degree
    q; d_B − D∇u is of order q + 1 for û of degree q + 1, with a divergence one order worse. d_R has the
    merits of both, see `FluxRelaxation`: the wanted divergence leaves nothing of the residual,

        f = ∂_tû + ∇·(bû) + cû − g,      for the rates, as ∂_ttû is not known,   ∇·(b∂_tû − h̃' + d_A'),

    and the first guess are the facet moments of d_A + bû − h̃, with the divergence of the scheme for û. What
    is smooth, and would need a global solve, is right in it already; what is rough a few sweeps remove. So
    the defect of convection goes into the flux as well.

    Valid where ``first`` is: any d̃ is. It pays where diffusion is seen by a cell, see `seen_by_cells`.

    Cost: some products with matrices that couple the facets around a vertex; no global solve.

    Parameters
    ----------
    first
        Local reconstruction with the fluxes of the scheme.
    problem
        Scalar and linear, D positive definite.

    Raises
    ------
    ValueError
        Without fluxes of a linear scheme.
    """

    def __init__(self, first: LocalReconstruction, problem: Problem) -> None:
        vars(self).update(vars(first))  # the same operators, nothing made twice
        if first.convective_space is None or not problem.equation.linear:
            raise ValueError(
                "first: expected the fluxes of a linear scheme, got "
                + ("none" if first.convective_space is None else f"those of {problem.equation!r}")
            )
        natural = first.natural
        self.problem, mesh = problem, first.space.mesh
        self._relaxation = FluxRelaxation(
            first.convective_space, first.target, first.diffusion, None if natural is None else natural.met
        )
        self._points = self._relaxation.points
        self._x = mesh.points(self._points)
        self._x.flags.writeable = False
        self._order = 2 * first.target.degree + 2
        self._parameters = mesh.reference.on_facet.quadrature(self._order)[0]
        self._kept_flow: Array | None = None

    @property
    def diffusive_spaces(self) -> tuple[RaviartThomasSpace, ...]:
        """Of d_A, d_B and d_R."""
        return (*super().diffusive_spaces, self._relaxation.space)

    def at_node(self, node: Node) -> MeshNode:
        first = super().at_node(node)
        taken = len(first.diffusive[0])
        wanted = [self._wanted(first), self._wanted_rate(first)] if taken == 2 else [self._wanted(first)]
        relaxed = self._relaxation(self._start(first), first.state[:taken, 0], np.concatenate(wanted))
        return MeshNode(node, first.state, (*first.diffusive, relaxed[:, None]), first.convective)

    def _start(self, first: MeshNode) -> Array:
        """Facet moments of d_A + bû − h̃; of d_A where the normal flux is given."""
        if first.convective is None:
            raise ValueError("first: expected h̃, got none")
        scheme, own = first.diffusive[0][:, 0], self._relaxation.space
        moments = self._relaxation.facet_moments(scheme - first.convective[:, 0])
        state, mesh = first.state[: len(scheme), 0], self.space.mesh
        traces = self.target.traces(state, 0, self._parameters, np.arange(mesh.facets.count))
        result = own.facet_moments(self._flow(first.time) * traces, self._order)
        result += moments.reshape(result.shape)
        if self.natural is not None:
            given = self._relaxation.facet_moments(scheme).reshape(result.shape)
            result[:, :, self.natural.facets] = given[:, :, self.natural.facets]
        return result.reshape(moments.shape)

    def _flow(self, t: float) -> Array:
        """b·n times ds/d(parameter) at the points of the facets."""
        if self._kept_flow is None or any(b.time_dependent for b in self.problem.equation.velocity):
            mesh = self.space.mesh
            normals, density = mesh.facet_normals(self._parameters)
            x = mesh.facet_points(self._parameters)
            velocity = np.stack(
                [np.broadcast_to(b(x, t), x.shape[1:]) for b in self.problem.equation.velocity]
            )
            self._kept_flow = (velocity * normals).sum(axis=0) * density
        return self._kept_flow

    def _wanted(self, first: MeshNode) -> Array:
        """∂_tû + ∇·(bû) + cû − g at the points, ``(1, Q, C)``."""
        t, equation = first.time, self.problem.equation
        result = self.target.values(first.state[1], self._points) + self._transport(first.state[0], t)
        if not equation.reaction.is_zero:
            result += equation.reaction(self._x, t) * self.target.values(first.state[0], self._points)
        if not self.problem.source[0].is_zero:
            result -= self.problem.source[0](self._x, t)
        return np.asarray(result)

    def _wanted_rate(self, first: MeshNode) -> Array:
        """∇·(b∂_tû − h̃' + d_A') at the points, ``(1, Q, C)``."""
        result, own = self._transport(first.state[1], first.time), self._relaxation.space
        scheme = first.diffusive[0][1] - (0.0 if first.convective is None else first.convective[1])
        return np.asarray(result + own.divergence(scheme, self._points))

    def _transport(self, state: Array, t: float) -> Array:
        """∇·(bû)."""
        equation = self.problem.equation
        velocity = np.stack([np.broadcast_to(b(self._x, t), self._x.shape[1:]) for b in equation.velocity])
        result = np.einsum("iqc,imqc->mqc", velocity, self.target.gradients(state, self._points))
        for divergence in equation.velocity_divergence:
            result += divergence(self._x, t) * self.target.values(state, self._points)
        return np.asarray(result)


def seen_by_cells(mesh: UnstructuredMesh, equation: Equation, diffusion: Array) -> bool:
    """Whether f = bu and, at the initial time and in some cell, the smallest eigenvalue of D is ≥ h|b|/30."""
    smallest = np.linalg.eigvalsh(np.moveaxis(diffusion, -1, 0))[:, 0]
    if not equation.linear or not smallest.min() > 0.0:
        return False
    x = mesh.points(mesh.reference.vertices)
    speed = np.sqrt(sum(np.broadcast_to(b(x, 0.0), x.shape[1:]) ** 2 for b in equation.velocity)).max(axis=0)
    return bool(np.any(speed * mesh.cell_diameters <= _PECLET * smallest))
