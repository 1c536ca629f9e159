"""Meshes: uniform tensor grids, and unstructured ones made from scikit-fem."""

from stfem.meshes.facets import Facets
from stfem.meshes.grid import TensorGrid
from stfem.meshes.reference import ReferenceCell
from stfem.meshes.unstructured import CellMap, UnstructuredMesh, from_skfem

__all__ = ["CellMap", "Facets", "ReferenceCell", "TensorGrid", "UnstructuredMesh", "from_skfem"]
