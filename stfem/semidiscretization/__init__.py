"""Joins grid, space, equation and numerical fluxes into dU/dt = H(t, U) + P(t, U)."""

from stfem.semidiscretization.dg import Semidiscretization
from stfem.semidiscretization.diffusion import Diffusion

__all__ = ["Diffusion", "Semidiscretization"]
