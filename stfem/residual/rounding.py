"""Round-off in the residual of a slab (T4.6, C11)."""

from __future__ import annotations

import numpy as np

from stfem.meshes.grid import TensorGrid
from stfem.reconstruction import ReconstructedSlab
from stfem.residual.norms import UNDERFLOW
from stfem.spaces.stencil import Array

UNIT_ROUNDOFF = 2.0**-53


def rounding(slab: ReconstructedSlab, sizes: Array, magnitude: Array, grid: TensorGrid, degree: int) -> float:
    """Σ C u ∫_slab of the sizes of what is added up (T4.6); C counts the operations of each sum.

    Parameters
    ----------
    slab
        The slab.
    sizes, magnitude
        Sizes of value and rate at every node: of û, and of all terms of the residual.
    grid, degree
        Grid and degree of û.
    """
    scale = np.sqrt(grid.cell_measure)
    values = np.abs(slab.value_modes).max(axis=0)
    rates = np.abs(slab.rate_modes).max(axis=0)
    # û is what the stored numbers say, so only the sums of the residual round: 2k terms in time, and
    # derivatives in space
    in_time = 2.0 * len(slab.nodes) + 3.0
    in_space = in_time + 2.0 * (degree + 2) * grid.dim
    # what the interpolant jumps by between slabs, for lack of digits in its matrix
    ends = np.sqrt(2.0 * np.arange(len(slab.value_modes)) + 1.0) @ np.abs(slab.value_modes)
    jumps = 2.0 * float(ends @ sizes) / slab.time.duration
    rounded = jumps + in_time * float(rates @ sizes) + in_space * float(values @ magnitude)
    still = not any(np.any(array) for n in slab.nodes for array in (n.node.values, n.node.rate))
    lost = 0.0 if still else UNDERFLOW * float(np.sqrt(grid.measure))
    return float(UNIT_ROUNDOFF * slab.time.duration * scale * rounded) + lost
