"""Rates of the stages of a Runge-Kutta step, in as few arrays as are needed at the same time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg.blas import daxpy

from stfem.timestepping.stepper import Array

#: Numbers of every row combined at once, to stay in the cache.
_CHUNK = 1 << 16


class StageRows:
    """Linear combinations of the rate at the start of a step and of quantities that are made on the way.

    Quantity 0 is the rate that the caller holds. Each of the others lies in a row of one workspace, which is
    kept from step to step, and gives its row away after the last combination that it enters.

    Parameters
    ----------
    weights
        Row i: weights of all quantities in combination i, ``(combinations, quantities)``.
    made
        For every combination the quantities that are written once it is formed. The first of them may be
        written by the combination itself.
    """

    def __init__(self, weights: Array, made: Sequence[Sequence[int]]) -> None:
        last = {q: max(np.flatnonzero(column), default=-1) for q, column in enumerate(weights.T)}
        holds: list[int] = []  # the quantity in every row
        self._row: dict[int, int] = {}
        self._weights: list[tuple[float, Array]] = []
        for i, (entries, quantities) in enumerate(zip(weights, made, strict=True)):
            self._weights.append((float(entries[0]), entries[holds]))
            for quantity in quantities:
                row = next((r for r, held in enumerate(holds) if last[held] <= i), len(holds))
                holds[row : row + 1] = [quantity]
                self._row[quantity] = row
        self.count = len(holds)
        self._space = np.empty((0, 0))

    def __getstate__(self) -> dict[str, object]:
        """What a copy needs: no workspace."""
        return {**vars(self), "_space": np.empty((0, 0))}

    def fit(self, size: int) -> None:
        """Provide rows for states of some size."""
        if self._space.shape != (self.count, size):
            self._space = np.empty((self.count, size))

    def of(self, quantity: int, shape: tuple[int, ...]) -> Array:
        """The row of a quantity, to be written."""
        row: Array = self._space[self._row[quantity]]
        return row.reshape(shape)

    def combine(self, i: int, dt: float, rate: Array, base: Array, out: Array) -> None:
        """``out`` = base + dt Σ_q weights_iq q, increments first: rounded once at the size of ``base``.

        Parameters
        ----------
        i
            Number of the combination.
        dt, rate, base
            Time step, quantity 0, and what is added to; the latter may be ``out`` itself.
        out
            May be a row that no later combination needs.
        """
        first, others = self._weights[i]
        first, others = dt * first, dt * others
        rows, (given, start, target) = self._space[: len(others)], (a.reshape(-1) for a in (rate, base, out))
        taken = np.may_share_memory(target, start) or np.may_share_memory(target, rows)
        work = np.empty(min(_CHUNK, len(target))) if taken else None
        for begin in range(0, len(target), _CHUNK):
            chunk = slice(begin, begin + _CHUNK)
            total = target[chunk] if work is None else work[: len(target) - begin]
            np.matmul(others, rows[:, chunk], out=total)
            daxpy(given[chunk], total, a=first)
            np.add(total, start[chunk], out=target[chunk])
