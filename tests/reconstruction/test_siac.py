"""SIAC reconstruction of node data: smoothness, H(div) fluxes, tensor products, degenerate matrices."""

import math

import numpy as np
import pytest

from stfem import Problem, Siac, Torus, equations
from stfem.data import sine
from stfem.problems import linear_advection_diffusion
from stfem.reconstruction import NodeReconstruction, SiacFilteredGradient, filter_stencil, prolong, restrict
from stfem.reconstruction.checks import continuity_defect, flux_continuity_defect
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.legendre import derivative_matrix, gauss, legendre_values
from stfem.spaces.stencil import apply_matrix
from stfem.spaces.tensor import norm_l2_sq
from stfem.timestepping import Node

VECTOR = np.array([0.6, -1.1])
MATRICES = {
    "scalar": 0.1 * np.eye(2),
    "one direction": np.diag([0.0, 0.1]),
    "full": np.array([[1.0, 0.4], [0.4, 0.5]]),
    "degenerate": np.outer(VECTOR, VECTOR),
}


def setting(matrix, cells=(5, 4), degree=1, order=None):
    problem = Problem(equations.AdvectionDiffusion((1.0, 0.5), matrix), Torus((1.0, 1.4)), 0.0, 1.0)
    semi = Semidiscretization(problem, cells, degree)
    return semi, Siac(order).bind(semi)


def random_node(semi, seed=1):
    values, rate = np.random.default_rng(seed).normal(size=(2, *semi.shape))
    return Node(0.0, values, rate)


def divergence(flux, grid, degree, dim=2):
    total = 0.0
    for i, component in enumerate(flux):
        own = component.shape[component.ndim - 2 * dim + i]
        slope = derivative_matrix(own - 1)[: degree + 1] / grid.spacing[i]
        total = total + apply_matrix(slope, component, i, dim)
    return total


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("cells", [(5, 4), (1, 2)])
def test_continuity(name, order, cells):
    semi, bound = setting(MATRICES[name], cells, 1, order)
    node = random_node(semi)
    reconstructed = bound.at_node(node)
    assert continuity_defect(reconstructed.state, 2) < 1e-12
    assert flux_continuity_defect(reconstructed, 2) < 1e-12
    slope = apply_matrix(derivative_matrix(bound.degree), reconstructed.state, 1, 2)
    assert continuity_defect(slope, 2) < 1e-11  # û ∈ C¹ ⊂ H², as λ = 1 needs
    # negative controls: the DG function itself, and a flux with one cell changed
    assert continuity_defect(node.values, 2) > 0.1
    broken = [component.copy() for component in reconstructed.flux]
    broken[1][..., 0, 0, 0, 0] += 1.0
    if cells != (1, 2):
        changed = NodeReconstruction(node, bound.field, lambda pair: tuple(broken))
        assert flux_continuity_defect(changed, 2) > 1e-4


def test_no_flux_without_diffusion():
    semi, bound = setting(0.0)
    node = bound.at_node(random_node(semi))
    assert node.flux == ()
    assert flux_continuity_defect(node, 2) == 0.0


@pytest.mark.parametrize("name", ["scalar", "one direction", "full"])
@pytest.mark.parametrize("order", [2, 3])
def test_divergence_of_the_filtered_flux(name, order):
    """∇·(K * σ_h) = K * (∇·σ_h) = K * (P u_h)."""
    semi, bound = setting(MATRICES[name], order=order)
    u = random_node(semi).values
    found = divergence(bound.flux(u), bound.grid, bound.degree)
    expected = bound.field(semi.rhs_parabolic(0.0, u))
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())
    assert np.abs(found - bound.field(semi.rhs_hyperbolic(0.0, u))).max() > 0.1


@pytest.mark.parametrize("order", [3, 4])
def test_degenerate_flux_lies_in_the_range(order):
    semi, bound = setting(MATRICES["degenerate"], order=order)
    node = bound.at_node(random_node(semi))
    across = VECTOR[1] * node.flux[0] - VECTOR[0] * node.flux[1]
    scale = max(np.abs(component).max() for component in node.flux)
    assert np.abs(across).max() < 1e-12 * scale
    semi, bound = setting(MATRICES["full"], order=order)
    first, second = bound.at_node(random_node(semi)).flux
    common = (slice(None),) * 2 + (slice(0, bound.degree + 1),) * 2
    assert np.abs(VECTOR[1] * first[common] - VECTOR[0] * second[common]).max() > 0.1


@pytest.mark.parametrize("order", [3, 4])
def test_tensor_product(order):
    """û of a product is the product of the one-dimensional û."""
    _, bound = setting(0.0, (5, 4), 1, order)
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 5)), rng.normal(size=(2, 4))
    u = np.einsum("ix,jy->ijxy", a, b)[None]
    stencil = filter_stencil(1, order, 1)
    expected = np.einsum("ix,jy->ijxy", stencil.apply(a, 0, 1), stencil.apply(b, 0, 1))
    np.testing.assert_allclose(bound.field(u)[0], expected, atol=1e-13)
    assert bound.grid.cells == ((10, 8) if order % 2 else (5, 4))


@pytest.mark.parametrize("degree", [1, 2])
def test_superconvergence(degree):
    """‖K * P_h u − u‖ has order 2q + 1 or more, the projection alone q + 1."""
    errors, plain = [], []
    for cells in (12, 24):
        problem = linear_advection_diffusion(1, 0.0, 0.1)
        semi = Semidiscretization(problem, cells, degree)
        bound = Siac().bind(semi)
        u = semi.project(problem.initial)
        exact = problem.initial[0].project(bound.grid, bound.degree, 0.0).coefficients[None]
        errors.append(math.sqrt(norm_l2_sq(bound.field(u) - exact, bound.grid)))
        plain.append(
            math.sqrt(norm_l2_sq(prolong(u, semi.grid.cells, bound.degree, bound) - exact, bound.grid))
        )
    assert math.log2(errors[0] / errors[1]) > 2 * degree + 0.8
    assert math.log2(plain[0] / plain[1]) < degree + 1.2


@pytest.mark.parametrize("order", [3, 4])
def test_transfer(order):
    """Restriction is the adjoint projection of prolongation: R P = 1, and both agree with quadrature."""
    semi, bound = setting(0.0, (3, 4), 1, order)
    u = random_node(semi).values
    fine = prolong(u, semi.grid.cells, bound.degree, bound)
    assert norm_l2_sq(fine, bound.grid) == pytest.approx(norm_l2_sq(u, semi.grid), rel=1e-12)
    np.testing.assert_allclose(restrict(fine, semi.grid.cells, 1), u, atol=1e-12)
    wave = sine([2.0 * math.pi, 2.0 * math.pi / 1.4])
    on_fine = wave.project(bound.grid, bound.degree, 0.0).coefficients[None]
    direct = wave.project(semi.grid, 1, 0.0).coefficients[None]
    np.testing.assert_allclose(restrict(on_fine, semi.grid.cells, 1), direct, atol=1e-13)
    assert np.abs(restrict(bound.field(u), semi.grid.cells, 1) - u).max() > 1e-2


def test_default_order_is_even():
    assert [Siac().order_for(q) for q in range(6)] == [2, 4, 4, 6, 6, 8]
    assert Siac(3).order_for(1) == 3
    with pytest.raises(ValueError, match="spline order >= 2"):
        Siac(1)


@pytest.mark.parametrize("rule", [Siac, SiacFilteredGradient])
def test_orders_that_would_take_long_are_refused(rule):
    rule(20)
    for order in (21, 1000):
        with pytest.raises(ValueError, match=f"order: expected a spline order <= 20, got {order}"):
            rule(order)
    for order in (3.5, 4.0, "4", True):
        with pytest.raises(TypeError, match="order: expected a whole number, got"):
            rule(order)


def test_values_of_node_reconstruction_are_those_of_the_stencil():
    semi, bound = setting(MATRICES["full"])
    node = random_node(semi)
    reconstructed = bound.at_node(node)
    assert reconstructed.time == 0.0
    np.testing.assert_allclose(reconstructed.state[1], bound.field(node.rate), atol=1e-13)
    s = gauss(3)[0]
    assert legendre_values(bound.degree, s).shape[1] == reconstructed.state.shape[2]
    for component, own in zip(bound.flux(node.rate), reconstructed.flux, strict=True):
        np.testing.assert_allclose(component, own[1], atol=1e-12)
