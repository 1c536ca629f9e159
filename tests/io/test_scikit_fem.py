"""scikit-fem gets the same function, integrates it alike, and its own fields come back and are certified."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest
import skfem
from skfem.helpers import dot, grad

from stfem import Estimate, Problem, Solution, Torus, equations, estimate, solve
from stfem.data import sine
from stfem.io import LegendreElement, RecordedLevels, from_skfem, to_skfem
from stfem.problems import diffusive_p_system, linear_advection_diffusion, viscous_burgers
from stfem.spaces.tensor import norm_l2_sq

PI2 = 2.0 * math.pi
CASES = [(1, 5, 0), (1, 4, 5), (2, (3, 2), 1), (2, (2, 3), 3), (3, (2, 1, 3), 1), (3, 2, 2)]


def rough(dim, cells, degree):
    """A solution with large jumps, on a box with unequal sides."""
    problem = Problem(
        equations.AdvectionDiffusion((1.0,) * dim, 1e-3),
        Torus((1.0, 2.0, 0.5)[:dim]),
        sine((PI2, 0.0, 0.0)[:dim]),
        1e-4,
    )
    solution = solve(problem, cells=cells, degree=degree)
    return replace(solution, values=np.random.default_rng(7).normal(size=solution.values.shape))


@skfem.Functional
def square(w):
    return w["u"] ** 2


@skfem.BilinearForm
def mass(u, v, _):
    return u * v


@skfem.BilinearForm
def stiffness(u, v, _):
    return dot(grad(u), grad(v))


@skfem.Functional
def squared_slope(w):
    return dot(grad(w["u"]), grad(w["u"]))


@pytest.mark.parametrize(("dim", "cells", "degree"), CASES)
def test_the_same_function(dim, cells, degree):
    solution = rough(dim, cells, degree)
    mesh, element, coefficients = to_skfem(solution)
    basis = skfem.Basis(mesh, element, intorder=2 * degree + 1)
    assert coefficients.shape == (basis.N,) == (solution.values.size,)
    x = np.asarray(basis.global_coordinates())
    assert np.asarray(basis.interpolate(coefficients)) == pytest.approx(solution(x), abs=1e-12)
    grid = solution.semidiscretization.grid
    assert mesh.p.max(axis=1).tolist() == list(grid.lengths)
    assert np.array_equal(coefficients, solution.coefficients.ravel())


@pytest.mark.parametrize(("dim", "cells", "degree"), CASES)
def test_norms_agree(dim, cells, degree):
    solution = rough(dim, cells, degree)
    mesh, element, coefficients = to_skfem(solution)
    basis = skfem.Basis(mesh, element)
    grid = solution.semidiscretization.grid
    expected = norm_l2_sq(solution.values, grid)
    assert square.assemble(basis, u=basis.interpolate(coefficients)) == pytest.approx(expected, rel=1e-12)
    matrix = mass.assemble(basis)
    assert matrix.toarray() == pytest.approx(grid.cell_measure * np.eye(basis.N), abs=1e-12)
    assert coefficients @ matrix @ coefficients == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("dim", "cells", "degree"), [case for case in CASES if case[2] > 0])
def test_gradients_agree(dim, cells, degree):
    """Against differences of the values, and within scikit-fem."""
    solution = rough(dim, cells, degree)
    mesh, element, coefficients = to_skfem(solution)
    basis = skfem.Basis(mesh, element)
    field = basis.interpolate(coefficients)
    x = np.asarray(basis.global_coordinates())
    for i in range(dim):
        step = np.zeros((dim, 1, 1))
        step[i] = 1e-6
        slope = (solution(x + step) - solution(x - step)) / 2e-6
        assert np.asarray(field.grad[i]) == pytest.approx(slope, rel=1e-6, abs=1e-5)
    energy = coefficients @ stiffness.assemble(basis) @ coefficients
    assert energy == pytest.approx(squared_slope.assemble(basis, u=field), rel=1e-11)


def test_jumps_on_facets_of_scikit_fem():
    """Both sides of interior facets with one element: nothing is remembered from the other side."""
    solution = rough(2, (3, 2), 2)
    mesh, element, coefficients = to_skfem(solution)
    sides = [skfem.InteriorFacetBasis(mesh, element, side=side, intorder=4) for side in (0, 1)]
    values = [np.asarray(side.interpolate(coefficients)) for side in sides]
    x = np.asarray(sides[0].global_coordinates())
    normal = np.asarray(sides[0].normals)
    for value, sign in zip(values, (-1.0, 1.0), strict=True):
        assert value == pytest.approx(solution(x + sign * 1e-9 * normal), abs=1e-6)
    assert np.abs(values[0] - values[1]).max() > 0.1


@pytest.mark.parametrize(("dim", "cells", "degree"), CASES)
def test_round_trip(dim, cells, degree):
    problem = rough(dim, cells, degree).problem
    solution = solve(replace(problem, final_time=0.01), cells=cells, degree=degree, dt=0.003)
    field = to_skfem(solution, history=True)
    assert field.coefficients.shape == (solution.steps + 1, solution.values.size)
    again = from_skfem(solution.problem, *field, degree=degree, order=solution.stepper.order)
    for name in ("initial", "values"):
        assert getattr(again, name) == pytest.approx(getattr(solution, name), abs=1e-13)
    for a, b in zip(again.nodes(), solution.nodes(), strict=True):
        assert a.time == b.time
        assert a.values == pytest.approx(b.values, abs=1e-13)
        assert a.rate == pytest.approx(b.rate, abs=1e-9)
    assert to_skfem(again).coefficients == pytest.approx(field.coefficients[-1], abs=1e-13)
    assert estimate(again).bound == pytest.approx(estimate(solution).bound, rel=1e-8)


def test_both_components_of_a_system():
    problem = diffusive_p_system(1, 1e-2, 0.01)
    solution = solve(problem, cells=6, degree=2)
    field = to_skfem(solution, history=True)
    assert field.coefficients.shape == (solution.steps + 1, 2, 18)
    assert np.array_equal(to_skfem(solution).coefficients, field.coefficients[-1])
    again = from_skfem(problem, *field, degree=2)
    assert again.values == pytest.approx(solution.values, abs=1e-13)


def turned(mesh, shift):
    """The same quadrilaterals in another order, each with another first vertex."""
    order = np.random.default_rng(1).permutation(mesh.t.shape[1])
    cells = np.stack([np.roll(cell, shift * i) for i, cell in enumerate(mesh.t.T[order])], axis=1)
    return skfem.MeshQuad1(mesh.p, np.ascontiguousarray(cells))


@pytest.mark.parametrize(
    ("element", "degree"),
    [
        (skfem.ElementQuad0(), 0),
        (skfem.ElementQuad1(), 1),
        (skfem.ElementQuad2(), 2),
        (skfem.ElementQuad2(), 3),
        (skfem.ElementDG(skfem.ElementQuad2()), 2),
    ],
)
def test_other_elements_and_meshes(element, degree):
    """Continuous or not, cells in any order and turned: the same function."""
    solution = rough(2, (4, 3), degree)
    mesh = turned(skfem.MeshQuad1.init_tensor(np.linspace(0.0, 1.0, 5), np.linspace(0.0, 2.0, 4)), 1)
    basis = skfem.Basis(mesh, element)
    vector = np.random.default_rng(3).normal(size=basis.N)
    made = from_skfem(solution.problem, mesh, element, [vector, vector], degree=degree)
    assert made.semidiscretization.grid.cells == (4, 3)
    expected = np.asarray(basis.interpolate(vector))
    assert made(np.asarray(basis.global_coordinates())) == pytest.approx(expected, abs=1e-12)


def heat(cells, steps):
    """u_t = u_xx/100 with continuous P_2 elements and implicit Euler, all in scikit-fem; the exact u."""
    mesh = skfem.MeshLine1.init_tensor(np.linspace(0.0, 1.0, cells + 1))
    element = skfem.ElementLineP2()
    basis = skfem.Basis(mesh, element)
    left, right = mass.assemble(basis), 1e-2 * stiffness.assemble(basis)
    u = np.sin(PI2 * basis.doflocs[0])  # zero at both ends, where it stays so
    levels = [u]
    for _ in range(steps):
        u = skfem.solve(*skfem.condense(left + right / steps, left @ u, D=basis.get_dofs()))
        levels.append(u)
    rate = 1e-2 * PI2**2
    problem = Problem(
        equations.AdvectionDiffusion((0.0,), 1e-2),
        Torus(1.0),
        sine(PI2),
        1.0,
        exact=lambda x, t: np.exp(-rate * t) * np.sin(PI2 * x[0]),
        exact_gradient=lambda x, t: PI2 * np.exp(-rate * t) * np.cos(PI2 * x),
    )
    return problem, mesh, element, levels


def test_a_computation_of_scikit_fem_is_certified():
    """Implicit Euler knows nothing of this package; the bound holds, and shrinks with the error."""
    errors, bounds = [], []
    for steps in (8, 32, 128):
        problem, *field = heat(12, steps)
        result = estimate(from_skfem(problem, *field, degree=2))
        lower, upper = result.enclosure
        assert result.error <= result.bound
        assert lower <= result.error_dg <= upper
        errors.append(result.error)
        bounds.append(result.bound)
    assert errors[0] > 3.0 * errors[1] > 9.0 * errors[2]
    assert bounds[0] > 3.0 * bounds[1] > 9.0 * bounds[2]
    assert bounds[2] < 4.0 * errors[2]


def test_a_wrong_computation_has_a_large_bound():
    problem, mesh, element, levels = heat(12, 32)
    right = estimate(from_skfem(problem, mesh, element, levels, degree=2))
    wrong = [level * (1.0 + 0.3 * n / 32) for n, level in enumerate(levels)]
    result = estimate(from_skfem(problem, mesh, element, wrong, degree=2))
    assert result.error > 0.1
    assert result.error <= result.bound
    assert result.bound > 10.0 * right.bound


@pytest.mark.parametrize("noise", [1e-5, 1e-2])
@pytest.mark.parametrize("factory", [linear_advection_diffusion, viscous_burgers])
def test_the_bound_holds_for_any_levels(factory, noise):
    """Noise at every level, which is no solution of anything."""
    problem = factory(1, 1e-3, 0.2)
    mesh, element, levels = to_skfem(solve(problem, cells=8, degree=2), history=True)
    levels += noise * np.random.default_rng(4).normal(size=levels.shape)
    result = estimate(from_skfem(problem, mesh, element, levels, degree=2))
    assert result.error <= result.bound
    assert result.error_final <= result.bound_final
    assert result.enclosure[0] <= result.error_dg <= result.enclosure[1]


def test_files_of_recorded_levels(tmp_path):
    problem = linear_advection_diffusion(1, 1e-3, 0.1)
    field = to_skfem(solve(problem, cells=6, degree=1, dt=0.02), history=True)
    made = from_skfem(problem, *field, degree=1, order=3)
    made.save(tmp_path / "run.npz")
    loaded = Solution.load(tmp_path / "run.npz")
    assert isinstance(loaded.stepper, RecordedLevels)
    assert (loaded.stepper.order, loaded.steps) == (3, made.steps)
    for entry in fields(Estimate):
        if entry.name.startswith(("bound", "enclosure", "error")):
            assert getattr(estimate(loaded), entry.name) == getattr(estimate(made), entry.name)


def symmetric():
    """Four cells with the middles of squares, and no squares."""
    mesh = skfem.MeshQuad1.init_tensor(*[np.linspace(0.0, 1.0, 3)] * 2)
    points = mesh.p.copy()
    signs = np.cos(PI2 * points.sum(axis=0))
    points[0] += 0.05 * signs
    return skfem.MeshQuad1(points, mesh.t)


def test_arguments_that_do_not_fit():
    problem = linear_advection_diffusion(2, 1e-3, 0.1)
    solution = solve(problem, cells=3, degree=1)
    mesh, element, levels = to_skfem(solution, history=True)
    q2 = skfem.ElementQuad2()
    continuous = np.random.default_rng(0).normal(size=(2, skfem.Basis(mesh, q2).N))
    moved = mesh.translated((0.1, 0.0))
    bent = skfem.MeshQuad1(mesh.p + 0.02 * np.sin(5.0 * mesh.p[::-1]), mesh.t)
    half = mesh.restrict(np.arange(8))
    triangles = skfem.MeshTri().refined(1)
    vector = skfem.ElementVector(skfem.ElementQuad1())
    refused = [
        (TypeError, "problem: expected a Problem", (solution, mesh, element, levels), {}),
        (TypeError, "expected a skfem.MeshQuad1, got MeshTri1", (problem, triangles, element, levels), {}),
        (TypeError, "expected a skfem.MeshQuad1, got int", (problem, 3, element, levels), {}),
        (TypeError, "element: expected an element", (problem, mesh, "Q1", levels), {}),
        (TypeError, "element: expected a scalar", (problem, mesh, vector, np.ones((2, 32))), {}),
        (TypeError, "coefficients: expected real numbers", (problem, mesh, element, levels + 1j), {}),
        (
            ValueError,
            r"3 × 3 equal cells of a grid on \(0, 1\) × \(0, 1\), got 9 cells on \(0\.1, 1\.1\)",
            (problem, moved, element, levels),
            {},
        ),
        (ValueError, "equal cells of a grid, got cells of sizes from", (problem, bent, element, levels), {}),
        (
            ValueError,
            "3 × 3 equal cells of a grid on .*, got 8 cells",
            (problem, half, element, levels[:, :32]),
            {},
        ),
        (ValueError, r"shape \('levels', 36\) with two", (problem, mesh, element, levels[0]), {}),
        (ValueError, r"shape \('levels', 36\) with two", (problem, mesh, element, levels[:1]), {}),
        (ValueError, r"shape \('levels', 36\) with two", (problem, mesh, element, levels[:, 1:]), {}),
        (ValueError, "differs from its projection", (problem, mesh, q2, continuous), {}),
        (ValueError, "order: expected", (problem, mesh, element, levels), {"order": 0}),
        (ValueError, "degree: expected 0 to 5", (problem, mesh, element, levels), {"degree": 6}),
    ]
    for error, sentence, given, options in refused:
        with pytest.raises(error, match=sentence):
            from_skfem(*given, **{"degree": 1, **options})
    with pytest.raises(ValueError, match=r"equal cells of a grid on .*, got 4 cells on"):
        from_skfem(problem, symmetric(), skfem.ElementQuad0(), np.ones((2, 4)), degree=0)
    with pytest.raises(TypeError, match="expected a Solution, got Problem"):
        to_skfem(problem)


def test_levels_that_are_not_finite():
    problem = linear_advection_diffusion(1, 1e-3, 0.1)
    mesh, element, levels = to_skfem(solve(problem, cells=3, degree=1, dt=0.05), history=True)
    levels[1, 2] = np.nan
    with pytest.raises(ValueError, match="coefficients: expected finite numbers, got nan in level 1"):
        from_skfem(problem, mesh, element, levels, degree=1)


def test_cells_that_are_not_equal_are_called_so():
    """The first cell of a graded mesh says nothing about the number of all."""
    problem, _, element, levels = heat(12, 2)
    graded = skfem.MeshLine1.init_tensor(np.linspace(0.0, 1.0, 13) ** 2)
    with pytest.raises(ValueError, match=r"got cells of sizes from 0\.00694 to 0\.16 in direction 0$"):
        from_skfem(problem, graded, element, levels, degree=2)
    shuffled = skfem.MeshLine1(np.linspace(0.0, 1.0, 13)[None], graded.t[:, ::-1].copy())
    assert from_skfem(problem, shuffled, element, levels, degree=2).semidiscretization.grid.cells == (12,)


def test_any_order_of_the_time_stepping_will_do():
    problem = linear_advection_diffusion(1, 1e-2, 0.2)
    field = to_skfem(solve(problem, cells=16, degree=2, dt=1e-3), history=True)
    usual, absurd = (estimate(from_skfem(problem, *field, degree=2, order=order)) for order in (1, 99))
    assert absurd.error <= absurd.bound < 1.1 * usual.bound


def test_the_element_stands_alone():
    element = LegendreElement(skfem.MeshQuad1.elem.refdom, 2)
    assert (element.interior_dofs, element.nodal_dofs, element.facet_dofs) == (9, 0, 0)
    assert element.lbasis(np.array([[0.3], [0.9]]), 0)[0] == pytest.approx(1.0)
