"""Random problems with known solutions: no bound lies below the true error, integrated independently (T4.6).

    python benchmarks/random_cases.py [--cases 2000] [--workers 2] [--seed0 0]

Seed k is case k: all cases are fixed beforehand and none is left out afterwards. The true errors are found here
from the modes of û with more Gauss points and more times than the library takes anywhere, without its
quadrature, basis functions or data. Writes results/random_cases.json and results/random_cases.md; exits with 1
where a bound fails.
"""

from __future__ import annotations

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # the workers share the cores

import argparse  # noqa: E402  (after the environment)
import math  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator, Mapping, Sequence  # noqa: E402
from concurrent.futures import Future, ProcessPoolExecutor  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import records  # noqa: E402
from numpy.polynomial import legendre  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from stfem import Problem, Siac, SplitEstimator, Torus, equations, estimate, solve  # noqa: E402
from stfem.data import Trigonometric  # noqa: E402
from stfem.reconstruction import ReconstructedSlab, reconstructed_slabs  # noqa: E402
from stfem.semidiscretization import Semidiscretization  # noqa: E402
from stfem.solution import Solution  # noqa: E402
from stfem.solving import DEFAULT_CFL  # noqa: E402
from stfem.timestepping import StepLimits, number_of_steps  # noqa: E402

Array = NDArray[np.float64]
KINDS = {"decay": 0.26, "constant": 0.18, "incompressible": 0.18, "compressive": 0.18, "Burgers": 0.2}
NORMS = ("bound", "bound_final", "bound_energy", "bound_l1")
MAX_STEPS = 150
WORK = 2.5e5  # Gauss points times slabs of one case, about a second
GAUSS_TIMES, RANDOM_TIMES = 6, 5
EXTRA_POINTS, LEAST_CELLS, SUBCELLS_L1 = 6, 8, 4
RELATIVE_SLACK, ROUND_OFF = 1e-9, 1e-14


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

    def data(self, at_start: bool = False) -> Trigonometric:
        """The field as data of the library: at t = 0, or for all times where nothing decays."""
        return Trigonometric(self.wavevectors, self.frequencies * (not at_start), self.amplitudes)

    def __call__(self, axes: Sequence[Array], times: Array, direction: int | None = None) -> Array:
        """u, or ∂_direction u, at the times and the product of one array of coordinates per direction."""
        c = self.amplitudes * np.exp(np.outer(times, 1j * self.frequencies - self.rates))
        if direction is not None:
            c = c * 1j * self.wavevectors[:, direction]
        waves = [np.exp(1j * np.outer(k, x)) for k, x in zip(self.wavevectors.T, axes, strict=True)]
        if len(waves) == 1:
            return np.asarray((c @ waves[0]).real)
        return np.asarray(((c[:, :, None] * waves[0]).transpose(0, 2, 1) @ waves[1]).real)


@dataclass(frozen=True, eq=False)
class Case:
    """One random problem, what it is solved and certified with, and its exact solution."""

    seed: int
    kind: str
    problem: Problem
    exact: Waves
    cells: tuple[int, ...]
    degree: int
    reconstruction: Siac
    spacing: int
    corrected: bool


def random_case(seed: int) -> Case:
    """Case number `seed`."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(list(KINDS), p=list(KINDS.values())))
    dim, degree = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    cells = tuple(int(n) for n in np.exp(rng.uniform(np.log(2.0), np.log(25.0), dim)))
    lengths = np.exp(rng.uniform(np.log(0.4), np.log(2.5), dim))
    matrix = _random_diffusion(rng, dim)
    mean = rng.uniform(-1.5, 1.5, dim)
    velocity = _random_velocity(rng, kind, mean, lengths)
    reaction = _random_reaction(rng, kind, lengths)
    exact = _random_solution(rng, kind, mean, matrix, reaction, lengths)
    if kind == "Burgers":
        equation: equations.Equation = equations.Burgers(dim, matrix)
    else:
        equation = equations.AdvectionDiffusion(velocity, matrix, reaction)
    source = None if kind == "decay" else _source(exact.data(), kind, velocity, matrix, reaction)
    order = None if rng.random() < 0.7 else int(rng.integers(max(2, degree), degree + 4))
    reconstruction, spacing = Siac(order), int(rng.choice([1, 1, 2, 3, 5]))

    def problem(final_time: float) -> Problem:
        return Problem(equation, Torus(tuple(lengths)), exact.data(at_start=True), final_time, source)

    final_time = float(np.exp(rng.uniform(np.log(0.02), np.log(1.2))))
    per_slab = np.prod(cells) * (degree + reconstruction.order_for(degree) + EXTRA_POINTS) ** dim
    slabs = float(np.clip(WORK / per_slab / (1 if kind in ("decay", "constant") else 3), 4, MAX_STEPS))
    allowed = min(MAX_STEPS, spacing * slabs)
    final_time *= min(1.0, allowed / _steps(problem(final_time), cells, degree))
    spacing = max(spacing, math.ceil(_steps(problem(final_time), cells, degree) / slabs))
    corrected = bool(rng.random() < 0.8)
    return Case(seed, kind, problem(final_time), exact, cells, degree, reconstruction, spacing, corrected)


def _random_diffusion(rng: np.random.Generator, dim: int) -> Array:
    """D: zero, a multiple of 1, a full matrix or one of rank one."""
    eps = 0.0 if rng.random() < 0.15 else 10.0 ** rng.uniform(-10.0, 0.0)
    shape = rng.choice(["isotropic", "full", "rank one"], p=[0.6, 0.3, 0.1])
    if dim == 1 or shape == "isotropic":
        return np.asarray(eps * np.eye(dim))
    vector = rng.normal(size=dim)
    matrix = np.outer(vector, vector) + (0.3 * np.eye(dim) if shape == "full" else 0.0)
    return np.asarray(eps * matrix / np.trace(matrix))


def _random_velocity(
    rng: np.random.Generator, kind: str, mean: Array, lengths: Array
) -> tuple[Trigonometric | float, ...]:
    """Constant, divergence-free (shear or cells; in one dimension it varies in time only) or compressive."""
    dim = len(mean)
    frequency = float(rng.choice([0.0, 1.0]) * rng.normal(scale=3.0))
    size = float(rng.uniform(0.1, 0.6))
    if kind == "compressive":
        terms = int(rng.integers(1, 3))
        return tuple(
            b + size * _random_waves(rng, lengths, terms, 1, np.full(terms, frequency)).data() for b in mean
        )
    if kind != "incompressible":
        return tuple(float(b) for b in mean)
    if dim == 1:
        return (float(mean[0]) + Trigonometric([[0.0]], [rng.normal(scale=3.0)], [size]),)
    stream = _random_waves(rng, lengths, 2, 1, np.full(2, frequency)).data()
    if rng.random() < 0.5:  # a shear flow: the stream function depends on one variable only
        k = [0.0, 2.0 * math.pi / lengths[1]]
        stream = Trigonometric([k], [frequency], [np.exp(2j * math.pi * rng.random())])
    stream = stream * (size * float(lengths.min()) / (2.0 * math.pi))
    return float(mean[0]) + stream.derivative(1), float(mean[1]) - stream.derivative(0)


def _random_reaction(rng: np.random.Generator, kind: str, lengths: Array) -> Trigonometric | float:
    """None, a number of either sign, or (not where modes decay exactly) a trigonometric field."""
    choice = rng.choice(["none", "number", "field"], p=[0.5, 0.35, 0.15])
    if kind == "Burgers" or choice == "none":
        return 0.0
    number = float(rng.uniform(-1.5, 1.5))
    if kind == "decay" or choice == "number":
        return number
    return number + _random_waves(rng, lengths, 1, 1, rng.normal(scale=2.0, size=1)).data()


def _random_waves(
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
    waves = _random_waves(rng, lengths, terms, int(rng.integers(1, 3)), np.zeros(terms))
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
    return Waves(
        np.concatenate([k, np.zeros((1, len(lengths)))]),
        np.append(frequencies, 0.0),
        np.append(waves.rates, 0.0),
        np.append(size * waves.amplitudes, offset),
    )


def _source(
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


def _steps(problem: Problem, cells: tuple[int, ...], degree: int) -> int:
    """Number of steps that `solve` takes."""
    semi = Semidiscretization(problem, cells, degree)
    limits = StepLimits(
        degree,
        problem.final_time,
        semi.convective_rate(semi.project(problem.initial)),
        semi.transport_spectrum,
        (lambda: semi.diffusion.spectral_radius) if semi.has_diffusion else None,
    )
    step = DEFAULT_CFL * limits.stable_step(limits.default_stepper())
    return number_of_steps(problem.final_time, min(step, problem.final_time))


class Quadrature:
    """Composite Gauss rule on the cells of a grid, with tables of Legendre modes at its points.

    Parameters
    ----------
    lengths, cells, degree
        Grid, and degree of the piecewise polynomials.
    finer
        Sub-cells per direction beyond those that coarse grids get anyway.
    """

    def __init__(self, lengths: Sequence[float], cells: Sequence[int], degree: int, finer: int = 1) -> None:
        z, w = legendre.leggauss(degree + EXTRA_POINTS)
        norms = np.sqrt(2.0 * np.arange(degree + 1) + 1.0)
        slopes = legendre.legder(np.eye(degree + 1)) if degree else np.zeros((1, 1))
        self.axes, self.weights, self._tables, self._slopes = [], [], [], []
        for length, count in zip(lengths, cells, strict=True):
            pieces = finer * math.ceil(LEAST_CELLS / count)
            local = ((np.arange(pieces)[:, None] + 0.5 * (1.0 + z)) / pieces).ravel()
            h = length / count
            self.axes.append(((np.arange(count)[:, None] + local) * h).ravel())
            self.weights.append(np.tile(np.tile(0.5 * w / pieces, pieces) * h, count))
            self._tables.append(legendre.legvander(2.0 * local - 1.0, degree) * norms)
            slope = legendre.legvander(2.0 * local - 1.0, max(degree - 1, 0)) @ slopes
            self._slopes.append(slope * norms * (2.0 / h))

    def values(self, modes: Array, direction: int | None = None) -> Array:
        """A field ``(times, p…, N…)``, or its derivative, at the points: array (times, points…)."""
        tables = [
            s if i == direction else t
            for i, (t, s) in enumerate(zip(self._tables, self._slopes, strict=True))
        ]
        if len(tables) == 1:
            return np.einsum("tpm,ap->tma", modes, *tables, optimize=True).reshape(len(modes), -1)
        values = np.einsum("tpqmn,ap,bq->tmanb", modes, *tables, optimize=True)
        return np.asarray(values.reshape(len(modes), *(len(axis) for axis in self.axes)))

    def integral(self, values: Array) -> Array:
        """Integrals over Ω of values (times, points…)."""
        for weights in reversed(self.weights):
            values = values @ weights
        return values


class Truth:
    """True errors of one run, sampled at Gauss times, random times and both ends of every slab."""

    def __init__(self, case: Case, solution: Solution) -> None:
        self.case, self.solution = case, solution
        siac = case.reconstruction.bind(solution.semidiscretization)
        nodes = list(solution.nodes())
        chosen = nodes[:: case.spacing] + ([nodes[-1]] if (len(nodes) - 1) % case.spacing else [])
        interpolant = SplitEstimator().interpolant_for(solution.stepper.order)
        lengths = case.problem.domain.lengths
        self._quadrature = Quadrature(lengths, siac.grid.cells, siac.degree)
        self._rng = np.random.default_rng([case.seed, 1])
        self.size = self.supremum = self.dissipated = 0.0
        for slab in reconstructed_slabs((siac.at_node(node) for node in chosen), interpolant):
            self._take(slab)
        end = np.array([case.problem.final_time])
        last = siac.at_node(nodes[-1]).state[0]
        self.final = self._norm(self._quadrature, last, end)
        self.dg = self._norm(Quadrature(lengths, case.cells, case.degree), nodes[-1].values, end)
        fine = Quadrature(lengths, siac.grid.cells, siac.degree, SUBCELLS_L1)
        self.l1 = float(fine.integral(np.abs(case.exact(fine.axes, end) - fine.values(last)))[0])
        self.energy = math.sqrt(self.supremum**2 + self.dissipated)

    def _norm(self, quadrature: Quadrature, modes: Array, times: Array) -> float:
        error = self.case.exact(quadrature.axes, times) - quadrature.values(modes)
        return math.sqrt(float(quadrature.integral(error**2).max()))

    def _take(self, slab: ReconstructedSlab) -> None:
        quadrature, matrix = self._quadrature, self.case.problem.equation.diffusion
        z, weights = legendre.leggauss(GAUSS_TIMES)
        local = np.concatenate([z, self._rng.uniform(-1.0, 1.0, RANDOM_TIMES), [-1.0, 1.0]])
        degree = slab.time.degree
        in_time = legendre.legvander(local, degree) * np.sqrt(2.0 * np.arange(degree + 1) + 1.0)
        data = np.concatenate([node.state[:, 0] for node in slab.nodes])
        modes = np.tensordot(in_time @ slab.value_modes, data, axes=1)
        times = slab.time.start + 0.5 * (1.0 + local) * slab.time.duration
        exact = self.case.exact(quadrature.axes, times)
        self.size = max(self.size, math.sqrt(float(quadrature.integral(exact**2).max())))
        error = exact - quadrature.values(modes)
        self.supremum = max(self.supremum, math.sqrt(float(quadrature.integral(error**2).max())))
        if not matrix.any():
            return
        inner, inner_times = modes[:GAUSS_TIMES], times[:GAUSS_TIMES]
        slopes = [
            self.case.exact(quadrature.axes, inner_times, i) - quadrature.values(inner, i)
            for i in range(len(matrix))
        ]
        density = sum(matrix[i, j] * slopes[i] * slopes[j] for i, j in np.ndindex(matrix.shape))
        self.dissipated += 0.5 * slab.time.duration * float(weights @ quadrature.integral(density))


def violations(pairs: Mapping[str, tuple[float, float]], size: float) -> list[str]:
    """Names of the pairs (upper, lower) with upper below lower by more than round-off; size is ‖u‖."""
    return [
        name
        for name, (upper, lower) in pairs.items()
        if not upper * (1.0 + RELATIVE_SLACK) + ROUND_OFF * size >= lower
    ]


def run(seed: int) -> dict[str, Any]:
    """Solve, certify and check one case."""
    started = time.perf_counter()
    case = random_case(seed)
    correction = case.reconstruction if case.corrected else False
    solution = solve(
        case.problem, cells=case.cells, degree=case.degree, initial_correction=correction, history=True
    )
    result = estimate(solution, SplitEstimator(case.reconstruction, spacing=case.spacing))
    certified = time.perf_counter()
    truth = Truth(case, solution)
    lower, upper = result.enclosure
    pairs = {
        "bound": (result.bound, truth.supremum),
        "bound_final": (result.bound_final, truth.final),
        "bound_energy": (result.bound_energy, truth.energy),
        "bound_l1": (result.bound_l1, truth.l1),
        "enclosure above": (upper, truth.dg),
        "enclosure below": (truth.dg, lower),
    }
    failed = violations(pairs, truth.size)
    if not result.guaranteed:
        failed.append("guaranteed")
    equation = case.problem.equation
    return {
        "seed": seed,
        "kind": case.kind,
        "degree": case.degree,
        "cells": case.cells,
        "eps": float(np.trace(equation.diffusion)) / equation.dim,
        "final_time": case.problem.final_time,
        "steps": solution.steps,
        "spacing": case.spacing,
        "spline_order": case.reconstruction.order_for(case.degree),
        "source": not case.problem.source[0].is_zero,
        "growth": result.parts["growth"],
        "relative_error": truth.supremum / truth.size,
        **{name: pairs[name][0] / pairs[name][1] for name in NORMS},
        "enclosure_width": (upper - lower) / truth.dg,
        "violated": failed,
        "seconds": certified - started,
        "seconds_truth": time.perf_counter() - certified,
    }


def outcomes(seeds: Sequence[int], workers: int) -> Iterator[dict[str, Any]]:
    """Rows in the order of the seeds; a case that raises becomes a violation."""
    with ProcessPoolExecutor(workers) as pool:
        futures: list[tuple[int, Future[dict[str, Any]]]] = [(k, pool.submit(run, k)) for k in seeds]
        for seed, future in futures:
            error = future.exception()
            yield {"seed": seed, "kind": "raised", "violated": [repr(error)]} if error else future.result()


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One line per kind of problem, and one for all."""
    table = []
    for kind in (*KINDS, "all"):
        chosen = [row for row in rows if kind in (row["kind"], "all") and "bound" in row]
        if not chosen:
            continue
        ratios = np.array([row["bound"] for row in chosen])
        table.append(
            {
                "problems": kind,
                "cases": len(chosen),
                "below the truth": sum(bool(row["violated"]) for row in chosen),
                "effectivity < 2": _percent(row["bound"] < 2.0 for row in chosen),
                "μ > 0": _percent(row["growth"] > 1.0 for row in chosen),
                "g ≠ 0": _percent(row["source"] for row in chosen),
                "median": f"{np.median(ratios):.3f}",
                "90 %": f"{np.quantile(ratios, 0.9):.3g}",
                **{f"least {name}": f"{min(row[name] for row in chosen):.6f}" for name in NORMS},
            }
        )
    return table


def _percent(flags: Iterator[bool]) -> str:
    return f"{100.0 * float(np.mean(list(flags))):.1f} %"


def main() -> int:
    """Run what the command line asks for; returns the number of violations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed0", type=int, default=0, help="first seed")
    parser.add_argument("--dry", action="store_true", help="write no results")
    options = parser.parse_args()
    started, rows = time.perf_counter(), []
    for row in outcomes(range(options.seed0, options.seed0 + options.cases), options.workers):
        rows.append(row)
        if row["violated"]:
            print("VIOLATED", row, flush=True)
        if len(rows) % 100 == 0:
            print(f"{len(rows)} cases, {time.perf_counter() - started:.0f} s", flush=True)
    table = records.markdown(summary(rows))
    violated = sum(bool(row["violated"]) for row in rows)
    print(table)
    print(f"{len(rows)} cases, {violated} violated")
    if not options.dry:
        records.write("random_cases", _parameters(options), [_rounded(row) for row in rows], table)
    return violated


def _parameters(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "cases": options.cases,
        "seed0": options.seed0,
        "kinds": KINDS,
        "max_steps": MAX_STEPS,
        "gauss_times": GAUSS_TIMES,
        "random_times": RANDOM_TIMES,
        "extra_points": EXTRA_POINTS,
        "least_cells": LEAST_CELLS,
        "subcells_l1": SUBCELLS_L1,
        "relative_slack": RELATIVE_SLACK,
        "round_off": ROUND_OFF,
    }


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers with seven digits."""
    return {key: float(f"{value:.7g}") if isinstance(value, float) else value for key, value in row.items()}


if __name__ == "__main__":
    sys.exit(main() > 0)
