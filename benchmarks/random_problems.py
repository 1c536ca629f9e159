"""Random problems whose solutions are known: the cases of random_cases.py, one for each seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stfem import Problem, Siac, Torus, equations
from stfem.data import Trigonometric
from stfem.semidiscretization import Semidiscretization
from stfem.solving import DEFAULT_CFL
from stfem.timestepping import StepLimits, Stepper, number_of_steps

Array = NDArray[np.float64]
KINDS = {"decay": 0.26, "constant": 0.18, "incompressible": 0.18, "compressive": 0.18, "Burgers": 0.2}
MAX_STEPS = 150
WORK = 2.5e5  # points where û is looked at in one case; the true error then costs about a second


class Field(Protocol):
    """A component of an exact solution."""

    def __call__(self, axes: Sequence[Array], times: Array, direction: int | None = None) -> Array:
        """u, or ∂_direction u, at the times and the product of one array of coordinates per direction."""

    @property
    def reach(self) -> Array:
        """Largest wave numbers in each direction."""


@dataclass(frozen=True, eq=False)
class Waves:
    """u(x, t) = Re Σ_j c_j exp( i(k_j·x + w_j t) − r_j t ), evaluated on tensor products of points.

    Attributes
    ----------
    wavevectors, frequencies, rates, amplitudes
        k_j ``(n, dim)``, w_j, r_j and c_j ``(n,)``.
    """

    wavevectors: Array
    frequencies: Array
    rates: Array
    amplitudes: NDArray[np.complex128]

    @property
    def reach(self) -> Array:
        """Largest wave numbers in each direction."""
        return np.abs(self.wavevectors).max(axis=0)

    @property
    def highest(self) -> float:
        """Largest wave number in any direction."""
        return float(self.reach.max())

    @property
    def fastest(self) -> float:
        """Largest frequency or rate."""
        return float(np.abs(np.append(self.frequencies, self.rates)).max(initial=0.0))

    def scaled(self, factor: float) -> Waves:
        """The same times a number."""
        return replace(self, amplitudes=factor * self.amplitudes)

    def above(self, offset: float) -> Waves:
        """The same plus a number."""
        return Waves(
            np.concatenate([self.wavevectors, np.zeros((1, self.wavevectors.shape[1]))]),
            np.append(self.frequencies, 0.0),
            np.append(self.rates, 0.0),
            np.append(self.amplitudes, offset),
        )

    def data(self, at_start: bool = False) -> Trigonometric:
        """The field as data of the library: at t = 0, or for all times where nothing decays."""
        return Trigonometric(self.wavevectors, self.frequencies * (not at_start), self.amplitudes)

    def __call__(self, axes: Sequence[Array], times: Array, direction: int | None = None) -> Array:
        """u, or ∂_direction u, at the times and the product of one array of coordinates per direction."""
        c = self.amplitudes * np.exp(np.outer(times, 1j * self.frequencies - self.rates))
        if direction is not None:
            c = c * 1j * self.wavevectors[:, direction]
        waves = [np.exp(1j * np.outer(k, x)) for k, x in zip(self.wavevectors.T, axes, strict=True)]
        product = np.ones((len(self.amplitudes), 1))
        for wave in waves[:-1]:
            product = (product[:, :, None] * wave[:, None]).reshape(len(wave), -1)
        values = (c[:, :, None] * product).transpose(0, 2, 1) @ waves[-1]
        return np.asarray(values.real.reshape(len(times), *(len(x) for x in axes)))

    def at(self, x: Array, t: float, direction: int | None = None) -> Array:
        """u, or ∂_direction u, at one time and points ``(dim, …)``."""
        c = self.amplitudes * np.exp(t * (1j * self.frequencies - self.rates))
        if direction is not None:
            c = c * 1j * self.wavevectors[:, direction]
        return np.asarray(np.tensordot(c, np.exp(1j * np.tensordot(self.wavevectors, x, 1)), 1).real)


@dataclass(frozen=True, eq=False)
class Case:
    """One random problem, what it is solved and certified with, and its exact solution."""

    seed: int
    kind: str
    problem: Problem
    exact: Waves | tuple[Field, ...]
    cells: tuple[int, ...]
    degree: int
    reconstruction: Siac
    spacing: int
    corrected: bool
    solving: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The exact solution, one field for every component."""
        return self.exact if isinstance(self.exact, tuple) else (self.exact,)

    @property
    def reach(self) -> Array:
        """Largest wave numbers of the exact solution in each direction."""
        return np.max([field.reach for field in self.fields], axis=0)


def random_case(seed: int) -> Case:
    """Case number `seed`."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(list(KINDS), p=list(KINDS.values())))
    dim, degree = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    drawn = rng.uniform(2.0, 25.0, dim)
    cells = tuple(int(n) for n in drawn)
    lengths = np.exp(rng.uniform(np.log(0.4), np.log(2.5), dim))
    matrix = random_diffusion(rng, dim)
    mean = rng.uniform(-1.5, 1.5, dim)
    velocity = random_velocity(rng, kind, mean, lengths)
    reaction = random_reaction(rng, kind, lengths)
    exact = _random_solution(rng, kind, mean, matrix, reaction, lengths)
    if kind == "Burgers":
        equation: equations.Equation = equations.Burgers(dim, matrix)
    else:
        equation = equations.AdvectionDiffusion(velocity, matrix, reaction)
    source = None if kind == "decay" else balancing_source(exact.data(), kind, velocity, matrix, reaction)
    order = None if rng.random() < 0.7 else int(rng.integers(max(2, degree), degree + 4))
    reconstruction, spacing = Siac(order), int(rng.choice([1, 1, 2, 3, 5]))

    def problem(final_time: float) -> Problem:
        return Problem(equation, Torus(tuple(lengths)), exact.data(at_start=True), final_time, source)

    final_time = float(np.exp(rng.uniform(np.log(0.02), np.log(1.2))))
    per_slab = np.prod(cells) * (degree + reconstruction.order_for(degree) + 6) ** dim
    slabs = float(np.clip(WORK / per_slab / (1 if kind in ("decay", "constant") else 3), 4, MAX_STEPS))
    final_time, spacing = fitted(problem, final_time, spacing, slabs, cells, degree)
    corrected = bool(rng.random() < 0.8)
    return Case(seed, kind, problem(final_time), exact, cells, degree, reconstruction, spacing, corrected)


def random_diffusion(rng: np.random.Generator, dim: int) -> Array:
    """D: zero, a multiple of 1, a full matrix or one of rank one."""
    eps = 0.0 if rng.random() < 0.15 else 10.0 ** rng.uniform(-10.0, 0.0)
    shape = rng.choice(["isotropic", "full", "rank one"], p=[0.6, 0.3, 0.1])
    if dim == 1 or shape == "isotropic":
        return np.asarray(eps * np.eye(dim))
    vector = rng.normal(size=dim)
    matrix = np.outer(vector, vector) + (0.3 * np.eye(dim) if shape == "full" else 0.0)
    return np.asarray(eps * matrix / np.trace(matrix))


def random_velocity(
    rng: np.random.Generator, kind: str, mean: Array, lengths: Array
) -> tuple[Trigonometric | float, ...]:
    """Constant, divergence-free (shear or cells; in one dimension it varies in time only) or compressive."""
    dim = len(mean)
    frequency = float(rng.choice([0.0, 1.0]) * rng.normal(scale=3.0))
    size = float(rng.uniform(0.1, 0.6))
    if kind == "compressive":
        terms = int(rng.integers(1, 3))
        return tuple(
            b + size * random_waves(rng, lengths, terms, 1, np.full(terms, frequency)).data() for b in mean
        )
    if kind != "incompressible":
        return tuple(float(b) for b in mean)
    if dim == 1:
        return (float(mean[0]) + Trigonometric([[0.0]], [rng.normal(scale=3.0)], [size]),)
    if dim == 3:  # every component depends on the next variable only
        k = 2.0 * math.pi * np.roll(np.diag(1.0 / lengths), 1, axis=1)
        return tuple(b + Trigonometric([k[i]], [frequency], [size]) for i, b in enumerate(mean.tolist()))
    stream = random_waves(rng, lengths, 2, 1, np.full(2, frequency)).data()
    if rng.random() < 0.5:  # a shear flow: the stream function depends on one variable only
        k = [0.0, 2.0 * math.pi / lengths[1]]
        stream = Trigonometric([k], [frequency], [np.exp(2j * math.pi * rng.random())])
    stream = stream * (size * float(lengths.min()) / (2.0 * math.pi))
    return float(mean[0]) + stream.derivative(1), float(mean[1]) - stream.derivative(0)


def random_reaction(rng: np.random.Generator, kind: str, lengths: Array) -> Trigonometric | float:
    """None, a number of either sign, or (not where modes decay exactly) a trigonometric field."""
    choice = rng.choice(["none", "number", "field"], p=[0.5, 0.35, 0.15])
    if kind == "Burgers" or choice == "none":
        return 0.0
    number = float(rng.uniform(-1.5, 1.5))
    if kind == "decay" or choice == "number":
        return number
    return number + random_waves(rng, lengths, 1, 1, rng.normal(scale=2.0, size=1)).data()


def random_waves(
    rng: np.random.Generator, lengths: Array, terms: int, highest: int, frequencies: Array
) -> Waves:
    """Waves of random amplitudes about 1 in sum, wave numbers −highest, …, highest, not all zero."""
    numbers = rng.integers(-highest, highest + 1, (terms, len(lengths)))
    numbers[~numbers.any(axis=1), 0] = 1
    amplitudes = rng.normal(size=terms) + 1j * rng.normal(size=terms)
    amplitudes /= np.abs(amplitudes).sum()
    return Waves(2.0 * math.pi * numbers / lengths, frequencies, np.zeros(terms), amplitudes)


def _random_solution(
    rng: np.random.Generator,
    kind: str,
    mean: Array,
    matrix: Array,
    reaction: Trigonometric | float,
    lengths: Array,
) -> Waves:
    """Modes that decay as the equation says, or any waves (carried along by the mean flow, or not)."""
    terms = int(rng.integers(1, 5))
    waves = random_waves(rng, lengths, terms, int(rng.integers(1, 3)), np.zeros(terms))
    k = waves.wavevectors
    carried = -k @ mean
    if kind == "decay":
        rates = np.einsum("ni,ij,nj->n", k, matrix, k) + float(reaction)  # type: ignore[arg-type]
        return Waves(k, carried, rates, waves.amplitudes * 10.0 ** rng.uniform(-2.0, 2.0))
    frequencies = carried * float(rng.random() < 0.6) + rng.normal(scale=1.0, size=terms)
    size = rng.uniform(0.05, 0.4) if kind == "Burgers" else 10.0 ** rng.uniform(-2.0, 2.0)
    if kind != "Burgers" and rng.random() < 0.5:
        return Waves(k, frequencies, waves.rates, size * waves.amplitudes)
    offset = float(mean[0]) if kind == "Burgers" else size * float(rng.normal())
    return Waves(k, frequencies, waves.rates, size * waves.amplitudes).above(offset)


def balancing_source(
    u: Trigonometric,
    kind: str,
    velocity: Sequence[Trigonometric | float],
    matrix: Array,
    reaction: Trigonometric | float,
) -> Trigonometric:
    """g = ∂_t u + ∇·f(u) + c u − ∇·D∇u by exact algebra."""
    source = u.time_derivative() + reaction * u
    for i in range(u.dim):
        flux = 0.5 * u * u if kind == "Burgers" else velocity[i] * u
        source = source + flux.derivative(i)
        for j in range(u.dim):
            source = source - float(matrix[i, j]) * u.derivative(i).derivative(j)
    return source


def fitted(
    problem: Callable[[float], Problem],
    final_time: float,
    spacing: int,
    slabs: float,
    cells: tuple[int, ...],
    degree: int,
    **solving: Any,
) -> tuple[float, int]:
    """A final time, at most the given one, and steps per slab: such that there are not many more slabs."""
    allowed = min(MAX_STEPS, spacing * slabs)
    final_time *= min(1.0, allowed / steps(problem(final_time), cells, degree, **solving))
    return final_time, max(spacing, math.ceil(steps(problem(final_time), cells, degree, **solving) / slabs))


def steps(
    problem: Problem,
    cells: tuple[int, ...],
    degree: int,
    stepper: Stepper | None = None,
    cfl: float = DEFAULT_CFL,
) -> int:
    """Number of steps that `solve` takes."""
    semi = Semidiscretization(problem, cells, degree)
    limits = StepLimits(
        degree,
        problem.final_time,
        semi.convective_rate(semi.project(problem.initial)),
        semi.transport_spectrum,
        (lambda: semi.diffusion.spectral_radius) if semi.has_diffusion else None,
    )
    step = cfl * limits.stable_step(stepper or limits.default_stepper())
    return number_of_steps(problem.final_time, min(step, problem.final_time))
