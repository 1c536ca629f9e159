"""One-sided stability of an equation: what turns residual norms into error bounds (T4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stfem.checks import checked_flag, checked_instance
from stfem.data import Data
from stfem.data.base import Array

__all__ = ["Growth", "GrowthForm", "Stability"]


@dataclass(frozen=True, eq=False)
class GrowthForm:
    """One candidate for the rate 2μ (T4.1), affine in ∇û, in given data and in the source.

        Σ_{c,i} gradient[c, i] ∂_iû_c + Σ coefficient · data + Σ_c source[c] g_c

    Attributes
    ----------
    gradient : array of shape (m, d)
        Coefficients of the gradient of û.
    data : tuple of (float, Data)
        Added fields with their coefficients, in 1/time.
    source : array of shape (m,)
        Coefficients of the source g.
    """

    gradient: Array
    data: tuple[tuple[float, Data], ...]
    source: Array


@dataclass(frozen=True, eq=False)
class Growth:
    """2μ ≤ sup over x of the largest of the forms; not below zero where `positive` (T4).

    Attributes
    ----------
    forms : tuple of GrowthForm
        Candidates.
    positive : bool
        Whether the supremum must not be taken below zero.
    assumption : str or None
        One sentence where a constant in the forms is not proved.

    Raises
    ------
    ValueError
        Without forms: the supremum of nothing would let every error decay at once.
    """

    forms: tuple[GrowthForm, ...]
    positive: bool = False
    assumption: str | None = None

    def __post_init__(self) -> None:
        forms = tuple(checked_instance("forms", self.forms, (tuple, list), "a tuple of GrowthForm"))
        if not forms:
            raise ValueError("forms: expected at least one (of zeros where nothing grows), got none")
        for form in forms:
            checked_instance("forms", form, GrowthForm, "a tuple of GrowthForm")
        object.__setattr__(self, "forms", forms)
        object.__setattr__(self, "positive", checked_flag("positive", self.positive))
        checked_instance("assumption", self.assumption, (str, type(None)), "a sentence or None")


@dataclass(frozen=True, eq=False)
class Stability:
    """y equivalent to ‖e‖², e = u − û, with y' + … ≤ 2μ y + 2a √y + … (T4.1).

    Attributes
    ----------
    growth : callable (lower, upper) -> Growth
        The rate for states with components in [lower, upper] (arrays of shape (m,)).
    needs_range : bool
        Whether the rate depends on the range of u and û. That of u follows from the maximum principle for
        scalar laws with f = f(u) and no reaction; other equations give a `state_set`.
    error_factor : float
        ‖e‖ ≤ error_factor √y.
    state_set : (lower, upper) or None
        Arrays of shape (m,): û is checked to stay inside, u is assumed to.
    assumptions : tuple of str
        What the bound takes for granted of the solution.
    """

    growth: Callable[[Array, Array], Growth]
    needs_range: bool = False
    error_factor: float = 1.0
    state_set: tuple[Array, Array] | None = None
    assumptions: tuple[str, ...] = ()
