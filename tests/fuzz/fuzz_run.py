"""One call with one input: what came of it, and whether that is what the library promises."""

import itertools
import re
import signal
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import fuzz_values
import numpy as np
from fuzz_values import UserError

import stfem
from stfem.studies import StudyError

#: Seconds after which a call counts as one that hangs; what is called takes milliseconds.
PATIENCE = 30.0
#: Everything that may come back instead of a result.
PROMISED = (
    *(ValueError, TypeError, OSError, UserError, StudyError, stfem.UnsupportedDomainError),
    *(stfem.SolverError, stfem.NonFiniteError, stfem.SolveError, stfem.ToleranceError),
)
#: Subclasses of these that say nothing to a user.
RAW = (np.linalg.LinAlgError, np.exceptions.AxisError, UnicodeError)
#: What Python says itself of arguments that a function does not have, and numpy of user's functions.
_OWN_WORDS = re.compile(
    r"required (positional|keyword-only) argument|unexpected keyword|positional argument|multiple values|"
    r"abstract class|destination is read-only|array is read-only|abstract method|Protocols cannot"
)


class HangError(BaseException):
    """No end in sight."""


@dataclass(frozen=True)
class Outcome:
    """What a call led to.

    Attributes
    ----------
    kind
        "accepted", "refused", "unclear" (a promised error that does not say what was expected), "wrong"
        (accepted, and an oracle contradicts) or "unexpected".
    detail
        The error, in words.
    """

    kind: str
    detail: str = ""

    @property
    def fine(self) -> bool:
        return self.kind in ("accepted", "refused")


def outcome(
    call: Callable[..., Any],
    arguments: Mapping[str, Any],
    oracle: Callable[[Mapping[str, Any], Any], None] | None = None,
) -> Outcome:
    """Call with these arguments, and look at the result with the oracle if there is one."""
    before = {name: value.copy() for name, value in arguments.items() if _comparable(value)}
    previous = signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", stfem.UnfinishedSolveWarning)
            result = call(**arguments)
            repr(result)
    except Exception as error:  # noqa: BLE001  (what this is made to find)
        return _refused(error)
    except (HangError, SystemExit) as error:
        return Outcome("unexpected", _words(error))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)
    for name, value in before.items():
        if not np.array_equal(value, arguments[name], equal_nan=True):
            return Outcome("wrong", f"changed the argument {name}")
    if oracle is not None:
        try:
            oracle(arguments, result)
        except Exception as error:  # noqa: BLE001  (what was accepted must work)
            return Outcome("wrong", _words(error))
    return Outcome("accepted")


def _comparable(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "biufc" and not np.ma.isMaskedArray(value)


def _interrupt(number: int, frame: Any) -> None:
    raise HangError(f"no result after {PATIENCE:g} s")


def _refused(error: BaseException) -> Outcome:
    if _raised_by_user(error):
        return Outcome("refused", _words(error))
    if isinstance(error, RAW) or not isinstance(error, PROMISED):
        return Outcome("unexpected", _words(error))
    clear = isinstance(error, (UserError, OSError, StudyError)) or "expected" in str(error)
    said = clear or isinstance(error, stfem.NonFiniteError) or _OWN_WORDS.search(str(error))
    return Outcome("refused" if said else "unclear", _words(error))


def _raised_by_user(error: BaseException) -> bool:
    """Whether it comes from a hostile function itself."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename == fuzz_values.__file__


def _words(error: BaseException) -> str:
    lines = str(error).splitlines() or [""]
    place = ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "stfem/" in name.replace("\\", "/"):
            place = f" [{name.rsplit('stfem/', 1)[-1]}:{trace.tb_lineno}]"
        trace = trace.tb_next
    return f"{type(error).__name__}: {' '.join(itertools.islice(lines, 3))[:300]}{place}"
