"""Joins mesh, space, equation and numerical fluxes into dU/dt = H(t, U) + P(t, U)."""

from stfem.semidiscretization.choice import (
    AnySemidiscretization,
    semidiscretize,
)
from stfem.semidiscretization.dg import Semidiscretization
from stfem.semidiscretization.diffusion import Diffusion
from stfem.semidiscretization.solvers import checked_solver
from stfem.semidiscretization.unstructured import (
    EquationProjection,
    Factorisation,
    Gmres,
    LinearSolver,
    SolveError,
    SteadyState,
    UnfinishedSolveWarning,
    UnstructuredSemidiscretization,
    steady_state,
)

__all__ = [
    "AnySemidiscretization",
    "Diffusion",
    "EquationProjection",
    "Factorisation",
    "Gmres",
    "LinearSolver",
    "Semidiscretization",
    "SolveError",
    "SteadyState",
    "UnfinishedSolveWarning",
    "UnstructuredSemidiscretization",
    "checked_solver",
    "semidiscretize",
    "steady_state",
]
