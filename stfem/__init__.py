"""stfem: convection–diffusion problems, and a guaranteed bound of how wrong the result is."""

from importlib.metadata import PackageNotFoundError, version

from stfem import data, equations, estimators, fluxes, io, problems, reconstruction, timestepping
from stfem.estimators import Estimate, SplitEstimator
from stfem.problems import Problem, Torus
from stfem.reconstruction import Hermite, Siac
from stfem.solution import Solution
from stfem.solving import Certificate, certify, estimate, solve
from stfem.timestepping import NonFiniteError

try:
    __version__ = version("stfem")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0+unknown"

__all__ = [
    "Certificate",
    "Estimate",
    "Hermite",
    "NonFiniteError",
    "Problem",
    "Siac",
    "Solution",
    "SplitEstimator",
    "Torus",
    "certify",
    "data",
    "equations",
    "estimate",
    "estimators",
    "fluxes",
    "io",
    "problems",
    "reconstruction",
    "solve",
    "timestepping",
]
