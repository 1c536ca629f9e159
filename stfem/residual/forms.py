"""Quadratic forms of fields that belong to time nodes, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from stfem.resumable import Resumable
from stfem.spaces.stencil import Array

#: Part of the norm of a field that may lie in modes left to a bound, when modes are chosen;
REST = 3e-3
#: and beyond which they are chosen again.
TOO_MUCH = 1e-2
#: Values combined at once, to stay in the cache.
BLOCK_VALUES = 1 << 15


@dataclass(frozen=True, eq=False)
class FormValue:
    """Σ_jl H_jl ⟨a_j, a_l⟩ over a slab.

    Attributes
    ----------
    cells
        The form of the kept modes per cell, ``(C,)``.
    rest
        Bound of the form of the other modes, all cells together.
    pieces
        The form, all cells and modes together, on every piece of the slab: a bound from above.
    kept_pieces
        The same of the kept modes alone: a bound from below.
    size
        Σ_jl |H_jl| ‖a_j‖ ‖a_l‖, relative to which the sum over ``cells`` is rounded.
    """

    cells: Array
    rest: float
    pieces: Array
    kept_pieces: Array
    size: float


@dataclass(frozen=True, eq=False)
class KeptModes:
    """Some modes of a field and its rate of change, and what all of them hold.

    Attributes
    ----------
    values
        The modes that were asked for, ``(2, M', C)``.
    energies
        Sums of squares over the cells of every mode, ``(2, M)``.
    """

    values: Array
    energies: Array


@dataclass(frozen=True, eq=False)
class _Entry:
    """Kept modes ``(2, M, C)`` of one node, and the norms of the others."""

    values: Array
    rest: Array


class NodeForm(Resumable):
    """The form for fields that are smooth in time, given at nodes with their rates of change.

    Most modes of such a field are tiny. Only those that make up its norm are kept, always with the first;
    the others enter through their norms. Products of two nodes, all cells together, are computed once; those
    of every cell would take more memory than the modes themselves.

    Attributes
    ----------
    kept
        Numbers of the modes that `add` wants.
    """

    PAST = ("kept",)

    def __init__(self) -> None:
        self.restart(np.zeros(1, dtype=np.intp))

    def restart(self, kept: NDArray[np.intp]) -> None:
        """Forget all nodes, and begin with other modes, the first among them."""
        self.kept = kept
        self._forget()

    def _forget(self) -> None:
        self._entries: WeakKeyDictionary[object, _Entry] = WeakKeyDictionary()
        self._products: WeakKeyDictionary[object, WeakKeyDictionary[object, Array]] = WeakKeyDictionary()

    def __contains__(self, node: object) -> bool:
        return node in self._entries

    def add(self, node: object, field: KeptModes) -> None:
        """Take a field at a node, or choose more modes and forget all nodes where it has too few of them."""
        outside = field.energies.sum(axis=1) - field.energies[:, self.kept].sum(axis=1)
        if _largest_part(outside, field.energies) <= TOO_MUCH:
            self._entries[node] = _Entry(field.values, np.sqrt(np.maximum(outside, 0.0)))
        else:
            self.kept = np.union1d(self.kept, _important(field.energies))
            self._forget()

    def means(self, nodes: Sequence[object]) -> Array:
        """First modes of value and rate of every node, ``(2k, C)``."""
        return np.concatenate([self._entries[node].values[:, 0] for node in nodes])

    def size(self, node: object) -> float:
        """Norm of the value at a node."""
        entry = self._entries[node]
        return float(np.hypot(np.linalg.norm(entry.values[0]), entry.rest[0]))

    def __call__(self, grams: Array, nodes: Sequence[object]) -> FormValue:
        """The form.

        Parameters
        ----------
        grams
            H for every piece of the slab, ``(pieces, 2k, 2k)``, ordered value, rate, value, rate, …
        nodes
            k nodes that have been added.
        """
        gram = grams.sum(axis=0)
        sums = assembled(nodes, self._product)
        rests = np.concatenate([self._entries[node].rest for node in nodes])
        weights = np.sqrt(np.maximum(np.diagonal(grams, axis1=1, axis2=2), 0.0))
        inside = np.maximum((grams * sums).sum(axis=(1, 2)), 0.0)
        sizes = np.sqrt(np.maximum(np.diag(sums), 0.0))
        return FormValue(
            self._cells(gram, nodes),
            float(np.sqrt(np.maximum(np.diag(gram), 0.0)) @ rests) ** 2,
            inside + (weights @ rests) ** 2,
            inside,
            float(sizes @ np.abs(gram) @ sizes),
        )

    def values(self, node: object) -> Array:
        """Kept modes of value and rate at a node, ``(2, M, C)``."""
        return self._entries[node].values

    def _product(self, first: object, second: object) -> Array:
        """⟨a_i, b_j⟩, all cells together, ``(2, 2)``."""
        known = self._products.setdefault(first, WeakKeyDictionary())
        if second not in known:
            a, b = (self._entries[node].values.reshape(2, -1) for node in (first, second))
            known[second] = a @ b.T
        return known[second]

    def _cells(self, gram: Array, nodes: Sequence[object]) -> Array:
        """The form of the kept modes per cell, block of cells by block."""
        values = [self._entries[node].values for node in nodes]
        _, modes, count = values[0].shape
        cells = np.empty(count)
        step = max(1, BLOCK_VALUES // (len(gram) * modes))
        for start in range(0, count, step):
            block = slice(start, start + step)
            fields = np.concatenate([field[:, :, block] for field in values])
            images = gram @ fields.reshape(len(gram), -1)
            both = (array.reshape(len(gram) * modes, -1) for array in (fields, images))
            np.einsum("mc,mc->c", *both, out=cells[block])
        return cells


def assembled(nodes: Sequence[object], product: Callable[[object, object], Array]) -> Array:
    """Symmetric matrix ``(…, 2k, 2k)`` of the products ``(…, 2, 2)`` of value and rate at two nodes each."""
    count = 2 * len(nodes)
    leading = product(nodes[0], nodes[0]).shape[:-2]
    sums = np.zeros((*leading, count, count))
    for n, node in enumerate(nodes):
        for k in range(n + 1):
            rows, columns = slice(2 * n, 2 * n + 2), slice(2 * k, 2 * k + 2)
            pair = product(node, nodes[k])
            sums[..., rows, columns], sums[..., columns, rows] = pair, np.swapaxes(pair, -1, -2)
    return sums


def _largest_part(outside: Array, energies: Array) -> float:
    """Largest part of a norm that is outside, for value and rate."""
    total = energies.sum(axis=1)
    return float(np.sqrt(np.max(np.maximum(outside, 0.0) / np.where(total > 0.0, total, 1.0))))


def _important(energies: Array) -> NDArray[np.intp]:
    """The modes that hold all of both norms but a small part, and the first."""
    total = energies.sum(axis=1, keepdims=True)
    shares = (energies / np.where(total > 0.0, total, 1.0)).max(axis=0)
    order = np.argsort(shares)[::-1]
    outside = shares.sum() - np.cumsum(shares[order])
    count = int(np.argmax(outside <= REST**2)) + 1
    return np.union1d(order[:count], [0]).astype(np.intp)
