"""Joins mesh, space, equation and numerical fluxes into dU/dt = H(t, U) + P(t, U)."""

from stfem.semidiscretization.choice import (
    AnySemidiscretization,
    on_torus,
    semidiscretize,
)
from stfem.semidiscretization.dg import Semidiscretization
from stfem.semidiscretization.diffusion import Diffusion
from stfem.semidiscretization.unstructured import (
    EquationProjection,
    SolveError,
    UnstructuredSemidiscretization,
)

__all__ = [
    "AnySemidiscretization",
    "Diffusion",
    "EquationProjection",
    "Semidiscretization",
    "SolveError",
    "UnstructuredSemidiscretization",
    "on_torus",
    "semidiscretize",
]
