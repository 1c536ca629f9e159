"""Values that nobody should pass, each made anew: numbers, words, sequences, arrays, objects, functions."""

import datetime
import itertools
import math
import types
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np

import stfem
from stfem.data import Constant, Polynomial, Trigonometric, sine


class UserError(Exception):
    """What a user's own code raises; it passes through the library as it is."""


class Raising:
    """Raises at whatever is asked of it."""

    def _refuse(self, *args, **kwargs):
        raise UserError("asked")

    __float__ = __int__ = __index__ = __len__ = __iter__ = __array__ = __call__ = _refuse
    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = __contains__ = _refuse


class Negative:
    """A sequence of negative length."""

    def __len__(self):
        return -1

    def __getitem__(self, index):
        raise IndexError(index)


def recursive_list() -> list:
    entries: list = []
    entries.append(entries)
    return entries


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


NUMBERS: dict[str, Callable[[], object]] = {
    repr(number): lambda number=number: number
    for number in (
        *(math.nan, math.inf, -math.inf, 0, -0.0, -1, -1.5, 2.5, 3, 7, 1e-3, 1e18, 1e100, 1e308, -1e308),
        *(1e-308, 5e-324, 2**31, 2**63, 2**64, -(2**63), True, False, 1j, 1 + 0j, Fraction(1, 3)),
        *(np.float32(0.1), np.float16(2), np.int8(3), np.uint8(200), np.int64(-1), np.uint64(2**64 - 1)),
        *(np.bool_(True), np.complex64(1), np.float64("nan"), np.longdouble(2), np.datetime64("2020-01-01")),
        *(Decimal("0.5"), Decimal("NaN"), Decimal("sNaN")),
    )
} | {"10**400": lambda: 10**400, "-10**400": lambda: -(10**400)}

WORDS: dict[str, Callable[[], object]] = {
    repr(word): lambda word=word: word
    for word in ("", "a", "1", "0.5", "nan", "left", "\0", "é", b"1", b"", bytearray(b"ab"), np.str_("1"))
}

OTHERS: dict[str, Callable[[], object]] = {
    "None": lambda: None,
    "...": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "object()": object,
    "int": lambda: int,
    "Dirichlet": lambda: stfem.Dirichlet,
    "Torus": lambda: stfem.Torus,
    "math": lambda: math,
    "Raising": lambda: Raising,
    "Raising()": Raising,
    "Negative()": Negative,
    "SimpleNamespace": types.SimpleNamespace,
    "date": lambda: datetime.date(2020, 1, 1),
    "Torus(1)": lambda: stfem.Torus(1.0),
    "Dirichlet()": lambda: stfem.Dirichlet(0.0),
    "Siac()": stfem.Siac,
    "sine": lambda: sine(2.0 * math.pi),
    "sine2": lambda: sine((2.0 * math.pi, 0.0)),
    "Constant": lambda: Constant(1.0, 1),
    "Constant3": lambda: Constant(1.0, 3),
    "Polynomial": lambda: Polynomial([[1.0], [2.0]]),
    "Trigonometric": lambda: Trigonometric(np.zeros((0, 2)), [], []),
    "numpy Polynomial": lambda: np.polynomial.Polynomial([0.0, 1.0]),
}

SEQUENCES: dict[str, Callable[[], object]] = {
    "()": tuple,
    "[]": list,
    "{}": dict,
    "set": lambda: {1.0},
    "(1.0,)": lambda: (1.0,),
    "[1, 2]": lambda: [1, 2],
    "(1, 2, 3)": lambda: (1, 2, 3),
    "(1, 2, 3, 4)": lambda: (1, 2, 3, 4),
    "[0.5, 'a']": lambda: [0.5, "a"],
    "[None]": lambda: [None],
    "[nan]": lambda: [math.nan],
    "[inf, 1]": lambda: [math.inf, 1.0],
    "[True]": lambda: [True],
    "[-1, 0]": lambda: [-1, 0],
    "[[]]": lambda: [[]],
    "[[1.0]]": lambda: [[1.0]],
    "[[1, 2], [3]]": lambda: [[1, 2], [3]],
    "[[1, 0], [0, 1]]": lambda: [[1, 0], [0, 1]],
    "[[0, 1], [-1, 0]]": lambda: [[0, 1], [-1, 0]],
    "[[1, 2], [2, 1]]": lambda: [[1, 2], [2, 1]],
    "[1j]": lambda: [1j],
    "['a', 'b']": lambda: ["a", "b"],
    "[object()]": lambda: [object()],
    "recursive": recursive_list,
    "range(3)": lambda: range(3),
    "generator": lambda: (i for i in range(2)),
    "count()": itertools.count,
    "repeat(1.0)": lambda: itertools.repeat(1.0),
    "{'a': 1}": lambda: {"a": 1},
    "{'left': None}": lambda: {"left": None},
    "{1: 2}": lambda: {1: 2},
}

ARRAYS: dict[str, Callable[[], object]] = {
    "zeros(0)": lambda: np.zeros(0),
    "zeros((0, 3))": lambda: np.zeros((0, 3)),
    "zeros((1, 0))": lambda: np.zeros((1, 0)),
    "zeros(3)": lambda: np.zeros(3),
    "ones((2, 2))": lambda: np.ones((2, 2)),
    "eye(2)": lambda: np.eye(2),
    "eye(3)": lambda: np.eye(3),
    "-eye(2)": lambda: -np.eye(2),
    "ones((1,) * 6)": lambda: np.ones((1,) * 6),
    "ones((1,) * 40)": lambda: np.ones((1,) * 40),
    "array(1.0)": lambda: np.array(1.0),
    "array(nan)": lambda: np.array(math.nan),
    "array([1.0])": lambda: np.array([1.0]),
    "array([nan, inf])": lambda: np.array([math.nan, math.inf]),
    "array([1, 2])": lambda: np.array([1, 2]),
    "array([1, 2], int8)": lambda: np.array([1, 2], dtype=np.int8),
    "array([1e-3], float32)": lambda: np.array([1e-3], dtype=np.float32),
    "array([2.0], float16)": lambda: np.array([2.0], dtype=np.float16),
    "array([True])": lambda: np.array([True]),
    "array([1j])": lambda: np.array([1j]),
    "array(['a'])": lambda: np.array(["a"]),
    "array([b'1'])": lambda: np.array([b"1"]),
    "array([None])": lambda: np.array([None]),
    "array([1.0], object)": lambda: np.array([1.0], dtype=object),
    "array(object())": lambda: np.array(object()),
    "structured": lambda: np.zeros(2, dtype=[("x", float)]),
    "datetimes": lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
    "masked": lambda: np.ma.masked_array([1.0, 2.0], mask=[True, False]),
    "masked constant": lambda: np.ma.masked,
    "unmasked": lambda: np.ma.masked_array([1.0, 2.0]),
    "big-endian": lambda: np.array([1.0, 2.0], dtype=">f8"),
    "strided": lambda: np.arange(4.0)[::2],
    "read-only": lambda: read_only(np.array([1.0, 0.5])),
    "matrix of 1e308": lambda: np.full((2, 2), 1e308),
}


def changing(x, t=0.0):
    """Writes to what it is given."""
    x[...] = 0.0
    return np.ones(np.shape(x)[1:])


def counting() -> Callable[..., object]:
    """Another value at every call."""
    calls = itertools.count()
    return lambda x, t=0.0: np.full(np.shape(x)[1:], float(next(calls)))


def noisy() -> Callable[..., object]:
    rng = np.random.default_rng(0)
    return lambda x, t=0.0: rng.normal(size=np.shape(x)[1:])


def refusing(*args, **kwargs):
    raise UserError("called")


FUNCTIONS: dict[str, Callable[[], object]] = {
    "λ: None": lambda: lambda *a, **k: None,
    "λ: 'a'": lambda: lambda *a, **k: "a",
    "λ: 1j": lambda: lambda *a, **k: 1j,
    "λ: nan": lambda: lambda *a, **k: math.nan,
    "λ: inf": lambda: lambda *a, **k: math.inf,
    "λ: 1": lambda: lambda *a, **k: 1,
    "λ: 1e308": lambda: lambda *a, **k: 1e308,
    "λ: zeros(5)": lambda: lambda *a, **k: np.zeros(5),
    "λ: zeros((2, 7))": lambda: lambda *a, **k: np.zeros((2, 7)),
    "λ: []": lambda: lambda *a, **k: [],
    "λ: ragged": lambda: lambda *a, **k: [[1.0], [1.0, 2.0]],
    "λ: masked": lambda: lambda x, *a: np.ma.masked_array(x, mask=True),
    "λ: itself": lambda: lambda x, *a: x,
    "λ: x[0]": lambda: lambda x, *a: x[0],
    "λ: complex": lambda: lambda x, *a: np.asarray(x)[0] + 0j,
    "λ: object": lambda: lambda x, *a: np.asarray(x).astype(object)[0],
    "λ: float32": lambda: lambda x, *a: np.asarray(x, dtype=np.float32)[0],
    "λ: step": lambda: lambda x, *a: np.where(np.asarray(x)[0] > 0.5, 1.0, 0.0),
    "λ()": lambda: lambda: 1.0,
    "λ(a, b, c, d, e, f, g)": lambda: lambda a, b, c, d, e, f, g: 1.0,
    "changing": lambda: changing,
    "counting": counting,
    "noisy": noisy,
    "refusing": lambda: refusing,
    "np.sin": lambda: np.sin,
    "dict": lambda: dict,
    "print": lambda: lambda *a, **k: iter(a),
}

#: Of every kind, the makers by name.
HOSTILE: dict[str, Callable[[], object]] = {
    name: make
    for pool in (NUMBERS, WORDS, OTHERS, SEQUENCES, ARRAYS, FUNCTIONS)
    for name, make in pool.items()
}
