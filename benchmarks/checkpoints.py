"""What checkpoints cost: a write against the minute between two, the state after a slab against the slab.

    python benchmarks/checkpoints.py [--quick] [--folder PATH]

The first slabs of runs are certified; after each its state is taken, as in every run with a checkpoint, and
written. Writes results/checkpoints.json and .md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import records
import skfem

import stfem
from stfem.checkpoints import EVERY
from stfem.io.checkpoint import CheckpointFile, identity
from stfem.problems import linear_advection_diffusion, transient_wave, viscous_burgers
from stfem.resumable import resolved

EPS, TARGET = 1e-3, 0.01
#: Slabs that are measured, the first of which fill the window of nodes.
FIRST, LAST = 5, 9


def cases(quick: bool) -> Iterator[tuple[str, stfem.Solution]]:
    """Runs by name, over a few time steps."""
    cells, lines = (8, 5) if quick else (256, 142)
    for name, make in {"linear": linear_advection_diffusion, "Burgers": viscous_burgers}.items():
        problem = make(dim=2, eps=EPS, final_time=3.0 / cells)
        yield f"torus {cells}², {name}, q = 2", stfem.solve(problem, cells=cells, degree=2, history=True)
    mesh = skfem.MeshTri.init_tensor(*[np.linspace(0.0, 1.0, lines)] * 2)
    for degree in (1, 2):
        problem = transient_wave(2, EPS, 1.5 / lines, mesh=mesh)
        yield f"{mesh.t.shape[1]} triangles, q = {degree}", stfem.solve(problem, degree=degree, history=True)


def measured(name: str, solution: stfem.Solution, folder: Path) -> dict[str, Any]:
    """One row."""
    on_torus = isinstance(solution.problem.domain, stfem.Torus)
    estimator = (stfem.SplitEstimator if on_torus else stfem.MeshEstimator)(spacing=1)
    run = estimator.begin(solution.semidiscretization, solution.nodes(), solution.stepper.order)
    described, identify = timed(lambda: identity("certify", solution, estimator))
    file = CheckpointFile(folder / "run", described)
    slabs, states, writes = [], [], []
    for number in range(LAST):
        more, seconds = timed(run.advance)
        if not more:
            break
        past, taking = timed(run.past)
        _, writing = timed(lambda past=past: file.save({"past": resolved(past), "finished": None}))
        if number >= FIRST:
            for times, last in ((slabs, seconds), (states, taking), (writes, writing)):
                times.append(last)
    share = max(writes) / EVERY + median(states) / median(slabs)
    return {
        "run": name,
        "MB": round(file.path.stat().st_size / 1e6, 3),
        "slab": rounded(median(slabs)),
        "state": rounded(median(states)),
        "write": rounded(median(writes)),
        "longest write": rounded(max(writes)),
        "at the start": rounded(identify),
        "share of a run": f"{100.0 * share:.2g} %",
        "target": f"< {100.0 * TARGET:g} %",
    }


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Its result and the seconds that it took."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def rounded(seconds: float) -> float:
    """Three digits."""
    return float(f"{seconds:.3g}")


def main() -> None:
    """Measure, print the table, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small grids, a few seconds")
    parser.add_argument("--folder", type=Path, help="where to write; default: a temporary folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        rows = []
        for case in cases(arguments.quick):
            rows.append(measured(*case, Path(folder)))
            print(records.markdown(rows[-1:]), flush=True)
    parameters = {"quick": arguments.quick, "eps": EPS, "every": EVERY, "slabs": LAST - FIRST}
    name = "checkpoints" + ("_quick" if arguments.quick else "")
    records.write(name, parameters, rows, records.markdown(rows))
    print(records.markdown(rows))


if __name__ == "__main__":
    main()
