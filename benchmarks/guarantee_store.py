"""Finished cases in a file of one line each: what a killed run has finished is not computed again."""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from types import TracebackType
from typing import Any

Row = dict[str, Any]


class Store:
    """Rows by seed, appended to a file one line at a time; one process at a time has it.

    A last line without an end, left by a process that was killed or by a full disk, is taken away. Of several
    rows of one seed the last counts.

    Parameters
    ----------
    path
        The file; it is made where there is none.

    Raises
    ------
    RuntimeError
        Where another process has it.
    ValueError
        Where a line is not a row.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self._file = path, path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.rows = {row["seed"]: row for row in self._read()}
        except BlockingIOError:
            self._file.close()
            raise RuntimeError(
                f"{path}: expected that no other campaign writes it, got one that does"
            ) from None
        except ValueError:
            self._file.close()
            raise

    def _read(self) -> Iterator[Row]:
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind("\n") + 1]
        if whole != content:
            os.truncate(self.path, len(whole.encode("utf-8")))
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict) or "seed" not in row:
                raise ValueError(f"{self.path}, line {number}: expected a row with a seed, got {line[:60]!r}")
            yield row

    def add(self, row: Row) -> None:
        """Keep one row, on the disk before this returns."""
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        self.rows[row["seed"]] = row

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def finished(run: Callable[[int], Row], seeds: Iterable[int], jobs: int) -> Iterator[Row]:
    """Rows as they are finished: by this process for one job, else by so many others.

    A few cases per process are under way at any time, so that little is lost with them.
    """
    if jobs == 1:
        yield from map(run, seeds)
        return
    waiting, under_way = iter(seeds), set[Future[Row]]()
    with ProcessPoolExecutor(jobs) as pool:
        while True:
            for seed in waiting:
                under_way.add(pool.submit(run, seed))
                if len(under_way) >= 4 * jobs:
                    break
            if not under_way:
                return
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()


def without_text(row: Mapping[str, Any]) -> Row:
    """A row for a record: numbers with seven digits, infinite ones as words, and without sentences."""

    def rounded(value: Any) -> Any:
        if not isinstance(value, float):
            return value
        return float(f"{value:.7g}") if math.isfinite(value) else str(value)

    return {key: rounded(value) for key, value in row.items() if key not in ("explanation", "unproved")}
