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
from stfem.timestepping import StepLimits  # noqa: E402

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
    step = _stable_step(problem(final_time), cells, degree)
    final_time = min(final_time, step * min(MAX_STEPS, spacing * slabs) if step < final_time / 70 else np.inf)
    spacing = max(spacing, int(final_time / min(step, final_time) / slabs))
    corrected = bool(rng.random() < 0.8)
    return Case(seed, kind, problem(final_time), exact, cells, degree, reconstruction, spacing, corrected)
