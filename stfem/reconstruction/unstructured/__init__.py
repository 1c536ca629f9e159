"""Reconstructions and flux recoveries on unstructured meshes (T5)."""

from stfem.reconstruction.unstructured.fluxes import FluxRecovery
from stfem.reconstruction.unstructured.given import BoundaryValues
from stfem.reconstruction.unstructured.lift import OutflowLift, minkowski
from stfem.reconstruction.unstructured.nodal import NodalReconstruction, averaging, vertex_patches
from stfem.reconstruction.unstructured.node import (
    LocalReconstruction,
    MeshNode,
    MeshReconstruction,
    SchemeFluxes,
)
from stfem.reconstruction.unstructured.oscillation import BoundaryOscillation
from stfem.reconstruction.unstructured.relaxation import FluxRelaxation
from stfem.reconstruction.unstructured.relaxed import RelaxedFlux
from stfem.reconstruction.unstructured.rules import (
    Averaging,
    MeshRule,
    TwoStage,
    TwoStageMixed,
    VertexPatches,
    is_mesh_rule,
)
from stfem.reconstruction.unstructured.slab import (
    DiscreteSlab,
    MeshSlab,
    TimeInterpolant,
    mesh_slab_of,
    mesh_slabs,
)
from stfem.reconstruction.unstructured.two_stage import BoundTwoStage, BoundTwoStageMixed

__all__ = [
    "Averaging",
    "BoundTwoStage",
    "BoundTwoStageMixed",
    "BoundaryOscillation",
    "BoundaryValues",
    "DiscreteSlab",
    "FluxRecovery",
    "FluxRelaxation",
    "LocalReconstruction",
    "MeshNode",
    "MeshReconstruction",
    "MeshRule",
    "MeshSlab",
    "NodalReconstruction",
    "OutflowLift",
    "RelaxedFlux",
    "SchemeFluxes",
    "TimeInterpolant",
    "TwoStage",
    "TwoStageMixed",
    "VertexPatches",
    "averaging",
    "is_mesh_rule",
    "mesh_slab_of",
    "mesh_slabs",
    "minkowski",
    "vertex_patches",
]
