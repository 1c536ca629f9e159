"""No bound lies below the true error, integrated here with more points and times than the library takes."""

import math

import numpy as np
import pytest
from scipy.interpolate import KroghInterpolator

import stfem.estimators.split
from stfem import Hermite, Problem, Siac, SplitEstimator, Torus, certify, equations
from stfem.data import Trigonometric
from stfem.problems import CATALOGUE
from stfem.spaces.legendre import gauss, legendre_values

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
        dim, nodes = self.grid.dim, slab.nodes
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
    return problem, cells, degree, estimator, bool(rng.random() < 0.7), f"{kind} dim {dim}"
