"""Numerical fluxes: convective ones as plain functions of both traces, the interior penalty of diffusion."""

from stfem.fluxes.convective import ConvectiveFlux, flux_engquist_osher, flux_rusanov, flux_upwind
from stfem.fluxes.diffusive import InteriorPenalty

__all__ = ["ConvectiveFlux", "InteriorPenalty", "flux_engquist_osher", "flux_rusanov", "flux_upwind"]
