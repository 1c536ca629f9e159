"""Whether what a user gives for linear systems solves them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

import numpy as np
from scipy import sparse

from stfem.checks import described
from stfem.data.callables import takes
from stfem.semidiscretization.unstructured import LinearSolver

__all__ = ["checked_solver"]


def checked_solver(solver: object) -> LinearSolver:
    """The solver, once it has solved 2x = 1.

    Raises
    ------
    TypeError, ValueError
        For what does not make a matrix ready for solves, or solves another system.
    """
    if not callable(solver) or not isinstance(solver, Hashable) or not takes(solver, "matrix"):
        raise TypeError(f"solver: expected one such as Gmres(), got {described(solver)}")
    ready = solver(sparse.csr_array(2.0 * np.eye(2)))
    if not callable(getattr(ready, "solve", None)):
        raise TypeError(f"solver: expected one whose factors have solve(rhs), got {described(ready)}")
    found = np.asarray(ready.solve(np.ones(2)))
    if found.shape != (2,) or not np.allclose(found, 0.5, rtol=1e-2):
        raise ValueError(f"solver: expected the solution [0.5, 0.5] of 2x = 1, got {described(found)}")
    return cast(LinearSolver, solver)
