"""Functions with parameters that can be pickled: by what made them."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper, wraps
from typing import Any

from stfem.data.base import Array

__all__ = ["Member", "family"]

#: Takes parameters, returns functions of x and t.
Factory = Callable[..., tuple[Callable[..., Array], ...]]


class Member:
    """One function of a family: called like it, and pickled as the family, its parameters and a number."""

    def __init__(self, function: Callable[..., Array], recipe: tuple[Any, ...]) -> None:
        self._function, self._recipe = function, recipe
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Array:
        return self._function(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, self._recipe


def family(make: Factory) -> Callable[..., tuple[Member, ...]]:
    """Decorator of a function of a module that takes parameters and returns functions of x and t."""

    @wraps(make)
    def members(*args: Any) -> tuple[Member, ...]:
        return tuple(Member(function, (members, args, i)) for i, function in enumerate(make(*args)))

    return members


def _again(make: Callable[..., tuple[Member, ...]], args: tuple[Any, ...], index: int) -> Member:
    return make(*args)[index]
