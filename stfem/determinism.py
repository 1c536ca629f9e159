"""The same numbers, bit for bit, whatever the number of threads: sums in the order of one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["deterministic", "one_thread_per_product"]

P = ParamSpec("P")
R = TypeVar("R")

_lock = Lock()
#: Computations that go on, in all threads, and what gives the others' threads back to BLAS.
_state: dict[str, Any] = {"count": 0, "limiter": None}


@contextmanager
def one_thread_per_product() -> Iterator[None]:
    """BLAS uses one thread, in the whole process, until the last of these contexts ends.

    It cuts products of matrices into pieces, as many as it has threads, and sums depend on the pieces.
    Products here are small: a second thread hardly gains anything.
    """
    with _lock:
        if _state["count"] == 0:
            _state["limiter"] = _controller().limit(limits=1, user_api="blas")
        _state["count"] += 1
    try:
        yield
    finally:
        with _lock:
            _state["count"] -= 1
            if _state["count"] == 0:
                _state["limiter"].restore_original_limits()


def deterministic(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with one thread for each product."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with one_thread_per_product():
            return function(*args, **kwargs)

    return wrapped


@cache
def _controller() -> ThreadpoolController:
    """The BLAS of numpy and scipy, which are loaded by now."""
    return ThreadpoolController()
