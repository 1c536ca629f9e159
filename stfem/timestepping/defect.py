"""The temporal part of the residual of a step: how far an interpolant is from solving the ODE (T2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stfem.timestepping.integrate import Node
from stfem.timestepping.stepper import ODE, Array, Writing

__all__ = ["nodes_for_order", "temporal_defect"]

#: Gauss points of a step. The error of a step is a bump between its ends, and the error of interpolation
#: vanishes near the middle: both are seen there, and their mean square is that over the whole step.
_PLACES = (0.5 - 0.5 / 3.0**0.5, 0.5 + 0.5 / 3.0**0.5)


def nodes_for_order(order: int) -> int:
    """Least number k of nodes whose Hermite interpolant, of degree 2k − 1, is beyond an order of stepping."""
    return (order + 3) // 2


def temporal_defect(
    ode: ODE, nodes: Sequence[Node], norm: Callable[[Array], float], enough: float = np.inf
) -> float:
    """Mean over the last step of ‖r(t)‖, r = dU^t/dt − H(t,U^t) − P(t,U^t) (T2), per unit of time.

    U^t is the Hermite interpolant through all given nodes. With k of them and steps of order p the defect is
    O(Δt^{min(p, 2k−1)}); no reconstruction in space is needed.

    Parameters
    ----------
    ode
        The differential equation.
    nodes
        At least two, in the order of time, at any distances.
    norm
        Of a state, such as that of L².
    enough
        Where one point shows that the defect is above this, the other one is left out.

    Returns
    -------
    float
        √(½ Σ_i ‖r(t_i)‖²) at the two Gauss points of the step; times Δt it is ∫‖r‖ up to higher order.
    """
    writing, last = Writing(ode), nodes[-1]
    duration = last.time - nodes[-2].time
    times = np.array([node.time - last.time for node in nodes]) / duration
    total = 0.0
    for place in reversed(_PLACES):
        s = place - 1.0
        value, slope = _hermite(times, s)
        # Differences to the last node: their weights do not cancel, so that rounding stays that of U.
        state, rate = last.values.copy(), np.zeros(last.values.shape)
        for node, (u, f), (du, df) in zip(nodes, value, slope, strict=True):
            difference = node.values - last.values
            state += u * difference + (duration * f) * node.rate
            rate += (du / duration) * difference + df * node.rate
        right = np.empty(rate.shape)
        writing.rhs(last.time + s * duration, state, right)
        rate -= right
        size = norm(rate)
        total = float(np.hypot(total, 0.5**0.5 * size))
        if not total <= enough:
            return max(size, total)
    return total


def _hermite(nodes: Array, s: float) -> tuple[Array, Array]:
    """Weights of value and rate at every node, ``(k, 2)``, for the interpolant at s and for its slope.

    (1 − 2(s − s_n) l_n'(s_n)) l_n(s)² and (s − s_n) l_n(s)², l_n Lagrange; s is no node.
    """
    value, slope = np.empty((len(nodes), 2)), np.empty((len(nodes), 2))
    for n, node in enumerate(nodes):
        others = np.delete(nodes, n)
        square = ((s - others) / (node - others)).prod() ** 2
        growth = 2.0 * (1.0 / (s - others)).sum()  # (l_n²)' = growth · l_n²
        bend, distance = 2.0 * (1.0 / (node - others)).sum(), s - node
        value[n] = (1.0 - distance * bend) * square, distance * square
        slope[n] = (growth * (1.0 - distance * bend) - bend) * square, (1.0 + distance * growth) * square
    return value, slope
