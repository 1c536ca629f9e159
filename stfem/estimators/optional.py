"""When work that may sharpen the bound, and never costs the guarantee, is worth doing (T3.5)."""

from __future__ import annotations

from collections.abc import Callable

from stfem.resumable import Resumable

#: Gain of the flux family over its member λ = 1 that is not worth measuring,
FAMILY_GAIN = 1e-3
#: and that of splits by frequencies.
SPECTRAL_GAIN = 1e-2
#: Slabs in a row on which it is not tried then,
PAUSE = 31
#: unless the bound has risen by this factor.
RISE = 3.0


class OptionalWork(Resumable):
    """When other splits of the residual are measured: not where d̃ = D∇û, the cheapest, does as well (T3.5).

    Every split is a valid choice on every slab, so that this saves work and never costs the guarantee.

    Parameters
    ----------
    worth
        Relative gain that is worth the work.
    optional
        Whether slabs may do without.
    """

    PAST = ("_gains", "_left", "_level")

    def __init__(self, worth: float, optional: bool = True) -> None:
        self._worth, self._optional = worth, optional
        self._gains = False  # on the last slab that was measured with all
        self._left = 0
        self._level = 0.0

    def due(self, level: float, gain: Callable[[], float]) -> bool:
        """Whether to do the work on the next slab.

        Parameters
        ----------
        level
            Error bound at the start of the slab.
        gain
            What it can gain there at most.
        """
        if self._gains or not self._optional:
            return True
        self._left -= 1
        if self._left >= 0 and level <= RISE * self._level:
            return False
        if gain() <= self._worth:
            self._rest(level)
            return False
        return True

    def learn(self, gain: float, level: float) -> None:
        """Learn from a slab where it was done, with the bound ``level`` at its start."""
        self._gains = gain > self._worth
        if not self._gains:
            self._rest(level)

    def _rest(self, level: float) -> None:
        self._left, self._level = PAUSE, level
