"""What interpolation in time adds to the residual on meshes: an estimate, never part of a bound (T2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stfem.meshes.quadrature import Array
from stfem.reconstruction.unstructured import MeshSlab, NodalReconstruction
from stfem.spaces.legendre import gauss, legendre_values

__all__ = ["temporal_defect"]

#: Times per slab. A cubic Hermite interpolant is exact to one order more in the middle: two others.
_TIMES = 2


def temporal_defect(
    slab: MeshSlab, nodal: NodalReconstruction, right_side: Callable[[float, Array], Array]
) -> float:
    """‖Sτ‖ in L²(slab × Ω), τ = dU^t/dt − H(t, U^t) − P(t, U^t), from two times of the slab.

    U^t interpolates the numerical solution in time as û is interpolated, S is the local rule behind û.

    Parameters
    ----------
    slab
        With its nodes.
    nodal
        S.
    right_side
        H + P as a function of t and U.
    """
    nodes = [entry.node for entry in slab.nodes]
    columns = slab.value_modes.shape[1]
    data = [array for n in nodes for array in (n.values, n.rate)[: columns // len(nodes)]]
    total = 0.0
    for s, weight in zip(*gauss(_TIMES), strict=True):
        row = legendre_values(len(slab.value_modes) - 1, [float(s)])[0]
        value, rate = (
            sum((w * array for w, array in zip(row @ modes, data, strict=True)), np.zeros_like(data[0]))
            for modes in (slab.value_modes, slab.rate_modes)
        )
        defect = rate - right_side(slab.time.start + float(s) * slab.time.duration, value)
        total += float(weight) * nodal.target.broken.norm_l2(nodal.field(defect)) ** 2
    return float(np.sqrt(slab.time.duration * total))
