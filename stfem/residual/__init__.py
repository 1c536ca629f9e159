"""The residual of a reconstruction, split into a part for L² and a part for the dual norm, and its norms."""

from stfem.residual.dissipation import DissipativeRates
from stfem.residual.norms import FLUX_FAMILY, SlabNorms
from stfem.residual.split import ResidualSplit

__all__ = ["FLUX_FAMILY", "DissipativeRates", "ResidualSplit", "SlabNorms"]
