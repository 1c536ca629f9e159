"""Reconstructions and flux recoveries on unstructured meshes (T5)."""

from stfem.reconstruction.unstructured.fluxes import FluxRecovery
from stfem.reconstruction.unstructured.nodal import NodalReconstruction, averaging, vertex_patches

__all__ = ["FluxRecovery", "NodalReconstruction", "averaging", "vertex_patches"]
