"""The picture of a study: convergence for a range of grids, otherwise bound, error and effectivity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from matplotlib.figure import Figure

from stfem.plotting.convergence import plot_convergence
from stfem.plotting.curves import Row
from stfem.plotting.effectivity import plot_sweep


class StudyTable(Protocol):
    """What is drawn of a study: its rows, the parameters it varied, and the one that the x-axis is for."""

    @property
    def rows(self) -> Sequence[Row]:
        """One mapping per case, with parameters and results."""
        ...

    @property
    def varied(self) -> Sequence[str]:
        """Names of the parameters that differ between the cases."""
        ...

    @property
    def axis(self) -> str:
        """The one on the x-axis."""
        ...


def plot_study(study: StudyTable, path: str | Path | None = None) -> Figure:
    """Convergence with triangles where the cells are varied, else bound, error and effectivity over ``axis``.

    One curve per combination of the other varied parameters.

    Parameters
    ----------
    study
        Anything with ``rows`` (mappings with the parameters and "h", "bound", "error", "effectivity"),
        ``varied`` and ``axis``.
    path
        Where to write the picture.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        As `plot_convergence` and `plot_effectivity`.
    """
    if study.axis == "cells":
        return plot_convergence(study.rows, study.varied, path)
    return plot_sweep(study.rows, study.varied, study.axis, path)
