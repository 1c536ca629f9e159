"""Fingerprint of a case: what its numbers depend on, problems with functions included.

Two ways together. The *structure*: every object is taken apart into numbers, names and the code of functions,
with what these close over, their defaults and the globals that they use. And *samples*: values of all data,
fluxes and the exact solution at fixed points, which see what the structure cannot, such as a function that
reads a file. What neither sees must not change while a store is in use: numbers that a function reads from
elsewhere and that make no difference at any of the points.
"""

from __future__ import annotations

import dis
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import skfem

from stfem.problems import Box, Domain, Problem
from stfem.problems.conditions import Condition
from stfem.provenance import code_digest
from stfem.spaces.stencil import Array

#: Packages of which a name says enough: the code of stfem is in every fingerprint, and other versions of the
#: rest change no more than the rounding.
_KNOWN = {*sys.stdlib_module_names, "stfem", "numpy", "scipy"}
_INSTALLED = {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}
_CACHED = type(lru_cache(len))
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
#: Sample points, and digits of the values there: they shall not depend on the last bits of an exponential.
_POINTS, _DIGITS = 128, 9

#: What a thing is called, and its parts: bytes, or things to be taken apart in turn.
Parts = tuple[str, list[Any]]


def fingerprint(problem: Problem, options: Mapping[str, Any]) -> str:
    """Digest of a problem and of the arguments of `certify`, the same in every process that runs this code.

    Raises
    ------
    TypeError
        For an object that cannot be taken apart, such as an open file.
    """
    return digest(["stfem case", code_digest(), problem, list(_samples(problem)), dict(options)])


def digest(value: object) -> str:
    """Digest of a value by its structure.

    Raises
    ------
    TypeError
        For an object that cannot be taken apart.

    >>> digest([1, "a"]) == digest([1, "a"]), digest([1]) == digest([1.0])
    (True, False)
    """
    walk = _Walk()
    walk.add(value)
    return walk.hash.hexdigest()


class _Walk:
    """Goes through a graph of objects; what comes again is written as the number of its first appearance."""

    def __init__(self) -> None:
        self.hash = sha256()
        self._seen: dict[int, int] = {}
        self._kept: list[object] = []  # no identity is used twice

    def add(self, value: Any) -> None:
        if type(value) not in (*_PLAIN, tuple, np.ndarray):
            if id(value) in self._seen:
                self._write("seen", str(self._seen[id(value)]).encode())
                return
            self._seen[id(value)] = len(self._seen)
            self._kept.append(value)
        kind, parts = _taken_apart(value)
        self._write(kind, str(len(parts)).encode())
        for part in parts:
            if type(part) is bytes:
                self._write("bytes", part)
            else:
                self.add(part)

    def _write(self, kind: str, content: bytes) -> None:
        self.hash.update(f"{kind} {len(content)} ".encode() + content)


def _taken_apart(value: Any) -> Parts:
    kind = type(value)
    if kind in _PLAIN:
        return kind.__name__, [repr(value).encode()]
    if kind is np.ndarray and not value.dtype.hasobject:
        return "array", [f"{value.dtype.str} {value.shape}".encode(), value.tobytes()]
    if kind in (list, tuple):
        return kind.__name__, list(value)
    if kind in (set, frozenset):  # in an order of their own, which differs from process to process
        return kind.__name__, sorted(digest(entry).encode() for entry in value)
    if kind is dict:
        named = all(type(key) is str for key in value)
        return "dict", [part for item in (sorted(value.items()) if named else value.items()) for part in item]
    if isinstance(value, skfem.Mesh):  # what it has worked out meanwhile does not count
        sets = [sorted((given or {}).items()) for given in (value.boundaries, value.subdomains)]
        return "mesh", [kind, value.p, value.t, *sets]
    if kind is ModuleType:
        return "module", [value.__name__.encode()]
    if isinstance(value, type):
        return _class(value)
    if kind is FunctionType:
        return _function(value)
    if kind is CodeType:
        return _code(value)
    if kind is BuiltinFunctionType:
        return "builtin", [value.__qualname__.encode(), value.__self__]
    if kind is MethodType:
        return "method", [value.__func__, value.__self__]
    if isinstance(value, property):
        return "property", [value.fget]
    if isinstance(value, cached_property):
        return "property", [value.func]
    if isinstance(value, (staticmethod, classmethod, _CACHED)):
        return "wrapper", [kind, value.__wrapped__]
    return _object(value)


def _function(value: FunctionType) -> Parts:
    """A function of a known package by name, unless made inside another one; else its code and its world."""
    if "<" not in value.__qualname__ and (name := _known(value.__module__, value.__qualname__)):
        return "function", [name]
    code, scope = value.__code__, value.__globals__
    cells = [_cell(cell) for cell in value.__closure__ or ()]
    used: dict[str, object] = {name: scope[name] for name in _globals(code) if name in scope}
    for module in [entry for entry in used.values() if isinstance(entry, ModuleType)]:
        if not _known(module.__name__, ""):  # settings.width: what its names may mean there
            used |= {f"{module.__name__}.{n}": vars(module)[n] for n in _names(code) if n in vars(module)}
    return "function", [code, value.__defaults__, value.__kwdefaults__, vars(value), cells, used]


def _cell(cell: Any) -> list[object]:
    try:
        return [cell.cell_contents]
    except ValueError:  # not assigned yet
        return []


def _code(code: CodeType) -> Parts:
    """What runs, whatever the names of its variables and its place in the file."""
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return "code", [code.co_code, counts, code.co_names, code.co_consts]


def _inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _inner(constant)


def _globals(code: CodeType) -> list[str]:
    loads = ("LOAD_GLOBAL", "LOAD_NAME")
    found = (
        step.argval for part in _inner(code) for step in dis.get_instructions(part) if step.opname in loads
    )
    return sorted(set(found))


def _names(code: CodeType) -> list[str]:
    return sorted({name for part in _inner(code) for name in part.co_names})


def _class(value: type) -> Parts:
    """A class of a known package by name; else its bases, its methods and what else it defines."""
    if name := _known(value.__module__, value.__qualname__):
        return "class", [name]
    written = (FunctionType, property, classmethod, staticmethod)
    members = {
        name: member
        for name, member in vars(value).items()
        if isinstance(member, written) or not (name.startswith("__") or name == "_abc_impl")
    }
    return "class", [value.__qualname__.encode(), list(value.__bases__), members]


def _object(value: object) -> Parts:
    """The class of an object and its state, as for a copy, without what cached properties hold."""
    try:
        reduced = value.__reduce_ex__(4)
    except TypeError as error:
        raise TypeError(
            f"store: expected a problem and options made of numbers, functions and objects that can be "
            f"copied, got {value!r} ({error})"
        ) from error
    if isinstance(reduced, str):
        return "global", [type(value), reduced.encode()]
    make, given, state, entries, items = (*reduced, None, None, None)[:5]
    if isinstance(state, dict):
        derived = {
            n for base in type(value).__mro__ for n, m in vars(base).items() if isinstance(m, cached_property)
        }
        state = {name: entry for name, entry in state.items() if name not in derived}
    return "object", [type(value), make, given, state, list(entries or ()), list(items or ())]


def _known(module: str | None, name: str) -> bytes:
    """Name of what is in a known or an installed package, with the version of the latter; else nothing."""
    top = (module or "").partition(".")[0]
    if top in _KNOWN:
        return f"{module}.{name}".encode()
    package = sys.modules.get(top)
    file = getattr(package, "__file__", None)
    if file is None or not any(folder in Path(file).resolve().parents for folder in _INSTALLED):
        return b""
    return f"{module}.{name} {getattr(package, '__version__', '')}".encode()


def _samples(problem: Problem) -> Iterator[Array]:
    """Data at fixed points and times, flux and wave speed for fixed states, the exact solution; rounded."""
    equation, rng = problem.equation, np.random.default_rng(17)
    x = problem.domain.sample(rng, _POINTS)
    states = equation.probe_states(rng, _POINTS)
    yield from _boundary_samples(problem)
    data = [*problem.source, equation.reaction, *(equation.velocity if equation.linear else ())]
    for datum in problem.initial:
        yield _rounded(datum(x))
    for t in (0.0, 0.37 * problem.final_time, problem.final_time):
        for datum in data:
            yield _rounded(datum(x, t))
        for field in (problem.exact, problem.exact_gradient):
            if field is not None:
                yield _rounded(field(x, t))
        for i in range(equation.dim):
            yield _rounded(equation.flux(states, x, t, i))
            yield _rounded(equation.wave_speed(states, x, t, i))


def _boundary_samples(problem: Problem) -> Iterator[Array]:
    """Data of boundary conditions in the domain and on its boundary."""
    domain, equation = problem.domain, problem.equation
    if not isinstance(domain, (Box, Domain)):
        return
    given = domain.boundary
    x = domain.spread()
    for name, condition in sorted(({"": given} if isinstance(given, Condition) else given).items()):
        data = condition.data(equation.dim, equation.components, name)
        for datum in (*data, condition.transfer(equation.dim, name)):
            for t in (0.0, 0.37 * problem.final_time, problem.final_time):
                yield _rounded(datum(x, t))


def _rounded(values: Array) -> Array:
    """Values relative to a power of two, which comes last; without −0."""
    exponent = np.frexp(np.max(np.abs(values)))[1]
    return np.append(np.round(np.ldexp(values, -exponent), _DIGITS) + 0.0, exponent)
