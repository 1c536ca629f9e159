"""The initial values that a user asks for."""

from __future__ import annotations

from stfem.arguments import named
from stfem.problems import UnsupportedDomainError
from stfem.reconstruction.initial import initial_corrected
from stfem.reconstruction.node import Reconstruction
from stfem.reconstruction.siac import Siac
from stfem.semidiscretization import AnySemidiscretization, EquationProjection, Semidiscretization
from stfem.spaces.stencil import Array

__all__ = ["corrected_start"]


def corrected_start(
    semi: AnySemidiscretization, correction: bool | Reconstruction | EquationProjection, implicit: bool
) -> Array | None:
    """U_0 as the argument ``initial_correction`` asks for it, None where it is the L² projection.

    Raises
    ------
    UnsupportedDomainError
        For a correction that belongs to other domains.
    """
    if not isinstance(semi, Semidiscretization):
        if isinstance(correction, bool):
            return None
        if isinstance(correction, EquationProjection):
            return correction.of(semi)
        raise UnsupportedDomainError(
            "initial_correction: expected True, False or EquationProjection(…) for a problem on a Box or "
            f"Domain, got {named(correction)}"
        )
    if isinstance(correction, EquationProjection):
        raise UnsupportedDomainError(
            "initial_correction: expected True, False or a reconstruction such as Siac() for a problem on a "
            f"Torus, got {named(correction)}"
        )
    if correction is False:
        return None
    rule = Siac() if correction is True else correction
    return initial_corrected(semi, rule.bind(semi), implicit)
