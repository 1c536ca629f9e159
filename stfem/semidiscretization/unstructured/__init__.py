"""Discontinuous Galerkin right-hand sides and their matrices on unstructured meshes."""

from stfem.semidiscretization.unstructured.initial import EquationProjection
from stfem.semidiscretization.unstructured.iterative import Gmres, UnfinishedSolveWarning
from stfem.semidiscretization.unstructured.scheme import UnstructuredSemidiscretization
from stfem.semidiscretization.unstructured.solver import Factorisation, LinearSolver, SolveError
from stfem.semidiscretization.unstructured.steady import SteadyState, steady_state

__all__ = [
    "EquationProjection",
    "Factorisation",
    "Gmres",
    "LinearSolver",
    "SolveError",
    "SteadyState",
    "UnfinishedSolveWarning",
    "UnstructuredSemidiscretization",
    "steady_state",
]
