"""Reconstructions and flux recoveries on unstructured meshes (T5)."""

from stfem.reconstruction.unstructured.fluxes import FluxRecovery
from stfem.reconstruction.unstructured.lift import OutflowLift, minkowski
from stfem.reconstruction.unstructured.nodal import NodalReconstruction, averaging, vertex_patches
from stfem.reconstruction.unstructured.node import (
    MeshNode,
    MeshReconstruction,
    MeshSlab,
    PatchReconstruction,
    SchemeFluxes,
    TimeInterpolant,
    mesh_slabs,
)
from stfem.reconstruction.unstructured.two_stage import TwoStage, TwoStageMixed

__all__ = [
    "FluxRecovery",
    "MeshNode",
    "MeshReconstruction",
    "MeshSlab",
    "NodalReconstruction",
    "OutflowLift",
    "PatchReconstruction",
    "SchemeFluxes",
    "TimeInterpolant",
    "TwoStage",
    "TwoStageMixed",
    "averaging",
    "mesh_slabs",
    "minkowski",
    "vertex_patches",
]
