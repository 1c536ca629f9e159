"""A folder with one file per finished case, from which an interrupted study goes on.

``store.json`` in it names the problem that it is for; other problems are kept out, since their cases could
never be used. Within one problem a study may grow: more grids, other parameters.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from stfem.checks import checked_path
from stfem.estimators import plain
from stfem.studies.columns import RESULTS, restored

FORMAT, FORMAT_VERSION = "stfem.case", 1
_OWNER = "store.json"
#: Files of a store, and half-written ones as a killed study leaves them.
_OWN = re.compile(r"[0-9a-f]{32,}\.json$|\.")
_ADVICE = "; remove the file, and what was in it is computed again"


class Store:
    """Files ``DIGEST.json``, named after the fingerprint of the case; files of other names are left alone.

    A file appears under its name at once and whole, or not at all: it is written under another name, flushed
    to the disk and renamed. Several studies of one problem may use one folder, also at the same time.

    Parameters
    ----------
    path
        The folder, made where it does not exist.
    problem
        Name of what is solved.

    Raises
    ------
    ValueError
        For a path that is no folder, one that cannot be written to, the folder of another problem, or one
        that holds something else.
    """

    def __init__(self, path: str | Path, problem: str) -> None:
        if path == "":
            raise ValueError("store: expected the name of a folder, got ''")
        self.path = checked_path("store", path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"store: expected a folder, got {self.path} ({error.strerror})") from None
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise ValueError(f"store: expected a folder that may be written to, got {self.path}")
        self._take_possession(problem)

    def read(self, key: str) -> dict[str, Any] | None:
        """Results of a case, None where it is not there.

        Raises
        ------
        ValueError
            For a file of that name that is not such a case: it is neither used nor overwritten.
        """
        path = self._file(key)
        record = _read(path, "a finished case of a study", ("format", "format_version", "key", "results"))
        if record is None:
            return None
        found = record["format"], record["format_version"], record["key"]
        results = restored(record["results"]) if isinstance(record["results"], dict) else {}
        if found != (FORMAT, FORMAT_VERSION, key) or tuple(results) != RESULTS:
            raise ValueError(f"{path}: expected {FORMAT} {FORMAT_VERSION} of this name, got {found}{_ADVICE}")
        return results

    def write(self, key: str, results: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        """Keep the results of a case, with what a reader may want to know about it.

        Raises
        ------
        OSError
            Where the file cannot be written.
        """
        record = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "key": key,
            **about,
            "results": results,
        }
        self._put(self._file(key), record)

    def _take_possession(self, problem: str) -> None:
        """Write down whom the folder belongs to, or check it."""
        path = self.path / _OWNER
        # listed first: another study may begin here meanwhile
        others = sorted(entry.name for entry in self.path.iterdir() if not _OWN.match(entry.name))
        record = _read(path, "the name of a problem", ("problem",))
        if record is None and others:
            raise ValueError(
                f"store: expected an empty folder, a new one, or that of a study, got {self.path} with "
                f"{others[0]} in it and no {_OWNER}"
            )
        if record is None:
            self._put(path, {"format": "stfem.store", "format_version": FORMAT_VERSION, "problem": problem})
        elif record["problem"] != problem:
            raise ValueError(
                f"store: expected a folder of studies of {problem}, got {self.path} with those of "
                f"{record['problem']}; every problem has a folder of its own"
            )

    def _put(self, path: Path, record: Mapping[str, Any]) -> None:
        text = json.dumps(plain(record), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
        temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
        try:
            with temporary.open("x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        if os.name == "posix":  # the new name reaches the disk with its folder
            folder = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _file(self, key: str) -> Path:
        return self.path / f"{key}.json"


def _read(path: Path, expected: str, names: Sequence[str]) -> dict[str, Any] | None:
    """Content of a file with these entries, None where there is no file; ValueError for anything else."""
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: expected {expected}, got {error}{_ADVICE}") from error
    lacking = [name for name in names if not (isinstance(record, dict) and name in record)]
    if lacking:
        raise ValueError(f"{path}: expected {expected}, got none of its {', '.join(lacking)}{_ADVICE}")
    return dict(record)
