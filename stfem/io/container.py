"""Files of stfem: an npz archive of plain arrays, and among them a text (JSON) that says what they are.

Nothing in such a file is executed when it is read: no pickles. The text, the array ``stfem``, is a mapping
with the entries ``version``, ``kind`` and ``content``. In the latter

- a mapping appears as ``{"mapping": {…}}``, a tuple as ``{"tuple": […]}``,
- an infinite number or NaN as ``{"float": "inf"}``,
- an array or a number of numpy as ``{"array": name}`` or ``{"number": name}``, which is another array of the
  archive.
"""

from __future__ import annotations

import errno
import json
import math
import os
import secrets
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from stfem.checks import checked_path

__all__ = ["FORMAT_VERSION", "UnreadableFileError", "dump", "read", "write", "written_at_once"]

#: Raised by one whenever older versions of this module could not read what is written.
FORMAT_VERSION = 1
SUFFIX = ".npz"
_TEXT = "stfem"
#: What zipfile and numpy raise for damaged files; RuntimeError for flags and versions that nobody has set.
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
    *(EOFError, LookupError, RuntimeError, TypeError, ValueError),
)


class UnreadableFileError(ValueError):
    """A file is damaged, or none of stfem."""


def write(path: str | Path, kind: str, content: Mapping[str, Any]) -> Path:
    """Write numbers, strings, arrays, and sequences and mappings of these; an existing file is replaced.

    The file appears under its name when it is complete, or not at all.

    Parameters
    ----------
    path
        Name that ends in .npz, in an existing folder.
    kind
        What the content is, in one word.
    content
        Keys of mappings are strings.

    Returns
    -------
    Path
        Where it was written.

    Raises
    ------
    ValueError
        For another ending.
    TypeError
        For content of another type.
    OSError
        Where the file cannot be written.
    """
    target = checked_path("path", path)
    if target.suffix != SUFFIX:
        raise ValueError(f"path: expected a file name that ends in {SUFFIX}, got {str(path)!r}")
    with written_at_once(target) as unfinished, unfinished.open("wb") as stream:
        dump(stream, kind, content)
    return target


def dump(stream: IO[bytes], kind: str, content: Mapping[str, Any]) -> None:
    """Write to an open file what `write` writes."""
    arrays: dict[str, Any] = {}
    text = {"version": FORMAT_VERSION, "kind": kind, "content": _encoded(content, arrays)}
    arrays[_TEXT] = np.array(json.dumps(text, ensure_ascii=False, allow_nan=False))
    np.savez(stream, **arrays)


def read(path: str | Path, kind: str) -> dict[str, Any]:
    """Read what `write` has written, whatever the file is called now.

    Raises
    ------
    UnreadableFileError
        A ValueError, for a file of something else, and for one that is damaged (every part of the archive has
        a checksum).
    ValueError
        For a file of another kind, and for a newer version of the format.
    OSError
        Where the file cannot be read.
    """
    with checked_path("path", path).open("rb") as stream:
        start = stream.read(4)
        stream.seek(0)
        if start != b"PK\x03\x04":
            raise UnreadableFileError(f"{path}: expected a file that stfem has saved, got something else")
        try:
            _refuse_sizes(stream)
            with np.load(stream, allow_pickle=False) as archive:
                text: Any = json.loads(str(archive[_TEXT])) if _TEXT in archive.files else None
                misfit = _misfit(text, kind)
                if misfit is None:
                    arrays = {name: archive[name] for name in archive.files if name != _TEXT}
                    content = _decoded(text["content"], arrays)
                    if not isinstance(content, dict):
                        raise TypeError(f"content: expected a mapping, got {type(content).__name__}")
                    return content
        except (*_BROKEN, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:
                raise  # the disk; an invalid argument is a place before the start, named by the file itself
            raise UnreadableFileError(
                f"{path}: expected a whole file, got a damaged one ({error})"
            ) from error
    raise (UnreadableFileError if text is None else ValueError)(f"{path}: {misfit}")


def _refuse_sizes(stream: Any) -> None:
    """Raise unless every array takes what its header says, uncompressed: nothing is allocated on trust."""
    with zipfile.ZipFile(stream) as archive:
        for entry in (entry for entry in archive.infolist() if entry.filename.endswith(".npy")):
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
                raise ValueError(f"{entry.filename}: expected an array as it is, got a compressed one")
            with archive.open(entry) as member:
                version = np.lib.format.read_magic(member)
                if version not in _HEADERS:
                    raise ValueError(f"{entry.filename}: expected a format of numpy up to 2.0, got {version}")
                shape, _, dtype = _HEADERS[version](member)
                size = math.prod(shape) * dtype.itemsize
                if dtype.hasobject or member.tell() + size != entry.file_size:
                    raise ValueError(
                        f"{entry.filename}: expected {size} bytes of numbers as its header says, got "
                        f"{entry.file_size - member.tell()}"
                    )
    stream.seek(0)


def _misfit(text: Any, kind: str) -> str | None:
    """Why a file with this text is not the right one."""
    if text is None:
        return "expected a file that stfem has saved, got another archive of arrays"
    if text["version"] > FORMAT_VERSION:
        return (
            f"expected at most version {FORMAT_VERSION} of the file format, got {text['version']}: "
            "a newer stfem has saved it and can read it"
        )
    return None if text["kind"] == kind else f"expected a saved {kind}, got a saved {text['kind']}"


def _encoded(value: Any, arrays: dict[str, Any]) -> Any:
    """What JSON knows in place of a value; arrays go to `arrays`."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in "biufc":
            raise TypeError(f"expected numbers, got an array of {value.dtype}")
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array" if isinstance(value, np.ndarray) else "number": name}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"expected a mapping with strings as keys, got {list(value)}")
        return {"mapping": {key: _encoded(entry, arrays) for key, entry in value.items()}}
    if isinstance(value, (tuple, list)):
        entries = [_encoded(entry, arrays) for entry in value]
        return {"tuple": entries} if isinstance(value, tuple) else entries
    raise TypeError(f"expected numbers, strings, arrays, sequences and mappings, got {type(value).__name__}")


def _decoded(text: Any, arrays: Mapping[str, Any]) -> Any:
    """The value behind what JSON knows."""
    if isinstance(text, list):
        return [_decoded(entry, arrays) for entry in text]
    if not isinstance(text, dict):
        return text
    ((tag, inner),) = text.items()
    expected: Any = {"mapping": dict, "tuple": list}.get(tag, str)
    if not isinstance(inner, expected):
        raise TypeError(f"{tag}: expected its content, got {type(inner).__name__}")
    if tag == "mapping":
        return {key: _decoded(entry, arrays) for key, entry in inner.items()}
    if tag == "tuple":
        return tuple(_decoded(entry, arrays) for entry in inner)
    if tag == "float":
        return float(inner)
    return arrays[inner] if tag == "array" else arrays[inner][()]


@contextmanager
def written_at_once(target: Path) -> Iterator[Path]:
    """An empty file beside `target`, of the same ending, that takes its name and place once it is written.

    Raises
    ------
    OSError
        Naming `target`, where nothing can be written there.
    """
    final = Path(os.path.realpath(target))  # a link stays one
    unfinished = final.with_name(f".{secrets.token_hex(4)}-{final.name}")
    try:
        unfinished.touch(exist_ok=False)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    try:
        yield unfinished
        with unfinished.open("rb") as stream:
            os.fsync(stream.fileno())  # or a power failure leaves the name without the content
        unfinished.replace(final)
    finally:
        unfinished.unlink(missing_ok=True)
