"""Scalar conservation laws with a user's flux f(u)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
from numpy.polynomial import Polynomial

from stfem.data import polynomial_range
from stfem.data.base import Array
from stfem.equations.base import Equation
from stfem.equations.functions import Function, functions_of, given_sonic, per_direction
from stfem.equations.probe import check_difference
from stfem.equations.stability import Growth, GrowthForm, Stability
from stfem.spaces.legendre import gauss, legendre_values

__all__ = ["ScalarConservationLaw"]

_PIECES = 4  # subintervals of the states, between which f_1'', f_2'', … need not be attained together
_SPEED_PIECES = 8  # subintervals of the states for ranges of f'
_SAMPLES = 65
_MARGIN = 0.1


class ScalarConservationLaw(Equation):
    """∂_t u + Σ_i ∂_i f_i(u) − ∇·(D ∇u) = g (T1.1).

    Rate (T4): with e = u − û the convective term gives −∫∇û·(average of f'' between û and u) e², hence
    2μ = sup_x max_{ξ∈I} −Σ_i f_i''(ξ) ∂_iû, I the hull of all states û and u. I is cut into pieces, and on
    each one every corner of the box of ranges of the f_i'' is a candidate. For polynomials the ranges are
    proved (Bernstein); for callables they are sampled and widened, which is stated as an assumption.

    Parameters
    ----------
    flux : callable, numpy Polynomial or sequence of coefficients (lowest power first), or one per direction
        f_i(u), applied to arrays; one stands for all directions.
    derivative, second_derivative : callable, or one per direction
        f_i' and f_i''; not needed for polynomials.
    dim : int, optional
        Number of space dimensions; by default the number of fluxes.
    diffusion : float or array of shape (d, d)
        D = εA, symmetric positive semi-definite.
    sonic_points : sequence of float, or one such sequence per direction, optional
        Where f_i' changes sign, if known (the Engquist–Osher flux is then exact); not needed for polynomials.

    Raises
    ------
    ValueError, TypeError
        For missing derivatives or a wrong number of fluxes.
    """

    def __init__(
        self,
        flux: object,
        derivative: object = None,
        second_derivative: object = None,
        dim: int | None = None,
        diffusion: object = 0.0,
        sonic_points: Sequence[object] | None = None,
    ) -> None:
        fluxes = functions_of(flux, "flux")
        count = dim if dim is not None else len(fluxes)
        super().__init__(count, 1, diffusion)
        self._same = len(fluxes) == 1 or all(f is fluxes[0] for f in fluxes)
        self.isotropic = self._same
        #: f, one for all directions or one per direction.
        self.fluxes = tuple(fluxes[:1] if self._same else fluxes)
        self._flux = per_direction(fluxes, self.dim, "flux")
        polynomial = [f for f in self._flux if isinstance(f, Polynomial)]
        if len(polynomial) == self.dim:
            if derivative is not None or second_derivative is not None:
                raise ValueError("derivative: expected none beside polynomial fluxes, got one")
            self.flux_degree = max(f.degree() for f in polynomial)
            self._derivative: list[Function] = [f.deriv(1) for f in polynomial]
            self._second: list[Function] = [f.deriv(2) for f in polynomial]
            self._factors = _factors([f.deriv(2) for f in polynomial])
            self._sonic: list[tuple[float, ...] | None] = [_sonic(f.deriv(1)) for f in polynomial]
            return
        if derivative is None or second_derivative is None:
            raise ValueError("flux: expected derivative= and second_derivative= beside a callable, got none")
        first, second = (
            functions_of(derivative, "derivative"),
            functions_of(second_derivative, "second_derivative"),
        )
        self._same = self._same and len(second) == 1
        self._factors = None
        self._derivative = per_direction(first, self.dim, "derivative")
        self._second = per_direction(second, self.dim, "second_derivative")
        self._sonic = given_sonic(sonic_points, self.dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.dim}, diffusion={self.described_diffusion})"

    def flux(self, u: Array, x: Array, t: float, direction: int) -> Array:
        return self._flux[direction](u)

    def jacobian_product(self, u: Array, v: Array, x: Array, t: float, direction: int) -> Array:
        return self._derivative[direction](u) * v

    def wave_speed(self, u: Array, x: Array, t: float, direction: int) -> Array:
        return np.abs(self._derivative[direction](u[0]))

    def sonic_points(self, direction: int) -> tuple[float, ...] | None:
        return self._sonic[direction]

    def probe_states(self, rng: np.random.Generator, count: int) -> Array:
        # polynomials are defined everywhere, a user's function perhaps for positive states only
        return (
            super().probe_states(rng, count)
            if self.flux_degree is None
            else rng.uniform(-1.5, 1.5, (1, count))
        )

    def check(self) -> None:
        super().check()
        u = self.probe_states(np.random.default_rng(7), 16)[0]
        for i, (first, second) in enumerate(zip(self._derivative, self._second, strict=True)):
            given = np.asarray(second(u), dtype=np.float64)
            if given.shape != u.shape:
                raise ValueError(
                    f"second_derivative, direction {i}: expected shape {u.shape}, got {given.shape}"
                )
            difference = (first(u + 1e-6) - first(u - 1e-6)) / 2e-6
            check_difference(given, difference, first(u), f"second_derivative, direction {i}")

    @property
    def stability(self) -> Stability:
        """For y = ‖e‖², 2μ = sup_x max_ξ −Σ_i f_i''(ξ) ∂_iû."""
        curved = any(not isinstance(f, Polynomial) or f.degree() > 0 for f in self._second)
        return Stability(self._growth, needs_range=curved)

    def _growth(self, lower: Array, upper: Array) -> Growth:
        low, high = (float(lower[0]), float(upper[0])) if self.stability.needs_range else (0.0, 0.0)
        corners = self.second_derivatives(low, high)
        forms = tuple(GrowthForm(-corner[None], (), np.zeros(1)) for corner in corners)
        return Growth(forms, assumption=self.unproved)

    def second_derivatives(self, lower: float, upper: float) -> Array:
        """Vectors ``(k, d)`` whose convex hull contains (f_1'', …, f_d'')(ξ) for all ξ in [lower, upper]."""
        if not (np.isfinite([lower, upper]).all() and lower <= upper):
            raise ValueError(f"growth: expected a finite range of states, got [{lower}, {upper}]")
        if self._factors is not None:  # attained together, too
            return np.multiply.outer(_range(self._second[0], lower, upper), self._factors)
        varying = sum(not isinstance(f, Polynomial) or f.degree() > 0 for f in self._second)
        pieces = 1 if self._same or varying <= 1 or lower == upper else _PIECES
        corners: set[tuple[float, ...]] = set()
        for a, b in pairwise(np.linspace(lower, upper, pieces + 1)):
            if self._same:  # f_1'' = f_2'' = …: the extreme values are attained together
                corners.update((value,) * self.dim for value in _range(self._second[0], a, b))
            else:
                corners.update(product(*(_range(second, a, b) for second in self._second)))
        return np.array(sorted(corners))

    def normal_speeds(self, lower: float, upper: float, normals: Array) -> tuple[Array, Array]:
        """Bounds of Σ_i n_i f_i'(ξ) from below and above over ξ in [lower, upper], for normals ``(d, …)``.

        On pieces of the interval f' is its value in the middle, up to half the length times sup|n·f''|.
        """
        found = []
        for a, b in pairwise(np.linspace(lower, upper, _SPEED_PIECES + 1)):
            middle = np.full(1, 0.5 * (a + b))
            slopes = np.array([float(first(middle)[0]) for first in self._derivative])
            corners = self.second_derivatives(float(a), float(b))
            change = 0.5 * (b - a) * np.abs(np.tensordot(corners, normals, 1)).max(axis=0)
            speed = np.tensordot(slopes, normals, 1)
            found.append((speed - change, speed + change))
        return np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)

    @property
    def unproved(self) -> str | None:
        """Sentence about ranges of f'' that are not proved, None for polynomials."""
        if all(isinstance(f, Polynomial) for f in self._second):
            return None
        return (
            f"range of the second derivative of the flux taken from {_SAMPLES} samples and "
            f"widened by {_MARGIN:.0%}, not proved"
        )


def _range(second: Function, lower: float, upper: float) -> tuple[float, ...]:
    """Lower and upper bound of f'' on [lower, upper], one number where they agree."""
    if isinstance(second, Polynomial):
        if second.degree() == 0:
            return (float(second.coef[0]),)
        points, weights = gauss(second.degree() + 1)
        values = second(lower + (upper - lower) * points)
        modes = (legendre_values(second.degree(), points) * weights[:, None]).T @ values
        bounds = polynomial_range(modes[:, None], 1, max_subdivisions=3)
        largest = max(abs(lower), abs(upper))
        slack = 1e-14 * float(
            np.abs(second.coef) @ largest ** np.arange(len(second.coef))
        )  # Horner's rule rounds
        return bounds[0] - slack, bounds[1] + slack
    nodes = 0.5 * (1.0 - np.cos(np.pi * np.arange(_SAMPLES) / (_SAMPLES - 1)))
    sampled = second(lower + (upper - lower) * nodes)
    low, high = float(np.min(sampled)), float(np.max(sampled))
    margin = _MARGIN * (high - low)
    return (low - margin, high + margin) if high > low else (low,)


def _factors(second: list[Polynomial]) -> Array | None:
    """a_i with f_i'' = a_i f_1'', up to round-off of the coefficients; None where there are none."""
    first = second[0].coef
    largest = int(np.argmax(np.abs(first)))
    if first[largest] == 0.0 or any(f.coef.shape != first.shape for f in second):
        return None
    factors = np.array([f.coef[largest] / first[largest] for f in second])
    same = all(
        np.all(np.abs(f.coef - a * first) <= 4e-16 * np.abs(f.coef))
        for f, a in zip(second, factors, strict=True)
    )
    return factors if same else None


def _sonic(derivative: Polynomial) -> tuple[float, ...]:
    """Real parts of all zeros of f': superfluous points do not change the Engquist–Osher flux."""
    return tuple(sorted(np.real(derivative.roots()).tolist()))
