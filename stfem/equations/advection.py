"""Linear advection–diffusion–reaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from stfem.data import Constant, Data, Trigonometric, as_data
from stfem.data.base import Array
from stfem.equations.base import Equation
from stfem.equations.stability import Growth, GrowthForm, Stability

Velocity = Sequence[float | Data] | Callable[[Array, float], ArrayLike]


class AdvectionDiffusion(Equation):
    """∂_t u + ∇·(b u) + c u − ∇·(D∇u) = g.

    Growth rate of the error (T4): 2μ = sup( −∇·b − 2c ), jointly; none for a divergence-free velocity and c ≥ 0.

    Parameters
    ----------
    velocity
        b: d numbers or `Data`, or a callable ``b(x, t)`` with values ``(d, …)`` (then give ``dim`` and ``divergence``).
    diffusion
        D: number or matrix, length²/time.
    reaction
        c: number, `Data` or callable ``c(x, t)``, 1/time.
    dim
        Space dimension; needed only for a callable velocity.
    divergence
        ∇·b as number, `Data` or callable, for a velocity that is not given as exact data.

    Raises
    ------
    ValueError, TypeError
        For a callable velocity without ``dim`` or ``divergence``, or data of the wrong shape.
    """

    linear = True
    flux_degree = 1

    def __init__(
        self,
        velocity: Velocity,
        diffusion: ArrayLike = 0.0,
        reaction: float | Data | Callable[[Array, float], ArrayLike] = 0.0,
        dim: int | None = None,
        divergence: float | Data | Callable[[Array, float], ArrayLike] | None = None,
    ) -> None:
        if dim is None:
            if callable(velocity):
                raise ValueError(
                    "velocity: a callable needs the space dimension, expected dim=1, 2 or 3, got None"
                )
            dim = len(velocity)
        (c,) = as_data(reaction, dim, 1, "reaction", with_time=True)
        super().__init__(dim, diffusion=diffusion, reaction=c)
        value = velocity if callable(velocity) or dim > 1 else velocity[0]
        self._velocity = as_data(value, dim, dim, "velocity", with_time=True)
        self._divergence: tuple[Data, ...]
        if divergence is not None:
            self._divergence = as_data(divergence, dim, 1, "divergence", with_time=True)
        elif all(b.constant for b in self._velocity):
            self._divergence = (Constant(0.0, dim),)
        else:
            try:
                self._divergence = _summed([b.derivative(i) for i, b in enumerate(self._velocity)])
            except TypeError:
                raise ValueError(
                    "velocity: the divergence of a callable is not known; expected divergence= (0.0 for a divergence-free field)"
                ) from None

    @property
    def velocity(self) -> tuple[Data, ...]:
        """b, one `Data` per direction."""
        return self._velocity

    @property
    def velocity_divergence(self) -> tuple[Data, ...]:
        """Data that sum to ∇·b."""
        return tuple(datum for datum in self._divergence if not datum.is_zero)

    def _speed(self, x: Array, t: float, direction: int) -> Array | float:
        b = self._velocity[direction]
        return float(b(np.zeros((self.dim, 1)))[0]) if b.constant else b(x, t)

    def flux(self, u: Array, x: Array, t: float, direction: int) -> Array:
        """b_i u."""
        return np.asarray(self._speed(x, t, direction) * u)

    def jacobian_product(self, u: Array, v: Array, x: Array, t: float, direction: int) -> Array:
        """b_i v."""
        return np.asarray(self._speed(x, t, direction) * v)

    def wave_speed(self, u: Array, x: Array, t: float, direction: int) -> Array:
        """|b_i|."""
        return np.broadcast_to(np.abs(self._speed(x, t, direction)), u.shape[1:])

    @property
    def stability(self) -> Stability:
        """y = ‖e‖², 2μ = sup( −∇·b − 2c )."""
        return Stability(self._growth)

    def _growth(self, lower: Array, upper: Array) -> Growth:
        data = [(-1.0, datum) for datum in self.velocity_divergence]
        if not self.reaction.is_zero:
            data.append((-2.0, self.reaction))
        return Growth((GrowthForm(np.zeros((1, self.dim)), tuple(data), np.zeros(1)),))


def _summed(terms: list[Data]) -> tuple[Data, ...]:
    """The sum where the data can be added exactly (a divergence-free field then gives exactly zero), else the terms."""
    total = [datum for datum in terms if not datum.is_zero]
    exact = [datum for datum in total if isinstance(datum, Trigonometric)]
    if exact and len(exact) == len(total):
        return (sum(exact[1:], exact[0]),)
    return tuple(total)
