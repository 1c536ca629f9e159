"""Kronecker products of small matrices on fields ``(m, modes, cells)``, in as few products as pay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from stfem.spaces.stencil import Array

#: What moving one number costs, in multiplications of a matrix product.
MOVE = 12


class TensorProduct:
    """A_1 ⊗ … ⊗ A_d on ``(m, k_1 ⋯ k_d, cells)``.

    Neighbouring factors are multiplied out where one larger matrix costs less than two passes over the data:
    the groups with the least number of multiplications, moved values counted as `MOVE` each.

    Parameters
    ----------
    factors
        Matrices ``(r_i, k_i)``.
    """

    def __init__(self, factors: Sequence[Array]) -> None:
        self.rows: int = prod(len(a) for a in factors)
        self.columns: int = prod(a.shape[1] for a in factors)
        groups = min(_groupings(factors), key=_cost)
        self.cost = _cost(groups)
        self._steps: list[tuple[int, Array, int]] = []  # factors of the modes before and the rows behind
        behind = 1
        for k in reversed(range(len(groups))):
            before = prod(a.shape[1] for a in groups[:k])
            self._steps.append((before, np.ascontiguousarray(groups[k]), behind))
            behind *= len(groups[k])

    @property
    def intermediate(self) -> int:
        """Numbers per cell and component that `buffers` holds."""
        return sum(before * len(a) * behind for before, a, behind in self._steps[:-1])

    def buffers(self, components: int, cells: int) -> list[Array]:
        """Arrays for what lies between the passes."""
        return [
            np.empty((components * before, len(a), behind * cells)) for before, a, behind in self._steps[:-1]
        ]

    def apply(self, field: Array, out: Array, buffers: Sequence[Array]) -> None:
        """Write the product to ``out``, ``(m, r_1 ⋯ r_d, cells)``, contiguous if there are `buffers`."""
        if len(self._steps) == 1:  # any strides will do
            np.matmul(self._steps[0][1], field, out=out)
            return
        state, components, cells = field, len(field), field.shape[2]
        for (before, matrix, behind), target in zip(self._steps, [*buffers, out], strict=True):
            rows, columns = matrix.shape
            np.matmul(
                matrix,
                state.reshape(components, before, columns, behind * cells),
                out=target.reshape(components, before, rows, behind * cells),
            )
            state = target


def kronecker(factors: Sequence[Array]) -> Array:
    """A_1 ⊗ … ⊗ A_d."""
    result = factors[0]
    for factor in factors[1:]:
        result = np.asarray(np.kron(result, factor), dtype=np.float64)
    return result


def _groupings(factors: Sequence[Array]) -> Iterator[list[Array]]:
    """All ways to multiply out runs of neighbouring factors."""
    for cuts in range(1 << (len(factors) - 1)):
        groups = [[factors[0]]]
        for i, factor in enumerate(factors[1:]):
            if cuts >> i & 1:
                groups.append([factor])
            else:
                groups[-1].append(factor)
        yield [kronecker(group) for group in groups]


def _cost(groups: Sequence[Array]) -> int:
    """Multiplications per cell of the passes, the last group first, moved values counted as `MOVE` each."""
    total, behind = 0, 1
    for k in reversed(range(len(groups))):
        rows, columns = groups[k].shape
        before = prod(a.shape[1] for a in groups[:k])
        total += before * behind * (rows * columns + MOVE * (rows + columns))
        behind *= rows
    return total
