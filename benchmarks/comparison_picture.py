"""The picture of the estimator comparison, drawn from its record.

    python benchmarks/comparison_picture.py

comparison.py draws it too, after every problem.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stfem.plotting.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION

ROOT = Path(__file__).parents[1]
RECORD, PICTURE = ROOT / "benchmarks/results/comparison.json", ROOT / "docs/images/comparison.png"
#: (method, what it estimates): how it is drawn; Okabe and Ito's colours, and a marker of its own.
LINES = {
    ("all in the dual norm", "û, sup over t"): {"color": VERMILLION, "marker": "s"},
    ("arXiv 2604.01200", "û, energy norm"): {"color": PURPLE, "marker": "^"},
    ("filtered-gradient flux", "û, sup over t"): {"color": ORANGE, "marker": "v"},
    ("split, λ = 0 alone", "û, sup over t"): {"color": SKY, "marker": "D"},
    ("all in L² (λ = 1 alone)", "û, sup over t"): {"color": GREEN, "marker": "P"},
    ("split", "û, sup over t"): {"color": BLUE, "marker": "o", "lw": 2.2},
    ("split", "u_h at T"): {"color": BLUE, "marker": "o", "ls": ":", "mfc": "white"},
    ("mesh doubling", "u_h at T"): {"color": GREY, "marker": "x", "ls": "--"},
}
TICKS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)
#: ε = 0 is drawn here,
ZERO = 1e-10
#: and the axis of sharpness ends here; infinite values are left out.
RANGE = (0.02, 5e3)


def picture(record: Path, path: Path) -> Figure:
    """Value over error against ε, one panel per problem."""
    parts = json.loads(record.read_text(encoding="utf-8"))["parts"]
    columns = min(len(parts), 4)
    lines = -(-len(parts) // columns)
    figure = Figure(figsize=(3.1 * columns + 0.6, 2.7 * lines + 1.1), layout="constrained")
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    handles = {}
    for axes, (name, part) in zip(panels.flat, parts.items(), strict=False):
        handles |= _panel(axes, name, part["rows"])
    for axes in panels.flat[len(parts) :]:
        axes.set_axis_off()
    for axes in panels[-1]:
        axes.set_xlabel("diffusion ε (length²/time)")
    for axes in panels[:, 0]:
        axes.set_ylabel("estimate / true error")
    known = [handles[key] for key in LINES if key in handles]
    figure.legend(handles=known, loc="outside lower center", ncols=columns, frameon=False)
    figure.savefig(path, dpi=130)
    return figure


def _panel(axes: Axes, name: str, rows: list[dict[str, Any]]) -> dict[tuple[str, str], Any]:
    """One problem; returns its lines."""
    drawn = {}
    for key, style in LINES.items():
        chosen = [row for row in rows if (row["method"], row["estimates"]) == key]
        if chosen:
            eps = [row["eps"] or ZERO for row in chosen]
            values = [float(row["sharpness"]) for row in chosen]
            label = f"{key[0]}: {key[1]}"
            (drawn[key],) = axes.loglog(eps, values, **({"ms": 4, "lw": 1.2} | style), label=label)
    axes.axhline(1.0, color="black", lw=0.8)
    axes.set_title(name, fontsize=10)
    axes.set_ylim(*RANGE)
    axes.set_xticks([eps or ZERO for eps in TICKS], [_power(eps) for eps in TICKS])
    axes.minorticks_off()
    return drawn


def _power(eps: float) -> str:
    """0, or a power of ten."""
    return f"$10^{{{math.log10(eps):.0f}}}$" if eps else "0"


if __name__ == "__main__":
    picture(RECORD, PICTURE)
