"""The symmetric interior penalty method: its penalty."""

from __future__ import annotations

from dataclasses import dataclass

from stfem.checks import checked_flag, checked_number, positive_number, whole_number

__all__ = ["InteriorPenalty"]


@dataclass(frozen=True)
class InteriorPenalty:
    """Penalty coefficient of the flux {D∇u}·n − coefficient · nᵀDn [u] on faces of a tensor grid (T1).

    degree 0:      1 / h exactly (the two-point flux; any other factor changes the diffusion), D diagonal
    degree q ≥ 1:  factor / h, factor = 2(q+1)² for diagonal D, else max( 2(q+1)², 1.2 · d(q+1)(q+2)/2 )

    With entries off the diagonal the form is coercive from the factor d(q+1)(q+2)/2 on.

    Parameters
    ----------
    penalty : float, optional
        Factor for q ≥ 1 instead of these, positive.

    Raises
    ------
    ValueError, TypeError
        For a factor that is no positive number.
    """

    penalty: float | None = None

    def __post_init__(self) -> None:
        if self.penalty is None:
            return
        number = positive_number("penalty", self.penalty)
        object.__setattr__(
            self, "penalty", checked_number("penalty", number, "a positive finite number", 0.0)
        )

    def coefficient(self, degree: int, spacing: float, dim: int, diagonal: bool) -> float:
        """Coefficient in 1/length for faces normal to a direction with cells of size `spacing`.

        Raises
        ------
        ValueError
            For degree 0 with off-diagonal diffusion or with a factor other than 1: neither is consistent.
        """
        if whole_number("degree", degree) < 0 or checked_number("spacing", spacing, "positive,", 0.0) == 0.0:
            raise ValueError(f"expected degree >= 0 and a positive spacing, got {degree} and {spacing}")
        whole_number("dim", dim)
        checked_flag("diagonal", diagonal)
        if degree == 0:
            if not diagonal:
                raise ValueError("degree: expected at least 1 for a diffusion matrix with cross terms, got 0")
            if self.penalty not in (None, 1.0):
                raise ValueError(f"penalty: expected 1 for degree 0 (consistency), got {self.penalty}")
            return 1.0 / spacing
        factor = self.penalty
        if factor is None:
            factor = 2.0 * (degree + 1) ** 2
            if not diagonal:
                factor = max(factor, 1.2 * dim * (degree + 1) * (degree + 2) / 2)
        return factor / spacing
