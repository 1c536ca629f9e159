"""What a residual on the boundary costs, against brute force: lifts, absorption, growth, total variation."""

import numpy as np
import pytest
from mesh_cases import box_mesh
from sample_meshes import irregular
from scipy.linalg import eigh
from scipy.sparse.linalg import splu

import stfem
from stfem import Dirichlet, Neumann, Outflow, Problem, Robin, TotalFlux
from stfem.data import Polynomial
from stfem.equations import AdvectionDiffusion
from stfem.reconstruction import Hermite, Lagrange, TwoStage, TwoStageMixed, VertexPatches
from stfem.reconstruction.unstructured import mesh_slabs
from stfem.reconstruction.unstructured.facet_lift import lift_constants
from stfem.residual.boundary_growth import SPENT, boundary_growth
from stfem.residual.unstructured import MeshResidual
from stfem.spaces.continuous import ContinuousSpace
from stfem.spaces.legendre import gauss

SIDES = ("left", "right", "bottom", "top", "front", "back")


def ray_integrals(apex, corners, r, order=40):
    """∫_K (∇·τ)² and ∫_K |τ|² for τ = (x − a) r(π(x))/H on a triangle, and ∫_F r², H; by quadrature."""
    s, w = gauss(order)
    y = corners[0] + s[:, None] * (corners[1] - corners[0])
    length = np.linalg.norm(corners[1] - corners[0])
    across = corners[1] - corners[0]
    along = corners[0] - apex
    height = abs(across[0] * along[1] - across[1] * along[0]) / length
    on_facet = length * (w * r(s) ** 2).sum()
    # x = a + ρ(y − a), dx = ρ H dρ dy
    divergence = sum(
        v * p * height * length * (w * (2 * r(s) / height) ** 2).sum() for p, v in zip(s, w, strict=True)
    )
    reach = ((y - apex) ** 2).sum(axis=1)
    size = sum(
        v * p * height * length * (w * p**2 * reach * (r(s) / height) ** 2).sum()
        for p, v in zip(s, w, strict=True)
    )
    return divergence / on_facet, size / on_facet


def test_lift_into_a_triangle():
    mesh = irregular("triangles", 3)
    facets = mesh.facets.boundary
    divergence, size = lift_constants(mesh, facets)
    ends = mesh.facet_points(np.array([[0.0, 1.0]]), facets)
    for n, facet in enumerate(facets):
        cell = mesh.cells[:, mesh.facets.cells[0, facet]]
        vertices = mesh.vertices[:, cell].T
        corners = ends[:, :, n].T
        distance = np.linalg.norm(vertices[:, None] - corners[None], axis=2).min(axis=1)
        apex = vertices[np.argmax(distance)]
        for r in (lambda s: 1.0 + 0.0 * s, lambda s: np.sin(9.0 * s)):
            first, second = ray_integrals(apex, corners, r)
            assert divergence[n] == pytest.approx(first, rel=1e-10)
            assert 0.3 * size[n] <= second <= size[n]


@pytest.mark.parametrize("shape", ["line", "quadrilaterals", "tetrahedra", "hexahedra"])
def test_lift_of_a_constant(shape):
    """Lower and upper bounds from what every lift must fulfil: ∫_F r = ∫_K ∇·τ, on cells of size 1/n."""
    mesh = irregular(shape, 2, amount=0.0)
    facets = mesh.facets.boundary
    divergence, size = lift_constants(mesh, facets)
    measures = mesh.cell_measures[mesh.facets.cells[0, facets]]
    areas = mesh.facet_measures[facets]
    least = areas / measures  # |∫∇·τ|² ≤ |K| ‖∇·τ‖²
    np.testing.assert_allclose(divergence, least, rtol=1e-12)
    assert np.all(size > 0.0)


def problem_of(shape, conditions, velocity, eps, n=3, reaction=0.4):
    """A problem with polynomial data of little smoothness in common: it is at odds with its conditions."""
    mesh = box_mesh(shape, n, 0.2)
    dim = mesh.dim()
    names = SIDES[: 2 * dim]
    boundary = {name: conditions.get(name, Dirichlet(0.0)) for name in names}
    x = np.zeros([3] * dim + [1])
    x[(1,) * dim + (0,)], x[(2,) + (1,) * (dim - 1) + (0,)] = 1.0, 0.5
    domain = stfem.Domain(mesh, boundary)
    return Problem(AdvectionDiffusion(velocity[:dim], eps, reaction), domain, Polynomial(x), 0.2)


def weak_residual(problem, slab, target, space, time):
    """⟨R, φ⟩ for all nodal φ straight from the weak form, and the Gram matrix of its dissipation."""
    mesh, t = target.mesh, slab.time.start + time * slab.time.duration
    points, weights = mesh.reference.quadrature(2 * space.degree + 8)
    weights = weights[:, None] * mesh.cell_map(points).determinant
    state, D = slab.at(time, slab.state), problem.equation.diffusion
    slopes = target.gradients(state, points)[:, 0]
    velocity = np.array([b.constant_value() for b in problem.equation.velocity])
    scalar = target.values(slab.at(time, slab.rate), points)[0] + np.tensordot(velocity, slopes, 1)
    scalar += problem.equation.reaction.constant_value() * target.values(state, points)[0]
    table, gradients = space.lagrange(points), space.lagrange_gradients(points)
    load = np.einsum("qc,qn,qc->nc", scalar, table, weights)
    load += np.einsum("iqc,ij,jqnc,qc->nc", slopes, D, gradients, weights, optimize=True)
    gram = np.einsum("qn,qm,qc->nmc", table, table, weights, optimize=True)
    gram += np.einsum("iqnc,ij,jqmc,qc->nmc", gradients, D, gradients, weights, optimize=True)
    parameters, w = mesh.reference.on_facet.quadrature(2 * space.degree + 6)
    for name, condition in problem.domain.boundary.items():
        if isinstance(condition, Dirichlet):
            continue
        facets = mesh.facets.names[name]
        trace = target.traces(state, 0, parameters, facets)[0]
        normals, density = mesh.facet_normals(parameters, facets)
        along = np.einsum("i,iqf->qf", velocity, np.broadcast_to(normals, (len(velocity), *trace.shape)))
        g = condition.data(mesh.dim, 1, "g")[0](mesh.facet_points(parameters, facets), t)
        alpha = condition.transfer(mesh.dim, "alpha").constant_value()
        wanted = along * trace - g if condition.total else g - alpha * trace
        sigma = np.maximum((-0.5 if condition.total else 0.5) * along + alpha, 0.0)
        if not np.any(D) and not condition.total:
            wanted, sigma = 0.0 * trace, 0.5 * along
        for local, turned, where in mesh.facet_groups(0, facets):
            basis = space.lagrange(mesh.reference.facet_points(local, parameters, turned))
            cells = mesh.facets.cells[0, facets[where]]
            measure = w[:, None] * np.broadcast_to(density, trace.shape)[:, where]
            np.add.at(load.T, cells, -np.einsum("qf,qn->fn", measure * wanted[:, where], basis))
            square = np.einsum("qn,qm,qf->fnm", basis, basis, measure * sigma[:, where], optimize=True)
            np.add.at(gram.transpose(2, 0, 1), cells, square)
    return space.assemble_load(load[None])[0], space.assemble(gram)


def growing(dim):
    """The datum 0.3 + t."""
    return Polynomial(np.array([0.3, 1.0]).reshape((1,) * dim + (2,)))


CONDITIONS = {
    "neumann": lambda dim: {"right": Neumann(0.7), "top": Neumann(growing(dim))},
    "tangential": lambda dim: {"right": Neumann(growing(dim)), "bottom": Neumann(0.3)},
    "outflow": lambda dim: {"right": Outflow(), "top": Outflow()},
    "robin": lambda dim: {"right": Robin(-0.3, growing(dim)), "bottom": Robin(0.9, 0.2)},
    "total": lambda dim: {"left": TotalFlux(-0.7), "bottom": TotalFlux(growing(dim)), "right": Neumann(0.2)},
    "entering": lambda dim: {"left": Neumann(0.7)},
}


@pytest.mark.parametrize("case", CONDITIONS)
@pytest.mark.parametrize("eps", [1.0, 1e-2, 1e-5, 0.0])
@pytest.mark.parametrize("shape", ["line", "triangle", "quadrilateral"])
def test_weak_residual_is_at_most_what_is_measured(case, eps, shape):
    """sup_φ ⟨R, φ⟩²/(‖φ‖² + ‖D^{1/2}∇φ‖² + ∫σ_+φ²) ≤ a² + p²/ε for every way and reconstruction.

    And ∫|⟨R, φ⟩| for |φ| ≤ 1 is at most the total variation.
    """
    dim = 1 if shape == "line" else 2
    if eps == 0.0 and case in ("entering", "robin"):
        pytest.skip("nothing is given where the flow enters")
    velocity = (1.0, 0.0) if case == "tangential" else (1.0, 0.5)
    problem = problem_of(shape, CONDITIONS[case](dim), velocity, eps)
    solution = stfem.solve(problem, degree=1, dt=0.02, history=True)
    rules = [VertexPatches()]
    if shape != "quadrilateral":
        rules += [TwoStage()] if eps == 0.0 else [TwoStage(), TwoStageMixed()]
    for rule in rules:
        bound = rule.bind(solution.semidiscretization)
        residual = MeshResidual(problem, bound)
        interpolant = Hermite(3) if bound.per_node == 2 else Lagrange(3)
        slab = list(mesh_slabs(map(bound.at_node, solution.nodes()), interpolant))[1]
        mesh = bound.target.mesh
        space = ContinuousSpace(mesh, bound.target.degree + 2)
        given = [mesh.facets.names[n] for n, c in problem.domain.boundary.items() if isinstance(c, Dirichlet)]
        held = np.concatenate([np.zeros(0, dtype=np.intp), *given])
        linear = ContinuousSpace(mesh, 1)
        free, apart = (np.setdiff1d(np.arange(s.size), s.nodes_on(held)) for s in (space, linear))
        dual, variation = 0.0, 0.0
        times, weights = gauss(5)
        for time, weight in zip(times, weights * slab.time.duration, strict=True):
            load, gram = weak_residual(problem, slab, bound.target, space, float(time))
            solved = splu(gram[free][:, free].tocsc()).solve(load[free])
            dual += weight * float(load[free] @ solved)
            # φ = ±1 at the vertices, with the sign of its load
            load, _ = weak_residual(problem, slab, bound.target, linear, float(time))
            variation += weight * float(np.abs(load[apart]).sum())
        norms = residual.norms(slab)
        measured = [entry.residual_sq.sum() + entry.flux_sq.sum() for entry in norms]
        assert len(norms) == len(residual.ways)
        assert dual <= min(measured) * (1.0 + 1e-9)
        assert variation <= norms[0].variation * (1.0 + 1e-9)
        if case != "entering" and eps < 1.0:
            assert dual >= 1e-3 * min(measured)


def test_a_forgotten_boundary_is_noticed(monkeypatch):
    problem = problem_of("triangle", CONDITIONS["total"](2), (1.0, 0.5), 1e-2)
    solution = stfem.solve(problem, degree=1, dt=0.02, history=True)
    bound = VertexPatches().bind(solution.semidiscretization)
    slab = list(mesh_slabs(map(bound.at_node, solution.nodes()), Lagrange(3)))[1]
    residual = MeshResidual(problem, bound)
    right = min(n.residual_sq.sum() + n.flux_sq.sum() for n in residual.norms(slab))
    zeros = np.zeros((3, len(residual.ways), bound.target.mesh.size))
    monkeypatch.setattr(residual.boundary.natural, "added", lambda *_: tuple(zeros))
    wrong = min(n.residual_sq.sum() + n.flux_sq.sum() for n in residual.norms(slab))
    assert wrong < 0.9 * right


@pytest.mark.parametrize("shape", ["line", "triangles", "quadrilaterals", "tetrahedra"])
@pytest.mark.parametrize("eps", [1.0, 0.05])
def test_growth_through_a_side(shape, eps):
    """2∫σ_−e² − 2θ‖D^{1/2}∇e‖² ≤ 2μ‖e‖² for continuous e of degree 2: the largest eigenvalue is close."""
    mesh = irregular(shape, 3 if shape != "tetrahedra" else 2)
    points = mesh.facet_points(np.asarray(mesh.reference.on_facet.vertices.mean(axis=1, keepdims=True)))
    side = np.flatnonzero(np.abs(points[0, 0] - 1.0) < 1e-9)
    diffusion = np.broadcast_to(eps * np.eye(mesh.dim)[:, :, None], (mesh.dim, mesh.dim, mesh.size))
    excess = np.zeros(mesh.facets.count)
    excess[side] = 0.5
    growth = boundary_growth(mesh, diffusion, excess, mesh.facets.boundary)
    space = ContinuousSpace(mesh, 2)
    points, weights = mesh.reference.quadrature(8)
    weights = weights[:, None] * mesh.cell_map(points).determinant
    table, gradients = space.lagrange(points), space.lagrange_gradients(points)
    mass = space.assemble(np.einsum("qn,qm,qc->nmc", table, table, weights)).toarray()
    stiffness = space.assemble(eps * np.einsum("iqnc,iqmc,qc->nmc", gradients, gradients, weights)).toarray()
    blocks = np.zeros((table.shape[1], table.shape[1], mesh.size))
    parameters, w = mesh.reference.on_facet.quadrature(6)
    density = np.broadcast_to(mesh.facet_normals(parameters, side)[1], (len(w), len(side)))
    for local, turned, where in mesh.facet_groups(0, side):
        basis = space.lagrange(mesh.reference.facet_points(local, parameters, turned))
        square = np.einsum("qn,qm,qf->fnm", basis, basis, 0.5 * w[:, None] * density[:, where])
        np.add.at(blocks.transpose(2, 0, 1), mesh.facets.cells[0, side[where]], square)
    boundary = space.assemble(blocks).toarray()
    largest = float(eigh(2.0 * boundary - 2.0 * SPENT * stiffness, mass, eigvals_only=True)[-1])
    assert largest <= growth <= 20.0 * max(largest, 1.0)


def test_total_variation_of_a_kink():
    """û = |x − ½| at rest, D = 1: R is −2 times the Dirac measure of the kink, and ∓1 at the ends."""
    domain = stfem.Domain(box_mesh("line", 4), {"left": Neumann(0.0), "right": Neumann(3.0)})
    problem = Problem(AdvectionDiffusion(0.0, 1.0), domain, 0.0, 1.0)
    solution = stfem.solve(problem, degree=1, dt=0.5, history=True)
    bound = VertexPatches().bind(solution.semidiscretization)
    slab = next(mesh_slabs(map(bound.at_node, solution.nodes()), Lagrange(3)))
    slab.state[:], slab.rate[:] = 0.0, 0.0
    slab.state[0] = bound.target.project([lambda x, t: np.abs(x[0] - 0.5)])
    residual = MeshResidual(problem, bound)
    # D∂_nû − q is 1 − 0 on both sides of the left, 1 − 3 on the right
    (variation,) = {entry.variation for entry in residual.norms(slab)}
    assert variation == pytest.approx(slab.time.duration * (2.0 + 1.0 + 2.0), rel=1e-10)
