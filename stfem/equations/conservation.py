"""Systems given by functions alone: flux and entropy; what else is needed is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stfem.data.base import Array
from stfem.equations.entropy import ConvexEntropy, EntropyBounds
from stfem.equations.sampled_bounds import entropy_gradient, entropy_hessian, sampled_bounds
from stfem.equations.states import StateSet
from stfem.equations.system import EntropySystem

__all__ = ["ConservationSystem"]

Flux = Callable[[Array], Array]
#: Length of a step in the imaginary direction: derivatives of analytic functions without cancellation.
_STEP = 1e-30


class ConservationSystem(EntropySystem):
    """∂_t u + Σ_i ∂_i f_i(u) − ∇·(D∇u) = g with flux and entropy given as functions.

    They must be built from operations that accept complex numbers (sums, products, powers, exp, log, …): then
    f_i'(u)v = Im f_i(u + iδv)/δ exactly, and likewise Dη. D²η and higher derivatives are differences of Dη.
    The constants of T4 are sampled on the state set and widened, which `assumptions` says, unless they are
    given. The wave speed is the largest |eigenvalue| of the Jacobian.

    Parameters
    ----------
    flux : sequence of d callables
        f_i(u) for states ``(m, …)``, like u, length/time times u.
    entropy : callable
        η(u), shape of u[0], strictly convex.
    states : StateSet
        𝒦, bounded.
    diffusion : float or array of shape (d, d)
        D = εA, in all components.
    bounds : EntropyBounds, optional
        Constants on 𝒦, where they are known.
    flux_degree : int, optional
        Degree of f_i, where it is a polynomial.

    Raises
    ------
    ValueError
        Where the entropy is not strictly convex on 𝒦 or does not fit the flux, D²η Df_i symmetric.
    """

    linear = False

    def __init__(
        self,
        flux: Sequence[Flux],
        entropy: Callable[[Array], Array],
        states: StateSet,
        diffusion: object = 0.0,
        bounds: EntropyBounds | None = None,
        flux_degree: int | None = None,
    ) -> None:
        if not np.isfinite([states.lower, states.upper]).all():
            raise ValueError(f"states: expected a bounded set, got {states.lower}, {states.upper}")
        super().__init__(len(flux), len(states.lower), diffusion)
        self.flux_degree, self.fluxes = flux_degree, tuple(flux)
        assumption = None
        if bounds is None:
            bounds, assumption = sampled_bounds(self.fluxes, entropy, states)
        gradient, hessian = entropy_gradient(entropy), entropy_hessian(entropy)
        self.carry(ConvexEntropy(entropy, gradient, hessian, states, bounds, assumption))

    def flux(self, u: Array, x: Array, t: float, direction: int) -> Array:
        return np.asarray(self.fluxes[direction](u))

    def jacobian_product(self, u: Array, v: Array, x: Array, t: float, direction: int) -> Array:
        return np.asarray(np.imag(self.fluxes[direction](u + 1j * _STEP * v)) / _STEP)

    def wave_speed(self, u: Array, x: Array, t: float, direction: int) -> Array:
        along = np.zeros((self.dim, *(1,) * (u.ndim - 1)))
        along[direction] = 1.0
        return self.normal_wave_speed(u, x, t, along)
