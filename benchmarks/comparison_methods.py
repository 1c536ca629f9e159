"""Ways to say how wrong a computation is, and what each costs: the methods of comparison.py."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).parent / "performance"))
import timing  # sets the environment: before numpy

import numpy as np  # isort: skip

import stfem
from stfem.equations import Equation
from stfem.estimators import AllDualEstimator, AllL2Estimator, Estimate, PaperEstimator, SplitEstimator
from stfem.estimators.errors import distance
from stfem.problems import Problem
from stfem.reconstruction import Siac, SiacFilteredGradient
from stfem.residual import FLUX_FAMILY
from stfem.solving import Estimator
from stfem.spaces.tensor import point_coordinates, weighted_gauss

#: What is estimated: û is the reconstruction, u_h the numerical solution itself.
SUPREMUM, ENERGY, FINAL = "û, sup over t", "û, energy norm", "u_h at T"
#: Value and true error, read off an estimate.
Read = Callable[[Estimate], tuple[float | None, float | None]]


@dataclass(frozen=True)
class Run:
    """A problem with its grid, and the solutions that the methods start from."""

    problem: Problem
    cells: int
    degree: int

    def solve(self, **options: Any) -> stfem.Solution:
        """With the defaults of the library, but for the options."""
        return stfem.solve(self.problem, **({"cells": self.cells, "degree": self.degree} | options))

    @cached_property
    def solution(self) -> stfem.Solution:
        """The one whose error is asked for."""
        return self.solve()

    @cached_property
    def uncorrected(self) -> stfem.Solution:
        """The same from the plain L² projection of u_0."""
        return self.solve(initial_correction=False)

    @cached_property
    def mesh_doubled(self) -> stfem.Solution:
        """The same call with twice the cells; the step follows from the same rule."""
        return self.solve(cells=2 * self.cells)

    @cached_property
    def step_doubled(self) -> stfem.Solution:
        """On the same grid with half the step."""
        solution = self.solution
        return self.solve(dt=0.5 * solution.time / solution.steps, stepper=solution.stepper)

    @cached_property
    def bare(self) -> Run:
        """Without the exact solution: true errors are no part of a cost."""
        return Run(replace(self.problem, exact=None, exact_gradient=None), self.cells, self.degree)


@dataclass(frozen=True)
class Reading:
    """What a method says of one error, and that error itself."""

    estimates: str
    value: float
    error: float
    guaranteed: bool


class Method(Protocol):
    """A way to estimate errors."""

    def applies(self, equation: Equation) -> bool:
        """Whether there is one for an equation."""
        ...

    def readings(self, run: Run) -> list[Reading]:
        """What it says."""
        ...

    def cost(self, run: Run, seconds: float) -> float:
        """What it takes beside the solution, in units of the time stepping of that; see `ratio`."""
        ...


@dataclass(frozen=True)
class Estimated:
    """An estimator of the library.

    Parameters
    ----------
    estimator
        The estimator.
    reads
        What is read off its estimates, by what that estimates.
    corrected
        Whether it starts from the corrected U_0 (T2.0).
    needs
        What an equation must be like.
    """

    estimator: Estimator
    reads: Mapping[str, Read]
    corrected: bool = True
    needs: Callable[[Equation], bool] = lambda equation: True

    def applies(self, equation: Equation) -> bool:
        return self.needs(equation)

    def readings(self, run: Run) -> list[Reading]:
        estimate = stfem.estimate(self._solution(run), self.estimator)
        found = [(estimates, *read(estimate)) for estimates, read in self.reads.items()]
        return [
            Reading(estimates, value, error, estimate.guaranteed)
            for estimates, value, error in found
            if value is not None and error is not None
        ]

    def cost(self, run: Run, seconds: float) -> float:
        """Time of the estimate, which repeats the time stepping, over that of the stepping, less 1."""
        solution = self._solution(run.bare)
        return ratio(lambda: stfem.estimate(solution, self.estimator), stepping(solution), seconds) - 1.0

    def _solution(self, run: Run) -> stfem.Solution:
        return run.solution if self.corrected else run.uncorrected


@dataclass(frozen=True)
class Doubled:
    """‖u_h(T) − u_f(T)‖ of a finer solution u_f, times a factor: what is done without a theory.

    Parameters
    ----------
    finer
        u_f of a run: from twice the cells, or from half the step on the same grid.
    factor
        1, or 1/(1 − 2^{-p}) with the order p by which Richardson's extrapolation takes the error to fall.
    """

    finer: Callable[[Run], stfem.Solution]
    factor: Callable[[stfem.Solution], float] = lambda solution: 1.0

    def applies(self, equation: Equation) -> bool:
        return True

    def readings(self, run: Run) -> list[Reading]:
        solution, scheme = run.solution, run.solution.semidiscretization
        value = self.factor(solution) * difference(solution, self.finer(run))
        error = distance(run.problem, scheme.grid, scheme.degree, solution.values, solution.time)
        return [Reading(FINAL, value, error, False)]

    def cost(self, run: Run, seconds: float) -> float:
        """Time of the finer time stepping over that of the other."""
        return ratio(stepping(self.finer(run.bare)), stepping(run.bare.solution), seconds)


def difference(coarse: stfem.Solution, fine: stfem.Solution) -> float:
    """‖u_h − u_f‖ at the final time, exact: Gauss points in the cells of the finer grid."""
    scheme = fine.semidiscretization
    points, weights = weighted_gauss(scheme.degree + 1, scheme.grid.dim)
    x = point_coordinates(scheme.grid, [points] * scheme.grid.dim)
    return float(np.sqrt(((coarse(x) - fine(x)) ** 2 * weights).sum() * scheme.grid.cell_measure))


def stepping(solution: stfem.Solution) -> Callable[[], object]:
    """The time stepping alone."""
    return lambda: deque(solution.nodes(), maxlen=0)


def ratio(work: Callable[[], object], reference: Callable[[], object], seconds: float) -> float:
    """Thread times of both, in turn, at least once and for about ``seconds``: median of the ratios."""
    pairs: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    while not pairs or time.perf_counter() < end:
        pairs.append((timing.timed(work), timing.timed(reference)))
    return float(np.median([a / b for a, b in pairs]))


def _supremum(estimate: Estimate) -> tuple[float | None, float | None]:
    return estimate.bound, estimate.error


def _energy(estimate: Estimate) -> tuple[float | None, float | None]:
    return estimate.bound_energy, estimate.error_energy


def _final(estimate: Estimate) -> tuple[float | None, float | None]:
    return estimate.enclosure[1], estimate.error_dg


def _member(member: float) -> Estimated:
    return Estimated(SplitEstimator(members=(member,)), {SUPREMUM: _supremum})


def _filtered_gradient(degree: int) -> Estimated:
    """With the same û as the other methods, so that the flux alone is compared."""
    rule = SiacFilteredGradient(Siac().order_for(degree))
    return Estimated(SplitEstimator(rule, members=(0.0,)), {SUPREMUM: _supremum})


def methods(degree: int) -> dict[str, Method]:
    """All of them, by name."""
    mesh, step = attrgetter("mesh_doubled"), attrgetter("step_doubled")
    return {
        "split": Estimated(SplitEstimator(), {SUPREMUM: _supremum, ENERGY: _energy, FINAL: _final}),
        **{f"split, λ = {member:g} alone": _member(member) for member in FLUX_FAMILY[:-1]},
        "all in L² (λ = 1 alone)": Estimated(AllL2Estimator(), {SUPREMUM: _supremum}),
        "filtered-gradient flux": _filtered_gradient(degree),
        "all in the dual norm": Estimated(
            AllDualEstimator(), {SUPREMUM: _supremum}, needs=lambda equation: equation.components == 1
        ),
        "arXiv 2604.01200": Estimated(
            PaperEstimator(),
            {ENERGY: _energy},
            corrected=False,
            needs=lambda equation: not equation.linear or all(b.constant for b in equation.velocity),
        ),
        "mesh doubling": Doubled(mesh),
        "mesh doubling, Richardson": Doubled(mesh, lambda u: 1.0 / (1.0 - 0.5 ** (degree + 1))),
        "step doubling, Richardson": Doubled(step, lambda u: 1.0 / (1.0 - 0.5**u.stepper.order)),
    }
