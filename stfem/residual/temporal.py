"""What interpolation in time adds to the residual on meshes: an estimate, never part of a bound (T2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stfem.meshes.quadrature import Array
from stfem.reconstruction.unstructured import DiscreteSlab, MeshReconstruction
from stfem.spaces.legendre import gauss

__all__ = ["temporal_defect"]

#: Times per slab. A cubic Hermite interpolant is exact to one order more in the middle: two others.
_TIMES = 2


def temporal_defect(
    slab: DiscreteSlab, reconstruction: MeshReconstruction, right_side: Callable[[float, Array], Array]
) -> float:
    """‖Sτ‖ in L²(slab × Ω), τ = dU^t/dt − H(t, U^t) − P(t, U^t), from two times of the slab.

    Parameters
    ----------
    slab
        The numerical solution U^t, interpolated in time as û is.
    reconstruction
        With the local rule S behind û.
    right_side
        H + P as a function of t and U.
    """
    total = 0.0
    for s, weight in zip(*gauss(_TIMES), strict=True):
        value, rate = slab.at(float(s))
        rate -= right_side(slab.time.start + float(s) * slab.time.duration, value)
        total += float(weight) * reconstruction.defect_size(rate) ** 2
    return float(np.sqrt(slab.time.duration * total))
