"""How benchmark results are written: JSON with versions and parameters, and a Markdown table beside it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tabulate import tabulate

import stfem
from stfem import provenance

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


class Series(Protocol):
    """Runs that belong together: one part of a record."""

    def quick(self) -> Any:
        """The same with few runs."""

    def parameters(self) -> dict[str, Any]:
        """What the record says of it."""


def version() -> str:
    """Version of the package that runs: that of this source tree with its commit, or of an installation.

    A tree whose code differs from its commit is marked as ``dirty``.

    Raises
    ------
    RuntimeError
        Where the package is neither installed nor in this tree: a record must say what it measured.
    """
    if Path(stfem.__file__).resolve().is_relative_to(ROOT):
        return provenance.version(("stfem", "benchmarks", ":!benchmarks/results"))
    if "unknown" in stfem.__version__:
        raise RuntimeError(f"stfem: expected an installation or the package in {ROOT}, got {stfem.__file__}")
    return stfem.__version__


#: Taken when a run starts: the tree may change before it ends.
VERSIONS = provenance.versions() | {"stfem": version()}


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of equal keys as a Markdown table."""
    return tabulate(
        rows, headers="keys", tablefmt="github", floatfmt=".4g", missingval="–", disable_numparse=True
    )


def write(name: str, parameters: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], table: str) -> Path:
    """Write ``results/NAME.json`` and ``results/NAME.md``; returns the path of the former."""
    RESULTS.mkdir(exist_ok=True)
    record = {"name": name, "versions": VERSIONS, "parameters": dict(parameters), "rows": list(rows)}
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (RESULTS / f"{name}.md").write_text(table.rstrip() + "\n", encoding="utf-8")
    return path


def write_part(
    name: str,
    part: str,
    parameters: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    table: Callable[[list[dict[str, Any]]], str],
) -> Path:
    """Replace one part of ``results/NAME.json`` and keep the others, each with the versions it was run with.

    ``results/NAME.md`` is then the table of the rows of all parts. Returns the path of the former.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    parts = json.loads(path.read_text(encoding="utf-8"))["parts"] if path.exists() else {}
    parts[part] = {"versions": VERSIONS, "parameters": dict(parameters), "rows": list(rows)}
    path.write_text(json.dumps({"name": name, "parts": parts}, indent=1) + "\n", encoding="utf-8")
    everything = [row for stored in parts.values() for row in stored["rows"]]
    (RESULTS / f"{name}.md").write_text(table(everything).rstrip() + "\n", encoding="utf-8")
    return path


def run_series(
    name: str,
    description: str,
    series: Mapping[str, Any],
    runs: Callable[[str, Any], Iterator[dict[str, Any]]],
    line: Callable[[dict[str, Any]], str],
    table: Callable[[list[dict[str, Any]]], str],
) -> None:
    """Run the series that the command line asks for, a line for every run, and write each as a part.

    Parameters
    ----------
    name
        Of the record.
    description
        What ``--help`` says.
    series
        `Series` by name.
    runs
        Rows of one of them.
    line, table
        A row, and all rows, for the terminal; the latter goes into the record too.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="few coarse runs; writes nothing")
    parser.add_argument("--only", nargs="+", choices=series, default=list(series))
    options = parser.parse_args()
    collected: list[dict[str, Any]] = []
    for part in options.only:
        chosen: Series = series[part].quick() if options.quick else series[part]
        rows = []
        for row in runs(part, chosen):
            rows.append(row)
            print(line(row), flush=True)
        if not options.quick:
            write_part(name, part, chosen.parameters(), rows, table)
        collected += rows
    print(table(collected))
