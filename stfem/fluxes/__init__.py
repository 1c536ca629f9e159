"""Numerical fluxes: convective (functions of two traces) and diffusive (interior penalty)."""

from stfem.fluxes.convective import ConvectiveFlux, flux_engquist_osher, flux_rusanov, flux_upwind
from stfem.fluxes.diffusive import InteriorPenalty

__all__ = ["ConvectiveFlux", "InteriorPenalty", "flux_engquist_osher", "flux_rusanov", "flux_upwind"]
