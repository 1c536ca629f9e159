"""scikit-fem gets functions on meshes, integrates them alike, and its own fields are certified."""

from dataclasses import replace

import numpy as np
import pytest
import skfem
from mesh_cases import KINDS, box_mesh
from skfem.helpers import dot, grad

import stfem
from stfem.io import from_skfem, to_skfem
from stfem.problems import transient_wave


def rough(kind, degree, n=2):
    dim = KINDS[kind][1]
    eps = 1e-3 if degree else 0.0
    problem = transient_wave(dim, eps, 1e-4, mesh=box_mesh(kind, n, 0.15, turned=True))
    solution = stfem.solve(problem, degree=degree)
    return replace(solution, values=np.random.default_rng(7).normal(size=solution.values.shape))


@skfem.Functional
def square(w):
    return w["u"] ** 2


@skfem.Functional
def squared_slope(w):
    return dot(grad(w["u"]), grad(w["u"]))


@pytest.mark.parametrize("degree", [0, 1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_function(kind, degree):
    solution = rough(kind, degree)
    semi = solution.semidiscretization
    mesh, element, coefficients = to_skfem(solution)
    basis = skfem.Basis(mesh, element, intorder=2 * degree + 3)
    assert coefficients.shape == (basis.N,) == (solution.values.size,)
    field = basis.interpolate(coefficients)
    assert np.asarray(field) == pytest.approx(semi.space.values(solution.values, basis.X)[0].T, abs=1e-11)
    slopes = semi.space.gradients(solution.values, basis.X)[:, 0]
    assert np.asarray(field.grad) == pytest.approx(np.swapaxes(slopes, 1, 2), abs=1e-9)
    norm = square.assemble(basis, u=field)
    assert norm == pytest.approx(semi.space.norm_l2(solution.values) ** 2, rel=1e-11)


def test_traces_on_facets():
    solution = rough("triangle", 2)
    mesh, element, coefficients = to_skfem(solution)
    facets = skfem.FacetBasis(mesh, element, intorder=4)
    values = np.asarray(facets.interpolate(coefficients))
    inside = np.asarray(facets.global_coordinates()) - 1e-9 * np.asarray(facets.normals)
    assert values == pytest.approx(solution(inside), abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_indicators_are_arrays_per_element(kind):
    """A cell of the mesh that is asked for has the indicator of its own."""
    problem = transient_wave(KINDS[kind][1], 1e-2, 0.01, mesh=box_mesh(kind, 2, 0.1))
    result = stfem.certify(problem, degree=1)
    mesh = to_skfem(result.solution).mesh
    assert result.indicators_sq.shape == (mesh.t.shape[1],)
    centres = mesh.p[:, mesh.t].mean(axis=1)
    cells = result.solution.semidiscretization.mesh.locate(centres).cells
    assert np.array_equal(cells, np.arange(mesh.t.shape[1]))


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(kind):
    problem = transient_wave(KINDS[kind][1], 1e-3, 0.01, mesh=box_mesh(kind, 2, 0.15))
    solution = stfem.solve(problem, degree=2, dt=0.005)
    field = to_skfem(solution, history=True)
    again = from_skfem(problem, *field, degree=2, order=solution.stepper.order)
    for a, b in zip(again.nodes(), solution.nodes(), strict=True):
        assert a.time == b.time
        assert a.values == pytest.approx(b.values, abs=1e-13)
    assert stfem.estimate(again).bound == pytest.approx(stfem.estimate(solution).bound, rel=1e-9)


def test_a_box_gets_its_solution_back():
    solution = stfem.solve(transient_wave(2, 1e-3, 0.01), cells=(3, 2), degree=1, dt=0.005)
    field = to_skfem(solution, history=True)
    again = from_skfem(solution.problem, *field, degree=1)
    assert again.values == pytest.approx(solution.values, abs=1e-13)


def test_a_computation_of_scikit_fem_is_certified():
    """Implicit Euler with continuous P1 elements: the error of what it gave lies in the enclosure."""
    problem = transient_wave(2, 1e-2, 0.1, mesh=box_mesh("triangle", 6))
    mesh = problem.domain.mesh().source
    basis = skfem.Basis(mesh, skfem.ElementTriP1(), intorder=6)

    @skfem.BilinearForm
    def mass(u, v, _):
        return u * v

    @skfem.BilinearForm
    def transport(u, v, _):
        return 1e-2 * dot(grad(u), grad(v)) + (grad(u)[0] + 0.5 * grad(u)[1]) * v

    steps = 40
    dt = problem.final_time / steps
    m, a = mass.assemble(basis), transport.assemble(basis)
    start = skfem.LinearForm(lambda v, w: problem.initial[0](np.asarray(w.x)) * v).assemble(basis)
    boundary = basis.get_dofs().all()
    levels = [skfem.solve(*skfem.condense(m, start, D=boundary))]
    for n in range(1, steps + 1):
        load = skfem.LinearForm(lambda v, w, t=n * dt: problem.source[0](np.asarray(w.x), t) * v).assemble(
            basis
        )
        levels.append(skfem.solve(*skfem.condense(m + dt * a, m @ levels[-1] + dt * load, D=boundary)))
    result = stfem.estimate(from_skfem(problem, mesh, skfem.ElementTriP1(), levels, degree=1))
    assert result.error <= result.bound
    assert result.enclosure[0] <= result.error_dg <= result.enclosure[1]


def test_what_does_not_fit_is_refused():
    problem = transient_wave(2, 1e-3, 0.01, mesh=box_mesh("triangle", 2))
    solution = stfem.solve(problem, degree=2, dt=0.005)
    mesh, element, levels = to_skfem(solution, history=True)
    for other in (
        box_mesh("triangle", 3),
        box_mesh("triangle", 2, 0.1),
        box_mesh("quadrilateral", 2),
        "mesh",
    ):
        with pytest.raises(
            ValueError, match="mesh: expected that of the domain, a MeshTri1 with 8 cells, got"
        ):
            from_skfem(problem, other, element, levels, degree=2)
    with pytest.raises(ValueError, match="expected polynomials of degree 1 in every cell, got a field"):
        from_skfem(problem, mesh, element, levels, degree=1)
    with pytest.raises(ValueError, match=r"coefficients: expected an array of shape .*48.* got \(3, 47\)"):
        from_skfem(problem, mesh, element, levels[:, 1:], degree=2)
    with pytest.raises(TypeError, match="element: expected an element of scikit-fem, got 'P1'"):
        from_skfem(problem, mesh, "P1", levels, degree=2)
