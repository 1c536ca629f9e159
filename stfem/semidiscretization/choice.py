"""The semidiscretization that fits the domain of a problem."""

from __future__ import annotations

from stfem.checks import checked_instance
from stfem.fluxes import ConvectiveFlux, InteriorPenalty, flux_rusanov
from stfem.problems import Problem, Torus
from stfem.semidiscretization.dg import Semidiscretization
from stfem.semidiscretization.unstructured import UnstructuredSemidiscretization

__all__ = ["AnySemidiscretization", "semidiscretize"]

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
    checked_instance("problem", problem, Problem, "a Problem")
    if isinstance(problem.domain, Torus):
        return Semidiscretization(problem, cells, degree, flux, penalty)
    return UnstructuredSemidiscretization(problem, cells, degree, flux, penalty)
