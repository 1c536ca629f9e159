"""Space–time reconstruction û: space first (SIAC), then time (Hermite)."""

from stfem.reconstruction.defects import defect_norm
from stfem.reconstruction.filtered_gradient import SiacFilteredGradient
from stfem.reconstruction.final import AnyRule, reconstructor
from stfem.reconstruction.hermite import Hermite
from stfem.reconstruction.initial import initial_corrected, initial_projection
from stfem.reconstruction.kernel import filter_stencil, kernel_coefficients
from stfem.reconstruction.lagrange import Lagrange
from stfem.reconstruction.node import (
    BoundReconstruction,
    NodeReconstruction,
    Reconstruction,
    RowReconstruction,
)
from stfem.reconstruction.siac import BoundSiac, Siac
from stfem.reconstruction.slab import ReconstructedSlab, Stencils, combine, reconstructed_slabs, slab_of
from stfem.reconstruction.start import corrected_start
from stfem.reconstruction.transfer import prolong, restrict
from stfem.reconstruction.unstructured import Averaging, TwoStage, TwoStageMixed, VertexPatches

__all__ = [
    "AnyRule",
    "Averaging",
    "BoundReconstruction",
    "BoundSiac",
    "Hermite",
    "Lagrange",
    "NodeReconstruction",
    "ReconstructedSlab",
    "Reconstruction",
    "RowReconstruction",
    "Siac",
    "SiacFilteredGradient",
    "Stencils",
    "TwoStage",
    "TwoStageMixed",
    "VertexPatches",
    "combine",
    "filter_stencil",
    "corrected_start",
    "defect_norm",
    "initial_corrected",
    "initial_projection",
    "kernel_coefficients",
    "prolong",
    "reconstructed_slabs",
    "reconstructor",
    "restrict",
    "slab_of",
]
