"""Why a run came to no end, and what is known up to then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["InterruptedRunError", "SolverError", "keeping"]


class SolverError(ArithmeticError):
    """A run that came to no end.

    Attributes
    ----------
    time, step
        Time and number of the step where that was found, None outside of the time stepping.
    cell
        Index of the cell on a torus, number of the cell on a mesh; None where it is not known.
    values
        State ``(m,)`` in that cell; None where it is not known.
    advice
        What may help; empty where nothing is known.
    solution
        The numerical solution up to the last node that was computed; None before the first step. Where the
        residual turned non-finite that may be later than ``time``: nodes are computed ahead of the estimate.
    certificate
        The `Certificate` up to the last time that was certified, from `certify`; otherwise None. It has the
        solution that it is about, which ends there.
    estimate, node
        Where the residual turned non-finite: the estimate of what was before, and its last node.
    """

    def __init__(
        self,
        message: str,
        *,
        time: float | None = None,
        step: int | None = None,
        cell: Any = None,
        values: Any = None,
        advice: str = "",
    ) -> None:
        super().__init__(f"{message}; {advice}" if advice else message)
        self.time, self.step, self.cell, self.values, self.advice = time, step, cell, values, advice
        self.solution: Any = None
        self.certificate: Any = None
        self.estimate: Any = None
        self.node: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__.copy())


class InterruptedRunError(KeyboardInterrupt):
    """A run that was interrupted from the keyboard and ended in good order after the step it was in.

    Attributes
    ----------
    time
        The last time that was reached; None for a search.
    solution, certificate
        As those of `SolverError`; of a search the best ones so far.
    """

    def __init__(self, time: float | None, solution: Any = None, certificate: Any = None) -> None:
        super().__init__("interrupted" if time is None else f"interrupted at time {time:.17g}")
        self.time, self.solution, self.certificate = time, solution, certificate

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.time, self.solution, self.certificate)


@contextmanager
def keeping(best: Callable[[], Any]) -> Iterator[None]:
    """A search whose interruption keeps the best certificate so far, if there is one.

    Raises
    ------
    InterruptedRunError
        In place of a KeyboardInterrupt.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        certificate = best()
        raise InterruptedRunError(None, getattr(certificate, "solution", None), certificate) from error


def _again(cls: type[SolverError], args: tuple[Any, ...], attributes: dict[str, Any]) -> SolverError:
    """An error as it was, from a pickle: the arguments of classes differ."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error
