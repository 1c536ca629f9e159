"""What a bound costs: filters, residuals at nodes and of slabs, and whole runs against the solution alone.

    python benchmarks/performance/estimate.py [--quick] [--only kernels runs]

Writes results/performance_estimate_kernels.json and .md, and results/performance_estimate_runs.json and .md.
The classes are named for asv.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import timing  # sets the environment: before numpy

import numpy as np  # isort: skip
import records  # isort: skip

import stfem
from stfem.problems import Problem, linear_advection_diffusion, viscous_burgers
from stfem.reconstruction import ReconstructedSlab, Siac, reconstructed_slabs
from stfem.residual import ResidualSplit
from stfem.residual.nodal import NodeEvaluator
from stfem.residual.quadratic import QuadraticSplit
from stfem.timestepping import Node

PROBLEMS: dict[str, Callable[..., Problem]] = {
    "linear": linear_advection_diffusion,
    "Burgers": viscous_burgers,
}
EPS = 1e-4
CELLS = {1: 1 << 14, 2: 128, 3: 16}
QUICK_CELLS = {1: 64, 2: 8, 3: 3}
#: Time step of the nodes of `Kernels` in cell sizes; six of them fill a stencil.
STEP, STEPS = 0.02, 6


def without_exact(problem: Problem) -> Problem:
    """The problem alone: true errors are no part of a bound and take long."""
    return replace(problem, exact=None, exact_gradient=None)


class Kernels:
    """For asv: what is done once per node and once per slab.

    ``filter`` is û = K*u_h of one array, ``flux`` K*σ_h; ``node`` filters value, rate and acceleration of one
    node and evaluates its residuals; ``slab`` is all that one more slab of the residual takes: a new node,
    quadratic forms, bounds of the interpolation in time; ``family`` adds the rest of the flux family;
    ``points`` integrates the same slab at Gauss points instead (the way for equations with no short cut, and
    for slabs whose interpolation in time is too coarse; not in three dimensions, where it takes minutes).
    """

    params = (list(PROBLEMS), [1, 2, 3], [1, 2, 3])
    param_names = ("equation", "dim", "degree")
    cells = CELLS

    def setup(self, name: str, dim: int, degree: int) -> None:
        cells = self.cells[dim]
        problem = without_exact(PROBLEMS[name](dim, EPS, STEPS * STEP / cells))
        solution = stfem.solve(problem, cells=cells, degree=degree, dt=STEP / cells, history=True)
        semi, self.u = solution.semidiscretization, solution.values
        self.reconstruction = Siac().bind(semi)
        interpolant = stfem.SplitEstimator().interpolant_for(solution.stepper.order)
        nodes = [
            replace(node, acceleration=semi.rhs_rate(node.time, node.values, node.rate))
            for node in solution.nodes()
        ]
        slabs = list(reconstructed_slabs(map(self.reconstruction.at_node, nodes), interpolant))
        self.slab = slabs[interpolant.look_back]
        self.split = ResidualSplit(semi, self.reconstruction)
        self.quadratic = QuadraticSplit(
            NodeEvaluator(
                problem.equation,
                problem.source[0],
                self.reconstruction,
                self.split.terms,
                self.split.inverse_diffusion,
                semi.grid.cells[0],
            ),
            self.reconstruction,
            problem.source[0],
            problem.final_time,
            semi.grid.cells,
        )
        self.time_slab()
        self.time_node()

    def renewed(self) -> ReconstructedSlab:
        """The slab with a last node of which nothing is known yet, as one finds it in a run."""
        return replace(
            self.slab, nodes=(*self.slab.nodes[:-1], self.reconstruction.at_node(self.slab.nodes[-1].node))
        )

    def time_filter(self, *_: object) -> None:
        self.reconstruction.field(self.u)

    def time_flux(self, *_: object) -> None:
        self.reconstruction.flux(self.u)

    def time_node(self, *_: object) -> None:
        self.quadratic.facts([self.renewed().nodes[-1]])

    def time_slab(self, *_: object) -> None:
        self.split.norms(self.renewed(), family=False, level=1.0)

    def time_family(self, *_: object) -> None:
        self.split.norms(self.renewed(), family=True, level=1.0)

    def time_points(self, *_: object) -> None:
        if len(self.u.shape) > 5:  # (component, two modes, two cell axes)
            return
        stripped = [
            self.reconstruction.at_node(replace(entry.node, acceleration=None)) for entry in self.slab.nodes
        ]
        self.split.norms(replace(self.slab, nodes=tuple(stripped)), family=True)

    def peakmem_slab(self, *_: object) -> None:
        self.time_slab()


def kernel_rows(cells: dict[int, int], seconds: float) -> Iterator[dict[str, Any]]:
    """One row per kernel, equation, dimension and degree; unknowns are those of u_h."""
    case = Kernels()
    case.cells = cells
    for dim in cells:
        for name in PROBLEMS:
            for degree in (1, 2, 3):
                case.setup(name, dim, degree)
                for kernel in ("filter", "flux", "node", "slab", "family", "points"):
                    if kernel == "points" and dim == 3:
                        continue
                    rates = timing.measure(getattr(case, f"time_{kernel}"), case.u, seconds)
                    yield {
                        "equation": name,
                        "dim": dim,
                        "degree": degree,
                        "cells": f"{cells[dim]}^{dim}",
                        "kernel": kernel,
                        "ms": float(f"{1e3 * rates.seconds:.3g}"),
                        "Mdof/s": float(f"{rates.rate:.3g}"),
                        "fraction of copy": f"1/{rates.copies:.0f}",
                    }


@dataclass(frozen=True)
class Case:
    """A whole run in two dimensions with degree 2, to the final time of the published experiments."""

    name: str
    eps: float
    cells: int

    @property
    def problem(self) -> Problem:
        """Linear to T = 1, Burgers to T = 0.1."""
        return without_exact(PROBLEMS[self.name](2, self.eps))

    @property
    def target(self) -> tuple[float, float] | None:
        """Largest part of the solve that the estimate may take, and the one aimed at."""
        return TARGETS.get((self.name, self.eps, self.cells))


TARGETS = {("linear", 1e-4, 64): (0.3, 0.1), ("Burgers", 1e-4, 64): (1.0, 0.2)}
#: Seconds for the repeats of a run whose ratio has a target.
TARGET_SECONDS = 20.0
COARSE = (16, 32, 64, 128)
GRIDS = {1e-4: (*COARSE, 256), 0.0: COARSE, 1e-2: COARSE}
QUICK_GRIDS = dict.fromkeys(GRIDS, (4, 8))
#: Runs on grids finer than this are cut after so many steps.
FINE, FINE_STEPS = 128, 32
#: Growth is compared from here on; coarser grids are ruled by the calls of numpy.
COARSEST = 32


class Run:
    """For asv: the time stepping alone, and with the estimate."""

    params = (list(PROBLEMS), list(GRIDS), list(COARSE[:3]))
    param_names = ("equation", "eps", "cells")

    def setup(self, name: str, eps: float, cells: int) -> None:
        self.solution = stfem.solve(Case(name, eps, cells).problem, cells=cells, degree=2)
        self.steps = self.solution.steps if cells <= FINE else min(self.solution.steps, FINE_STEPS)

    def nodes(self) -> Iterator[Node]:
        """The time stepping once more, node by node."""
        return islice(self.solution.nodes(), self.steps + 1)

    def time_solve(self, *_: object) -> None:
        deque(self.nodes(), maxlen=0)

    def time_certify(self, *_: object) -> None:
        self.estimate = stfem.SplitEstimator().run(
            self.solution.semidiscretization, self.nodes(), self.solution.stepper.order
        )

    def peakmem_certify(self, *_: object) -> None:
        self.time_certify()


def run_rows(grids: dict[float, tuple[int, ...]], seconds: float) -> Iterator[dict[str, Any]]:
    """One row per whole run; "estimate" is what it adds to the time stepping, median of repeats in turn."""
    run = Run()
    for name in PROBLEMS:
        for eps, counts in grids.items():
            first: tuple[float, float] | None = None
            for cells in counts:
                case = Case(name, eps, cells)
                run.setup(name, eps, cells)
                if cells == counts[0]:
                    run.time_certify()  # tables that are made once
                pairs = repeated(run, seconds if case.target is None else TARGET_SECONDS * seconds)
                solve, whole = np.median(pairs, axis=0)
                steps, implicit = run.steps, getattr(run.solution.stepper, "implicit", False)
                work = 1e-6 * steps * cells**2
                each = (solve / work, (whole - solve) / work)
                if cells >= COARSEST and first is None:
                    first = each
                growth = [None if first is None else round(float(each[k] / first[k]), 2) for k in range(2)]
                yield {
                    "equation": name,
                    "ε": f"{eps:g}",
                    "cells": f"{cells}^2",
                    "diffusion": "implicit" if implicit else "explicit",
                    "T": float(f"{run.estimate.history['time'][-1]:.3g}"),
                    "steps": steps,
                    "slabs": run.estimate.facts["slabs"],
                    "solve / s": float(f"{solve:.3g}"),
                    "estimate / s": float(f"{whole - solve:.3g}"),
                    "estimate/solve": float(f"{np.median([b / a - 1.0 for a, b in pairs]):.3g}"),
                    "target": "" if case.target is None else "≤ {} (aim {})".format(*case.target),
                    "solve: µs/(cell·step)": float(f"{each[0]:.3g}"),
                    "estimate: µs/(cell·step)": float(f"{each[1]:.3g}"),
                    "growth of solve": growth[0],
                    "growth of estimate": growth[1],
                }


def repeated(run: Run, seconds: float) -> list[tuple[float, float]]:
    """Times of the stepping alone and of the whole, in turn, at least once and for about ``seconds``."""
    pairs: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    while not pairs or time.perf_counter() < end:
        pairs.append((timing.timed(run.time_solve), timing.timed(run.time_certify)))
    return pairs


def report(rows: list[dict[str, Any]]) -> None:
    """Targets on the terminal."""
    for row in rows:
        if row["target"]:
            print(f"{row['equation']}: estimate/solve {row['estimate/solve']}, target {row['target']}")
    for part in ("solve", "estimate"):
        growth = [row[f"growth of {part}"] for row in rows if row[f"growth of {part}"] is not None]
        if growth:
            print(
                f"{part}: time per step and cell against {COARSEST}^2 cells "
                f"from {min(growth)} to {max(growth)}, target ≤ 1.2"
            )


def main() -> None:
    """Measure, print the tables, write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small grids, a few seconds")
    parser.add_argument("--only", nargs="*", choices=("kernels", "runs"), default=("kernels", "runs"))
    arguments = parser.parse_args()
    quick = arguments.quick
    parts = {
        "kernels": lambda: kernel_rows(QUICK_CELLS if quick else CELLS, 0.0 if quick else 0.3),
        "runs": lambda: run_rows(QUICK_GRIDS if quick else GRIDS, 0.0 if quick else 1.0),
    }
    for part in arguments.only:
        results = []
        for row in parts[part]():
            results.append(row)
            print(row, flush=True)
            # after every row: the last ones take minutes
            records.write(
                timing.name(f"performance_estimate_{part}", quick),
                {"quick": quick, "threads": 1, "kernels": timing.kernels()},
                results,
                records.markdown(results),
            )
        print(records.markdown(results))
        if part == "runs":
            report(results)


if __name__ == "__main__":
    main()
