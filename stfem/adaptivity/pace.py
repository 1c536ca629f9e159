"""How long the windows of a run are, and how many slabs they have."""

from __future__ import annotations

from math import ceil

import numpy as np

from stfem.adaptivity.mesh_search import StoppedError
from stfem.meshes.quadrature import Array

__all__ = ["Pace"]

#: Shares of the time stepping in what a window adds: above the first the next slabs are shorter, below the
#: second longer, by these factors.
_LARGE, _SMALL = 0.2, 0.05
_SHORTER, _LONGER = 0.7, 1.5
#: Share of the change of the mesh from which on the next windows are longer.
_CHANGES = 0.3
#: Part of the error that stays in its cells for a window: below the first windows get shorter, below the
#: second not longer.
_MOVES, _STAYS = 0.2, 0.5
#: Largest number of slabs of a window, in multiples of the usual one, before windows get shorter instead.
_CROWDED = 4
#: Slabs of a window, from equal ones (0) to those between Chebyshev's points (1).
_GRADED = 0.5
#: The shortest window, relative to the run.
_SHORTEST = 1e-9


class Pace:
    """Slabs up to the final time, which is met exactly.

    Parameters
    ----------
    final_time
        T.
    slabs
        Of a window, usually; half of it at least.
    duration
        Of the first window.
    """

    def __init__(self, final_time: float, slabs: int, duration: float) -> None:
        self.final_time, self._usual, self._count = final_time, slabs, slabs
        self._duration = min(duration, final_time)

    def times(self, start: float) -> Array:
        """Ends of the slabs of a window from a time on; windows of this length lead to the final time.

        The first and the last slabs are shorter: interpolation in time is one-sided there.
        """
        left = self.final_time - start
        windows = max(1, ceil(left / self._duration * (1.0 - 1e-10)))
        parts = np.linspace(0.0, 1.0, self._count + 1)
        parts += _GRADED * (0.5 * (1.0 - np.cos(np.pi * parts)) - parts)
        times = start + left / windows * parts
        if windows == 1:
            times[-1] = self.final_time
        return times

    def halve(self, start: float, reason: str, change: float = 1.0, stays: float = 1.0) -> None:
        """Shorter slabs for the window from a time on: a shorter window where the error moves, or more slabs.

        Parameters
        ----------
        start
            Of the window.
        reason
            For the message.
        change, stays
            As in `adapt`.

        Raises
        ------
        StoppedError
            Where windows become too short.
        """
        if not self._moves(change, stays) and self._count < _CROWDED * self._usual:
            self._count *= 2
            return
        times = self.times(start)
        self._duration = 0.5 * float(times[-1] - times[0])
        if self._duration < _SHORTEST * self.final_time:
            raise StoppedError(f"{reason}, with windows down to {self._duration:.2g}")

    @staticmethod
    def _moves(change: float, stays: float) -> bool:
        """Whether shorter windows pay."""
        return stays < _STAYS and change < _CHANGES

    def adapt(self, duration: float, temporal: float, change: float, stays: float) -> None:
        """Learn from an accepted window.

        Parameters
        ----------
        duration
            Its length.
        temporal, change
            Shares of the time stepping and of the change of the mesh in what it added to the bound.
        stays
            Part of the error that is in the same cells at the end of the window as at its start: where that
            is little, the mesh is fine in places where it need not be for most of the time.
        """
        count, usual, factor = self._count, self._usual, 1.0
        if temporal > _LARGE and not self._moves(change, stays) and count < _CROWDED * usual:
            self._count = min(ceil(count / _SHORTER), _CROWDED * usual)
        elif temporal > _LARGE or (stays < _MOVES and change < _CHANGES):
            factor = _SHORTER
        elif temporal < _SMALL and count > ceil(usual / 2):
            self._count = max(ceil(usual / 2), int(count / _LONGER))
        elif (change > _CHANGES and stays > _MOVES) or (temporal < _SMALL and stays > _STAYS):
            factor = _LONGER
        self._duration = min(factor * duration, self.final_time)
