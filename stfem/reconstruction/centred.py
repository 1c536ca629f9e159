"""What interpolations in time have in common: stencils around a slab, and no jumps between slabs (T2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stfem.spaces.legendre import legendre_values
from stfem.spaces.stencil import Array


class CentredStencil(ABC):
    """Nodes around a slab, as many on either side as their number allows."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Number k of nodes in a full stencil."""

    @property
    def look_ahead(self) -> int:
        """Nodes needed to the right of the slab's end."""
        return (self.nodes - 2) // 2

    @property
    def look_back(self) -> int:
        """Nodes wanted to the left of the slab's start."""
        return self.nodes - 2 - self.look_ahead


def remove_jumps(values: Array, local: NDArray[Any], per_node: int) -> None:
    """Make û take the node values at both ends of a slab, so that it does not jump between slabs.

    A linear function of local time takes back what the inverse missed there.

    Parameters
    ----------
    values
        Matrix from node data to orthonormal Legendre modes, changed in place.
    local
        Node times, 0 and 1 at the ends of the slab.
    per_node
        Columns of one node, its value first.
    """
    ends = legendre_values(len(values) - 1, np.array([0.0, 1.0]))
    for _ in range(2):
        defect = ends @ values
        defect[0, per_node * int(np.flatnonzero(local == 0)[0])] -= 1.0
        defect[1, per_node * int(np.flatnonzero(local == 1)[0])] -= 1.0
        values[:2] -= np.linalg.inv(ends[:, :2]) @ defect
