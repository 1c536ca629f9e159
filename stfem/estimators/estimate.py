"""The result of an estimate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from stfem.estimators.explanation import explained, shares
from stfem.spaces.stencil import Array

#: True errors are computed too, and may exceed a sharp bound by this fraction of it.
_ROUNDING = 1e-6


def attributes(value: Any, kind: type) -> dict[str, Any]:
    """What a dataclass of some kind holds, by name: to make another, or one of a derived kind."""
    return {entry.name: getattr(value, entry.name) for entry in fields(kind)}


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """A-posteriori error bound of one computation.

    Every norm is over Ω, unsquared unless the name ends in ``_sq``.

    Attributes
    ----------
    bound
        Bound of sup_t ‖u − û‖_{L²} (T4.2).
    bound_final
        Bound of ‖u(T) − û(T)‖_{L²}.
    bound_energy
        Bound of ( sup‖u − û‖² + ∫‖D^{1/2}∇(u − û)‖² )^{1/2} (T4.3). None for an estimator without one.
    bound_l1
        Scalar problems: bound of ‖u(T) − û(T)‖_{L¹} (T4.4, T5.15), else None.
    enclosure
        (lower, upper) of ‖u(T) − u_h(T)‖_{L²} (T4.5).
    parts
        "initial" z_0, "hyperbolic" Σα, "parabolic" √Σβ, "temporal" (share of the time stepping inside the
        hyperbolic part), "growth" (exponential factor). Without time a, p and, of the former, "algebraic".
    indicators_sq
        Per cell ``(N_1, …, N_d)``; the sum is (Σα)² + Σβ (T4.7), without time a²/κ + p²/θ (T5.3).
    guaranteed
        Whether every norm and supremum is exact or carries a proved remainder (T4.6); derived, never set.
    assumptions
        Sentences: what is taken for granted of the exact solution, and what is not proved.
    unproved
        Those of the sentences that make `guaranteed` False.
    error, error_final, error_energy, error_dg
        True errors sup‖u − û‖, at T, in the energy norm, and ‖u(T) − u_h(T)‖; None without an exact solution.
        The supremum is the largest of samples, a few on every slab.
    error_l1
        True error ‖u(T) − û(T)‖_{L¹}, on meshes.
    history
        Arrays over slabs: "time" (their ends), "bound" there, "alpha", "beta", "growth" (2μ as the bound has
        it), "member" (λ), "temporal", and the true "error" at the ends where it is known.
    facts
        Numbers that describe the run: steps, slabs, degrees, cells, lengths of the domain, seconds, …;
        "error_factor" takes α, √β and z_0 of a system, norms of its entropy, to L² (T4); "signature" is that
        of the solution.
    """

    bound: float
    bound_final: float
    bound_energy: float | None
    bound_l1: float | None
    enclosure: tuple[float, float]
    parts: Mapping[str, float]
    indicators_sq: Array
    assumptions: tuple[str, ...]
    unproved: tuple[str, ...]
    error: float | None = None
    error_final: float | None = None
    error_energy: float | None = None
    error_dg: float | None = None
    error_l1: float | None = None
    history: Mapping[str, Array] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def guaranteed(self) -> bool:
        """True where nothing in the bound is unproved.

        The assumptions about u itself are listed in `assumptions`.
        """
        return not self.unproved

    @property
    def effectivity(self) -> float | None:
        """bound / error, ≥ 1 when reliable; None without an exact solution or for a vanishing error."""
        return _ratio(self.bound, self.error)

    @property
    def effectivity_energy(self) -> float | None:
        """bound_energy / error_energy."""
        return _ratio(self.bound_energy, self.error_energy)

    @property
    def shares(self) -> Mapping[str, float]:
        """What `bound` consists of, shares that sum to 1 (T4.2); empty where the bound is 0.

        "initial", the residual in L² without ("space") and with only what interpolation in time adds
        ("time"), the residual in the "dual" norm, "growth", oscillation of data on the "boundary", and the
        "algebraic" error of a stationary solution.
        """
        return shares(self)

    @property
    def explanation(self) -> str:
        """What dominates the bound, in words, and what makes it smaller."""
        return explained(self)

    @property
    def _contradicted(self) -> bool:
        """Whether a true error exceeds its bound, beyond what quadrature and round-off explain."""
        pairs = (
            (self.bound, self.error),
            (self.bound_final, self.error_final),
            (self.bound_energy, self.error_energy),
            (self.bound_l1, self.error_l1),
        )
        return any(
            bound is not None and error is not None and error > (1.0 + _ROUNDING) * bound
            for bound, error in pairs
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and strings, ready for JSON."""
        result = {name: plain(value) for name, value in attributes(self, Estimate).items()}
        result["guaranteed"] = self.guaranteed
        result["effectivity"] = self.effectivity
        result["effectivity_energy"] = self.effectivity_energy
        return result

    def to_json(self, path: str | Path) -> None:
        """Write `to_dict` to a file."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")

    def save(self, path: str | Path) -> Path:
        """Write all numbers, arrays and sentences to an npz archive, for `load`; its name ends in .npz.

        Nothing in the file is executed when it is read. Of a certificate it holds the estimate;
        ``certificate.solution`` can be saved beside it.

        Raises
        ------
        ValueError, OSError
            For another ending, and where the file cannot be written.
        """
        from stfem.io import save_estimate

        return save_estimate(self, path)

    @staticmethod
    def load(path: str | Path) -> Estimate:
        """Read an estimate that `save` has written, bit for bit.

        Raises
        ------
        ValueError, OSError
            For a file that is damaged, of another kind or of a newer format; where it cannot be read.
        """
        from stfem.io import load_estimate

        return load_estimate(path)

    def plot(self, path: str | Path | None = None) -> Any:
        """Bound over time with its parts; returns the figure and writes it where a path is given."""
        from stfem.plotting import plot_estimate

        return plot_estimate(self, path)

    def __repr__(self) -> str:
        known = "" if self.effectivity is None else f", effectivity={self.effectivity:.3f}"
        return f"{type(self).__name__}(bound={self.bound:.4e}{known}, guaranteed={self.guaranteed})"

    def __str__(self) -> str:
        def number(value: float | None) -> str:
            return "unknown" if value is None else f"{value:.4e}"

        sizes = {name: value for name, value in self.parts.items() if name != "temporal"}
        steady = "algebraic" in self.parts
        largest, last = ("", "     ") if steady else ("sup ", " at T")
        lines = [
            f"bound   {largest + '‖u−û‖':14} {number(self.bound)}   true {number(self.error)}"
            f"   effectivity {_short(self.effectivity)}",
            f"bound   ‖u−û‖ at T     {number(self.bound_final)}   true {number(self.error_final)}",
            f"bound   energy norm    {number(self.bound_energy)}   true {number(self.error_energy)}",
            f"inside  ‖u−u_h‖{last}   [{self.enclosure[0]:.4e}, {self.enclosure[1]:.4e}]"
            f"   true {number(self.error_dg)}",
            "parts   " + "  ".join(f"{name} {value:.3g}" for name, value in sizes.items()),
        ]
        if steady:
            del lines[1]
        if "temporal" in self.parts:
            percent = 100.0 * min(1.0, self.parts["temporal"])  # an estimate, which may exceed the whole
            lines.append(f"        interpolation in time {percent:.2f} % of the hyperbolic part")
        lines.append(f"mostly  {self.explanation}")
        lines.append("guaranteed" if self.guaranteed else "not guaranteed: " + "; ".join(self.unproved))
        taken = [sentence for sentence in self.assumptions if sentence not in self.unproved]
        if taken:
            lines.append("assuming that " + "; ".join(taken))
        if self._contradicted:
            lines.append(
                "effectivity below 1: exact is not a solution of this problem, or the bound is wrong "
                "– please report"
            )
        return "\n".join(lines)


def _ratio(bound: float | None, error: float | None) -> float | None:
    return bound / error if bound is not None and error else None


def _short(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


def plain(value: Any) -> Any:
    """Arrays, mappings and sequences as what JSON knows; infinite numbers and NaN as strings."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        item = value.item()  # which a number of more than double precision gives as itself
        return plain(float(item) if isinstance(item, np.generic) else item)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(entry) for entry in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value
