"""Butcher tableaux that check themselves when they are built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from stfem.checks import checked_instance, checked_list, described, numeric_array, whole_number
from stfem.timestepping import stability
from stfem.timestepping.order_conditions import order_residuals

#: Largest defect of a row sum or an order condition: above the rounding of float coefficients, below any
#: typing error.
TOLERANCE = Fraction(1, 10**14)

_DIGITS = 50
#: Stages of a method, and the order up to which conditions are checked, of which there are thousands beyond.
MAX_STAGES, MAX_ORDER = 64, 10

Vector = tuple[Fraction, ...]
Matrix = tuple[Vector, ...]


@dataclass(frozen=True, repr=False)
class ButcherTableau:
    """Coefficients of a Runge-Kutta method, explicit or diagonally implicit with an explicit first stage.

        U_i = u + dt · sum_j a_ij F(t + c_j dt, U_j),      u_new = u + dt · sum_j b_j F(t + c_j dt, U_j)

    Entries are fractions, or anything that ``Fraction`` takes without loss.

    Parameters
    ----------
    name : for messages.
    a : (stages, stages) matrix; rows may stop early, the rest is zero.  Strictly lower triangular
        (explicit), or lower triangular with diagonal (0, gamma, ..., gamma), gamma > 0 (ESDIRK).
    b : (stages,) weights.
    order : claimed order; every order condition up to it is checked.
    c : (stages,) nodes; the row sums of ``a`` by default.
    embedded, embedded_order : weights of a second method on the same stages and its order.

    Raises
    ------
    ValueError
        wrong shape; c is not the row sum of a; an order condition fails (the message names its tree).
    """

    name: str
    a: Matrix
    b: Vector
    order: int
    c: Vector = ()
    embedded: Vector = ()
    embedded_order: int = 0

    def __post_init__(self) -> None:
        checked_instance("name", self.name, str, "a name")
        rows = [checked_list(f"{self.name}, a", row) for row in checked_list(f"{self.name}, a", self.a)]
        stages = len(checked_list(f"{self.name}, b", self.b))
        if not 0 < stages <= MAX_STAGES:
            raise ValueError(f"{self.name}: expected 1 to {MAX_STAGES} stages, got {stages} weights")
        if len(rows) != stages or any(len(row) > stages for row in rows):
            raise ValueError(
                f"{self.name}: expected {stages} rows of at most {stages} coefficients (one per weight), "
                f"got rows of lengths {[len(row) for row in rows]}"
            )
        a = tuple(_fractions(row, self.name) + (Fraction(0),) * (stages - len(row)) for row in rows)
        row_sums = tuple(sum(row, Fraction(0)) for row in a)
        for field, value in {
            "a": a,
            "b": _fractions(self.b, self.name),
            "c": _fractions(self.c, self.name) or row_sums,
            "embedded": _fractions(self.embedded, self.name),
        }.items():
            object.__setattr__(self, field, value)
        self._check_shape()
        if any(abs(c - total) > TOLERANCE for c, total in zip(self.c, row_sums, strict=True)):
            raise ValueError(
                f"{self.name}: expected c = row sums of a = {[float(x) for x in row_sums]}, "
                f"got {[float(x) for x in self.c]}"
            )
        check_order(self.name, (self.a,), self.b, self.order)
        if self.embedded:
            check_order(f"{self.name} (embedded)", (self.a,), self.embedded, self.embedded_order)

    def _check_shape(self) -> None:
        for field, size in (("c", len(self.c)), ("embedded", len(self.embedded) or self.stages)):
            if size != self.stages:
                raise ValueError(f"{self.name}: expected {self.stages} entries of {field}, got {size}")
        if any(self.a[i][j] != 0 for i in range(self.stages) for j in range(i + 1, self.stages)):
            raise ValueError(
                f"{self.name}: expected a lower triangular matrix a, got entries above the diagonal"
            )
        diagonal = [row[i] for i, row in enumerate(self.a)]
        if diagonal != [0] + [self.gamma] * (self.stages - 1) or self.gamma < 0:
            raise ValueError(
                f"{self.name}: expected the diagonal of a to be zero (explicit) or (0, gamma, ..., gamma) "
                f"with gamma > 0 (ESDIRK), got {[float(x) for x in diagonal]}"
            )

    @classmethod
    def from_text(
        cls, name: str, a: str, b: str, order: int, embedded: str = "", embedded_order: int = 0
    ) -> ButcherTableau:
        """Read a tableau as it is printed: blanks between fractions, ``;`` between the rows of ``a``."""
        for given in (name, a, b, embedded):
            checked_instance("from_text", given, str, "text")
        rows = tuple(_fractions(row.split(), name) for row in a.split(";"))
        weights, second = _fractions(b.split(), name), _fractions(embedded.split(), name)
        return cls(name, rows, weights, order, embedded=second, embedded_order=embedded_order)

    @property
    def stages(self) -> int:
        """Number of stages."""
        return len(self.b)

    @property
    def gamma(self) -> Fraction:
        """Diagonal entry of the implicit stages, 0 for an explicit method."""
        return self.a[-1][-1]

    @property
    def explicit(self) -> bool:
        """Whether every stage follows from earlier ones without a solve."""
        return self.gamma == 0

    @property
    def stiffly_accurate(self) -> bool:
        """Whether the last stage is the new value (last row of a equals b)."""
        return self.a[-1] == self.b

    @property
    def fsal(self) -> bool:
        """First same as last: the last stage is the first of the next step (c_s = 1 follows)."""
        return self.explicit and self.stiffly_accurate

    @cached_property
    def stability_polynomials(self) -> tuple[Vector, Vector]:
        """Coefficients, constant first, of P and Q in the stability function R(z) = P(z)/Q(z).

        R(z) = 1 + sum_k z^k b·A^{k−1}1 and Q(z) = (1 − gamma z)^{s−1}, P the product of both up to degree s.
        """
        return stability.rational(self.a, self.b, self.gamma)

    def stability_function(self, z: ArrayLike) -> np.ndarray[tuple[int, ...], np.dtype[np.complex128]]:
        """Return R(z): a step for u' = lambda u multiplies u by R(dt · lambda).  Same shape as ``z``."""
        return stability.evaluate(self.stability_polynomials, numeric_array(z, "z"))

    @cached_property
    def real_stability(self) -> float:
        """Length x of the interval [−x, 0] on which |R| ≤ 1; infinite for an A-stable method."""
        return stability.real_extent(self.stability_polynomials)

    @cached_property
    def imaginary_stability(self) -> float:
        """Largest y with |R| ≤ 1 on i[−y, y]: 0 where |R| exceeds 1 at once, infinite if A-stable."""
        return stability.imaginary_extent(self.stability_polynomials)

    def stable_step(self, eigenvalues: ArrayLike) -> float:
        """Return the largest dt with |R(dt' · lambda)| ≤ 1 + 1e-9 for every eigenvalue and every dt' ≤ dt.

        This is the step limit of a linear semidiscretisation u' = L u whose operator is (nearly) normal, such
        as an upwind DG operator, whose Fourier symbol gives the eigenvalues.  Steps are tried along a
        geometric sequence of ratio 1.02 starting at 1e-3/max|lambda|, and the first failure is refined by
        bisection.

        Parameters
        ----------
        eigenvalues : complex array of any shape; unit 1/time.

        Returns
        -------
        float
            the limit; ``inf`` where there is none (all eigenvalues zero, or no failure up to 1e12/max|lambda|
            with an implicit method); 0.0 where the first step tried already fails, that is for growing modes.

        Raises
        ------
        ValueError
            an eigenvalue is not finite.
        """
        return stability.stable_step(self.stability_polynomials, numeric_array(eigenvalues, "eigenvalues"))

    def __repr__(self) -> str:
        kind = "explicit" if self.explicit else "ESDIRK"
        return f"ButcherTableau({self.name!r}, {kind}, order={self.order}, stages={self.stages})"


@dataclass(frozen=True, repr=False)
class AdditiveTableau:
    """Pair of methods for u' = H(t,u) + P(t,u) with common weights and nodes: H explicit, P implicit.

        U_i = u + dt · sum_j ( aE_ij H(t + c_j dt, U_j) + aI_ij P(t + c_j dt, U_j) ),
        u_new = u + dt · sum_j b_j (H_j + P_j)

    Checked beyond the two parts: equal weights and nodes, and the coupling conditions of ``order`` (all trees
    with two colours, E and I).

    Raises
    ------
    ValueError
        the parts do not fit, or a condition fails (the message names its tree).
    """

    name: str
    explicit: ButcherTableau
    implicit: ButcherTableau
    order: int

    def __post_init__(self) -> None:
        checked_instance("name", self.name, str, "a name")
        for part in (self.explicit, self.implicit):
            checked_instance(self.name, part, ButcherTableau, "a ButcherTableau in both parts")
        if not self.explicit.explicit or self.implicit.explicit:
            raise ValueError(
                f"{self.name}: expected an explicit and an implicit part, "
                f"got {self.explicit} and {self.implicit}"
            )
        if self.explicit.b != self.implicit.b or self.explicit.embedded != self.implicit.embedded:
            raise ValueError(f"{self.name}: expected the same weights in both parts, got different ones")
        if any(abs(x - y) > TOLERANCE for x, y in zip(self.explicit.c, self.implicit.c, strict=True)):
            raise ValueError(
                f"{self.name}: expected the same nodes c in both parts, got "
                f"{[float(x) for x in self.explicit.c]} and {[float(x) for x in self.implicit.c]}"
            )
        matrices = (self.explicit.a, self.implicit.a)
        check_order(self.name, matrices, self.b, self.order)
        if self.explicit.embedded:
            check_order(
                f"{self.name} (embedded)", matrices, self.explicit.embedded, self.explicit.embedded_order
            )

    @classmethod
    def from_text(
        cls,
        name: str,
        explicit: str,
        implicit: str,
        b: str,
        order: int,
        embedded: str = "",
        embedded_order: int = 0,
    ) -> AdditiveTableau:
        """Read both matrices and the common weights as they are printed (``ButcherTableau.from_text``)."""
        parts = [
            ButcherTableau.from_text(f"{name}, {kind} part", a, b, order, embedded, embedded_order)
            for kind, a in (("explicit", explicit), ("implicit", implicit))
        ]
        return cls(name, parts[0], parts[1], order)

    @property
    def b(self) -> Vector:
        """Weights, shared by both parts."""
        return self.explicit.b

    @property
    def stages(self) -> int:
        """Number of stages."""
        return len(self.b)

    def __repr__(self) -> str:
        return f"AdditiveTableau({self.name!r}, order={self.order}, stages={self.stages})"


def check_order(name: str, matrices: Sequence[Matrix], weights: Vector, order: int) -> None:
    """Raise ValueError, naming the first violated tree, unless all conditions up to ``order`` hold to 1e-14.

    Evaluated with 50 decimal digits: as good as exact for the purpose, and fast enough to run at import.
    """
    if whole_number(f"{name}, order", order) < 1:
        raise ValueError(f"{name}: expected order at least 1, got {order}")
    if order > MAX_ORDER:
        raise ValueError(f"{name}: expected order at most {MAX_ORDER}, got {described(order)}")
    with localcontext(prec=_DIGITS):
        decimals = [[[_decimal(x) for x in row] for row in matrix] for matrix in matrices]
        for tree, residual in order_residuals(decimals, [_decimal(x) for x in weights], order):
            if abs(residual) > _decimal(TOLERANCE):
                raise ValueError(
                    f"{name}: expected order {order}, but the condition of order {tree.order} of the tree "
                    f"{tree.label('EI' if len(matrices) > 1 else 't')} is violated: got "
                    f"b·Phi = {float(residual) + 1 / tree.density:.17g}, expected 1/{tree.density}"
                )


def _fractions(entries: Sequence[Fraction | str], name: str) -> Vector:
    try:
        plain = [e.item() if isinstance(e, np.generic) else e for e in checked_list(name, entries)]
        return tuple(map(Fraction, plain))
    except (ValueError, TypeError, ArithmeticError):
        raise ValueError(f"{name}: expected fractions, got {described(entries)}") from None


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
