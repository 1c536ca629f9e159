"""Random nonlinear problems whose solutions are known: Burgers, polynomial fluxes, and two systems.

The cases of ``random_cases.py --nonlinear``: seed k is of the kind k mod 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from random_problems import MAX_STEPS, WORK, Array, Case, Waves, fitted, random_diffusion, random_waves

from stfem import Problem, Siac, Torus, equations
from stfem.data import Approximated, Trigonometric
from stfem.problems.manufactured import power_series, pruned

NONLINEAR = {"Burgers": 0.25, "polynomial": 0.25, "p-system": 0.25, "shallow water": 0.25}
SYSTEMS = ("p-system", "shallow water")
SYSTEM_WORK = 12.0  # a system costs as much more, at the points that its quadrature needs
SIZE = 0.12  # largest departure of volume and depth from 1
MARGIN = 0.25  # between the solution and the end of the state set: coarse reconstructions overshoot


@dataclass(frozen=True)
class Product:
    """Product of two fields with its derivatives, evaluated from theirs."""

    first: Waves
    second: Waves

    @property
    def reach(self) -> Array:
        """Largest wave numbers in each direction."""
        return self.first.reach + self.second.reach

    @property
    def highest(self) -> float:
        """Largest wave number in any direction."""
        return float(self.reach.max())

    @property
    def fastest(self) -> float:
        """Largest frequency."""
        return self.first.fastest + self.second.fastest

    def __call__(self, axes: Sequence[Array], times: Array, direction: int | None = None) -> Array:
        a, b = (field(axes, times) for field in (self.first, self.second))
        if direction is None:
            return a * b
        return self.first(axes, times, direction) * b + a * self.second(axes, times, direction)


def nonlinear_case(seed: int) -> Case:
    """Case number `seed`."""
    kind = list(NONLINEAR)[seed % len(NONLINEAR)]
    rng = np.random.default_rng([seed, 2])
    system = kind in SYSTEMS
    dim, degree = int(rng.integers(1, 3)), int(rng.integers(1, 4 - system))
    cells = tuple(int(n) for n in rng.uniform(3.0, 13.0 if system and dim == 2 else 25.0, dim))
    lengths = np.exp(rng.uniform(np.log(0.5), np.log(2.0), dim))
    matrix = random_diffusion(rng, dim)
    make = {"Burgers": _scalar, "polynomial": _scalar, "p-system": _p_system, "shallow water": _water}[kind]
    equation, data, source, exact = make(rng, kind, matrix, lengths)
    order = None if rng.random() < 0.7 else int(rng.integers(max(2, degree), degree + 3))
    reconstruction, spacing = Siac(order), int(rng.choice([1, 1, 2, 3]))
    initial = tuple(Trigonometric(u.wavevectors, 0.0 * u.frequencies, u.amplitudes) for u in data)

    def problem(final_time: float) -> Problem:
        return Problem(equation, Torus(tuple(lengths)), initial, final_time, source)

    final_time = float(np.exp(rng.uniform(np.log(0.01), np.log(0.3))))
    per_slab = np.prod(cells) * (degree + reconstruction.order_for(degree) + 6) ** dim
    slabs = float(np.clip(WORK / per_slab / (SYSTEM_WORK if system else 3.0), 3, MAX_STEPS))
    final_time, spacing = fitted(problem, final_time, spacing, slabs, cells, degree)
    corrected = bool(rng.random() < 0.8)
    return Case(seed, kind, problem(final_time), exact, cells, degree, reconstruction, spacing, corrected)


def _field(rng: np.random.Generator, lengths: Array, offset: float, size: float) -> Waves:
    """offset + waves of sum at most `size`, that move in any way."""
    terms = int(rng.integers(1, 3))
    waves = random_waves(rng, lengths, terms, 1, rng.normal(scale=2.0, size=terms))
    return waves.scaled(size).above(offset)


def _scalar(rng: np.random.Generator, kind: str, matrix: Array, lengths: Array):  # type: ignore[no-untyped-def]
    """Burgers, or a polynomial of degree 2 to 4 in every direction."""
    dim = len(lengths)
    exact = _field(rng, lengths, float(rng.uniform(-1.0, 1.0)), float(rng.uniform(0.05, 0.4)))
    fluxes = [rng.uniform(-0.6, 0.6, int(rng.integers(3, 6))) for _ in range(dim)]
    return *scalar_law(exact, None if kind == "Burgers" else fluxes, matrix), exact


def _p_system(rng: np.random.Generator, kind: str, matrix: Array, lengths: Array):  # type: ignore[no-untyped-def]
    dim, size = len(lengths), float(rng.uniform(0.02, SIZE))
    tau = _field(rng, lengths, 1.0, size)
    velocity = [_field(rng, lengths, float(rng.normal()), float(rng.uniform(0.05, 0.3))) for _ in range(dim)]
    return p_system(tau, velocity, size, matrix, bool(rng.random() < 0.5))


def _water(rng: np.random.Generator, kind: str, matrix: Array, lengths: Array):  # type: ignore[no-untyped-def]
    dim, size, fast = len(lengths), float(rng.uniform(0.02, SIZE)), float(rng.uniform(0.02, 0.15))
    depth = _field(rng, lengths, 1.0, size)
    velocity = [_field(rng, lengths, float(rng.uniform(-0.1, 0.1)), fast) for _ in range(dim)]
    gravity = float(rng.uniform(0.5, 2.0))
    equation = equations.ShallowWater(
        matrix, dim, 1.0 - size - MARGIN, 1.0 + size + MARGIN, 0.1 + fast + MARGIN, gravity
    )
    return equation, *gas(equation, depth, velocity, size)


def scalar_law(
    exact: Waves, fluxes: Sequence[Array] | None, matrix: Array
) -> tuple[equations.Equation, tuple[Trigonometric], tuple[Trigonometric]]:
    """Equation with fluxes Σ c_k u^k, Burgers for None, its solution as data, and the source of that."""
    u = exact.data()
    if fluxes is None:
        fluxes = [np.array([0.0, 0.0, 0.5])] * u.dim
        equation: equations.Equation = equations.Burgers(u.dim, matrix)
    else:
        equation = equations.ScalarConservationLaw([list(f) for f in fluxes], diffusion=matrix)
    source = u.time_derivative() - diffused(u, matrix)
    for i, flux in enumerate(fluxes):
        powers = [float(c) * u**k for k, c in enumerate(flux) if k > 0]
        source = source + reduce(add, powers).derivative(i)
    return equation, (u,), (source,)


def p_system(  # type: ignore[no-untyped-def]
    tau: Waves, velocity: Sequence[Waves], size: float, matrix: Array, full: bool, allowance: float = 0.0
):
    """Equation, solution as data, its source and the solution itself.

    `size` is that of τ − 1, `allowance` what the smallest terms of ∇p may add up to that are left out.
    """
    dim = len(velocity)
    equation = equations.DiffusivePSystem(matrix, dim, 1.0 - size - MARGIN, 1.0 + size + MARGIN, full)
    v = [field.data() for field in velocity]
    s = tau.data() - 1.0
    pressure, beyond = power_series(s, -2.0, size, size * tau.highest)
    first = s.time_derivative() - reduce(add, [v[i].derivative(i) for i in range(dim)])
    source = [first - diffused(s, matrix) if full else first]
    for i in range(dim):
        rest = v[i].time_derivative() - diffused(v[i], matrix)
        slope, dropped = pruned(pressure.derivative(i), allowance)
        source.append(Approximated(rest + slope, beyond + dropped))
    return equation, (1.0 + s, *v), tuple(source), (tau, *velocity)


def gas(  # type: ignore[no-untyped-def]
    equation: equations.BarotropicGas,
    density: Waves,
    velocity: Sequence[Waves],
    size: float,
    allowance: float = 0.0,
):
    """Solution as data, its source and the solution itself; `size` and `allowance` as in `p_system`."""
    dim, matrix = len(velocity), equation.diffusion
    rho, v = density.data(), [field.data() for field in velocity]
    m = [rho * component for component in v]
    pressure, left_out = power_series(rho - 1.0, equation.exponent, size, size * density.highest)
    pressure = equation.coefficient * pressure
    flow = reduce(add, [m[i].derivative(i) for i in range(dim)])
    source = [rho.time_derivative() + flow - diffused(rho, matrix)]
    for i in range(dim):
        slope, dropped = pruned(pressure.derivative(i), allowance)
        beyond = equation.coefficient * left_out + dropped
        rest = m[i].time_derivative() - diffused(m[i], matrix) + slope
        total = reduce(add, [(m[i] * v[j]).derivative(j) for j in range(dim)], rest)
        source.append(Approximated(total, beyond) if beyond > 0.0 else total)
    exact = (density, *(Product(density, component) for component in velocity))
    return (rho, *m), tuple(source), exact


def diffused(u: Trigonometric, matrix: Array) -> Trigonometric:
    """∇·D∇u."""
    terms = [float(d) * u.derivative(i).derivative(j) for (i, j), d in np.ndenumerate(matrix)]
    return reduce(add, terms)
