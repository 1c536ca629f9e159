"""How parameters appear in tables and records: numbers as they are, objects by a readable name."""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
import skfem

#: Longer ones are cut: a table has to fit on a page.
LONGEST = 60
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def label(value: object) -> Any:
    """A number, string, truth value, None or tuple of these; anything else as a readable string.

    Functions appear by their names, dataclasses with the fields that differ from the defaults, other objects
    by their ``repr`` without addresses.

    >>> from stfem import Siac, SplitEstimator
    >>> label(0.5), label((16, 8)), label(Siac()), label(SplitEstimator(reconstruction=Siac(order=6)))
    (0.5, (16, 8), 'Siac', 'SplitEstimator(reconstruction=Siac(order=6))')
    """
    if isinstance(value, np.generic):  # first: a number of numpy may be a float as well
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, tuple):
        return tuple(map(label, value))
    text = " ".join(_ADDRESS.sub("", _text(value)).split())  # the same in every process
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def listed(parameters: dict[str, Any]) -> str:
    """Parameters of a case in a sentence.

    >>> listed({"eps": 1e-6, "cells": (16, 8)})
    'eps=1e-06, cells=(16, 8)'
    """
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


def differs(value: object, field: Field[Any]) -> bool:
    """Whether a field says more than its default."""
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    current = getattr(value, field.name)
    if not field.repr or current is default:
        return False
    try:
        return bool(current != default)
    except ValueError:  # arrays
        return True


def _text(value: object) -> str:
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, partial):
        given = [*map(_inner, value.args), *(f"{name}={_inner(v)}" for name, v in value.keywords.items())]
        return f"{_text(value.func)}({', '.join(given)})"
    if isinstance(value, np.ndarray):
        return str(value.tolist())
    if isinstance(value, skfem.Mesh):
        return f"{type(value).__name__}({value.t.shape[1]} cells)"
    if is_dataclass(value) and type(value).__repr__ is not object.__repr__:
        given = [f"{f.name}={_inner(getattr(value, f.name))}" for f in fields(value) if differs(value, f)]
        return f"{type(value).__name__}({', '.join(given)})" if given else type(value).__name__
    name = getattr(value, "__name__", None)
    if callable(value) and isinstance(name, str):
        return name
    own = type(value).__repr__ is not object.__repr__
    return repr(value) if own else type(value).__name__


def _inner(value: object) -> str:
    return str(label(value))
