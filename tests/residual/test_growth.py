"""Growth rates are proved suprema: above dense samples, and close to them (T4)."""

import math

import numpy as np
import pytest

from stfem import Problem, Torus, equations
from stfem.data import Polynomial, Slab, Trigonometric, as_data, cosine, sine
from stfem.meshes import TensorGrid
from stfem.problems import diffusive_p_system, sheared_pulse
from stfem.residual.growth import GrowthRate
from stfem.spaces.legendre import legendre_values

PI2 = 2.0 * math.pi
SLAB = Slab(0.1, 0.35, 3)


def random_modes(dim, degree, cells, components=1, seed=0):
    rng = np.random.default_rng(seed)
    shape = (SLAB.degree + 1, components, *(degree + 1,) * dim, *cells)
    order = np.indices(shape[:1] + shape[2 : 2 + dim]).sum(axis=0)
    decay = 0.4 ** order.reshape(shape[0], 1, *shape[2 : 2 + dim], *(1,) * dim)
    return rng.normal(size=shape) * decay


def sampled(modes, dim, spacing, direction=None, points=41):
    """Values (time, m, P…, N…) on a dense set that includes all ends."""
    s = np.linspace(0.0, 1.0, points)
    values = np.tensordot(legendre_values(SLAB.degree, s), modes, axes=(1, 0))
    for i in range(dim):
        order = int(i == direction)
        table = legendre_values(values.shape[2 + i] - 1, s, order) / spacing[i] ** order
        values = np.moveaxis(np.tensordot(table, values, axes=(1, 2 + i)), 0, 2 + i)
    return values


def assert_close_above(rate, truth):
    assert rate >= truth - 1e-10
    assert rate <= truth + 0.02 * abs(truth) + 0.02


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_burgers(dim, seed):
    problem = Problem(equations.Burgers(dim), Torus((1.0, 1.4)[:dim]), 1.0, 1.0)
    grid = TensorGrid(problem.domain.lengths, (4, 3)[:dim])
    modes = random_modes(dim, 3, grid.cells, seed=seed)
    rate = GrowthRate(problem, grid, 3).rate(SLAB, lambda: [modes])
    points = 41 if dim == 1 else 15
    slope = sum(sampled(modes, dim, grid.spacing, i, points) for i in range(dim))
    truth = -slope.min()
    assert rate >= truth - 1e-10
    assert rate <= 1.05 * truth + 0.02
    assert rate < 0.999 * np.abs(slope).max() or slope.max() <= -slope.min()  # one-sided, no absolute value


@pytest.mark.parametrize("frequency", [0.0, 5.0])
def test_linear_rates_are_taken_jointly(frequency):
    """2μ = sup(−∇·b − 2c): with c = −½∇·b nothing grows, though each part does."""
    b = 1.0 + sine(PI2, frequency, amplitude=0.4)
    grid = TensorGrid((1.0,), 6)
    x, times = np.linspace(0.0, 1.0, 401)[None], np.linspace(SLAB.start, SLAB.stop, 41)
    for c in (0.0 * b, 0.3 + cosine(PI2, frequency, 0.5, 0.7), -0.5 * b.derivative(0)):
        problem = Problem(equations.AdvectionDiffusion((b,), reaction=c), Torus(1.0), 1.0, 1.0)
        rate = GrowthRate(problem, grid, 3).rate(SLAB, lambda: pytest.fail("the solution is not needed"))
        truth = max(float((-b.derivative(0)(x, t) - 2.0 * c(x, t)).max()) for t in times)
        assert rate >= truth - 1e-10
        assert rate <= truth + 0.02 * max(1.0, abs(truth))  # Bernstein bounds stop at 1 % of the range
    apart = float(np.abs(b.derivative(0)(x, 0.2)).max())
    assert rate < 0.03 < apart


def test_rates_may_be_negative():
    problem = Problem(equations.AdvectionDiffusion((1.0,), reaction=0.7), Torus(1.0), 1.0, 1.0)
    assert GrowthRate(problem, TensorGrid((1.0,), 4), 3).rate(SLAB, lambda: None) == pytest.approx(-1.4)


def test_divergence_free_velocity_does_not_grow():
    problem = sheared_pulse(2, 0.0)
    assert GrowthRate(problem, TensorGrid((1.0, 1.0), 4), 3).rate(SLAB, lambda: None) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_general_flux(seed):
    """sup_x max_ξ −f''(ξ) ∂û, ξ in the hull of the ranges of û and u."""
    problem = Problem(
        equations.ScalarConservationLaw((0.0, 0.0, 0.0, 1.0)),
        Torus(1.0),
        0.5 + sine(PI2, amplitude=0.25),
        1.0,
        source=Polynomial([[0.2]]),
    )
    grid = TensorGrid((1.0,), 4)
    modes = 0.3 * random_modes(1, 3, grid.cells, seed=seed)
    rate = GrowthRate(problem, grid, 3).rate(SLAB, lambda: [modes])
    values, slopes = sampled(modes, 1, grid.spacing), sampled(modes, 1, grid.spacing, 0)
    widening = 0.2 * SLAB.duration
    low, high = min(values.min(), 0.25 - widening), max(values.max(), 0.75 + widening)
    truth = max(float((-6.0 * xi * slopes).max()) for xi in (low, high))
    assert_close_above(rate, truth)


def test_range_of_the_solution_widens_slab_by_slab():
    problem = Problem(
        equations.ScalarConservationLaw((0.0, 0.0, 0.0, 1.0)),
        Torus(1.0),
        1.0,
        1.0,
        source=Polynomial([[0.2]]),
    )
    grid = TensorGrid((1.0,), 4)
    modes = np.zeros((4, 1, 4, 4))
    modes[0, 0, 1] = -1.0  # slope −2√3/h on every cell
    rule = GrowthRate(problem, grid, 3)
    steepness = 2.0 * math.sqrt(3.0) * 4
    for n in (1, 2, 3):
        upper = max(math.sqrt(3.0), 1.0 + 0.2 * n * SLAB.duration)
        assert rule.rate(SLAB, lambda: [modes]) == pytest.approx(6.0 * upper * steepness, rel=1e-6)
    modes[0, 0, 1] = -0.1
    for n in (4, 5):
        upper = 1.0 + 0.2 * n * SLAB.duration
        assert rule.rate(SLAB, lambda: [modes]) == pytest.approx(0.6 * upper * steepness, rel=1e-6)


@pytest.mark.parametrize("dim", [1, 2])
def test_p_system(dim):
    """2μ = sup(∇·v̂ + g_τ)_− (2/min τ̂ + 1/lower)."""
    problem = diffusive_p_system(dim)
    grid = TensorGrid((1.0,) * dim, 4)
    modes = 0.02 * random_modes(dim, 3, grid.cells, 1 + dim, seed=1)
    modes[0, 0].reshape(4**dim, -1)[0] += 1.0
    rate = GrowthRate(problem, grid, 3).rate(SLAB, lambda: [modes])
    points = 33 if dim == 1 else 13
    divergence = sum(sampled(modes, dim, grid.spacing, i, points)[:, 1 + i] for i in range(dim))
    tau = sampled(modes, dim, grid.spacing, None, points)[:, 0]
    x = np.stack(np.meshgrid(*(np.linspace(0, 1, 101),) * dim, indexing="ij"))
    source = max(-float(problem.source[0](x, t).min()) for t in np.linspace(SLAB.start, SLAB.stop, 9))
    kappa = 2.0 / tau.min() + 1.0 / 0.85
    assert rate >= kappa * (-divergence.min()) - source * kappa  # at least some admissible point
    assert rate <= 1.05 * kappa * (-divergence.min() + source) + 0.05
    calm = np.zeros_like(modes)
    calm[0, 0].reshape(4**dim, -1)[0] = 1.0
    still = Problem(problem.equation, problem.domain, (1.0, *(0.0,) * dim), 1.0, source=(1.0, *(0.0,) * dim))
    assert GrowthRate(still, grid, 3).rate(SLAB, lambda: [calm]) == 0.0  # never below zero


class Reacting(equations.Burgers):
    """u_t + ∂(u²/2) + cu = 0 with a rate that depends on the range: no maximum principle if c < 0."""

    def __init__(self, reaction, state_set=None):
        super().__init__(1)
        self.reaction, self.state_set = as_data(reaction, 1, 1, "reaction")[0], state_set

    @property
    def stability(self):
        return equations.Stability(self._by_range, needs_range=True, state_set=self.state_set)

    def _by_range(self, lower, upper):
        form = equations.GrowthForm(
            np.array([[-1.0]]), ((float(upper[0] - lower[0]), cosine(0.0)),), np.zeros(1)
        )
        return equations.Growth((form,))


def test_range_needs_a_maximum_principle_or_a_state_set():
    grid, modes = TensorGrid((1.0,), 4), np.zeros((4, 1, 4, 4))
    domain, start = Torus(1.0), 0.5 + sine(PI2, amplitude=0.25)
    plain = GrowthRate(Problem(Reacting(0.0), domain, start, 1.0), grid, 3)
    assert plain.rate(SLAB, lambda: [modes]) == pytest.approx(0.75, rel=1e-6)  # û = 0 and u in [0.25, 0.75]
    with pytest.raises(ValueError, match="expected a state_set beside needs_range=True, since Reacting"):
        GrowthRate(Problem(Reacting(-1.0), domain, start, 1.0), grid, 3)
    known = Reacting(-1.0, (np.array([-3.0]), np.array([3.0])))
    assert GrowthRate(Problem(known, domain, start, 1.0), grid, 3).rate(SLAB, lambda: [modes]) == 6.0


def test_assumption_of_a_flux_given_by_callables():
    problem = Problem(
        equations.ScalarConservationLaw(np.sin, np.cos, lambda u: -np.sin(u)), Torus(1.0), 1.0, 1.0
    )
    rule = GrowthRate(problem, TensorGrid((1.0,), 4), 3)
    rule.rate(SLAB, lambda: [random_modes(1, 3, (4,))])
    assert "samples" in next(iter(rule.unproved))


def test_remainder_of_rough_data_counts():
    """A wave too short for the expansion on a cell: the remainder keeps the supremum above."""
    b = 2.0 + Trigonometric([[40 * PI2]], [0.0], [0.01])
    problem = Problem(equations.AdvectionDiffusion((b,)), Torus(1.0), 1.0, 1.0)
    rate = GrowthRate(problem, TensorGrid((1.0,), 2), 3).rate(SLAB, lambda: None)
    assert rate >= 0.01 * 40 * PI2
