"""Fully implicit steppers: tableaux, orders, stiffness, Newton's method and its failure."""

import numpy as np
import pytest

from stfem import Problem, Torus, solve
from stfem.equations import AdvectionDiffusion
from stfem.semidiscretization import SolveError
from stfem.timestepping import (
    ARK324L2SA,
    ARK548L2SA,
    RADAU3,
    RADAU5,
    RK4,
    DiagonallyImplicitRungeKutta,
    ImplicitExplicitRungeKutta,
    ImplicitRungeKutta,
    ImplicitTableau,
    integrate,
    radau_iia,
)

STEPPERS = [
    ImplicitRungeKutta(radau_iia(1)),
    ImplicitRungeKutta(RADAU3),
    ImplicitRungeKutta(RADAU5),
    DiagonallyImplicitRungeKutta(ARK324L2SA.implicit),
    DiagonallyImplicitRungeKutta(ARK548L2SA.implicit),
]


class Dense:
    """u' = F(t, u) with a dense Jacobian; counts how often that is asked for."""

    has_diffusion = False

    def __init__(self, rate, jacobian, linear):
        self.rate, self.jacobian, self.linear, self.count = rate, jacobian, linear, 0

    def rhs_hyperbolic(self, t, u):
        return self.rate(t, u)

    def linearise(self, t, u):
        self.count += 1
        return Matrix(self.jacobian(t, u))


class Matrix:
    def __init__(self, matrix):
        self.matrix = matrix

    def solve(self, rhs, shift):
        return np.linalg.solve(np.eye(len(rhs)) - shift * self.matrix, rhs)


def forced():
    """u' = A u + force with u = (cos t, sin 2t) and complex eigenvalues of A."""
    matrix = np.array([[-1.0, 3.0], [-2.0, -0.5]])

    def exact(t):
        return np.array([np.cos(t), np.sin(2.0 * t)])

    def rate(t, u):
        return matrix @ (u - exact(t)) + np.array([-np.sin(t), 2.0 * np.cos(2.0 * t)])

    return Dense(rate, lambda t, u: matrix, True), exact


def logistic():
    return Dense(lambda t, u: u * (1.0 - u), lambda t, u: np.diag(1.0 - 2.0 * u), False), (
        lambda t: np.array([1.0 / (1.0 + np.exp(-t)), 2.0 / (2.0 - np.exp(-t))])
    )


def last(ode, stepper, initial, final, steps):
    *_, node = integrate(ode, stepper, initial, final, final / steps)
    return node.values


@pytest.mark.parametrize("stepper", STEPPERS, ids=repr)
@pytest.mark.parametrize("make", [forced, logistic])
def test_order_of_convergence(stepper, make):
    ode, exact = make()
    errors = [np.abs(last(ode, stepper, exact(0.0), 2.0, n) - exact(2.0)).max() for n in (8, 16, 32)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert stepper.order - 0.35 < orders[-1] < stepper.order + 0.8 or errors[-1] < 1e-11
    assert stepper.implicit


@pytest.mark.parametrize("stepper", STEPPERS, ids=repr)
def test_stiff_problems_need_no_small_steps(stepper):
    ode = Dense(lambda t, u: -1e8 * (u - np.cos(t)), lambda t, u: np.array([[-1e8]]), True)
    value = last(ode, stepper, np.array([1.0]), 1.0, 10)
    assert value[0] == pytest.approx(np.cos(1.0), abs=1e-7)


def test_backward_euler_is_what_it_says():
    ode = Dense(lambda t, u: -(u**3) + t, lambda t, u: np.diag(-3.0 * u**2), False)
    u = np.array([2.0, -1.5])
    value = ImplicitRungeKutta(radau_iia(1)).step(ode, 0.3, u, 0.7, None)
    np.testing.assert_allclose(value - u - 0.7 * (-(value**3) + 1.0), 0.0, atol=1e-12)


def test_failure_tells_the_residual():
    ode = Dense(lambda t, u: 40.0 * np.sin(40.0 * u), lambda t, u: np.zeros((1, 1)), False)
    with pytest.raises(
        SolveError, match="Newton's iteration: expected a solution, got a relative residual of"
    ):
        ImplicitRungeKutta(RADAU5).step(ode, 0.0, np.array([1.0]), 1.0, None)


@pytest.mark.parametrize("stepper", STEPPERS, ids=repr)
@pytest.mark.parametrize("force", [0.0, 1e-40, 1.0])
def test_nonlinear_runs_may_start_from_nothing(stepper, force):
    ode = Dense(lambda t, u: force - u**3, lambda t, u: np.diag(-3.0 * u**2), False)
    value = last(ode, stepper, np.zeros(2), 0.1, 2)
    np.testing.assert_allclose(value, 0.1 * force, rtol=2e-3)


def test_jacobians_are_few():
    for stepper in STEPPERS[2:]:
        ode, exact = logistic()
        last(ode, stepper, exact(0.0), 2.0, 8)
        assert ode.count <= 16
        ode, exact = forced()
        last(ode, stepper, exact(0.0), 2.0, 8)
        assert ode.count == 8


def test_radau_tableaux():
    np.testing.assert_allclose(RADAU3.a, [[5 / 12, -1 / 12], [3 / 4, 1 / 4]], rtol=1e-14)
    root = np.sqrt(6.0)
    np.testing.assert_allclose(RADAU5.c, [(4 - root) / 10, (4 + root) / 10, 1.0], rtol=1e-14)
    assert (RADAU3.order, RADAU5.order, RADAU5.stages) == (3, 5, 3)
    assert "Radau IIA 5" in repr(RADAU5)
    with pytest.raises(ValueError, match="stages: expected 1 to 5, got 6"):
        radau_iia(6)


@pytest.mark.parametrize(
    ("a", "order", "message"),
    [
        ([[5 / 12, -1 / 12], [3 / 4, 1 / 4]], 4, "expected order 4"),
        ([[5 / 12, -1 / 12], [3 / 4, 0.26]], 3, "last node to be 1"),
        ([[0.0, 0.0], [0.5, 0.5]], 2, "invertible"),
        ([[1.0, 0.0]], 1, "square"),
    ],
)
def test_faulty_tableaux(a, order, message):
    with pytest.raises(ValueError, match=message):
        ImplicitTableau("wrong", np.array(a), order)


def test_wrong_tableaux_for_the_diagonal_kind():
    with pytest.raises(ValueError, match="implicit, stiffly accurate tableau"):
        DiagonallyImplicitRungeKutta(RK4)


@pytest.mark.parametrize("stepper", STEPPERS[2:4], ids=repr)
def test_torus_has_no_jacobian(stepper):
    problem = Problem(AdvectionDiffusion(1.0), Torus(1.0), 0.0, 1.0)
    with pytest.raises(TypeError, match="stepper: expected an explicit or implicit-explicit one"):
        solve(problem, cells=4, degree=1, stepper=stepper, dt=0.1)


def test_load_of_boundary_data_is_implicit():
    """u' = −k(u − g(t)) split into L u and a load: exact for g linear in t where k is huge."""

    class Driven:
        has_diffusion = True

        def rhs_hyperbolic(self, t, u):
            return np.zeros_like(u)

        def rhs_parabolic(self, t, u):
            return -1e10 * (u - (1.0 + t))

        def parabolic_load(self, t):
            return 1e10 * (1.0 + t)

        def solve_parabolic(self, rhs, shift):
            return rhs / (1.0 + 1e10 * shift)

    for tableau in (ARK324L2SA, ARK548L2SA):
        value = last(Driven(), ImplicitExplicitRungeKutta(tableau), np.array([1.0]), 1.0, 4)
        assert value[0] == pytest.approx(2.0, abs=1e-8)
