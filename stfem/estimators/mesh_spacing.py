"""How many time steps a slab spans on a mesh (T2): from what the interpolation in time adds to its cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from stfem.estimators.spacing import TOLERATED, NodeSelector
from stfem.reconstruction.unstructured import (
    DiscreteSlab,
    MeshReconstruction,
    MeshSlab,
    TimeInterpolant,
)
from stfem.resumable import Resumable
from stfem.semidiscretization import UnstructuredSemidiscretization
from stfem.timestepping import Node

__all__ = ["MeshSpacing"]

#: Where on a slab the defect of the interpolant is looked at: not in the middle, where it may vanish.
_PLACE = 0.2
#: What errors may decay by on a slab, whose contributions count from its end on.
_DECAY = 0.1
#: Largest spacing that one slab can ask for, relative to its own.
_GROWTH = 2


class MeshSpacing(Resumable):
    """Passes every K-th node on; K follows the slabs of one or several reconstructions.

    Parameters
    ----------
    semidiscretization
        The scheme.
    nodes
        All nodes of the run.
    spacing
        Fixed K, or None for the automatic one.
    share
        Of what a slab adds to the bound, that the automatic K leaves to the interpolation in time.
    reconstructions, interpolants
        One interpolant per reconstruction.
    """

    PAST = ("_floor", "_selector")

    def __init__(
        self,
        semidiscretization: UnstructuredSemidiscretization,
        nodes: Iterable[Node],
        spacing: int | None,
        share: float,
        reconstructions: Sequence[MeshReconstruction],
        interpolants: Sequence[TimeInterpolant],
    ) -> None:
        self._semi, self._automatic = semidiscretization, spacing is None
        self._reconstructions, self._target = reconstructions, share
        # share of the errors of the time stepping itself, which shorter slabs show as well
        self._floor = 0.0
        lowest = min(interpolants, key=lambda interpolant: interpolant.degree)
        final_time = semidiscretization.problem.final_time
        self._selector = NodeSelector(nodes, spacing, share, lowest, final_time)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._selector)

    def update(self, slabs: Sequence[MeshSlab], costs: Sequence[float], decay_rate: float) -> None:
        """Learn from one slab.

        Parameters
        ----------
        slabs, costs
            The slab as every reconstruction has it, and what it adds to the bound.
        decay_rate
            At which errors decay at least, 1/time.
        """
        if not self._automatic:
            return
        found = [
            (self._share(reconstruction, slab.discrete, cost), slab.discrete, cost)
            for reconstruction, slab, cost in zip(self._reconstructions, slabs, costs, strict=True)
            if slab.discrete is not None
        ]
        share, slab, cost = max(found, key=lambda entry: entry[0])
        residual = cost / float(np.sqrt(slab.time.duration))
        steps = self._selector.steps_of(slab.time)
        self._floor = share if steps == 1 else min(self._floor, share)
        share = min(share, TOLERATED * self._target) if steps == 1 else share - self._floor
        rates, longest = slab.rate_sizes(self._semi.space), _DECAY / max(decay_rate, 1e-300)
        self._selector.update(slab.time, share, residual, rates, longest=longest)
        # slabs to come are in the stencil already when the share of this one is seen
        self._selector.wanted = min(self._selector.wanted, _GROWTH * steps)

    def _share(self, reconstruction: MeshReconstruction, slab: DiscreteSlab, cost: float) -> float:
        """Size of dU^t/dt − H(U^t) − P(U^t) as û sees it, times Δt, over what the slab costs."""
        u, rate = slab.at(_PLACE)
        t = slab.time.start + _PLACE * slab.time.duration
        rate -= self._semi.rhs(t, u)
        defect = slab.time.duration * reconstruction.defect_size(rate)
        return defect / cost if cost > 0.0 else float(defect > 0.0)
