"""Reaching a tolerance: choosing grids, degrees and time steps from the bounds of runs before."""

from stfem.adaptivity.attempts import Attempt, Search, ToleranceCertificate, ToleranceError
from stfem.adaptivity.certifying import certify

__all__ = ["Attempt", "Search", "ToleranceCertificate", "ToleranceError", "certify"]
