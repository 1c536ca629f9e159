"""What is passed by a user becomes what the library computes with, or an error that says what was expected.

Every check names the argument, and shows what was expected and what it got.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LARGEST",
    "checked_array",
    "checked_flag",
    "checked_instance",
    "checked_list",
    "checked_method",
    "checked_path",
    "checked_share",
    "checked_number",
    "checked_numbers",
    "checked_whole",
    "described",
    "float_array",
    "numeric_array",
    "positive_number",
    "real_array",
    "real_number",
    "whole_number",
]

Array = NDArray[np.float64]
T = TypeVar("T")

#: Times, their reciprocals and diffusions are squared and multiplied with data: these must stay finite.
LARGEST = 1e100
_LARGEST_FLOAT = int(np.finfo(np.float64).max)
#: Characters of an object that a message shows.
_SHOWN = 200


def described(value: object) -> str:
    """What was passed, short enough for a message: arrays by shape and type, whole numbers by their size."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, int) and abs(value) > LARGEST:
        return f"a whole number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def real_number(name: str, value: object) -> float:
    """The value as an int or float, if it is a number and no truth value.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: expected a number, got {described(value)}")
    number: float = value.item() if isinstance(value, np.generic) else value
    return number


def checked_path(name: str, value: object) -> Path:
    """The value as a path of a file.

    Raises
    ------
    TypeError, ValueError
        For what is no text or path, and for one that no file can have.
    """
    if not isinstance(value, (str, Path)):
        raise TypeError(f"{name}: expected a path, got {described(value)}")
    if "\0" in str(value):
        raise ValueError(f"{name}: expected a path without null characters, got {described(value)}")
    return Path(value)


def checked_number(
    name: str, value: object, kind: str = "a number", least: float = -LARGEST, most: float = LARGEST
) -> float:
    """The value as a float, if least ≤ value ≤ most.

    Parameters
    ----------
    name, kind
        Name of the argument, and in words what it should be.
    value
        What was given; the truth values are no numbers.
    least, most
        Range, ends included.

    Raises
    ------
    TypeError, ValueError
        For another type, and for a number outside the range or a NaN.
    """
    number = real_number(name, value)
    beyond = isinstance(number, int) and abs(number) > _LARGEST_FLOAT
    if beyond or not least <= number <= most:
        raise ValueError(f"{name}: expected {kind} from {least:g} to {most:g}, got {described(number)}")
    return float(number)


def checked_numbers(
    name: str, value: object, kind: str = "numbers", least: float = -LARGEST, most: float = LARGEST
) -> tuple[float, ...]:
    """The entries of a sequence or vector as floats, each from `least` to `most`.

    Raises
    ------
    TypeError, ValueError
        For anything that is no sequence of numbers, and for entries outside the range.
    """
    if isinstance(value, (str, bytes, bytearray, dict, set)) or not isinstance(value, Sized):
        raise TypeError(f"{name}: expected {kind} in a sequence, got {described(value)}")
    if isinstance(value, np.ndarray):
        if value.ndim != 1 or np.ma.is_masked(value):
            raise TypeError(f"{name}: expected {kind} in a sequence, got {described(value)}")
        value = list(value)
    entries: Any = value
    return tuple(checked_number(name, entry, kind, least, most) for entry in entries)


def whole_number(name: str, value: object) -> int:
    """The value as an int, if it is a whole number, and no float or truth value.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected a whole number, got {described(value)}")
    return int(value)


def checked_list(name: str, value: object) -> list[Any]:
    """The entries of a tuple, list or array; nothing that may have no end.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(value, np.ndarray) and value.ndim > 0:
        return list(value)
    if not isinstance(value, (tuple, list, range)):
        raise TypeError(f"{name}: expected a tuple or list, got {described(value)}")
    return list(value)


def checked_whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """The value as an int, if it is a whole number from `least` to `most`.

    Raises
    ------
    TypeError, ValueError
        For another type, and for a number outside the range.
    """
    number = whole_number(name, value)
    if number < least or (most is not None and number > most):
        limits = f"at least {least}" if most is None else f"{least} to {most}"
        raise ValueError(f"{name}: expected {limits}, got {described(number)}")
    return number


def positive_number(name: str, value: object) -> float:
    """The value as a float, if it is positive and finite.

    Raises
    ------
    TypeError, ValueError
        For another type, and for other numbers.
    """
    number = real_number(name, value)
    if not 0.0 < number <= _LARGEST_FLOAT:
        raise ValueError(f"{name}: expected a positive finite number, got {described(number)}")
    return float(number)


def checked_share(name: str, value: object) -> float:
    """The value as a float, if it is a number between 0 and 1, both excluded.

    Raises
    ------
    TypeError, ValueError
        For another type, and for a number outside.
    """
    number = checked_number(name, value, "a number in (0, 1),", 0.0, 1.0)
    if number in (0.0, 1.0):
        raise ValueError(f"{name}: expected a number in (0, 1), got {number:g}")
    return number


def checked_flag(name: str, value: object) -> bool:
    """The value, if it is True or False.

    Raises
    ------
    TypeError
        For anything else.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {described(value)}")
    return bool(value)


def checked_method(name: str, value: object, method: str, expected: str) -> None:
    """Raise TypeError for a class, and for an object without a method of this name."""
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise TypeError(f"{name}: expected {expected}, got {described(value)}")


def checked_instance(name: str, value: object, kind: type[T] | tuple[type[T], ...], expected: str) -> T:
    """The value, if it is of a type.

    Raises
    ------
    TypeError
        Otherwise, saying what was expected.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name}: expected {expected}, got {described(value)}")
    return value


def real_array(value: object, name: str) -> Array:
    """Float array of real numbers; TypeError for complex or non-numeric ones, ValueError for masked ones."""
    array: Array = _converted(_array(value, name, "biuf", "real numbers"), np.float64)
    return array


def numeric_array(value: object, name: str) -> Any:
    """Array of real or complex numbers as they are; errors as of `real_array`."""
    return _array(value, name, "biufc", "numbers")


def float_array(value: object, name: str) -> Array:
    """The same, without a copy where it is a float array already."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    return real_array(value, name)


def checked_array(
    name: str, value: object, shape: Sequence[int | None] | None = None, *, complex_too: bool = False
) -> Any:
    """A new array of finite numbers, float64 or complex128.

    Parameters
    ----------
    name
        Of the argument.
    value
        What was given.
    shape
        What its shape must be; None stands for any length, and for any shape.
    complex_too
        Whether complex numbers are allowed; the result then is complex.

    Raises
    ------
    TypeError, ValueError
        For anything that is no array of numbers, another shape, and numbers that are not finite.
    """
    if complex_too:
        array = _converted(_array(value, name, "iufc", "numbers"), np.complex128)
    else:
        array = _converted(_array(value, name, "iuf", "real numbers"), np.float64)
    if shape is not None and not _fits(array.shape, shape):
        wanted = ", ".join("…" if length is None else str(length) for length in shape)
        raise ValueError(f"{name}: expected an array of shape ({wanted}), got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, got {described(value)}")
    return array


def _array(value: object, name: str, kinds: str, expected: str) -> Any:
    if np.ma.is_masked(value):
        raise ValueError(f"{name}: expected a value at every point, got masked ones")
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{name}: expected an array of numbers, got entries of different shapes") from None
    if array.dtype.kind not in kinds:
        got = f"dtype {array.dtype} from {type(value).__name__}"
        raise TypeError(f"{name}: expected {expected}, got {got}")
    return array


def _converted(array: Any, dtype: Any) -> Any:
    with np.errstate(over="ignore"):  # of more than double precision; an infinite number is noticed later
        return array.astype(dtype)


def _fits(shape: tuple[int, ...], wanted: Sequence[int | None]) -> bool:
    return len(shape) == len(wanted) and all(
        want is None or length == want for length, want in zip(shape, wanted, strict=True)
    )
