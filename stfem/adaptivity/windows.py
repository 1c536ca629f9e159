"""Time steps from any time on, as nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from stfem.meshes.quadrature import Array
from stfem.semidiscretization import SolveError
from stfem.timestepping import Node, Stepper
from stfem.timestepping.integrate import node_at
from stfem.timestepping.stepper import ODE

__all__ = ["slab_nodes"]


def slab_nodes(
    ode: ODE, stepper: Stepper, initial: Array, times: Array, steps: Sequence[int]
) -> Iterator[Node]:
    """The nodes at given times, with equal time steps between two of them.

    Parameters
    ----------
    ode, stepper
        As for `stfem.timestepping.integrate`.
    initial
        Values at ``times[0]``.
    times
        Ascending.
    steps
        Numbers of time steps from each of these times to the next.

    Raises
    ------
    NonFiniteError, SolveError
        As `stfem.timestepping.integrate`.
    """
    node, taken = node_at(ode, float(times[0]), np.array(initial, dtype=float), 0), 0
    yield node
    for (start, stop), count in zip(pairwise(times.tolist()), steps, strict=True):
        dt = (stop - start) / count
        for k in range(1, count + 1):
            taken += 1
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                try:
                    values = stepper.step(ode, node.time, node.values, dt, node.rate)
                except SolveError as error:
                    raise SolveError(error.what, error.residual, node.time, taken) from error
            node = node_at(ode, stop if k == count else start + k * dt, values, taken)
        yield node
