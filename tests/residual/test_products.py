"""∇·f(û) of quadratic fluxes on few Gauss points, and the bound of what these leave out (T4.6)."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from stfem import equations
from stfem.meshes.grid import TensorGrid
from stfem.residual.products import QuadraticConvection
from stfem.spaces.legendre import gauss, legendre_values
from stfem.spaces.stencil import apply_everywhere, apply_matrix

FLUXES = (Polynomial((0.1, 0.3, 0.5)), Polynomial((0.0, -1.0, -0.2)), Polynomial((0.0, 0.0, 0.7)))
CASES = {
    "Burgers 1D": (equations.Burgers(1), (5,), 3),
    "Burgers 2D": (equations.Burgers(2), (2, 3), 2),
    "fluxes 1D": (equations.ScalarConservationLaw(FLUXES[0]), (4,), 4),
    "fluxes 2D": (equations.ScalarConservationLaw(FLUXES[:2]), (3, 2), 2),
    "fluxes 3D": (equations.ScalarConservationLaw(FLUXES), (1, 2, 2), 1),
    "linear and curved": (equations.ScalarConservationLaw((Polynomial((0.0, 2.0)), FLUXES[1])), (2, 2), 2),
}


def setting(name, fall=0.3):
    equation, cells, degree = CASES[name]
    grid = TensorGrid((1.0, 1.3, 0.8)[: len(cells)], cells)
    shape = (degree + 1,) * grid.dim
    decay = fall ** np.indices(shape).max(axis=0).reshape(*shape, *(1,) * grid.dim)
    pair = np.random.default_rng(3).normal(size=(2, 1, *shape, *cells)) * decay
    return equation, grid, degree, pair


def pointwise(equation, grid, degree, pair, points):
    """∇·f(û) and its rate at Gauss points, by hand."""
    abscissae, _ = gauss(points)
    table, slope = (legendre_values(degree, abscissae, order) for order in range(2))
    u, v = apply_everywhere(table, pair, grid.dim)[:, 0]
    total = np.zeros((2, *u.shape))
    for i, h in enumerate(grid.spacing):
        du, dv = pair[:, 0]
        for k in range(grid.dim):
            matrix = slope / h if k == i else table
            du, dv = (apply_matrix(matrix, field, k, grid.dim) for field in (du, dv))
        flux = getattr(equation, "_flux", [Polynomial((0.0, 0.0, 0.5))] * grid.dim)[i]
        total[0] += flux.deriv(1)(u) * du
        total[1] += flux.deriv(2)(u) * v * du + flux.deriv(1)(u) * dv
    return total


def distance(grid, exact, modes, points):
    """Norms in L²(Ω) of values at Gauss points less modes, one for value and rate."""
    abscissae, weights = gauss(points)
    basis = legendre_values(modes.shape[2] - 1, abscissae)
    gap = (exact - apply_everywhere(basis, modes, grid.dim)[:, 0]) ** 2
    for _ in range(grid.dim):
        gap = np.tensordot(weights, gap, axes=(0, 1))
    return np.sqrt(grid.cell_measure * gap.reshape(2, -1).sum(axis=1))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("fall", [0.1, 0.3, 1.0])
def test_what_few_points_leave_out_is_bounded(name, fall):
    equation, grid, degree, pair = setting(name, fall)
    convection = QuadraticConvection(equation, grid, degree)
    most = convection.most_points
    tails = np.sqrt(convection.left_out_sq(pair))
    assert tails.shape == (most + 1, 2)
    assert np.all(np.isinf(tails[: degree + 1]))
    assert np.all(np.diff(tails[degree + 1 :], axis=0) <= 0.0)
    exact = pointwise(equation, grid, degree, pair, most + 1)
    size = np.sqrt((exact**2).reshape(2, -1).mean(axis=1) * grid.measure)
    for points in range(degree + 1, most + 1):
        modes, _, _ = convection.modes(pair, points)
        missed = distance(grid, exact, modes, most + 1)
        assert np.all(missed <= tails[points] + 1e-12 * size), points
        if points <= 2 * degree - 1:
            assert np.all(missed > 0.0)
    assert np.all(tails[most] == 0.0)
    assert np.all(missed <= 1e-12 * size)  # the full number is exact
    assert np.all(tails[degree + 1] > 0.0)


def test_bound_of_a_single_product():
    """û of one mode: u_k∂u_k is missed by the bound's own factors, less 2 and the shapes of the modes."""
    equation, grid, degree, pair = setting("fluxes 1D")
    pair[:] = 0.0
    pair[:, 0, degree] = 1.0
    convection = QuadraticConvection(equation, grid, degree)
    tails = np.sqrt(convection.left_out_sq(pair))
    height = np.sqrt(2.0 * degree + 1.0)
    expected = 2.0 * 1.0 * height**2 * degree * (degree + 1.0) / grid.spacing[0]  # |Ω| = 1, f'' = 1
    np.testing.assert_allclose(tails[degree + 1 : 2 * degree + 1, 0], expected, rtol=1e-13)
    np.testing.assert_allclose(tails[:, 1], 2.0 * tails[:, 0], rtol=1e-13)  # v∂û and û∂v
    missed = distance(
        grid,
        pointwise(equation, grid, degree, pair, 12),
        convection.modes(pair, degree + 1)[0],
        12,
    )
    assert 0.02 * expected < missed[0] <= expected


@pytest.mark.parametrize("name", CASES)
def test_sizes_of_the_terms(name):
    equation, grid, degree, pair = setting(name)
    convection = QuadraticConvection(equation, grid, degree)
    _, squares, speeds = convection.modes(pair, convection.most_points)
    slopes = np.zeros(2)
    for i, h in enumerate(grid.spacing):
        table = legendre_values(degree, gauss(degree + 1)[0], 1) / h
        field = apply_matrix(table, pair, i, grid.dim) ** 2
        slopes += np.tensordot(gauss(degree + 1)[1], field, axes=(0, 2 + i)).reshape(2, -1).sum(axis=1)
    assert np.all(np.abs(np.log2(squares / slopes)) < 1.0)  # a size of what may round off, not a norm
    u, v = apply_everywhere(legendre_values(degree, gauss(convection.most_points)[0]), pair, grid.dim)[:, 0]
    one, x = np.ones((1, *u.shape)), np.zeros((grid.dim, *(1,) * u.ndim))
    fastest = max(
        float(np.abs(equation.jacobian_product(u[None], one, x, 0.0, i)).max()) for i in range(grid.dim)
    )
    assert speeds[0] == pytest.approx(fastest, rel=1e-12)
    assert speeds[1] == pytest.approx(max(convection.curvature) * np.abs(v).max(), rel=1e-12)


@pytest.mark.parametrize("speed", [0.0, 1.0, 1e20])
def test_curvature_beside_any_speed(speed):
    equation = equations.ScalarConservationLaw((0.3, speed, -0.2))
    convection = QuadraticConvection(equation, TensorGrid((1.0,), 2), 1)
    assert convection.curvature == (0.4,)
    linear = equations.ScalarConservationLaw((0.3, speed))
    assert QuadraticConvection(linear, TensorGrid((1.0,), 2), 1).curvature == (0.0,)
