"""Equations seen along normals: flux, Jacobian, wave speeds by eigenvalues."""

import numpy as np
import pytest

from stfem.equations import AdvectionDiffusion, Burgers, DiffusivePSystem, Equation
from stfem.equations.normal import NormalEquation


@pytest.mark.parametrize("equation", [AdvectionDiffusion((1.0, -0.4)), Burgers(2), DiffusivePSystem(dim=2)])
def test_normal_flux_and_jacobian(equation):
    rng = np.random.default_rng(0)
    u, v = rng.uniform(0.6, 1.8, (2, equation.components, 3, 5))
    angle = rng.uniform(0.0, 2.0 * np.pi, (3, 5))
    normals, x = np.stack([np.cos(angle), np.sin(angle)]), rng.uniform(size=(2, 3, 5))
    along = NormalEquation(equation, normals)
    expected = sum(normals[i] * equation.flux(u, x, 0.0, i) for i in range(2))
    np.testing.assert_allclose(along.flux(u, x, 0.0), expected)
    step = 1e-6
    difference = (along.flux(u + step * v, x, 0.0) - along.flux(u - step * v, x, 0.0)) / (2.0 * step)
    np.testing.assert_allclose(along.jacobian_product(u, v, x, 0.0), difference, atol=1e-8)
    # the shorter way of an equation agrees with the eigenvalues
    by_columns = Equation.normal_wave_speed(equation, u, x, 0.0, normals)
    np.testing.assert_allclose(along.wave_speed(u, x, 0.0), by_columns, rtol=1e-12)
    np.testing.assert_allclose(
        along.wave_speed(u, x, 0.0) > 0.0, np.abs(along.jacobian_product(u, v, x, 0.0)).max(axis=0) > 0.0
    )


def test_dissipation_uses_the_normal_speed():
    tangential = NormalEquation(AdvectionDiffusion((1.0, 0.0)), np.array([[0.0], [1.0]]))
    assert tangential.wave_speed(np.ones((1, 1)), np.zeros((2, 1)), 0.0) == 0.0
    system = NormalEquation(DiffusivePSystem(dim=2), np.array([[0.6], [0.8]]))
    state = np.array([[1.0], [0.0], [0.0]])
    assert system.wave_speed(state, np.zeros((2, 1)), 0.0)[0] == pytest.approx(np.sqrt(2.0))


def test_sonic_points_serve_all_normals_or_are_unknown():
    normal = np.array([[0.6], [0.8]])
    assert NormalEquation(Burgers(2), normal).sonic_points() == (0.0,)
    assert NormalEquation(AdvectionDiffusion((1.0, 2.0)), normal).sonic_points() == ()
