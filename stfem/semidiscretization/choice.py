"""The semidiscretization that fits the domain of a problem."""

from __future__ import annotations

from stfem.fluxes import ConvectiveFlux, InteriorPenalty, flux_rusanov
from stfem.problems import Problem, Torus
from stfem.problems.domain import torus_of
from stfem.semidiscretization.dg import Semidiscretization
from stfem.semidiscretization.unstructured import UnstructuredSemidiscretization

__all__ = ["AnySemidiscretization", "on_torus", "semidiscretize"]

#: Either of the two semidiscretizations.
AnySemidiscretization = Semidiscretization | UnstructuredSemidiscretization


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
    domain = torus_of(semidiscretization.problem.domain, what)
    raise TypeError(f"{what}: expected a Semidiscretization on {domain!r}, got {semidiscretization!r}")
