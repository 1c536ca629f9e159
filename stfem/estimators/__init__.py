"""Error estimators: from a stream of nodes to an `Estimate`."""

from stfem.estimators.bound import BoundState
from stfem.estimators.estimate import Estimate
from stfem.estimators.split import SplitEstimator

__all__ = ["BoundState", "Estimate", "SplitEstimator"]
