"""Problems without time: what they refuse, and a catalogue that solves its equations."""

import inspect

import numpy as np
import pytest

import stfem
from stfem import problems
from stfem.data import cosine
from stfem.equations import AdvectionDiffusion
from stfem.meshes.unstructured import from_skfem
from stfem.problems import (
    circular_layer,
    hemker_channel,
    hemker_cylinder,
    interior_layer,
    rotating_corner,
    stationary_corner,
    stationary_layer,
)
from stfem.problems.shapes import l_shape, mesh_around_disc

BOX = stfem.Box((0.0, 0.0), (1.0, 1.0), stfem.Dirichlet(0.0))
EQUATION = AdvectionDiffusion((1.0, 0.5), 1e-2, 1.0)


def inside(count=200):
    return np.random.default_rng(3).uniform(0.02, 0.98, (2, count))


def around_cylinder():
    x = np.random.default_rng(4).uniform((-3.0, -3.0), (9.0, 3.0), (300, 2)).T
    return x[:, np.hypot(*x) > 1.05]


def in_l_shape():
    x = np.random.default_rng(5).uniform(-0.98, 0.98, (2, 300))
    return x[:, ((x[0] < -0.02) | (x[1] > 0.02)) & (np.hypot(*x) > 0.1)]


def defect(problem, x, step=1e-3):
    """b·∇u + cu − εΔu − g and ∇u minus the given one, by differences of fourth order."""

    def moved(i, k):
        shift = np.zeros((2, 1))
        shift[i] = k * step
        return problem.exact(x + shift, 0.0)[0]

    equation, here = problem.equation, problem.exact(x, 0.0)[0]
    slopes, laplacian = [], np.zeros_like(here)
    for i in range(2):
        near, far = [(moved(i, k), moved(i, -k)) for k in (1, 2)]
        slopes.append((8.0 * (near[0] - near[1]) - (far[0] - far[1])) / (12.0 * step))
        laplacian += (16.0 * (near[0] + near[1]) - (far[0] + far[1]) - 30.0 * here) / (12.0 * step**2)
    velocity = np.stack([b(x, 0.0) for b in equation.velocity])
    residual = (velocity * slopes).sum(axis=0) + equation.reaction(x, 0.0) * here
    residual -= equation.diffusion[0, 0] * laplacian + problem.source[0](x, 0.0)
    return np.abs(residual).max(), np.abs(problem.exact_gradient(x, 0.0)[:, 0] - slopes).max()


@pytest.mark.parametrize(
    ("problem", "x"),
    [
        (interior_layer(0.3), inside()),
        (interior_layer(0.1, angle=1.0, reaction=0.0), inside()),
        (interior_layer(0.02, upstream=0.3), inside()),
        (stationary_layer(0.3, reaction=2.0), inside()),
        (circular_layer(0.05), inside()),
        (circular_layer(0.3, radius=0.4), inside()),
        (stationary_corner(0.3), inside()),
        (stationary_corner(0.1, reaction=2.0), inside()),
        (rotating_corner(0.2, mesh=None), in_l_shape()),
        (rotating_corner(0.0, reaction=0.0), in_l_shape()),
        (hemker_cylinder(0.2, cells=1), around_cylinder()),
        (hemker_cylinder(0.1, cells=1), around_cylinder()),
    ],
    ids=lambda case: "",
)
def test_exact_solutions_solve_their_equations(problem, x):
    residual, slope = defect(problem, x)
    assert residual < 1e-4
    assert slope < 1e-5


def test_the_check_of_exact_solutions_can_fail():
    wrong = interior_layer(0.3)
    other = stfem.StationaryProblem(
        AdvectionDiffusion(wrong.equation.velocity, 0.31, 1.0),
        wrong.domain,
        exact=lambda x: wrong.exact(x, 0.0)[0],
        exact_gradient=lambda x: wrong.exact_gradient(x, 0.0),
    )
    assert defect(other, inside())[0] > 1e-2


def test_layers_without_diffusion_are_limits():
    x = inside()
    for factory in (interior_layer, stationary_layer, stationary_corner):
        thin, none = (factory(eps).exact(x, 0.0)[0] for eps in (1e-9, 0.0))
        assert np.abs(thin - none).max() < 1e-6


def test_values_on_the_boundary_of_layers():
    side = np.linspace(0.0, 1.0, 11)
    layer = stationary_layer(1e-5).exact
    for x in (np.stack([0.0 * side, side]), np.stack([0.0 * side + 1.0, side]), np.stack([side, 0.0 * side])):
        assert np.abs(layer(x, 0.0)).max() < 1e-12
    for u in (circular_layer(1e-5).exact, stationary_corner(1e-5).exact):
        ends = np.array([0.0, 1.0])
        for x in (np.stack(np.meshgrid(ends, side)), np.stack(np.meshgrid(side, ends))):
            assert np.abs(u(x, 0.0)).max() < 1e-12
    corner = rotating_corner().exact
    for x in (np.stack([side, 0.0 * side]), np.stack([0.0 * side, -side])):
        assert np.abs(corner(x, 0.0)).max() < 1e-12


def test_cylinder_is_warm_and_what_comes_is_cold():
    angle = np.linspace(0.0, 2.0 * np.pi, 50)
    for eps in (1.0, 0.1, 1.0 / 16.0):
        u = hemker_cylinder(eps, cells=1).exact
        assert np.abs(u(np.stack([np.cos(angle), np.sin(angle)]), 0.0) - 1.0).max() < 1e-8
        assert u(np.array([[-30.0], [0.0]]), 0.0)[0, 0] < 1e-8
    with pytest.raises(ValueError, match=r"eps: expected a diffusion that the series can be summed for"):
        hemker_cylinder(1e-3)


def test_mesh_around_disc():
    for n in (1, 4):
        mesh = mesh_around_disc(n)
        assert mesh.t.shape[1] == 42 * n**2
        area = from_skfem(mesh).cell_measures.sum()
        boundary = mesh.p[:, np.unique(mesh.facets[:, mesh.boundary_facets()])]
        on_circle = np.abs(np.hypot(*boundary) - 1.0) < 1e-12
        on_box = (np.abs(boundary[1]) == 3.0) | np.isin(boundary[0], (-3.0, 9.0))
        assert np.all(on_circle | on_box)
        assert on_circle.sum() == 12 * n
        # the rays to the corners of the square are not evenly spaced, so that the polygon is a bit smaller
        assert 72.0 - np.pi < area < 72.0 - np.pi + 0.5 / n**2
    with pytest.raises(ValueError, match="cells: expected a number of cells"):
        mesh_around_disc(0)


def test_channel_with_constant_data_on_every_side():
    for eps in (1e-2, 1e-5):
        problem = hemker_channel(eps, cells=1)
        names = problem.domain.mesh().facets.names
        assert {name: len(facets) for name, facets in names.items()} == {
            "left": 3,
            "right": 3,
            "bottom": 6,
            "top": 6,
            "cylinder": 12,
        }
        estimate = stfem.estimate(stfem.solve_stationary(problem, degree=1))
        assert estimate.guaranteed
        assert np.isfinite(estimate.bound)


def test_circular_layer_is_one_where_it_is_said_to_be():
    problem = circular_layer(1e-8, radius=0.3)
    x = np.array([[0.5, 0.5, 0.5], [0.5, 0.5 + 0.3, 0.95]])
    heights = 16.0 * x[0] * (1.0 - x[0]) * x[1] * (1.0 - x[1])
    assert problem.exact(x, 0.0)[0] == pytest.approx(heights * [1.0, 0.5, 0.0], abs=1e-3)
    with pytest.raises(ValueError, match="eps: expected a diffusion from 1e-12"):
        circular_layer(0.0)


def test_catalogues_hold_every_problem_once():
    names = [*problems.CATALOGUE, *problems.BOUNDED, *problems.STATIONARY]
    factories = {name for name in problems.__all__ if inspect.isfunction(getattr(problems, name))}
    assert sorted(names) == sorted(factories)
    for factory in problems.BOUNDED.values():
        assert isinstance(factory(eps=0.1), stfem.Problem)
    for factory in problems.STATIONARY.values():
        assert isinstance(factory(eps=0.1), stfem.StationaryProblem)


def test_notch_of_the_l_shape():
    mesh = l_shape(2)
    x, y = mesh.p[:, mesh.t].mean(axis=1)
    assert from_skfem(mesh).cell_measures.sum() == pytest.approx(3.0)
    assert not np.any((x > 0.0) & (y < 0.0))


def test_attributes_and_the_problem_in_time():
    problem = stfem.StationaryProblem(EQUATION, BOX, lambda x: x[0], exact=lambda x: 0.0 * x[0])
    assert problem.mean == 0.0
    assert not problem.source[0].time_dependent
    x = inside(5)
    assert np.array_equal(problem.source[0](x, 3.0), x[0])
    assert problem.exact(x, 0.0).shape == (1, 5)
    moving = problem.in_time(0.5, initial=1.0)
    assert isinstance(moving, stfem.Problem)
    assert moving.final_time == 0.5
    assert moving.initial[0].constant_value() == 1.0


def test_data_must_rest():
    wave = cosine([1.0, 0.0], 2.0)
    with pytest.raises(ValueError, match=r"source: expected data that do not depend on time"):
        stfem.StationaryProblem(EQUATION, BOX, wave)
    moving = stfem.Box((0.0, 0.0), (1.0, 1.0), stfem.Dirichlet(lambda x, t: x[0] * t))
    with pytest.raises(ValueError, match=r"boundary 'boundary': expected data that do not depend on time"):
        stfem.StationaryProblem(EQUATION, moving)
    with pytest.raises(ValueError, match=r"velocity: expected data that do not depend on time"):
        stfem.StationaryProblem(AdvectionDiffusion((wave, 1.0), 1.0, divergence=wave.derivative(0)), BOX)
    with pytest.raises(ValueError, match="exact"):
        stfem.StationaryProblem(EQUATION, BOX, exact=wave)


def test_wrong_arguments():
    with pytest.raises(stfem.UnsupportedDomainError, match=r"expected a Box or Domain .* got Torus"):
        stfem.StationaryProblem(EQUATION, stfem.Torus((1.0, 1.0)))
    with pytest.raises(TypeError, match="equation: expected an Equation, got float"):
        stfem.StationaryProblem(1.0, BOX)
    with pytest.raises(TypeError, match=r"source: expected a function of \(x\)"):
        stfem.StationaryProblem(EQUATION, BOX, lambda x, t: x[0])
    with pytest.raises(TypeError, match="mean: expected a number"):
        stfem.StationaryProblem(EQUATION, BOX, mean="zero")
    with pytest.raises(ValueError, match="dimension 2"):
        stfem.StationaryProblem(EQUATION, stfem.Box(0.0, 1.0, stfem.Dirichlet(0.0)))
    for factory in (interior_layer, stationary_layer, rotating_corner, hemker_cylinder):
        with pytest.raises(ValueError, match="eps: expected a diffusion"):
            factory(-1.0)
