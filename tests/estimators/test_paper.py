import math
from dataclasses import replace

import numpy as np
import pytest

import stfem
from stfem.data import Trigonometric
from stfem.equations import AdvectionDiffusion, Burgers, DiffusivePSystem
from stfem.estimators import PaperEstimator
from stfem.estimators.paper_fields import PaperFields, point_stencil
from stfem.estimators.paper_stability import paper_stability
from stfem.meshes import TensorGrid
from stfem.problems import diffusive_p_system, linear_advection_diffusion, viscous_burgers
from stfem.reconstruction import SiacFilteredGradient
from stfem.spaces.legendre import gauss
from stfem.spaces.tensor import point_coordinates, values_at
from stfem.timestepping import ARK324L2SA, ARK548L2SA, ImplicitExplicitRungeKutta, Node

SPEED = {linear_advection_diffusion: 1.0, viscous_burgers: 2.2, diffusive_p_system: math.sqrt(2.0 / 0.9**3)}


def run(factory, degree, cells, eps, estimator=None, correction=False, **final_time):
    """The scheme of arXiv 2604.01200."""
    return stfem.certify(
        factory(2, eps, **final_time),
        cells=cells,
        degree=degree,
        estimator=estimator or PaperEstimator(),
        dt=0.1 / ((2 * degree + 1) * SPEED[factory] * cells),
        stepper=ImplicitExplicitRungeKutta(ARK324L2SA if degree == 1 else ARK548L2SA),
        initial_correction=correction,
    )


# values of the program of arXiv 2604.01200, and of an independent one in the first row
@pytest.mark.parametrize(
    ("factory", "degree", "eps", "steps", "expected"),
    [
        (linear_advection_diffusion, 1, 1e-2, 480, (3.4933e-3, 8.8825e-3, 2.9386e-4, 4.4355e-3, 1.2808e-3)),
        (viscous_burgers, 2, 0.0, 176, (2.58840e-6, 2.83621e-5, 2.3845e-6, 4.12024e-6, 2.08051e-6)),
    ],
)
def test_published_values(factory, degree, eps, steps, expected):
    result = run(factory, degree, 16, eps)
    facts = result.facts
    assert facts["steps"] == steps
    found = (facts["E_rec"], result.bound, facts["e0"], facts["R1"], facts["E_r2"])
    assert found == pytest.approx(expected, rel=1e-3)


def test_published_values_need_the_plain_projection():
    plain, corrected = (
        run(viscous_burgers, 1, 16, 0.0, correction=c, final_time=1e-3).facts["e0"] for c in (False, True)
    )
    assert plain == pytest.approx(5.8772e-5, rel=1e-3)
    assert corrected != pytest.approx(5.8772e-5, rel=0.2)


def test_initial_error_belongs_to_the_bound():
    # T → 0 with the plain projection and kernel order q + 1: e0 for the linear problem, q = 1, N = 8
    result = run(linear_advection_diffusion, 1, 8, 0.0, final_time=1e-9)
    assert result.facts["e0"] == pytest.approx(4.5151e-3, rel=1e-4)
    assert result.bound >= result.error == pytest.approx(4.5151e-3, rel=1e-4)


@pytest.mark.parametrize("factory", SPEED)
@pytest.mark.parametrize("eps", [0.0, 1e-1])
def test_paper_bound_is_a_bound(factory, eps):
    result = run(factory, 1, 8, eps, final_time=0.05)
    assert result.effectivity_energy >= 1.0
    assert result.history["bound"][-1] == result.bound
    assert not result.guaranteed
    beta = 0.5 * eps * result.facts["E_r2"] ** 2
    assert result.indicators_sq.sum() == pytest.approx(result.facts["R1"] ** 2 + beta)
    lower, upper = result.enclosure
    assert lower <= result.error_dg <= upper


def test_constants():
    assert paper_stability(AdvectionDiffusion((1.0, 0.5))).bound(1.0, 2.0, 3.0, 0.0) == pytest.approx(24**0.5)
    burgers = paper_stability(Burgers(2))
    assert burgers.bound(1.0, 2.0, 3.0, 0.5) == pytest.approx(math.exp(0.5) * 92**0.5)
    gradient = np.array([[[0.1, -0.3]], [[0.2, 0.0]]])
    assert burgers.rates(gradient, np.zeros((1, 2))) == pytest.approx([0.6, 0.4])


def test_p_system_constants_bound_the_relative_quantities():
    equation = DiffusivePSystem(lower=0.85, upper=1.15)
    stability = paper_stability(equation)
    a, b = np.meshgrid(*[np.linspace(0.85, 1.15, 61)] * 2)
    a, b = (x[abs(a - b) > 1e-6] for x in (a, b))
    entropy = 1 / a - 1 / b + (a - b) / b**2  # W(a | b)
    pressure = a**-2.0 - b**-2.0 + 2 * (a - b) / b**3  # p(a | b)
    one = stability.rates(np.zeros((2, 3, 1)), np.array([[1.0], [0.0], [0.0]]))
    assert np.all(pressure <= one.sum() * entropy * (1.0 + 1e-6))
    assert np.max(pressure / entropy) > 0.3 * one.sum()
    assert np.all(stability.initial / 4.0 * (a - b) ** 2 >= 2.0 * entropy * (1.0 - 1e-9))


def test_unknown_equations_are_refused():
    # each differs from what the paper treats in one thing
    wave = Trigonometric([[0.0, 2 * np.pi]], [0.0], [1.0])
    for equation in (AdvectionDiffusion((wave, 0.0)), AdvectionDiffusion((1.0, 0.0), reaction=1.0)):
        with pytest.raises(TypeError, match="expected a linear equation with constant velocity"):
            paper_stability(equation)
    problem = stfem.Problem(
        AdvectionDiffusion((1.0, 0.0), np.diag([1.0, 0.5])), stfem.Torus((1.0, 1.0)), 1.0, 0.1
    )
    with pytest.raises(ValueError, match="expected a multiple of the identity"):
        stfem.certify(problem, cells=4, degree=1, estimator=PaperEstimator(), initial_correction=False)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="points: expected 1 to 64, got 0"):
        PaperEstimator(points=0)
    with pytest.raises(ValueError, match="times: expected 1 to 64, got 0"):
        PaperEstimator(times=0)
    run = stfem.solve(linear_advection_diffusion(2, 0.0, 0.1), cells=4, degree=1, history=True)
    with pytest.raises(ValueError, match="at least two time nodes"):
        PaperEstimator().run(run.semidiscretization, run.stored[:1], 3)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_point_stencils_are_derivatives_of_each_other(order):
    step = 1e-4
    points = np.array([0.2, 0.4, 0.8])
    there, here = (point_stencil(2, order, 0, points + s).matrices for s in (step, -step))
    slope = point_stencil(2, order, 1, points).matrices
    assert (there - here) / (2 * step) == pytest.approx(slope, abs=1e-6)
    assert np.abs(slope).max() > 0.1


def test_fields_of_a_wave():
    # all of them approximate the same derivatives of a smooth function, with order 2q + 1 and more
    errors = []
    points = gauss(3)[0]
    for cells in (8, 16):
        problem = linear_advection_diffusion(2, 0.0, 0.1)
        semi = stfem.solve(problem, cells=cells, degree=1).semidiscretization
        values = semi.project(problem.initial)
        fields = (
            PaperFields(TensorGrid((1.0, 1.0), cells), 1, points).at_node(Node(0.0, values, values)).state
        )
        x = point_coordinates(semi.grid, [points] * 2)
        u = problem.initial[0]
        slopes = [u.derivative(i) for i in range(2)]
        laplacian = slopes[0].derivative(0)(x) + slopes[1].derivative(1)(x)
        exact = np.stack([u(x), *[s(x) for s in slopes], *[s(x) for s in slopes], laplacian])
        scale = np.abs(exact).max(axis=tuple(range(1, exact.ndim)))
        error = np.abs(fields[0, :, 0] - exact).max(axis=tuple(range(1, exact.ndim))) / scale
        assert np.array_equal(fields[0], fields[1])
        errors.append(error)
    assert np.all(np.log2(errors[0] / errors[1]) > 1.8)
    assert np.all(errors[1] < 0.02)


@pytest.mark.parametrize("degree", [1, 2])
def test_filtered_gradient_is_the_published_one(degree):
    # û and d̃/D on half cells agree with the point values that reproduce the published E_r2
    eps = 0.1
    semi = stfem.solve(linear_advection_diffusion(2, eps, 0.01), cells=8, degree=degree).semidiscretization
    values = np.random.default_rng(7).normal(size=semi.shape)
    bound = SiacFilteredGradient().bind(semi)
    node = bound.at_node(Node(0.0, values, values))
    half = gauss(2)[0]
    fields = PaperFields(semi.grid, degree, np.concatenate([0.5 * half, 0.5 + 0.5 * half])).at_node(node.node)

    def on_cells(field):
        """Values at the points of whole cells from modes on half cells."""
        at_points = values_at(field, field.shape[1] - 1, half, 2)
        m, p, _, n, _ = at_points.shape
        split = at_points.reshape(m, p, p, n // 2, 2, n // 2, 2)
        return split.transpose(0, 4, 1, 6, 2, 3, 5).reshape(m, 2 * p, 2 * p, n // 2, n // 2)

    assert on_cells(node.state[0]) == pytest.approx(fields.state[0, 0], abs=1e-11)
    for i in range(2):
        assert on_cells(node.flux[i][0]) == pytest.approx(eps * fields.state[0, 3 + i], abs=1e-10)
        assert np.abs(fields.state[0, 3 + i] - fields.state[0, 1 + i]).max() > 1e-2


@pytest.mark.parametrize("eps", [0.0, 1e-4, 1e-1])
@pytest.mark.parametrize("factory", [linear_advection_diffusion, viscous_burgers])
def test_split_bound_with_the_filtered_gradient(factory, eps):
    estimator = stfem.SplitEstimator(reconstruction=SiacFilteredGradient())
    result = stfem.certify(factory(1, eps, 0.1), cells=12, degree=1, estimator=estimator)
    assert 1.0 <= result.effectivity < 2.0
    assert result.effectivity_energy >= 1.0
    assert result.guaranteed


def test_a_flux_with_another_divergence_is_noticed():
    # the residual takes the divergence of the flux itself: a rougher flux costs, a wrong one cannot pass
    solution = stfem.solve(linear_advection_diffusion(1, 1e-1, 0.1), cells=12, degree=1, history=True)
    only = stfem.SplitEstimator(reconstruction=SiacFilteredGradient(), members=(0.0,))
    honest = stfem.estimate(solution, only)

    class Doubled(SiacFilteredGradient):
        def bind(self, semidiscretization):
            bound = super().bind(semidiscretization)
            at_node = bound.at_node
            bound.at_node = lambda node: replace(
                at_node(node),
                reconstruct_flux=lambda pair, rows=None: tuple(2.0 * f for f in bound.flux(pair, rows)),
            )
            return bound

    doubled = stfem.estimate(solution, replace(only, reconstruction=Doubled()))
    assert doubled.bound > 10.0 * honest.bound
    assert honest.effectivity >= 1.0


def test_order_of_the_filtered_gradient_is_checked():
    with pytest.raises(ValueError, match="order: expected a spline order >= 2, got 1"):
        SiacFilteredGradient(order=1)
