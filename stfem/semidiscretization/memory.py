"""Whether a run fits in the memory of the machine: asked before anything of its size is made."""

from __future__ import annotations

from decimal import Decimal

from stfem.meshes.grid import TensorGrid
from stfem.meshes.memory import physical_memory

__all__ = ["physical_memory", "require_memory"]

#: Arrays of all unknowns that every run holds at once: U_0, U_n, F_n, U_{n+1}. The stages, reconstructions
#: and work arrays that come on top depend on the methods, so that what is refused could never run.
LEAST_ARRAYS = 4
_BYTES = 8


def require_memory(grid: TensorGrid, components: int, degree: int) -> None:
    """Raise where the unknowns m (q+1)^d N_1 ⋯ N_d of a run cannot be held.

    Parameters
    ----------
    grid
        Grid of N_1 × … × N_d cells.
    components, degree
        Number of components m and polynomial degree q per direction.

    Raises
    ------
    ValueError
        Naming the largest number of cells that there is room for.
    """
    memory = physical_memory()
    most = memory // (LEAST_ARRAYS * _BYTES * components * (degree + 1) ** grid.dim)
    if grid.size > most:
        # Decimal prints whole numbers of any size
        raise ValueError(
            f"cells: expected at most {Decimal(most):.2e} in all at degree {degree}, with which a run fills "
            f"the {memory / 2**30:.3g} GiB of memory of this machine, got {Decimal(grid.size):.2e}"
        )
