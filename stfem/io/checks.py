"""What files must hold to be solutions and estimates: kinds and shapes of every entry, before one is made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stfem.checks import (
    checked_instance,
    checked_number,
    described,
    real_array,
    real_number,
    whole_number,
)

__all__ = ["check_estimate", "check_levels"]

_NODE = {"time", "values", "rate", "acceleration"}
_INFINITE, _LONGEST = float("inf"), 2**63 - 1
#: Of a history; shares and true errors may be NaN.
_NUMBERS = {"time", "bound"}


def check_levels(path: str | Path, saved: Mapping[str, Any], shape: tuple[int, ...]) -> None:
    """First, last and all stored coefficients of a solution, with their times.

    Raises
    ------
    ValueError, TypeError
        Naming the file and the entry.
    """
    checked_number(f"{path}, dt", saved["dt"], "a time step", 0.0, float(np.finfo(np.float64).max))
    stored = checked_instance(f"{path}, stored", saved["stored"], (list, type(None)), "nodes or none")
    levels = {name: saved[name] for name in ("initial", "values")}
    for number, node in enumerate(stored or ()):
        name = f"node {number}"
        if not isinstance(node, dict) or set(node) != _NODE or node["acceleration"] is not None:
            raise ValueError(f"{path}, {name}: expected time, values and rate, got {described(node)}")
        checked_number(f"{path}, {name}, time", node["time"], "a time", 0.0)
        levels |= {f"{name}, values": node["values"], f"{name}, rate": node["rate"]}
    for name, level in levels.items():
        if not isinstance(level, np.ndarray) or level.dtype != np.float64 or level.shape != shape:
            raise ValueError(
                f"{path}: expected coefficients of shape {shape}, got {np.shape(level)} as {name}, "
                f"{described(level)}"
            )
        if not np.all(np.isfinite(level)):
            raise ValueError(f"{path}: expected finite coefficients, got others")


def check_estimate(path: str | Path, saved: Mapping[str, Any]) -> None:
    """All fields of an estimate.

    Raises
    ------
    ValueError, TypeError
        Naming the file and the entry.
    """
    for name in ("bound", "bound_final"):
        _number(path, name, saved[name])
    for name in ("bound_energy", "bound_l1"):
        if saved[name] is not None:
            _number(path, name, saved[name])
    for name in (name for name in saved if name.startswith("error") and saved[name] is not None):
        real_number(f"{path}, {name}", saved[name])  # may be NaN
        _short(path, name, saved[name])
    ends = saved["enclosure"]
    if not isinstance(ends, tuple) or len(ends) != 2:
        raise ValueError(f"{path}, enclosure: expected two numbers, got {described(ends)}")
    for end in ends:
        _number(path, "enclosure", end)
    for part in _mapping(path, saved, "parts").values():
        _number(path, "parts", part)
    squares, cells = _array(path, "indicators_sq", saved["indicators_sq"]), _cells(path, saved)
    if np.isnan(squares).any():
        raise ValueError(f"{path}: expected numbers as indicators_sq, got NaN")
    if cells is not None and squares.shape != cells:
        raise ValueError(f"{path}, indicators_sq: expected the shape {cells}, got {squares.shape}")
    for name in ("assumptions", "unproved"):
        sentences = saved[name]
        if not isinstance(sentences, tuple) or not all(isinstance(entry, str) for entry in sentences):
            raise TypeError(f"{path}, {name}: expected a tuple of sentences, got {described(sentences)}")
    history = {
        name: _array(path, f"history, {name}", values)
        for name, values in _mapping(path, saved, "history").items()
    }
    shapes = {values.shape for values in history.values()}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise ValueError(f"{path}, history: expected arrays of one length, got shapes {sorted(shapes)}")
    for name in history.keys() & _NUMBERS:
        if np.isnan(history[name]).any():
            raise ValueError(f"{path}, history, {name}: expected numbers, got NaN")
    factor = _mapping(path, saved, "facts").get("error_factor", 1.0)
    checked_number(f"{path}, error_factor", factor, "a factor", 0.0)


def _mapping(path: str | Path, saved: Mapping[str, Any], name: str) -> dict[str, Any]:
    return checked_instance(f"{path}, {name}", saved.get(name, {}), dict, "entries by name")


def _array(path: str | Path, name: str, value: object) -> Any:
    """The value, if it is an array of real numbers."""
    entry = f"{path}, {name}"
    return real_array(checked_instance(entry, value, np.ndarray, "an array"), entry)


def _cells(path: str | Path, saved: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Shape of arrays over the cells, where the facts tell it."""
    cells = _mapping(path, saved, "facts").get("cells")
    if cells is None:
        return None
    given = cells if isinstance(cells, tuple) else (cells,)
    return tuple(whole_number(f"{path}, cells", count) for count in given)


def _number(path: str | Path, name: str, value: object) -> None:
    if isinstance(value, float) and np.isnan(value):
        raise ValueError(f"{path}: expected numbers as {name}, got NaN")
    checked_number(f"{path}, {name}", value, "a number", -_INFINITE, _INFINITE)
    _short(path, name, value)


def _short(path: str | Path, name: str, value: object) -> None:
    """Raise ValueError for a whole number that arrays cannot hold."""
    if isinstance(value, int) and abs(value) > _LONGEST:
        raise ValueError(f"{path}, {name}: expected a float, got {described(value)}")
