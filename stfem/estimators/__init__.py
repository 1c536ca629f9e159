"""Error estimators: from a stream of nodes to an `Estimate`."""

from stfem.estimators.bound import BoundState
from stfem.estimators.estimate import Estimate, plain
from stfem.estimators.paper import PaperEstimator
from stfem.estimators.run import SlabRun
from stfem.estimators.split import SplitEstimator
from stfem.estimators.stationary import stationary_estimate
from stfem.estimators.unsplit import AllDualEstimator, AllL2Estimator
from stfem.estimators.unstructured import MeshEstimator

__all__ = [
    "AllDualEstimator",
    "AllL2Estimator",
    "BoundState",
    "Estimate",
    "MeshEstimator",
    "PaperEstimator",
    "SlabRun",
    "SplitEstimator",
    "plain",
    "stationary_estimate",
]
