"""Adaptivity: which cells to change, meshes that are refined and coarsened, and functions taken along."""

from stfem.adaptivity.attempts import (
    Attempt,
    Search,
    ToleranceCertificate,
    ToleranceError,
    WindowAttempt,
)
from stfem.adaptivity.interval import WholeInterval
from stfem.adaptivity.marching import TimeMarching
from stfem.adaptivity.marking import (
    Marking,
    mark_dorfler,
    mark_dorfler_coarsening,
    mark_equidistribution,
    mark_equidistribution_coarsening,
    mark_maximum,
    mark_maximum_coarsening,
    mark_tolerance,
    mark_tolerance_coarsening,
)
from stfem.adaptivity.mesh_search import MarchedSolution, MeshSearch, Strategy
from stfem.adaptivity.refinement import AdaptedDomain, MeshChange, coarsen, refine
from stfem.adaptivity.stationary import certify_on_meshes, sharp_estimator
from stfem.adaptivity.stationary_search import (
    StationaryAttempt,
    StationarySearch,
    StationaryToleranceCertificate,
)
from stfem.adaptivity.transfer import transfer

__all__ = [
    "Attempt",
    "Search",
    "ToleranceCertificate",
    "ToleranceError",
    "Marking",
    "mark_dorfler",
    "mark_dorfler_coarsening",
    "mark_equidistribution",
    "mark_equidistribution_coarsening",
    "mark_maximum",
    "mark_maximum_coarsening",
    "mark_tolerance",
    "mark_tolerance_coarsening",
    "AdaptedDomain",
    "MarchedSolution",
    "MeshChange",
    "MeshSearch",
    "Strategy",
    "TimeMarching",
    "WholeInterval",
    "WindowAttempt",
    "coarsen",
    "refine",
    "StationaryAttempt",
    "StationarySearch",
    "StationaryToleranceCertificate",
    "certify_on_meshes",
    "sharp_estimator",
    "transfer",
]
