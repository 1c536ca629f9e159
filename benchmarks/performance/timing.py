"""One thread, interleaved repeats: how fast a piece of work is, and how fast the same array is copied.

To be imported before numpy, whose BLAS reads its number of threads once.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
sys.path.insert(0, str(Path(__file__).parents[1]))  # records.py

import numpy as np  # noqa: E402  (after the environment)

_REPEATS = 7


@dataclass(frozen=True)
class Rates:
    """Median times of one call in seconds, of `size` unknowns."""

    size: int
    seconds: float
    copy_seconds: float

    @property
    def rate(self) -> float:
        """Million unknowns per second."""
        return self.size / self.seconds / 1e6

    @property
    def copy_rate(self) -> float:
        """Million numbers copied per second by `np.copyto`."""
        return self.size / self.copy_seconds / 1e6

    @property
    def copies(self) -> float:
        """Time in copies of the array: 1 over the fraction of the copy rate."""
        return self.seconds / self.copy_seconds


def measure(work: Callable[[], object], array: np.ndarray, seconds: float = 1.0) -> Rates:
    """Repeat the work and a copy of ``array`` in turn for about ``seconds``; the median of each.

    Times are those that the thread computes, which are those of the clock on an idle machine.
    """
    copy = np.empty_like(array)
    work()
    np.copyto(copy, array)
    pairs: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    while len(pairs) < _REPEATS or time.perf_counter() < end:
        pairs.append((timed(work), timed(lambda: np.copyto(copy, array))))
    median, median_copy = np.median(pairs, axis=0)
    return Rates(array.size, float(median), float(median_copy))


def in_turn(works: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Repeat pieces of work in turn for about ``seconds``: the median time of each.

    Times as in `measure`.
    """
    passes: list[list[float]] = []
    end = time.perf_counter() + seconds
    while len(passes) < _REPEATS or time.perf_counter() < end:
        passes.append([timed(work) for work in works.values()])
    return dict(zip(works, np.median(passes, axis=0).tolist(), strict=True))


def timed(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def kernels() -> str:
    """Which kernels OpenBLAS was told to take; by itself it takes those of the processor."""
    return os.environ.get("OPENBLAS_CORETYPE", "detected")


def name(subject: str, quick: bool) -> str:
    """Name of a record: what was told to OpenBLAS, and whether the grids were small, belong to it."""
    told = "_" + kernels().lower() if "OPENBLAS_CORETYPE" in os.environ else ""
    return subject + told + ("_quick" if quick else "")
