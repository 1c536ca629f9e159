"""Colours of Okabe and Ito for the pictures of the documentation, and results of the benchmarks."""

import json
from pathlib import Path

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#666666"
#: Pictures are drawn in their own folder.
RESULTS = Path("../../benchmarks/results")


def record(name: str) -> dict:
    """What a benchmark has written."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
