"""What a computation has to know of its past to go on, as plain data: for checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

__all__ = ["Grown", "Resumable", "laid_out", "resolved", "taken_back"]


def _stacked(entries: Sequence[Any]) -> Any:
    return np.array(entries)


@dataclass(frozen=True, eq=False)
class Grown:
    """The first entries of a list that only grows: what it was, without a copy.

    Attributes
    ----------
    entries, count
        The list, and how many of its entries are meant.
    packed
        Makes an array of them.
    """

    entries: Sequence[Any]
    count: int
    packed: Callable[[Sequence[Any]], Any] = _stacked

    @property
    def array(self) -> Any:
        """The entries as an array."""
        return self.packed(self.entries[: self.count])


class Resumable:
    """An object that changes while a run goes on.

    ``PAST`` names the attributes that tell of the past: all that later results depend on, but nothing that
    is computed again from the rest, as caches are. They are None, numbers, strings, arrays, tuples of these,
    lists of numbers or of rows of numbers, mappings, or again of this class. Arrays are replaced and never
    written to, lists only grow: so a past costs no copies, and stays what it is while the run goes on.
    """

    PAST: ClassVar[tuple[str, ...]] = ()

    def past(self) -> dict[str, Any]:
        """The attributes as plain data, but for `Grown` lists, see `resolved`."""
        return {name: _captured(getattr(self, name)) for name in self.PAST}

    def resume(self, past: Mapping[str, Any]) -> None:
        """Be again what `past` was taken of; the object was made with the same arguments.

        Raises
        ------
        ValueError
            For the past of something else.
        """
        if {*past} != {*self.PAST}:
            raise ValueError(f"{type(self).__name__}: expected {', '.join(self.PAST)}, got {', '.join(past)}")
        for name in self.PAST:
            now, entry = getattr(self, name), past[name]
            if isinstance(now, Resumable):
                now.resume(entry)
            elif isinstance(now, tuple) and any(isinstance(part, Resumable) for part in now):
                for part, own in zip(now, entry, strict=True):
                    part.resume(own)
            elif isinstance(now, dict):
                setattr(self, name, dict(entry))
            elif isinstance(now, list):
                rows = entry.tolist()
                setattr(self, name, [tuple(row) if isinstance(row, list) else row for row in rows])
            else:
                setattr(self, name, entry)


def _captured(value: Any) -> Any:
    if isinstance(value, Resumable):
        return value.past()
    if isinstance(value, tuple):
        return tuple(_captured(part) for part in value)
    if isinstance(value, dict):
        return tuple(value.items())
    return Grown(value, len(value)) if isinstance(value, list) else value


def resolved(past: Any) -> Any:
    """A past with arrays in place of `Grown` lists."""
    if isinstance(past, Grown):
        return past.array
    if isinstance(past, Mapping):
        return {name: resolved(entry) for name, entry in past.items()}
    if isinstance(past, (tuple, list)):
        return type(past)(resolved(entry) for entry in past)
    return past


def laid_out(array: Any) -> dict[str, Any]:
    """An array with the order of its axes in memory: sums, and so their round-off, follow that order."""
    axes = tuple(int(axis) for axis in np.argsort([-abs(stride) for stride in array.strides], kind="stable"))
    return {"axes": axes, "entries": np.ascontiguousarray(np.transpose(array, axes))}


def taken_back(saved: Mapping[str, Any]) -> Any:
    """The array of `laid_out`, in memory as it was."""
    return np.transpose(saved["entries"], np.argsort(saved["axes"]))
