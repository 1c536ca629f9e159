"""Schemes on unstructured meshes: Jacobians, stability limits, sources, reactions, evaluation."""

import numpy as np
import pytest
from mesh_cases import KINDS, box_mesh

from stfem import Box, Dirichlet, Domain, Problem, Torus, TotalFlux
from stfem.equations import AdvectionDiffusion, Burgers, DiffusivePSystem
from stfem.fluxes import flux_engquist_osher, flux_rusanov, flux_upwind
from stfem.semidiscretization import Semidiscretization, UnstructuredSemidiscretization, semidiscretize
from stfem.spaces.mesh_field import MeshField
from stfem.timestepping import DORMAND_PRINCE5, RK4, SSPRK22, default_stepper

ALL = pytest.mark.parametrize("kind", list(KINDS))
VELOCITY = (1.0, 0.3, -0.2)


def scheme(kind, equation, degree, flux=flux_rusanov, boundary=None, n=2, source=None, periodic=()):
    state = (1.0, 0.3, 0.2, 0.1)[: equation.components]
    domain = Domain(box_mesh(kind, n, 0.2, turned=True), boundary or Dirichlet(state), periodic)
    problem = Problem(equation, domain, state, 1.0, source=source)
    return UnstructuredSemidiscretization(problem, None, degree, flux)


def full_rate(semi, t, u):
    return semi.rhs_hyperbolic(t, u) + semi.rhs_parabolic(t, u)


def near_constant(semi, seed=0):
    u = 0.02 * np.random.default_rng(seed).normal(size=semi.shape)
    u[:, 0] += np.array((1.0, 0.3, 0.2, 0.1)[: semi.shape[0]])[:, None]
    return u


def swirl(x, t):
    return np.stack([1.0 + x[1] * (1.0 + t), 0.3 + x[0]])


@ALL
@pytest.mark.parametrize(
    ("make", "flux"),
    [
        (lambda d: AdvectionDiffusion(VELOCITY[:d], 0.1, reaction=lambda x, t: 1.0 + x[0]), flux_upwind),
        (lambda d: Burgers(d, 0.1), flux_rusanov),
        (lambda d: Burgers(d, 0.0), flux_engquist_osher),
        (lambda d: DiffusivePSystem(0.1, d), flux_rusanov),
    ],
)
def test_jacobian_is_the_derivative(kind, make, flux):
    semi = scheme(kind, make(KINDS[kind][1]), 1, flux)
    u, step = near_constant(semi), 1e-6
    v = np.random.default_rng(5).normal(size=semi.shape)
    expected = (full_rate(semi, 0.0, u + step * v) - full_rate(semi, 0.0, u - step * v)) / (2.0 * step)
    linearised = semi.linearise(0.0, u)
    np.testing.assert_allclose(linearised.apply(v), expected, atol=1e-7 * np.abs(expected).max())
    for shift in (0.1, 0.05 + 0.03j):
        solved = linearised.solve(v.astype(type(shift)), shift)
        back = solved.real - shift.real * linearised.apply(solved.real)
        back += shift.imag * linearised.apply(np.ascontiguousarray(solved.imag))
        np.testing.assert_allclose(back, v, atol=1e-10 * np.abs(v).max())
    assert not semi.linear  # a callable c(x, t) may depend on time
    assert scheme(kind, AdvectionDiffusion(VELOCITY[: KINDS[kind][1]], 0.1, 2.0), 1).linear


@pytest.mark.parametrize("count", [1, 2])
def test_cells_that_meet_twice(count):
    """On one or two periodic cells several blocks fall on one place."""
    semi = scheme("line", AdvectionDiffusion(1.0, 0.1), 2, flux_upwind, {}, count, periodic=(0,))
    v = np.random.default_rng(0).normal(size=semi.shape)
    np.testing.assert_allclose(semi.linearise(0.0, v).apply(v), full_rate(semi, 0.0, v), atol=1e-11)


def test_time_dependent_velocity_has_a_jacobian_of_its_time():
    equation = AdvectionDiffusion(swirl, dim=2, divergence=0.0)
    semi = scheme("triangle", equation, 2, flux_upwind)
    v = np.random.default_rng(0).normal(size=semi.shape)
    assert not semi.linear
    zero = np.zeros(semi.shape)
    for t in (0.0, 0.7):
        expected = full_rate(semi, t, v) - full_rate(semi, t, zero)
        np.testing.assert_allclose(semi.linearise(t, zero).apply(v), expected, atol=1e-11)


@ALL
@pytest.mark.parametrize(("degree", "tableau"), [(0, SSPRK22), (1, RK4), (2, DORMAND_PRINCE5)])
def test_steps_within_the_limit_are_stable(kind, degree, tableau):
    """All eigenvalues of a perturbed mesh lie in the stability region at the step that the limit allows."""
    dim = KINDS[kind][1]
    for velocity in ((1.0, 0.3, -0.2), (1.0, -1.0, 0.9), (0.1, 1.0, 0.0)):
        equation = AdvectionDiffusion(velocity[:dim])
        n = 3 if dim < 3 or degree == 0 else 2
        semi = scheme(kind, equation, degree, flux_upwind, {}, n, periodic=range(dim))
        matrix = semi.linearise(0.0, np.zeros(semi.shape)).matrix.toarray()
        measures = np.repeat(semi.mesh.cell_measures, semi.shape[1])
        eigenvalues = np.linalg.eigvals(matrix / measures[:, None])
        rate = semi.convective_rate(np.ones(semi.shape))
        step = 0.8 * tableau.stable_step(semi.transport_spectrum) / rate
        assert np.abs(tableau.stability_function(step * eigenvalues)).max() <= 1.0 + 1e-9
        assert np.abs(tableau.stability_function(6.0 * step * eigenvalues)).max() > 1.0


@pytest.mark.parametrize("degree", [1, 3, 4])
def test_steps_are_stable_on_cells_that_are_almost_folded(degree):
    mesh = box_mesh("quadrilateral", 4, 0.35)
    velocity = np.random.default_rng(0).normal(size=2)
    problem = Problem(AdvectionDiffusion(tuple(velocity)), Domain(mesh, {}, periodic=(0, 1)), 0.0, 1.0)
    semi = UnstructuredSemidiscretization(problem, None, degree, flux_upwind)
    matrix = semi.linearise(0.0, np.zeros(semi.shape)).matrix.toarray()
    eigenvalues = np.linalg.eigvals(matrix / np.repeat(semi.mesh.cell_measures, semi.shape[1])[:, None])
    tableau = default_stepper(degree, False).tableau
    step = 0.8 * tableau.stable_step(semi.transport_spectrum) / semi.convective_rate(np.ones(semi.shape))
    assert np.abs(tableau.stability_function(step * eigenvalues)).max() <= 1.0 + 1e-9


@ALL
def test_source_and_reaction(kind):
    dim = KINDS[kind][1]
    equation = AdvectionDiffusion((0.0,) * dim, reaction=lambda x, t: 2.0 + x[0] * t)
    semi = scheme(kind, equation, 2, source=lambda x, t: t * x[-1])
    u = semi.project(semi.problem.initial)
    for t in (0.0, 1.0):
        expected = semi.space.project([lambda x, t: t * x[-1] - (2.0 + x[0] * t)], t)
        np.testing.assert_allclose(semi.rhs_hyperbolic(t, u), expected, atol=1e-12)
    assert semi.reaction_rate == pytest.approx(2.0, abs=1.0)
    plain = scheme(kind, AdvectionDiffusion((0.0,) * dim, reaction=3.0), 1, source=5.0)
    for _ in range(2):  # the second time from what was kept
        rate = plain.rhs_hyperbolic(0.0, u[:, : plain.shape[1]])
        np.testing.assert_allclose(rate[0, 0], 2.0)


@ALL
def test_values_anywhere(kind):
    semi = scheme(kind, AdvectionDiffusion((1.0,) * KINDS[kind][1]), 2)
    u = semi.space.project([lambda x, t: 1.0 + x[0] - 2.0 * x[-1]])
    x = np.random.default_rng(0).uniform(0.02, 0.98, (semi.mesh.dim, 4, 5))
    np.testing.assert_allclose(MeshField(semi.space, u)(x), 1.0 + x[0] - 2.0 * x[-1], atol=1e-9)
    with pytest.raises(ValueError, match="inside of the mesh"):
        MeshField(semi.space, u)(np.full((semi.mesh.dim, 1), 3.0))
    with pytest.raises(ValueError, match="x: expected shape"):
        MeshField(semi.space, u)(np.zeros((5, 1)))


def test_the_domain_decides():
    equation = AdvectionDiffusion((1.0,))
    torus = semidiscretize(Problem(equation, Torus(1.0), 0.0, 1.0), 4, 1)
    box = semidiscretize(Problem(equation, Box(0.0, 1.0, TotalFlux()), 0.0, 1.0), 4, 1)
    assert isinstance(torus, Semidiscretization)
    assert isinstance(box, UnstructuredSemidiscretization)
    for semi in (torus, box):
        with pytest.raises(TypeError, match=r"degree: expected a whole number, got 1\.5"):
            type(semi)(semi.problem, 4, 1.5)
    with pytest.raises(ValueError, match="degree: expected 0 to 4, got 5"):
        UnstructuredSemidiscretization(box.problem, 4, 5)
    with pytest.raises(TypeError, match="domain: expected a Box or Domain"):
        UnstructuredSemidiscretization(torus.problem, 4, 1)
    with pytest.raises(TypeError, match="domain: expected a Torus"):
        Semidiscretization(box.problem, 4, 1)


def test_subdomains_must_cover_the_mesh():
    mesh = box_mesh("triangle", 2).with_subdomains({"a": lambda x: x[0] < 0.5, "b": lambda x: x[1] < 0.5})

    def problem(domain, *names):
        return Problem(AdvectionDiffusion((1.0, 0.0), dict.fromkeys(names, 1.0)), domain, 0.0, 1.0)

    domain = Domain(mesh, Dirichlet())
    with pytest.raises(ValueError, match=r"every cell in one of \['a'\], got 4 of 8 in none"):
        problem(domain, "a")
    with pytest.raises(ValueError, match="subdomain 'b': expected cells of no other one, got 2 of 4"):
        problem(domain, "a", "b")
    with pytest.raises(ValueError, match=r"subdomain: expected one of .*got 'c'"):
        problem(domain, "c")
    for other in (Torus((1.0, 1.0)), Box((0.0, 0.0), (1.0, 1.0), Dirichlet())):
        with pytest.raises(ValueError, match="diffusion: expected a number or a matrix on"):
            problem(other, "a")
    with pytest.raises(TypeError, match="diffusion: expected one matrix for all of the domain"):
        AdvectionDiffusion(1.0, {"a": 1.0}).diffusion  # noqa: B018
