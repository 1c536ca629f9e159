"""Memory of the machine, and whether the mesh of a box fits in it: asked before it is made."""

from __future__ import annotations

import os
import sys
from decimal import Decimal

from stfem.meshes.grid import TensorGrid

__all__ = ["physical_memory", "require_mesh"]

#: Bytes per cell and corner that tables of cells, facets and maps take at least.
_BYTES = 64


def physical_memory() -> int:
    """Bytes of memory that the machine has; where it does not say, as many as can be addressed."""
    names = ("SC_PHYS_PAGES", "SC_PAGE_SIZE")
    if not all(name in getattr(os, "sysconf_names", ()) for name in names):
        return sys.maxsize
    pages, size = map(os.sysconf, names)
    return pages * size if pages > 0 and size > 0 else sys.maxsize


def require_mesh(grid: TensorGrid) -> None:
    """Raise where the cells of a grid cannot be held as a mesh of vertices, cells and facets.

    Raises
    ------
    ValueError
        Naming the largest number of cells that there is room for.
    """
    memory = physical_memory()
    most = memory // (_BYTES * 2**grid.dim)
    if grid.size > most:
        # Decimal prints whole numbers of any size
        raise ValueError(
            f"cells: expected at most {Decimal(most):.2e} in all for a mesh, which fills the "
            f"{memory / 2**30:.3g} GiB of memory of this machine, got {Decimal(grid.size):.2e}"
        )
