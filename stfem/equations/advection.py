"""Linear advection–diffusion–reaction."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import numpy as np

from stfem.checks import whole_number
from stfem.data import Constant, Data, Polynomial, Trigonometric, as_data
from stfem.data.base import Array
from stfem.equations.base import Equation
from stfem.equations.stability import Growth, GrowthForm, Stability


class AdvectionDiffusion(Equation):
    """∂_t u + ∇·(b u) + c u − ∇·(D ∇u) = g (T1.1), with the rate 2μ = sup( −∇·b − 2c ) taken jointly (T4).

    For a Trigonometric, Polynomial or constant velocity ∇·b follows by exact algebra. What cancels up to
    round-off counts as zero, so that a divergence-free field causes no growth at all: a velocity within a few
    units of round-off has exactly the divergence used here, and the residual with that velocity differs by no
    more than the round-off term of the bound (T4.6).

    Parameters
    ----------
    velocity
        b: d numbers, `Data` or callables, one number if d = 1, or one callable ``b(x, t)`` with values
        ``(d, …)``, which needs ``dim``. A callable ``b(x)`` is steady: on meshes the scheme is then put
        together once rather than at every stage.
    diffusion
        D: number or symmetric positive semi-definite matrix, length²/time.
    reaction
        c: number, `Data` or callable ``c(x, t)`` or ``c(x)``, 1/time.
    dim
        Space dimension where ``velocity`` does not tell.
    divergence
        ∇·b as number (0 for a divergence-free field), `Data` or callable, where it does not follow from
        ``velocity``. It is compared with differences of b.

    Raises
    ------
    ValueError, TypeError
        For a velocity without known dimension or divergence, or data of the wrong shape.
    """

    linear = True
    flux_degree = 1

    def __init__(
        self,
        velocity: object,
        diffusion: object = 0.0,
        reaction: object = 0.0,
        dim: int | None = None,
        divergence: object = None,
    ) -> None:
        super().__init__(_dimension(velocity, dim), 1, diffusion, None, reaction)
        self._velocity = as_data(velocity, self.dim, self.dim, "velocity", None)
        self._numbers = [b.value if isinstance(b, Constant) else None for b in self._velocity]
        self._kept: dict[tuple[int, int], Array] = {}
        #: ∇·b as it was given.
        self.divergence = (
            None if divergence is None else as_data(divergence, self.dim, 1, "divergence", None)[0]
        )
        if self.divergence is None:
            self._divergence = _divergence(self._velocity)
        else:
            self._divergence = _summed((self.divergence,))

    def __repr__(self) -> str:
        velocity = tuple(b if n is None else n for n, b in zip(self._numbers, self._velocity, strict=True))
        return f"AdvectionDiffusion(velocity={velocity}, diffusion={self.described_diffusion})"

    @property
    def velocity(self) -> tuple[Data, ...]:
        """b, one `Data` per direction."""
        return self._velocity

    @property
    def velocity_divergence(self) -> tuple[Data, ...]:
        """Data that sum to ∇·b."""
        return self._divergence

    def __getstate__(self) -> dict[str, object]:
        # kept by the identity of arrays, which a copy does not share
        return {**self.__dict__, "_kept": {}}

    def _speed(self, x: Array, t: float, direction: int) -> Array | float:
        number, b = self._numbers[direction], self._velocity[direction]
        if number is not None:
            return number
        if b.time_dependent or x.flags.writeable:
            return b(x, t)
        # read-only points are those of a grid, met again in every stage; what is kept goes when they go
        key = (id(x), direction)
        if key not in self._kept:
            self._kept[key] = b(x, t)
            weakref.finalize(x, self._kept.pop, key, None)
        return self._kept[key]

    def flux(self, u: Array, x: Array, t: float, direction: int) -> Array:
        """b_i u."""
        return u * self._speed(x, t, direction)

    def jacobian_product(self, u: Array, v: Array, x: Array, t: float, direction: int) -> Array:
        """b_i v."""
        return v * self._speed(x, t, direction)

    def wave_speed(self, u: Array, x: Array, t: float, direction: int) -> Array:
        """|b_i|."""
        return np.broadcast_to(np.abs(self._speed(x, t, direction)), u.shape[1:])

    @property
    def stability(self) -> Stability:
        """The scalar inequality, y = ‖e‖², with 2μ = sup( −∇·b − 2c )."""
        return Stability(self._growth)

    def _growth(self, lower: Array, upper: Array) -> Growth:
        data = [(-1.0, datum) for datum in self._divergence]
        if not self.reaction.is_zero:
            data.append((-2.0, self.reaction))
        unproved = [
            d.assumption for d in (*self._velocity, *(d for _, d in data)) if d.assumption is not None
        ]
        form = GrowthForm(np.zeros((1, self.dim)), tuple(data), np.zeros(1))
        return Growth((form,), assumption=unproved[0] if unproved else None)

    def check(self) -> None:
        super().check()
        x = np.random.default_rng(11).uniform(0.1, 0.9, (self.dim, 16))
        step = 1e-5
        shifts = step * np.eye(self.dim)[:, :, None]
        slopes = [
            (b(x + shift, 0.37) - b(x - shift, 0.37)) / (2.0 * step)
            for b, shift in zip(self._velocity, shifts, strict=True)
        ]
        expected = np.sum(slopes, axis=0)
        given = sum((datum(x, 0.37) for datum in self._divergence), np.zeros(16))
        scale = 1.0 + max(float(np.max(np.abs(slope))) for slope in slopes)
        # a kink of b next to a point spoils the difference there, not the median
        if float(np.median(np.abs(given - expected))) > 1e-3 * scale:
            raise ValueError(
                f"divergence: expected ∇·b, by differences {expected[:3]} at three points, got {given[:3]}"
            )


def _dimension(velocity: object, dim: int | None) -> int:
    if isinstance(velocity, Data):
        found: int | None = velocity.dim
    elif callable(velocity):
        found = dim
    elif isinstance(velocity, Sequence):
        found = len(velocity)
    else:
        found = velocity.size if isinstance(velocity, np.ndarray) else 1
    if found is None:
        raise ValueError("velocity: expected dim= beside a callable, got none")
    if dim is not None and whole_number("dim", dim) != found:
        raise ValueError(f"velocity: expected {dim} components (dim), got {found}")
    return found


def _divergence(velocity: tuple[Data, ...]) -> tuple[Data, ...]:
    slopes = []
    for i, b in enumerate(velocity):
        try:
            slopes.append(b.derivative(i))
        except TypeError:
            raise ValueError(
                f"velocity: expected divergence= beside {b!r}, whose derivative is not known exactly "
                "(divergence=0 for a divergence-free field), got none"
            ) from None
    return _summed(slopes)


def _summed(terms: Sequence[Data]) -> tuple[Data, ...]:
    """The sum in few addends, without zeros.

    Trigonometric addends are merged at once, so that cancellation is judged by the size of all of them.
    """
    waves = [datum for datum in terms if isinstance(datum, Trigonometric)]
    polynomials = [datum for datum in terms if isinstance(datum, Polynomial)]
    result: list[Data] = [datum for datum in terms if not isinstance(datum, (Trigonometric, Polynomial))]
    if waves:
        wavevectors = np.concatenate([wave.wavevectors for wave in waves])
        frequencies = np.concatenate([wave.frequencies for wave in waves])
        result.append(Trigonometric(wavevectors, frequencies, np.concatenate([w.amplitudes for w in waves])))
    if polynomials:
        result.append(sum(polynomials[1:], polynomials[0]))
    return tuple(datum for datum in result if not datum.is_zero)
