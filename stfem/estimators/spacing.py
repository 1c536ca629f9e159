"""How many time steps a slab spans (T2): from the share of the time stepping in the residual."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from stfem.reconstruction import BoundReconstruction, Hermite, ReconstructedSlab, combine
from stfem.semidiscretization import Semidiscretization
from stfem.spaces.legendre import gauss, legendre_values
from stfem.spaces.tensor import norm_l2_sq
from stfem.timestepping import Node

#: Largest growth of the spacing from one slab to the next.
GROWTH = 2


class NodeSelector:
    """Passes every K-th node on; K follows the temporal share reported by `update`.

    Parameters
    ----------
    nodes
        All nodes of the run.
    spacing
        Fixed K, or None for the automatic one, which starts at 1.
    target
        Share that the automatic K aims at.
    interpolant
        Its degree says how the share depends on K.
    """

    def __init__(
        self, nodes: Iterable[Node], spacing: int | None, target: float, interpolant: Hermite
    ) -> None:
        self._nodes, self._target = nodes, target
        self._fixed = spacing is not None
        self.spacing = spacing or 1
        self._exponent = 1.0 / interpolant.degree
        self.steps = 0

    def __iter__(self) -> Iterator[Node]:
        last, due = None, 0
        for n, node in enumerate(self._nodes):
            self.steps = n
            last = node
            if n == due:
                yield node
                last, due = None, n + self.spacing
        if last is not None:
            yield last

    def update(self, share: float) -> None:
        """Choose K for later slabs: the defect of Hermite interpolation of degree r in ∂_t grows like K^r."""
        if self._fixed:
            return
        wanted = (
            GROWTH * self.spacing
            if share == 0.0
            else self.spacing * 0.9 * (self._target / share) ** self._exponent
        )
        self.spacing = max(1, min(int(wanted), GROWTH * self.spacing))


def temporal_share(
    semidiscretization: Semidiscretization,
    reconstruction: BoundReconstruction,
    slab: ReconstructedSlab,
    residual: float,
) -> float:
    """‖S τ‖/‖R_H‖ with τ = dU^t/dt − H(U^t) − P(U^t) at two times of the slab (T2).

    Part of the report, never of the bound.

    Parameters
    ----------
    semidiscretization, reconstruction, slab
        What defines U^t and S.
    residual
        ‖R_H‖ (root mean square over the slab).
    """
    data = [array for node in slab.nodes for array in (node.node.values, node.node.rate)]
    times, _ = gauss(2)  # near the extrema of the interpolation defect in ∂_t; the midpoint is a zero of it
    basis = legendre_values(slab.time.degree, times)
    values = combine(basis @ slab.value_modes, data)
    rates = combine(basis @ slab.rate_modes, data)
    defects = []
    for s, u, rate in zip(times, values, rates, strict=True):
        defect = rate - semidiscretization.rhs(slab.time.start + s * slab.time.duration, u)
        defects.append(norm_l2_sq(reconstruction.field(defect), reconstruction.grid))
    size = float(np.sqrt(np.mean(defects)))
    if size == 0.0:
        return 0.0
    return size / residual if residual > 0.0 else np.inf
