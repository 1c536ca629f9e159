"""The right-hand side does not depend on how the grid is cut into blocks, nor on which way is the fastest."""

import copy

import numpy as np
import pytest

from stfem import Problem, Torus, equations
from stfem.data import sine
from stfem.fluxes import flux_engquist_osher, flux_rusanov
from stfem.problems import diffusive_p_system, linear_advection_diffusion, viscous_burgers
from stfem.semidiscretization import Semidiscretization
from stfem.semidiscretization.points import looks_at_points
from stfem.spaces import blocks, tensor_product

WAVY = equations.AdvectionDiffusion((1.0 + sine([2.0 * np.pi, 0.0], 0.5, amplitude=0.4), 0.3), diffusion=0.02)
EQUATIONS = {
    "constant": lambda dim: equations.AdvectionDiffusion((1.0, -0.5, 0.3)[:dim], diffusion=0.01),
    "Burgers": lambda dim: equations.Burgers(dim, diffusion=0.01),
    "fluxes": lambda dim: equations.ScalarConservationLaw([(0.0, 1.0, k) for k in range(1, dim + 1)]),
    "p-system": lambda dim: equations.DiffusivePSystem(0.01, dim=dim),
    "cross": lambda dim: equations.Burgers(dim, diffusion=np.eye(dim) + 0.3),
}


def state(semi):
    u = 0.01 * np.random.default_rng(4).normal(size=semi.shape)
    u[(slice(None), *(0,) * semi.grid.dim)] += 1.0
    return u


def scheme(equation, cells, degree, **options):
    problem = Problem(equation, Torus((1.0,) * equation.dim), [1.0] * equation.components, 1.0)
    return Semidiscretization(problem, cells, degree, **options)


CASES = [
    (name, cells, degree)
    for name in EQUATIONS
    for cells in [(7,), (1,), (5, 3), (1, 2), (4, 1, 3)]
    for degree in (0, 1, 2)
    if name != "cross" or (degree > 0 and len(cells) > 1)
]


@pytest.mark.parametrize(("name", "cells", "degree"), CASES)
def test_blocks_and_products_are_a_matter_of_speed(name, cells, degree, monkeypatch):
    equation = EQUATIONS[name](len(cells))
    semi = scheme(equation, cells, degree)
    u = state(semi)
    expected = semi.rhs_hyperbolic(0.0, u) + semi.rhs_parabolic(0.0, u)
    scale = 1e-13 * (1.0 + semi.convective_rate(u) + semi.diffusion.spectral_radius)
    for cache, moved in ((1, 12), (4000, 0), (1 << 22, 1000)):  # row by row; products apart; all together
        monkeypatch.setattr(blocks, "CACHE", cache)
        monkeypatch.setattr("stfem.spaces.compact.MOVE", moved)
        monkeypatch.setattr(tensor_product, "MOVE", moved)
        other = scheme(equation, cells, degree)
        for _ in range(2):  # kept arrays do not remember
            parts = other.rhs_hyperbolic(0.0, u) + other.rhs_parabolic(0.0, u)
            for found in (other.rhs(0.0, u), parts):
                assert np.abs(found - expected).max() <= scale
            other.rhs(0.0, 1.0 + 0.0 * u)
    if np.prod(cells) > 1:
        assert np.abs(semi.rhs(0.0, 1.01 * u) - expected).max() > 1e3 * scale


@pytest.mark.parametrize("degree", [1, 3])
@pytest.mark.parametrize("factory", [linear_advection_diffusion, viscous_burgers, diffusive_p_system])
def test_results_go_to_a_given_array(factory, degree):
    problem = factory(2, 0.01)
    semi = Semidiscretization(problem, (5, 4), degree)
    u = semi.project(problem.initial)
    for method in (semi.rhs, semi.rhs_hyperbolic, semi.rhs_parabolic):
        out = np.full(u.shape, np.nan)
        assert method(0.3, u, out) is out
        np.testing.assert_array_equal(out, method(0.3, u))
    out = np.full(u.shape, np.nan)
    assert semi.solve_parabolic(u, 0.01, out) is out
    np.testing.assert_array_equal(out, semi.solve_parabolic(u, 0.01))


@pytest.mark.parametrize("name", ["constant", "Burgers", "p-system"])
def test_results_do_not_vanish_in_a_copy(name):
    semi = scheme(EQUATIONS[name](2), (4, 3), 1)
    u = state(semi)
    for out in (np.empty((*u.shape, 2))[..., 0], np.empty(u.shape[1:])):
        with pytest.raises(ValueError, match="out: expected a contiguous array of shape"):
            semi.rhs(0.0, u, out)


def test_copies_do_not_share_or_tear_their_arrays():
    semi = scheme(equations.Burgers(2, diffusion=0.01), 6, 2)
    u = state(semi)
    semi.rhs(0.0, u)
    twin = copy.deepcopy(semi)
    expected = semi.rhs(0.0, 0.5 * u)
    np.testing.assert_array_equal(twin.rhs(0.0, 0.5 * u), expected)


def test_inputs_of_a_flux_cannot_be_written():
    def careless(equation, minus, plus, x, t, direction):
        minus += 1.0
        return minus

    semi = scheme(equations.Burgers(1), 4, 1, flux=lambda *a: flux_rusanov(*a))
    semi._convection.flux = careless
    with pytest.raises(ValueError, match="read-only"):
        semi.rhs_hyperbolic(0.0, state(semi))


class Somewhere(equations.Burgers):
    """Burgers with a flux that looks at x in its own way."""

    def __init__(self, look):
        super().__init__(1)
        self.look = look

    def flux(self, u, x, t, direction):
        return super().flux(u, x, t, direction) * (2.0 if self.look(x) else 1.0)


@pytest.mark.parametrize(
    "look",
    [
        lambda x: np.any(x[0] > 2.0),
        lambda x: (x > 2.0).any(),
        lambda x: np.asarray(x).size == 0,
        lambda x: len(x) == 7,
        lambda x: x.max() > 2.0,
        lambda x: np.sin(x).max() > 2.0,
        lambda x: max(x) is None,
        lambda x: bool(x == 3.0),
    ],
)
def test_a_flux_that_looks_at_the_points_gets_them(look):
    assert looks_at_points(Somewhere(look), flux_rusanov)
    assert not looks_at_points(equations.Burgers(1), flux_rusanov)
    assert not looks_at_points(equations.Burgers(2), flux_engquist_osher)
    assert looks_at_points(WAVY, flux_rusanov)


def test_fluxes_see_nan_where_they_did_not_look():
    seen = []

    def late(equation, minus, plus, x, t, direction):
        if t > 0.0:
            seen.append(x)
            return flux_rusanov(equation, minus, plus, x, t, direction) + x[0]
        return flux_rusanov(equation, minus, plus, x, t, direction)

    semi = scheme(equations.Burgers(1), 4, 1, flux=late)
    assert np.isfinite(semi.rhs(0.0, state(semi))).all()
    assert np.isnan(semi.rhs(1.0, state(semi))).all()
    assert seen


def test_variable_velocity_in_blocks(monkeypatch):
    semi = scheme(WAVY, (12, 5), 2)
    u = state(semi)
    expected = semi.rhs(0.4, u)
    monkeypatch.setattr(blocks, "CACHE", 1)
    other = scheme(WAVY, (12, 5), 2)
    assert len(other._convection._blocks) == 12
    np.testing.assert_allclose(other.rhs(0.4, u), expected, atol=1e-11)
    assert np.abs(other.rhs(0.9, u) - expected).max() > 1e-3


def test_velocities_are_kept_as_long_as_their_points():
    equation = equations.AdvectionDiffusion((1.0 + sine([2.0 * np.pi, 0.0], amplitude=0.4), 0.3))
    semi = scheme(equation, 6, 1)
    u = state(semi)
    first = semi.rhs(0.0, u)
    assert equation._kept
    assert not copy.deepcopy(equation)._kept
    np.testing.assert_array_equal(semi.rhs(0.0, u), first)
    del semi
    assert not equation._kept
