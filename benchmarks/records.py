"""How benchmark results are written: JSON with versions and parameters, and a Markdown table beside it."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
import scipy
from tabulate import tabulate

import stfem

RESULTS = Path(__file__).parent / "results"


def provenance() -> dict[str, str]:
    """Versions that a result depends on."""
    return {
        "stfem": stfem.__version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "machine": platform.machine(),
    }


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of equal keys as a Markdown table."""
    return tabulate(
        rows, headers="keys", tablefmt="github", floatfmt=".4g", missingval="–", disable_numparse=True
    )


def write(name: str, parameters: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], table: str) -> Path:
    """Write ``results/NAME.json`` and ``results/NAME.md``; returns the path of the former."""
    RESULTS.mkdir(exist_ok=True)
    record = {"name": name, "versions": provenance(), "parameters": dict(parameters), "rows": list(rows)}
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
    parts[part] = {"versions": provenance(), "parameters": dict(parameters), "rows": list(rows)}
    path.write_text(json.dumps({"name": name, "parts": parts}, indent=1) + "\n", encoding="utf-8")
    everything = [row for stored in parts.values() for row in stored["rows"]]
    (RESULTS / f"{name}.md").write_text(table(everything).rstrip() + "\n", encoding="utf-8")
    return path
