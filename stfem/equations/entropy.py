"""Strictly convex entropies: what turns residual norms of systems into error bounds (T4)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stfem.checks import checked_instance, checked_number, checked_numbers, described, real_array
from stfem.data import Interval
from stfem.data.base import Array
from stfem.data.callables import check_arguments
from stfem.equations.stability import GrowthForm
from stfem.equations.states import StateSet

__all__ = ["CellStates", "ConvexEntropy", "Entropy", "EntropyBounds", "majorant", "slope_forms"]

#: Parts θ_X of the dissipation that may pay for the terms with D³η and D⁴η, where there are such terms.
CROSS_SHARES = (0.1, 0.2, 0.4, 0.6, 0.8)


@dataclass(frozen=True, eq=False)
class CellStates:
    """Proved ranges on cells × slab.

    Attributes
    ----------
    state : Interval of shape (m, C)
        û.
    forms : Interval of shape (F, C)
        The `Entropy.forms` of ∇û and the source.
    """

    state: Interval
    forms: Interval


class Entropy(ABC):
    """η with D²η > 0 and Dη Df_i = Dq_i on the convex set 𝒦, and its constants there.

    With η(u|û) = η(u) − η(û) − Dη(û)e, e = u − û, all inequalities are for u, û ∈ 𝒦 and every vector. Those
    for D²η restricted to the diffusing components (which D²η must not couple with the others) carry a P.

    Attributes
    ----------
    states : StateSet
        𝒦.
    lower : float
        c with 2η(u|û) ≥ c|e|².
    dissipation : float
        c_P with D²η(u) ≥ c_P on P.
    flux_weight : float
        K with D²η(û) D²η(u)⁻¹ D²η(û) ≤ K on P.
    third, fourth : float
        |D³η(e, a, b)| ≤ third |e||a||b| and |D⁴η(e, e, a, a)| ≤ fourth |e|²|a|² for a, b in P; 0 where D²η is
        constant on P.
    curved : tuple of bool
        Components that e, a and b need there, since D³η and D⁴η vanish on the others.
    curved_lower : float
        c' with 2η(u|û) ≥ c'|e|² and D²η(u) ≥ c' for e in the curved components only, which D²η must not
        couple with the others.
    forms : tuple of GrowthForm
        Linear combinations of ∇û and the source whose ranges `rate` needs.
    assumption : str or None
        One sentence where a constant is not proved.
    rounding : float
        Relative error of D²η as it is computed, for checks of it.
    """

    states: StateSet
    lower: float
    dissipation: float
    flux_weight: float
    third: float = 0.0
    fourth: float = 0.0
    curved: tuple[bool, ...]
    curved_lower: float
    forms: tuple[GrowthForm, ...] = ()
    assumption: str | None = None
    rounding: float = 1e-12

    @abstractmethod
    def value(self, u: Array) -> Array:
        """η(u), shape of u[0], for states ``(m, …)``."""

    @abstractmethod
    def gradient(self, u: Array) -> Array:
        """Dη(u), like u."""

    @abstractmethod
    def hessian(self, u: Array) -> Array:
        """D²η(u), ``(m, m, …)``."""

    @abstractmethod
    def residual_weight(self, state: Interval) -> Array:
        """G ``(m, m, C)`` with (D²η(û)R·e)² ≤ (R·GR) 2η(u|û) for all û in the cell ranges ``(m, C)``."""

    @abstractmethod
    def initial_weight(self, state: Interval) -> Array:
        """Matrices ``(m, m, C)`` with 2η(u|û) ≤ e·Me for all û in the cell ranges."""

    @abstractmethod
    def rate(self, cells: CellStates) -> Array:
        """2μ per cell of convection and source, ``(C,)``:

        −2 ∂_iû·D²η(û) f_i(u|û) + 2 ( Dη(u) − Dη(û) − D²η(û)e )·g ≤ 2μ 2η(u|û).
        """

    def relative(self, u: Array, v: Array) -> Array:
        """2η(u|v), shape of u[0]."""
        linear = (self.gradient(v) * (u - v)).sum(axis=0)
        return np.asarray(2.0 * (self.value(u) - self.value(v) - linear))

    @property
    def bent(self) -> bool:
        """Whether D²η varies on the diffusing components."""
        return self.third > 0.0 or self.fourth > 0.0

    @property
    def error_factor(self) -> float:
        """‖e‖ ≤ error_factor √y with y = 2∫η(u|û)."""
        return 1.0 / math.sqrt(self.lower)

    def energy_factor(self, share: float) -> float:
        """Takes the root of what θ_X leaves of the dissipation to ‖D^{1/2}∇e‖."""
        return 1.0 / math.sqrt(self.dissipation * (1.0 - share))

    def parabolic_factor(self, share: float) -> float:
        """Takes p²/ε of T3.4 to what it costs against the dissipation that θ_X leaves."""
        return self.flux_weight / (1.0 - share)

    def cross_rate(self, slopes_sq: Array, share: float) -> Array:
        """2μ of the terms with D³η and D⁴η, from sup|D^{1/2}∇û|² of the curved components (T4).

        4 T₃|D^{1/2}∇û| |D^{1/2}∇e| |e| ≤ 2θ_X D²η(u)D∇e·∇e + 2T₃²|D^{1/2}∇û|²/(θ_X c') |e|²
        """
        if not self.bent:
            return np.zeros_like(slopes_sq)
        young = 2.0 * self.third**2 / (share * self.curved_lower)
        return np.asarray((young + self.fourth) / self.curved_lower * slopes_sq)

    def best_share(self, slopes_sq: float, duration: float) -> float:
        """The θ_X with the smallest product of growth and loss of dissipation; any other is valid too."""
        if not self.bent:
            return 0.0

        def cost(share: float) -> float:
            rate = float(self.cross_rate(np.asarray(slopes_sq), share))
            return rate * duration - math.log(1.0 - share)

        return min(CROSS_SHARES, key=cost)

    def coupling(self, slopes_sq: float) -> float:
        """Factor of p/√ε in a, from Φ:D³η(û)(∇û, ·)e (T4)."""
        return self.third * math.sqrt(slopes_sq / self.curved_lower)


def majorant(matrices: Interval) -> Array:
    """M ≥ every symmetric matrix in the intervals ``(m, m, C)``, in the order of quadratic forms.

    What differs from the midpoint is at most its row sums on the diagonal.
    """
    result = matrices.midpoint.copy()
    rows = matrices.radius.sum(axis=1)
    for c, row in enumerate(rows):
        result[c, c] += row
    return result


def slope_forms(components: int, dim: int) -> tuple[GrowthForm, ...]:
    """∂_iû_c, ordered (i, c), and after them the entries g_c of the source."""
    units = np.eye(components)
    slopes = []
    for i in range(dim):
        for unit in units:
            gradient = np.zeros((components, dim))
            gradient[:, i] = unit
            slopes.append(GrowthForm(gradient, (), np.zeros(components)))
    flat = np.zeros((components, dim))
    return (*slopes, *(GrowthForm(flat, (), unit) for unit in units))


@dataclass(frozen=True)
class EntropyBounds:
    """Constants of T4 on 𝒦 for a general entropy.

    Attributes
    ----------
    lower, upper : float
        0 < lower ≤ D²η ≤ upper.
    ratio : float
        κ ≤ 1 with D²η(ξ) ≥ κ D²η(û) for ξ, û ∈ 𝒦.
    third, fourth : float
        |D³η(e, e, e)| ≤ third |e|³, |D⁴η(e, e, e, e)| ≤ fourth |e|⁴; of symmetric forms these are the norms.
    flux : tuple of float
        Per direction: |D²η(û) D²f_i(ξ)(e, e)| ≤ flux e·D²η(ξ)e, in length/time per unit of the state.

    Raises
    ------
    ValueError
        For constants that contradict each other.
    """

    lower: float
    upper: float
    ratio: float
    third: float
    fourth: float
    flux: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "ratio", "third", "fourth"):
            number = checked_number(f"entropy, {name}", getattr(self, name), "a finite bound", 0.0)
            object.__setattr__(self, name, number)
        object.__setattr__(self, "flux", checked_numbers("entropy, flux", self.flux, "finite bounds", 0.0))
        if not (0.0 < self.lower <= self.upper and 0.0 < self.ratio <= 1.0):
            raise ValueError(f"entropy: expected 0 < lower <= upper and 0 < ratio <= 1, got {self}")


class ConvexEntropy(Entropy):
    """An entropy given by functions and the constants of T4: the general inequality, for any system.

    All components diffuse, or none. Where 𝒦 has constraints, ``third`` must hold on all of its box. With
    H = D²η and κ H(û) ≤ H(ξ) ≤ H(û)/κ,

        weight of R: H(û)/κ,   initial weight: H(û)/κ,   flux weight: upper/κ,
        2μ = Σ_i flux_i |∂_iû| + (third/lower)|g|,

    and on a cell H(û) ≤ H(û_0) + third |û − û_0|, û_0 the midpoint of the range.

    Parameters
    ----------
    value, gradient, hessian : callable
        η, Dη and D²η of states ``(m, …)``, with values (…), ``(m, …)`` and ``(m, m, …)``.
    states : StateSet
        𝒦.
    bounds : EntropyBounds
        Constants on 𝒦.
    assumption : str, optional
        One sentence where they are not proved.
    """

    def __init__(
        self,
        value: Callable[[Array], Array],
        gradient: Callable[[Array], Array],
        hessian: Callable[[Array], Array],
        states: StateSet,
        bounds: EntropyBounds,
        assumption: str | None = None,
    ) -> None:
        for name, function in (("value", value), ("gradient", gradient), ("hessian", hessian)):
            if not callable(function):
                raise TypeError(f"entropy, {name}: expected a function of states, got {described(function)}")
            check_arguments(function, f"entropy, {name}", "u")
        checked_instance("states", states, StateSet, "a StateSet")
        checked_instance("bounds", bounds, EntropyBounds, "EntropyBounds")
        checked_instance("assumption", assumption, (str, type(None)), "a sentence or None")
        self._value, self._gradient, self._hessian = value, gradient, hessian
        self.states, self.bounds, self.assumption = states, bounds, assumption
        self._probe_functions()
        self.lower = self.dissipation = self.curved_lower = bounds.lower
        self.flux_weight = bounds.upper / bounds.ratio
        self.third, self.fourth = bounds.third, bounds.fourth
        count = len(states.lower)
        self.curved = (True,) * count
        self.forms = slope_forms(count, len(bounds.flux))

    def _probe_functions(self) -> None:
        u = self.states.sample(np.random.default_rng(17), 6)
        m = len(u)
        for name, function, shape in (
            ("value", self._value, u.shape[1:]),
            ("gradient", self._gradient, u.shape),
            ("hessian", self._hessian, (m, *u.shape)),
        ):
            found = real_array(function(u.copy()), f"entropy, {name}")
            if found.shape != shape:
                raise ValueError(
                    f"entropy, {name}: expected shape {shape} for states of shape {u.shape}, "
                    f"got {found.shape}"
                )

    def value(self, u: Array) -> Array:
        return np.asarray(self._value(u))

    def gradient(self, u: Array) -> Array:
        return np.asarray(self._gradient(u))

    def hessian(self, u: Array) -> Array:
        return np.asarray(self._hessian(u))

    def residual_weight(self, state: Interval) -> Array:
        radius = np.sqrt((state.radius**2).sum(axis=0))
        centre = np.clip(state.midpoint, self.states.lower[:, None], self.states.upper[:, None])
        unit = np.eye(len(centre))[:, :, None]
        return np.asarray((self.hessian(centre) + self.third * radius * unit) / self.bounds.ratio)

    def initial_weight(self, state: Interval) -> Array:
        return self.residual_weight(state)

    def rate(self, cells: CellStates) -> Array:
        count, dim = len(self.states.lower), len(self.bounds.flux)
        sizes = cells.forms.magnitude.reshape(dim + 1, count, -1)
        lengths = np.sqrt((sizes**2).sum(axis=1))
        rate = np.tensordot(np.array(self.bounds.flux), lengths[:dim], 1)
        return np.asarray(rate + self.third / self.lower * lengths[dim])
