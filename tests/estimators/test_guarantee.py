"""No bound lies below the true error, integrated here with more points and times than the library takes."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.interpolate import KroghInterpolator

import stfem.estimators.split
from stfem import Hermite, Problem, Siac, SplitEstimator, Torus, certify, equations
from stfem.data import Polynomial, Trigonometric
from stfem.problems import CATALOGUE
from stfem.spaces.legendre import gauss, legendre_values
from stfem.timestepping import SSPRK22, ExplicitRungeKutta

EPSILONS = (0.0, 1e-10, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
SLACK = 1.0 + 1e-9


class FineError:
    """Errors at 6 Gauss times and both ends of every slab, 6 points per direction beyond the degree."""

    last = None

    def __init__(self, problem, grid, degree):
        self.problem, self.grid, self.degree = problem, grid, degree
        self.supremum = self.final = self.final_l1 = self.dissipated = self.size = 0.0
        self.s, self.w = gauss(degree + 6 if grid.dim < 3 else degree + 2)
        FineError.last = self

    def take(self, slab):
        nodes = slab.nodes
        data = np.concatenate([node.state for node in nodes])
        interpolant = KroghInterpolator(np.repeat([n.time for n in nodes], 2), data.reshape(len(data), -1))
        tau, weights = gauss(6)
        weights = [0.0, *(weights * slab.time.duration), 0.0]
        for s, weight in zip([0.0, *tau, 1.0], weights, strict=True):
            t = slab.time.stop if s == 1.0 else slab.time.start + s * slab.time.duration
            self._measure(interpolant(t).reshape(data.shape[1:]), t, weight)

    def _at(self, modes, direction=None):
        for i in range(self.grid.dim):
            table = legendre_values(self.degree, self.s, int(i == direction))
            if i == direction:
                table = table / self.grid.spacing[i]
            modes = np.moveaxis(np.tensordot(table, modes, axes=(1, 1 + i)), 0, 1 + i)
        return modes

    def _measure(self, modes, t, weight):
        dim, points = self.grid.dim, len(self.s)
        x = np.zeros((dim, *(points,) * dim, *self.grid.cells))
        measure = self.grid.cell_measure
        for i, (h, n) in enumerate(zip(self.grid.spacing, self.grid.cells, strict=True)):
            shape = [1] * (2 * dim)
            shape[i], shape[dim + i] = points, n
            x[i] = ((self.s[:, None] + np.arange(n)) * h).reshape(shape)
            measure = measure * self.w.reshape([points if k == i else 1 for k in range(2 * dim)])
        error = self.problem.exact(x, t) - self._at(modes)
        self.final = math.sqrt((measure * error**2).sum())
        self.final_l1 = float((measure * np.abs(error)).sum())
        self.supremum = max(self.supremum, self.final)
        self.size = max(self.size, math.sqrt((measure * self.problem.exact(x, t) ** 2).sum()))
        equation = self.problem.equation
        if weight and self.problem.exact_gradient is not None:
            exact = self.problem.exact_gradient(x, t)
            slope = [(exact[i] - self._at(modes, i))[np.flatnonzero(equation.diffused)] for i in range(dim)]
            self.dissipated += weight * sum(
                float((measure * slope[i] * slope[j]).sum()) * equation.diffusion[i, j]
                for i in range(dim)
                for j in range(dim)
            )

    @property
    def energy(self):
        return math.sqrt(self.supremum**2 + self.dissipated) if self.problem.exact_gradient else None


@pytest.fixture(autouse=True)
def fine(monkeypatch):
    monkeypatch.setattr(stfem.estimators.split, "TrueError", FineError)


def violations(result):
    """Names of the bounds below their error, beyond round-off."""
    floor = 1e-14 * FineError.last.size
    pairs = {
        "bound": (result.bound, result.error),
        "final": (result.bound_final, result.error_final),
        "energy": (result.bound_energy, result.error_energy),
        "upper": (result.enclosure[1], result.error_dg),
        "lower": (result.error_dg, result.enclosure[0]),
    }
    if result.bound_l1 is not None:
        pairs["l1"] = (result.bound_l1, FineError.last.final_l1)
    return [name for name, (high, low) in pairs.items() if not high * SLACK + floor >= low]


def random_wave(rng, dim, terms, highest, frequency=3.0):
    k = 2.0 * math.pi * rng.integers(-highest, highest + 1, (terms, dim))
    amplitudes = rng.normal(size=terms) + 1j * rng.normal(size=terms)
    return Trigonometric(k, frequency * rng.normal(size=terms), amplitudes / terms)


def manufactured(u, velocity, matrix, reaction, final_time, burgers=False):
    """The problem that a trigonometric u solves."""
    dim = u.dim
    source = u.time_derivative() + reaction * u
    for i in range(dim):
        source = source + (u * u.derivative(i) if burgers else (velocity[i] * u).derivative(i))
        for j in range(dim):
            source = source - matrix[i, j] * u.derivative(i).derivative(j)
    equation = (
        equations.Burgers(dim, matrix)
        if burgers
        else equations.AdvectionDiffusion(tuple(velocity), matrix, reaction)
    )
    slopes = [u.derivative(i) for i in range(dim)]
    return Problem(
        equation,
        Torus((1.0,) * dim),
        Trigonometric(u.wavevectors, 0.0 * u.frequencies, u.amplitudes),
        final_time,
        source=source,
        exact=u,
        exact_gradient=lambda x, t: np.stack([slope(x, t) for slope in slopes]),
    )


def random_problem(seed):
    """Random solution; compressive velocity, reaction of either sign, D = 0, multiples of 1 or rank one."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 3))
    u = random_wave(rng, dim, 3, 1)
    kind = rng.choice(["constant", "reaction", "velocity", "both", "burgers"])
    number = [Trigonometric.number(float(b), dim) for b in rng.uniform(-1.5, 1.5, dim)]
    velocity, reaction = number, Trigonometric.number(float(rng.choice([0.0, 1.0, -1.0])), dim)
    if kind in ("velocity", "both"):
        velocity = [b + 0.5 * random_wave(rng, dim, 2, 1, 1.0) for b in number]
    if kind in ("reaction", "both"):
        reaction = 2.0 * random_wave(rng, dim, 2, 1, 1.0)
    eps = float(rng.choice([0.0, 10.0 ** rng.uniform(-8.0, 0.0)]))
    matrix = eps * np.eye(dim)
    if dim == 2 and rng.random() < 0.4:
        vector = rng.normal(size=2)
        matrix = eps * (np.outer(vector, vector) + rng.choice([0.0, 0.3]) * np.eye(2))
    if kind == "burgers":
        u, reaction = 1.0 + 0.3 * u, Trigonometric.number(0.0, dim)
    problem = manufactured(
        u, velocity, matrix, reaction, float(rng.uniform(0.02, 0.4 if eps < 0.1 else 0.06)), kind == "burgers"
    )
    degree = int(rng.integers(1, 4)) if dim == 1 else int(rng.integers(1, 3))
    cells = int(rng.integers(2, 13)) if dim == 1 else (int(rng.integers(2, 7)), int(rng.integers(2, 7)))
    order = rng.choice([None, degree + 1, degree + 2, 2])
    estimator = SplitEstimator(
        reconstruction=Siac(None if order is None else int(order)),
        spacing=rng.choice([None, 1, 2]),
        interpolant=rng.choice([None, Hermite(3)]),
    )
    return problem, cells, degree, estimator, bool(rng.random() < 0.7)


def assert_guaranteed(result):
    assert violations(result) == []
    assert violations(replace(result.estimate, bound=0.99 * result.error)) == ["bound"]


def catalogue_problem(name, eps):
    if name == "burgers_cole_hopf":
        return CATALOGUE[name](eps, 0.1), 12, 2
    dim = 2 if name in ("linear_advection_diffusion", "sheared_pulse") else 1
    final_time = {"diffusive_p_system": 0.03, "viscous_burgers": 0.05}.get(name, 0.1)
    return CATALOGUE[name](dim, eps, final_time if eps < 0.1 else 0.01), 6, 1


@pytest.mark.parametrize(
    ("name", "eps"),
    # the exact solution by Cole-Hopf needs eps > 0
    [(name, eps) for name in CATALOGUE for eps in EPSILONS if name != "burgers_cole_hopf" or eps >= 1e-3],
)
def test_catalogue(name, eps):
    problem, cells, degree = catalogue_problem(name, eps)
    result = certify(problem, cells=cells, degree=degree)
    assert_guaranteed(result)
    assert result.effectivity < 4.0
    assert result.guaranteed


@pytest.mark.parametrize(
    "name",
    [
        "viscous_burgers",
        "diffusive_p_system",
        "sheared_pulse",
        "shallow_water",
        "isentropic_euler",
        "acoustics",
    ],
)
@pytest.mark.parametrize("order", [2, 3])
def test_catalogue_in_more_dimensions(name, order):
    dim = 3 if name == "sheared_pulse" else 2
    result = certify(
        CATALOGUE[name](dim, 1e-3, 0.01), cells=4, degree=1, estimator=SplitEstimator(Siac(order))
    )
    assert_guaranteed(result)


@cache
def random_run(seed):
    problem, cells, degree, estimator, corrected = random_problem(seed)
    result = certify(problem, cells=cells, degree=degree, estimator=estimator, initial_correction=corrected)
    return problem, result, violations(result)


@pytest.mark.parametrize("seed", range(40))
def test_random_problems(seed):
    _, result, violated = random_run(seed)
    assert violated == []
    assert result.guaranteed


def test_random_problems_are_what_they_should_be():
    """Half of them sharp, a fifth with growth, all with sources."""
    runs = [random_run(seed) for seed in range(40)]
    assert all(not problem.source[0].is_zero for problem, _, _ in runs)
    assert sum(result.effectivity < 2.0 for _, result, _ in runs) >= 20
    assert sum(result.parts["growth"] > 1.01 for _, result, _ in runs) >= 8


class Damped(equations.Burgers):
    """Burgers with a reaction that varies: a user's equation."""

    def __init__(self, reaction, diffusion):
        equations.Burgers.__init__(self, 1, diffusion)
        self.reaction = reaction

    @property
    def stability(self):
        plain = super().stability
        form = equations.GrowthForm(np.array([[-1.0]]), ((-2.0, self.reaction),), np.zeros(1))
        return equations.Stability(lambda lower, upper: equations.Growth((form,)), plain.needs_range)


@pytest.mark.parametrize("frequency", [0.0, 2.0])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_nonlinear_equation_with_variable_reaction(frequency, sign):
    two_pi = 2.0 * math.pi
    u = 1.0 + Trigonometric([[two_pi]], [1.0], [0.2])
    c = sign * (5.0 + Trigonometric([[two_pi]], [frequency], [2.0]))
    source = u.time_derivative() + u * u.derivative(0) + c * u - 0.01 * u.derivative(0).derivative(0)
    start = Trigonometric(u.wavevectors, 0.0 * u.frequencies, u.amplitudes)
    problem = Problem(
        Damped(c, 0.01),
        Torus(1.0),
        start,
        0.1,
        source=source,
        exact=u,
        exact_gradient=lambda x, t: u.derivative(0)(x, t)[None],
    )
    result = certify(problem, cells=8, degree=1)
    assert_guaranteed(result)
    assert result.effectivity < 3.0


class Waves(equations.Equation):
    """Linear acoustics, a symmetric system: p_t + ∇·v = 0, v_t + ∇p = 0, with diffusion in v."""

    flux_degree = 1

    def __init__(self, diffusion):
        super().__init__(1, 2, diffusion, (0.0, 1.0))

    def flux(self, u, x, t, direction):
        return u[::-1].copy()

    def jacobian_product(self, u, v, x, t, direction):
        return v[::-1].copy()

    def wave_speed(self, u, x, t, direction):
        return np.ones_like(u[0])

    @property
    def stability(self):
        form = equations.GrowthForm(np.zeros((2, 1)), (), np.zeros(2))
        return equations.Stability(lambda lower, upper: equations.Growth((form,)))


@pytest.mark.parametrize("eps", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize("order", [None, 3])
def test_linear_system_of_a_user(eps, order):
    two_pi = 2.0 * math.pi
    p, v = Trigonometric([[two_pi]], [1.0], [0.5]), Trigonometric([[two_pi]], [-2.0], [0.3 + 0.2j])
    source = (
        p.time_derivative() + v.derivative(0),
        v.time_derivative() + p.derivative(0) - eps * v.derivative(0).derivative(0),
    )
    start = tuple(Trigonometric(f.wavevectors, 0.0 * f.frequencies, f.amplitudes) for f in (p, v))
    problem = Problem(
        Waves(eps),
        Torus(1.0),
        start,
        0.1,
        source=source,
        exact=lambda x, t: np.stack([p(x, t), v(x, t)]),
        exact_gradient=lambda x, t: np.stack([p.derivative(0)(x, t), v.derivative(0)(x, t)])[None],
    )
    result = certify(problem, cells=8, degree=1, estimator=SplitEstimator(Siac(order)))
    assert_guaranteed(result)
    assert result.guaranteed
    assert result.bound_l1 is None


@pytest.mark.parametrize("coefficients", [(0.0, 0.0, 0.0, 1.0), (0.0, 1.0, -1.0, 0.5, 0.25)])
def test_polynomial_fluxes(coefficients):
    u = 0.5 + Trigonometric([[2.0 * math.pi]], [1.0], [0.2])
    slope, power, flux_slope = u.derivative(0), Trigonometric.number(1.0, 1), Trigonometric.number(0.0, 1)
    for k, c in enumerate(coefficients[1:], start=1):
        flux_slope = flux_slope + c * k * power
        power = power * u
    source = u.time_derivative() + flux_slope * slope - 0.01 * slope.derivative(0)
    problem = Problem(
        equations.ScalarConservationLaw(coefficients, diffusion=0.01),
        Torus(1.0),
        Trigonometric(u.wavevectors, 0.0 * u.frequencies, u.amplitudes),
        0.1,
        source=source,
        exact=u,
        exact_gradient=lambda x, t: slope(x, t)[None],
    )
    result = certify(problem, cells=8, degree=1)
    assert_guaranteed(result)
    assert result.guaranteed


def test_source_that_vanishes_at_all_points_of_quadrature_and_time_stepping():
    """g = P_4 (1 − z²) vanishes at the stage times of SSPRK2 and at 4 Gauss points: û ≡ 0, e = ∫g."""
    z = np.polynomial.Polynomial([-1.0, 2.0])
    legendre = np.polynomial.Polynomial(np.polynomial.legendre.leg2poly([0, 0, 0, 0, 1.0]))
    g = legendre(z) * (1.0 - z * z)
    equation = equations.AdvectionDiffusion((Trigonometric([[2.0 * math.pi]], [0.0], [1e-9]),))
    problem = Problem(equation, Torus(1.0), 0.0, 1.0, source=Polynomial(g.coef[None]))
    result = certify(problem, cells=4, degree=1, dt=2.0, stepper=ExplicitRungeKutta(SSPRK22))
    truth = np.abs(g.integ()(np.linspace(0.0, 1.0, 101))).max()
    assert truth > 0.04
    assert truth <= result.bound
    assert result.guaranteed


def test_callables_are_never_guaranteed():
    wave = lambda x: np.sin(2.0 * np.pi * x[0])  # noqa: E731
    result = certify(Problem(equations.AdvectionDiffusion((1.0,)), Torus(1.0), wave, 0.1), cells=8, degree=1)
    assert not result.guaranteed
    assert "initial" in result.unproved[0]


def test_a_flux_that_depends_on_x_is_refused():
    class Varying(equations.Burgers):
        def flux(self, u, x, t, direction):
            return 0.5 * (1.0 + x[0]) * u * u

        def jacobian_product(self, u, v, x, t, direction):
            return (1.0 + x[0]) * u * v

        def wave_speed(self, u, x, t, direction):
            return np.abs((1.0 + x[0]) * u[0])

    problem = Problem(Varying(1), Torus(1.0), 1.0, 0.01)
    with pytest.raises(ValueError, match="without x and t"):
        certify(problem, cells=4, degree=1)
