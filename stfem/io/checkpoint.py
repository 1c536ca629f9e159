"""Files of runs that are not done: two generations, each of which is whole or not there."""

from __future__ import annotations

import os
import platform
import re
import secrets
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stfem.io import container
from stfem.io.saving import describe_scheme
from stfem.problems.recipes import difference
from stfem.provenance import installed_version
from stfem.solution import Solution

__all__ = ["CheckpointFile", "CheckpointWarning", "identity"]

#: Raised by one whenever older checkpoints could not be resumed.
CHECKPOINT_VERSION = 1
_KIND = "checkpoint"
#: Numbers of processes are those of one machine; folders may be seen by many.
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"


class CheckpointWarning(UserWarning):
    """A checkpoint was damaged, or not written at the end; the text tells what was done instead."""


class CheckpointFile:
    """The newest state of a run at a path, and the one before it beside it.

    A file is written under another name in the same folder, and takes its place when the disk has it; the one
    before stays as ``….previous``. So whenever the process or the machine stops, one of them is whole.
    Other names are used once: of several runs at one path each writes whole files, and the last one stays.

    Parameters
    ----------
    path
        Any file name, in an existing folder.
    expected
        What the run is, see `identity`; files of other runs are refused.

    Raises
    ------
    OSError
        For a path that is a folder, or where nothing can be written.
    """

    def __init__(self, path: str | Path, expected: Mapping[str, Any]) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"checkpoint: expected a path, got {path!r}")
        self.path = Path(os.path.realpath(path))  # a link stays one
        self.previous = self.path.with_name(f"{self.path.name}.previous")
        self._expected, self._rotates = dict(expected), True
        if self.path.is_dir():
            raise IsADirectoryError(f"checkpoint: expected the name of a file, got the folder {path}")
        try:  # in vain now is better than after an hour
            with self._written() as unfinished:
                unfinished.touch()
        except OSError as error:
            raise type(error)(
                error.errno, f"checkpoint: expected a place to write to, got {error.strerror}", str(path)
            ) from None
        self._tidy()

    @property
    def exists(self) -> bool:
        """Whether there is something to go on from."""
        return self.path.exists() or self.previous.exists()

    def load(self) -> dict[str, Any] | None:
        """What was saved last, None where nothing was.

        A file that cannot be read is passed over with a `CheckpointWarning` where the one before can be.

        Raises
        ------
        ValueError
            For files of another run, naming what differs; for newer ones; for damaged ones.
        """
        try:
            return self._read(self.path)
        except FileNotFoundError:  # perhaps killed when the one before had just been moved
            return self._read(self.previous) if self.previous.exists() else None
        except container.UnreadableFileError as error:
            if not self.previous.exists():
                raise ValueError(f"{error}; to begin anew, remove it or give another checkpoint") from error
            content = self._read(self.previous)
            self._rotates = False  # it is not replaced by the damaged one
            warnings.warn(
                f"{error}; the run goes on from the checkpoint before, {self.previous.name}",
                CheckpointWarning,
                stacklevel=2,
            )
            return content

    def save(self, content: Mapping[str, Any]) -> None:
        """Write a new generation.

        Raises
        ------
        OSError
            Where that fails; what was there before is still there.
        """
        whole = {"version": CHECKPOINT_VERSION, "run": self._expected, **content}
        try:
            with self._written() as unfinished:
                with unfinished.open("wb") as stream:
                    container.dump(stream, _KIND, whole)
                    stream.flush()
                    os.fsync(stream.fileno())
                if self._rotates:
                    with suppress(FileNotFoundError):  # there is none, or another run has just moved it
                        self.path.replace(self.previous)
                unfinished.replace(self.path)
            self._rotates = True
            _synchronise(self.path.parent)
        except OSError as error:
            reason = error.strerror or str(error)
            before = "the one before is as it was" if self.exists else "and there is none from before"
            raise OSError(
                error.errno, f"checkpoint not written ({reason}), {before}", str(self.path)
            ) from error

    def forget_previous(self) -> None:
        """Remove the generation before."""
        self.previous.unlink(missing_ok=True)

    @contextmanager
    def _written(self) -> Iterator[Path]:
        """A name that no other run and thread has, nor gets; nothing is left there."""
        owner = f"{_MACHINE}-{os.getpid()}-{secrets.token_hex(4)}"
        unfinished = self.path.with_name(f".{self.path.name}.{owner}.unfinished")
        try:
            yield unfinished
        finally:
            with suppress(OSError):  # the folder may be gone
                unfinished.unlink(missing_ok=True)

    def _tidy(self) -> None:
        """Remove what processes of this machine have left that were killed as they wrote."""
        pattern = re.compile(rf"\.{re.escape(self.path.name)}\.{_MACHINE}-(\d+)-[0-9a-f]{{8}}\.unfinished")
        with suppress(OSError):  # of use, not needed
            for entry in os.listdir(self.path.parent):
                found = pattern.fullmatch(entry)
                if found and not _runs(int(found[1])):
                    self.path.with_name(entry).unlink(missing_ok=True)

    def _read(self, path: Path) -> dict[str, Any]:
        content = container.read(path, _KIND)
        version, run = content.get("version"), content.get("run")
        if version != CHECKPOINT_VERSION or not isinstance(run, Mapping):
            raise ValueError(
                f"{path}: expected a checkpoint of version {CHECKPOINT_VERSION}, got one of {version}, from "
                "which the stfem that has written it can go on"
            )
        for name, entry in self._expected.items():
            misfit = difference(run.get(name), entry, name)
            if misfit is not None:
                raise ValueError(
                    f"{path}: is the checkpoint of another run: {misfit}; give another path, or remove "
                    "the file to begin anew"
                )
        return content


def _runs(process: int) -> bool:
    """Whether there is a process of that number; where that cannot be asked, there may be."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)  # no signal is sent
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is somebody else's
        return True
    return True


def _synchronise(folder: Path) -> None:
    """Names in a folder reach the disk."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def identity(
    call: str, solution: Solution, estimator: object = None, control: object = None
) -> dict[str, Any]:
    """What a run is, in numbers, words and samples.

    Parameters
    ----------
    call
        Name of the function.
    solution
        With U_0; its values do not matter.
    estimator, control
        The estimator, and what chooses the time steps, if there are such.
    """
    initial = solution.initial
    numbers = np.cos(np.arange(initial.size)) @ initial.ravel(), np.linalg.norm(initial)
    return {
        "call": call,
        "stfem": installed_version(),
        **describe_scheme(solution),
        "initial values": np.array(numbers),
        "step control": _described(control),
        "estimator": _described(estimator),
    }


def _described(value: Any) -> Any:
    """Names of classes with the fields of dataclasses: never to be made again, only to be compared."""
    if value is None or isinstance(value, (bool, int, float, str, np.ndarray)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (tuple, list)):
        return [_described(entry) for entry in value]
    kind = value if callable(value) and hasattr(value, "__qualname__") else type(value)
    entries = {}
    if is_dataclass(value) and not isinstance(value, type):
        entries = {entry.name: _described(getattr(value, entry.name)) for entry in fields(value)}
    return {"is": f"{kind.__module__}.{kind.__qualname__}", **entries}
