"""Random problems on a torus that attack the guarantee: cases of guarantee_campaign.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from random_nonlinear import MARGIN, diffused, gas, p_system, scalar_law
from random_problems import (
    Array,
    Case,
    Waves,
    balancing_source,
    random_diffusion,
    random_reaction,
    random_velocity,
    random_waves,
)

from stfem import Hermite, Problem, Siac, SplitEstimator, Torus, equations
from stfem.data import Trigonometric
from stfem.estimators import AllDualEstimator, AllL2Estimator
from stfem.fluxes import flux_engquist_osher, flux_rusanov, flux_upwind
from stfem.semidiscretization import Semidiscretization
from stfem.timestepping import (
    ARK324L2SA,
    ARK548L2SA,
    DORMAND_PRINCE5,
    FEHLBERG7,
    RK4,
    SSPRK33,
    ExplicitRungeKutta,
    ImplicitExplicitRungeKutta,
    StepLimits,
    Stepper,
)

#: Points where û is looked at in one case; most cases then take less than a tenth of a second.
WORK, MAX_SLABS = 1.2e4, 5
#: Of the size of a wave, what terms of its source may add up to that are left out.
PRUNED = 1e-13
#: What makes a case hard, and how often.
TWISTS = {
    "none": 0.54,
    "unresolved": 0.08,
    "resonant": 0.08,
    "sign change": 0.06,
    "near round-off": 0.08,
    "tiny": 0.07,
    "huge": 0.05,
    "fast": 0.04,
}
TINY = (1e-20, 1e-100, 1e-150, 1e-155, 1e-162, 1e-200, 1e-300, 1e-307)
HUGE = (1e6, 1e30, 1e75, 1e100, 1e140)
SMALL_EPS = (5e-324, 1e-310, 1e-300, 1e-200, 1e-100, 1e-30, 1e-16)
STEPPERS: tuple[Stepper, ...] = (
    *(ExplicitRungeKutta(tableau) for tableau in (SSPRK33, RK4, DORMAND_PRINCE5, FEHLBERG7)),
    *(ImplicitExplicitRungeKutta(tableau) for tableau in (ARK324L2SA, ARK548L2SA)),
)
LINEAR = ("decay", "constant", "incompressible", "compressive")
SCALAR = (*LINEAR, "Burgers", "polynomial")
BOUNDED_SYSTEMS = ("p-system", "shallow water", "gas")
SYSTEMS = (*BOUNDED_SYSTEMS, "linear system")


@dataclass(frozen=True, eq=False)
class Attack:
    """A case with what makes it hard.

    Attributes
    ----------
    case
        With its exact solution.
    estimator
        What certifies it.
    twist
        One of `TWISTS`.
    conditioning
        What round-off in coordinates, and in coefficients of the source, is magnified by in the solution.
    """

    case: Case
    estimator: SplitEstimator
    twist: str
    conditioning: float


def torus_attack(seed: int, kind: str) -> Attack:
    """Case number `seed`, of the given kind."""
    rng = np.random.default_rng([seed, 3])
    twist = str(rng.choice(list(TWISTS), p=list(TWISTS.values())))
    dim = int(rng.choice([1, 2, 3], p=[0.82, 0.155, 0.025]))
    degree = (
        int(rng.choice(6, p=[0.04, 0.3, 0.34, 0.22, 0.06, 0.04])) if dim == 1 else int(rng.integers(1, 3))
    )
    cells = random_cells(rng, dim)
    lengths = np.exp(rng.uniform(np.log(0.4), np.log(2.5), dim))
    matrix = small_diffusion(rng, dim)
    draw = {"linear system": _linear_system} | dict.fromkeys(BOUNDED_SYSTEMS, _bounded_system)
    chosen = draw.get(kind, _scalar)(rng, kind, twist, matrix, lengths, cells)
    order = None if rng.random() < 0.6 else int(rng.integers(2, degree + 5))
    reconstruction = Siac(order)
    estimator = random_estimator(rng, reconstruction, kind in SCALAR)
    solving = random_solving(rng, chosen.equation)

    def problem(final_time: float) -> Problem:
        return Problem(chosen.equation, Torus(tuple(lengths)), chosen.initial, final_time, chosen.source)

    final_time = float(np.exp(rng.uniform(np.log(0.02), np.log(1.2)))) / chosen.haste
    per_slab = np.prod(cells) * (degree + reconstruction.order_for(degree) + 6.0) ** dim
    slabs = float(np.clip(WORK / per_slab / (1 if kind in ("decay", "constant") else 3), 2, MAX_SLABS))
    steps = slabs * (estimator.spacing or 1)
    final_time, timing = random_steps(rng, problem, final_time, steps, cells, degree, solving)
    solving |= timing
    spacing = estimator.spacing or 1
    corrected = bool(rng.random() < 0.8)
    case = Case(
        seed,
        kind,
        problem(final_time),
        chosen.exact,
        cells,
        degree,
        reconstruction,
        spacing,
        corrected,
        solving,
    )
    return Attack(case, estimator, twist, chosen.conditioning(final_time, float(lengths.max())))


@dataclass(frozen=True, eq=False)
class Chosen:
    """An equation with data and their exact solution; `haste` is how much faster than 1 it moves."""

    equation: equations.Equation
    initial: tuple[Trigonometric, ...]
    source: Any
    exact: Waves | tuple[Any, ...]
    speed: float
    haste: float = 1.0

    def conditioning(self, final_time: float, length: float) -> float:
        """1 + |k|L + T(|w| + |k| speed + |k|² tr D + 1), for the largest |k| and |w|."""
        fields = self.exact if isinstance(self.exact, tuple) else (self.exact,)
        k, w = max(field.highest for field in fields), max(field.fastest for field in fields)
        rates = w + k * self.speed + k * k * float(np.trace(self.equation.diffusion)) + self.haste
        return 1.0 + k * length + final_time * rates


def random_cells(rng: np.random.Generator, dim: int) -> tuple[int, ...]:
    """Cells per direction; some grids are as coarse as they can be."""
    least, most = ((6, 22), (4, 8), (3, 4))[dim - 1]
    if rng.random() < 0.08:
        least, most = 1, 3
    return tuple(int(n) for n in rng.integers(least, most + 1, dim))


def small_diffusion(rng: np.random.Generator, dim: int) -> Array:
    """D as in the first campaign, or a multiple of 1 by a number that may be too small for its square."""
    if rng.random() < 0.15:
        return np.asarray(float(rng.choice(SMALL_EPS)) * np.eye(dim))
    return random_diffusion(rng, dim)


def random_estimator(rng: np.random.Generator, reconstruction: Siac, scalar: bool) -> SplitEstimator:
    """The default in most cases, else with other options; comparators that are guaranteed too."""
    spacing = None if rng.random() < 0.2 else int(rng.choice([1, 1, 2, 3, 5]))
    options: dict[str, Any] = {"reconstruction": reconstruction, "spacing": spacing}
    if rng.random() < 0.2:
        options["interpolant"] = Hermite(int(rng.choice([3, 5, 7, 9, 11, 15])))
    style = rng.random()
    if style < 0.04:
        return AllL2Estimator(**options)
    if style < 0.08 and scalar:
        return AllDualEstimator(**options)
    if rng.random() < 0.15:
        options["members"] = ((0.0,), (1.0,), (0.25, 0.75))[int(rng.integers(3))]
    return SplitEstimator(**options, spectral=bool(rng.random() < 0.85))


def random_solving(rng: np.random.Generator, equation: equations.Equation) -> dict[str, Any]:
    """Time stepping and flux; what the library takes by default in half of the cases."""
    if rng.random() < 0.5:
        return {}
    flux = [flux_rusanov]
    if equation.linear:
        flux.append(flux_upwind)
    elif equation.components == 1:
        flux.append(flux_engquist_osher)
    solving: dict[str, Any] = {
        "flux": flux[int(rng.integers(len(flux)))],
    }
    if rng.random() < 0.6:
        solving["stepper"] = STEPPERS[int(rng.integers(len(STEPPERS)))]
    return solving


def random_steps(
    rng: np.random.Generator,
    problem: Callable[[float], Problem],
    final_time: float,
    most: float,
    cells: tuple[int, ...],
    degree: int,
    solving: Mapping[str, Any],
) -> tuple[float, dict[str, Any]]:
    """A final time that takes so many steps at most, and the step; seldom the step of the library."""
    semi = Semidiscretization(problem(final_time), cells, degree)
    limits = StepLimits(
        degree,
        math.inf,  # steps as long as they can be, however few
        semi.convective_rate(semi.project(semi.problem.initial)),
        semi.transport_spectrum,
        (lambda: semi.diffusion.spectral_radius) if semi.has_diffusion else None,
        semi.reaction_rate,
    )
    stepper = solving.get("stepper") or limits.default_stepper()
    dt = float(rng.uniform(0.2, 0.9)) * limits.stable_step(stepper)
    count = max(2, int(most))
    final_time = min(final_time, count * dt)
    if len(cells) == 1 and rng.random() < 0.15:
        return final_time, {}
    return final_time, {"stepper": stepper, "dt": min(dt, final_time / 2.0)}


def twisted_waves(
    rng: np.random.Generator,
    twist: str,
    lengths: Array,
    mean: Array,
    cells: Sequence[int],
    highest: int,
    most_terms: int = 3,
) -> Waves:
    """Waves of sum 1 at most: unresolved, nearly resonant with the flow, fast in time, or of any kind."""
    terms = int(rng.integers(1, most_terms + 1))
    if twist == "unresolved":
        most = 2 * max(cells) + 1 if len(cells) < 3 else 3
        highest = int(rng.integers(min(max(1, max(cells) // 2), most), most + 1))
    waves = random_waves(rng, lengths, terms, highest, np.zeros(terms))
    carried = -waves.wavevectors @ mean
    if twist == "resonant":
        off = 10.0 ** rng.uniform(-14.0, -1.0, terms) * rng.choice([-1.0, 0.0, 1.0], terms)
        return replace(waves, frequencies=carried + off)
    if twist == "fast":
        return replace(
            waves, frequencies=carried + rng.normal(scale=10.0 ** rng.uniform(1.0, 3.0), size=terms)
        )
    return replace(waves, frequencies=carried * float(rng.random() < 0.6) + rng.normal(size=terms))


def _size(rng: np.random.Generator, twist: str) -> float:
    if twist == "tiny":
        return float(rng.choice(TINY))
    return float(rng.choice(HUGE)) if twist == "huge" else float(10.0 ** rng.uniform(-2.0, 2.0))


def _at_start(u: Trigonometric) -> Trigonometric:
    return Trigonometric(u.wavevectors, 0.0 * u.frequencies, u.amplitudes)


def _scalar(
    rng: np.random.Generator, kind: str, twist: str, matrix: Array, lengths: Array, cells: Sequence[int]
) -> Chosen:
    dim = len(lengths)
    mean = rng.uniform(-1.5, 1.5, dim) * (0.05 if twist == "sign change" else 1.0)
    waves = twisted_waves(rng, twist, lengths, mean, cells, int(rng.integers(1, 3)))
    if kind not in LINEAR:
        return _law(rng, kind, twist, waves, mean, matrix)
    velocity = random_velocity(rng, kind, mean, lengths)
    reaction = random_reaction(rng, kind, lengths)
    size = _size(rng, twist)
    if kind == "decay":
        k = waves.wavevectors
        rates = np.einsum("ni,ij,nj->n", k, matrix, k) + float(reaction)  # type: ignore[arg-type]
        exact = Waves(k, -k @ mean, rates, size * waves.amplitudes)
    elif twist == "near round-off":
        exact = waves.scaled(size * 10.0 ** rng.uniform(-16.0, -11.0)).above(size)
    elif rng.random() < 0.5:
        exact = waves.scaled(size)
    else:
        exact = waves.scaled(size).above(size * float(rng.normal()))
    equation = equations.AdvectionDiffusion(velocity, matrix, reaction)
    source = None if kind == "decay" else balancing_source(exact.data(), kind, velocity, matrix, reaction)
    return Chosen(equation, (exact.data(at_start=True),), source, exact, float(np.abs(mean).max()) + 1.0)


def _law(rng: np.random.Generator, kind: str, twist: str, waves: Waves, mean: Array, matrix: Array) -> Chosen:
    """Burgers, or a polynomial flux; a huge solution is as much faster, with a diffusion that is as large."""
    size, offset = float(rng.uniform(0.05, 0.4)), float(mean[0])
    fluxes = [rng.uniform(-0.6, 0.6, int(rng.integers(3, 6))) for _ in mean]
    haste = 1.0
    if twist == "near round-off":
        size *= 10.0 ** rng.uniform(-16.0, -10.0)
    elif twist == "tiny":
        size, offset = float(rng.choice(TINY)), float(rng.choice([0.0, 1.0]))
    elif twist == "huge":
        haste = float(rng.choice([1e2, 1e4, 1e8]))
        size, offset = size * haste, offset * haste
        degrees = max(len(flux) for flux in fluxes) - 1
        haste = haste if kind == "Burgers" else haste ** (degrees - 1)
        waves = replace(waves, frequencies=waves.frequencies * haste)
    exact = waves.scaled(size).above(offset)
    equation, data, source = scalar_law(exact, None if kind == "Burgers" else fluxes, haste * matrix)
    speed = (abs(offset) + size + 1.0) * haste
    return Chosen(equation, (_at_start(data[0]),), source, exact, speed, haste)


def _bounded_system(
    rng: np.random.Generator, kind: str, twist: str, matrix: Array, lengths: Array, cells: Sequence[int]
) -> Chosen:
    """The p-system or a gas, whose states stay near 1; tiny departures from that."""
    dim = len(lengths)
    size, fast = float(rng.uniform(0.02, 0.12)), float(rng.uniform(0.02, 0.15))
    highest = 1
    if twist in ("tiny", "near round-off"):
        factor = 10.0 ** rng.uniform(-16.0, -8.0) if twist == "near round-off" else float(rng.choice(TINY))
        size, fast = size * factor, fast * factor
    if twist == "unresolved":  # as far as the states allow
        size, fast, highest = 0.25 * size, 0.25 * fast, max(1, max(cells) // 2)
    still = np.zeros(dim)
    mild = "none" if twist == "unresolved" else twist
    terms = 2 if dim == 1 else 1
    waves = [twisted_waves(rng, mild, lengths, still, cells, highest, terms) for _ in range(dim + 1)]
    density = waves[0].scaled(size).above(1.0)
    drift = rng.uniform(-0.1, 0.1, dim) * (twist != "sign change")
    velocity = [wave.scaled(fast).above(float(b)) for wave, b in zip(waves[1:], drift, strict=True)]
    if kind == "p-system":
        equation, data, source, exact = p_system(
            density, velocity, size, matrix, bool(rng.random() < 0.5), PRUNED * size
        )
    else:
        limits = (1.0 - size - MARGIN, 1.0 + size + MARGIN, 0.1 + fast + MARGIN)
        equation = _gas_equation(rng, kind, matrix, dim, limits)
        data, source, exact = gas(equation, density, velocity, size, PRUNED * size)
    return Chosen(equation, tuple(_at_start(u) for u in data), source, exact, 3.0)


def _gas_equation(
    rng: np.random.Generator, kind: str, matrix: Array, dim: int, limits: tuple[float, float, float]
) -> equations.BarotropicGas:
    number = float(rng.uniform(0.7, 1.5))
    if kind == "shallow water":
        return equations.ShallowWater(matrix, dim, *limits, number)
    style = int(rng.integers(3))
    if style == 0:
        return equations.IsothermalEuler(matrix, dim, *limits, number)
    if style == 1:
        return equations.IsentropicEuler(matrix, dim, *limits, float(rng.choice([1.4, 5.0 / 3.0, 2.0])))
    return equations.BarotropicGas(number, float(rng.uniform(1.0, 3.0)), matrix, dim, *limits)


def _linear_system(
    rng: np.random.Generator, kind: str, twist: str, matrix: Array, lengths: Array, cells: Sequence[int]
) -> Chosen:
    """Acoustics, or symmetric matrices with a metric."""
    dim, size = len(lengths), _size(rng, twist)
    if rng.random() < 0.5:
        equation: equations.SymmetricSystem = equations.Acoustics(float(rng.uniform(0.5, 2.0)), matrix, dim)
    else:
        count = int(rng.integers(2, 4))
        root = np.eye(count) + 0.3 * rng.normal(size=(count, count))
        metric = root @ root.T
        symmetric = rng.normal(size=(dim, count, count))
        symmetric = symmetric + symmetric.transpose(0, 2, 1)
        equation = equations.SymmetricSystem([np.linalg.solve(metric, a) for a in symmetric], matrix, metric)
    still = np.zeros(dim)
    fields = []
    for _ in range(equation.components):
        wave = twisted_waves(rng, twist, lengths, still, cells, int(rng.integers(1, 3)))
        small = 10.0 ** rng.uniform(-16.0, -11.0) if twist == "near round-off" else 1.0
        fields.append(wave.scaled(size * small).above(size * float(rng.normal())))
    u = [field.data() for field in fields]
    source = []
    for c in range(len(u)):
        flow = [
            float(equation.matrices[i][c, e]) * u[e].derivative(i) for i in range(dim) for e in range(len(u))
        ]
        source.append(reduce(add, flow, u[c].time_derivative() - diffused(u[c], matrix)))
    speed = max(math.sqrt(float((a * a).sum())) for a in equation.matrices)
    return Chosen(equation, tuple(_at_start(v) for v in u), tuple(source), tuple(fields), speed)
