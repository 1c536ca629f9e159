"""The picture of a study: convergence for a range of grids, otherwise bound, error and effectivity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from matplotlib.figure import Figure

from stfem.plotting.convergence import draw_convergence, plot_convergence
from stfem.plotting.curves import Row, case_of, check_rows, distinct, known, label_of
from stfem.plotting.effectivity import draw_sweep, plot_sweep
from stfem.plotting.style import PAGE, PaperFigure, check_picture, finished

#: Curves in one panel.
_MOST = 10


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
    """Convergence with triangles where the mesh is refined, else bound, error and effectivity over ``axis``.

    One curve per combination of the other varied parameters; where there are more than ten, one of these
    parameters has a panel for every value.

    Parameters
    ----------
    study
        Anything with ``rows`` (mappings with the parameters and "h", "bound", "error", "effectivity"),
        ``varied`` and ``axis``, and with ``refined`` where it is not the cells that make meshes finer.
    path
        Where to write the picture.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError, TypeError
        As `plot_convergence` and `plot_effectivity`; for what is no study.
    """
    lacking = [name for name in ("rows", "varied", "axis") if not hasattr(study, name)]
    if lacking:
        raise TypeError(f"study: expected one with {', '.join(lacking)}, got a {type(study).__name__}")
    check_rows(study.rows, study.varied)
    others = [name for name in study.varied if name != study.axis]
    name = _of_panels(study.rows, others)
    refined = getattr(study, "refined", "cells")
    if name is None and study.axis == refined:
        return plot_convergence(study.rows, study.varied, path, refined=refined)
    if name is None:
        return plot_sweep(study.rows, study.varied, study.axis, path)
    check_picture(path)
    values = distinct(study.rows, [name])
    varied = [other for other in study.varied if other != name]
    both = study.axis != refined and known(study.rows, "effectivity")
    columns, blocks = 2, -(-len(values) // 2)
    figure = PaperFigure(PAGE, 0.9 + (3.9 if both else 2.4) * blocks)
    table = figure.subplots(blocks * (1 + both), columns, squeeze=False).reshape(blocks, 1 + both, columns)
    stacks = [list(stack) for stack in table.transpose(0, 2, 1).reshape(-1, 1 + both)]
    for value, stack in zip(values, stacks, strict=False):
        rows = [row for row in study.rows if case_of(row, [name]) == value]
        if study.axis == refined:
            handles, keys = draw_convergence(stack[0], rows, varied, like=study.rows, refined=refined)
        else:
            handles, keys = draw_sweep(stack, rows, varied, study.axis, like=study.rows)
        stack[0].set_title(label_of([name], value))
    for axes in np.ravel(stacks[len(values) :]):
        axes.remove()
    figure.legend(handles=handles, loc="outside lower center", frameon=False, ncols=keys)
    return finished(figure, path)


def _of_panels(rows: Sequence[Row], others: Sequence[str]) -> str | None:
    """The parameter with a panel for every value: with the fewest that suffice; None for a single panel."""
    curves = len(distinct(rows, others))
    if curves <= _MOST or len(others) < 2:
        return None
    counts = {name: len(distinct(rows, [name])) for name in others}
    enough = [name for name in others if curves <= _MOST * counts[name]]
    return min(enough, key=counts.__getitem__) if enough else max(others, key=counts.__getitem__)
