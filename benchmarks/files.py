"""Bandwidth of files: saving, loading and export, against a copy in memory and against plain arrays.

    python benchmarks/files.py [--quick] [--folder FOLDER]

Every operation is timed by the clock, in turn with `np.copyto`, `np.save` and `np.load` of an array as large
as its file; the shortest times are compared, which other work on the machine disturbs least. ``np.save``
leaves the data to the operating system, whereas the files of stfem are on the disk when a call returns, so
that the same array is also written with ``fsync``. What is read is in the cache of the operating system.
Writes results/performance_files.json and .md.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import records

import stfem
from stfem.io import from_skfem, to_skfem, write_vtk
from stfem.problems import linear_advection_diffusion

DEGREE, EPS, FINAL_TIME = 2, 1e-4, 1e-4
CASES, QUICK = ((2, 256), (3, 24)), ((2, 32), (3, 8))


def seconds(work: Callable[[], object]) -> float:
    """Time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def shortest(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Shortest times of all, done in turn, after one round to warm up."""
    rounds = [[seconds(work) for work in works.values()] for _ in range(repeats + 1)]
    return dict(zip(works, np.min(rounds[1:], axis=0).tolist(), strict=True))


def save_durably(path: Path, array: np.ndarray) -> None:
    """`np.save`, and wait for the disk."""
    with path.open("wb") as stream:
        np.save(stream, array)
        stream.flush()
        os.fsync(stream.fileno())


def operations(solution: stfem.Solution, folder: Path) -> Iterator[tuple[str, Callable[[], object], Path]]:
    """Name, work and file of every operation on files."""
    saved, plain, small = folder / "u.npz", folder / "u.vtu", folder / "z.vtu"
    yield "Solution.save", lambda: solution.save(saved), saved
    yield "Solution.load", lambda: stfem.Solution.load(saved), saved
    yield "write_vtk", lambda: write_vtk(plain, solution), plain
    yield "write_vtk, compressed", lambda: write_vtk(small, solution, compressed=True), small


def peers(size: int, path: Path | None = None) -> dict[str, Callable[[], object]]:
    """What is done with plain arrays of so many bytes, and a file where one is given."""
    array, other = np.random.default_rng(0).normal(size=size // 8), np.zeros(size // 8)
    copy = {"copy": lambda: np.copyto(other, array)}
    if path is None:
        return copy
    return copy | {
        "np.save": lambda: np.save(path, array),
        "np.save with fsync": lambda: save_durably(path, array),
        "np.load": lambda: np.load(path),
    }


def measured(dim: int, cells: int, folder: Path, repeats: int) -> Iterator[dict[str, Any]]:
    """One row per operation."""
    problem = linear_advection_diffusion(dim, EPS, FINAL_TIME)
    solution = stfem.solve(problem, cells=cells, degree=DEGREE)
    grid = f"{cells}^{dim}"
    for name, work, path in operations(solution, folder):
        work()
        size = path.stat().st_size
        times = shortest({"work": work, **peers(size, folder / "array.npy")}, repeats)
        names = ("copy", "np.load") if name == "Solution.load" else ("copy", "np.save", "np.save with fsync")
        yield row(grid, name, size, times, names)
    mesh, element, levels = to_skfem(solution, history=True)
    exchange: dict[str, tuple[int, Callable[[], object]]] = {
        "to_skfem": (solution.values.nbytes, lambda: to_skfem(solution)),
        "from_skfem": (levels.nbytes, lambda: from_skfem(problem, mesh, element, levels, degree=DEGREE)),
    }
    for name, (size, work) in exchange.items():
        yield row(grid, name, size, shortest({"work": work, **peers(size)}, repeats), ("copy",))


def row(
    grid: str, name: str, size: int, times: dict[str, float], compared: tuple[str, ...]
) -> dict[str, Any]:
    """Rate, and its fraction of the rates of others."""
    fractions = {
        f"of {peer}": float(f"{times[peer] / times['work']:.2g}") if peer in compared else None
        for peer in ("copy", "np.save", "np.save with fsync", "np.load")
    }
    rate = size / times["work"] / 1e6
    head = {"cells": grid, "operation": name, "MB": float(f"{size / 1e6:.3g}"), "MB/s": float(f"{rate:.3g}")}
    return head | fractions


def main() -> None:
    """Measure, print the table, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small grids, a few seconds")
    parser.add_argument("--folder", type=Path, help="where to write; default: a temporary folder")
    arguments = parser.parse_args()
    cases, repeats = (QUICK, 1) if arguments.quick else (CASES, 9)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        rows = [line for case in cases for line in measured(*case, Path(folder), repeats)]
    parameters = {"quick": arguments.quick, "degree": DEGREE, "repeats": repeats}
    name = "performance_files" + ("_quick" if arguments.quick else "")
    records.write(name, parameters, rows, records.markdown(rows))
    print(records.markdown(rows))


if __name__ == "__main__":
    main()
