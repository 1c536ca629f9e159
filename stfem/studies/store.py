"""A folder with one file per finished case, from which an interrupted study goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from stfem.estimators import plain
from stfem.studies.columns import RESULTS, restored

FORMAT, FORMAT_VERSION = "stfem.case", 1


class Store:
    """Files ``DIGEST.json``, named after the fingerprint of the case; other files are left alone.

    A file appears under its name at once and whole, or not at all: it is written under another name, flushed
    to the disk and renamed. Several studies may use one folder, also at the same time.

    Parameters
    ----------
    path
        The folder, made where it does not exist.

    Raises
    ------
    ValueError
        For a path that is no folder, or one that cannot be written to.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"store: expected a folder, got {self.path} ({error.strerror})") from None
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise ValueError(f"store: expected a folder that may be written to, got {self.path}")

    def read(self, key: str) -> dict[str, Any] | None:
        """Results of a case, None where it is not there.

        Raises
        ------
        ValueError
            For a file of that name that is not such a case: it is neither used nor overwritten.
        """
        path = self._file(key)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            record = json.loads(text)
            found = record["format"], record["format_version"], record["key"]
            results = restored(record["results"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path}: expected a finished case of a study, got {error!r}{_ADVICE}"
            ) from error
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
        text = json.dumps(plain(record), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
        temporary = self.path / f".{key}.{uuid4().hex}.tmp"
        try:
            with temporary.open("x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._file(key))
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


_ADVICE = "; remove the file, and the case is computed again"
