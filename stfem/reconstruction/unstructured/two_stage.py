"""Sharp reconstructions: one global symmetric solve per time node, started from a local one (T5.1, T5.2)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from scipy.sparse import block_diag, coo_array, csr_array

from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.problems import Problem
from stfem.reconstruction.unstructured.given import cells_near, parts_of
from stfem.reconstruction.unstructured.nodal import NodalReconstruction
from stfem.reconstruction.unstructured.node import AveragedFlux, LocalReconstruction, MeshNode
from stfem.reconstruction.unstructured.systems import Factored, FixedIterations
from stfem.spaces.continuous import ContinuousSpace
from stfem.spaces.raviart_thomas import RaviartThomasSpace
from stfem.timestepping import Node

__all__ = ["BoundTwoStage", "BoundTwoStageMixed"]

#: √κ T, flat over two decades (T5).
_MEMORY = 5.0
#: Layers of cells at a lifted side where u_h, which the boundary condition pulls there, is forgotten: the
#: pull falls by (q + 1)² ε/(bh), a tenth where the layer is unresolved, from one to the next.
_FORGOTTEN_LAYERS = 4
#: Largest T_K λ_min(D)/h_K² of the mixed system, the ratio of what divergences and fluxes weigh in it: half
#: of all digits. Bounds are the same from 1e6 to 1e10.
_LARGEST_RATIO = 1e8
#: Order of the quadrature beyond twice the degree, for sources that are no polynomials.
_DATA_ORDER = 4


class _SecondStage:
    """What both variants share: u1 at quadrature points, and û of degree q + 2 with given boundary values."""

    per_node = 1

    def __init__(
        self,
        first: LocalReconstruction,
        problem: Problem,
        degree: int | None = None,
        memory: float | None = None,
        lifted: Collection[str] = (),
    ) -> None:
        self.first, self.problem = first, problem
        self.space = first.space
        mesh = first.space.mesh
        self.continuous = ContinuousSpace(mesh, first.space.degree + 2 if degree is None else degree)
        self.target = self.continuous.broken
        self.convective_space = first.convective_space
        reaction = problem.equation.reaction
        c = reaction.constant_value() if reaction.constant else 0.0
        kappa = (_MEMORY / problem.final_time) ** 2 + c**2 if memory is None else memory
        if not kappa > 0.0:
            raise ValueError(f"memory: expected κ > 0, got {memory}")
        self._kappa = np.full(mesh.size, kappa)
        for part in parts_of(problem, mesh):
            if part.name in lifted:
                self._kappa[cells_near(mesh, part.facets, _FORGOTTEN_LAYERS)] = 0.0
        self._given = first.boundary.at(self.continuous)
        self._averaged = AveragedFlux(self.target, first.diffusion, first.natural)
        self._points, weights = mesh.reference.quadrature(2 * self.target.degree + _DATA_ORDER)
        self._x = mesh.points(self._points)
        self._x.flags.writeable = False
        self._weights = weights[:, None] * mesh.cell_map(self._points).determinant
        self._weights = np.broadcast_to(self._weights, (len(weights), mesh.size))
        self._gradients = self.continuous.lagrange_gradients(self._points)
        self._table = self.continuous.lagrange(self._points)
        equation = problem.equation
        self._steady = equation.linear and not any(b.time_dependent for b in equation.velocity)
        self._kept: Factored | None = None

    def defect_size(self, defect: Array) -> float:
        """‖·‖ of what the local reconstruction makes of a defect."""
        return self.first.defect_size(defect)

    def _along(self, t: float, u1: Array) -> Array:
        """b·∇φ of the nodal functions, ``(Q, modes, C)``; for a nonlinear flux b = f'(u1)."""
        equation = self.problem.equation
        if equation.linear:
            velocity = [b(self._x, t) for b in equation.velocity]
        else:
            here, one = u1[None], np.ones_like(u1)[None]
            velocity = [equation.jacobian_product(here, one, self._x, t, i)[0] for i in range(equation.dim)]
        along: Array = np.einsum("iqc,iqnc->qnc", np.stack(velocity), self._gradients)
        return along

    def _source(self, node: MeshNode) -> tuple[Array, Array]:
        """u1 and g − ∂_tu1 − (c + ∇·b)u1 at the points ``(Q, C)``."""
        equation, t = self.problem.equation, node.time
        u1, rate = (self.first.target.values(field, self._points)[0] for field in node.state)
        result: Array = self.problem.source[0](self._x, t) - rate
        for data in (equation.reaction, *(equation.velocity_divergence if equation.linear else ())):
            if not data.is_zero:
                result -= data(self._x, t) * u1
        return u1, result

    def _fluxes(self, node: MeshNode, field: Array) -> tuple[Array, ...]:
        """d_A of the scheme, where there is one, and d_B of û."""
        if not node.diffusive:
            return ()
        return (*(flux[:1] for flux in node.diffusive[:-1]), self._averaged(field, node.time)[None])

    @property
    def nodal(self) -> NodalReconstruction:
        """The rule of the first stage."""
        return self.first.nodal

    @property
    def _own_spaces(self) -> tuple[RaviartThomasSpace, ...]:
        spaces = self.first.diffusive_spaces
        return (*spaces[:-1], self._averaged.space) if spaces else ()


class BoundTwoStage(_SecondStage):
    """û of degree q + 2 by least squares along the flow (T5.1); sharp for ε ≲ h², 0 included.

    With u1 from a local reconstruction, one global solve at every time node in continuous P_{q+2}:

        (b·∇v, b·∇φ) + κ(v, φ) + (D∇v, ∇φ)
            = (g − ∂_tu1 − (c + ∇·b)u1 + ∇·d_B(u1), b·∇φ) + κ(u1, φ) + (d_B(u1), ∇φ)   for all φ

    with g as it is (its projection would stall the bound), v given on the Dirichlet boundary. For a nonlinear
    flux b = f'(u1) and c + ∇·b = c, the residual is that of the true flux all the same. û has no rate
    of its own: interpolate in time with `Lagrange`. Valid where u1 is; any v is, so that an inexact solve
    costs sharpness and never the guarantee.

    Cost: one sparse symmetric factorisation for a velocity that does not depend on time or on u (else one per
    node), then two triangular solves per node; or one sparse product per iteration, and no factorisation.

    Parameters
    ----------
    first
        Local reconstruction u1 with its fluxes.
    problem
        Scalar.
    degree
        Degree of û, q + 2 by default.
    memory
        κ in 1/time², (5/T)² + c² by default with a constant reaction c; c² for stationary problems.
    lifted
        Boundaries with layers that are lifted: κ = 0 in the cells next to them, where u_h follows the layer;
        v there continues along the flow what comes from upstream.
    iterations
        Steps of `FixedIterations` from u1 that take the place of the factorisation; None for an exact solve.

    Raises
    ------
    ValueError
        For a number of steps below 1.
    """

    def __init__(
        self,
        first: LocalReconstruction,
        problem: Problem,
        degree: int | None = None,
        memory: float | None = None,
        lifted: Collection[str] = (),
        iterations: int | None = None,
    ) -> None:
        super().__init__(first, problem, degree, memory, lifted)
        if iterations is not None and iterations < 1:
            raise ValueError(f"iterations: expected at least 1 step, got {iterations}")
        self._iterations = iterations
        self._system: Factored | FixedIterations | None = None

    @property
    def diffusive_spaces(self) -> tuple[RaviartThomasSpace, ...]:
        """Of d_A, where the scheme's flux is known, and d_B(û)."""
        return self._own_spaces

    def at_node(self, node: Node) -> MeshNode:
        first = self.first.at_node(node)
        u1, source = self._source(first)
        flux = np.zeros((self.space.mesh.dim, *u1.shape))
        if first.diffusive:
            space, local = self.first.diffusive_spaces[-1], first.diffusive[-1][0]
            source += space.divergence(local, self._points)[0]
            flux = space.values(local, self._points)[:, 0]
        along, w = self._along(node.time, u1), self._weights
        load = np.einsum("qnc,qc->nc", along, w * source)
        load += np.einsum("qn,qc->nc", self._table, self._kappa * w * u1)
        load += np.einsum("iqnc,iqc->nc", self._gradients, w * flux)
        values = self._solve(along, self.continuous.assemble_load(load[None])[0], first)
        field = self.continuous.to_broken(values[None])
        convective = None if first.convective is None else first.convective[:1]
        return MeshNode(node, field[None], self._fluxes(first, field), convective)

    def _solve(self, along: Array, load: Array, first: MeshNode) -> Array:
        given, nodes, count = self._given(first.time)[0], self._given.nodes, self._iterations
        if self._system is None or not self._steady:
            matrix = self._matrix(along)
            self._system = Factored(matrix, nodes) if count is None else FixedIterations(matrix, nodes, count)
        if isinstance(self._system, Factored):
            return self._system.solve(load, given)
        cells, local = self.continuous.hosts
        start = self.first.target.values(first.state[0], self.continuous.lattice)[0]
        return self._system.solve(load, given, start[local, cells])

    def _matrix(self, along: Array) -> csr_array:
        w = self._weights
        blocks = _gram(along, along * w[:, None])
        blocks += np.einsum("qn,qm,qc->nmc", self._table, self._table, self._kappa * w, optimize=True)
        if np.any(self.first.diffusion):
            diffused = np.einsum("ijc,jqnc->iqnc", self.first.diffusion, self._gradients)
            blocks += sum(_gram(g, d * w[:, None]) for g, d in zip(self._gradients, diffused, strict=True))
        return self.continuous.assemble(blocks)


class BoundTwoStageMixed(_SecondStage):
    """û of degree q + 2 together with its flux (T5.2); sharp for ε ≳ h², and never far off.

    With u1 from a local reconstruction, the minimiser at every time node over v ∈ P_{q+2}, σ ∈ RT_{q+1} of

        T‖∂_tu1 + (c + ∇·b)u1 + b·∇v − ∇·σ − g‖² + κT‖v − u1‖² + ‖D^{-1/2}(σ − D∇v)‖² ,   d̃ = σ .

    In cells with h_K² < 1e-8 Tλ_min(D) a smaller T_K takes the place of T, for round-off. The fluxes d_A and
    d_B(v) remain candidates. Valid where u1 is, D positive definite; any v and σ are.

    Cost: as `BoundTwoStage`, with about three times as many unknowns.

    Parameters
    ----------
    first, problem, degree, memory, lifted
        As in `BoundTwoStage`.

    Raises
    ------
    ValueError
        For D that is not positive definite.
    """

    def __init__(
        self,
        first: LocalReconstruction,
        problem: Problem,
        degree: int | None = None,
        memory: float | None = None,
        lifted: Collection[str] = (),
    ) -> None:
        super().__init__(first, problem, degree, memory, lifted)
        matrices = np.moveaxis(first.diffusion, -1, 0)
        smallest = np.linalg.eigvalsh(matrices)[:, 0]
        if not smallest.min() > 0.0:
            raise ValueError(
                f"diffusion: expected positive definite, got smallest eigenvalue {smallest.min():g}"
            )
        mesh = first.space.mesh
        # where cells are tiny, T would leave no digits for fluxes without divergence
        self._durations = np.minimum(problem.final_time, _LARGEST_RATIO * mesh.cell_diameters**2 / smallest)
        self._flux_space = RaviartThomasSpace(mesh, self.target.degree - 1)
        local, maps = self._flux_space.local_space, mesh.cell_map(self._points)
        scaled = maps.jacobian / maps.determinant
        self._fluxes_table = np.einsum("ijqc,jqn->iqnc", scaled, local.values(self._points))
        self._divergences = local.divergences(self._points)[:, :, None] / maps.determinant[:, None]
        self._inverse = np.moveaxis(np.linalg.inv(matrices), 0, -1)
        self._diffused = np.einsum("ijc,jqnc->iqnc", first.diffusion, self._gradients)
        self._gather = csr_array(block_diag([_incidence(self.continuous), self._flux_space.gather]))
        self._dofs = np.concatenate([self._given.nodes, self.continuous.size + self._natural_dofs()])

    @property
    def diffusive_spaces(self) -> tuple[RaviartThomasSpace, ...]:
        """Of d_A, where the scheme's flux is known, d_B(û) and σ."""
        return (*self._own_spaces, self._flux_space)

    def _natural_dofs(self) -> Index:
        """Coefficients of the flux on facets where its normal component is given."""
        natural = self.first.natural
        chosen = np.zeros(0, dtype=np.intp) if natural is None else natural.met
        modes, count = self._flux_space.local_space.facet_modes, self.space.mesh.facets.count
        return np.asarray((np.arange(modes)[:, None] * count + chosen).ravel(), dtype=np.intp)

    def _natural_moments(self, node: MeshNode) -> Array:
        """Their values, from q(u1)."""
        natural = self.first.natural
        if natural is None or len(natural) == 0:
            return np.zeros(0)
        order = 2 * self._flux_space.degree + 2
        points = self.space.mesh.reference.on_facet.quadrature(order)[0]
        given = natural.at(points).given(self.first.target, node.state[0], node.time)
        moments = self._flux_space.facet_moments(given[:, :, natural.met], order)
        return np.asarray(moments[0].ravel())

    def at_node(self, node: Node) -> MeshNode:
        first = self.first.at_node(node)
        u1, source = self._source(first)
        duration, w = self._durations, self._weights
        along = self._along(node.time, u1)
        of_values = np.einsum("qnc,qc->nc", along, duration * w * source)
        of_values += np.einsum("qn,qc->nc", self._table, self._kappa * duration * w * u1)
        divergences = np.broadcast_to(self._divergences, (*self._divergences.shape[:2], self.space.mesh.size))
        of_fluxes = -np.einsum("qnc,qc->nc", divergences, duration * w * source)
        if self._kept is None or not self._steady:
            self._kept = Factored(self._matrix(along, divergences), self._dofs)
        load = self._gather.T @ np.concatenate([of_values.ravel(), of_fluxes.ravel()])
        given = np.concatenate([self._given(node.time)[0], self._natural_moments(first)])
        solution = self._kept.solve(load, given)
        field = self.continuous.to_broken(solution[None, : self.continuous.size])
        flux = self._flux_space.local(solution[None, self.continuous.size :])
        convective = None if first.convective is None else first.convective[:1]
        return MeshNode(node, field[None], (*self._fluxes(first, field), flux[None]), convective)

    def _matrix(self, along: Array, divergences: Array) -> csr_array:
        w, duration = self._weights, self._durations
        outer = np.concatenate([along, -divergences], axis=1)
        blocks = duration * _gram(outer, outer * w[:, None])
        defect = np.concatenate([-self._diffused, self._fluxes_table], axis=2)
        weighted = np.einsum("ijc,jqnc->iqnc", self._inverse, defect * w[:, None])
        blocks += sum(_gram(d, e) for d, e in zip(defect, weighted, strict=True))
        n = self._table.shape[1]
        mass = np.einsum("qn,qm,qc->nmc", self._table, self._table, w, optimize=True)
        blocks[:n, :n] += self._kappa * duration * mass
        size, cells = blocks.shape[1], blocks.shape[2]
        number = np.arange(size * cells).reshape(size, cells)
        places = (
            np.broadcast_to(number[:, None], blocks.shape).ravel(),
            np.broadcast_to(number[None], blocks.shape).ravel(),
        )
        local = csr_array(coo_array((blocks.ravel(), places), shape=(size * cells, size * cells)))
        return csr_array(self._gather.T @ (local @ self._gather))


def _gram(left: Array, right: Array) -> Array:
    """Σ_q left[q, n, c] right[q, m, c], ``(n, m, C)``, as one batch of matrix products."""
    return np.ascontiguousarray((left.transpose(2, 1, 0) @ right.transpose(2, 0, 1)).transpose(1, 2, 0))


def _incidence(space: ContinuousSpace) -> csr_array:
    """From nodal values to those within the cells, ``(modes · C, size)``."""
    count = space.nodes.size
    places = (np.arange(count), space.nodes.ravel())
    return csr_array(coo_array((np.ones(count), places), shape=(count, space.size)))
