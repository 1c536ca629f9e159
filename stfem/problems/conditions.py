"""Boundary conditions; n is the outward unit normal, D = εA the diffusion, f the convective flux.

Data g are a number, one number per component, `Data`, or a callable g(x, t), as sources are.
"""

from __future__ import annotations

from dataclasses import dataclass

from stfem.data import Data, as_data
from stfem.data.normalise import check_given

__all__ = ["Condition", "Dirichlet", "Neumann", "Outflow", "Robin", "TotalFlux"]


class Condition:
    """What the boundary terms of a scheme ask of a condition; the five below are all there are.

    Attributes
    ----------
    g
        The given value or flux: numbers, `Data` or callables of (x, t), or of x alone where it is steady.
    alpha
        Coefficient α of u in a flux condition.
    trace
        Whether u itself is given: both fluxes then see g as the state outside.
    total
        Whether the total flux (f(u) − D∇u)·n is given, so that no convective flux of its own remains.
    outflow_only
        Whether the flow must not enter.
    """

    g: object = 0.0
    alpha: object = 0.0
    trace: bool = False
    total: bool = False
    outflow_only: bool = False

    def data(self, dim: int, components: int, name: str) -> tuple[Data, ...]:
        """Return g checked, one `Data` per component."""
        return as_data(self.g, dim, components, name, None)

    def transfer(self, dim: int, name: str) -> Data:
        """Return α checked."""
        return as_data(self.alpha, dim, 1, f"{name}, alpha", None)[0]


@dataclass(frozen=True)
class Dirichlet(Condition):
    """u = g, imposed weakly. Where n·Dn = 0 the value counts only where the flow enters."""

    g: object = 0.0
    trace = True

    def __post_init__(self) -> None:
        check_given(self.g, "g")


@dataclass(frozen=True)
class Neumann(Condition):
    """D∇u·n = g: the diffusive flux into the domain is given; the convective flux leaves as it comes."""

    g: object = 0.0

    def __post_init__(self) -> None:
        check_given(self.g, "g")


@dataclass(frozen=True)
class TotalFlux(Condition):
    """(f(u) − D∇u)·n = g: the convective and the diffusive flux out of the domain together are given.

    With g = 0 nothing passes: the mass of a closed domain is constant.
    """

    g: object = 0.0
    total = True

    def __post_init__(self) -> None:
        check_given(self.g, "g")


@dataclass(frozen=True)
class Robin(Condition):
    """D∇u·n + αu = g with α(x) in length/time; the convective flux leaves as it comes."""

    alpha: object
    g: object = 0.0

    def __post_init__(self) -> None:
        check_given(self.alpha, "alpha")
        check_given(self.g, "g")


@dataclass(frozen=True)
class Outflow(Condition):
    """D∇u·n = 0 where the flow leaves; an error where it enters."""

    outflow_only = True
