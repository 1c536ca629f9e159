"""stfem: convection–diffusion problems, and a guaranteed bound of how wrong the result is."""

from importlib.metadata import PackageNotFoundError, version

from stfem import data, equations, estimators, fluxes, problems, reconstruction, timestepping
from stfem.estimators import Estimate, SplitEstimator
from stfem.problems import Box, Dirichlet, Domain, Neumann, Outflow, Problem, Robin, Torus, TotalFlux
from stfem.reconstruction import Hermite, Siac
from stfem.semidiscretization import EquationProjection, SolveError, UnsupportedDomainError
from stfem.solution import Solution
from stfem.solving import Certificate, certify, estimate, solve
from stfem.timestepping import NonFiniteError

try:
    __version__ = version("stfem")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0+unknown"

__all__ = [
    "Box",
    "Certificate",
    "Dirichlet",
    "Domain",
    "EquationProjection",
    "Estimate",
    "Hermite",
    "Neumann",
    "NonFiniteError",
    "Outflow",
    "Problem",
    "Robin",
    "Siac",
    "Solution",
    "SolveError",
    "SplitEstimator",
    "Torus",
    "TotalFlux",
    "UnsupportedDomainError",
    "certify",
    "data",
    "equations",
    "estimate",
    "estimators",
    "fluxes",
    "problems",
    "reconstruction",
    "solve",
    "timestepping",
]
