"""Tables of rows: plain text, Markdown, and LaTeX with rules from booktabs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tabulate import tabulate

from stfem.studies.columns import ORDERS, RESULTS

Row = Mapping[str, Any]

#: Columns with decimals, and those with significant digits but without a power of ten where that can be.
_DECIMALS = (*ORDERS, "seconds", "seconds_solve", "seconds_estimate")
_FACTORS = ("effectivity", "effectivity_energy", "growth", "temporal", "h")

#: Headers of a LaTeX table, where they are not the name itself.
HEADERS = {
    "cells": "$N$",
    "degree": "$q$",
    "eps": r"$\varepsilon$",
    "final_time": "$T$",
    "dt": r"$\Delta t$",
    "dim": "$d$",
    "h": "$h$",
    "error": r"$\sup_t\|u-\hat u\|$",
    "error_final": r"$\|(u-\hat u)(T)\|$",
    "error_energy": "energy error",
    "error_dg": r"$\|(u-u_h)(T)\|$",
    "bound_l1": "$L^1$ bound",
    "eoc_error": "EOC",
    "eoc_bound": "EOC",
    "seconds": "time (s)",
    "seconds_solve": "solving (s)",
    "seconds_estimate": "estimating (s)",
}
_GREEK = (
    "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon"
)
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "…": r"\dots{}",
    "–": "--",
    "×": r"$\times$",
    "²": "$^2$",
    "‖": r"$\|$",
    "∇": r"$\nabla$",
    **{character: "\\" + character for character in "&%$#_"},
    **{letter: rf"$\{name}$" for letter, name in zip("αβγδεζηθικλμνξπρστυ", _GREEK.split(), strict=True)},
}


def to_text(rows: Sequence[Row], columns: Sequence[str], digits: int) -> str:
    """Columns under their names, numbers to the right."""
    cells = [[_plain(row.get(name), name, digits) for name in columns] for row in rows]
    return tabulate(cells, columns, disable_numparse=True, colalign=_sides(rows, columns) if rows else None)


def to_markdown(rows: Sequence[Row], columns: Sequence[str], digits: int) -> str:
    """A table of GitHub's Markdown."""
    cells = [[_escaped(_plain(row.get(name), name, digits)) for name in columns] for row in rows]
    sides = _sides(rows, columns) if rows else None
    return tabulate(cells, columns, tablefmt="pipe", disable_numparse=True, colalign=sides)


def to_latex(rows: Sequence[Row], columns: Sequence[str], digits: int) -> str:
    r"""A ``tabular`` with numbers such as $1.2\cdot10^{-3}$ in math mode; needs ``\usepackage{booktabs}``."""
    lines = [" & ".join(_tex(row.get(name), name, digits) for name in columns) + r" \\" for row in rows]
    head = " & ".join(HEADERS.get(name, _tex_words(name.replace("_", " "))) for name in columns) + r" \\"
    layout = "".join(side[0] for side in _sides(rows, columns))
    start = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule", head, r"\midrule"]
    return "\n".join([*start, *lines, r"\bottomrule", r"\end{tabular}", ""])


def _sides(rows: Sequence[Row], columns: Sequence[str]) -> tuple[str, ...]:
    words = [any(isinstance(row.get(name), (str, bool)) for row in rows) for name in columns]
    return tuple("left" if given else "right" for given in words)


def _plain(value: Any, column: str, digits: int) -> str:
    if value is None:  # of a parameter, the choice that certify makes
        return "–" if column in RESULTS or column in ORDERS else "default"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "×".join(_plain(entry, column, digits) for entry in value)
    if not isinstance(value, float):
        return str(value)
    if column in _DECIMALS:
        return f"{value:.2f}" if column in ORDERS or value >= 1.0 else f"{value:.3f}"
    if column in _FACTORS:
        return f"{value:#.{digits}g}".removesuffix(".")
    return f"{value:.{digits - 1}e}" if column in RESULTS else f"{value:g}"


def _escaped(text: str) -> str:
    """Characters that Markdown would take for its own."""
    return "".join("\\" + character if character in "|<*`" else character for character in text)


def _tex(value: Any, column: str, digits: int) -> str:
    if isinstance(value, tuple):
        return r"$\times$".join(_tex(entry, column, digits) for entry in value).replace("$$", "")
    if value is None or isinstance(value, (str, bool)):
        return _tex_words(_plain(value, column, digits))
    if math.isinf(value):
        return r"$\infty$" if value > 0.0 else r"$-\infty$"
    mantissa, _, exponent = _plain(value, column, digits).partition("e")
    if not exponent:
        return f"${mantissa}$"
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if mantissa == "1" else rf"${mantissa}\cdot{power}$"


def _tex_words(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in text)
