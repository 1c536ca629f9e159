"""The picture of the demonstration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from stfem.plotting.style import BLUE, GREY, VERMILLION, PaperFigure, check_picture, finished


def plot_demo(rows: Sequence[dict[str, Any]], slope: float, path: str | Path | None = None) -> Figure:
    """Bound over true error against ε, split and unsplit, with the fitted slope of the unsplit one."""
    check_picture(path)
    positive = [row for row in rows if row["eps"] > 0.0]
    eps = np.array([row["eps"] for row in positive])
    unsplit = np.array([row["effectivity_unsplit"] for row in positive])
    figure = PaperFigure(5.0, 3.3)
    axes = figure.subplots()
    growth = rf"unsplit, dual norm: grows like $\varepsilon^{{{slope:.2f}}}$"
    axes.loglog(eps, unsplit, "s-", color=VERMILLION, ms=4.5, label=growth)
    split = [row["effectivity"] for row in positive]
    axes.loglog(eps, split, "o-", color=BLUE, ms=4.5, label="split (stfem)")
    # half a decade below the unsplit curve, through its value at the least ε
    reference = unsplit[-1] / math.sqrt(10.0) * np.sqrt(eps[-1] / eps)
    shown = reference >= 1.0
    axes.loglog(eps[shown], reference[shown], "--", color=GREY, lw=1.2, label=r"slope $-1/2$, for comparison")
    axes.axhline(1.0, color=GREY, lw=0.8, ls=":", label="the true error")
    without = [row for row in rows if row["eps"] == 0.0]
    if without:
        note = rf"$\varepsilon$ = 0: split {without[0]['effectivity']:.2f}, unsplit infinite"
        axes.annotate(note, (0.02, 0.13), xycoords="axes fraction", color=GREY)
    axes.set_xlabel(r"diffusion $\varepsilon$ (length²/time)")
    axes.set_ylabel("bound / true error (dimensionless)")
    axes.set_ylim(bottom=0.5)
    axes.legend(frameon=False)
    return finished(figure, path)
