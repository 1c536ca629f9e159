"""Reconstructions and flux recoveries on unstructured meshes (T5)."""

from stfem.reconstruction.unstructured.fluxes import FluxRecovery

__all__ = ["FluxRecovery"]
