"""Systems given by functions alone: flux and entropy; what else is needed is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stfem.checks import checked_instance, checked_list, checked_whole, described, numeric_array
from stfem.data.base import Array
from stfem.data.callables import check_arguments
from stfem.equations.entropy import ConvexEntropy, EntropyBounds
from stfem.equations.sampled_bounds import entropy_gradient, entropy_hessian, sampled_bounds
from stfem.equations.states import StateSet
from stfem.equations.system import EntropySystem

__all__ = ["ConservationSystem"]

Flux = Callable[[Array], Array]
#: Length of a step in the imaginary direction: derivatives of analytic functions without cancellation.
_STEP = 1e-30
#: Of D²η by differences of Dη.
_HESSIAN_ERROR = 1e-9


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
        checked_instance("states", states, StateSet, "a StateSet")
        if not np.isfinite([states.lower, states.upper]).all():
            raise ValueError(f"states: expected a bounded set, got {states.lower}, {states.upper}")
        fluxes = checked_list("flux", flux)
        for name, function in (("entropy", entropy), *(("flux", entry) for entry in fluxes)):
            if not callable(function):
                raise TypeError(f"{name}: expected a function of states, got {described(function)}")
            check_arguments(function, name, "u")
        checked_instance("bounds", bounds, (EntropyBounds, type(None)), "EntropyBounds or None")
        super().__init__(len(fluxes), len(states.lower), diffusion)
        if bounds is not None and len(bounds.flux) != self.dim:
            raise ValueError(f"bounds: expected {self.dim} constants of the flux, got {len(bounds.flux)}")
        self.flux_degree = None if flux_degree is None else checked_whole("flux_degree", flux_degree, 0, 64)
        self.fluxes = tuple(fluxes)
        self._probe_functions(entropy, states)
        assumption = None
        if bounds is None:
            bounds, assumption = sampled_bounds(self.fluxes, entropy, states)
        gradient, hessian = entropy_gradient(entropy), entropy_hessian(entropy)
        convex = ConvexEntropy(entropy, gradient, hessian, states, bounds, assumption)
        convex.rounding = _HESSIAN_ERROR
        self.carry(convex)

    def _probe_functions(self, entropy: Callable[..., object], states: StateSet) -> None:
        """Shapes and derivatives by complex steps, before anything is computed from them."""
        u = states.sample(np.random.default_rng(17), 6)
        given: list[tuple[str, Callable[..., object], tuple[int, ...]]] = [("entropy", entropy, u.shape[1:])]
        given += [(f"flux, direction {i}", flux, u.shape) for i, flux in enumerate(self.fluxes)]
        for name, function, shape in given:
            for states_of_one_kind in (u, u + 1j * _STEP):
                seen = states_of_one_kind.copy()
                values = function(seen)
                if not np.array_equal(seen, states_of_one_kind):
                    raise ValueError(
                        f"{name}: expected a function that leaves its states alone, got one that writes"
                    )
                array = numeric_array(values, name)
                if array.shape != shape:
                    raise ValueError(
                        f"{name}: expected shape {shape} for states of shape {u.shape}, got {array.shape}"
                    )
                if not np.isfinite(array).all():
                    raise ValueError(f"{name}: expected finite values on the state set, got others")
            if array.dtype.kind != "c":
                raise TypeError(
                    f"{name}: expected a function of complex numbers too (derivatives are steps in the "
                    f"imaginary direction), got dtype {array.dtype} from complex states"
                )

    def flux(self, u: Array, x: Array, t: float, direction: int) -> Array:
        return np.asarray(self.fluxes[direction](u))

    def jacobian_product(self, u: Array, v: Array, x: Array, t: float, direction: int) -> Array:
        return np.asarray(np.imag(self.fluxes[direction](u + 1j * _STEP * v)) / _STEP)

    def wave_speed(self, u: Array, x: Array, t: float, direction: int) -> Array:
        along = np.zeros((self.dim, *(1,) * (u.ndim - 1)))
        along[direction] = 1.0
        return self.normal_wave_speed(u, x, t, along)
