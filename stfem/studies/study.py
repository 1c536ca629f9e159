"""The result of a study."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from stfem.estimators import plain
from stfem.studies import tables
from stfem.studies.columns import CELLS, ORDERS, RESULTS, restored, tuples
from stfem.studies.labels import listed

FORMAT, FORMAT_VERSION = "stfem.study", 1

#: What a table shows beside the parameters that vary, where there is something to show; no times, which no
#: second run repeats.
DEFAULT_COLUMNS = ("error", "eoc_error", "bound", "eoc_bound", "effectivity")


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Numbers of all cases of a study, as rows.

    Attributes
    ----------
    rows
        One mapping per case: its parameters, and "unknowns", "h" (largest spacing, or diameter
        of a cell of a mesh); "error", "bound",
        "effectivity", "error_final", "bound_final", "error_energy", "bound_energy", "effectivity_energy",
        "bound_l1", "error_dg" and "guaranteed" as in `stfem.Estimate`; "enclosure_lower", "enclosure_upper";
        the parts "initial", "hyperbolic", "parabolic", "temporal" and "growth"; "steps", "slabs";
        "seconds_solve", "seconds_estimate", and "seconds" of everything, the true error included.
        "eoc_error" and "eoc_bound" are orders of convergence, log(e/e')/log(h/h'), against the row before in
        which only the parameter ``refined`` differs. None where there is nothing to tell.
    varied
        Names of the parameters that vary, in the order of the call.
    axis
        The parameter that a picture has on its axis.
    problem
        What was solved.
    parameters
        All parameters: the values of each.
    provenance
        Versions of stfem (with its commit, where known), Python, numpy and scipy, and the kind of machine.
    failures
        Cases that failed: their "parameters", the "error" and its "traceback".
    reused
        Number of rows that were taken from a store.
    refined
        The parameter that makes the mesh finer.
    """

    rows: tuple[Mapping[str, Any], ...]
    varied: tuple[str, ...]
    axis: str
    problem: str
    parameters: Mapping[str, tuple[Any, ...]]
    provenance: Mapping[str, str]
    failures: tuple[Mapping[str, Any], ...] = ()
    reused: int = field(default=0, compare=False)
    refined: str = CELLS

    def to_text(self, columns: Sequence[str] | None = None, digits: int = 4) -> str:
        """Plain table; ``str(study)`` is the one of the default columns, with a sentence below.

        Parameters
        ----------
        columns
            Names of parameters and results, see `rows`.
        digits
            Significant digits.

        Raises
        ------
        ValueError, TypeError
            For no name or one that no row has, or a number of digits below 1.
        """
        return tables.to_text(self.rows, self._columns(columns, digits), digits)

    def to_markdown(self, columns: Sequence[str] | None = None, digits: int = 4) -> str:
        """Markdown table; parameters as `to_text`."""
        return tables.to_markdown(self.rows, self._columns(columns, digits), digits)

    def to_latex(self, columns: Sequence[str] | None = None, digits: int = 3) -> str:
        r"""LaTeX ``tabular`` with the rules of booktabs (``\usepackage{booktabs}``); parameters as `to_text`.

        Numbers are set as in $1.23\cdot10^{-4}$.
        """
        return tables.to_latex(self.rows, self._columns(columns, digits), digits)

    def to_pandas(self) -> Any:
        """`rows` as a ``pandas.DataFrame``.

        Raises
        ------
        ModuleNotFoundError
            Where pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"to_pandas: expected pandas, got {error}; pip install 'stfem[studies]'"
            ) from error
        return pandas.DataFrame(list(self.rows))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, lists and strings, ready for JSON."""
        record = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "provenance": self.provenance,
            "problem": self.problem,
            "parameters": self.parameters,
            "varied": self.varied,
            "axis": self.axis,
            "refined": self.refined,
            "rows": self.rows,
            "failures": self.failures,
        }
        result: dict[str, Any] = plain(record)
        return result

    def to_json(self, path: str | Path) -> None:
        """Write `to_dict` to a file, from which `from_json` reads it."""
        text = json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def from_json(cls, path: str | Path) -> Study:
        """Read what `to_json` has written.

        Raises
        ------
        ValueError
            For a file of something else, or of a later format.
        """
        try:
            record = json.loads(Path(path).read_text(encoding="utf-8"))
            found = record["format"], record["format_version"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}: expected a study as to_json writes it, got {error!r}") from error
        if found != (FORMAT, FORMAT_VERSION):
            raise ValueError(f"{path}: expected {FORMAT} of version {FORMAT_VERSION}, got {found}")
        try:
            study = cls(
                rows=tuple(map(restored, record["rows"])),
                varied=tuple(record["varied"]),
                axis=record["axis"],
                problem=record["problem"],
                parameters={name: tuples(values) for name, values in record["parameters"].items()},
                provenance=record["provenance"],
                failures=tuple(record["failures"]),
                refined=record.get("refined", CELLS),
            )
            study._check()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: expected a whole study, got one with damage: {error!r}") from error
        return study

    def plot(self, path: str | Path | None = None) -> Any:
        """Bounds and errors along `axis`; returns the figure, and writes it where a path is given."""
        from stfem.plotting import plot_study

        return plot_study(self, path)

    def _check(self) -> None:
        """Raise unless every row has all parameters and results."""
        names = (*self.parameters, *RESULTS, *ORDERS)
        for name in (*self.varied, self.axis):
            if name not in self.parameters:
                raise ValueError(f"no parameter {name!r}")
        for number, row in enumerate(self.rows):
            missing = [name for name in names if name not in row]
            if missing:
                raise ValueError(f"no {missing[0]!r} in row {number}")
        for number, failure in enumerate(self.failures):
            missing = [name for name in ("parameters", "error") if name not in failure]
            if missing:
                raise ValueError(f"no {missing[0]!r} in failure {number}")

    def _columns(self, columns: Sequence[str] | None, digits: int) -> tuple[str, ...]:
        """The chosen columns, or those of the default that say something; what refines last."""
        if isinstance(digits, bool) or not isinstance(digits, int) or digits < 1:
            raise ValueError(f"digits: expected a whole number from 1 on, got {digits!r}")
        if columns is None:
            front = sorted(self.varied, key=lambda name: name == self.refined)
            said = [name for name in DEFAULT_COLUMNS if any(row[name] is not None for row in self.rows)]
            return (*front, *said)
        if isinstance(columns, str):
            raise TypeError(f"columns: expected a list of names, got {columns!r}")
        if len(columns) == 0:
            raise ValueError("columns: expected at least one name, got none")
        known = (*self.parameters, *RESULTS, *ORDERS)
        for name in columns:
            if name not in known:
                raise ValueError(f"columns: expected names out of {', '.join(known)}, got {name!r}")
        return tuple(columns)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"Study({self.problem}: {len(self.rows)} cases{failed}, varied: {', '.join(self.varied)})"

    def __str__(self) -> str:
        fixed = {name: values[0] for name, values in self.parameters.items() if name not in self.varied}
        proved = sum(row["guaranteed"] for row in self.rows)
        lines = [f"{self.problem}{', ' * bool(fixed)}{listed(fixed)}", self.to_text()]
        lines.append(f"{proved} of {len(self.rows)} bounds are guaranteed")
        lines += [f"failed: {listed(f['parameters'])}: {f['error']}" for f in self.failures]
        return "\n".join(lines)
