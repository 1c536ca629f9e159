"""stfem: convection–diffusion problems, and a guaranteed bound of how wrong the result is."""

from stfem import (
    adaptivity,
    data,
    equations,
    estimators,
    fluxes,
    io,
    problems,
    reconstruction,
    studies,
    timestepping,
)
from stfem.adaptivity import ToleranceCertificate, ToleranceError
from stfem.adaptivity.certifying import certify
from stfem.amplification import StabilityFactor, stability_factor
from stfem.estimators import Estimate, MeshEstimator, SplitEstimator
from stfem.failures import InterruptedRunError, SolverError
from stfem.problems import (
    Box,
    Dirichlet,
    Domain,
    Neumann,
    Outflow,
    Problem,
    Robin,
    StationaryProblem,
    Torus,
    TotalFlux,
    UnsupportedDomainError,
)
from stfem.provenance import installed_version
from stfem.reconstruction import Hermite, Siac
from stfem.semidiscretization import EquationProjection, Gmres, SolveError, UnfinishedSolveWarning
from stfem.solution import Solution
from stfem.solving import Certificate, estimate, solve
from stfem.stationary import StationaryCertificate, StationarySolution, solve_stationary
from stfem.timestepping import CflError, DataError, InadmissibleStateError, NonFiniteError

__version__ = installed_version()

__all__ = [
    "Box",
    "Certificate",
    "CflError",
    "DataError",
    "Dirichlet",
    "Domain",
    "EquationProjection",
    "Estimate",
    "Gmres",
    "Hermite",
    "InadmissibleStateError",
    "InterruptedRunError",
    "MeshEstimator",
    "Neumann",
    "NonFiniteError",
    "Outflow",
    "Problem",
    "Robin",
    "Siac",
    "Solution",
    "SolveError",
    "SolverError",
    "SplitEstimator",
    "StabilityFactor",
    "StationaryCertificate",
    "StationaryProblem",
    "StationarySolution",
    "ToleranceCertificate",
    "ToleranceError",
    "Torus",
    "TotalFlux",
    "UnfinishedSolveWarning",
    "UnsupportedDomainError",
    "adaptivity",
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
    "solve_stationary",
    "stability_factor",
    "studies",
    "timestepping",
]
