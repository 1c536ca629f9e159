"""Axes that a parameter runs along: linear, logarithmic with a place for zero, or one place per name."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.path import Path
from matplotlib.ticker import FixedFormatter, FixedLocator, LogFormatterMathtext, LogLocator

#: What is written on an axis, and the symbol in a legend.
NAMES = {
    "eps": (r"diffusion $\varepsilon$ (length²/time)", r"$\varepsilon$"),
    "cells": ("cells per direction $N$ (dimensionless)", "$N$"),
    "degree": ("polynomial degree $q$ (dimensionless)", "$q$"),
    "final_time": ("final time $T$ (time)", "$T$"),
    "dt": (r"time step $\Delta t$ (time)", r"$\Delta t$"),
    "dim": ("space dimension $d$ (dimensionless)", "$d$"),
    "h": ("mesh size $h$ (length)", "$h$"),
}
#: Ratio of the largest to the smallest value from which on an axis is logarithmic.
SPREAD = 16.0
#: The mark of a broken axis: the frame is erased between two strokes.
_STROKES = Path([(-2.0, -3.0), (0.0, 3.0), (0.0, -3.0), (2.0, 3.0)], [Path.MOVETO, Path.LINETO] * 2)
_GAP = Path([(-2.0, -3.0), (0.0, 3.0), (2.0, 3.0), (0.0, -3.0), (-2.0, -3.0)])


def axis_name(parameter: str) -> str:
    """Symbol and unit of a parameter; an unknown one is called what it is called."""
    return NAMES.get(parameter, (parameter, parameter))[0]


def short_name(parameter: str) -> str:
    """Symbol of a parameter."""
    return NAMES.get(parameter, (parameter, parameter))[1]


def shown(value: Any) -> str:
    """A value as it stands in a legend: powers of ten as such, functions and objects by their names."""
    if is_number(value):
        return _number(float(value))
    return str(getattr(value, "__name__", value))


def _number(value: float) -> str:
    mantissa, exponent = f"{value:.3e}".split("e")
    if value == 0.0 or -3 < int(exponent) < 5:
        return f"{value:.6g}"
    factor = "" if float(mantissa) == 1.0 else rf"{float(mantissa):g} \cdot "
    return rf"${factor}10^{{{int(exponent)}}}$"


def is_number(value: Any) -> bool:
    """Whether a value has a place on a line of numbers."""
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and math.isfinite(value)


def is_spread(values: Iterable[float]) -> bool:
    """Whether positive numbers ask for a logarithmic axis."""
    positive = [value for value in values if value > 0.0]
    return bool(positive) and max(positive) >= SPREAD * min(positive)


class ParameterAxis:
    """Where the values of a parameter stand on the x-axis.

    Logarithmic where positive numbers are spread; zero, which has no place there, then stands beyond a break
    at the left end. What is no number stands in a row, in the order given.

    Parameters
    ----------
    name
        Name of the parameter.
    values
        All values, repeated ones too.
    logarithmic
        Whether positive numbers are on a logarithmic axis in any case.
    """

    def __init__(self, name: str, values: Iterable[Any], logarithmic: bool = False) -> None:
        self.name = name
        given = list(values)
        self.named = [] if all(map(is_number, given)) else list(dict.fromkeys(map(shown, given)))
        numbers = [] if self.named else sorted({float(value) for value in given})
        wanted = is_spread(numbers) or (logarithmic and bool(numbers) and numbers[-1] > 0.0)
        self.logarithmic = wanted and numbers[0] >= 0.0
        self.numbers = numbers
        self.broken = self.logarithmic and numbers[0] == 0.0
        self._first = math.log10(numbers[1 if self.broken else 0]) if self.logarithmic else 0.0
        decades = math.log10(numbers[-1]) - self._first if self.logarithmic else 0.0
        self._gap = max(0.5, 0.16 * decades)

    def position(self, value: Any) -> float:
        """Coordinate of a value on the axis."""
        if self.named:
            return float(self.named.index(shown(value)))
        if self.broken and value == 0.0:
            return float(10.0 ** (self._first - self._gap))
        return float(value)

    def joins(self, value: Any) -> bool:
        """Whether a curve runs through a value: not beyond the break, nor between names."""
        return not self.named and not (self.broken and value == 0.0)

    def prepare(self, axes: Axes) -> None:
        """Scale, ticks, label, and the mark of a break."""
        axes.set_xlabel(axis_name(self.name))
        if self.named:
            axes.set_xticks(range(len(self.named)), self.named)
            axes.set_xlim(-0.5, len(self.named) - 0.5)
        elif self.logarithmic:
            self._prepare_logarithmic(axes)
        elif all(number.is_integer() for number in self.numbers) and len(self.numbers) <= 8:
            axes.set_xticks(self.numbers)

    def _prepare_logarithmic(self, axes: Axes) -> None:
        last = math.log10(self.numbers[-1])
        margin = 0.04 * (last - self._first + self._gap)
        start = self._first - (self._gap if self.broken else 0.0)
        axes.set_xscale("log")
        axes.set_xlim(10.0 ** (start - margin), 10.0 ** (last + margin))
        if not self.broken and last - self._first < 2.0:
            every = -(-len(self.numbers) // 5)  # no more than five fit
            ticks = self.numbers[::-1][::every]
            axes.set_xticks(ticks, [_number(float(f"{tick:.3g}")) for tick in ticks])
            axes.xaxis.set_minor_locator(FixedLocator([]))
            return
        lowest, highest = 10.0 ** (self._first - 1e-9), 10.0 ** (last + 1e-9)
        ticks = [t for t in LogLocator(numticks=7).tick_values(lowest, highest) if lowest <= t <= highest]
        written = LogFormatterMathtext()
        names = [str(written(tick)) for tick in ticks]
        if self.broken:
            ticks, names = [self.position(0.0), *ticks], ["0", *names]
            self._mark_break(axes)
        axes.xaxis.set_major_locator(FixedLocator(ticks))
        axes.xaxis.set_major_formatter(FixedFormatter(names))
        axes.xaxis.set_minor_locator(FixedLocator([]))

    def _mark_break(self, axes: Axes) -> None:
        """Two slanted strokes on the frame, half way between zero and the least positive value."""
        middle = 10.0 ** (self._first - 0.5 * self._gap)
        for marker, colour, width in ((_GAP, "white", 0.0), (_STROKES, "black", 0.8)):
            axes.plot(
                [middle, middle],
                [0.0, 1.0],
                transform=axes.get_xaxis_transform(),
                ls="none",
                marker=marker,
                ms=8.0,
                mew=width,
                color=colour,
                clip_on=False,
                zorder=5.0,
            )
