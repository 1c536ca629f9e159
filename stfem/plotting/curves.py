"""Rows of a study as curves: one per combination of its other parameters, told apart by two marks each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from stfem.checks import checked_instance, checked_list
from stfem.plotting.parameter import ParameterAxis, is_number, short_name, shown
from stfem.plotting.style import BLACK, LINE_STYLES, MARKERS, colours
from stfem.spaces.stencil import Array
from stfem.studies.columns import ORDERS, RESULTS

Row = Mapping[str, Any]
_RESULTS = {*RESULTS, *ORDERS}
#: Width of the places of all curves over one name, of the distance between names.
_BESIDE = 0.6


@dataclass(frozen=True, eq=False)
class Curve:
    """Rows that differ in one parameter only, and how they are drawn."""

    rows: tuple[Row, ...]
    colour: str
    line: Any
    marker: str

    def column(self, name: str) -> Array:
        """Values of one result; what is missing or infinite is NaN and is not drawn."""
        return column(self.rows, name)

    def draw(self, axes: Axes, x: Array, y: Array, *, filled: bool = True, joined: bool = True) -> Line2D:
        """One curve; a hollow marker is larger, so that it stays visible around a filled one."""
        (line,) = axes.plot(
            x,
            y,
            color=self.colour,
            linestyle=self.line if joined else "none",
            lw=1.1,
            **marker_style(self.marker, self.colour, filled),
        )
        return line


def marker_style(marker: str, colour: str, filled: bool) -> dict[str, Any]:
    """Markers of bounds are filled, those of true errors hollow."""
    return {
        "marker": marker,
        "markersize": 3.6 if filled else 5.6,
        "markerfacecolor": colour if filled else "none",
        "markeredgecolor": colour,
        "markeredgewidth": 0.6 if filled else 0.8,
    }


class CurveFamily:
    """All curves of a table.

    The first of the other parameters has colours and line styles, the rest of them has markers; a single one
    has all three.

    Parameters
    ----------
    rows
        One mapping per case, with parameters and results.
    varied
        Names of the parameters that differ between the rows.
    axis
        Name of the one that runs along the x-axis.
    logarithmic
        Whether that axis is logarithmic in any case.
    like
        All rows, where these are some of them: those decide on places, colours and marks.
    behind
        Name of a parameter that may differ where rows of one curve share their place on the axis, as
        grids of one mesh size do; they keep their order, the later ones first.

    Raises
    ------
    ValueError
        For no rows, for rows without one of the parameters, and for rows that nothing tells apart.
    TypeError
        For rows that are no mappings.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        varied: Sequence[str],
        axis: str,
        logarithmic: bool = False,
        like: Sequence[Row] | None = None,
        behind: str | None = None,
    ) -> None:
        check_rows(rows, (*checked_list("varied", varied), axis))
        self.like = rows if like is None else like
        others = [name for name in varied if name != axis]
        self.first, self.rest = others[:1], others[1:]
        self.axis = ParameterAxis(axis, (row[axis] for row in self.like), logarithmic)
        self._strong = distinct(self.like, self.first)
        self._marks = distinct(self.like, self.rest) if self.rest else self._strong
        palette = colours(len(self._strong))
        self.curves = []
        for case in distinct(rows, others):
            strong = self._strong.index(case[: len(self.first)])
            mark = self._marks.index(case[len(self.first) :] if self.rest else case)
            chosen = [row for row in reversed(rows) if case_of(row, others) == case]
            chosen.sort(key=lambda row: self.axis.position(row[axis]))  # stable
            self._check_places(chosen, behind)
            line, marker = LINE_STYLES[strong % len(LINE_STYLES)], MARKERS[mark % len(MARKERS)]
            self.curves.append(Curve(tuple(chosen), palette[strong], line, marker))

    def _check_places(self, rows: Sequence[Row], behind: str | None) -> None:
        """A line through two rows at one place would say nothing."""
        seen: dict[tuple[Any, ...], Row] = {}
        for row in rows:
            value = row[self.axis.name]
            place = self.axis.position(value), None if behind is None else shown(row.get(behind))
            if place not in seen:
                seen[place] = row
                continue
            other = seen[place]
            differing = [n for n in row if n not in _RESULTS and shown(row[n]) != shown(other.get(n))]
            hint = f", which differ in {', '.join(differing)}" if differing else ""
            raise ValueError(
                f"varied: expected all parameters that tell rows apart, got two rows of one curve with "
                f"{self.axis.name} = {value}{hint}"
            )

    def positions(self, curve: Curve) -> tuple[Array, NDArray[np.bool_]]:
        """x of a curve's rows, and which of them a line joins; side by side where the axis has names."""
        values = [row[self.axis.name] for row in curve.rows]
        x = np.array([self.axis.position(value) for value in values])
        if self.axis.named:
            x += (self.curves.index(curve) + 0.5) / len(self.curves) * _BESIDE - 0.5 * _BESIDE
        return x, np.array([self.axis.joins(value) for value in values])

    def key(self, quantities: Sequence[Line2D] = ()) -> tuple[list[Artist], int]:
        """Handles of a legend, one column per parameter and one for quantities, and their number."""
        columns = [self._strong_key(), self._marks_key(), list(quantities)]
        columns = [column for column in columns if column]
        height = max((len(column) for column in columns), default=0)
        padded: list[Artist] = []
        for column in columns:  # a legend fills its columns one after the other
            padded += column + [Line2D([], [], ls="none", label=" ")] * (height - len(column))
        return padded, max(1, len(columns))

    def _strong_key(self) -> list[Line2D]:
        if not self.first:
            return []
        handles = []
        for i, (case, colour) in enumerate(zip(self._strong, colours(len(self._strong)), strict=True)):
            mark = {} if self.rest else marker_style(MARKERS[i % len(MARKERS)], colour, filled=True)
            style = LINE_STYLES[i % len(LINE_STYLES)]
            handles.append(
                Line2D([], [], color=colour, ls=style, lw=1.1, label=label_of(self.first, case), **mark)
            )
        return handles

    def _marks_key(self) -> list[Line2D]:
        if not self.rest:
            return []
        styles = [
            marker_style(MARKERS[i % len(MARKERS)], BLACK, filled=True) for i in range(len(self._marks))
        ]
        labels = [label_of(self.rest, case) for case in self._marks]
        return [
            Line2D([], [], ls="none", label=text, **style) for text, style in zip(labels, styles, strict=True)
        ]


def quantity(label: str, filled: bool, joined: bool = True) -> Line2D:
    """Handle of a legend for bounds or true errors, whatever their parameters."""
    style = marker_style("o", BLACK, filled)
    return Line2D([], [], color=BLACK, ls="-" if joined else "none", lw=1.1, label=label, **style)


def check_rows(rows: Sequence[Row], names: Sequence[str]) -> None:
    """Raise unless there are rows and all of them have the names."""
    entries = checked_list("rows", rows)
    if not entries:
        raise ValueError("rows: expected at least one row, got none")
    for name in names:
        checked_instance("varied, axis", name, str, "names of entries")
    for number, row in enumerate(entries):
        if not isinstance(row, Mapping):
            raise TypeError(
                f"rows[{number}]: expected a mapping from names to values, got a {type(row).__name__}"
            )
        missing = [name for name in names if name not in row]
        if missing:
            raise ValueError(f"rows[{number}]: expected an entry {missing[0]!r}, got {', '.join(row)}")


def known(rows: Sequence[Row], name: str) -> bool:
    """Whether any row has a result."""
    return any(row.get(name) is not None for row in rows)


def column(rows: Sequence[Row], name: str) -> Array:
    """Values of one result; what is missing or infinite is NaN."""
    return np.array([_drawable(row.get(name)) for row in rows])


def _drawable(value: Any) -> float:
    return float(value) if is_number(value) else math.nan


def case_of(row: Row, names: Sequence[str]) -> tuple[Any, ...]:
    """What tells a row's curve from others: numbers themselves, names of all else (it may have no hash)."""
    return tuple(row[name] if is_number(row[name]) else shown(row[name]) for name in names)


def distinct(rows: Sequence[Row], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """All combinations of some parameters, in the order in which they first come."""
    return list(dict.fromkeys(case_of(row, names) for row in rows))


def label_of(names: Sequence[str], case: Sequence[Any]) -> str:
    """A combination of parameters as it stands in a legend or a title."""
    return ", ".join(f"{short_name(name)} = {shown(value)}" for name, value in zip(names, case, strict=True))
