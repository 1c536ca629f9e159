"""Cases on bounded domains: the solution solves the equation, meets every condition, and bounds lie above."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from sample_meshes import moved

import stfem
from stfem import problems
from stfem.problems import Outflow
from stfem.problems.bounded import boundary_parts

CASES = {
    "wave 1D": lambda **k: problems.transient_wave(1, **k),
    "wave 2D": problems.transient_wave,
    "wave 3D": lambda **k: problems.transient_wave(3, **k),
    "robin": problems.robin_outflow,
    "cellular": problems.cellular_flow,
    "variable": problems.variable_coefficients,
    "front 1D": lambda **k: problems.moving_front(1, **k),
    "front 2D": problems.moving_front,
    "front 3D": lambda **k: problems.moving_front(3, **k),
    "outflow": problems.outflow_layer,
    "corner": problems.corner_layers,
    "pulse 1D": lambda **k: problems.leaving_pulse(1, **k),
    "pulse 2D": problems.leaving_pulse,
    "pulse 3D": lambda **k: problems.leaving_pulse(3, **k),
    "rotating": problems.rotating_pulse,
}
STEP = 1e-3
FIRST = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}  # weights of fourth order


def slope(f, x, i, step=STEP):
    shift = np.zeros((len(x), 1))
    shift[i] = step
    return sum(w * f(x + k * shift) for k, w in FIRST.items()) / step


def flux(problem, x, t):
    """Bu − D∇u."""
    u, b = problem.exact(x, t)[0], np.stack([b(x, t) for b in problem.equation.velocity])
    return b * u - np.tensordot(problem.equation.diffusion, problem.exact_gradient(x, t)[:, 0], 1)


def residual(problem, x, t):
    """∂_t u + ∇·(bu − D∇u) + cu − g."""
    rate = sum(w * problem.exact(x, t + k * STEP)[0] for k, w in FIRST.items()) / STEP
    divergence = sum(slope(lambda y, i=i: flux(problem, y, t)[i], x, i) for i in range(len(x)))
    rest = problem.equation.reaction(x, t) * problem.exact(x, t)[0] - problem.source[0](x, t)
    return rate + divergence + rest


def inside(problem, count=60):
    return 0.02 + 0.96 * problem.domain.sample(np.random.default_rng(1), count)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("eps", [0.0, 0.1, 1.0])
def test_solution_solves_the_equation(name, eps):
    problem = CASES[name](eps=eps)
    x = inside(problem)
    for t in (0.1, 0.9 * problem.final_time):
        assert np.max(np.abs(residual(problem, x, t))) < 2e-5
        slopes = np.stack([slope(lambda y, t=t: problem.exact(y, t), x, i) for i in range(len(x))])
        assert problem.exact_gradient(x, t) == pytest.approx(slopes, abs=2e-6)
    start = problem.initial[0](x)
    assert problem.exact(x, 0.0)[0] == pytest.approx(start, abs=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_residual_sees_a_wrong_diffusion(name):
    problem, other = CASES[name](eps=0.1), CASES[name](eps=0.11)
    object.__setattr__(problem, "equation", other.equation)
    assert np.max(np.abs(residual(problem, inside(problem), 0.1))) > 1e-3


@dataclass
class Part:
    """Points of one condition with normals; what the condition asks for, and what u has."""

    x: np.ndarray
    normals: np.ndarray
    condition: problems.Condition

    def defect(self, problem, t):
        dim, u = len(self.x), problem.exact(self.x, t)[0]
        b = np.stack([b(self.x, t) for b in problem.equation.velocity])
        given = self.condition.data(dim, 1, "part")[0](self.x, t)
        if self.condition.trace:
            counts = 1.0 if np.any(problem.equation.diffusion) else (b * self.normals).sum(axis=0) < 0.0
            return np.abs(u - given) * counts
        passing = (flux(problem, self.x, t) * self.normals).sum(axis=0)
        if self.condition.total:
            return np.abs(passing - given)
        leaving = (b * self.normals).sum(axis=0)
        diffusive = leaving * u - passing + self.condition.transfer(dim, "part")(self.x, t) * u
        entering = np.maximum(-leaving, 0.0) if isinstance(self.condition, Outflow) else 0.0
        return np.abs(diffusive - given) + entering


def parts(problem):
    mesh = problem.domain.mesh(None if isinstance(problem.domain, stfem.Domain) else 3)
    where = np.full((mesh.dim - 1, 1), 0.31)
    for part in boundary_parts(mesh, problem.domain.boundary):
        normals = mesh.facet_normals(where, part.facets)[0]
        yield Part(mesh.facet_points(where, part.facets)[:, 0], normals[:, 0], part.condition)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("eps", [0.0, 1e-4, 0.1, 1.0])
def test_solution_meets_the_conditions(name, eps):
    problem = CASES[name](eps=eps)
    for part in parts(problem):
        for t in (0.0, 0.37 * problem.final_time, problem.final_time):
            assert np.max(part.defect(problem, t)) < 1e-12


@pytest.mark.parametrize("name", ["robin", "cellular", "outflow", "pulse 2D"])
def test_conditions_see_another_solution(name):
    problem, front = CASES[name](eps=0.1), problems.moving_front(2, 0.1, width=1.0)
    object.__setattr__(problem, "exact", front.exact)
    object.__setattr__(problem, "exact_gradient", front.exact_gradient)
    assert all(np.max(part.defect(problem, 0.2)) > 1e-2 for part in parts(problem))


@pytest.mark.parametrize("eps", [0.0, 1e-12, 1e-6, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("name", ["outflow", "corner", "pulse 1D", "pulse 2D"])
def test_layers_are_finite_for_every_diffusion(name, eps):
    problem = CASES[name](eps=eps)
    line = np.stack([np.linspace(0.0, 1.0, 101)] * problem.equation.dim)
    for t in (0.0, problem.final_time):
        u = problem.exact(line, t)
        assert np.all((u >= -1e-12) & (u <= 1.5))
        assert np.all(np.isfinite(problem.exact_gradient(line, t)))
        if eps > 0.0 and not name.startswith("pulse"):
            assert np.max(np.abs(u[0, [0, -1]])) < 1e-14


def test_small_diffusion_moves_the_pulse_only():
    """Outside of the layer at the outlet the solution tends to that without diffusion."""
    x = np.linspace(0.0, 0.99, 50)[None]
    still, moved_little = (problems.leaving_pulse(1, eps).exact(x, 0.4) for eps in (0.0, 1e-6))
    assert moved_little == pytest.approx(still, abs=1e-4)
    outlet = np.linspace(0.0, 1.0, 50)[None]
    hardly, not_at_all = (problems.leaving_pulse(1, eps).exact(outlet, 0.4) for eps in (5e-324, 0.0))
    np.testing.assert_array_equal(hardly, not_at_all)


def test_mass_of_the_closed_box_is_constant():
    problem = problems.cellular_flow(1e-2, 0.3)
    solution = stfem.solve(problem, cells=6, degree=2, history=True)
    mesh, space = solution.semidiscretization.mesh, solution.semidiscretization.space
    points, weights = mesh.reference.quadrature(6)
    measure = weights[:, None] * mesh.cell_map(points).determinant
    masses = [float((measure * space.values(node.values, points)[0]).sum()) for node in solution.nodes()]
    assert len(masses) > 5
    assert masses == pytest.approx([1.0] * len(masses), abs=1e-6)  # up to the quadrature of the source


@pytest.mark.parametrize("name", ["wave 2D", "robin", "cellular", "variable", "front 2D", "pulse 2D"])
def test_solve_converges(name):
    errors = [_error(CASES[name](eps=1e-2, final_time=0.2), cells) for cells in (8, 16)]
    assert 1.6 < math.log2(errors[0] / errors[1]) < 3.0


def _error(problem, cells):
    solution = stfem.solve(problem, cells=cells, degree=1)
    x = problem.domain.sample(np.random.default_rng(2), 4000)
    return float(np.sqrt(np.mean((solution(x) - problem.exact(x, problem.final_time)[0]) ** 2)))


BOUNDED = {
    "wave 1D": {"cells": 10},
    "wave 2D": {"cells": 6},
    "wave 3D": {"cells": 2},
    "variable": {"cells": 6},
    "front 1D": {"cells": 16},
    "front 2D": {"cells": 8},
    "outflow": {"cells": 8},
    "corner": {"cells": 8},
    "pulse 1D": {"cells": 12},
    "pulse 2D": {"cells": 6},
    "rotating": {},
}


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("eps", [0.0, 1e-4, 1e-2, 1.0])
def test_bounds_lie_above_the_errors(name, eps):
    small = {"refinements": 2} if name == "rotating" else {}
    problem = CASES[name](eps=eps, final_time=0.1 if eps < 1.0 else 0.02, **small)
    estimator = stfem.MeshEstimator(growth=-1.0 if name == "variable" else None)
    result = stfem.certify(problem, **BOUNDED[name], degree=1, estimator=estimator)
    assert result.error <= result.bound
    assert result.error_final <= result.bound_final
    assert result.error_energy <= result.bound_energy
    assert result.enclosure[0] <= result.error_dg <= result.enclosure[1]


@pytest.mark.parametrize("name", ["wave 2D", "variable", "front 2D", "outflow", "corner"])
def test_meshes_of_triangles(name):
    problem = CASES[name](eps=1e-3, final_time=0.05, mesh=moved("triangles", 6).with_defaults())
    assert isinstance(problem.domain, stfem.Domain)
    estimator = stfem.MeshEstimator(growth=-1.0 if name == "variable" else None)
    result = stfem.certify(problem, degree=1, estimator=estimator)
    assert result.error <= result.bound
    assert result.enclosure[0] <= result.error_dg <= result.enclosure[1]


@pytest.mark.parametrize("name", CASES)
def test_wrong_arguments(name):
    for eps in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="eps: expected"):
            CASES[name](eps=eps)
    with pytest.raises(TypeError, match="eps: expected"):
        CASES[name](eps="1")
    with pytest.raises(ValueError, match="final_time: expected"):
        CASES[name](final_time=0.0)


@pytest.mark.parametrize("factory", [problems.moving_front, problems.leaving_pulse, problems.rotating_pulse])
def test_wrong_widths(factory):
    with pytest.raises(ValueError, match="width: expected"):
        factory(width=0.0)
