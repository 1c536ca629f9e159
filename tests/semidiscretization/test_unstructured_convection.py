"""Convection on unstructured meshes: exact on polynomials, conservative, the two forms agree."""

import numpy as np
import pytest
from mesh_cases import KINDS, box_mesh

from stfem.equations import AdvectionDiffusion, Burgers, DiffusivePSystem
from stfem.fluxes import flux_engquist_osher, flux_rusanov, flux_upwind
from stfem.meshes import from_skfem
from stfem.problems import Dirichlet, Neumann, Outflow, TotalFlux
from stfem.semidiscretization.unstructured.convection import Convection, LinearConvection, convection
from stfem.spaces import blocks
from stfem.spaces.broken import BrokenSpace

ALL = pytest.mark.parametrize("kind", list(KINDS))
FLUXES = pytest.mark.parametrize("flux", [flux_upwind, flux_rusanov, flux_engquist_osher])
VELOCITY = (1.0, -0.5, 0.25)
EQUATIONS = pytest.mark.parametrize(
    "make", [lambda d: AdvectionDiffusion(VELOCITY[:d]), Burgers, lambda d: DiffusivePSystem(dim=d)]
)


def space_of(kind, degree, n=2, perturbation=0.2, periodic=()):
    return BrokenSpace(from_skfem(box_mesh(kind, n, perturbation, turned=True), periodic), degree)


def swirl(x, t):
    return np.stack([1.0 + np.sin(2.0 * np.pi * x[1]) * (1.0 + t), 0.3 + np.cos(2.0 * np.pi * x[0])])


@ALL
@FLUXES
def test_exact_on_polynomials_with_inflow_data(kind, flux):
    space = space_of(kind, 2)
    velocity = VELOCITY[: space.mesh.dim]
    equation = AdvectionDiffusion(velocity)
    # on cells that are not affine Q_2 holds products of linear functions
    u = space.project([lambda x, t: 1.0 + 2.0 * x[0] - x[-1]])
    operator = convection(space, equation, flux, Dirichlet(lambda x, t: 1.0 + 2.0 * x[0] - x[-1]))
    assert isinstance(operator, LinearConvection)
    slope = -(2.0 * velocity[0] - velocity[-1])
    expected = space.project([lambda x, t: np.full(x.shape[1:], slope)])
    np.testing.assert_allclose(operator.apply(0.0, u), expected, atol=1e-11)
    wrong = convection(space, equation, flux, Dirichlet(0.0))
    assert np.abs(wrong.apply(0.0, u) - expected).max() > 0.1


@ALL
@pytest.mark.parametrize("degree", [0, 1, 3])
def test_both_forms_agree(kind, degree):
    space = space_of(kind, degree, n=3)
    boundary = {"left": Dirichlet(lambda x, t: x[0] + t), "right": Outflow()}
    if space.mesh.dim > 1:
        boundary |= {"top": TotalFlux(lambda x, t: x[0] * t), "bottom": Neumann(3.0)}
    if space.mesh.dim > 2:
        boundary |= {"front": Dirichlet(1.0), "back": TotalFlux(0.0)}
    u = np.random.default_rng(0).normal(size=(1, space.modes, space.mesh.size))
    for velocity in (VELOCITY[: space.mesh.dim], swirl if space.mesh.dim == 2 else None):
        if velocity is None:
            continue
        equation = AdvectionDiffusion(velocity, dim=space.mesh.dim, divergence=0.0)
        arguments = (space, equation, flux_upwind, boundary)
        if velocity is swirl:
            boundary["right"] = Neumann()
        for t in (0.0, 0.4):
            fast, plain = LinearConvection(*arguments).apply(t, u), Convection(*arguments).apply(t, u)
            np.testing.assert_allclose(fast, plain, atol=1e-11 * np.abs(plain).max())


@ALL
@pytest.mark.parametrize("degree", [0, 2, 4])
def test_constant_transport_in_blocks_agrees(kind, degree, monkeypatch):
    monkeypatch.setattr(blocks, "CACHE", 500)
    space = space_of(kind, degree, n=3, perturbation=0.0, periodic=(0,))
    dim = space.mesh.dim
    boundary = {}
    if dim > 1:
        boundary |= {"top": Outflow(), "bottom": TotalFlux(lambda x, t: x[0] * t)}
    if dim > 2:
        boundary |= {"front": Dirichlet(1.0), "back": Dirichlet(lambda x, t: x[0] + t)}
    u = np.random.default_rng(0).normal(size=(1, space.modes, space.mesh.size))
    velocity = (1.0, 0.5, 0.25)[:dim]
    arguments = (space, AdvectionDiffusion(velocity), flux_upwind, boundary)
    fast, plain = LinearConvection(*arguments), Convection(*arguments)
    assert len(fast._transport._blocks) > 1 or dim == 1
    expected = plain.apply(0.4, u)
    np.testing.assert_allclose(fast.apply(0.4, u), expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["triangle", "tetrahedron"])
def test_a_flux_that_is_not_consistent_is_taken_as_it_is(kind):
    def half(equation, minus, plus, x, t, direction):
        return 0.5 * flux_upwind(equation, minus, plus, x, t, direction)

    space = space_of(kind, 1)
    u = np.random.default_rng(0).normal(size=(1, space.modes, space.mesh.size))
    arguments = (space, AdvectionDiffusion(VELOCITY[: space.mesh.dim]), half, Dirichlet(0.0))
    fast, plain = LinearConvection(*arguments), Convection(*arguments)
    assert fast._transport is None
    expected = plain.apply(0.0, u)
    np.testing.assert_allclose(fast.apply(0.0, u), expected, atol=1e-12 * np.abs(expected).max())


@ALL
@FLUXES
def test_burgers_is_exact_on_linear_functions(kind, flux):
    if flux is flux_upwind:
        with pytest.raises(TypeError, match="linear equation"):
            Convection(space_of(kind, 1), Burgers(KINDS[kind][1]), flux, Dirichlet(0.0)).apply(
                0.0, np.ones((1, space_of(kind, 1).modes, space_of(kind, 1).mesh.size))
            )
        return
    space = space_of(kind, 2, perturbation=0.0)  # −Σ_i ∂_i u²/2 = −u Σ_i ∂_i u is quadratic
    g = lambda x, t: x[0] - 0.3 + 0.5 * x[-1]  # noqa: E731  (changes its sign)
    u = space.project([g])
    operator = Convection(space, Burgers(space.mesh.dim), flux, Dirichlet(g))
    slope = 1.5
    expected = space.project([lambda x, t: -slope * g(x, t)])
    np.testing.assert_allclose(operator.apply(0.0, u), expected, atol=1e-11)


@ALL
@EQUATIONS
def test_closed_and_periodic_domains_keep_the_mass(kind, make):
    dim = KINDS[kind][1]
    equation = make(dim)
    for periodic in ((), range(dim)):
        space = space_of(kind, 2, n=3, periodic=periodic)
        rng = np.random.default_rng(2)
        u = 0.01 * rng.normal(size=(equation.components, space.modes, space.mesh.size))
        u[:, 0] += 1.0
        operator = convection(space, equation, flux_rusanov, TotalFlux(0.0))
        rate = operator.apply(0.0, u)
        assert np.abs(rate).max() > 1e-2
        change = rate[:, 0] @ space.mesh.cell_measures
        np.testing.assert_allclose(change, 0.0, atol=1e-12 * np.abs(rate).max())


@ALL
@EQUATIONS
def test_constants_stay(kind, make):
    equation = make(KINDS[kind][1])
    space = space_of(kind, 3)
    state = np.array([1.3, -0.2, 0.4, 0.1])[: equation.components]
    u = np.zeros((equation.components, space.modes, space.mesh.size))
    u[:, 0] = state[:, None]
    operator = convection(space, equation, flux_rusanov, Dirichlet(tuple(state)))
    np.testing.assert_allclose(operator.apply(0.0, u), 0.0, atol=1e-11)


def test_total_flux_is_what_passes():
    space = space_of("triangle", 1)
    boundary = {"left": TotalFlux(-2.0), "right": TotalFlux(0.5), "top": TotalFlux(0), "bottom": TotalFlux(0)}
    operator = convection(space, AdvectionDiffusion((1.0, 0.3)), flux_upwind, boundary)
    u = np.random.default_rng(3).normal(size=(1, space.modes, space.mesh.size))
    assert operator.apply(0.0, u)[0, 0] @ space.mesh.cell_measures == pytest.approx(1.5, rel=1e-12)


def test_outflow_where_the_flow_enters_is_an_error():
    space = space_of("triangle", 1)
    boundary = {"left": Dirichlet(0.0), "bottom": Outflow(), "right": Outflow(), "top": Outflow()}
    u = np.ones((1, space.modes, space.mesh.size))
    convection(space, AdvectionDiffusion((1.0, -0.0)), flux_upwind, boundary).apply(0.0, u)
    for equation in (AdvectionDiffusion((1.0, 0.5)), Burgers(2)):
        with pytest.raises(
            ValueError, match=r"boundary 'bottom': expected a flow that leaves.*2 of 2 facets"
        ):
            convection(space, equation, flux_rusanov, boundary).apply(0.0, u)


@pytest.mark.parametrize(("kind", "n"), [("line", 8), ("quadrilateral", 4), ("hexahedron", 3)])
def test_wave_rate_is_that_of_grids(kind, n):
    space = space_of(kind, 1, n, perturbation=0.0)
    velocity = VELOCITY[: space.mesh.dim]
    operator = convection(space, AdvectionDiffusion(velocity), flux_upwind, Dirichlet(0.0))
    u = np.ones((1, space.modes, space.mesh.size))
    np.testing.assert_allclose(operator.wave_rate(0.0, u), np.abs(velocity).sum() * n, rtol=1e-12)
