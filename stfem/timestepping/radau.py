"""Radau IIA collocation methods: fully implicit, L-stable, stiffly accurate, of order 2s − 1."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from stfem.checks import checked_array, checked_instance, whole_number
from stfem.timestepping.tableau import check_order

__all__ = ["RADAU3", "RADAU5", "ImplicitTableau", "radau_iia"]

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class ImplicitTableau:
    """Coefficients of a fully implicit Runge–Kutta method with an invertible matrix a and c_s = 1, b = a_s.

    Parameters
    ----------
    name : for messages.
    a : (stages, stages) matrix.
    order : claimed order; every order condition up to it is checked.

    Raises
    ------
    ValueError
        the last node is not 1, a is singular, or an order condition fails (the message names its tree).
    """

    name: str
    a: Array
    order: int

    def __post_init__(self) -> None:
        checked_instance("name", self.name, str, "a name")
        a = checked_array(f"{self.name}, a", self.a)
        if a.ndim != 2 or a.shape[0] != a.shape[1] or a.size == 0:
            raise ValueError(f"{self.name}: expected a square matrix a, got shape {a.shape}")
        if abs(a[-1].sum() - 1.0) > 1e-14:
            raise ValueError(f"{self.name}: expected the last node to be 1, got {a[-1].sum()}")
        if np.linalg.cond(a) > 1e8:
            raise ValueError(f"{self.name}: expected an invertible matrix a, got a singular one")
        exact = tuple(tuple(Fraction(entry) for entry in row) for row in a.tolist())
        check_order(self.name, (exact,), exact[-1], self.order)
        a.flags.writeable = False
        object.__setattr__(self, "a", a)

    @property
    def stages(self) -> int:
        """Number of stages."""
        return len(self.a)

    @property
    def c(self) -> Array:
        """Nodes: row sums of a; the last is 1."""
        return np.asarray(self.a.sum(axis=1))

    def __repr__(self) -> str:
        return f"ImplicitTableau({self.name!r}, order={self.order}, stages={self.stages})"


def radau_iia(stages: int) -> ImplicitTableau:
    """Radau IIA: c_i the zeros of d^{s−1}/dx^{s−1}( x^{s−1}(x − 1)^s ), a_ij = ∫_0^{c_i} ℓ_j.

    Raises
    ------
    ValueError
        for a number of stages other than 1 to 5 (from there on rounding shows in the order conditions).
    """
    if whole_number("stages", stages) not in range(1, 6):
        raise ValueError(f"stages: expected 1 to 5, got {stages}")
    x = Polynomial([0.0, 1.0])
    nodes = np.sort((x ** (stages - 1) * (x - 1.0) ** stages).deriv(stages - 1).roots().real)
    nodes[-1] = 1.0
    a = np.empty((stages, stages))
    for j in range(stages):
        basis = Polynomial([1.0])
        for other in np.delete(nodes, j):
            basis = basis * (x - other) / (nodes[j] - other)
        a[:, j] = basis.integ()(nodes)
    return ImplicitTableau(f"Radau IIA {2 * stages - 1}", a, 2 * stages - 1)


#: Two stages, order 3.
RADAU3 = radau_iia(2)

#: Three stages, order 5.
RADAU5 = radau_iia(3)
