"""How benchmark results are written: JSON with versions and parameters, and a Markdown table beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

import stfem
from stfem import provenance

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


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
