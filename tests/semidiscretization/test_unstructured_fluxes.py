"""Fluxes of the scheme: their balance over every cell is the rate of its mean, their jumps those of u_h."""

import numpy as np
import pytest
from mesh_cases import KINDS, box_mesh

from stfem import Dirichlet, Domain, Neumann, Problem, Robin, TotalFlux
from stfem.data import sine
from stfem.equations import AdvectionDiffusion, Burgers, DiffusivePSystem
from stfem.fluxes import flux_rusanov
from stfem.reconstruction.unstructured import FluxRecovery
from stfem.semidiscretization import UnstructuredSemidiscretization
from stfem.semidiscretization.unstructured.boundary import FixedInTime
from stfem.spaces.raviart_thomas import RaviartThomasSpace
from stfem.spaces.traces import FacetTraces

ALL = pytest.mark.parametrize("kind", list(KINDS))


def scheme(kind, diffusion, boundary, subdomains=None):
    dim = KINDS[kind][1]
    mesh = box_mesh(kind, 2, 0.2, turned=True)
    if subdomains:
        mesh = mesh.with_subdomains({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5})
    equation = AdvectionDiffusion((1.0, 0.5, -0.3)[:dim], diffusion)
    problem = Problem(equation, Domain(mesh, boundary), 0.0, 1.0)
    return UnstructuredSemidiscretization(problem, None, 2, flux_rusanov)


def conditions(dim):
    given = {"left": Dirichlet(lambda x, t: x[0] + t), "right": Robin(2.0, lambda x, t: 1.0 + t)}
    if dim > 1:
        given |= {"bottom": Neumann(lambda x, t: t * t), "top": TotalFlux(0.7)}
    return given | ({"front": Dirichlet(1.0), "back": Neumann(0.3)} if dim > 2 else {})


@ALL
@pytest.mark.parametrize("rate", [False, True])
def test_balance_of_every_cell(kind, rate):
    dim = KINDS[kind][1]
    jumping = {"a": 0.3, "b": np.eye(dim) + 0.2}
    semi = scheme(kind, jumping, conditions(dim), True)
    u, t = np.random.default_rng(0).normal(size=semi.shape), 0.4
    expected = [semi.rhs_hyperbolic(t, u), semi.rhs_parabolic(t, u)]
    if rate:  # boundary data replaced by their rates of change
        h = 1e-4
        later, earlier = (
            [semi.rhs_hyperbolic(t + s * h, u), semi.rhs_parabolic(t + s * h, u)] for s in (1.0, -1.0)
        )
        zero = np.zeros(semi.shape)
        plain = [semi.rhs_hyperbolic(t, zero), semi.rhs_parabolic(t, zero)]
        expected = [
            e - p + (a - b) / (2.0 * h) for e, p, a, b in zip(expected, plain, later, earlier, strict=True)
        ]
    fluxes = semi.fluxes
    traces = FacetTraces(semi.space, fluxes.facet_order)
    for sign, (_, facets, *_), known in (
        (-1.0, fluxes.convective(t, u, rate), expected[0]),
        (1.0, fluxes.diffusive(t, u, rate), expected[1]),
    ):
        balance = sign * traces.jump_moments(facets)[:, 0]
        np.testing.assert_allclose(balance, known[:, 0], atol=1e-7 * np.abs(known).max())


@ALL
def test_fluxes_in_cells_and_jumps(kind):
    dim = KINDS[kind][1]
    semi = scheme(kind, 0.5, conditions(dim))
    u, t = np.random.default_rng(1).normal(size=semi.shape), 0.4
    fluxes, mesh = semi.fluxes, semi.mesh
    points = mesh.reference.quadrature(fluxes.cell_order)[0]
    along, _ = fluxes.convective(t, u)
    np.testing.assert_allclose(along[0], semi.space.values(u, points), atol=1e-12)
    slopes, _, minus, plus = fluxes.diffusive(t, u)
    np.testing.assert_allclose(slopes, 0.5 * semi.space.gradients(u, points), atol=1e-11)
    parameters = mesh.reference.on_facet.quadrature(fluxes.facet_order)[0]
    inner = np.arange(mesh.facets.interior)
    jump = semi.space.traces(u, 0, parameters, inner) - semi.space.traces(u, 1, parameters, inner)
    np.testing.assert_allclose(minus[:, :, inner], 0.5 * jump, atol=1e-11)
    np.testing.assert_allclose(plus, -0.5 * jump, atol=1e-11)
    left, right = mesh.facets.names["left"], mesh.facets.names["right"]
    given = mesh.facet_points(parameters, left)[0] + t
    np.testing.assert_allclose(
        minus[:, :, left], semi.space.traces(u, 0, parameters, left) - given, atol=1e-11
    )
    np.testing.assert_array_equal(minus[:, :, right], 0.0)


def test_a_continuous_function_has_no_jumps():
    semi = scheme("triangle", 1.0, Dirichlet(lambda x, t: x[0] * x[1]))
    u = semi.space.project([lambda x, t: x[0] * x[1]])
    _, facets, minus, plus = semi.fluxes.diffusive(0.0, u)
    np.testing.assert_allclose(minus, 0.0, atol=1e-12)
    np.testing.assert_allclose(plus, 0.0, atol=1e-12)
    parameters = semi.mesh.reference.on_facet.quadrature(semi.fluxes.facet_order)[0]
    x, (normals, density) = semi.mesh.facet_points(parameters), semi.mesh.facet_normals(parameters)
    np.testing.assert_allclose(facets[0], (x[1] * normals[0] + x[0] * normals[1]) * density, atol=1e-10)


def test_rates_of_data_are_exact_or_close():
    x = np.random.default_rng(0).uniform(size=(1, 3, 4))
    wave = sine(2.0, frequency=-3.0)
    exact = FixedInTime([wave], x)(0.4, rate=True)
    np.testing.assert_allclose(exact[0], wave.time_derivative()(x, 0.4), rtol=1e-14)
    semi = scheme(
        "line", 1.0, {"left": Dirichlet(lambda x, t: np.sin(5.0 * t) + x[0]), "right": Neumann(2.0)}
    )
    for part in semi.fluxes._boundary:
        expected = 5.0 * np.cos(5.0 * 0.3) if part.name == "left" else 0.0
        np.testing.assert_allclose(part.g(0.3, rate=True), expected, atol=1e-8)
        np.testing.assert_allclose(part.g(0.0, rate=True), 5.0 if part.name == "left" else 0.0, atol=1e-8)


def test_step_of_differences_follows_the_duration():
    boundary = Dirichlet(lambda x, t: np.sin(1e8 * t) + 0.0 * x[0])
    problem = Problem(AdvectionDiffusion(1.0), Domain(box_mesh("line", 2), boundary), 0.0, 1e-8)
    (part,) = UnstructuredSemidiscretization(problem, None, 1).fluxes._boundary
    np.testing.assert_allclose(part.g(0.4e-8, rate=True), 1e8 * np.cos(0.4), rtol=1e-8)


@ALL
def test_flux_of_a_nonlinear_law_has_the_form_of_the_scheme_as_divergence(kind):
    dim = KINDS[kind][1]
    problem = Problem(Burgers(dim), Domain(box_mesh(kind, 2), Dirichlet(1.0)), 1.0, 1.0)
    semi = UnstructuredSemidiscretization(problem, None, 1)
    rng = np.random.default_rng(0)
    u, change = 2.0 + 0.1 * rng.normal(size=semi.shape), rng.normal(size=semi.shape)
    fluxes = semi.fluxes
    space = RaviartThomasSpace(semi.mesh, 1)
    recovery = FluxRecovery(space, fluxes.cell_order, fluxes.facet_order)
    local = space.local(recovery.interpolate(*fluxes.convective(0.3, u)))
    points, _ = semi.mesh.reference.quadrature(4)
    divergence = semi.space.project_values(space.divergence(local, points), 4)
    np.testing.assert_allclose(divergence, -semi.convection.apply(0.3, u), atol=1e-9)
    h = 1e-4
    for rate, later, earlier in zip(
        fluxes.convective_rate(0.3, u, change),
        fluxes.convective(0.3, u + h * change),
        fluxes.convective(0.3, u - h * change),
        strict=True,
    ):
        np.testing.assert_allclose(rate, (later - earlier) / (2.0 * h), atol=1e-5)


def test_scalar_equations_only():
    gas = DiffusivePSystem(0.1, 1, lower=0.85, upper=1.15)
    problem = Problem(gas, Domain(box_mesh("line", 2), Dirichlet((1.0, 0.0))), (1.0, 0.0), 1.0)
    semi = UnstructuredSemidiscretization(problem, None, 1)
    with pytest.raises(TypeError, match="equation: expected a scalar one, got DiffusivePSystem"):
        semi.fluxes  # noqa: B018
