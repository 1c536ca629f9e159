"""The semidiscretization that fits the domain of a problem."""

from __future__ import annotations

from stfem.fluxes import ConvectiveFlux, InteriorPenalty, flux_rusanov
from stfem.problems import Problem, Torus
from stfem.semidiscretization.dg import Semidiscretization
from stfem.semidiscretization.unstructured import UnstructuredSemidiscretization

__all__ = ["AnySemidiscretization", "UnsupportedDomainError", "on_torus", "semidiscretize"]

AnySemidiscretization = Semidiscretization | UnstructuredSemidiscretization


class UnsupportedDomainError(NotImplementedError):
    """What was asked for exists on some domains only, and the given one is not among them."""


def semidiscretize(
    problem: Problem,
    cells: int | tuple[int, ...] | None,
    degree: int,
    flux: ConvectiveFlux = flux_rusanov,
    penalty: InteriorPenalty | None = None,
) -> AnySemidiscretization:
    """Tensor grid on a `Torus`, unstructured mesh on a `Box` or `Domain`; parameters as there."""
    if isinstance(problem.domain, Torus):
        return Semidiscretization(problem, cells, degree, flux, penalty)
    return UnstructuredSemidiscretization(problem, cells, degree, flux, penalty)


def on_torus(semidiscretization: AnySemidiscretization, what: str) -> Semidiscretization:
    """The same, if it lives on a torus.

    Raises
    ------
    UnsupportedDomainError
        Saying that ``what`` exists on a torus only.
    """
    if isinstance(semidiscretization, Semidiscretization):
        return semidiscretization
    domain = type(semidiscretization.problem.domain).__name__
    raise UnsupportedDomainError(f"{what}: expected a problem on a Torus so far, got one on a {domain}")
