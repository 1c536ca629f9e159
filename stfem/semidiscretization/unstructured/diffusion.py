"""Symmetric interior penalty method (SIPG) on unstructured meshes, assembled once.

With q = D∇u·n, jump [u] = u⁻ − u⁺, weights ω^s = δ^r/(δ⁻ + δ⁺) of the two sides (r the other one), δ = n·Dn,

    |K| P_i = −∫ D∇u·∇φ + Σ_F ∫_F ( (ω⁻q⁻ + ω⁺q⁺)(u) [φ] + (ω⁻q⁻ + ω⁺q⁺)(φ) [u] − σ [u][φ] ),

on Dirichlet facets with u⁺ = g, φ⁺ = 0, ω⁻ = 1; where a flux is given it stands for q. The weights keep the
scheme robust where D jumps, however much, and are ½ where it does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from stfem.equations import Equation
from stfem.fluxes import InteriorPenalty
from stfem.meshes.facets import Index
from stfem.meshes.quadrature import Array
from stfem.meshes.unstructured import UnstructuredMesh
from stfem.problems.arguments import LARGEST
from stfem.problems.bounded import cell_numbers
from stfem.problems.conditions import Condition
from stfem.semidiscretization.unstructured.boundary import BoundaryFacets, boundary_facets
from stfem.semidiscretization.unstructured.solver import Linearisation
from stfem.spaces.block_sparse import BlockAssembler, BlockPattern, Term, from_vector, to_vector
from stfem.spaces.broken import BrokenSpace

__all__ = ["Diffusion", "cell_diffusion"]

#: Largest angle (as a sine) between Dn and the line through two centres in a two-point flux.
_SKEW = 1e-8
#: Relative accuracy of the largest eigenvalue, which Lanczos finds from below.
_EIGENVALUE = 0.02


class Diffusion:
    """P(t, u) = Lu + ℓ(t): the matrix of L, and the load ℓ of boundary data.

    Parameters
    ----------
    space
        Discontinuous space.
    equation
        The equation; its D acts on the components of weight 1.
    penalty
        Rule for the penalty factor.
    boundary
        Conditions by name, or one for all of the boundary.

    Raises
    ------
    ValueError
        For degree 0 on a mesh where the two-point flux is not consistent.
    """

    def __init__(
        self,
        space: BrokenSpace,
        equation: Equation,
        penalty: InteriorPenalty,
        boundary: Mapping[str, Condition] | Condition,
    ) -> None:
        self.space, self.equation, self.penalty = space, equation, penalty
        self.matrix_of_cells = cell_diffusion(equation, space.mesh)
        self.pattern = BlockPattern(space.mesh)
        parameters, weights = space.mesh.reference.on_facet.quadrature(2 * space.degree + 2)
        parts = boundary_facets(space.mesh, boundary, equation, parameters)
        active = any(equation.diffused) and bool(np.any(self.matrix_of_cells))
        self._loads = [_Load(self, part, parameters, weights) for part in parts if _has_load(part, active)]
        #: Whether P is there at all.
        self.present = active or bool(self._loads) or not all(part.alpha.is_zero for part in parts)
        for part in parts:
            if part.alpha.time_dependent:
                raise ValueError(
                    f"boundary {part.name!r}: expected alpha independent of time, got {part.condition!r}"
                )
        self.conditions = boundary

    @cached_property
    @np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused by `spectral_radius`
    def matrix(self) -> sparse.bsr_array:
        """|K|·L for one component that diffuses."""
        space = self.space
        assembler = BlockAssembler(space, 2 * space.degree + (0 if space.mesh.affine else space.mesh.dim))
        self._add_cells(assembler)
        self._add_interior(assembler)
        for part in boundary_facets(space.mesh, self.conditions, self.equation, assembler.parameters):
            if part.condition.trace:
                slope, sigma = self.dirichlet(part, assembler.parameters)
                terms = [Term(0, 0, -sigma)]
                for j, coefficient in enumerate(slope):
                    terms += [Term(0, 1 + j, coefficient), Term(1 + j, 0, coefficient)]
                assembler.add_boundary(part.facets, terms)
            elif not part.alpha.is_zero:
                assembler.add_boundary(part.facets, [Term(0, 0, -part.alpha(0.0)[0] * part.density)])
        return assembler.matrix(self.pattern)

    def _add_cells(self, assembler: BlockAssembler) -> None:
        mesh = self.space.mesh
        axes = range(mesh.dim)
        maps = mesh.cell_map(assembler.points)
        stiffness = -np.einsum("jipc,kipc->jkpc", maps.inverse, self._pulled(maps.inverse)) * maps.determinant
        assembler.add_cells([Term(1 + j, 1 + k, stiffness[j, k]) for j in axes for k in axes])

    def _add_interior(self, assembler: BlockAssembler) -> None:
        axes = range(self.space.mesh.dim)
        _, slopes, sigma = self.interior(assembler.parameters)
        signs = (1.0, -1.0)
        assembler.add_interior(
            [
                [
                    [
                        Term(0, 0, -signs[s] * signs[r] * sigma),
                        *(Term(0, 1 + j, signs[s] * slopes[r][j]) for j in axes),
                        *(Term(1 + j, 0, signs[r] * slopes[s][j]) for j in axes),
                    ]
                    for r in (0, 1)
                ]
                for s in (0, 1)
            ]
        )

    def interior(self, parameters: Array) -> tuple[list[Array], list[Array], Array]:
        """Of the interior facets and both sides: ω ``(P, F)``; coefficients of ∂̂_j in ωD∇u·n ds; σ ds."""
        inner = np.arange(self.space.mesh.facets.interior)
        normals, density = self.space.mesh.facet_normals(parameters, inner)
        sides = [self._side(s, parameters, inner, normals) for s in (0, 1)]
        total = sides[0][0] + sides[1][0]
        half = np.full_like(total, 0.5)
        share = [np.divide(sides[1 - s][0], total, out=half.copy(), where=total > 0.0) for s in (0, 1)]
        sigma = self._penalty(inner, [(share[s], sides[s][0]) for s in (0, 1)])
        return share, [share[s] * density * sides[s][1] for s in (0, 1)], sigma * density

    def dirichlet(self, part: BoundaryFacets, parameters: Array) -> tuple[Array, Array]:
        """Coefficients of ∂̂_j in D∇u·n ds ``(d, P, F)``, and σ ds ``(P, F)``, on a part of the boundary."""
        delta, slope = self._side(0, parameters, part.facets, part.normals)
        sigma = self._penalty(part.facets, [(np.ones_like(delta), delta)])
        return slope * part.density, sigma * part.density

    def _pulled(self, inverse: Array) -> Array:
        """D J^{-T}: ``(d, d, P, C)`` like the inverse."""
        return np.asarray(np.einsum("ilpc,jlpc->jipc", self.matrix_of_cells[:, :, None], inverse))

    def _side(self, side: int, parameters: Array, facets: Index, normals: Array) -> tuple[Array, Array]:
        """n·Dn ``(P, F)`` and the coefficients of ∂̂_j in D∇u·n ``(d, P, F)`` seen from one side."""
        mesh = self.space.mesh
        conormal = self.conormal(side, facets, normals)
        inverse = np.empty((mesh.dim, mesh.dim, normals.shape[1], len(facets)))
        for local, turned, where in mesh.facet_groups(side, facets):
            points = mesh.reference.facet_points(local, parameters, turned)
            inverse[..., where] = mesh.cell_map(points, mesh.facets.cells[side, facets[where]]).inverse
        return (normals * conormal).sum(axis=0), np.einsum("jlpf,lpf->jpf", inverse, conormal)

    def conormal(self, side: int, facets: Index, normals: Array) -> Array:
        """Dn ``(d, P, F)``."""
        matrices = self.matrix_of_cells
        if matrices.shape[2] > 1:
            matrices = matrices[:, :, self.space.mesh.facets.cells[side, facets]]
        matrices = np.broadcast_to(matrices, (*matrices.shape[:2], len(facets)))
        return np.asarray(np.einsum("ilf,lpf->ipf", matrices, normals))

    def _penalty(self, facets: Index, sides: list[tuple[Array, Array]]) -> Array:
        """σ ``(P, F)`` = 2 · factor · Σ_sides ω² δ |F|/|K|, which is factor · δ |F|/|K| within equal cells.

        For degree 0 the two-point flux takes its place, σ = 1 / Σ_sides (distance to the facet)/δ.
        """
        mesh = self.space.mesh
        factor = self.penalty.coefficient(self.space.degree, 1.0, mesh.dim, True)
        if self.space.degree == 0:
            return self._two_point(facets, [delta for _, delta in sides])
        result = np.zeros_like(sides[0][1])
        for s, (share, delta) in enumerate(sides):
            cells = mesh.facets.cells[s, facets]
            result += share**2 * delta * (mesh.facet_measures[facets] / mesh.cell_measures[cells])
        return 2.0 * factor * result

    def _two_point(self, facets: Index, deltas: list[Array]) -> Array:
        mesh = self.space.mesh
        middle = mesh.reference.on_facet.vertices.mean(axis=1, keepdims=True)
        centres, normals = (
            mesh.facet_points(middle, facets)[:, 0],
            mesh.facet_normals(middle, facets)[0][:, :1],
        )
        resistance = np.zeros_like(deltas[0])
        for s, delta in enumerate(deltas):
            cells = mesh.facets.cells[s, facets]
            line = centres - mesh.centroids[:, cells] + (mesh.facets.shift[:, facets] if s else 0.0)
            length = np.linalg.norm(line, axis=0)
            conormal = self.conormal(s, facets, normals)[:, 0]
            along = np.abs((conormal * line).sum(axis=0))
            size = np.linalg.norm(conormal, axis=0) * length
            if np.any(size > along + _SKEW * size) or (not mesh.affine and np.any(size > 0.0)):
                raise ValueError(
                    "degree: expected at least 1 for diffusion on cells whose centres do not lie along "
                    "D·normal from those of their facets (lines, rectangles with diagonal D are fine), got 0"
                )
            with np.errstate(divide="ignore"):
                resistance += length / delta
        return 1.0 / resistance

    def apply(self, u: Array) -> Array:
        """L u on all components ``(m, modes, C)``."""
        products = np.empty_like(u)
        for component, weight in enumerate(self.equation.diffused):
            if weight:
                vector = self.matrix @ to_vector(u[component : component + 1])
                products[component] = from_vector(vector, (1, *u.shape[1:]))[0]
            else:
                products[component] = 0.0
        products /= self.space.mesh.cell_measures
        return products

    def solve(self, rhs: Array, shift: float) -> Array:
        """x with (I − shift·L) x = rhs ``(m, modes, C)``.

        Raises
        ------
        SolveError
            With the residual that was left.
        """
        x = rhs.copy()
        for component, weight in enumerate(self.equation.diffused):
            if weight:
                x[component] = self._linear.solve(rhs[component : component + 1], shift)[0]
        return x

    @cached_property
    def _linear(self) -> Linearisation:
        return Linearisation(self.matrix, self.pattern)

    @property
    def driven(self) -> bool:
        """Whether there is a load at all."""
        return bool(self._loads)

    def load(self, t: float) -> Array:
        """ℓ(t) ``(m, modes, C)``: Dirichlet values and given fluxes."""
        result = np.zeros((self.equation.components, self.space.modes, self.space.mesh.size))
        for load in self._loads:
            load.add(t, result)
        return result

    @property
    def spectral_radius(self) -> float:
        """Largest eigenvalue of −L, in 1/time, found by Lanczos and rounded up by 2 %."""
        scale = np.repeat(self.space.mesh.cell_measures**-0.5, self.space.modes)
        matrix, size = self.matrix, self.matrix.shape[0]
        if not np.any(matrix.data):
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            rows = float((scale * (abs(matrix) @ scale)).max())  # no eigenvalue is larger
        if not rows <= LARGEST:
            raise ValueError(
                f"diffusion: expected rates D/h² and alpha/h up to {LARGEST:g}, got {rows:g} "
                f"on cells down to the size {self.space.mesh.cell_diameters.min():g}"
            )
        if size <= 2:
            return float(np.linalg.eigvalsh(-scale[:, None] * matrix.toarray() * scale).max())
        operator = LinearOperator((size, size), matvec=lambda v: -scale * (matrix @ (scale * v)), dtype=float)
        start = np.random.default_rng(1).normal(size=size)
        try:
            largest = eigsh(operator, 1, which="LA", v0=start, tol=_EIGENVALUE, return_eigenvectors=False)
        except ArpackError:  # among them that it did not converge
            return rows
        return float((1.0 + _EIGENVALUE) * largest[0])


class _Load:
    """What g on one part of the boundary adds to P: moments against σφ − D∇φ·n or φ."""

    def __init__(self, diffusion: Diffusion, part: BoundaryFacets, parameters: Array, weights: Array) -> None:
        space = diffusion.space
        assembler = BlockAssembler(space, 0)
        self.part = part
        self.cells = space.mesh.facets.cells[0, part.facets]
        table = np.empty((space.modes, len(weights), len(part.facets)))
        for local, _, where in space.mesh.facet_groups(0, part.facets):
            functionals = assembler.functionals(space.mesh.reference.facet_points(local, parameters))
            values = np.broadcast_to(functionals[0].T[:, :, None], (*functionals.shape[:0:-1], len(where)))
            if part.condition.trace:
                slope, sigma = diffusion.dirichlet(part, parameters)
                slope = np.broadcast_to(slope[..., where], (len(slope), *values.shape[1:]))
                test = values * sigma[:, where] - np.einsum("jqi,jqf->iqf", functionals[1:], slope)
            else:
                test = values * part.density[:, where]
            table[:, :, where] = test
        table *= weights[:, None] / space.mesh.cell_measures[self.cells]
        if space.transform is not None:
            table = np.einsum("jif,jqf->iqf", space.transform[:, :, self.cells], table)
        sides = space.mesh.facets.local[0, part.facets]
        self._sides = [np.flatnonzero(sides == local) for local in np.unique(sides)]
        self._table = table
        self._diffused = np.array(diffusion.equation.diffused) if part.condition.trace else None
        self._kept: Array | None = None

    def add(self, t: float, result: Array) -> None:
        """``result`` += moments at time t."""
        moments = self._kept
        if moments is None:
            moments = np.einsum("iqf,mqf->mif", self._table, self.part.g(t))
            if self._diffused is not None:
                moments *= self._diffused[:, None, None]
            if not self.part.g.time_dependent:
                self._kept = moments
        for local in self._sides:  # facets that lie alike belong to different cells
            result[:, :, self.cells[local]] += moments[:, :, local]


def cell_diffusion(equation: Equation, mesh: UnstructuredMesh) -> Array:
    """D of every cell ``(d, d, C)``, or ``(d, d, 1)`` where it is the same in all."""
    jumps = equation.subdomain_diffusion
    if jumps is None:
        return equation.diffusion[:, :, None]
    return np.stack(list(jumps.values()), axis=-1)[:, :, cell_numbers(mesh, list(jumps))]


def _has_load(part: BoundaryFacets, active: bool) -> bool:
    """Total fluxes belong to convection; values count only where there is diffusion."""
    return not part.g.is_zero and not part.condition.total and (active or not part.condition.trace)
