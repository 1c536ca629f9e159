"""stfem: convection–diffusion problems, and a guaranteed bound of how wrong the result is."""

from stfem import data, equations, estimators, fluxes, io, problems, reconstruction, studies, timestepping
from stfem.estimators import Estimate, SplitEstimator
from stfem.problems import Problem, Torus
from stfem.provenance import installed_version
from stfem.reconstruction import Hermite, Siac
from stfem.solution import Solution
from stfem.solving import Certificate, certify, estimate, solve
from stfem.timestepping import NonFiniteError

__version__ = installed_version()

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
    "studies",
    "timestepping",
]
