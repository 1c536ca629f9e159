"""Discontinuous Galerkin right-hand sides and their matrices on unstructured meshes."""

from stfem.semidiscretization.unstructured.initial import EquationProjection
from stfem.semidiscretization.unstructured.scheme import UnstructuredSemidiscretization
from stfem.semidiscretization.unstructured.solver import SolveError

__all__ = ["EquationProjection", "SolveError", "UnstructuredSemidiscretization"]
